/* What happened when in a simulated iteration.  The simulator writes it, viewers read it. */
#ifndef PZI_SIM_TIMELINE_H
#define PZI_SIM_TIMELINE_H

#include "sim/work.h"

typedef struct pzi_sample {
    int64_t ns;
    uint64_t live_bytes;
} pzi_sample;

/* A storage that is in memory. */
typedef struct pzi_live {
    int64_t storage; /* id in the file */
    uint64_t bytes;
} pzi_live;

struct pz_timeline {
    const char *model; /* after pzi_timeline_finish() a copy, as the names of the events */
    char *strings;
    pz_event *events;
    size_t n_events, room_events;
    pzi_sample *samples; /* live bytes whenever they change */
    size_t n_samples, room_samples;
    pzi_live *peak; /* live set at the moment of the peak */
    size_t n_peak;
    uint64_t peak_bytes; /* the peak that is to be recorded */
    uint64_t budget_bytes;
    bool failed; /* memory ran out while recording */
};

pz_status pzi_timeline_new(const pz_trace *trace, uint64_t budget_bytes, pz_timeline **timeline);
/* Recording never fails at once; timeline may be NULL, then nothing is recorded. */
void pzi_timeline_add(pz_timeline *timeline, const pz_event *event);
void pzi_timeline_sample(pz_timeline *timeline, int64_t ns, uint64_t live_bytes);
/* Replaces the events' names by copies that the timeline owns; sorts the live set. */
pz_status pzi_timeline_finish(pz_timeline *timeline);

#endif
