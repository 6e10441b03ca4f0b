/* A plan in memory: data that the planner makes, the simulator runs and files keep. */
#ifndef PZI_TRACE_PLAN_H
#define PZI_TRACE_PLAN_H

#include <planezip/plan.h>
#include <stdbool.h>

/* The actions after which a tensor comes back when it is asked for. */
static inline bool pzi_leaves(pz_action action)
{
    return action == PZ_SWAP || action == PZ_COMPRESS;
}

typedef struct pzi_step {
    pz_action action;
    int32_t prefetch_op; /* PZI_NONE unless pzi_leaves(action) */
} pzi_step;

struct pz_plan {
    size_t n; /* saved tensors of the trace */
    size_t n_ops;
    pz_replay replay;
    pz_plan_info info;
    pzi_step *steps;
};

#endif
