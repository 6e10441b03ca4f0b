/* What does half of the activation memory cost?  Plans a trace on platform B and prints the
 * overhead.
 *
 *   cc half.c $(pkg-config --cflags --libs planezip) -o half
 *   ./half traces/gpt2.json ratios/measured_gpt2.json */
#include <planezip/plan.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *file, const pz_diag *diag)
{
    fprintf(stderr, "%s: %s %s\n", file, diag->path, diag->text);
    return 1;
}

static int plan_half(const pz_trace *trace, const pz_predictor *table, const char *file)
{
    pz_platform platform;
    pz_trace_info info;
    pz_diag diag;
    pz_plan *plan;
    pz_report report;

    pz_platform_named("B", &platform);
    pz_trace_get_info(trace, &info);
    double *ratios = calloc(info.saved + 1, sizeof *ratios);
    if (!ratios || pz_predictor_fill(table, trace, "planezip", platform.precision, PZ_BY_TENSOR,
                                     ratios) != PZ_OK)
        return 1;
    const pz_setup setup = {.size = sizeof setup,
                            .trace = trace,
                            .platform = &platform,
                            .predicted = ratios,
                            .budget_bytes = info.peak_bytes[platform.precision] / 2};
    const pz_status status = pz_plan_make(&setup, "planezip", &plan, &report, &diag);
    free(ratios);
    if (status != PZ_OK)
        return fail(file, &diag);
    printf("%s: %.1f %% slower with half the memory; %zu tensors kept, %zu swapped, %zu dropped\n",
           info.model, 100 * report.overhead, report.kept, report.swapped, report.dropped);
    pz_plan_free(plan);
    return 0;
}

int main(int argc, char **argv)
{
    pz_diag diag;
    pz_trace *trace = NULL;
    pz_predictor *table = NULL;
    int status = 2;

    if (argc != 3)
        fprintf(stderr, "usage: half TRACE RATIOS\n");
    else if (pz_trace_read(argv[1], &trace, &diag) != PZ_OK)
        status = fail(argv[1], &diag);
    else if (pz_predictor_read(argv[2], &table, &diag) != PZ_OK)
        status = fail(argv[2], &diag);
    else
        status = plan_half(trace, table, argv[1]);
    pz_predictor_free(table);
    pz_trace_free(trace);
    return status;
}
