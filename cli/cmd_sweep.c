/* planezip sweep: every combination of traces, platforms, policies and budgets, in parallel. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include "errors.h"
#include "input.h"
#include "memory.h"
#include "names.h"
#include "report.h"
#include "search.h"
#include "sweep_setup.h"
#include "table.h"
#include "units.h"

#include <planezip/plan.h>

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024 };

typedef struct budget_list {
    budget *list;
    size_t count;
} budget_list;

typedef struct number_list {
    double *list;
    size_t count;
} number_list;

static struct {
    word_list traces, ratios, actual, platforms, policies;
    const char *ratios_folder;
    budget_list budgets;
    number_list links, engines, engines_per_link, ratio_times;
    pz_signature signature;
    bool modes[PZ_REPLAYS]; /* none: free and keep */
    search_options search;
    uint64_t threads;
    bool bound, as_planned, summary, csv, json;
} options;

/* ---- Options ---- */

/* Calls take() for every part of a comma list. */
static const char *parse_list(const char *text, void *target,
                              const char *(*take)(const char *part, void *target))
{
    word_list parts = {0};
    const char *problem = option_words(text, &parts);

    for (size_t i = 0; problem == NULL && i < parts.count; i++)
        problem = take(parts.words[i], target);
    free(parts.words);
    return problem;
}

static const char *take_budget(const char *part, void *target)
{
    budget_list *budgets = target;
    budget value;
    const char *problem = units_parse_budget(part, &value);

    if (problem != NULL)
        return problem;
    budgets->list = memory_resize(budgets->list, budgets->count + 1, sizeof *budgets->list);
    budgets->list[budgets->count++] = value;
    return NULL;
}

static void add_number(number_list *numbers, double value)
{
    numbers->list = memory_resize(numbers->list, numbers->count + 1, sizeof *numbers->list);
    numbers->list[numbers->count++] = value;
}

static const char *take_rate(const char *part, void *target)
{
    double value;
    const char *problem = units_parse_positive(part, &value);

    if (problem == NULL && !isfinite(value * 1e9))
        problem = "it is too large";
    if (problem == NULL)
        add_number(target, value * 1e9);
    return problem;
}

static const char *take_engine(const char *part, void *target)
{
    if (strcmp(part, "0") != 0)
        return take_rate(part, target);
    add_number(target, 0);
    return NULL;
}

static const char *take_factor(const char *part, void *target)
{
    double value;
    const char *problem = units_parse_positive(part, &value);

    if (problem == NULL)
        add_number(target, value);
    return problem;
}

static const char *take_mode(const char *part, void *target)
{
    pz_replay mode;
    const char *problem = option_replay(part, &mode);

    if (problem == NULL)
        ((bool *)target)[mode] = true;
    return problem;
}

static const char *parse_modes(const char *text, void *target)
{
    return parse_list(text, target, take_mode);
}

static const char *parse_budgets(const char *text, void *target)
{
    return parse_list(text, target, take_budget);
}

static const char *parse_rates(const char *text, void *target)
{
    return parse_list(text, target, take_rate);
}

static const char *parse_engines(const char *text, void *target)
{
    return parse_list(text, target, take_engine);
}

static const char *parse_factors(const char *text, void *target)
{
    return parse_list(text, target, take_factor);
}

static const option sweep_options[] = {
    OPTION_LIST('t', "trace", "TRACE", option_files, &options.traces, "traces"),
    OPTION_LIST('r', "ratios", "TABLE", option_files, &options.ratios,
                "ratio tables, matched to traces by the model (every ratio\n"
                "is 1)"),
    OPTION(0, "ratios-dir", "DIR", option_text, &options.ratios_folder,
           "a folder of ratio tables, one per model"),
    OPTION_LIST(0, "actual", "TABLE", option_files, &options.actual,
                "tables of the ratios that transfers really have (those of\n"
                "--ratios)"),
    OPTION_LIST('p', "platform", "PLATFORM", option_files, &options.platforms,
                "built-in platforms or files (A and B)"),
    OPTION_LIST(0, "policy", "NAME", option_words, &options.policies,
                "policies (all but the online ones)"),
    OPTION_LIST(0, "replay", "MODE", parse_modes, options.modes,
                "free or keep what a replay rebuilds on its way (both), or\n"
                "hold what it needs often as well; policy best tries free and\n"
                "keep for each plan, and hold if it is named"),
    SEARCH_OPTIONS(options.search),
    OPTION_LIST('b', "budget", "B", parse_budgets, &options.budgets,
                "budgets (30%,40%,50%,60%,70%,80%,90% of the peak)"),
    OPTION(0, "signature", "S", option_signature, &options.signature,
           "what the predictor tells tensors apart by: tensor (default),\n"
           "operator or none; transfers have the ratios of the table"),
    OPTION_LIST(0, "link", "GB/s", parse_rates, &options.links,
                "rates of the link per direction, instead of the platform's"),
    OPTION_LIST(0, "engine", "GB/s", parse_engines, &options.engines,
                "rates of the compression engine; 0 is no engine"),
    OPTION_LIST(0, "engine-per-link", "X", parse_factors, &options.engines_per_link,
                "rates of the engine, in rates of the link"),
    OPTION_LIST(0, "ratio-times", "X", parse_factors, &options.ratio_times,
                "what if tensors compressed X times as well: ratios above 1 are\n"
                "multiplied, and stay at least 1"),
    OPTION('T', "threads", "N", option_count, &options.threads,
           "threads; 0 (default) is all cores"),
    SWITCH(0, "bound", &options.bound,
           "tell what no plan can beat, and how many points above it each\n"
           "plan is (needs a build with GLPK)"),
    SWITCH(0, "as-planned", &options.as_planned,
           "do not take the plan for a smaller budget or smaller ratios where\n"
           "it is faster"),
    SWITCH(0, "summary", &options.summary, "print only the means over the models"),
    SWITCH(0, "csv", &options.csv, "print CSV"),
    SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};

/* ---- Jobs ---- */

/* A policy in a replay mode, with all ratios times a factor. */
struct way {
    pz_policy policy;
    pz_replay replay;
    const char *replay_name;
    double ratio_times;
};

/* One combination and its result. */
struct job {
    const sweep_trace *trace;
    const pz_platform *platform;
    const struct way *way;
    size_t budget_index;
    pz_setup setup;
    pz_status result;
    pz_diag diag;
    pz_report report;
    pz_plan *plan;            /* NULL: none */
    const struct job *reused; /* with less memory or smaller ratios, whose plan it is; or NULL */
    char candidate[sizeof((pz_plan_info *)NULL)->candidate];
    uint64_t least_bytes; /* if nothing fits: the least budget found that is enough */
    pz_bound bound;       /* if bounded, which --bound asks for */
    bool bounded;
    bool non_monotone;
};

struct sweep {
    sweep_trace *traces;
    pz_platform *platforms;
    struct way *ways;
    size_t trace_count, platform_count, way_count, budget_count;
    size_t factor_count; /* of ratios; so many ways that follow each other differ in nothing else */
    struct job *jobs;
    size_t job_count;
    atomic_size_t next, done;
    bool show_progress;
};

static void run_job(struct job *job)
{
    const char *policy = job->way->policy.name;
    pz_plan_info info;

    job->result = pz_plan_make(&job->setup, policy, &job->plan, &job->report, &job->diag);
    if (job->result == PZ_ERR_INFEASIBLE &&
        pz_plan_least_budget(&job->setup, policy, &job->least_bytes, NULL) != PZ_OK)
        job->least_bytes = 0;
    if (job->result != PZ_OK)
        return;
    pz_plan_get_info(job->plan, &info);
    memcpy(job->candidate, info.candidate, sizeof job->candidate);
}

/* Of every job: one without a plan of its own may get that of a smaller budget. */
static void bound_job(struct job *job)
{
    pz_status result = pz_plan_bound(&job->setup, &job->bound, &job->diag);

    job->bounded = result == PZ_OK;
    if (result != PZ_OK && result != PZ_ERR_INFEASIBLE)
        job->result = result;
}

static void *work(void *argument)
{
    struct sweep *sweep = argument;

    for (;;) {
        size_t index = atomic_fetch_add(&sweep->next, 1), done;

        if (index >= sweep->job_count)
            return NULL;
        run_job(&sweep->jobs[index]);
        if (options.bound)
            bound_job(&sweep->jobs[index]);
        done = atomic_fetch_add(&sweep->done, 1) + 1;
        if (sweep->show_progress)
            fprintf(stderr, "\r%zu of %zu plans", done, sweep->job_count);
    }
}

static size_t thread_count(const struct sweep *sweep)
{
    size_t count = (size_t)options.threads;

    if (count == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);

        count = cores > 0 ? (size_t)cores : 1;
    }
    count = count < THREADS_MAX ? count : THREADS_MAX;
    return count < sweep->job_count ? count : sweep->job_count;
}

/* The calling thread works too, so a thread that cannot be made is no failure. */
static void run_jobs(struct sweep *sweep)
{
    size_t count = thread_count(sweep), made = 0;
    pthread_t *threads = memory_keep(count, sizeof *threads);

    sweep->show_progress = !common.quiet && isatty(STDERR_FILENO);
    while (made + 1 < count && pthread_create(&threads[made], NULL, work, sweep) == 0)
        made++;
    work(sweep);
    for (size_t i = 0; i < made; i++)
        pthread_join(threads[i], NULL);
    if (sweep->show_progress)
        fprintf(stderr, "\r%*s\r", 50, "");
}

/* The transfers have ratios of their own, whatever the planner can tell apart. */
static int find_ratios(struct job *job)
{
    const sweep_trace *trace = job->trace;
    const char *codec = job->way->policy.codec;
    const pz_precision precision = job->platform->precision;
    const double times = job->way->ratio_times;
    const bool is_told = trace->actual.predictor != NULL;
    int status = sweep_ratios(trace, &trace->ratios, codec, precision, options.signature, times,
                              &job->setup.predicted);

    if (status != STATUS_OK || (!is_told && options.signature == PZ_BY_TENSOR))
        return status;
    return sweep_ratios(trace, is_told ? &trace->actual : &trace->ratios, codec, precision,
                        PZ_BY_TENSOR, times, &job->setup.actual);
}

static int set_up_job(struct job *job)
{
    uint64_t peak_bytes;
    const budget *limit = &options.budgets.list[job->budget_index];
    int status =
        input_peak(job->trace->file, job->trace->trace, job->platform->precision, &peak_bytes);

    if (status != STATUS_OK)
        return status;
    job->setup = (pz_setup){
        .size = sizeof job->setup,
        .trace = job->trace->trace,
        .platform = job->platform,
        .replay = job->way->replay,
    };
    search_set(&options.search, &job->setup);
    status = options_budget(limit, peak_bytes, &job->setup.budget_bytes);
    if (status != STATUS_OK)
        return status;
    return find_ratios(job);
}

/* The order of the jobs is the order of the output. */
static int make_jobs(struct sweep *sweep)
{
    size_t per_platform = sweep->way_count * sweep->budget_count;
    int status = STATUS_OK;

    sweep->job_count = sweep->trace_count * sweep->platform_count * per_platform;
    sweep->jobs = memory_keep(sweep->job_count, sizeof *sweep->jobs);
    for (size_t i = 0; status == STATUS_OK && i < sweep->job_count; i++) {
        struct job *job = &sweep->jobs[i];

        job->budget_index = i % sweep->budget_count;
        job->way = &sweep->ways[i / sweep->budget_count % sweep->way_count];
        job->platform = &sweep->platforms[i / per_platform % sweep->platform_count];
        job->trace = &sweep->traces[i / per_platform / sweep->platform_count];
        status = set_up_job(job);
    }
    return status;
}

/* ---- Results ---- */

/* The jobs that differ in nothing but the budget and the factor of ratios. */
static struct job *family(struct sweep *sweep, const struct job *job)
{
    size_t index = (size_t)(job - sweep->jobs), count = sweep->factor_count * sweep->budget_count;

    return &sweep->jobs[index - index % count];
}

/* Whether what the other job can do can be done here, too: it has less memory or smaller ratios,
 * and not more of the other. */
static bool has_less(const struct job *other, const struct job *job)
{
    return other->setup.budget_bytes <= job->setup.budget_bytes &&
           other->way->ratio_times <= job->way->ratio_times &&
           (other->setup.budget_bytes < job->setup.budget_bytes ||
            other->way->ratio_times < job->way->ratio_times);
}

/* Runs the plan of another job in place of the job's own if it is faster. */
static void reuse(struct job *job, const struct job *less)
{
    pz_setup setup = job->setup;
    pz_plan_info info;
    pz_report report;

    pz_plan_get_info(less->plan, &info);
    if (strcmp(info.codec, "none") == 0)
        setup.predicted = setup.actual = NULL;
    if (pz_simulate(&setup, less->plan, &report, NULL, NULL) != PZ_OK ||
        (job->result == PZ_OK && report.total_ns >= job->report.total_ns))
        return;
    job->result = PZ_OK;
    job->report = report;
    job->reused = less;
    memcpy(job->candidate, less->candidate, sizeof job->candidate);
}

/* What is good for less memory or smaller ratios is good for more. */
static void reuse_plans(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->job_count; i++) {
        struct job *job = &sweep->jobs[i], *others = family(sweep, job);

        if (pz_policy_is_online(job->way->policy.name)) /* which has no plan */
            continue;
        for (size_t k = 0; k < sweep->factor_count * sweep->budget_count; k++)
            if (others[k].plan != NULL && has_less(&others[k], job))
                reuse(job, &others[k]);
    }
}

static void free_plans(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->job_count; i++) {
        pz_plan_free(sweep->jobs[i].plan);
        sweep->jobs[i].plan = NULL;
    }
}

/* Worse than a run with less: infeasible, or a larger overhead beyond rounding. */
static bool is_worse(const struct job *job, const struct job *less)
{
    if (!has_less(less, job) || less->result != PZ_OK)
        return false;
    return job->result != PZ_OK || job->report.overhead > less->report.overhead + 1e-9;
}

/* Marks the jobs that break the order; returns how many do. */
static size_t mark_non_monotone(struct sweep *sweep)
{
    size_t count = 0;

    for (size_t i = 0; i < sweep->job_count; i++) {
        struct job *job = &sweep->jobs[i], *others = family(sweep, job);

        for (size_t k = 0; k < sweep->factor_count * sweep->budget_count && !job->non_monotone; k++)
            job->non_monotone = is_worse(job, &others[k]);
        count += job->non_monotone;
    }
    return count;
}

static const column row_columns[] = {
    {"model", "model", COLUMN_TEXT},
    {"platform", "platform", COLUMN_TEXT},
    {"precision", NULL, COLUMN_TEXT},
    {"link_bps", NULL, COLUMN_GBPS},
    {"engine_bps", NULL, COLUMN_GBPS},
    {"policy", "policy", COLUMN_TEXT},
    {"replay", "replay", COLUMN_TEXT},
    {"ratio_times", NULL, COLUMN_NUMBER},
    {"candidate", NULL, COLUMN_TEXT},
    {"plan_for", NULL, COLUMN_TEXT},
    {"plan_for_ratio_times", NULL, COLUMN_NUMBER},
    {"budget", "budget", COLUMN_TEXT},
    {"budget_fraction", NULL, COLUMN_PERCENT},
    {"budget_bytes", "in bytes", COLUMN_BYTES},
    {"status", "status", COLUMN_TEXT},
    {"least_budget_bytes", "least budget", COLUMN_BYTES},
    REPORT_COLUMNS(REPORT_HIDDEN),
    {"bound", NULL, COLUMN_PERCENT},
    {"gap", NULL, COLUMN_PERCENT},
    {"non_monotone", "non-monotone", COLUMN_FLAG},
};

static const column mean_columns[] = {
    {"platform", "platform", COLUMN_TEXT},
    {"link_bps", "link", COLUMN_GBPS},
    {"engine_bps", "engine", COLUMN_GBPS},
    {"policy", "policy", COLUMN_TEXT},
    {"replay", "replay", COLUMN_TEXT},
    {"ratio_times", "ratios x", COLUMN_NUMBER},
    {"budget", "budget", COLUMN_TEXT},
    {"models", "models", COLUMN_COUNT},
    {"infeasible", "infeasible", COLUMN_COUNT},
    {"mean_overhead", "mean overhead", COLUMN_PERCENT},
    {"mean_bound", "mean bound", COLUMN_PERCENT},
};

static void add_row(table *results, const struct job *job)
{
    uint64_t peak_bytes = job->trace->info.peak_bytes[job->platform->precision];
    const struct job *source = job->reused != NULL ? job->reused : job;

    table_text(results, job->trace->info.model);
    table_text(results, job->platform->name);
    table_text(results, names_precision(job->platform->precision));
    table_real(results, job->platform->d2h_bps);
    table_real(results, job->platform->engine_bps);
    table_text(results, job->way->policy.name);
    table_text(results, job->way->replay_name);
    table_real(results, job->way->ratio_times);
    table_text(results, job->candidate);
    table_text(results, options.budgets.list[source->budget_index].text);
    table_real(results, source->way->ratio_times);
    table_text(results, options.budgets.list[job->budget_index].text);
    table_real(results, (double)job->setup.budget_bytes / (double)peak_bytes);
    table_size(results, job->setup.budget_bytes);
    table_text(results, job->result == PZ_OK ? "ok" : "infeasible");
    if (job->result != PZ_OK && job->least_bytes > 0)
        table_size(results, job->least_bytes);
    else
        table_none(results);
    report_add(results, job->result == PZ_OK ? &job->report : NULL);
    if (job->bounded && job->result == PZ_OK) {
        table_real(results, job->bound.overhead);
        table_real(results, job->report.overhead - job->bound.overhead);
    } else {
        table_none(results);
        table_none(results);
    }
    table_flag(results, job->non_monotone);
}

/* Over the traces that have a plan for a combination; NaN over none. */
struct mean {
    double overhead, bound; /* NaN without --bound */
    size_t feasible;
};

/* The combination is the one that jobs[index] is of the first trace. */
static struct mean mean_of(const struct sweep *sweep, size_t index)
{
    struct mean mean = {0};
    double divisor;

    for (size_t i = index; i < sweep->job_count; i += sweep->job_count / sweep->trace_count) {
        const struct job *job = &sweep->jobs[i];

        if (job->result != PZ_OK)
            continue;
        mean.overhead += job->report.overhead;
        mean.bound += job->bounded ? job->bound.overhead : NAN;
        mean.feasible++;
    }
    divisor = mean.feasible > 0 ? (double)mean.feasible : NAN;
    mean.overhead /= divisor;
    mean.bound /= divisor;
    return mean;
}

static void add_combination(table *results, const struct job *job)
{
    table_text(results, job->platform->name);
    table_real(results, job->platform->d2h_bps);
    table_real(results, job->platform->engine_bps);
    table_text(results, job->way->policy.name);
    table_text(results, job->way->replay_name);
    table_real(results, job->way->ratio_times);
}

static void add_mean(table *results, const struct sweep *sweep, size_t index)
{
    const struct job *first = &sweep->jobs[index];
    const struct mean mean = mean_of(sweep, index);

    add_combination(results, first);
    table_text(results, options.budgets.list[first->budget_index].text);
    table_size(results, mean.feasible);
    table_size(results, sweep->trace_count - mean.feasible);
    table_real(results, mean.overhead);
    table_real(results, mean.bound);
}

static table *list_means(const struct sweep *sweep)
{
    table *means = table_new(mean_columns, LENGTH(mean_columns));

    for (size_t i = 0; i < sweep->job_count / sweep->trace_count; i++)
        add_mean(means, sweep, i);
    return means;
}

/* A row of means for people: the policy of jobs[index] and the following budgets, or what bounds
 * them.  A mean over fewer models than the others would mislead. */
static void add_mean_row(table *results, const struct sweep *sweep, size_t index, bool of_bounds)
{
    add_combination(results, &sweep->jobs[index]);
    if (options.bound)
        table_text(results, of_bounds ? "bound" : "plan");
    for (size_t i = index; i < index + sweep->budget_count; i++) {
        const struct mean mean = mean_of(sweep, i);
        double shown = of_bounds ? mean.bound : mean.overhead;

        table_real(results, mean.feasible == sweep->trace_count ? shown : NAN);
    }
}

/* Whether a policy wants ratios and there are none: the traces have tables all or none. */
static bool lacks_ratios(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->way_count; i++)
        if (strcmp(sweep->ways[i].policy.codec, "none") != 0)
            return sweep->traces[0].ratios.predictor == NULL;
    return false;
}

static void print_means(const struct sweep *sweep)
{
    size_t common_columns = 6, fixed = common_columns + options.bound;
    size_t count = fixed + sweep->budget_count;
    column *columns = memory_keep(count, sizeof *columns);
    table *results = table_new(columns, count);

    memcpy(columns, mean_columns, common_columns * sizeof *columns);
    if (options.ratio_times.count == 0)
        columns[common_columns - 1].title = NULL;
    if (options.bound)
        columns[common_columns] = (column){"", "of", COLUMN_TEXT};
    for (size_t i = 0; i < sweep->budget_count; i++)
        columns[fixed + i] = (column){"", options.budgets.list[i].text, COLUMN_PERCENT};
    for (size_t i = 0; i < sweep->job_count / sweep->trace_count; i += sweep->budget_count)
        for (int of_bounds = 0; of_bounds <= options.bound; of_bounds++)
            add_mean_row(results, sweep, i, of_bounds);
    table_print(results, memory_text("Mean overhead in %% of %zu model%s by budget; "
                                     "-: a model has no plan",
                                     sweep->trace_count, sweep->trace_count == 1 ? "" : "s"));
    if (lacks_ratios(sweep))
        printf(options.actual.count > 0
                   ? "Planned without ratio tables, as if every ratio were 1.\n"
                   : "No ratio tables: every ratio is 1.\n");
}

/* With --bound or --ratio-times, their columns are for people, too. */
static const column *shown_columns(void)
{
    column *columns = memory_keep(LENGTH(row_columns), sizeof *columns);

    memcpy(columns, row_columns, sizeof row_columns);
    for (size_t i = 0; i < LENGTH(row_columns); i++) {
        const char *field = columns[i].field;

        if (options.bound && (strcmp(field, "bound") == 0 || strcmp(field, "gap") == 0))
            columns[i].title = field;
        if (options.ratio_times.count > 0 && strcmp(field, "ratio_times") == 0)
            columns[i].title = "ratios x";
    }
    return columns;
}

static table *list_rows(const struct sweep *sweep)
{
    table *rows = table_new(shown_columns(), LENGTH(row_columns));

    for (size_t i = 0; i < sweep->job_count; i++)
        add_row(rows, &sweep->jobs[i]);
    return rows;
}

static void print_results(const struct sweep *sweep)
{
    if (options.json && options.summary) {
        json_show(json_pack("{s:o}", "means", table_json(list_means(sweep))), stdout);
    } else if (options.json) {
        json_show(json_pack("{s:o, s:o}", "rows", table_json(list_rows(sweep)), "means",
                            table_json(list_means(sweep))),
                  stdout);
    } else if (options.csv) {
        table_csv(options.summary ? list_means(sweep) : list_rows(sweep));
    } else {
        if (!options.summary) {
            table_print(list_rows(sweep), NULL);
            printf("\n");
        }
        print_means(sweep);
    }
}

/* The platform of a job as it was given: its variants are as many as those of all others. */
static const char *platform_word(const struct sweep *sweep, const struct job *job)
{
    size_t variants = sweep->platform_count / options.platforms.count;

    return options.platforms.words[(size_t)(job->platform - sweep->platforms) / variants];
}

/* Anything but a plan or none is a failure of the whole sweep. */
static int check_results(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->job_count; i++) {
        const struct job *job = &sweep->jobs[i];

        if (job->result != PZ_OK && job->result != PZ_ERR_INFEASIBLE)
            return fail_run(job->trace->file, platform_word(sweep, job), job->result, &job->diag);
    }
    return STATUS_OK;
}

/* ---- Command ---- */

static void add_ways(struct sweep *sweep, const pz_policy *policy)
{
    const bool *modes = options.modes;
    bool hold = modes[PZ_REPLAY_HOLD], some = modes[PZ_REPLAY_FREE] || modes[PZ_REPLAY_KEEP];

    if (strcmp(policy->name, PZ_POLICY_DEFAULT) == 0) {
        if (some || !hold)
            sweep->ways[sweep->way_count++] = (struct way){*policy, PZ_REPLAY_FREE, "both", 1};
        if (hold)
            sweep->ways[sweep->way_count++] = (struct way){*policy, PZ_REPLAY_HOLD, "all", 1};
        return;
    }
    for (int mode = PZ_REPLAY_FREE; mode < PZ_REPLAYS; mode++)
        if (modes[mode] || (!some && !hold && mode != PZ_REPLAY_HOLD))
            sweep->ways[sweep->way_count++] =
                (struct way){*policy, (pz_replay)mode, names_replay((pz_replay)mode), 1};
}

/* Each way with each factor of ratios. */
static void add_factors(struct sweep *sweep)
{
    static double once[] = {1};
    const bool given = options.ratio_times.count > 0;
    const double *factors = given ? options.ratio_times.list : once;
    const struct way *ways = sweep->ways;
    size_t count = sweep->factor_count = given ? options.ratio_times.count : 1;

    sweep->way_count *= count;
    sweep->ways = memory_keep(sweep->way_count, sizeof *sweep->ways);
    for (size_t i = 0; i < sweep->way_count; i++) {
        sweep->ways[i] = ways[i / count];
        sweep->ways[i].ratio_times = factors[i % count];
    }
}

static int find_policies(struct sweep *sweep)
{
    size_t named = options.policies.count, count = named > 0 ? named : pz_policy_count();

    sweep->ways = memory_keep(PZ_REPLAYS * count, sizeof *sweep->ways);
    for (size_t i = 0; i < count; i++) {
        pz_policy policy;
        pz_status result = named > 0 ? pz_policy_named(options.policies.words[i], &policy)
                                     : pz_policy_at(i, &policy);

        if (result != PZ_OK)
            return fail_usage("--policy '%s': known are %s",
                              named > 0 ? options.policies.words[i] : "?", names_policies());
        if (pz_policy_is_online(policy.name))
            sweep->ways[sweep->way_count++] = (struct way){policy, PZ_REPLAY_KEEP, "keep", 1};
        else
            add_ways(sweep, &policy);
    }
    add_factors(sweep);
    return STATUS_OK;
}

static void set_defaults(void)
{
    if (options.platforms.count == 0)
        option_words("A,B", &options.platforms);
    if (options.budgets.count == 0)
        parse_budgets("30%,40%,50%,60%,70%,80%,90%", &options.budgets);
    own(options.traces.words, free);
    own(options.ratios.words, free);
    own(options.actual.words, free);
    own(options.platforms.words, free);
    own(options.policies.words, free);
    own(options.budgets.list, free);
    own(options.links.list, free);
    own(options.engines.list, free);
    own(options.engines_per_link.list, free);
    own(options.ratio_times.list, free);
}

/* Whether a policy of the sweep searches. */
static bool searches(void)
{
    for (size_t i = 0; i < options.policies.count; i++)
        if (strcmp(options.policies.words[i], PZ_POLICY_DEFAULT) == 0)
            return true;
    return options.policies.count == 0;
}

static bool all_online(void)
{
    for (size_t i = 0; i < options.policies.count; i++)
        if (!pz_policy_is_online(options.policies.words[i]))
            return false;
    return options.policies.count > 0;
}

static int check_options(void)
{
    const bool has_ratios = options.ratios.count > 0 || options.ratios_folder != NULL;
    const bool *modes = options.modes;
    int status = table_check_formats(options.csv, options.json);

    if (status == STATUS_OK)
        status = search_check(&options.search, searches());
    if (status != STATUS_OK)
        return status;
    if (options.bound && !pz_plan_bound_available())
        return fail_usage("--bound: this build has no solver; build with GLPK, or leave it out");
    if (options.traces.count == 0)
        return fail_usage("--trace TRACE is missing");
    if (options.ratios.count > 0 && options.ratios_folder != NULL)
        return fail_usage("--ratios and --ratios-dir exclude each other");
    if (!has_ratios && options.signature != PZ_BY_TENSOR)
        return fail_usage("--signature: there is nothing to predict without --ratios");
    if (!has_ratios && options.actual.count == 0 && options.ratio_times.count > 0)
        return fail_usage("--ratio-times: every ratio is 1 without --ratios");
    if (all_online() && (modes[PZ_REPLAY_FREE] || modes[PZ_REPLAY_KEEP] || modes[PZ_REPLAY_HOLD]))
        return fail_usage("--replay is for policies that plan; online ones keep");
    if (options.engines.count > 0 && options.engines_per_link.count > 0)
        return fail_usage("--engine and --engine-per-link exclude each other");
    if (options.threads > THREADS_MAX)
        return fail_usage("--threads %" PRIu64 ": it must be 0 to %d", options.threads,
                          THREADS_MAX);
    return STATUS_OK;
}

/* Before any job runs, what all of one platform would fail for. */
static int check_compression(const struct sweep *sweep)
{
    const bool software = options.search.compress == PZ_COMPRESS_SOFTWARE;

    for (size_t i = 0; options.search.compress != PZ_COMPRESS_NONE && i < sweep->platform_count;
         i++) {
        const pz_platform *platform = &sweep->platforms[i];

        if ((software ? platform->software_bps : platform->engine_bps) == 0)
            return fail_usage("--compress: platform %s has no %s; leave the platform out",
                              platform->name, software ? "software codec" : "engine");
    }
    return STATUS_OK;
}

static int load(struct sweep *sweep)
{
    const sweep_overrides overrides = {
        .link_bps = options.links.list,
        .links = options.links.count,
        .engine_bps = options.engines.list,
        .engines = options.engines.count,
        .engine_per_link = options.engines_per_link.list,
        .engines_per_link = options.engines_per_link.count,
    };
    int status = find_policies(sweep);

    sweep->trace_count = options.traces.count;
    sweep->budget_count = options.budgets.count;
    if (status == STATUS_OK)
        status = sweep_load_platforms(&options.platforms, &overrides, &sweep->platforms,
                                      &sweep->platform_count);
    if (status == STATUS_OK)
        status = check_compression(sweep);
    if (status == STATUS_OK)
        status = sweep_load_traces(&options.traces, &options.ratios, options.ratios_folder,
                                   &sweep->traces);
    if (status == STATUS_OK)
        status = sweep_load_actual(&options.actual, sweep->traces, sweep->trace_count);
    return status;
}

static int run(char **operands, size_t count)
{
    struct sweep *sweep = memory_keep(1, sizeof *sweep);
    size_t non_monotone;
    int status = check_options();

    (void)operands;
    (void)count;
    set_defaults();
    if (status == STATUS_OK)
        status = load(sweep);
    if (status == STATUS_OK)
        status = make_jobs(sweep);
    if (status != STATUS_OK)
        return status;
    run_jobs(sweep);
    if (!options.as_planned)
        reuse_plans(sweep);
    free_plans(sweep);
    status = check_results(sweep);
    if (status != STATUS_OK)
        return status;
    non_monotone = mark_non_monotone(sweep);
    print_results(sweep);
    if (non_monotone > 0 && !options.csv && !options.json)
        warn(
            "%zu plans are worse than a plan for a smaller budget or smaller ratios (non-monotone)",
            non_monotone);
    return STATUS_OK;
}

static const command commands[] = {{
    .name = "sweep",
    .usage = "--trace TRACE... [--ratios TABLE... | --ratios-dir DIR] [OPTIONS]",
    .summary = "Plan for every combination of traces, platforms, policies and budgets.",
    .details =
        "Lists are separated by commas or blanks; options may be repeated.  The order of the\n"
        "output does not depend on the number of threads.  -v and --csv show all columns.\n"
        "A plan for a smaller budget or smaller ratios that is faster than the plan for larger\n"
        "ones replaces it; plan_for and plan_for_ratio_times tell.  Where nothing fits,\n"
        "the least budget found to be enough is told.",
    .options = sweep_options,
    .run = run,
}};

const verb verb_sweep = {.name = "sweep", .commands = commands, .count = 1};
