/* Eviction at the peak: stage 2 of Algorithm 1, and the policies that consist of it alone. */
#ifndef PZI_PLAN_EVICT_H
#define PZI_PLAN_EVICT_H

#include "plan/swaps.h"

typedef enum pzi_rule {
    PZI_DROP_CHEAPEST, /* DTR's heuristic: Cr / (m * idle); stage 2 and RECOMP */
    PZI_COST_MODEL,    /* Equation 1: min(Cr, Cs) / (m * idle), the smaller decides; DTE */
    PZI_SWAP_LARGEST   /* m * idle, always a swap; SWAP */
} pzi_rule;

/* Evicts until the profile fits the draft's limit; false if nothing is left to evict at the peak.
 * copies may be NULL for PZI_DROP_CHEAPEST. */
bool pzi_evict(pzi_planner *planner, pzi_rule rule, const pzi_copies *copies);

#endif
