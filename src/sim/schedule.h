/* A plan made executable: for every operator what is prefetched, replayed and freed.  Needs no
 * clock, only the order of operators, so that the simulator and the memory profile agree on it. */
#ifndef PZI_SIM_SCHEDULE_H
#define PZI_SIM_SCHEDULE_H

#include "sim/replay.h"
#include "trace/plan.h"

/* One replay: rebuilds saved tensor target before operator op. */
typedef struct pzi_run {
    int32_t target, op;
} pzi_run;

typedef struct pzi_schedule {
    const pzi_work *work;
    pzi_run *runs; /* in order of execution */
    size_t n_runs;
    int32_t *need; /* per saved tensor: the operator before which it must be in memory again */
    int32_t *end;  /* per storage: the operator after which it is freed for good, or PZI_NONE */
    int32_t *free_head;  /* per operator: first storage that ends there, or PZI_NONE */
    int32_t *free_next;  /* per storage: the next one */
    int32_t *prefetches; /* tensors that left, in the order in which they are asked for */
    int32_t *issue;      /* per saved tensor: the operator before which its prefetch is issued */
    size_t n_prefetches;
    pz_replay mode;
    uint8_t *dropped;
    int32_t *back; /* as far as replays have been built, see pzi_residency */
} pzi_schedule;

/* PZ_ERR_INFEASIBLE if a dropped tensor cannot be recomputed, PZ_ERR_MEMORY. */
pz_status pzi_schedule_new(const pzi_work *work, pzi_replayer *replayer, const pz_plan *plan,
                           pzi_schedule *schedule, pz_diag *diag);
void pzi_schedule_free(pzi_schedule *schedule);

/* The operators of a run, in the builder's memory.  Chains can be long, so a schedule does not keep
 * them: they are built when they run, in order of the runs. */
const pzi_replay *pzi_schedule_replay(pzi_schedule *schedule, pzi_replayer *replayer, size_t run);

#endif
