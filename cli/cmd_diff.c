/* planezip diff: what two plans for a trace do differently, and what it costs. */
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "planned.h"
#include "report.h"
#include "table.h"

#include <planezip/plan.h>

#include <stdio.h>
#include <stdlib.h>

static struct {
    planned_options world;
    bool json;
} options;

static const option diff_options[] = {
    PLANNED_OPTIONS(options.world), SWITCH(0, "json", &options.json, "print JSON"), COMMON_OPTIONS};

static const column plan_columns[] = {
    {"plan", "plan", COLUMN_TEXT},
    {"policy", "policy", COLUMN_TEXT},
    {"codec", NULL, COLUMN_TEXT},
    {"budget_bytes", "budget", COLUMN_BYTES},
    {"replay_mode", "replays", COLUMN_TEXT},
    {"status", "status", COLUMN_TEXT},
    REPORT_COLUMNS(REPORT_HIDDEN),
};

static const column change_columns[] = {
    {"from", "action", COLUMN_TEXT},
    {"to", "becomes", COLUMN_TEXT},
    {"tensors", "tensors", COLUMN_COUNT},
    {"bytes", "bytes", COLUMN_BYTES},
};

static const column tensor_columns[] = {
    {"index", "tensor", COLUMN_COUNT},      {"storage", "storage", COLUMN_COUNT},
    {"op_name", "written by", COLUMN_TEXT}, {"bytes", "bytes", COLUMN_BYTES},
    {"from", "action", COLUMN_TEXT},        {"from_prefetch_op", "fetched before", COLUMN_COUNT},
    {"to", "becomes", COLUMN_TEXT},         {"to_prefetch_op", "fetched before", COLUMN_COUNT},
};

struct scene {
    planned_world world;
    planned plans[2];
};

/* A tensor with which the plans do not do the same. */
struct change {
    size_t tensor;
    pz_saved saved;
    uint64_t bytes;
    pz_action actions[2];
    int64_t prefetches[2];
};

static int add_plan(table *results, const planned *self)
{
    pz_diag diag = {0};
    pz_report report;
    pz_status result = pz_simulate(&self->setup, self->plan, &report, NULL, &diag);

    if (result != PZ_OK && result != PZ_ERR_INFEASIBLE)
        return planned_fail(self, result, &diag);
    table_text(results, self->file);
    table_text(results, self->info.policy);
    table_text(results, self->codec);
    table_size(results, self->setup.budget_bytes);
    table_text(results, names_replay(pz_plan_replay(self->plan)));
    table_text(results, result == PZ_OK ? "ok" : "infeasible");
    report_add(results, result == PZ_OK ? &report : NULL);
    return STATUS_OK;
}

static bool is_change(const struct change *change)
{
    return change->actions[0] != change->actions[1] ||
           change->prefetches[0] != change->prefetches[1];
}

/* The largest first. */
static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* Returns their number. */
static size_t find_changes(const struct scene *scene, struct change **changes)
{
    size_t count = 0;

    *changes = memory_keep(scene->world.info.saved, sizeof **changes);
    for (size_t i = 0; i < scene->world.info.saved; i++) {
        struct change *change = &(*changes)[count];

        change->tensor = i;
        pz_trace_get_saved(scene->world.trace, i, &change->saved);
        change->bytes = change->saved.bytes[scene->world.platform.precision];
        for (int p = 0; p < 2; p++) {
            change->actions[p] = pz_plan_action(scene->plans[p].plan, i);
            change->prefetches[p] = pz_plan_prefetch(scene->plans[p].plan, i);
        }
        count += is_change(change);
    }
    qsort(*changes, count, sizeof **changes, compare_changes);
    return count;
}

/* A row for each pair of actions; for the same action twice, what is fetched back elsewhere. */
static table *sum_changes(const struct change *changes, size_t count)
{
    table *results = table_new(change_columns, LENGTH(change_columns));

    for (int pair = 0; pair < PZ_ACTIONS * PZ_ACTIONS; pair++) {
        pz_action from = (pz_action)(pair / PZ_ACTIONS), to = (pz_action)(pair % PZ_ACTIONS);
        uint64_t tensors = 0, bytes = 0;

        for (size_t i = 0; i < count; i++) {
            bool counts = changes[i].actions[0] == from && changes[i].actions[1] == to;

            tensors += counts;
            bytes += counts ? changes[i].bytes : 0;
        }
        if (tensors == 0)
            continue;
        table_text(results, names_action(from));
        table_text(results, from != to ? names_action(to)
                                       : memory_text("%s, fetched elsewhere", names_action(to)));
        table_size(results, tensors);
        table_size(results, bytes);
    }
    return results;
}

static void add_side(table *results, const struct change *change, int side)
{
    table_text(results, names_action(change->actions[side]));
    if (change->prefetches[side] >= 0)
        table_int(results, change->prefetches[side]);
    else
        table_none(results);
}

static table *list_changes(const struct change *changes, size_t count)
{
    table *results = table_new(tensor_columns, LENGTH(tensor_columns));

    for (size_t i = 0; i < count; i++) {
        table_size(results, changes[i].tensor);
        table_size(results, changes[i].saved.storage);
        table_text(results, changes[i].saved.op_name);
        table_size(results, changes[i].bytes);
        add_side(results, &changes[i], 0);
        add_side(results, &changes[i], 1);
    }
    return results;
}

static void print_results(const table *plans, const struct change *changes, size_t count)
{
    table *sums = sum_changes(changes, count), *list = list_changes(changes, count);

    if (options.json) {
        json_show(json_pack("{s:o, s:o, s:o}", "plans", table_json(plans), "changes",
                            table_json(sums), "tensors", table_json(list)),
                  stdout);
        return;
    }
    table_print(plans, NULL);
    printf("\n");
    if (count == 0) {
        printf("The plans do the same with every tensor.\n");
        return;
    }
    table_print(sums, NULL);
    if (common.verbose)
        table_print(list, "\nTensors, the largest first");
}

static int run(char **operands, size_t count)
{
    struct scene *scene = memory_keep(1, sizeof *scene);
    table *plans = table_new(plan_columns, LENGTH(plan_columns));
    struct change *changes;
    int status = planned_read_world(&options.world, &scene->world);

    for (size_t p = 0; status == STATUS_OK && p < count; p++)
        status = planned_read(&scene->world, operands[p], &scene->plans[p]);
    for (size_t p = 0; status == STATUS_OK && p < count; p++)
        status = add_plan(plans, &scene->plans[p]);
    if (status != STATUS_OK)
        return status;
    for (size_t p = 0; p < count; p++)
        planned_warn(&scene->plans[p]);
    count = find_changes(scene, &changes);
    print_results(plans, changes, count);
    return STATUS_OK;
}

static const command commands[] = {{
    .name = "diff",
    .usage = "--trace TRACE --platform PLATFORM [OPTIONS] PLAN PLAN",
    .summary = "Show what two plans do differently, and what each costs.",
    .details =
        "-v lists the tensors.  Each plan runs with its own codec and within its own budget,\n"
        "unless they are given.",
    .options = diff_options,
    .operands_min = 2,
    .operands_max = 2,
    .run = run,
}};

const verb verb_diff = {.name = "diff", .commands = commands, .count = 1};
