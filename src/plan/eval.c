/* Evaluating plans.  The profile is that of planner.h and draft.c for every replay mode, computed
 * from scratch: one pass over the stretches. */
#include "plan/eval.h"

#include <stdlib.h>
#include <string.h>

#include "plan/planner.h"

#define BLOCK 32

/* Stretches -------------------------------------------------------------------------------------
 */

static size_t block_end(const pzi_blocks *b, size_t block)
{
    const size_t end = (block + 1) * BLOCK;
    return end < b->n ? end : b->n;
}

static void refresh_block(pzi_blocks *b, size_t block)
{
    const size_t end = block_end(b, block);
    int64_t max = INT64_MIN;
    for (size_t i = block * BLOCK; i < end; i++)
        max = b->value[i] > max ? b->value[i] : max;
    b->max[block] = max;
}

/* Adds to the stretches first .. end - 1. */
static void add_range(pzi_blocks *b, size_t first, size_t end, int64_t bytes)
{
    while (first < end) {
        const size_t block = first / BLOCK;
        const size_t stop = end < block_end(b, block) ? end : block_end(b, block);
        if (stop - first == BLOCK) {
            b->add[block] += bytes;
        } else {
            for (size_t i = first; i < stop; i++)
                b->value[i] += bytes;
            refresh_block(b, block);
        }
        first = stop;
    }
}

/* One more than the last stretch before end whose value is above limit; 0 if there is none. */
static size_t after_last_above(const pzi_blocks *b, size_t end, int64_t limit)
{
    while (end > 0) {
        const size_t block = (end - 1) / BLOCK, first = block * BLOCK;
        const int64_t rest = limit - b->add[block];
        if (b->max[block] > rest)
            for (; end > first; end--)
                if (b->value[end - 1] > rest)
                    return end;
        end = first;
    }
    return 0;
}

/* Profile ---------------------------------------------------------------------------------------
 */

/* Marks the slots at which a plan may change the memory: where a tensor leaves, comes back, or is
 * freed, and where replays happen. */
static void mark_slots(const pzi_eval *e, int32_t *marks)
{
    const pz_trace *trace = e->work->trace;
    for (size_t i = 0; i < trace->n_saved; i++) {
        const pzi_saved *saved = &trace->saved[i];
        const int32_t use = saved->first_backward_use;
        if (saved->last_forward_use >= 0)
            marks[pzi_slot_of(saved->last_forward_use) + 1] = 1;
        marks[pzi_slot_before(use)] = marks[pzi_slot_of(use)] = marks[pzi_slot_of(use) + 1] = 1;
    }
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        if (storage->last_use >= 0 &&
            (storage->saved >= 0 || storage->kind == PZI_INPUT || e->work->holdable[s]))
            marks[pzi_slot_of(storage->last_use) + 1] = 1;
    }
}

/* Numbers the stretches; the slot past the end lies in one of its own. */
static void number_stretches(pzi_eval *e)
{
    const size_t slots = 2 * e->work->trace->n_ops;
    mark_slots(e, e->stretch);
    e->stretch[0] = 1;
    e->stretch[slots] = 1;
    size_t n = 0;
    for (size_t i = 0; i <= slots; i++) {
        if (e->stretch[i])
            e->first[n++] = (int32_t)i;
        e->stretch[i] = (int32_t)n - 1;
    }
    e->profile.n = n - 1;
}

/* A storage takes memory from the operator that produces it (an input: from the start) to its last
 * use. */
static pz_status fill_empty(pzi_eval *e)
{
    const pz_trace *trace = e->work->trace;
    const size_t slots = 2 * trace->n_ops;
    int64_t *change = calloc(slots + 1, sizeof *change);
    if (!change)
        return PZ_ERR_MEMORY;
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        const int64_t bytes = (int64_t)e->work->bytes[s];
        if (bytes == 0)
            continue;
        change[storage->op < 0 ? 0 : pzi_slot_of(storage->op)] += bytes;
        change[pzi_slot_of(storage->last_use) + 1] -= bytes;
    }
    int64_t live = 0;
    for (size_t i = 0; i < slots; i++) {
        int64_t *highest = &e->empty[e->stretch[i]];
        live += change[i];
        *highest = live > *highest ? live : *highest;
    }
    free(change);
    return PZ_OK;
}

static void change_at(pzi_eval *e, size_t slot, int64_t bytes)
{
    e->change[e->stretch[slot]] += bytes;
}

/* Memory that a tensor frees while it is away. */
static uint64_t freed_bytes(const pzi_eval *e, size_t saved, pz_action action)
{
    return action == PZ_COMPRESS ? e->clock.pack_frees[saved] : pzi_saved_bytes(e->work, saved);
}

/* A rebuilt tensor is among the bytes of its replay in the slot of the replay. */
static void change_for_actions(pzi_eval *e, const pz_action *actions)
{
    const pz_trace *trace = e->work->trace;
    for (size_t i = 0; i < trace->n_saved; i++) {
        if (actions[i] == PZ_KEEP)
            continue;
        const int64_t bytes = (int64_t)freed_bytes(e, i, actions[i]);
        const int32_t last = trace->saved[i].last_forward_use;
        change_at(e, last < 0 ? 0 : pzi_slot_of(last) + 1, -bytes);
        if (actions[i] == PZ_DROP)
            change_at(e, pzi_slot_of(e->rebuild.back[i]), bytes);
        else
            change_at(e, pzi_slot_before(e->rebuild.need[i]), bytes);
    }
    for (size_t k = 0; k < e->rebuild.n_extended; k++) {
        const int32_t storage = e->rebuild.extended[k];
        const int64_t bytes = (int64_t)e->work->bytes[storage];
        change_at(e, pzi_slot_of(trace->storages[storage].last_use) + 1, bytes);
        change_at(e, pzi_slot_of(e->rebuild.end[storage]) + 1, -bytes);
    }
}

/* Replays before one operator run one after the other; what they rebuild stays.  Their slot is a
 * stretch of its own. */
static void add_replays(pzi_eval *e)
{
    const pzi_rebuild *r = &e->rebuild;
    for (size_t k = 0; k < r->n_runs;) {
        const int32_t op = r->runs[k].op;
        uint64_t rebuilt = 0, peak = 0;
        for (; k < r->n_runs && r->runs[k].op == op; k++) {
            const pzi_recipe *recipe = r->runs[k].recipe;
            peak = rebuilt + recipe->peak_bytes > peak ? rebuilt + recipe->peak_bytes : peak;
            rebuilt += recipe->kept_bytes;
        }
        e->profile.value[e->stretch[pzi_slot_before(op)]] += (int64_t)peak;
    }
}

static void fill_profile(pzi_eval *e, const pz_action *actions)
{
    pzi_blocks *b = &e->profile;
    memset(e->change, 0, (b->n + 1) * sizeof *e->change);
    change_for_actions(e, actions);
    int64_t changed = 0;
    for (size_t i = 0; i < b->n; i++) {
        changed += e->change[i];
        b->value[i] = e->empty[i] + changed;
    }
    add_replays(e);
    int64_t peak = 0;
    for (size_t k = 0; k * BLOCK < b->n; k++) {
        b->add[k] = 0;
        refresh_block(b, k);
        peak = b->max[k] > peak ? b->max[k] : peak;
    }
    e->peak_bytes = (uint64_t)peak;
}

/* Prefetch points -------------------------------------------------------------------------------
 */

static int compare_keys(const void *one, const void *other)
{
    const pzi_key *a = one, *b = other;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    return (a->saved > b->saved) - (a->saved < b->saved);
}

/* Sorts by first, second, saved.  Keys that are nearly sorted already take one pass; if many have
 * far to go, as in long traces, the rest is left to qsort. */
static void sort_nearly(pzi_key *keys, size_t n)
{
    size_t moves = 0;
    for (size_t i = 1; i < n; i++) {
        const pzi_key key = keys[i];
        size_t k = i;
        for (; k > 0 && compare_keys(&keys[k - 1], &key) > 0; k--)
            keys[k] = keys[k - 1];
        keys[k] = key;
        moves += i - k;
        if (moves > 16 * n) {
            qsort(keys, n, sizeof *keys, compare_keys);
            return;
        }
    }
}

/* The earliest operator from which the tensor fits until it is needed, to a stretch. */
static int32_t prefetch_point(const pzi_eval *e, int32_t saved, int64_t bytes,
                              uint64_t budget_bytes)
{
    const int32_t need = e->rebuild.need[saved];
    const size_t free_from = after_last_above(
        &e->profile, (size_t)e->stretch[pzi_slot_before(need)], (int64_t)budget_bytes - bytes);
    int32_t point = (e->first[free_from] + 1) / 2;
    const int32_t last = e->work->trace->saved[saved].last_forward_use;
    point = point <= last ? last + 1 : point;
    return point < need ? point : need;
}

/* In the order of need; the requests are then made in the order of the points. */
static void choose_prefetches(pzi_eval *e, const pz_action *actions, uint64_t budget_bytes)
{
    const pzi_work *work = e->work;
    size_t n = 0;
    for (size_t k = 0; k < work->trace->n_saved; k++) {
        const int32_t saved = work->by_use[k];
        if (pzi_leaves(actions[saved]))
            e->keys[n++] = (pzi_key){e->rebuild.need[saved], 0, saved};
    }
    sort_nearly(e->keys, n);
    for (size_t k = 0; k < n; k++) {
        const int32_t saved = e->keys[k].saved, need = e->keys[k].first;
        const int64_t bytes = (int64_t)freed_bytes(e, (size_t)saved, actions[saved]);
        const int32_t point = prefetch_point(e, saved, bytes, budget_bytes);
        add_range(&e->profile, (size_t)e->stretch[pzi_slot_before(point)],
                  (size_t)e->stretch[pzi_slot_before(need)], bytes);
        e->issue[saved] = point;
        e->keys[k] = (pzi_key){point, need, saved};
    }
    sort_nearly(e->keys, n);
    for (size_t k = 0; k < n; k++)
        e->prefetches[k] = e->keys[k].saved;
    e->n_prefetches = n;
}

/* Evaluation ------------------------------------------------------------------------------------
 */

static bool allocate(pzi_eval *e, const pz_trace *trace)
{
    const size_t n = trace->n_saved + 1, slots = 2 * trace->n_ops;
    e->profile.value = calloc(slots + 1, sizeof *e->profile.value);
    e->profile.max = calloc(slots / BLOCK + 1, sizeof *e->profile.max);
    e->profile.add = calloc(slots / BLOCK + 1, sizeof *e->profile.add);
    e->stretch = calloc(slots + 1, sizeof *e->stretch);
    e->first = calloc(slots + 1, sizeof *e->first);
    e->empty = calloc(slots + 1, sizeof *e->empty);
    e->change = calloc(slots + 1, sizeof *e->change);
    e->issue = calloc(n, sizeof *e->issue);
    e->keys = calloc(n, sizeof *e->keys);
    e->prefetches = calloc(n, sizeof *e->prefetches);
    return e->profile.value && e->profile.max && e->profile.add && e->stretch && e->first &&
           e->empty && e->change && e->issue && e->keys && e->prefetches;
}

pz_status pzi_eval_new(const pzi_work *work, const pz_setup *setup, const pzi_copies *copies,
                       pzi_eval *e)
{
    *e = (pzi_eval){.work = work, .budget_bytes = setup->budget_bytes};
    pz_status status = allocate(e, work->trace) ? PZ_OK : PZ_ERR_MEMORY;
    if (status == PZ_OK) {
        number_stretches(e);
        status = fill_empty(e);
    }
    if (status == PZ_OK)
        status = pzi_rebuild_new(work, &e->rebuild);
    if (status == PZ_OK)
        status = pzi_clock_new(work, setup, copies, &e->clock);
    if (status != PZ_OK)
        pzi_eval_free(e);
    return status;
}

void pzi_eval_free(pzi_eval *e)
{
    free(e->profile.value);
    free(e->profile.max);
    free(e->profile.add);
    free(e->stretch);
    free(e->first);
    free(e->empty);
    free(e->change);
    free(e->issue);
    free(e->keys);
    free(e->prefetches);
    pzi_rebuild_free(&e->rebuild);
    pzi_clock_free(&e->clock);
    *e = (pzi_eval){0};
}

int64_t pzi_eval_run(pzi_eval *e, const pz_action *actions, pz_replay mode, uint64_t most_bytes,
                     int64_t limit_ns)
{
    const pzi_work *work = e->work;
    const int64_t least = work->start_ns[work->trace->n_ops] + work->optimizer_ns;
    if (!pzi_rebuild_plan(&e->rebuild, actions, mode) || least + e->rebuild.ns > limit_ns)
        return INT64_MAX;
    fill_profile(e, actions);
    if (e->peak_bytes > most_bytes)
        return INT64_MAX;
    uint64_t budget = e->budget_bytes;
    if (e->peak_bytes > budget) {
        limit_ns -= (int64_t)(e->price * (double)(e->peak_bytes - budget));
        budget = e->peak_bytes;
    }
    if (least + e->rebuild.ns > limit_ns)
        return INT64_MAX;
    choose_prefetches(e, actions, budget);
    const pzi_clock_plan plan = {actions, &e->rebuild, e->prefetches, e->issue, e->n_prefetches};
    return pzi_clock_run(&e->clock, &plan, budget, limit_ns);
}

void pzi_eval_write(const pzi_eval *e, const pz_action *actions, pz_plan *plan)
{
    plan->replay = e->rebuild.mode;
    for (size_t i = 0; i < plan->n; i++)
        plan->steps[i] = (pzi_step){actions[i], pzi_leaves(actions[i]) ? e->issue[i] : PZI_NONE};
}
