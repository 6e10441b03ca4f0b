/* Any bytes as a trace: refused, or good enough to plan, simulate and write.  The plan must keep
 * its budget and lead to no missing value. */
#include <planezip/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guard.h"

enum { MAX_OPS = 200, MAX_ACCESSES = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Noreturn static void fail(const char *what, const pz_diag *diag)
{
    fprintf(stderr, "%s: %s: %s\n", what, diag->path, diag->text);
    abort();
}

static void check_run(const pz_setup *setup, const pz_plan *plan)
{
    pz_timeline *timeline = NULL;
    pz_report report;
    pz_diag diag = {0};
    char *text = NULL;

    if (pz_simulate(setup, plan, &report, &timeline, &diag) != PZ_OK)
        fail("the plan does not run", &diag);
    if (report.peak_bytes > setup->budget_bytes)
        fail("above the budget", &diag);
    if (report.total_ns != report.compute_ns + report.optimizer_ns + report.replay_ns +
                               report.stall_memory_ns + report.stall_prefetch_ns + report.codec_ns)
        fail("the times do not add up", &diag);
    if (pz_timeline_json(timeline, &text) != PZ_OK)
        fail("no timeline", &diag);
    pz_text_free(text);
    pz_timeline_free(timeline);
}

static void check_file(const pz_trace *trace, const pz_plan *plan)
{
    pz_plan *again = NULL;
    pz_diag diag = {0};
    char *text = NULL;

    if (pz_plan_json(trace, plan, &text) != PZ_OK ||
        pz_plan_parse(trace, text, strlen(text), &again, &diag) != PZ_OK)
        fail("the plan's file", &diag);
    pz_plan_free(again);
    pz_text_free(text);
}

/* Drops everything that can be dropped alone, in keep mode. */
static void drop_all(const pz_setup *setup, pz_plan *plan, size_t n)
{
    int64_t *costs = calloc(2 * n + 1, sizeof *costs);
    pz_report report;
    pz_diag diag = {0};

    if (costs != NULL &&
        pz_trace_costs(setup->trace, setup->platform, costs, costs + n, NULL) == PZ_OK)
        for (size_t i = 0; i < n; i++)
            pz_plan_set(plan, i, costs[n + i] == INT64_MAX ? PZ_KEEP : PZ_DROP, 0);
    pz_plan_set_replay(plan, PZ_REPLAY_HOLD);
    const pz_status status = pz_simulate(setup, plan, &report, NULL, &diag);
    if (status != PZ_OK && status != PZ_ERR_INFEASIBLE)
        fail("everything dropped", &diag);
    free(costs);
}

/* Half of the peak, or the least that is feasible: most random traces have little to evict. */
static void choose_budget(pz_setup *setup, uint64_t peak_bytes)
{
    uint64_t least = 0;
    pz_diag diag = {0};

    if (pz_plan_least_budget(setup, "planezip", &least, &diag) != PZ_OK)
        fail("no least budget", &diag);
    setup->budget_bytes = least > peak_bytes / 2 ? least : peak_bytes / 2;
}

static void plan_and_run(const pz_trace *trace, const pz_trace_info *info)
{
    pz_platform platform;
    pz_plan *plan = NULL;
    pz_report report;
    pz_diag diag = {0};
    double *ratios = malloc((info->saved + 1) * sizeof *ratios);

    pz_platform_named("B", &platform);
    for (size_t i = 0; ratios != NULL && i < info->saved; i++)
        ratios[i] = 1 + (double)(i % 4) / 2;
    pz_setup setup = {
        .size = sizeof setup, .trace = trace, .platform = &platform, .predicted = ratios};
    choose_budget(&setup, info->peak_bytes[PZ_BF16]);
    if (pz_plan_make(&setup, "planezip", &plan, &report, &diag) != PZ_OK)
        fail("no plan for a feasible budget", &diag);
    check_run(&setup, plan);
    check_file(trace, plan);
    setup.budget_bytes = INT64_MAX;
    drop_all(&setup, plan, info->saved);
    pz_plan_free(plan);
    free(ratios);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guard guard;
    const char *const text = (const char *)guard_copy(&guard, GUARD_BACK, data, size);
    pz_trace *trace = NULL;
    pz_trace_info info;
    pz_saved saved;
    pz_diag diag = {0};

    if (pz_trace_parse(text, size, &trace, &diag) != PZ_OK) {
        if (diag.text[0] == '\0')
            fail("an error without a text", &diag);
        return 0;
    }
    pz_trace_get_info(trace, &info);
    for (size_t i = 0; pz_trace_get_saved(trace, i, &saved) == PZ_OK; i++)
        if (saved.first_backward_use < (int64_t)info.forward_ops ||
            saved.last_use < saved.first_backward_use || saved.ready_op > saved.last_forward_use)
            fail("uses out of order", &diag);
    if (info.ops <= MAX_OPS && size <= MAX_ACCESSES * 8)
        plan_and_run(trace, &info);
    pz_trace_free(trace);
    return 0;
}
