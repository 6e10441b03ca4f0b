/* The policies of the paper (section IV): each is a list of candidate plans; the fastest under the
 * predicted ratios is the plan.  How one candidate is made stands in make_candidate(). */
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "plan/evict.h"
#include "plan/planner.h"
#include "sim/sim.h"

/* How a candidate plan is made: stage 1 with a ranking and a share eta of the window, or none; then
 * a rule of eviction. */
struct candidate {
    const char *name;
    bool uncompressed; /* budget copies with raw sizes, although transfers are compressed */
    double eta;        /* 0: no stage 1 */
    pzi_ranking ranking;
    pzi_rule rule;
};

#define ETAS(prefix, uncompressed, ranking)                                    \
    {prefix ", eta 1", uncompressed, 1.0, ranking, PZI_DROP_CHEAPEST},         \
        {prefix ", eta 0.75", uncompressed, 0.75, ranking, PZI_DROP_CHEAPEST}, \
        {prefix ", eta 0.5", uncompressed, 0.5, ranking, PZI_DROP_CHEAPEST},   \
    {                                                                          \
        prefix ", eta 0.25", uncompressed, 0.25, ranking, PZI_DROP_CHEAPEST    \
    }

/* The portfolio of section III-C.  Without compression the four uncompressed plans at its end are
 * those of the first ranking. */
static const struct candidate portfolio[] = {
    ETAS("Cr/x", false, PZI_RECOMPUTE_PER_COPY),
    ETAS("m/x", false, PZI_MEMORY_PER_COPY),
    ETAS("Cr/m", false, PZI_RECOMPUTE_PER_BYTE),
    {"Equation 1", false, 0, PZI_RECOMPUTE_PER_COPY, PZI_COST_MODEL},
    {"recomputation only", false, 0, PZI_RECOMPUTE_PER_COPY, PZI_DROP_CHEAPEST},
    ETAS("uncompressed Cr/x", true, PZI_RECOMPUTE_PER_COPY),
};

static const struct candidate swap_largest = {"largest m * idle", false, 0, PZI_RECOMPUTE_PER_COPY,
                                              PZI_SWAP_LARGEST};

enum {
    PORTFOLIO = sizeof portfolio / sizeof portfolio[0],
    WITHOUT_COMPRESSION = PORTFOLIO - 4,
    EQUATION_1 = WITHOUT_COMPRESSION - 2,
    RECOMPUTATION = WITHOUT_COMPRESSION - 1
};

struct policy {
    pz_policy face;
    const struct candidate *candidates;
    size_t n;
    bool unaware; /* plan as if nothing were compressed */
};

static const struct policy policies[] = {
    {{"recomp", "none", "recomputation only, DTR's heuristic"},
     &portfolio[RECOMPUTATION],
     1,
     false},
    {{"swap", "none", "swapping only, largest size times idle time first"},
     &swap_largest,
     1,
     false},
    {{"dte", "none", "MegTaiChi's cost model, Equation 1"}, &portfolio[EQUATION_1], 1, false},
    {{"dte+codec", "planezip", "Equation 1 with compressed transfer times"},
     &portfolio[EQUATION_1],
     1,
     false},
    {{"bw", "none", "bandwidth-aware planner without compression"},
     portfolio,
     WITHOUT_COMPRESSION,
     false},
    {{"bw+codec", "planezip", "the plan of bw, its transfers compressed"},
     portfolio,
     WITHOUT_COMPRESSION,
     true},
    {{"bw+zvc", "zvc", "bandwidth-aware planner with zero-value compression"},
     portfolio,
     PORTFOLIO,
     false},
    {{"planezip", "planezip", "bandwidth-aware planner with the PlaneZip codec"},
     portfolio,
     PORTFOLIO,
     false},
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
    if (!found)
        return PZ_ERR_ARGUMENT;
    *policy = found->face;
    return PZ_OK;
}

/* What one planning run works with. */
struct run {
    pzi_planner planner;
    pzi_copies copies, raw_copies; /* with the planned ratios, and without compression */
    pz_setup planned;              /* the setup that candidates are simulated with */
    bool plain;                    /* for now nothing is compressed, whatever the policy says */
    pz_plan *trial;
};

/* Makes one candidate for a target of limit_bytes; false if nothing fits. */
static bool make_candidate(struct run *run, const struct candidate *candidate, uint64_t limit_bytes)
{
    pzi_planner *p = &run->planner;
    const bool raw = candidate->uncompressed || run->plain;
    const pzi_copies *copies = raw ? &run->raw_copies : &run->copies;
    pzi_draft_start(p, limit_bytes);
    if (candidate->eta > 0)
        pzi_admit_swaps(p, copies, candidate->ranking, candidate->eta);
    if (!pzi_evict(p, candidate->rule, copies))
        return false;
    pzi_draft_finish(p, run->trial);
    return !p->no_memory;
}

/* A plan whose run overflows is planned again with a tighter target (section IV). */
#define REPLANS 14
#define REPLAN_STEP 0.02

static uint64_t tightened(uint64_t budget_bytes, int step)
{
    return budget_bytes - (uint64_t)((double)budget_bytes * REPLAN_STEP * step);
}

/* Plans and simulates one candidate, tightening its target until it runs within the budget. */
static pz_status try_candidate(struct run *run, const struct candidate *candidate, int first_step,
                               pz_report *report)
{
    pz_status status = PZ_ERR_INFEASIBLE;
    pz_setup setup = run->planned;
    if (run->plain)
        setup.predicted = NULL;
    for (int step = first_step; status == PZ_ERR_INFEASIBLE && step <= REPLANS; step++) {
        if (!make_candidate(run, candidate, tightened(setup.budget_bytes, step)))
            break;
        status = pzi_simulate(run->planner.work, &run->planner.replayer, &setup, run->trial, report,
                              NULL, NULL);
    }
    return run->planner.no_memory ? PZ_ERR_MEMORY : status;
}

/* Tries the first n candidates of the policy; a faster plan than *best_ns replaces *plan. */
static pz_status plan_faster(struct run *run, const struct policy *policy, size_t n, int step,
                             int64_t *best_ns, pz_plan *plan)
{
    for (size_t i = 0; i < n; i++) {
        pz_report report;
        const pz_status status = try_candidate(run, &policy->candidates[i], step, &report);
        if (status != PZ_OK && status != PZ_ERR_INFEASIBLE)
            return status;
        if (status != PZ_OK || report.total_ns >= *best_ns)
            continue;
        *best_ns = report.total_ns;
        memcpy(plan->steps, run->trial->steps, plan->n * sizeof *plan->steps);
        plan->info.predicted_overhead = report.overhead;
        snprintf(plan->info.candidate, sizeof plan->info.candidate, "%s",
                 policy->candidates[i].name);
        snprintf(plan->info.codec, sizeof plan->info.codec, "%s",
                 run->plain ? "none" : policy->face.codec);
    }
    return PZ_OK;
}

/* A codec in software takes compute time for every transfer, so a plan may be faster without it. */
static bool may_go_without(const struct run *run, const struct policy *policy)
{
    const pz_platform *platform = run->planner.work->platform;
    return platform->engine_bps <= 0 && platform->software_bps > 0 && policy->n == PORTFOLIO;
}

/* The fastest candidate of the policy into *plan. */
static pz_status plan_best(struct run *run, const struct policy *policy, int step, pz_plan *plan)
{
    int64_t best_ns = INT64_MAX;
    pz_status status = plan_faster(run, policy, policy->n, step, &best_ns, plan);
    if (status == PZ_OK && may_go_without(run, policy)) {
        run->plain = true;
        status = plan_faster(run, policy, WITHOUT_COMPRESSION, step, &best_ns, plan);
        run->plain = false;
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
}

/* Plans with the predicted ratios and runs the plan with the actual ones, planning again if that
 * run overflows.  The predicted overhead of an unaware plan is the one with its compressed
 * transfers. */
static pz_status plan_and_run(struct run *run, const pz_setup *setup, const struct policy *policy,
                              pz_plan *plan, pz_report *report)
{
    pz_status status = PZ_ERR_INFEASIBLE;
    for (int step = 0; status == PZ_ERR_INFEASIBLE && step <= REPLANS; step++) {
        status = plan_best(run, policy, step, plan);
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
                         struct run *run)
{
    *run = (struct run){.planned = *setup};
    run->planned.actual = NULL;
    if (policy->unaware)
        run->planned.predicted = NULL;
    pz_status status = pzi_planner_new(work, &run->planner);
    if (status == PZ_OK)
        status = pzi_copies_new(work, run->planned.predicted, &run->copies);
    if (status == PZ_OK)
        status = pzi_copies_new(work, NULL, &run->raw_copies);
    if (status == PZ_OK)
        status = pz_plan_new(work->trace, &run->trial);
    return status;
}

static void run_free(struct run *run)
{
    pz_plan_free(run->trial);
    pzi_copies_free(&run->raw_copies);
    pzi_copies_free(&run->copies);
    pzi_planner_free(&run->planner);
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
    pzi_work work;
    const struct policy *policy;
    pz_status status = prepare(setup, policy_name, &policy, &work, diag);
    if (status != PZ_OK)
        return status;
    struct run run;
    pz_plan *made = NULL;
    status = run_new(&work, setup, policy, &run);
    if (status == PZ_OK)
        status = pz_plan_new(setup->trace, &made);
    if (status == PZ_OK) {
        describe(setup, policy, made);
        status = plan_and_run(&run, setup, policy, made, report);
    }
    run_free(&run);
    pzi_work_free(&work);
    if (status == PZ_OK)
        *plan = made;
    else
        pz_plan_free(made);
    return explain(status, setup, policy_name, diag);
}

/* The policy's candidates without simulating all of them: one that fits is enough. */
static pz_status find_one(struct run *run, const struct policy *policy, uint64_t budget_bytes)
{
    pz_status status = PZ_ERR_INFEASIBLE;
    run->planned.budget_bytes = budget_bytes;
    for (size_t i = policy->n; status == PZ_ERR_INFEASIBLE && i-- > 0;) {
        pz_report report;
        status = try_candidate(run, &policy->candidates[i], 0, &report);
    }
    return status;
}

#define BUDGET_STEPS 1000

/* peak * step / 1000, exactly. */
static uint64_t budget_at(uint64_t peak_bytes, int step)
{
    return peak_bytes / BUDGET_STEPS * (uint64_t)step +
           peak_bytes % BUDGET_STEPS * (uint64_t)step / BUDGET_STEPS;
}

pz_status pz_plan_least_budget(const pz_setup *setup, const char *policy_name,
                               uint64_t *budget_bytes, pz_diag *diag)
{
    pzi_work work;
    const struct policy *policy;
    pz_status status = prepare(setup, policy_name, &policy, &work, diag);
    if (status != PZ_OK)
        return status;
    struct run run;
    status = run_new(&work, setup, policy, &run);
    const uint64_t peak = setup->trace->peak_bytes[setup->platform->precision];
    /* Bisection: nothing fits in low / 1000 of the peak, a plan for high / 1000 has been found. */
    int low = 0, high = BUDGET_STEPS;
    while (status == PZ_OK && high - low > 1) {
        const int middle = (low + high) / 2;
        status = find_one(&run, policy, budget_at(peak, middle));
        if (status == PZ_OK)
            high = middle;
        else
            low = middle;
        status = status == PZ_ERR_INFEASIBLE ? PZ_OK : status;
    }
    if (status == PZ_OK)
        *budget_bytes = budget_at(peak, high);
    run_free(&run);
    pzi_work_free(&work);
    return explain(status, setup, policy_name, diag);
}
