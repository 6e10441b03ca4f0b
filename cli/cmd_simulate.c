/* planezip simulate: runs a plan and tells where the time and the memory go. */
#include "blocks.h"
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "output.h"
#include "planned.h"
#include "report.h"
#include "table.h"

#include <planezip/plan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    planned_options world;
    const char *plan, *timeline;
    bool allocator, force, json;
} options;

static const option simulate_options[] = {
    PLANNED_OPTIONS(options.world),
    OPTION_NEEDED(0, "plan", "PLAN", option_text, &options.plan, "plan that was made for it"),
    OPTION(0, "timeline", "FILE", option_text, &options.timeline,
           "write the run as a Chrome trace, which Perfetto opens"),
    BLOCKS_OPTION(&options.allocator,
                  "put the memory into blocks of PyTorch's allocator, and tell how\n"
                  "fragmented it gets"),
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
    planned_world world;
    planned planned;
    table *blocks; /* if --allocator asks for them */
};

static int read_scene(struct scene *scene)
{
    int status = planned_read_world(&options.world, &scene->world);

    return status == STATUS_OK ? planned_read(&scene->world, options.plan, &scene->planned)
                               : status;
}

static void fill(table *results, const struct scene *scene, const pz_report *report)
{
    const planned_world *world = &scene->world;
    const pz_precision precision = world->platform.precision;
    const uint64_t budget_bytes = scene->planned.setup.budget_bytes;
    uint64_t bytes[PZ_ACTIONS];
    const char *peak_op = pz_trace_op_name(world->trace, report->peak_op);

    report_bytes(world->trace, scene->planned.plan, precision, bytes);
    table_text(results, world->info.model);
    table_text(results, world->platform.name);
    table_text(results, names_precision(precision));
    table_text(results, scene->planned.info.policy);
    report_codec(results, scene->planned.codec, options.world.ratios);
    table_size(results, budget_bytes);
    table_real(results, (double)budget_bytes / (double)world->info.peak_bytes[precision]);
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
    struct place *places = memory_keep(scene->world.info.saved, sizeof *places);

    for (size_t i = 0; i < scene->world.info.saved; i++) {
        pz_saved saved;

        pz_trace_get_saved(scene->world.trace, i, &saved);
        places[i] = (struct place){saved.storage, i};
    }
    qsort(places, scene->world.info.saved, sizeof *places, compare_places);
    return places;
}

static void add_live(table *results, const struct scene *scene, const struct place *places,
                     size_t storage, uint64_t bytes)
{
    struct place key = {.storage = storage};
    const struct place *found =
        bsearch(&key, places, scene->world.info.saved, sizeof *places, compare_places);
    pz_saved saved;

    table_size(results, storage);
    table_size(results, bytes);
    if (found == NULL || pz_trace_get_saved(scene->world.trace, found->index, &saved) != PZ_OK) {
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
        if (scene->blocks != NULL)
            blocks_add_json(scene->blocks, object);
        json_show(object, stdout);
        return;
    }
    table_record(results, stdout);
    if (scene->blocks != NULL)
        blocks_print(scene->blocks, stdout);
    if (common.verbose)
        table_print(live, "\nIn memory at the peak, the largest first; without a saved tensor: "
                          "temporaries and gradients");
}

static int run_blocks(struct scene *scene)
{
    blocks found;
    pz_diag diag = {0};
    pz_status result;

    if (!options.allocator)
        return STATUS_OK;
    result = blocks_run(&scene->planned.setup, scene->planned.plan, &found, &diag);
    if (result != PZ_OK)
        return planned_fail(&scene->planned, result, &diag);
    scene->blocks = blocks_table(scene->world.trace, &found);
    return STATUS_OK;
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

static int check_timeline(void)
{
    const char *const inputs[] = {options.world.trace, options.world.ratios, options.world.platform,
                                  options.plan};
    int status = output_check_inputs(inputs, LENGTH(inputs), options.timeline, "--timeline");

    return status == STATUS_OK ? output_check(options.timeline, options.force, false) : status;
}

static int run(char **operands, size_t count)
{
    struct scene *scene = memory_keep(1, sizeof *scene);
    pz_report report;
    pz_timeline *timeline;
    pz_diag diag = {0};
    pz_status result;
    int status = STATUS_OK;

    (void)operands;
    (void)count;
    if (options.timeline != NULL)
        status = check_timeline();
    else if (options.force)
        status = fail_usage("--force: there is nothing to overwrite without --timeline");
    if (status == STATUS_OK)
        status = read_scene(scene);
    if (status != STATUS_OK)
        return status;
    result = pz_simulate(&scene->planned.setup, scene->planned.plan, &report, &timeline, &diag);
    if (result != PZ_OK)
        return planned_fail(&scene->planned, result, &diag);
    own(timeline, release_timeline);
    status = run_blocks(scene);
    if (status == STATUS_OK && options.timeline != NULL)
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
