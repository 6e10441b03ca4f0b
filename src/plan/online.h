/* Policies without a plan: they look at what is in memory when an allocation finds no room, and
 * know nothing of the operators to come, so that these need not repeat. */
#ifndef PZI_PLAN_ONLINE_H
#define PZI_PLAN_ONLINE_H

#include "sim/work.h"
#include "trace/plan.h"

typedef enum pzi_online_rule {
    PZI_ONLINE_DTR,        /* recomputation only: cost of the evicted neighbourhood */
    PZI_ONLINE_EQUATION_1, /* MegTaiChi: that or the transfer, whichever is less */
    PZI_ONLINE_COMPRESSED  /* the same, with compressed transfers */
} pzi_online_rule;

/* Runs an iteration with the setup's predicted ratios for decisions and the actual ones for copies.
 * plan: what was done with each tensor, as far as a plan can say it; may be NULL.
 * PZ_ERR_INFEASIBLE if nothing that could be evicted is left or the same is computed for ever. */
pz_status pzi_online_run(const pzi_work *work, const pz_setup *setup, pzi_online_rule rule,
                         pz_plan *plan, pz_report *report, pz_diag *diag);

/* The policies by name, NULL if none of them has it. */
const pz_policy *pzi_online_named(const char *name);

/* pz_plan_make() and pz_plan_least_budget() for them. */
pz_status pzi_online_make(const pz_setup *setup, const pz_policy *policy, pz_plan **plan,
                          pz_report *report, pz_diag *diag);
pz_status pzi_online_least(const pz_setup *setup, const pz_policy *policy, uint64_t *budget_bytes,
                           pz_diag *diag);

#endif
