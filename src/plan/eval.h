/* Evaluation of plans that are given as actions: which replays they need, the memory profile,
 * prefetch points, and the time that the simulator would report. */
#ifndef PZI_PLAN_EVAL_H
#define PZI_PLAN_EVAL_H

#include "plan/clock.h"
#include "trace/plan.h"

/* Memory in stretches of slots (planner.h) within which no plan changes anything: the highest in
 * each.  Additions to whole blocks are kept apart. */
typedef struct pzi_blocks {
    int64_t *value; /* per stretch */
    int64_t *max;   /* per block, without what was added to it as a whole */
    int64_t *add;   /* per block: added to it as a whole */
    size_t n;       /* stretches */
} pzi_blocks;

typedef struct pzi_eval {
    const pzi_work *work;
    uint64_t budget_bytes;
    double price; /* nanoseconds that a byte above the budget takes off the limit */
    pzi_rebuild rebuild;
    pzi_clock clock;
    pzi_blocks profile;
    int32_t *stretch; /* per slot: the stretch that it lies in */
    int32_t *first;   /* per stretch: its first slot */
    int64_t *empty;   /* per stretch: its highest memory with nothing evicted */
    int64_t *change;  /* per stretch: of memory against the stretch before, by the plan */
    int32_t *issue;   /* per saved tensor: prefetch point of a swap */
    pzi_key *keys;    /* scratch */
    int32_t *prefetches;
    size_t n_prefetches;
    uint64_t peak_bytes; /* of the profile of the last evaluation */
} pzi_eval;

/* The copies must outlive the evaluation.  setup gives ratios and budget. */
pz_status pzi_eval_new(const pzi_work *work, const pz_setup *setup, const pzi_copies *copies,
                       pzi_eval *eval);
void pzi_eval_free(pzi_eval *eval);

/* Total time of the plan, or INT64_MAX if it cannot run or takes longer than limit_ns, less the
 * price of what its profile is above the budget.  Such a plan is timed as if the budget were its
 * peak, up to most_bytes; the caller looks at peak_bytes. */
int64_t pzi_eval_run(pzi_eval *eval, const pz_action *actions, pz_replay mode, uint64_t most_bytes,
                     int64_t limit_ns);

/* Writes the actions, the mode and the prefetch points of the last evaluation into a plan. */
void pzi_eval_write(const pzi_eval *eval, const pz_action *actions, pz_plan *plan);

#endif
