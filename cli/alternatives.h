/* What would happen if a plan did something else with one tensor: tried out by simulating it. */
#ifndef CLI_ALTERNATIVES_H
#define CLI_ALTERNATIVES_H

#include "planned.h"

/* A plan with another action for one tensor. */
typedef struct alternative {
    bool runs; /* within the budget */
    double overhead;
    uint64_t excess_bytes; /* if it does not: by how much its peak is above the budget; 0 if it
                              cannot be done at all */
    int64_t prefetch_op;   /* before which the tensor comes back, -1 if it does not leave */
} alternative;

/* When every operator begins without a budget, in nanoseconds, and when the last one ends: ops + 1
 * entries, to be freed. */
pz_status alternatives_starts(const planned_world *world, int64_t **start_ns, pz_diag *diag);

/* Tries the action, with several points from which the tensor comes back if it leaves; the best
 * counts.  The plan is as before afterwards.  Not running is no failure. */
pz_status alternatives_try(planned *self, const int64_t *start_ns, size_t tensor, pz_action action,
                           alternative *result, pz_diag *diag);

#endif
