/* The policies of the paper (section IV): each is a list of candidate plans; the fastest under the
 * predicted ratios is the plan.  "best" goes on from there (best.c). */
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "plan/best.h"
#include "plan/online.h"
#include "sim/sim.h"

struct policy {
    pz_policy face;
    const pzi_candidate *candidates; /* NULL: all, and a search */
    size_t n;
    bool unaware; /* plan as if nothing were compressed */
};

static const struct policy policies[] = {
    {{"recomp", "none", "recomputation only, DTR's heuristic"},
     &pzi_portfolio[PZI_RECOMPUTATION],
     1,
     false},
    {{"swap", "none", "swapping only, largest size times idle time first"},
     &pzi_swap_largest,
     1,
     false},
    {{"dte", "none", "MegTaiChi's cost model, Equation 1"},
     &pzi_portfolio[PZI_EQUATION_1],
     1,
     false},
    {{"dte+codec", "planezip", "Equation 1 with compressed transfer times"},
     &pzi_portfolio[PZI_EQUATION_1],
     1,
     false},
    {{"bw", "none", "bandwidth-aware planner without compression"},
     pzi_portfolio,
     PZI_WITHOUT_COMPRESSION,
     false},
    {{"bw+codec", "planezip", "the plan of bw, its transfers compressed"},
     pzi_portfolio,
     PZI_WITHOUT_COMPRESSION,
     true},
    {{"bw+zvc", "zvc", "bandwidth-aware planner with zero-value compression"},
     pzi_portfolio,
     PZI_PORTFOLIO,
     false},
    {{"planezip", "planezip", "bandwidth-aware planner with the PlaneZip codec"},
     pzi_portfolio,
     PZI_PORTFOLIO,
     false},
    {{"best", "planezip", "search from the best of all plans above"}, NULL, 0, false},
};

size_t pz_policy_count(void)
{
    return sizeof policies / sizeof policies[0];
}

pz_status pz_policy_at(size_t index, pz_policy *policy)
{
    if (index >= pz_policy_count())
        return PZ_ERR_ARGUMENT;
    *policy = policies[index].face;
    return PZ_OK;
}

static const struct policy *find_policy(const char *name)
{
    for (size_t i = 0; i < pz_policy_count(); i++)
        if (strcmp(policies[i].face.name, name) == 0)
            return &policies[i];
    return NULL;
}

pz_status pz_policy_named(const char *name, pz_policy *policy)
{
    const struct policy *found = find_policy(name);
    const pz_policy *face = found ? &found->face : pzi_online_named(name);
    if (!face)
        return PZ_ERR_ARGUMENT;
    *policy = *face;
    return PZ_OK;
}

/* Tries the first n candidates of the policy; a faster plan than *best_ns replaces *plan. */
static pz_status plan_faster(pzi_planning *run, const struct policy *policy, size_t n, int step,
                             int64_t *best_ns, pz_plan *plan)
{
    for (size_t i = 0; i < n; i++) {
        pz_report report;
        const pz_status status = pzi_candidate_try(run, &policy->candidates[i], step, &report);
        if (status != PZ_OK && status != PZ_ERR_INFEASIBLE)
            return status;
        if (status != PZ_OK || report.total_ns >= *best_ns)
            continue;
        *best_ns = report.total_ns;
        memcpy(plan->steps, run->trial->steps, plan->n * sizeof *plan->steps);
        plan->replay = run->trial->replay;
        plan->info.predicted_overhead = report.overhead;
        snprintf(plan->info.candidate, sizeof plan->info.candidate, "%s",
                 policy->candidates[i].name);
        snprintf(plan->info.codec, sizeof plan->info.codec, "%s",
                 run->plain ? "none" : policy->face.codec);
    }
    return PZ_OK;
}

/* A codec in software takes compute time for every transfer, so a plan may be faster without it. */
static bool may_go_without(const pzi_planning *run, const struct policy *policy)
{
    const pz_platform *platform = run->planner.work->platform;
    return platform->engine_bps <= 0 && platform->software_bps > 0 && policy->n == PZI_PORTFOLIO;
}

/* The fastest candidate of the policy into *plan. */
static pz_status plan_fastest(pzi_planning *run, const struct policy *policy, int step,
                              pz_plan *plan)
{
    int64_t best_ns = INT64_MAX;
    pz_status status = plan_faster(run, policy, policy->n, step, &best_ns, plan);
    if (status == PZ_OK && may_go_without(run, policy)) {
        pzi_planning_set_plain(run, true);
        status = plan_faster(run, policy, PZI_WITHOUT_COMPRESSION, step, &best_ns, plan);
        pzi_planning_set_plain(run, false);
    }
    if (status != PZ_OK)
        return status;
    return best_ns < INT64_MAX ? PZ_OK : PZ_ERR_INFEASIBLE;
}

static void describe(const pz_setup *setup, const struct policy *policy, pz_plan *plan)
{
    pz_plan_info *info = &plan->info;
    snprintf(info->policy, sizeof info->policy, "%s", policy->face.name);
    snprintf(info->codec, sizeof info->codec, "%s", policy->face.codec);
    snprintf(info->platform, sizeof info->platform, "%s", setup->platform->name);
    info->budget_bytes = setup->budget_bytes;
    if (policy->candidates)
        return;
    info->compress = setup->compress;
    info->slot_bytes = setup->slot_bytes > 0 ? setup->slot_bytes : PZ_SLOT_BYTES_DEFAULT;
}

/* Plans with the predicted ratios and runs the plan with the actual ones, planning again if that
 * run overflows.  The predicted overhead of an unaware plan is the one with its compressed
 * transfers. */
static pz_status plan_and_run(pzi_planning *run, const pz_setup *setup, const struct policy *policy,
                              pz_plan *plan, pz_report *report)
{
    pz_status status = PZ_ERR_INFEASIBLE;
    for (int step = 0; status == PZ_ERR_INFEASIBLE && step <= PZI_REPLANS; step++) {
        status = policy->candidates ? plan_fastest(run, policy, step, plan)
                                    : pzi_best_plan(run, step, plan);
        if (status != PZ_OK)
            return status;
        pz_setup actual = *setup;
        if (strcmp(plan->info.codec, "none") == 0)
            actual.predicted = actual.actual = NULL;
        status = pzi_simulate(run->planner.work, &run->planner.replayer, &actual, plan, report,
                              NULL, NULL);
    }
    if (status == PZ_OK && policy->unaware)
        plan->info.predicted_overhead = report->overhead;
    return status;
}

static pz_status run_new(const pzi_work *work, const pz_setup *setup, const struct policy *policy,
                         pzi_planning *run)
{
    pz_setup planned = *setup;
    if (policy->unaware)
        planned.predicted = NULL;
    return pzi_planning_new(work, &planned, run);
}

static pz_status prepare(const pz_setup *setup, const char *name, const struct policy **policy,
                         pzi_work *work, pz_diag *diag)
{
    const pz_status status = pzi_check_setup(setup, diag);
    if (status != PZ_OK)
        return status;
    *policy = find_policy(name);
    if (!*policy)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "there is no policy \"%.40s\"", name);
    return pzi_work_new(setup->trace, setup->platform, work, diag);
}

static pz_status explain(pz_status status, const pz_setup *setup, const char *policy, pz_diag *diag)
{
    if (status == PZ_ERR_INFEASIBLE)
        return pzi_fail(diag, status, "policy %s finds no plan within %llu bytes", policy,
                        (unsigned long long)setup->budget_bytes);
    return status == PZ_OK ? PZ_OK : pzi_fail(diag, status, "%s", pz_status_text(status));
}

pz_status pz_plan_make(const pz_setup *setup, const char *policy_name, pz_plan **plan,
                       pz_report *report, pz_diag *diag)
{
    if (pz_policy_is_online(policy_name))
        return pzi_online_make(setup, pzi_online_named(policy_name), plan, report, diag);
    pzi_work work = {0};
    const struct policy *policy;
    pz_status status = prepare(setup, policy_name, &policy, &work, diag);
    if (status != PZ_OK)
        return status;
    if (setup->budget_bytes < work.least_bytes) {
        pzi_work_free(&work);
        return explain(PZ_ERR_INFEASIBLE, setup, policy_name, diag);
    }
    pzi_planning run;
    pz_plan *made = NULL;
    status = run_new(&work, setup, policy, &run);
    if (status == PZ_OK)
        status = pz_plan_new(setup->trace, &made);
    if (status == PZ_OK) {
        describe(setup, policy, made);
        status = plan_and_run(&run, setup, policy, made, report);
    }
    pzi_planning_free(&run);
    pzi_work_free(&work);
    if (status == PZ_OK)
        *plan = made;
    else
        pz_plan_free(made);
    return explain(status, setup, policy_name, diag);
}

/* The policy's candidates without simulating all of them: one that fits is enough. */
static pz_status find_one(pzi_planning *run, const struct policy *policy, uint64_t budget_bytes)
{
    pz_status status = PZ_ERR_INFEASIBLE;
    run->planned.budget_bytes = budget_bytes;
    if (!policy->candidates)
        return pzi_best_fits(run, budget_bytes);
    for (size_t i = policy->n; status == PZ_ERR_INFEASIBLE && i-- > 0;) {
        pz_report report;
        status = pzi_candidate_try(run, &policy->candidates[i], 0, &report);
    }
    return status;
}

/* Searching for the least budget ----------------------------------------------------------------
 */

/* How far below a budget that is enough others are tried, in parts of it. */
#define PROBES 8
#define PROBE_PART 256

/* Bisects between a budget that is not enough and one that is, down to a byte. */
static pz_status bisect(pzi_planning *run, const struct policy *policy, uint64_t low,
                        uint64_t *high)
{
    while (*high - low > 1) {
        const uint64_t middle = low + (*high - low) / 2;
        const pz_status status = find_one(run, policy, middle);
        if (status == PZ_OK)
            *high = middle;
        else if (status == PZ_ERR_INFEASIBLE)
            low = middle;
        else
            return status;
    }
    return PZ_OK;
}

/* What fits is not monotone in the budget, so that there may be less below what is not enough. */
static pz_status find_least(pzi_planning *run, const struct policy *policy, uint64_t *least)
{
    pz_status status = bisect(run, policy, 0, least);
    for (uint64_t k = 1; status == PZ_OK && *least >= PROBE_PART && k <= PROBES; k++) {
        uint64_t less = *least - *least / PROBE_PART * k;
        status = find_one(run, policy, less);
        if (status == PZ_OK) {
            status = bisect(run, policy, less - less / PROBE_PART, &less);
            *least = less;
            k = 0;
        } else if (status == PZ_ERR_INFEASIBLE) {
            status = PZ_OK;
        }
    }
    return status;
}

pz_status pz_plan_least_budget(const pz_setup *setup, const char *policy_name,
                               uint64_t *budget_bytes, pz_diag *diag)
{
    if (pz_policy_is_online(policy_name))
        return pzi_online_least(setup, pzi_online_named(policy_name), budget_bytes, diag);
    pzi_work work;
    const struct policy *policy;
    pz_status status = prepare(setup, policy_name, &policy, &work, diag);
    if (status != PZ_OK)
        return status;
    pzi_planning run;
    status = run_new(&work, setup, policy, &run);
    uint64_t least = setup->trace->peak_bytes[setup->platform->precision];
    if (status == PZ_OK)
        status = find_least(&run, policy, &least);
    if (status == PZ_OK)
        *budget_bytes = least;
    pzi_planning_free(&run);
    pzi_work_free(&work);
    return explain(status, setup, policy_name, diag);
}
