/* Making candidate plans, and running them.  See candidates.h. */
#include "plan/candidates.h"

#include "sim/sim.h"

#define ETAS(prefix, uncompressed, ranking)                                    \
    {prefix ", eta 1", uncompressed, 1.0, ranking, PZI_DROP_CHEAPEST},         \
        {prefix ", eta 0.75", uncompressed, 0.75, ranking, PZI_DROP_CHEAPEST}, \
        {prefix ", eta 0.5", uncompressed, 0.5, ranking, PZI_DROP_CHEAPEST},   \
    {                                                                          \
        prefix ", eta 0.25", uncompressed, 0.25, ranking, PZI_DROP_CHEAPEST    \
    }

/* Without compression the four uncompressed plans at the end are those of the first ranking. */
const pzi_candidate pzi_portfolio[PZI_PORTFOLIO] = {
    ETAS("Cr/x", false, PZI_RECOMPUTE_PER_COPY),
    ETAS("m/x", false, PZI_MEMORY_PER_COPY),
    ETAS("Cr/m", false, PZI_RECOMPUTE_PER_BYTE),
    {"Equation 1", false, 0, PZI_RECOMPUTE_PER_COPY, PZI_COST_MODEL},
    {"recomputation only", false, 0, PZI_RECOMPUTE_PER_COPY, PZI_DROP_CHEAPEST},
    ETAS("uncompressed Cr/x", true, PZI_RECOMPUTE_PER_COPY),
};

const pzi_candidate pzi_swap_largest = {"largest m * idle", false, 0, PZI_RECOMPUTE_PER_COPY,
                                        PZI_SWAP_LARGEST};

pz_status pzi_planning_new(const pzi_work *work, const pz_setup *planned, pzi_planning *p)
{
    *p = (pzi_planning){.planned = *planned};
    p->planned.actual = NULL;
    pz_status status = pzi_planner_new(work, &p->planner);
    if (status == PZ_OK)
        status = pzi_copies_new(work, p->planned.predicted, &p->copies);
    if (status == PZ_OK)
        status = pzi_copies_new(work, NULL, &p->raw_copies);
    if (status == PZ_OK)
        status = pzi_eval_new(work, &p->planned, &p->copies, &p->eval);
    if (status == PZ_OK)
        status = pz_plan_new(work->trace, &p->trial);
    return status;
}

void pzi_planning_free(pzi_planning *p)
{
    pz_plan_free(p->trial);
    pzi_eval_free(&p->eval);
    pzi_copies_free(&p->raw_copies);
    pzi_copies_free(&p->copies);
    pzi_planner_free(&p->planner);
}

void pzi_planning_set_plain(pzi_planning *p, bool plain)
{
    pz_setup setup = p->planned;
    if (plain)
        setup.predicted = NULL;
    p->plain = plain;
    pzi_clock_set(&p->eval.clock, &setup, plain ? &p->raw_copies : &p->copies);
}

bool pzi_candidate_draft(pzi_planning *run, const pzi_candidate *candidate, uint64_t limit_bytes)
{
    pzi_planner *p = &run->planner;
    const bool raw = candidate->uncompressed || run->plain;
    const pzi_copies *copies = raw ? &run->raw_copies : &run->copies;
    if (limit_bytes < p->work->least_bytes)
        return false;
    pzi_draft_start(p, limit_bytes);
    if (candidate->eta > 0)
        pzi_admit_swaps(p, copies, candidate->ranking, candidate->eta);
    return pzi_evict(p, candidate->rule, copies);
}

#define REPLAN_STEP 0.02

uint64_t pzi_tightened(uint64_t budget_bytes, int step)
{
    return budget_bytes - (uint64_t)((double)budget_bytes * REPLAN_STEP * step);
}

/* The draft with prefetch points.  Where rebuilt tensors stay, the draft's profile is too low, so
 * that the points are those of the plan's own one. */
static bool finish_draft(pzi_planning *p, const pz_setup *setup)
{
    if (setup->replay != PZ_REPLAY_FREE) {
        p->eval.budget_bytes = setup->budget_bytes;
        if (pzi_eval_run(&p->eval, p->planner.action, setup->replay, setup->budget_bytes,
                         INT64_MAX) == INT64_MAX)
            return false;
        pzi_eval_write(&p->eval, p->planner.action, p->trial);
        return true;
    }
    p->trial->replay = PZ_REPLAY_FREE;
    pzi_draft_finish(&p->planner, p->trial);
    return true;
}

pz_status pzi_candidate_try(pzi_planning *p, const pzi_candidate *candidate, int first_step,
                            pz_report *report)
{
    pz_status status = PZ_ERR_INFEASIBLE;
    pz_setup setup = p->planned;
    if (p->plain)
        setup.predicted = NULL;
    for (int step = first_step; status == PZ_ERR_INFEASIBLE && step <= PZI_REPLANS; step++) {
        if (!pzi_candidate_draft(p, candidate, pzi_tightened(setup.budget_bytes, step)))
            break;
        if (finish_draft(p, &setup) && !p->planner.no_memory)
            status = pzi_simulate(p->planner.work, &p->planner.replayer, &setup, p->trial, report,
                                  NULL, NULL);
    }
    return p->planner.no_memory || p->eval.rebuild.no_memory ? PZ_ERR_MEMORY : status;
}
