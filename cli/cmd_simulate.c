/* planezip simulate: runs a plan and tells where the time and the memory go. */
#include "commands.h"
#include "errors.h"
#include "input.h"
#include "memory.h"
#include "names.h"
#include "output.h"
#include "report.h"
#include "table.h"

#include <planezip/plan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *trace, *plan, *platform, *ratios, *codec, *timeline;
    budget budget;
    bool force, json;
} options;

/* The codec of a plan: one that has ratios, or none. */
static const char *parse_codec(const char *text, void *target)
{
    if (strcmp(text, "none") != 0)
        return option_codec(text, target) == NULL ? NULL : "known are planezip, zvc and none";
    *(const char **)target = "none";
    return NULL;
}

static const option simulate_options[] = {
    OPTION_NEEDED('t', "trace", "TRACE", option_text, &options.trace, "trace of the iteration"),
    OPTION_NEEDED(0, "plan", "PLAN", option_text, &options.plan, "plan that was made for it"),
    OPTION_NEEDED('p', "platform", "PLATFORM", option_text, &options.platform,
                  "built-in platform or file"),
    OPTION('r', "ratios", "TABLE", option_text, &options.ratios,
           "ratios of the transfers (every ratio is 1)"),
    OPTION('c', "codec", "CODEC", parse_codec, &options.codec,
           "planezip, zvc or none instead of the plan's codec"),
    OPTION('b', "budget", "B", option_budget, &options.budget,
           "memory for activations instead of the plan's budget"),
    OPTION(0, "timeline", "FILE", option_text, &options.timeline,
           "write the run as a Chrome trace, which Perfetto opens"),
    SWITCH('f', "force", &options.force, "overwrite FILE"),
    SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};

static const column columns[] = {
    {"model", "model", COLUMN_TEXT},
    {"platform", "platform", COLUMN_TEXT},
    {"precision", "precision", COLUMN_TEXT},
    {"policy", "policy", COLUMN_TEXT},
    {"codec", "codec", COLUMN_TEXT},
    {"ratios", "ratios", COLUMN_TEXT},
    {"budget_bytes", "budget", COLUMN_BYTES},
    {"budget_fraction", "  of the peak", COLUMN_PERCENT},
    REPORT_COLUMNS(REPORT_SHOWN),
    {"kept_bytes", "bytes kept", COLUMN_BYTES},
    {"dropped_bytes", "bytes dropped", COLUMN_BYTES},
    {"peak_op_name", "operator of the peak", COLUMN_TEXT},
};

static const column live_columns[] = {
    {"storage", "storage", COLUMN_COUNT},     {"bytes", "bytes", COLUMN_BYTES},
    {"tensor", "saved tensor", COLUMN_COUNT}, {"op", "op", COLUMN_COUNT},
    {"op_name", "written by", COLUMN_TEXT},
};

struct scene {
    pz_trace *trace;
    pz_trace_info info;
    pz_plan *plan;
    pz_plan_info plan_info;
    pz_platform platform;
    const char *codec;
    double *ratios;
    uint64_t peak_bytes, budget_bytes;
};

static int find_budget(struct scene *scene)
{
    int status =
        input_peak(options.trace, scene->trace, scene->platform.precision, &scene->peak_bytes);

    if (status != STATUS_OK)
        return status;
    if (options.budget.text != NULL)
        return options_budget(&options.budget, scene->peak_bytes, &scene->budget_bytes);
    scene->budget_bytes = scene->plan_info.budget_bytes;
    if (scene->budget_bytes == 0)
        return fail(options.plan, "budget_bytes", "give --budget", "the plan has no budget");
    return STATUS_OK;
}

static int find_ratios(struct scene *scene)
{
    scene->codec = options.codec != NULL ? options.codec : scene->plan_info.codec;
    return input_file_ratios(options.ratios, scene->trace, scene->codec, scene->platform.precision,
                             PZ_BY_TENSOR, &scene->ratios);
}

static int read_scene(struct scene *scene)
{
    int status = input_trace(options.trace, &scene->trace);

    if (status == STATUS_OK)
        status = input_platform(options.platform, &scene->platform);
    if (status == STATUS_OK)
        status = input_plan(scene->trace, options.plan, &scene->plan);
    if (status != STATUS_OK)
        return status;
    pz_trace_get_info(scene->trace, &scene->info);
    pz_plan_get_info(scene->plan, &scene->plan_info);
    status = find_budget(scene);
    return status == STATUS_OK ? find_ratios(scene) : status;
}

static void fill(table *results, const struct scene *scene, const pz_report *report)
{
    uint64_t bytes[PZ_ACTIONS];
    const char *peak_op = pz_trace_op_name(scene->trace, report->peak_op);

    report_bytes(scene->trace, scene->plan, scene->platform.precision, bytes);
    table_text(results, scene->info.model);
    table_text(results, scene->platform.name);
    table_text(results, names_precision(scene->platform.precision));
    table_text(results, scene->plan_info.policy);
    report_codec(results, scene->codec, options.ratios);
    table_size(results, scene->budget_bytes);
    table_real(results, (double)scene->budget_bytes / (double)scene->peak_bytes);
    report_add(results, report);
    table_size(results, bytes[PZ_KEEP]);
    table_size(results, bytes[PZ_DROP]);
    table_text(results, peak_op != NULL ? peak_op : "-");
}

/* A saved tensor by the storage that it lies in. */
struct place {
    size_t storage, index;
};

static int compare_places(const void *a, const void *b)
{
    size_t x = ((const struct place *)a)->storage, y = ((const struct place *)b)->storage;

    return x < y ? -1 : x > y;
}

/* The places of all saved tensors, sorted. */
static struct place *list_places(const struct scene *scene)
{
    struct place *places = memory_keep(scene->info.saved, sizeof *places);

    for (size_t i = 0; i < scene->info.saved; i++) {
        pz_saved saved;

        pz_trace_get_saved(scene->trace, i, &saved);
        places[i] = (struct place){saved.storage, i};
    }
    qsort(places, scene->info.saved, sizeof *places, compare_places);
    return places;
}

static void add_live(table *results, const struct scene *scene, const struct place *places,
                     size_t storage, uint64_t bytes)
{
    struct place key = {.storage = storage};
    const struct place *found =
        bsearch(&key, places, scene->info.saved, sizeof *places, compare_places);
    pz_saved saved;

    table_size(results, storage);
    table_size(results, bytes);
    if (found == NULL || pz_trace_get_saved(scene->trace, found->index, &saved) != PZ_OK) {
        for (int i = 0; i < 3; i++)
            table_none(results);
        return;
    }
    table_size(results, found->index);
    table_int(results, saved.op);
    table_text(results, saved.op_name);
}

/* What was in memory at the peak. */
static table *live_set(const struct scene *scene, const pz_timeline *timeline)
{
    table *results = table_new(live_columns, LENGTH(live_columns));
    const struct place *places = list_places(scene);

    for (size_t i = 0; i < pz_timeline_peak_count(timeline); i++) {
        size_t storage;
        uint64_t bytes;

        if (pz_timeline_peak(timeline, i, &storage, &bytes) == PZ_OK)
            add_live(results, scene, places, storage, bytes);
    }
    return results;
}

static void print_results(const struct scene *scene, const pz_report *report,
                          const pz_timeline *timeline)
{
    table *results = table_new(columns, LENGTH(columns)), *live = live_set(scene, timeline);

    fill(results, scene, report);
    if (options.json) {
        json_t *object = table_row_json(results, 0);

        if (json_object_set_new(object, "peak_storages", table_json(live)) != 0)
            memory_fail();
        json_show(object, stdout);
        return;
    }
    table_record(results, stdout);
    if (common.verbose)
        table_print(live, "\nIn memory at the peak, the largest first; without a saved tensor: "
                          "temporaries and gradients");
}

static void release_timeline(void *timeline)
{
    pz_timeline_free(timeline);
}

static int save_timeline(const pz_timeline *timeline)
{
    char *text = NULL;
    pz_status result = pz_timeline_json(timeline, &text);

    return json_save(options.timeline, options.force, options.timeline, result, text);
}

static int run(char **operands, size_t count)
{
    struct scene *scene = memory_keep(1, sizeof *scene);
    pz_setup setup = {.size = sizeof setup};
    pz_report report;
    pz_timeline *timeline;
    pz_diag diag = {0};
    pz_status result;
    int status = STATUS_OK;

    (void)operands;
    (void)count;
    if (options.timeline != NULL)
        status = output_check(options.timeline, options.force, false);
    if (status == STATUS_OK)
        status = read_scene(scene);
    if (status != STATUS_OK)
        return status;
    setup.trace = scene->trace;
    setup.platform = &scene->platform;
    setup.predicted = scene->ratios;
    setup.budget_bytes = scene->budget_bytes;
    setup.compress = scene->plan_info.compress;
    setup.slot_bytes = scene->plan_info.slot_bytes;
    result = pz_simulate(&setup, scene->plan, &report, &timeline, &diag);
    if (result == PZ_ERR_MEANING) /* neither is the plan's fault */
        return fail_run(options.trace, options.platform, result, &diag);
    if (result != PZ_OK)
        return fail_status(options.plan, result, &diag);
    own(timeline, release_timeline);
    if (options.timeline != NULL)
        status = save_timeline(timeline);
    /* The timeline may have taken standard output. */
    if (status == STATUS_OK && (options.timeline == NULL || !output_is_standard(options.timeline)))
        print_results(scene, &report, timeline);
    return status;
}

static const command commands[] = {{
    .name = "simulate",
    .usage = "--trace TRACE --plan PLAN --platform PLATFORM [OPTIONS]",
    .summary = "Run a plan and show where the time and the memory go.",
    .details = "-v lists what is in memory at the peak.  With --timeline - only the timeline is\n"
               "printed.",
    .options = simulate_options,
    .run = run,
}};

const verb verb_simulate = {.name = "simulate", .commands = commands, .count = 1};
