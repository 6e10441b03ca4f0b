/* A plan made executable: for every operator what is prefetched, replayed and freed.  Needs no
 * clock, only the order of operators, so that the simulator and the memory profile agree on it. */
#ifndef PZI_SIM_SCHEDULE_H
#define PZI_SIM_SCHEDULE_H

#include "sim/replay.h"
#include "trace/plan.h"

/* One replay: ranges of the schedule's arrays. */
typedef struct pzi_run {
    int32_t target, op; /* rebuilds saved tensor target before op */
    uint32_t ops, ops_end;
    uint32_t sources, sources_end;
    uint32_t kept, kept_end;
    uint64_t peak_bytes;
} pzi_run;

typedef struct pzi_schedule {
    const pzi_work *work;
    pzi_run *runs; /* in order of execution */
    size_t n_runs;
    int32_t *ops; /* operators of the replays */
    uint64_t *alloc_bytes, *free_bytes;
    int64_t *step_ns;
    int32_t *sources; /* storages */
    int32_t *kept;    /* saved tensors */
    size_t n_ops, room_ops, n_sources, room_sources, n_kept, room_kept;
    int32_t *need; /* per saved tensor: the operator before which it must be in memory again */
    int32_t *end;  /* per storage: the operator after which it is freed for good, or PZI_NONE */
    int32_t *free_head;  /* per operator: first storage that ends there, or PZI_NONE */
    int32_t *free_next;  /* per storage: the next one */
    int32_t *prefetches; /* swapped tensors in the order in which they are fetched */
    int32_t *issue;      /* per saved tensor: the operator before which its prefetch is issued */
    size_t n_prefetches;
    uint8_t *dropped;
    int32_t *back;
} pzi_schedule;

/* PZ_ERR_INFEASIBLE if a dropped tensor cannot be recomputed, PZ_ERR_MEMORY. */
pz_status pzi_schedule_new(const pzi_work *work, pzi_replayer *replayer, const pz_plan *plan,
                           pzi_schedule *schedule, pz_diag *diag);
void pzi_schedule_free(pzi_schedule *schedule);

#endif
