/* How long planning takes: the 18-plan portfolio on platform B at half the peak, replans included,
 * on one core.  Arguments: TRACE or TRACE=RATIOS; without ratios every tensor has the ratio 1.7. */
#include <planezip/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MIN_RUNS 3
#define MAX_RUNS 31
#define SECONDS 2.0
#define DEFAULT_RATIO 1.7

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fail(const char *file, const pz_diag *diag)
{
    fprintf(stderr, "plan_bench: %s: %s (%s)\n", file, diag->text, diag->path);
    exit(1);
}

static double *read_ratios(const pz_trace *trace, size_t n, const char *file,
                           pz_precision precision)
{
    pz_diag diag = {0};
    double *ratios = calloc(n + 1, sizeof *ratios);
    if (!ratios)
        exit(1);
    for (size_t i = 0; i < n; i++)
        ratios[i] = DEFAULT_RATIO;
    pz_predictor *table;
    if (!file)
        return ratios;
    if (pz_predictor_read(file, &table, &diag) != PZ_OK)
        fail(file, &diag);
    pz_predictor_fill(table, trace, "planezip", precision, PZ_BY_TENSOR, ratios);
    pz_predictor_free(table);
    return ratios;
}

/* Median seconds of a planning run; *report is the last one's. */
static double time_planning(const pz_setup *setup, const char *file, pz_report *report)
{
    double seconds[MAX_RUNS];
    int runs = 0;
    const double begin = now_s();
    while (runs < MIN_RUNS || (runs < MAX_RUNS && now_s() - begin < SECONDS)) {
        pz_plan *plan;
        pz_diag diag = {0};
        const double start = now_s();
        if (pz_plan_make(setup, "planezip", &plan, report, &diag) != PZ_OK)
            fail(file, &diag);
        seconds[runs++] = now_s() - start;
        pz_plan_free(plan);
    }
    qsort(seconds, (size_t)runs, sizeof *seconds, compare);
    return seconds[runs / 2];
}

static void bench(char *argument)
{
    char *ratios_file = strchr(argument, '=');
    if (ratios_file)
        *ratios_file++ = '\0';
    pz_platform platform;
    pz_platform_named("B", &platform);
    pz_trace *trace;
    pz_diag diag = {0};
    const double start = now_s();
    if (pz_trace_read(argument, &trace, &diag) != PZ_OK)
        fail(argument, &diag);
    const double read_s = now_s() - start;
    pz_trace_info info;
    pz_trace_get_info(trace, &info);
    double *ratios = read_ratios(trace, info.saved, ratios_file, platform.precision);
    const pz_setup setup = {.size = sizeof setup,
                            .trace = trace,
                            .platform = &platform,
                            .predicted = ratios,
                            .budget_bytes = info.peak_bytes[platform.precision] / 2};
    pz_report report;
    const double plan_s = time_planning(&setup, argument, &report);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-20s %8zu %7zu %10.1f %10.2f %12.2f %10.1f %9.2f\n", info.model, info.ops, info.saved,
           read_s * 1e3, plan_s * 1e3, plan_s * 1e6 / (double)info.ops,
           (double)usage.ru_maxrss / 1024, 100 * report.overhead);
    free(ratios);
    pz_trace_free(trace);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: plan_bench TRACE[=RATIOS]...\n");
        return 2;
    }
    printf("%-20s %8s %7s %10s %10s %12s %10s %9s\n", "model", "ops", "saved", "read (ms)",
           "plan (ms)", "us per op", "RSS (MiB)", "overhead");
    for (int i = 1; i < argc; i++)
        bench(argv[i]);
    return 0;
}
