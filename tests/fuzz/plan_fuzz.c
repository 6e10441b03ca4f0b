/* Any bytes as the plan of a fixed trace: refused, or run within the budget or refused there, and
 * the same after writing and reading. */
#include <planezip/plan.h>
#include <stdlib.h>
#include <string.h>

#include "support/guard.h"
#include "tests/sim/tracegen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Noreturn static void fail(const char *what, const pz_diag *diag)
{
    fprintf(stderr, "%s: %s: %s\n", what, diag->path, diag->text);
    abort();
}

/* The trace of the plans in the corpus. */
static const pz_trace *the_trace(void)
{
    static pz_trace *trace;
    struct rng rng = {5};

    if (trace == NULL)
        trace = tracegen_make(&rng, 8);
    if (trace == NULL)
        abort();
    return trace;
}

static void run(const pz_plan *plan, uint64_t budget_bytes)
{
    pz_platform platform;
    pz_report report;
    pz_diag diag = {0};

    pz_platform_named("A", &platform);
    const pz_setup setup = {.size = sizeof setup,
                            .trace = the_trace(),
                            .platform = &platform,
                            .budget_bytes = budget_bytes};
    const pz_status status = pz_simulate(&setup, plan, &report, NULL, &diag);
    if (status != PZ_OK && status != PZ_ERR_INFEASIBLE)
        fail("the plan does not run", &diag);
    if (status == PZ_OK && report.peak_bytes > budget_bytes)
        fail("above the budget", &diag);
}

static void check_file(const pz_plan *plan)
{
    pz_plan *again = NULL;
    pz_diag diag = {0};
    char *text = NULL, *second = NULL;

    if (pz_plan_json(the_trace(), plan, &text) != PZ_OK ||
        pz_plan_parse(the_trace(), text, strlen(text), &again, &diag) != PZ_OK ||
        pz_plan_json(the_trace(), again, &second) != PZ_OK || strcmp(text, second) != 0)
        fail("the plan's file", &diag);
    pz_plan_free(again);
    pz_text_free(text);
    pz_text_free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guard guard;
    const char *const text = (const char *)guard_copy(&guard, GUARD_BACK, data, size);
    pz_plan *plan = NULL;
    pz_trace_info info;
    pz_diag diag = {0};

    if (pz_plan_parse(the_trace(), text, size, &plan, &diag) != PZ_OK) {
        if (diag.text[0] == '\0')
            fail("an error without a text", &diag);
        return 0;
    }
    pz_trace_get_info(the_trace(), &info);
    run(plan, INT64_MAX);
    run(plan, info.peak_bytes[PZ_FP32] * 3 / 4);
    check_file(plan);
    pz_plan_free(plan);
    return 0;
}
