/* Candidate plans: how one is made stands in a line of a table, and a policy is a list of such
 * lines (policies.c). */
#ifndef PZI_PLAN_CANDIDATES_H
#define PZI_PLAN_CANDIDATES_H

#include "plan/eval.h"
#include "plan/evict.h"

/* How a candidate plan is made: stage 1 with a ranking and a share eta of the window, or none; then
 * a rule of eviction. */
typedef struct pzi_candidate {
    const char *name;
    bool uncompressed; /* budget copies with raw sizes, although transfers are compressed */
    double eta;        /* 0: no stage 1 */
    pzi_ranking ranking;
    pzi_rule rule;
} pzi_candidate;

/* The portfolio of section III-C; its last four plans make sense with compression only. */
enum {
    PZI_PORTFOLIO = 18,
    PZI_WITHOUT_COMPRESSION = PZI_PORTFOLIO - 4,
    PZI_EQUATION_1 = PZI_WITHOUT_COMPRESSION - 2,
    PZI_RECOMPUTATION = PZI_WITHOUT_COMPRESSION - 1
};
extern const pzi_candidate pzi_portfolio[PZI_PORTFOLIO];
extern const pzi_candidate pzi_swap_largest;

/* What one planning run works with. */
typedef struct pzi_planning {
    pzi_planner planner;
    pzi_eval eval;
    pzi_copies copies, raw_copies; /* with the planned ratios, and without compression */
    pz_setup planned;              /* the setup that candidates are simulated with */
    bool plain;                    /* for now nothing is compressed, whatever the policy says */
    pz_plan *trial;
} pzi_planning;

/* The work must outlive the planning.  PZ_ERR_MEMORY leaves it so that it can be freed. */
pz_status pzi_planning_new(const pzi_work *work, const pz_setup *planned, pzi_planning *planning);
void pzi_planning_free(pzi_planning *planning);

/* From now on plans without compression, or with it again. */
void pzi_planning_set_plain(pzi_planning *planning, bool plain);

/* A plan whose run overflows is planned again with a tighter target (section IV). */
enum { PZI_REPLANS = 14 };
uint64_t pzi_tightened(uint64_t budget_bytes, int step);

/* Makes the planner's draft a candidate for a target of limit_bytes; false if nothing fits. */
bool pzi_candidate_draft(pzi_planning *planning, const pzi_candidate *candidate,
                         uint64_t limit_bytes);

/* Plans and simulates one candidate, tightening its target from first_step on until it runs within
 * the budget; the plan is then planning->trial. */
pz_status pzi_candidate_try(pzi_planning *planning, const pzi_candidate *candidate, int first_step,
                            pz_report *report);

#endif
