/* planezip explain: why a plan does with a tensor what it does: its bytes, the windows in which it
 * could be copied, what its replay costs, and what every other action would cost. */
#include "alternatives.h"
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "report.h"
#include "table.h"
#include "units.h"

#include <planezip/plan.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_DEFAULT = 10 };

static struct {
    planned_options world;
    const char *plan;
    uint64_t top;
    bool json;
} options = {.top = UINT64_MAX}; /* UINT64_MAX: not given */

static const option explain_options[] = {
    PLANNED_OPTIONS(options.world),
    OPTION_NEEDED(0, "plan", "PLAN", option_text, &options.plan, "plan that was made for it"),
    OPTION('n', "top", "N", option_count, &options.top,
           "number of tensors if none is named, the largest first\n(10; 0: all)"),
    SWITCH(0, "json", &options.json, "print JSON"), COMMON_OPTIONS};

/* Per action: the overhead, or by how many bytes it does not fit; neither if it is impossible. */
#define ALTERNATIVE(name)                                                                 \
    {name "_overhead", NULL, COLUMN_PERCENT}, {name "_excess_bytes", NULL, COLUMN_BYTES}, \
    {                                                                                     \
        name "_prefetch_op", NULL, COLUMN_COUNT                                           \
    }

static const column columns[] = {
    {"index", "tensor", COLUMN_COUNT},
    {"storage", NULL, COLUMN_COUNT},
    {"op", NULL, COLUMN_COUNT},
    {"op_name", "written by", COLUMN_TEXT},
    {"bytes", "bytes", COLUMN_BYTES},
    {"ratio", "ratio", COLUMN_RATIO},
    {"action", "action", COLUMN_TEXT},
    {"prefetch_op", NULL, COLUMN_COUNT},
    {"first_backward_use", NULL, COLUMN_COUNT},
    {"window_out_ns", "window out", COLUMN_NS},
    {"swap_out_ns", "copy out", COLUMN_NS},
    {"window_in_ns", "window in", COLUMN_NS},
    {"swap_in_ns", "copy in", COLUMN_NS},
    {"recompute_ns", "replay alone", COLUMN_NS},
    {"replay_ns", "in the plan", COLUMN_NS},
    {"overhead", NULL, COLUMN_PERCENT},
    ALTERNATIVE("keep"),
    ALTERNATIVE("swap"),
    ALTERNATIVE("drop"),
    ALTERNATIVE("compress"),
    {"why", "instead", COLUMN_TEXT},
};

struct scene {
    planned_world world;
    planned planned;
    pz_report report; /* of the plan as it is */
    int64_t *start_ns;
    int64_t *swap_ns, *recompute_ns, *replay_ns; /* per tensor */
};

/* ---- What is known of every tensor ---- */

static void sum_replays(struct scene *scene, const pz_timeline *timeline)
{
    for (size_t i = 0; i < pz_timeline_events(timeline); i++) {
        pz_event event;

        if (pz_timeline_event(timeline, i, &event) == PZ_OK && strcmp(event.kind, "replay") == 0)
            scene->replay_ns[event.tensor] += event.end_ns - event.begin_ns;
    }
}

static pz_status run_plan(struct scene *scene, pz_diag *diag)
{
    pz_timeline *timeline;
    pz_status result =
        pz_simulate(&scene->planned.setup, scene->planned.plan, &scene->report, &timeline, diag);

    if (result != PZ_OK)
        return result;
    sum_replays(scene, timeline);
    pz_timeline_free(timeline);
    return PZ_OK;
}

static int prepare(struct scene *scene)
{
    const planned_world *world = &scene->world;
    pz_diag diag = {0};
    pz_status result;

    scene->swap_ns = memory_keep(world->info.saved, sizeof *scene->swap_ns);
    scene->recompute_ns = memory_keep(world->info.saved, sizeof *scene->recompute_ns);
    scene->replay_ns = memory_keep(world->info.saved, sizeof *scene->replay_ns);
    result = run_plan(scene, &diag);
    if (result == PZ_OK)
        result = pz_trace_costs(world->trace, &world->platform, scene->swap_ns, scene->recompute_ns,
                                &diag);
    if (result == PZ_OK)
        result = alternatives_starts(world, &scene->start_ns, &diag);
    if (result != PZ_OK)
        return planned_fail(&scene->planned, result, &diag);
    own(scene->start_ns, free);
    return STATUS_OK;
}

/* ---- Rows ---- */

static void add_copies(table *results, const struct scene *scene, const pz_saved *saved,
                       double ratio)
{
    const pz_platform *platform = &scene->world.platform;
    int64_t forward_ns = scene->start_ns[scene->world.info.forward_ops];
    uint64_t bytes = saved->bytes[platform->precision];

    table_int(results, forward_ns - scene->start_ns[saved->ready_op + 1]);
    table_int(results, pz_platform_transfer_ns(platform, bytes, ratio, 1));
    table_int(results, scene->start_ns[saved->first_backward_use] - forward_ns);
    table_int(results, pz_platform_transfer_ns(platform, bytes, ratio, 0));
}

static void add_replays(table *results, const struct scene *scene, size_t tensor)
{
    if (scene->recompute_ns[tensor] == INT64_MAX)
        table_none(results);
    else
        table_int(results, scene->recompute_ns[tensor]);
    table_int(results, scene->replay_ns[tensor]);
    table_real(results, scene->report.overhead);
}

static void add_alternative(table *results, const alternative *other)
{
    if (other->runs)
        table_real(results, other->overhead);
    else
        table_none(results);
    if (other->excess_bytes > 0)
        table_size(results, other->excess_bytes);
    else
        table_none(results);
    if (other->prefetch_op >= 0)
        table_int(results, other->prefetch_op);
    else
        table_none(results);
}

/* "swap +0.31 %, keep needs 130 MiB more": what speaks against an action, or for it. */
static const char *tell(const struct scene *scene, pz_action action, const alternative *other)
{
    char text[UNITS_TEXT];

    if (other->runs)
        return memory_text("%s %+.3f %%", names_action(action),
                           100 * (other->overhead - scene->report.overhead));
    if (other->excess_bytes > 0)
        return memory_text("%s needs %s more", names_action(action),
                           units_bytes(other->excess_bytes, text));
    return memory_text("%s cannot be", names_action(action));
}

static bool is_possible(const struct scene *scene, pz_action action)
{
    return action != PZ_COMPRESS || scene->planned.setup.compress != PZ_COMPRESS_NONE;
}

/* All actions but the one of the plan. */
static pz_status add_alternatives(table *results, struct scene *scene, size_t tensor, pz_diag *diag)
{
    const char *why = "";

    for (pz_action action = PZ_KEEP; action < PZ_ACTIONS; action++) {
        alternative result = {.prefetch_op = -1};
        bool differs = action != pz_plan_action(scene->planned.plan, tensor);

        if (differs && is_possible(scene, action)) {
            pz_status status =
                alternatives_try(&scene->planned, scene->start_ns, tensor, action, &result, diag);

            if (status != PZ_OK)
                return status;
            why =
                memory_text("%s%s%s", why, *why != '\0' ? ", " : "", tell(scene, action, &result));
        }
        add_alternative(results, &result);
    }
    table_text(results, why);
    return PZ_OK;
}

static pz_status add_row(table *results, struct scene *scene, size_t tensor, pz_diag *diag)
{
    const planned *self = &scene->planned;
    double ratio = self->setup.predicted != NULL ? self->setup.predicted[tensor] : 1;
    pz_saved saved;
    pz_status result = pz_trace_get_saved(scene->world.trace, tensor, &saved);

    if (result != PZ_OK)
        return result;
    table_size(results, tensor);
    table_size(results, saved.storage);
    table_int(results, saved.op);
    table_text(results, saved.op_name);
    table_size(results, saved.bytes[scene->world.platform.precision]);
    table_real(results, ratio);
    table_text(results, names_action(pz_plan_action(self->plan, tensor)));
    if (pz_plan_prefetch(self->plan, tensor) >= 0)
        table_int(results, pz_plan_prefetch(self->plan, tensor));
    else
        table_none(results);
    table_int(results, saved.first_backward_use);
    add_copies(results, scene, &saved, ratio);
    add_replays(results, scene, tensor);
    return add_alternatives(results, scene, tensor, diag);
}

/* ---- Which tensors ---- */

struct sized {
    uint64_t bytes;
    size_t tensor;
};

static int compare_sizes(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* The largest tensors; returns their number. */
static size_t choose_largest(const struct scene *scene, struct sized **chosen)
{
    size_t saved = scene->world.info.saved;
    uint64_t top = options.top < UINT64_MAX ? options.top : TOP_DEFAULT;

    *chosen = memory_keep(saved, sizeof **chosen);
    for (size_t i = 0; i < saved; i++) {
        pz_saved tensor;

        pz_trace_get_saved(scene->world.trace, i, &tensor);
        (*chosen)[i] = (struct sized){tensor.bytes[scene->world.platform.precision], i};
    }
    qsort(*chosen, saved, sizeof **chosen, compare_sizes);
    return top > 0 && top < saved ? (size_t)top : saved;
}

static int choose_named(const struct scene *scene, char **operands, size_t count,
                        struct sized **chosen)
{
    if (scene->world.info.saved == 0)
        return fail_usage("'%s' is no saved tensor: the trace has none", operands[0]);
    *chosen = memory_keep(count, sizeof **chosen);
    for (size_t i = 0; i < count; i++) {
        uint64_t tensor;

        if (units_parse_count(operands[i], &tensor) != NULL || tensor >= scene->world.info.saved)
            return fail_usage("'%s' is no saved tensor: they are 0 to %zu, as 'planezip trace show "
                              "--tensors' lists them",
                              operands[i], scene->world.info.saved - 1);
        (*chosen)[i].tensor = (size_t)tensor;
    }
    return STATUS_OK;
}

/* ---- Command ---- */

static void print_results(const struct scene *scene, const table *results)
{
    const planned *self = &scene->planned;

    if (options.json) {
        json_show(json_pack("{s:f, s:s, s:o}", "overhead", scene->report.overhead, "policy",
                            self->info.policy, "tensors", table_json(results)),
                  stdout);
        return;
    }
    table_print(results, NULL);
    printf(
        "\nWith this plan the iteration takes %.3f %% longer within %s.  \"Instead\" tells by how "
        "much that\nchanges with another action for the tensor alone.\n",
        100 * scene->report.overhead,
        report_budget(self->setup.budget_bytes,
                      scene->world.info.peak_bytes[scene->world.platform.precision]));
}

static int run(char **operands, size_t count)
{
    struct scene *scene = memory_keep(1, sizeof *scene);
    table *results = table_new(columns, LENGTH(columns));
    struct sized *chosen = NULL;
    pz_diag diag = {0};
    int status;

    if (count > 0 && options.top < UINT64_MAX)
        return fail_usage("--top is for the largest tensors, and '%s' is named", operands[0]);
    status = planned_read_world(&options.world, &scene->world);
    if (status == STATUS_OK)
        status = planned_read(&scene->world, options.plan, &scene->planned);
    if (status == STATUS_OK)
        status = prepare(scene);
    if (status == STATUS_OK && count > 0)
        status = choose_named(scene, operands, count, &chosen);
    if (status != STATUS_OK)
        return status;
    planned_warn(&scene->planned);
    if (count == 0)
        count = choose_largest(scene, &chosen);
    for (size_t i = 0; i < count; i++) {
        pz_status result = add_row(results, scene, chosen[i].tensor, &diag);

        if (result != PZ_OK)
            return planned_fail(&scene->planned, result, &diag);
    }
    print_results(scene, results);
    return STATUS_OK;
}

static const command commands[] = {{
    .name = "explain",
    .usage = "--trace TRACE --plan PLAN --platform PLATFORM [OPTIONS] [TENSOR...]",
    .summary = "Show why a plan keeps, swaps or drops a tensor.",
    .details =
        "TENSOR is a number, as trace show --tensors has it.  Windows are the times in which\n"
        "a copy costs nothing: from the moment the tensor is final to the end of the forward\n"
        "pass, and from there to its first use.  Every other action is simulated.",
    .options = explain_options,
    .operands_max = SIZE_MAX,
    .run = run,
}};

const verb verb_explain = {.name = "explain", .commands = commands, .count = 1};
