/* Policy "best": the fastest of all candidate plans in the replay modes that it may use, and a
 * search from there. */
#ifndef PZI_PLAN_BEST_H
#define PZI_PLAN_BEST_H

#include "plan/candidates.h"

/* Makes the plan for a target tightened step times, with what it predicts and how it was found.
 * PZ_ERR_INFEASIBLE if nothing fits. */
pz_status pzi_best_plan(pzi_planning *planning, int step, pz_plan *plan);

/* PZ_OK if some candidate fits the budget. */
pz_status pzi_best_fits(pzi_planning *planning, uint64_t budget_bytes);

#endif
