/* From a plan to a schedule.  See schedule.h. */
#include "sim/schedule.h"

#include <stdlib.h>

#include "base/diag.h"

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

/* Where dropped tensors are before the first replay. */
static void rewind_replays(pzi_schedule *s)
{
    const pz_trace *trace = s->work->trace;
    for (size_t i = 0; i < trace->n_saved; i++)
        s->back[i] = s->mode != PZ_REPLAY_FREE ? PZI_NEVER : trace->saved[i].first_backward_use;
}

static void start(pzi_schedule *s, const pz_plan *plan)
{
    const pz_trace *trace = s->work->trace;
    s->mode = plan->replay;
    for (size_t i = 0; i < trace->n_storages; i++)
        s->end[i] = trace->storages[i].last_use;
    for (size_t i = 0; i < trace->n_saved; i++) {
        s->need[i] = trace->saved[i].first_backward_use;
        s->dropped[i] = plan->steps[i].action == PZ_DROP;
    }
    rewind_replays(s);
}

const pzi_replay *pzi_schedule_replay(pzi_schedule *s, pzi_replayer *replayer, size_t run)
{
    const pzi_residency residency = {s->dropped, s->back, s->mode};
    const pzi_run *r = &s->runs[run];
    const pzi_replay *replay = pzi_replay_build(replayer, &residency, (size_t)r->target, r->op);
    for (size_t i = 0; replay && s->mode != PZ_REPLAY_FREE && i < replay->n_kept; i++)
        s->back[replay->kept[i]] = r->op;
    return replay;
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

static pz_status add_replays(pzi_schedule *s, pzi_replayer *replayer, pz_diag *diag)
{
    const pz_trace *trace = s->work->trace;
    for (size_t k = 0; k < trace->n_saved; k++) {
        const int32_t target = s->work->by_use[k];
        const int32_t op = trace->saved[target].first_backward_use;
        if (!s->dropped[target] || (s->mode != PZ_REPLAY_FREE && s->back[target] <= op))
            continue;
        s->runs[s->n_runs++] = (pzi_run){target, op};
        const pzi_replay *replay = pzi_schedule_replay(s, replayer, s->n_runs - 1);
        if (!replay)
            return pzi_fail(diag, PZ_ERR_INFEASIBLE,
                            "the plan drops storage %lld, which cannot be recomputed; keep or "
                            "swap it",
                            (long long)trace->storages[trace->saved[target].storage].id);
        extend_sources(s, replay, op);
    }
    rewind_replays(s);
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

/* A prefetch is never issued before the tensor has left nor after it is needed. */
static pz_status order_prefetches(pzi_schedule *s, const pz_plan *plan, pz_diag *diag)
{
    const pz_trace *trace = s->work->trace;
    pzi_key *fetches = calloc(trace->n_saved + 1, sizeof *fetches);
    if (!fetches)
        return pzi_no_memory(diag);
    size_t n = 0;
    for (size_t i = 0; i < trace->n_saved; i++) {
        if (!pzi_leaves(plan->steps[i].action))
            continue;
        int32_t issue = plan->steps[i].prefetch_op;
        if (issue > s->need[i])
            issue = s->need[i];
        if (issue <= trace->saved[i].last_forward_use)
            issue = trace->saved[i].last_forward_use + 1;
        fetches[n++] = (pzi_key){issue, s->need[i], (int32_t)i};
    }
    pzi_sort_keys(fetches, n);
    for (size_t k = 0; k < n; k++) {
        s->prefetches[k] = fetches[k].saved;
        s->issue[fetches[k].saved] = fetches[k].first;
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
        status = add_replays(schedule, replayer, diag);
    }
    if (status == PZ_OK) {
        link_frees(schedule);
        status = order_prefetches(schedule, plan, diag);
    }
    if (status != PZ_OK)
        pzi_schedule_free(schedule);
    return status;
}
