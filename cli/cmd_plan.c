/* planezip plan: which saved tensors to keep, swap and drop under a memory budget. */
#include "blocks.h"
#include "commands.h"
#include "errors.h"
#include "input.h"
#include "memory.h"
#include "names.h"
#include "output.h"
#include "report.h"
#include "search.h"
#include "table.h"

#include <planezip/plan.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct {
    const char *trace, *ratios, *actual, *platform, *policy, *output;
    budget budget;
    pz_signature signature;
    pz_replay replay;
    search_options search;
    bool bound, allocator, force, json;
} options = {.policy = PZ_POLICY_DEFAULT, .replay = PZ_REPLAYS}; /* PZ_REPLAYS: not given */

static const option plan_options[] = {
    OPTION_NEEDED('t', "trace", "TRACE", option_text, &options.trace, "trace of the iteration"),
    OPTION('r', "ratios", "TABLE", option_text, &options.ratios,
           "ratios to plan with (every ratio is 1)"),
    OPTION(0, "actual", "TABLE", option_text, &options.actual,
           "ratios that the transfers really have (those of --ratios)"),
    OPTION(0, "signature", "S", option_signature, &options.signature,
           "what the predictor tells tensors apart by: tensor (default),\n"
           "operator or none"),
    OPTION_NEEDED('p', "platform", "PLATFORM", option_text, &options.platform,
                  "built-in platform or file"),
    OPTION_NEEDED('b', "budget", "B", option_budget, &options.budget,
                  "memory for activations: 12GiB, or 50% of the peak"),
    OPTION(0, "policy", "NAME", option_text, &options.policy,
           "planning policy (" PZ_POLICY_DEFAULT ")"),
    OPTION(0, "replay", "MODE", option_replay, &options.replay,
           "free (default) or keep what a replay rebuilds on its way, or\n"
           "hold what it needs often as well; policy best tries free and\n"
           "keep, and hold if it is named"),
    SEARCH_OPTIONS(options.search),
    SWITCH(0, "bound", &options.bound,
           "print what no plan can beat as well (needs a build with GLPK)"),
    BLOCKS_OPTION(&options.allocator,
                  "plan for less until what is planned fits the budget in blocks of\n"
                  "PyTorch's allocator, too"),
    OPTION('o', "output", "PLAN", option_text, &options.output,
           "where to write the plan; without it there is only the summary"),
    SWITCH('f', "force", &options.force, "overwrite PLAN"),
    SWITCH(0, "json", &options.json, "print the summary as JSON"),
    COMMON_OPTIONS};

static const column columns[] = {
    {"model", "model", COLUMN_TEXT},
    {"platform", "platform", COLUMN_TEXT},
    {"precision", "precision", COLUMN_TEXT},
    {"policy", "policy", COLUMN_TEXT},
    {"candidate", "chosen plan", COLUMN_TEXT},
    {"codec", "codec", COLUMN_TEXT},
    {"ratios", "ratios", COLUMN_TEXT},
    {"peak_without_plan_bytes", "peak", COLUMN_BYTES},
    {"budget_bytes", "budget", COLUMN_BYTES},
    {"budget_fraction", "  of the peak", COLUMN_PERCENT},
    {"start_overhead", "  before the search", COLUMN_PERCENT},
    {"evaluations", "  plans looked at", COLUMN_COUNT},
    {"predicted_overhead", "predicted overhead", COLUMN_PERCENT},
    {"bound", "no plan is below", COLUMN_PERCENT},
    {"gap", "  points above it", COLUMN_PERCENT},
    REPORT_COLUMNS(REPORT_SHOWN),
    {"kept_bytes", "bytes kept", COLUMN_BYTES},
    {"dropped_bytes", "bytes dropped", COLUMN_BYTES},
    {"replay_mode", "replays", COLUMN_TEXT},
    {"trace_digest", NULL, COLUMN_TEXT},
};

/* Everything that a plan is made from. */
struct scene {
    pz_policy policy;
    pz_trace *trace;
    pz_trace_info info;
    pz_platform platform;
    uint64_t peak_bytes;
    double *predicted, *actual; /* NULL: no compression */
    pz_setup setup;
    pz_bound bound; /* if --bound asks for it */
    table *blocks;  /* if --allocator asks for them */
};

static int read_table(const struct scene *scene, const char *file, pz_signature signature,
                      double **ratios)
{
    return input_file_ratios(file, scene->trace, scene->policy.codec, scene->platform.precision,
                             signature, ratios);
}

static int read_scene(struct scene *scene)
{
    const char *actual = options.actual != NULL ? options.actual : options.ratios;
    int status = input_trace(options.trace, &scene->trace);

    if (status == STATUS_OK)
        status = input_platform(options.platform, &scene->platform);
    if (status == STATUS_OK)
        status =
            input_peak(options.trace, scene->trace, scene->platform.precision, &scene->peak_bytes);
    if (status == STATUS_OK)
        status = read_table(scene, options.ratios, options.signature, &scene->predicted);
    /* The transfers have ratios of their own, whatever the planner can tell apart. */
    if (status == STATUS_OK && (options.actual != NULL || options.signature != PZ_BY_TENSOR))
        status = read_table(scene, actual, PZ_BY_TENSOR, &scene->actual);
    if (status != STATUS_OK)
        return status;
    pz_trace_get_info(scene->trace, &scene->info);
    scene->setup = (pz_setup){
        .size = sizeof scene->setup,
        .trace = scene->trace,
        .platform = &scene->platform,
        .predicted = scene->predicted,
        .actual = scene->actual,
        .replay = options.replay < PZ_REPLAYS ? options.replay : PZ_REPLAY_FREE,
    };
    search_set(&options.search, &scene->setup);
    return options_budget(&options.budget, scene->peak_bytes, &scene->setup.budget_bytes);
}

static int fail_infeasible(const struct scene *scene)
{
    const char *hint = "no budget below the peak is feasible";
    const char *where = options.allocator ? " in blocks of the allocator" : "";
    uint64_t least;
    pz_diag diag = {0};
    pz_status result;

    result = pz_plan_least_budget(&scene->setup, scene->policy.name, &least, &diag);

    if (result != PZ_OK)
        return fail_run(options.trace, options.platform, result, &diag);
    if (options.allocator && least < scene->setup.budget_bytes)
        hint = "give more; without --allocator it is enough";
    else if (least < scene->peak_bytes)
        hint = memory_text("the least budget found is %" PRIu64 " bytes (%s)", least,
                           report_budget(least, scene->peak_bytes));
    return fail(options.trace,
                memory_text("%" PRIu64 " bytes, %s", scene->setup.budget_bytes,
                            report_budget(scene->setup.budget_bytes, scene->peak_bytes)),
                hint, "no plan of policy '%s' fits the budget%s", scene->policy.name, where);
}

static void fill(table *results, const struct scene *scene, const pz_plan *plan,
                 const pz_report *report)
{
    uint64_t bytes[PZ_ACTIONS];
    pz_plan_info info;

    pz_plan_get_info(plan, &info);
    report_bytes(scene->trace, plan, scene->platform.precision, bytes);
    table_text(results, scene->info.model);
    table_text(results, scene->platform.name);
    table_text(results, names_precision(scene->platform.precision));
    table_text(results, scene->policy.name);
    table_text(results, info.candidate);
    report_codec(results, scene->policy.codec, options.ratios);
    table_size(results, scene->peak_bytes);
    table_size(results, scene->setup.budget_bytes);
    table_real(results, (double)scene->setup.budget_bytes / (double)scene->peak_bytes);
    if (info.search.evaluations > 0) {
        table_real(results, info.search.start_overhead);
        table_size(results, info.search.evaluations);
    } else {
        table_none(results);
        table_none(results);
    }
    table_real(results, info.predicted_overhead);
    if (options.bound) {
        table_real(results, scene->bound.overhead);
        table_real(results, report->overhead - scene->bound.overhead);
    } else {
        table_none(results);
        table_none(results);
    }
    report_add(results, report);
    table_size(results, bytes[PZ_KEEP]);
    table_size(results, bytes[PZ_DROP]);
    table_text(results, names_replay(pz_plan_replay(plan)));
    table_text(results, memory_text("%016" PRIx64, info.digest));
}

static void print_summary(const struct scene *scene, const pz_plan *plan, const pz_report *report)
{
    table *results = table_new(columns, LENGTH(columns));
    bool to_output = options.output != NULL && output_is_standard(options.output);
    FILE *stream = to_output ? stderr : stdout;

    fill(results, scene, plan, report);
    if (options.json) {
        json_t *object = table_row_json(results, 0);

        if (scene->blocks != NULL)
            blocks_add_json(scene->blocks, object);
        json_show(object, stream);
        return;
    }
    table_record(results, stream);
    if (scene->blocks != NULL)
        blocks_print(scene->blocks, stream);
    if (scene->setup.budget_bytes >= scene->peak_bytes && !options.allocator)
        fprintf(stream, "The budget covers the peak: everything is kept.\n");
}

/* Of the same world as the plan: a policy without a codec is bounded by transfers without one. */
static int find_bound(struct scene *scene)
{
    pz_diag diag = {0};
    pz_status result;

    if (!options.bound)
        return STATUS_OK;
    result = pz_plan_bound(&scene->setup, &scene->bound, &diag);
    return result == PZ_OK ? STATUS_OK : fail_run(options.trace, options.platform, result, &diag);
}

static int save_plan(const struct scene *scene, const pz_plan *plan)
{
    char *text = NULL;
    pz_status result = pz_plan_json(scene->trace, plan, &text);

    return json_save(options.output, options.force, options.output, result, text);
}

/* Runs a plan that was made for less within the whole budget. */
static pz_status run_in_budget(const struct scene *scene, pz_plan *plan, pz_report *report,
                               blocks *found, pz_diag *diag)
{
    pz_setup setup = scene->setup;
    pz_plan_info info;
    pz_status result;

    pz_plan_get_info(plan, &info);
    if (strcmp(info.codec, "none") == 0)
        setup.predicted = setup.actual = NULL;
    info.budget_bytes = setup.budget_bytes;
    pz_plan_set_info(plan, &info);
    result = pz_simulate(&setup, plan, report, NULL, diag);
    return result == PZ_OK ? blocks_run(&setup, plan, found, diag) : result;
}

/* How often a plan that is too fragmented is made again, each time for at least 2 % less. */
enum { TRIES = 15 };

static uint64_t less_than(uint64_t budget_bytes, uint64_t target_bytes, uint64_t needed_bytes)
{
    double fitting = (double)budget_bytes / (double)needed_bytes;

    return (uint64_t)((double)target_bytes * (fitting < 0.98 ? fitting : 0.98));
}

static pz_status plan_in_blocks(struct scene *scene, pz_plan **plan, pz_report *report,
                                pz_diag *diag)
{
    pz_setup setup = scene->setup;

    for (int i = 0; i < TRIES; i++) {
        blocks found;
        pz_status result = pz_plan_make(&setup, scene->policy.name, plan, report, diag);

        if (result != PZ_OK)
            return result;
        result = run_in_budget(scene, *plan, report, &found, diag);
        if (result == PZ_OK && blocks_fit(&found)) {
            scene->blocks = blocks_table(scene->trace, &found);
            return PZ_OK;
        }
        pz_plan_free(*plan);
        if (result != PZ_OK)
            return result;
        setup.budget_bytes =
            less_than(scene->setup.budget_bytes, setup.budget_bytes, found.needed_bytes);
    }
    return PZ_ERR_INFEASIBLE;
}

static pz_status make_plan(struct scene *scene, pz_plan **plan, pz_report *report, pz_diag *diag)
{
    if (options.allocator)
        return plan_in_blocks(scene, plan, report, diag);
    return pz_plan_make(&scene->setup, scene->policy.name, plan, report, diag);
}

static int check_output(void)
{
    const char *const inputs[] = {options.trace, options.ratios, options.actual, options.platform};
    int status = output_check_inputs(inputs, LENGTH(inputs), options.output, "-o");

    return status == STATUS_OK ? output_check(options.output, options.force, false) : status;
}

/* What would have no effect is a wrong command line. */
static int check_options(void)
{
    bool is_online = pz_policy_is_online(options.policy) != 0;

    if (is_online && (options.output != NULL || options.allocator || options.replay < PZ_REPLAYS))
        return fail_usage("--policy %s decides while it runs and makes no plan: leave --output, "
                          "--allocator and --replay out",
                          options.policy);
    if (options.force && options.output == NULL)
        return fail_usage("--force: there is nothing to overwrite without --output");
    if (options.signature != PZ_BY_TENSOR && options.ratios == NULL)
        return fail_usage("--signature: there is nothing to predict without --ratios");
    if (options.bound && !pz_plan_bound_available())
        return fail_usage("--bound: this build has no solver; build with GLPK, or leave it out");
    return search_check(&options.search, strcmp(options.policy, PZ_POLICY_DEFAULT) == 0);
}

static int run(char **operands, size_t count)
{
    struct scene *scene = memory_keep(1, sizeof *scene);
    pz_plan *plan;
    pz_report report;
    pz_diag diag = {0};
    pz_status result;
    int status;

    (void)operands;
    (void)count;
    if (pz_policy_named(options.policy, &scene->policy) != PZ_OK)
        return fail_usage("--policy '%s': known are %s", options.policy, names_policies());
    status = check_options();
    if (status == STATUS_OK && options.output != NULL)
        status = check_output();
    if (status == STATUS_OK)
        status = read_scene(scene);
    if (status != STATUS_OK)
        return status;
    result = make_plan(scene, &plan, &report, &diag);
    if (result == PZ_ERR_INFEASIBLE)
        return fail_infeasible(scene);
    if (result != PZ_OK)
        return fail_run(options.trace, options.platform, result, &diag);
    input_keep_plan(plan);
    status = find_bound(scene);
    if (status == STATUS_OK && options.output != NULL)
        status = save_plan(scene, plan);
    if (status == STATUS_OK && !common.quiet)
        print_summary(scene, plan, &report);
    return status;
}

static const command commands[] = {{
    .name = "plan",
    .usage = "--trace TRACE --platform PLATFORM --budget B [-o PLAN] [OPTIONS]",
    .summary = "Plan which saved tensors to keep, swap and drop under a budget.",
    .details = "With -o - the plan goes to standard output and the summary to standard error.\n"
               "If nothing fits the budget, the least one that was found to be enough is printed.",
    .options = plan_options,
    .run = run,
}};

const verb verb_plan = {.name = "plan", .commands = commands, .count = 1};
