/* Online eviction (paper, section V-F; DTR and MegTaiChi).  See online.h and docs/simulator.md,
 * "Online".  One compute stream; a copy to the host holds it up, as its memory is wanted at once,
 * and so does the way back, as nobody asked for it before it was needed. */
#include "plan/online.h"

#include <math.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/grow.h"
#include "sim/replay.h"
#include "sim/sim.h"

/* Where a saved tensor is. */
enum place { ABSENT, RESIDENT, HOST };

/* Replays of this many iterations are no training any more. */
enum { MOST_ITERATIONS = 100 };

/* One tensor is computed from the other, without a saved one in between. */
struct edge {
    int32_t from, to;
};

struct online {
    const pzi_work *work;
    const pz_trace *trace;
    const pz_setup *setup;
    pzi_online_rule rule;
    pz_report *report;
    pz_diag *diag;
    pzi_replayer running, trying; /* for replays that run, and to see whether one could */

    int64_t now;
    int32_t op;
    uint64_t live;
    uint8_t *gone;  /* per storage: an input that has been freed */
    uint8_t *place; /* per saved tensor */
    uint8_t *dropped, *copied, *ever_dropped, *ever_swapped;
    int32_t *pinned;  /* how often what is under way touches it */
    int64_t *used_ns; /* when it was last read or written */
    int64_t *own_ns;  /* of its replay with everything else in memory; -1: cannot be recomputed */
    int32_t *never;   /* PZI_NEVER for all, see pzi_residency */
    size_t n_dropped; /* that are still of use */

    struct edge *edges;
    size_t n_edges, room_edges;
    int32_t *leader;    /* per saved tensor: of its group of dropped neighbours */
    int64_t *group_ns;  /* per leader: cost of all of the group */
    int64_t *around_ns; /* per saved tensor: of the groups around it */
    int32_t *counted;   /* scratch: the tensor for which a group was counted last */
    bool grouped;       /* the groups are those of what is dropped now */

    int32_t *end_head, *end_next; /* storages by their last use */
    int32_t *waiting;             /* storages after it that a replay may have to read */
    size_t n_waiting;
};

static double ratio_of(const double *ratios, size_t saved)
{
    return ratios ? ratios[saved] : 1.0;
}

static const double *actual(const struct online *o)
{
    return o->setup->actual ? o->setup->actual : o->setup->predicted;
}

static void take(struct online *o, uint64_t bytes)
{
    o->live += bytes;
    if (o->live <= o->report->peak_bytes)
        return;
    o->report->peak_bytes = o->live;
    o->report->peak_ns = o->now;
    o->report->peak_op = (size_t)(o->op < 0 ? 0 : o->op);
}

/* Costs ------------------------------------------------------------------------------------------
 */

static int32_t find_leader(struct online *o, int32_t saved)
{
    while (o->leader[saved] != saved) {
        o->leader[saved] = o->leader[o->leader[saved]];
        saved = o->leader[saved];
    }
    return saved;
}

/* Dropped tensors that are computed from one another are a group: whoever wants one may have to
 * compute them all. */
static void group_dropped(struct online *o)
{
    const size_t n = o->trace->n_saved;
    for (size_t i = 0; i < n; i++) {
        o->leader[i] = (int32_t)i;
        o->group_ns[i] = o->around_ns[i] = 0;
        o->counted[i] = PZI_NONE;
    }
    for (size_t e = 0; e < o->n_edges; e++)
        if (o->dropped[o->edges[e].from] && o->dropped[o->edges[e].to])
            o->leader[find_leader(o, o->edges[e].from)] = find_leader(o, o->edges[e].to);
    for (size_t i = 0; i < n; i++)
        if (o->dropped[i] && o->own_ns[i] > 0)
            o->group_ns[find_leader(o, (int32_t)i)] += o->own_ns[i];
    o->grouped = true;
}

static void count_group(struct online *o, int32_t saved, int32_t neighbour)
{
    if (o->dropped[saved] || !o->dropped[neighbour])
        return;
    const int32_t leader = find_leader(o, neighbour);
    if (o->counted[leader] == saved)
        return;
    o->counted[leader] = saved;
    o->around_ns[saved] += o->group_ns[leader];
}

/* The edges are in order of their ends, so that a group counts once for what is computed from it;
 * for what it is computed from it may count again. */
static void refresh_costs(struct online *o)
{
    if (o->grouped)
        return;
    group_dropped(o);
    for (size_t e = 0; e < o->n_edges; e++)
        count_group(o, o->edges[e].to, o->edges[e].from);
    for (size_t e = 0; e < o->n_edges; e++)
        count_group(o, o->edges[e].from, o->edges[e].to);
}

static double recompute_ns(const struct online *o, size_t saved)
{
    return o->own_ns[saved] < 0 ? INFINITY : (double)(o->own_ns[saved] + o->around_ns[saved]);
}

static double swap_ns(const struct online *o, size_t saved)
{
    if (o->rule == PZI_ONLINE_DTR)
        return INFINITY;
    return (double)pz_platform_transfer_ns(o->work->platform, pzi_saved_bytes(o->work, saved),
                                           ratio_of(o->setup->predicted, saved), 1);
}

/* True if the value that is saved is in its storage, nothing else needs it now, and it will be
 * needed: the graph alone holds it. */
static bool may_go(const struct online *o, size_t i)
{
    const pzi_saved *saved = &o->trace->saved[i];
    const int32_t next = o->trace->values[saved->value].next;
    return o->place[i] == RESIDENT && !o->pinned[i] && o->op > saved->last_forward_use &&
           o->op <= saved->last_use && pzi_saved_bytes(o->work, i) > 0 &&
           (next == PZI_NONE || o->trace->values[next].op > o->op);
}

/* True if what its replay reads is there or can be had. */
static bool can_be_rebuilt(struct online *o, size_t saved)
{
    const pzi_residency residency = {o->dropped, o->never, PZ_REPLAY_KEEP};
    const pzi_replay *replay = pzi_replay_build(&o->trying, &residency, saved, o->op);
    if (!replay)
        return false;
    for (size_t k = 0; k < replay->n_sources; k++)
        if (o->gone[replay->sources[k]])
            return false;
    return true;
}

/* The tensor with the least cost for its bytes and the time since its last use; PZI_NONE if nothing
 * can go. */
static int32_t choose(struct online *o, bool *swap)
{
    int32_t best = PZI_NONE;
    double best_score = INFINITY;
    refresh_costs(o);
    for (size_t i = 0; i < o->trace->n_saved; i++) {
        if (!may_go(o, i))
            continue;
        const double stale_ns = (double)(o->now - o->used_ns[i] + 1);
        const double again_ns = recompute_ns(o, i), copy_ns = swap_ns(o, i);
        const double score =
            fmin(again_ns, copy_ns) / ((double)pzi_saved_bytes(o->work, i) * stale_ns);
        if (score >= best_score)
            continue;
        best = (int32_t)i;
        best_score = score;
        *swap = copy_ns < again_ns;
    }
    return best;
}

/* Eviction --------------------------------------------------------------------------------------
 */

static void run_codec(struct online *o, size_t saved, bool to_host)
{
    const int64_t ns = pzi_codec_ns(o->work, (int32_t)saved, ratio_of(actual(o), saved), to_host);
    o->report->codec_ns += ns;
    o->now += ns;
}

static int64_t copy_ns(const struct online *o, size_t saved, bool to_host, uint64_t *wire_bytes)
{
    const double ratio = ratio_of(actual(o), saved);
    *wire_bytes = pzi_wire_bytes(o->work, saved, ratio, to_host);
    return pz_platform_transfer_ns(o->work->platform, pzi_saved_bytes(o->work, saved), ratio,
                                   to_host);
}

/* Memory is wanted now, so the stream waits for the copy.  A second eviction finds its copy in the
 * host's memory. */
static void swap_out(struct online *o, size_t saved)
{
    if (!o->copied[saved]) {
        uint64_t wire_bytes;
        run_codec(o, saved, true);
        const int64_t ns = copy_ns(o, saved, true, &wire_bytes);
        o->now += ns;
        o->report->stall_memory_ns += ns;
        o->report->d2h_busy_ns += ns;
        o->report->d2h_wire_bytes += wire_bytes;
        o->report->swapped_bytes += pzi_saved_bytes(o->work, saved);
        o->copied[saved] = 1;
    }
    o->place[saved] = HOST;
    o->ever_swapped[saved] = 1;
}

static void drop(struct online *o, size_t saved)
{
    o->place[saved] = ABSENT;
    o->dropped[saved] = o->ever_dropped[saved] = 1;
    o->n_dropped++;
    o->grouped = false;
}

static pz_status no_room(const struct online *o, uint64_t bytes)
{
    if (o->op < 0)
        return pzi_fail(o->diag, PZ_ERR_INFEASIBLE,
                        "the inputs alone take %llu bytes of a budget of %llu; raise the budget",
                        (unsigned long long)bytes, (unsigned long long)o->setup->budget_bytes);
    return pzi_fail(o->diag, PZ_ERR_INFEASIBLE,
                    "operator %d needs %llu bytes with %llu live of a budget of %llu, and nothing "
                    "can be evicted; raise the budget",
                    o->op, (unsigned long long)bytes, (unsigned long long)o->live,
                    (unsigned long long)o->setup->budget_bytes);
}

static pz_status make_room(struct online *o, uint64_t bytes)
{
    while (o->live + bytes > o->setup->budget_bytes) {
        bool swap = false;
        const int32_t saved = choose(o, &swap);
        if (saved == PZI_NONE)
            return no_room(o, bytes);
        if (!swap && !can_be_rebuilt(o, (size_t)saved)) {
            o->own_ns[saved] = -1; /* an input that it needs has gone, for good */
            continue;
        }
        if (swap)
            swap_out(o, (size_t)saved);
        else
            drop(o, (size_t)saved);
        o->live -= pzi_saved_bytes(o->work, (size_t)saved);
    }
    take(o, bytes);
    return PZ_OK;
}

/* Return ----------------------------------------------------------------------------------------
 */

static void is_back(struct online *o, size_t saved)
{
    o->n_dropped -= o->dropped[saved];
    o->grouped = o->grouped && !o->dropped[saved];
    o->dropped[saved] = 0;
    o->place[saved] = RESIDENT;
    o->used_ns[saved] = o->now;
}

static pz_status fetch(struct online *o, size_t saved)
{
    uint64_t wire_bytes;
    const pz_status status = make_room(o, pzi_saved_bytes(o->work, saved));
    if (status != PZ_OK)
        return status;
    const int64_t ns = copy_ns(o, saved, false, &wire_bytes);
    o->now += ns;
    o->report->stall_prefetch_ns += ns;
    o->report->h2d_busy_ns += ns;
    o->report->h2d_wire_bytes += wire_bytes;
    run_codec(o, saved, false);
    is_back(o, saved);
    return PZ_OK;
}

static pz_status run_replay(struct online *o, const pzi_replay *replay)
{
    for (size_t k = 0; k < replay->n_ops; k++) {
        const pz_status status = make_room(o, replay->alloc_bytes[k]);
        if (status != PZ_OK)
            return status;
        o->now += replay->step_ns[k];
        o->report->replay_ns += replay->step_ns[k];
        o->report->replayed_ops++;
        o->live -= replay->free_bytes[k];
    }
    for (size_t k = 0; k < replay->n_kept; k++)
        is_back(o, (size_t)replay->kept[k]);
    return PZ_OK;
}

static int32_t saved_source(const struct online *o, const pzi_replay *replay, size_t k)
{
    return o->trace->storages[replay->sources[k]].saved;
}

/* Nothing that the replay reads may go while it runs; what others have pinned stays so. */
static void pin_sources(struct online *o, const pzi_replay *replay, int by)
{
    for (size_t k = 0; k < replay->n_sources; k++)
        if (saved_source(o, replay, k) != PZI_NONE)
            o->pinned[saved_source(o, replay, k)] += by;
}

static pz_status rebuild(struct online *o, size_t saved)
{
    const pzi_residency residency = {o->dropped, o->never, PZ_REPLAY_KEEP};
    const pzi_replay *replay = pzi_replay_build(&o->running, &residency, saved, o->op);
    const int64_t iteration_ns = o->work->start_ns[o->trace->n_ops];
    if (!replay || o->report->replay_ns > MOST_ITERATIONS * iteration_ns)
        return pzi_fail(
            o->diag, PZ_ERR_INFEASIBLE,
            "operator %d needs a tensor that cannot be recomputed within %d iterations; "
            "raise the budget",
            o->op, (int)MOST_ITERATIONS);
    pz_status status = PZ_OK;
    pin_sources(o, replay, 1);
    for (size_t k = 0; status == PZ_OK && k < replay->n_sources; k++) {
        const int32_t source = saved_source(o, replay, k);
        if (o->gone[replay->sources[k]])
            status = pzi_fail(o->diag, PZ_ERR_INFEASIBLE,
                              "operator %d needs an input that has gone; raise the budget", o->op);
        else if (source != PZI_NONE && o->place[source] == HOST)
            status = fetch(o, (size_t)source);
    }
    if (status == PZ_OK)
        status = run_replay(o, replay);
    pin_sources(o, replay, -1);
    return status;
}

/* Operators -------------------------------------------------------------------------------------
 */

static void pin(struct online *o, const pzi_op *op, int by)
{
    for (uint32_t k = op->reads; k < op->writes_end; k++) {
        const int32_t saved = o->trace->storages[o->trace->accesses[k].storage].saved;
        if (saved != PZI_NONE)
            o->pinned[saved] += by;
    }
}

/* Brings back what the operator touches, of several dropped ones the earliest first. */
static pz_status bring_back(struct online *o, const pzi_op *op)
{
    for (;;) {
        int32_t next = PZI_NONE;
        for (uint32_t k = op->reads; k < op->writes_end; k++) {
            const int32_t saved = o->trace->storages[o->trace->accesses[k].storage].saved;
            if (saved == PZI_NONE || o->op <= o->trace->saved[saved].last_forward_use ||
                o->place[saved] == RESIDENT)
                continue;
            if (next == PZI_NONE || pzi_replays_before(o->trace, saved, next))
                next = saved;
        }
        if (next == PZI_NONE)
            return PZ_OK;
        const pz_status status =
            o->place[next] == HOST ? fetch(o, (size_t)next) : rebuild(o, (size_t)next);
        if (status != PZ_OK)
            return status;
    }
}

/* While anything is dropped, what cannot be recomputed stays: a replay may have to read it. */
static bool must_stay(struct online *o, const pzi_storage *storage)
{
    if (o->n_dropped == 0 || (storage->saved == PZI_NONE && storage->kind != PZI_INPUT))
        return false;
    return storage->kind == PZI_INPUT || !can_be_rebuilt(o, (size_t)storage->saved);
}

/* A tensor after its last use is like a dropped one, whose replay others may need. */
static void free_storage(struct online *o, int32_t storage)
{
    const pzi_storage *s = &o->trace->storages[storage];
    o->live -= o->work->bytes[storage];
    o->gone[storage] = s->kind == PZI_INPUT;
    if (s->saved == PZI_NONE || s->kind == PZI_INPUT)
        return;
    o->place[s->saved] = ABSENT;
    o->dropped[s->saved] = 1;
    o->grouped = false;
}

static void end_use(struct online *o, int32_t storage)
{
    if (must_stay(o, &o->trace->storages[storage]))
        o->waiting[o->n_waiting++] = storage;
    else
        free_storage(o, storage);
}

static void after_op(struct online *o, const pzi_op *op)
{
    for (uint32_t k = op->reads; k < op->writes_end; k++) {
        const int32_t saved = o->trace->storages[o->trace->accesses[k].storage].saved;
        if (saved == PZI_NONE)
            continue;
        o->used_ns[saved] = o->now;
        o->place[saved] = RESIDENT;
    }
    for (int32_t s = o->end_head[o->op]; s != PZI_NONE; s = o->end_next[s])
        end_use(o, s);
    while (o->n_dropped == 0 && o->n_waiting > 0)
        free_storage(o, o->waiting[--o->n_waiting]);
}

static pz_status run_op(struct online *o)
{
    const pzi_op *op = &o->trace->ops[o->op];
    pin(o, op, 1);
    pz_status status = bring_back(o, op);
    if (status == PZ_OK)
        status = make_room(o, pzi_output_bytes(o->work, o->op));
    pin(o, op, -1);
    if (status != PZ_OK)
        return status;
    o->now += o->work->op_ns[o->op];
    o->report->compute_ns += o->work->op_ns[o->op];
    after_op(o, op);
    return PZ_OK;
}

static pz_status place_inputs(struct online *o)
{
    uint64_t bytes = 0;
    o->op = PZI_NONE;
    for (size_t s = 0; s < o->trace->n_storages; s++) {
        const pzi_storage *storage = &o->trace->storages[s];
        if (storage->kind != PZI_INPUT || storage->last_use == PZI_NONE)
            continue;
        bytes += o->work->bytes[s];
        if (storage->saved != PZI_NONE)
            o->place[storage->saved] = RESIDENT;
    }
    return make_room(o, bytes);
}

static pz_status run_iteration(struct online *o)
{
    pz_status status = place_inputs(o);
    for (size_t i = 0; status == PZ_OK && i < o->trace->n_ops; i++) {
        o->op = (int32_t)i;
        status = run_op(o);
    }
    o->now += o->work->optimizer_ns;
    o->report->optimizer_ns = o->work->optimizer_ns;
    return status;
}

/* Start and end ---------------------------------------------------------------------------------
 */

static bool allocate(struct online *o)
{
    const size_t n = o->trace->n_saved + 1;
    o->gone = calloc(o->trace->n_storages + 1, sizeof *o->gone);
    o->place = calloc(n, sizeof *o->place);
    o->dropped = calloc(n, sizeof *o->dropped);
    o->copied = calloc(n, sizeof *o->copied);
    o->pinned = calloc(n, sizeof *o->pinned);
    o->ever_dropped = calloc(n, sizeof *o->ever_dropped);
    o->ever_swapped = calloc(n, sizeof *o->ever_swapped);
    o->used_ns = calloc(n, sizeof *o->used_ns);
    o->own_ns = calloc(n, sizeof *o->own_ns);
    o->never = calloc(n, sizeof *o->never);
    o->leader = calloc(n, sizeof *o->leader);
    o->group_ns = calloc(n, sizeof *o->group_ns);
    o->around_ns = calloc(n, sizeof *o->around_ns);
    o->counted = calloc(n, sizeof *o->counted);
    o->end_head = calloc(o->trace->n_ops + 1, sizeof *o->end_head);
    o->end_next = calloc(o->trace->n_storages + 1, sizeof *o->end_next);
    o->waiting = calloc(o->trace->n_storages + 1, sizeof *o->waiting);
    return o->gone && o->place && o->dropped && o->copied && o->pinned && o->ever_dropped &&
           o->ever_swapped && o->used_ns && o->own_ns && o->never && o->leader && o->group_ns &&
           o->around_ns && o->counted && o->end_head && o->end_next && o->waiting &&
           pzi_replayer_new(o->work, &o->running) == PZ_OK &&
           pzi_replayer_new(o->work, &o->trying) == PZ_OK;
}

static void release(struct online *o)
{
    free(o->gone);
    free(o->place);
    free(o->dropped);
    free(o->copied);
    free(o->pinned);
    free(o->ever_dropped);
    free(o->ever_swapped);
    free(o->used_ns);
    free(o->own_ns);
    free(o->never);
    free(o->leader);
    free(o->group_ns);
    free(o->around_ns);
    free(o->counted);
    free(o->end_head);
    free(o->end_next);
    free(o->waiting);
    free(o->edges);
    if (o->running.work)
        pzi_replayer_free(&o->running);
    if (o->trying.work)
        pzi_replayer_free(&o->trying);
}

static pz_status add_edge(struct online *o, int32_t from, int32_t to)
{
    struct edge *grown = pzi_grow(o->edges, &o->room_edges, o->n_edges + 1, sizeof *grown);
    if (!grown)
        return PZ_ERR_MEMORY;
    o->edges = grown;
    o->edges[o->n_edges++] = (struct edge){from, to};
    return PZ_OK;
}

/* What each tensor is computed from, and what that costs, with nothing dropped. */
static pz_status find_edges(struct online *o)
{
    const pzi_residency all = {o->dropped, o->never, PZ_REPLAY_KEEP};
    for (size_t i = 0; i < o->trace->n_saved; i++) {
        const pzi_replay *replay =
            pzi_replay_build(&o->trying, &all, i, o->trace->saved[i].first_backward_use);
        o->own_ns[i] = replay ? replay->ns : -1;
        for (size_t k = 0; replay && k < replay->n_sources; k++) {
            const int32_t source = saved_source(o, replay, k);
            if (source != PZI_NONE && add_edge(o, source, (int32_t)i) != PZ_OK)
                return PZ_ERR_MEMORY;
        }
    }
    return PZ_OK;
}

static pz_status prepare(struct online *o)
{
    if (!allocate(o))
        return PZ_ERR_MEMORY;
    for (size_t i = 0; i < o->trace->n_saved; i++)
        o->never[i] = PZI_NEVER;
    for (size_t i = 0; i < o->trace->n_ops; i++)
        o->end_head[i] = PZI_NONE;
    for (size_t s = o->trace->n_storages; s-- > 0;) {
        const pzi_storage *storage = &o->trace->storages[s];
        if (pzi_persistent(storage->kind) || storage->last_use == PZI_NONE)
            continue;
        o->end_next[s] = o->end_head[storage->last_use];
        o->end_head[storage->last_use] = (int32_t)s;
    }
    return find_edges(o);
}

static void summarise(const struct online *o, pz_plan *plan)
{
    pz_report *report = o->report;
    report->total_ns = o->now;
    report->unlimited_ns = o->work->start_ns[o->trace->n_ops] + o->work->optimizer_ns;
    report->overhead =
        report->unlimited_ns > 0 ? (double)report->total_ns / (double)report->unlimited_ns - 1 : 0;
    for (size_t i = 0; i < o->trace->n_saved; i++) {
        const pz_action action = o->ever_dropped[i]   ? PZ_DROP
                                 : o->ever_swapped[i] ? PZ_SWAP
                                                      : PZ_KEEP;
        report->kept += action == PZ_KEEP;
        report->swapped += action == PZ_SWAP;
        report->dropped += action == PZ_DROP;
        if (plan)
            pz_plan_set(plan, i, action, o->trace->saved[i].first_backward_use);
    }
}

pz_status pzi_online_run(const pzi_work *work, const pz_setup *setup, pzi_online_rule rule,
                         pz_plan *plan, pz_report *report, pz_diag *diag)
{
    struct online o = {.work = work,
                       .trace = work->trace,
                       .setup = setup,
                       .rule = rule,
                       .report = report,
                       .diag = diag};
    *report = (pz_report){0};
    pz_status status = prepare(&o);
    if (status != PZ_OK)
        pzi_no_memory(diag);
    else
        status = run_iteration(&o);
    if (status == PZ_OK)
        summarise(&o, plan);
    release(&o);
    return status;
}
