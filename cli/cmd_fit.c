/* planezip fit: does a training iteration fit a card, at which batch size, and what does it cost?
 */
#include "commands.h"
#include "errors.h"
#include "family.h"
#include "input.h"
#include "memory.h"
#include "names.h"
#include "report.h"
#include "search.h"
#include "table.h"
#include "units.h"

#include <planezip/plan.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Looking for the largest batch takes many plans, so each search is a short one. */
enum { BATCH_MAX = 1 << 20, SHORT_SEARCH = 2000 };

typedef struct batch_list {
    uint64_t *list;
    size_t count;
} batch_list;

static struct {
    word_list traces, ratios;
    const char *ratios_folder, *platform, *policy;
    uint64_t memory_bytes, reserve_bytes, gpus;
    double per_parameter, most_percent;
    batch_list batches;
    search_options search;
    bool json;
} options = {.policy = PZ_POLICY_DEFAULT, .reserve_bytes = UINT64_C(1) << 30};

#define MOST_PERCENT_DEFAULT 10.0

/* ---- Options ---- */

static const char *parse_positive(const char *text, void *target)
{
    return units_parse_positive(text, target);
}

static const char *parse_gpus(const char *text, void *target)
{
    uint64_t gpus;
    const char *problem = units_parse_count(text, &gpus);

    if (problem == NULL && (gpus == 0 || gpus > 1024))
        problem = "it must be 1 to 1024";
    if (problem == NULL)
        *(uint64_t *)target = gpus;
    return problem;
}

/* A list of batch sizes. */
static const char *parse_batches(const char *text, void *target)
{
    batch_list *batches = target;
    word_list parts = {0};
    const char *problem = option_words(text, &parts);

    for (size_t i = 0; problem == NULL && i < parts.count; i++) {
        uint64_t batch;

        problem = units_parse_count(parts.words[i], &batch);
        if (problem == NULL && (batch == 0 || batch > BATCH_MAX))
            problem = "it must be 1 to 1048576";
        if (problem != NULL)
            break;
        batches->list = memory_resize(batches->list, batches->count + 1, sizeof *batches->list);
        batches->list[batches->count++] = batch;
    }
    free(parts.words);
    return problem;
}

static const option fit_options[] = {
    OPTION_LIST('t', "trace", "TRACE", option_files, &options.traces,
                "traces; several of one model tell how it grows with the batch\n"
                "size, a single one is scaled"),
    OPTION('m', "memory", "SIZE", option_size, &options.memory_bytes,
           "memory of the card (that of the platform)"),
    OPTION_NEEDED('p', "platform", "PLATFORM", option_text, &options.platform,
                  "built-in platform or file"),
    OPTION_LIST('r', "ratios", "TABLE", option_files, &options.ratios,
                "ratio tables, matched to traces by the model (every ratio\nis 1)"),
    OPTION(0, "ratios-dir", "DIR", option_text, &options.ratios_folder,
           "a folder of ratio tables, one per model"),
    OPTION_LIST(0, "batch", "N", parse_batches, &options.batches,
                "batch sizes (those of the traces, and the largest that fit)"),
    OPTION(0, "policy", "NAME", option_text, &options.policy,
           "planning policy (" PZ_POLICY_DEFAULT ")"),
    OPTION(0, "most", "PERCENT", parse_positive, &options.most_percent,
           "how much longer an iteration may take for the largest batch\nsize with a plan (10)"),
    OPTION(0, "reserve", "SIZE", option_size, &options.reserve_bytes,
           "memory that nothing else may use: context, libraries and\nfragmentation (1GiB)"),
    OPTION(0, "bytes-per-parameter", "X", parse_positive, &options.per_parameter,
           "of weights, gradients and optimizer state together (what the\n"
           "trace says)"),
    OPTION(0, "gpus", "K", parse_gpus, &options.gpus,
           "GPUs that share the link (as the platform says)"),
    SEARCH_OPTIONS(options.search),
    SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};

static const column columns[] = {
    {"model", "model", COLUMN_TEXT},
    {"batch", "batch", COLUMN_COUNT},
    {"parameter_bytes", NULL, COLUMN_BYTES},
    {"gradient_bytes", NULL, COLUMN_BYTES},
    {"optimizer_bytes", NULL, COLUMN_BYTES},
    {"fixed_bytes", "parameters", COLUMN_BYTES},
    {"activation_bytes", "activations", COLUMN_BYTES},
    {"needed_bytes", "needed", COLUMN_BYTES},
    {"budget_bytes", "left for them", COLUMN_BYTES},
    {"status", "fits", COLUMN_TEXT},
    {"samples_per_s", "samples/s", COLUMN_NUMBER},
    REPORT_COLUMNS(REPORT_HIDDEN),
};

static const column largest_columns[] = {
    {"model", "model", COLUMN_TEXT},
    {"as_it_is", "as it is", COLUMN_COUNT},
    {"with_plan", "with a plan", COLUMN_COUNT},
    {"with_plan_overhead", "overhead", COLUMN_PERCENT},
    {"with_plan_samples_per_s", "samples/s", COLUMN_NUMBER},
};

/* ---- One batch size ---- */

/* What a model needs at a batch size, and how it runs. */
typedef struct verdict {
    uint64_t batch;
    pz_trace_memory memory;
    uint64_t fixed_bytes, activation_bytes, budget_bytes;
    bool fits;  /* without a plan */
    bool plans; /* or with one */
    pz_report report;
} verdict;

struct scene {
    pz_platform platform;
    pz_policy policy;
    sweep_trace *traces;
    family *families;
    size_t family_count;
    search_options search; /* of the next plan */
    bool as_it_is;         /* makes no plans now: what does not fit without one does not run */
    table *rows, *largest;
    bool reaches_limit; /* a largest batch is BATCH_MAX, so that there may be a larger one */
};

/* Mixed precision works on a bf16 copy of the weights beside those in float32. */
static void count_fixed(const struct scene *scene, const pz_trace *trace, verdict *self)
{
    pz_trace_memory *memory = &self->memory;
    pz_trace_info info;

    pz_trace_get_info(trace, &info);
    pz_trace_get_memory(trace, memory);
    if (scene->platform.precision == PZ_BF16)
        memory->parameter_bytes += memory->parameter_bytes / 2;
    self->fixed_bytes = memory->parameter_bytes + memory->buffer_bytes + memory->gradient_bytes +
                        memory->optimizer_bytes;
    if (options.per_parameter > 0)
        self->fixed_bytes = memory->buffer_bytes +
                            (uint64_t)fmin(options.per_parameter * (double)info.parameters, 0x1p60);
    self->activation_bytes = info.peak_bytes[scene->platform.precision];
}

static pz_status find_ratios(const family *group, const struct scene *scene, const pz_trace *trace,
                             double **ratios)
{
    const pz_predictor *predictor = group->traces[0]->ratios.predictor;
    pz_trace_info info;

    *ratios = NULL;
    if (predictor == NULL || strcmp(scene->policy.codec, "none") == 0)
        return PZ_OK;
    pz_trace_get_info(trace, &info);
    *ratios = memory_new(info.saved, sizeof **ratios);
    return pz_predictor_fill(predictor, trace, scene->policy.codec, scene->platform.precision,
                             PZ_BY_TENSOR, *ratios);
}

/* Plans and runs it, which also tells the time of what fits without a plan. */
static pz_status run_trace(const struct scene *scene, const pz_trace *trace, const double *ratios,
                           verdict *self, pz_diag *diag)
{
    pz_setup setup = {
        .size = sizeof setup,
        .trace = trace,
        .platform = &scene->platform,
        .predicted = ratios,
        .budget_bytes = self->budget_bytes,
    };
    pz_plan *plan = NULL;
    pz_status result = PZ_OK;

    search_set(&scene->search, &setup);
    if (self->fits) {
        result = pz_plan_new(trace, &plan);
        if (result == PZ_OK)
            result = pz_simulate(&setup, plan, &self->report, NULL, diag);
    } else if (!scene->as_it_is) {
        result = pz_plan_make(&setup, scene->policy.name, &plan, &self->report, diag);
        self->plans = result == PZ_OK;
    }
    pz_plan_free(plan);
    return result == PZ_ERR_INFEASIBLE ? PZ_OK : result;
}

static pz_status judge_trace(const struct scene *scene, const family *group, const pz_trace *trace,
                             verdict *self, pz_diag *diag)
{
    double *ratios = NULL;
    uint64_t taken;
    pz_status result;

    count_fixed(scene, trace, self);
    taken = self->fixed_bytes + options.reserve_bytes;
    if (taken >= options.memory_bytes)
        return PZ_OK;
    self->budget_bytes = options.memory_bytes - taken;
    self->fits = self->activation_bytes <= self->budget_bytes;
    result = find_ratios(group, scene, trace, &ratios);
    if (result == PZ_OK)
        result = run_trace(scene, trace, ratios, self, diag);
    free(ratios);
    return result;
}

static int judge(const struct scene *scene, const family *group, uint64_t batch, verdict *result)
{
    const char *file = group->traces[0]->file;
    pz_trace *trace;
    pz_diag diag = {0};
    pz_status status;

    *result = (verdict){.batch = batch};
    status = family_at(group, batch, &trace, &diag);
    if (status != PZ_OK)
        return fail_status(file, status, &diag);
    status = judge_trace(scene, group, trace, result, &diag);
    pz_trace_free(trace);
    return status == PZ_OK ? STATUS_OK : fail_run(file, options.platform, status, &diag);
}

/* ---- The largest batch sizes ---- */

static double most_percent(void)
{
    return options.most_percent > 0 ? options.most_percent : MOST_PERCENT_DEFAULT;
}

static bool is_enough(const verdict *self)
{
    return self->fits || (self->plans && self->report.overhead <= most_percent() / 100);
}

/* The batch size to try next, by doubling and bisection from below. */
static uint64_t next_batch(uint64_t low, uint64_t high)
{
    if (high <= BATCH_MAX || 2 * low > BATCH_MAX)
        return low + (high - low) / 2;
    return low > 0 ? 2 * low : 1;
}

/* The largest batch size that is enough, from one that is; 0 if none is.  What fits is taken to fit
 * at any smaller batch size. */
static int find_largest(const struct scene *scene, const family *group, verdict *largest)
{
    uint64_t high = BATCH_MAX + 1;

    while (high - largest->batch > 1) {
        verdict result;
        int status = judge(scene, group, next_batch(largest->batch, high), &result);

        if (status != STATUS_OK)
            return status;
        if (is_enough(&result))
            *largest = result;
        else
            high = result.batch;
    }
    return STATUS_OK;
}

/* ---- Output ---- */

static double samples_per_s(const verdict *self)
{
    bool runs = self->fits || self->plans;

    return runs ? (double)self->batch * 1e9 / (double)self->report.total_ns : NAN;
}

static const char *status_text(const verdict *self)
{
    return self->fits ? "yes" : self->plans ? "with a plan" : "no";
}

static void add_verdict(table *results, const family *group, const verdict *self)
{
    bool runs = self->fits || self->plans;

    table_text(results, group->traces[0]->info.model);
    table_size(results, self->batch);
    table_size(results, self->memory.parameter_bytes);
    table_size(results, self->memory.gradient_bytes);
    table_size(results, self->memory.optimizer_bytes);
    table_size(results, self->fixed_bytes);
    table_size(results, self->activation_bytes);
    table_size(results, self->fixed_bytes + self->activation_bytes + options.reserve_bytes);
    table_size(results, self->budget_bytes);
    table_text(results, status_text(self));
    table_real(results, samples_per_s(self));
    report_add(results, runs ? &self->report : NULL);
}

static int add_largest(struct scene *scene, const family *group)
{
    verdict as_it_is = {0}, planned;
    int status;

    if (options.search.evaluations == 0 && options.search.seconds <= 0)
        scene->search.evaluations = SHORT_SEARCH;
    scene->as_it_is = true;
    status = find_largest(scene, group, &as_it_is);
    scene->as_it_is = false;
    planned = as_it_is;
    if (status == STATUS_OK)
        status = find_largest(scene, group, &planned);
    scene->search = options.search;
    if (status != STATUS_OK)
        return status;
    scene->reaches_limit |= planned.batch == BATCH_MAX;
    table_text(scene->largest, group->traces[0]->info.model);
    table_size(scene->largest, as_it_is.batch);
    table_size(scene->largest, planned.batch);
    if (planned.batch > 0)
        table_real(scene->largest, planned.report.overhead);
    else
        table_none(scene->largest);
    table_real(scene->largest, samples_per_s(&planned));
    if (as_it_is.batch > 0)
        add_verdict(scene->rows, group, &as_it_is);
    if (planned.batch > as_it_is.batch)
        add_verdict(scene->rows, group, &planned);
    return STATUS_OK;
}

/* Scaling and the search for the largest batch take memory to grow with the batch. */
static int check_growth(const struct scene *scene, const family *group)
{
    const pz_precision precision = scene->platform.precision;

    for (size_t i = 1; i < group->count; i++) {
        const sweep_trace *small = group->traces[i - 1], *large = group->traces[i];

        if (large->info.peak_bytes[precision] < small->info.peak_bytes[precision])
            return fail(large->file, NULL, "give traces that differ in the batch size alone",
                        "its activations take less memory than those of %s, of a smaller batch",
                        small->file);
    }
    return STATUS_OK;
}

static int add_family(struct scene *scene, const family *group)
{
    const batch_list *named = &options.batches;
    size_t count = named->count > 0 ? named->count : group->count;
    int status = check_growth(scene, group);

    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        uint64_t batch = named->count > 0 ? named->list[i] : group->traces[i]->info.batch;
        verdict result;

        status = judge(scene, group, batch, &result);
        if (status != STATUS_OK)
            return status;
        add_verdict(scene->rows, group, &result);
    }
    return named->count > 0 ? STATUS_OK : add_largest(scene, group);
}

static void print_results(const struct scene *scene)
{
    char memory[UNITS_TEXT], reserve[UNITS_TEXT];

    if (options.json) {
        json_show(json_pack("{s:I, s:I, s:s, s:i, s:o, s:o}", "memory_bytes",
                            (json_int_t)options.memory_bytes, "reserve_bytes",
                            (json_int_t)options.reserve_bytes, "policy", scene->policy.name,
                            "largest_tried", BATCH_MAX, "rows", table_json(scene->rows), "largest",
                            table_json(scene->largest)),
                  stdout);
        return;
    }
    table_print(scene->rows,
                memory_text("%s of memory, %s of it reserved; platform %s, policy %s, %" PRId64
                            " GPU%s on the link",
                            units_bytes(options.memory_bytes, memory),
                            units_bytes(options.reserve_bytes, reserve), scene->platform.name,
                            scene->policy.name, scene->platform.gpus_per_link,
                            scene->platform.gpus_per_link == 1 ? "" : "s"));
    if (table_rows(scene->largest) > 0)
        table_print(scene->largest,
                    memory_text("\nThe largest batch that fits, and with a plan that takes at most "
                                "%g %% longer; 0: none",
                                most_percent()));
    if (scene->reaches_limit)
        printf("No batch above %d was tried.\n", BATCH_MAX);
}

/* ---- Command ---- */

static int check_options(struct scene *scene)
{
    if (options.traces.count == 0)
        return fail_usage("--trace TRACE is missing");
    if (options.ratios.count > 0 && options.ratios_folder != NULL)
        return fail_usage("--ratios and --ratios-dir exclude each other");
    if (pz_policy_named(options.policy, &scene->policy) != PZ_OK)
        return fail_usage("--policy '%s': known are %s", options.policy, names_policies());
    if (options.most_percent > 0 && options.batches.count > 0)
        return fail_usage("--most is for the largest batch size, which --batch does not look for");
    return search_check(&options.search, strcmp(options.policy, PZ_POLICY_DEFAULT) == 0);
}

static int find_platform(struct scene *scene)
{
    int status = input_platform(options.platform, &scene->platform);

    if (status != STATUS_OK)
        return status;
    if (options.gpus > 0)
        scene->platform.gpus_per_link = (int64_t)options.gpus;
    if (options.memory_bytes == 0)
        options.memory_bytes = scene->platform.memory_bytes;
    if (options.memory_bytes == 0)
        return fail_usage("--memory SIZE is missing: the platform does not tell how much it has");
    return STATUS_OK;
}

static int run(char **operands, size_t count)
{
    struct scene *scene = memory_keep(1, sizeof *scene);
    int status = check_options(scene);

    scene->search = options.search;
    (void)operands;
    (void)count;
    own(options.traces.words, free);
    own(options.ratios.words, free);
    own(options.batches.list, free);
    if (status == STATUS_OK)
        status = find_platform(scene);
    if (status == STATUS_OK)
        status = sweep_load_traces(&options.traces, &options.ratios, options.ratios_folder,
                                   &scene->traces);
    if (status == STATUS_OK)
        status = family_group(scene->traces, options.traces.count, &scene->families,
                              &scene->family_count);
    if (status != STATUS_OK)
        return status;
    scene->rows = table_new(columns, LENGTH(columns));
    scene->largest = table_new(largest_columns, LENGTH(largest_columns));
    for (size_t i = 0; status == STATUS_OK && i < scene->family_count; i++)
        status = add_family(scene, &scene->families[i]);
    if (status == STATUS_OK)
        print_results(scene);
    return status;
}

static const command commands[] = {{
    .name = "fit",
    .usage = "--trace TRACE... --platform PLATFORM [--memory SIZE] [OPTIONS]",
    .summary = "Tell whether training fits a card, at which batch size and at what cost.",
    .details =
        "Counted are parameters, buffers, gradients, the optimizer's state, with bf16 a copy of\n"
        "the parameters, and activations.  What does not fit as it is gets a plan.",
    .options = fit_options,
    .run = run,
}};

const verb verb_fit = {.name = "fit", .commands = commands, .count = 1};
