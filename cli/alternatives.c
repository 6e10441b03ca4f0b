/* What would happen with another action for one tensor: see alternatives.h. */
#include "alternatives.h"

#include "memory.h"

#include <string.h>

/* Operators that take no time have no event: they begin with the next one that does. */
static void fill_starts(const pz_timeline *timeline, size_t ops, int64_t *start_ns)
{
    for (size_t i = 0; i <= ops; i++)
        start_ns[i] = -1;
    for (size_t i = 0; i < pz_timeline_events(timeline); i++) {
        pz_event event;

        if (pz_timeline_event(timeline, i, &event) != PZ_OK || strcmp(event.kind, "op") != 0)
            continue;
        start_ns[event.op] = event.begin_ns;
        start_ns[ops] = event.end_ns;
    }
    start_ns[ops] = start_ns[ops] < 0 ? 0 : start_ns[ops];
    for (size_t i = ops; i-- > 0;)
        if (start_ns[i] < 0)
            start_ns[i] = start_ns[i + 1];
}

pz_status alternatives_starts(const planned_world *world, int64_t **start_ns, pz_diag *diag)
{
    pz_setup setup = {
        .size = sizeof setup,
        .trace = world->trace,
        .platform = &world->platform,
        .budget_bytes = world->info.peak_bytes[world->platform.precision],
    };
    pz_plan *plan;
    pz_report report;
    pz_timeline *timeline = NULL;
    pz_status result = pz_plan_new(world->trace, &plan);

    if (result != PZ_OK)
        return result;
    result = pz_simulate(&setup, plan, &report, &timeline, diag);
    pz_plan_free(plan);
    if (result != PZ_OK)
        return result;
    *start_ns = memory_new(world->info.ops + 1, sizeof **start_ns);
    fill_starts(timeline, world->info.ops, *start_ns);
    pz_timeline_free(timeline);
    return PZ_OK;
}

/* The last operator that begins at least lead_ns before operator use, after the tensor's last use
 * in the forward pass. */
static int64_t point_before(const pz_saved *saved, const int64_t *start_ns, int64_t lead_ns)
{
    int64_t op = saved->first_backward_use;

    while (op > saved->last_forward_use + 1 &&
           start_ns[op] > start_ns[saved->first_backward_use] - lead_ns)
        op--;
    return op;
}

/* By how much the plan's peak is above the budget if it takes all the memory that it asks for; 0 if
 * it does not even run then. */
static pz_status find_excess(const planned *self, uint64_t *excess_bytes, pz_diag *diag)
{
    pz_setup setup = self->setup;
    pz_report report;
    pz_status status;

    *excess_bytes = 0;
    setup.budget_bytes = INT64_MAX;
    status = pz_simulate(&setup, self->plan, &report, NULL, diag);
    if (status == PZ_OK && report.peak_bytes > self->setup.budget_bytes)
        *excess_bytes = report.peak_bytes - self->setup.budget_bytes;
    return status == PZ_ERR_INFEASIBLE ? PZ_OK : status;
}

static bool is_better(const alternative *a, const alternative *b)
{
    if (a->runs != b->runs)
        return a->runs;
    if (a->runs)
        return a->overhead < b->overhead;
    return a->excess_bytes > 0 && (b->excess_bytes == 0 || a->excess_bytes < b->excess_bytes);
}

/* Runs the plan as it is now, and takes the result if it is better than that so far. */
static pz_status try_plan(const planned *self, int64_t prefetch_op, alternative *best,
                          pz_diag *diag)
{
    alternative tried = {.prefetch_op = prefetch_op};
    pz_report report;
    pz_status status = pz_simulate(&self->setup, self->plan, &report, NULL, diag);

    if (status == PZ_OK) {
        tried.runs = true;
        tried.overhead = report.overhead;
    } else if (status == PZ_ERR_INFEASIBLE) {
        status = find_excess(self, &tried.excess_bytes, diag);
    }
    if (status == PZ_OK && is_better(&tried, best))
        *best = tried;
    return status;
}

static pz_status try_points(planned *self, const int64_t *start_ns, size_t tensor, pz_action action,
                            alternative *result, pz_diag *diag)
{
    const pz_platform *platform = &self->world->platform;
    double ratio = self->setup.predicted != NULL ? self->setup.predicted[tensor] : 1;
    pz_saved saved;
    int64_t copy_ns, last = -1;
    pz_status status = pz_trace_get_saved(self->world->trace, tensor, &saved);

    copy_ns = pz_platform_transfer_ns(platform, saved.bytes[platform->precision], ratio, 0);
    for (int lead = 0; status == PZ_OK && lead <= 8; lead = lead > 0 ? 2 * lead : 1) {
        int64_t op = point_before(&saved, start_ns, lead * copy_ns);

        if (op == last)
            break;
        last = op;
        status = pz_plan_set(self->plan, tensor, action, op);
        if (status == PZ_OK)
            status = try_plan(self, op, result, diag);
    }
    return status;
}

pz_status alternatives_try(planned *self, const int64_t *start_ns, size_t tensor, pz_action action,
                           alternative *result, pz_diag *diag)
{
    pz_action old = pz_plan_action(self->plan, tensor);
    int64_t old_prefetch = pz_plan_prefetch(self->plan, tensor);
    pz_status status;

    *result = (alternative){.prefetch_op = -1};
    if (action == PZ_SWAP || action == PZ_COMPRESS) {
        status = try_points(self, start_ns, tensor, action, result, diag);
    } else {
        status = pz_plan_set(self->plan, tensor, action, -1);
        if (status == PZ_OK)
            status = try_plan(self, -1, result, diag);
    }
    pz_plan_set(self->plan, tensor, old, old_prefetch);
    return status;
}
