/* From a plan to a schedule.  See schedule.h. */
#include "sim/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "trace/diag.h"

static bool allocate(pzi_schedule *s, const pz_trace *trace)
{
    s->runs = calloc(trace->n_saved + 1, sizeof *s->runs);
    s->need = calloc(trace->n_saved + 1, sizeof *s->need);
    s->end = calloc(trace->n_storages + 1, sizeof *s->end);
    s->free_head = calloc(trace->n_ops + 1, sizeof *s->free_head);
    s->free_next = calloc(trace->n_storages + 1, sizeof *s->free_next);
    s->prefetches = calloc(trace->n_saved + 1, sizeof *s->prefetches);
    s->issue = calloc(trace->n_saved + 1, sizeof *s->issue);
    s->dropped = calloc(trace->n_saved + 1, sizeof *s->dropped);
    s->back = calloc(trace->n_saved + 1, sizeof *s->back);
    return s->runs && s->need && s->end && s->free_head && s->free_next && s->prefetches &&
           s->issue && s->dropped && s->back;
}

void pzi_schedule_free(pzi_schedule *s)
{
    free(s->runs);
    free(s->ops);
    free(s->alloc_bytes);
    free(s->free_bytes);
    free(s->step_ns);
    free(s->sources);
    free(s->kept);
    free(s->need);
    free(s->end);
    free(s->free_head);
    free(s->free_next);
    free(s->prefetches);
    free(s->issue);
    free(s->dropped);
    free(s->back);
    *s = (pzi_schedule){0};
}

static void start(pzi_schedule *s, const pz_plan *plan)
{
    const pz_trace *trace = s->work->trace;
    for (size_t i = 0; i < trace->n_storages; i++)
        s->end[i] = trace->storages[i].last_use;
    for (size_t i = 0; i < trace->n_saved; i++) {
        s->need[i] = trace->saved[i].first_backward_use;
        s->dropped[i] = plan->steps[i].action == PZ_DROP;
        s->back[i] = plan->replay == PZ_REPLAY_KEEP ? PZI_NEVER : s->need[i];
    }
}

/* Never nothing, so that what is copied into it always has an address. */
static size_t room_for(size_t room, size_t used, size_t n)
{
    return room > 0 && used + n <= room ? room : 2 * (used + n) + 64;
}

static bool reserve_ops(pzi_schedule *s, size_t n)
{
    const size_t room = room_for(s->room_ops, s->n_ops, n);
    if (room == s->room_ops)
        return true;
    int32_t *ops = realloc(s->ops, room * sizeof *ops);
    s->ops = ops ? ops : s->ops;
    uint64_t *alloc_bytes = realloc(s->alloc_bytes, room * sizeof *alloc_bytes);
    s->alloc_bytes = alloc_bytes ? alloc_bytes : s->alloc_bytes;
    uint64_t *free_bytes = realloc(s->free_bytes, room * sizeof *free_bytes);
    s->free_bytes = free_bytes ? free_bytes : s->free_bytes;
    int64_t *step_ns = realloc(s->step_ns, room * sizeof *step_ns);
    s->step_ns = step_ns ? step_ns : s->step_ns;
    if (!ops || !alloc_bytes || !free_bytes || !step_ns)
        return false;
    s->room_ops = room;
    return true;
}

static bool reserve_list(int32_t **list, size_t *room, size_t used, size_t n)
{
    const size_t wanted = room_for(*room, used, n);
    if (wanted == *room)
        return true;
    int32_t *grown = realloc(*list, wanted * sizeof *grown);
    if (!grown)
        return false;
    *list = grown;
    *room = wanted;
    return true;
}

static bool reserve(pzi_schedule *s, const pzi_replay *replay)
{
    return reserve_ops(s, replay->n_ops) &&
           reserve_list(&s->sources, &s->room_sources, s->n_sources, replay->n_sources) &&
           reserve_list(&s->kept, &s->room_kept, s->n_kept, replay->n_kept);
}

static void append(pzi_schedule *s, const pzi_replay *replay, int32_t target, int32_t op)
{
    const size_t n = replay->n_ops;
    s->runs[s->n_runs++] = (pzi_run){
        .target = target,
        .op = op,
        .ops = (uint32_t)s->n_ops,
        .ops_end = (uint32_t)(s->n_ops + n),
        .sources = (uint32_t)s->n_sources,
        .sources_end = (uint32_t)(s->n_sources + replay->n_sources),
        .kept = (uint32_t)s->n_kept,
        .kept_end = (uint32_t)(s->n_kept + replay->n_kept),
        .peak_bytes = replay->peak_bytes,
    };
    memcpy(s->ops + s->n_ops, replay->ops, n * sizeof *s->ops);
    memcpy(s->alloc_bytes + s->n_ops, replay->alloc_bytes, n * sizeof *s->alloc_bytes);
    memcpy(s->free_bytes + s->n_ops, replay->free_bytes, n * sizeof *s->free_bytes);
    memcpy(s->step_ns + s->n_ops, replay->step_ns, n * sizeof *s->step_ns);
    memcpy(s->sources + s->n_sources, replay->sources, replay->n_sources * sizeof *s->sources);
    memcpy(s->kept + s->n_kept, replay->kept, replay->n_kept * sizeof *s->kept);
    s->n_ops += n;
    s->n_sources += replay->n_sources;
    s->n_kept += replay->n_kept;
}

/* A source must be in memory when the replay runs: it may be needed earlier and live longer. */
static void extend_sources(pzi_schedule *s, const pzi_replay *replay, int32_t op)
{
    for (size_t k = 0; k < replay->n_sources; k++) {
        const int32_t storage = replay->sources[k];
        const int32_t saved = s->work->trace->storages[storage].saved;
        if (s->end[storage] < op)
            s->end[storage] = op;
        if (saved != PZI_NONE && s->need[saved] > op)
            s->need[saved] = op;
    }
}

static pz_status add_replays(pzi_schedule *s, pzi_replayer *replayer, bool keep, pz_diag *diag)
{
    const pz_trace *trace = s->work->trace;
    const pzi_residency residency = {s->dropped, s->back, keep};
    for (size_t k = 0; k < trace->n_saved; k++) {
        const int32_t target = s->work->by_use[k];
        const int32_t op = trace->saved[target].first_backward_use;
        if (!s->dropped[target] || (keep && s->back[target] <= op))
            continue;
        const pzi_replay *replay = pzi_replay_build(replayer, &residency, (size_t)target, op);
        if (!replay)
            return pzi_fail(diag, PZ_ERR_INFEASIBLE,
                            "the plan drops storage %lld, which cannot be recomputed; keep or "
                            "swap it",
                            (long long)trace->storages[trace->saved[target].storage].id);
        if (!reserve(s, replay))
            return pzi_no_memory(diag);
        append(s, replay, target, op);
        extend_sources(s, replay, op);
        for (size_t i = 0; keep && i < replay->n_kept; i++)
            s->back[replay->kept[i]] = op;
    }
    return PZ_OK;
}

static void link_frees(pzi_schedule *s)
{
    const pz_trace *trace = s->work->trace;
    for (size_t i = 0; i < trace->n_ops; i++)
        s->free_head[i] = PZI_NONE;
    for (size_t i = trace->n_storages; i-- > 0;) {
        if (pzi_persistent(trace->storages[i].kind) || s->end[i] == PZI_NONE)
            continue;
        s->free_next[i] = s->free_head[s->end[i]];
        s->free_head[s->end[i]] = (int32_t)i;
    }
}

struct fetch {
    int32_t issue, need, saved;
};

static int compare_fetches(const void *a, const void *b)
{
    const struct fetch *x = a, *y = b;
    if (x->issue != y->issue)
        return x->issue < y->issue ? -1 : 1;
    if (x->need != y->need)
        return x->need < y->need ? -1 : 1;
    return (x->saved > y->saved) - (x->saved < y->saved);
}

/* A prefetch is never issued before the tensor has left nor after it is needed. */
static pz_status order_prefetches(pzi_schedule *s, const pz_plan *plan, pz_diag *diag)
{
    const pz_trace *trace = s->work->trace;
    struct fetch *fetches = calloc(trace->n_saved + 1, sizeof *fetches);
    if (!fetches)
        return pzi_no_memory(diag);
    size_t n = 0;
    for (size_t i = 0; i < trace->n_saved; i++) {
        if (plan->steps[i].action != PZ_SWAP)
            continue;
        int32_t issue = plan->steps[i].prefetch_op;
        if (issue > s->need[i])
            issue = s->need[i];
        if (issue <= trace->saved[i].last_forward_use)
            issue = trace->saved[i].last_forward_use + 1;
        fetches[n++] = (struct fetch){issue, s->need[i], (int32_t)i};
    }
    qsort(fetches, n, sizeof *fetches, compare_fetches);
    for (size_t k = 0; k < n; k++) {
        s->prefetches[k] = fetches[k].saved;
        s->issue[fetches[k].saved] = fetches[k].issue;
    }
    s->n_prefetches = n;
    free(fetches);
    return PZ_OK;
}

pz_status pzi_schedule_new(const pzi_work *work, pzi_replayer *replayer, const pz_plan *plan,
                           pzi_schedule *schedule, pz_diag *diag)
{
    *schedule = (pzi_schedule){.work = work};
    if (plan->info.digest != work->trace->digest || plan->n != work->trace->n_saved)
        return pzi_fail(diag, PZ_ERR_MISMATCH, "the plan was made for another trace");
    pz_status status = allocate(schedule, work->trace) ? PZ_OK : pzi_no_memory(diag);
    if (status == PZ_OK) {
        start(schedule, plan);
        status = add_replays(schedule, replayer, plan->replay == PZ_REPLAY_KEEP, diag);
    }
    if (status == PZ_OK) {
        link_frees(schedule);
        status = order_prefetches(schedule, plan, diag);
    }
    if (status != PZ_OK)
        pzi_schedule_free(schedule);
    return status;
}
