/* A trace on a platform: integer durations, effective sizes and the plain timeline of an iteration
 * with unlimited memory.  Simulator and planner read the same numbers from here. */
#ifndef PZI_SIM_WORK_H
#define PZI_SIM_WORK_H

#include "trace/trace.h"

typedef struct pzi_work {
    const pz_trace *trace;
    const pz_platform *platform;
    int64_t *op_ns;    /* duration of each operator */
    int64_t *start_ns; /* when it starts; n_ops + 1 entries, the last is the end */
    uint64_t *bytes;   /* of each storage at the platform's precision; 0 if persistent or unused */
    int32_t *by_ready; /* saved tensors in order of ready_op */
    int32_t *by_use;   /* in order of first backward use; those of one operator by ready_op */
    uint8_t *holdable; /* per storage: what PZ_REPLAY_HOLD lets stay */
    uint64_t least_bytes; /* no plan runs in less */
    int64_t forward_ns;   /* Tfwd, also the time at which the backward pass begins */
    int64_t backward_ns;  /* Tbwd */
    int64_t optimizer_ns;
} pzi_work;

/* Saved tensors in an order: by first, then second, then index. */
typedef struct pzi_key {
    int32_t first, second, saved;
} pzi_key;

void pzi_sort_keys(pzi_key *keys, size_t n);

/* PZ_ERR_MEMORY, or PZ_ERR_MEANING for a platform out of range or so slow that times overflow. */
pz_status pzi_work_new(const pz_trace *trace, const pz_platform *platform, pzi_work *work,
                       pz_diag *diag);
void pzi_work_free(pzi_work *work);

static inline uint64_t pzi_saved_bytes(const pzi_work *work, size_t saved)
{
    return work->bytes[work->trace->saved[saved].storage];
}

/* Idle time of a saved tensor: from the end of its last forward use to operator need. */
static inline int64_t pzi_idle_ns(const pzi_work *work, size_t saved, int32_t need)
{
    const int32_t last = work->trace->saved[saved].last_forward_use;
    return work->start_ns[need] - work->start_ns[last + 1];
}

/* What crosses the link: the raw bytes where compressing does not shorten the transfer. */
uint64_t pzi_wire_bytes(const pzi_work *work, size_t saved, double ratio, bool to_host);

/* Memory that the operator takes before it runs: that of storages which it is the first to write.
 */
uint64_t pzi_output_bytes(const pzi_work *work, int32_t op);

/* When the saved value exists: the end of its last forward writer, 0 for an input. */
static inline int64_t pzi_ready_ns(const pzi_work *work, size_t saved)
{
    return work->start_ns[work->trace->saved[saved].ready_op + 1];
}

#endif
