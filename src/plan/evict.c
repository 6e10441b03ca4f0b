/* Evicts one tensor after the other, always at the slot of the highest peak: the candidate with the
 * lowest score, ties to the lower storage.  Costs grow while tensors are dropped (but for the copy
 * of a clone that is dropped too), so a chain is computed again only when its tensor is about to be
 * chosen. */
#include "plan/evict.h"

#include <math.h>
#include <string.h>

/* Cr: the chain, charged again for every present chain that reads the tensor. */
static double recompute_ns(const pzi_planner *p, int32_t saved)
{
    const pzi_chain *chain = &p->chains[saved];
    return chain->possible ? (double)chain->ns * (1.0 + p->readers[saved]) : INFINITY;
}

static double score_of(const pzi_planner *p, pzi_rule rule, const pzi_copies *copies, int32_t saved)
{
    const double bytes = (double)pzi_saved_bytes(p->work, (size_t)saved);
    const double idle_s = (double)pzi_idle_ns(p->work, (size_t)saved, p->need[saved]) / 1e9;
    if (bytes <= 0 || idle_s <= 0)
        return INFINITY;
    if (rule == PZI_SWAP_LARGEST)
        return -bytes * idle_s;
    double cost = recompute_ns(p, saved);
    if (rule == PZI_COST_MODEL)
        cost = fmin(cost, (double)copies->out_ns[saved]);
    return cost / (bytes * idle_s);
}

/* Brings the scores of the tensors up to date that the draft has touched. */
static void refresh_scores(pzi_planner *p, pzi_rule rule, const pzi_copies *copies)
{
    for (size_t i = 0; i < p->touched.n; i++) {
        const int32_t saved = p->touched.items[i];
        const bool candidate = p->action[saved] == PZ_KEEP && !p->rejected[saved];
        pzi_scores_set(&p->scores, saved, candidate ? score_of(p, rule, copies, saved) : INFINITY,
                       p->need[saved]);
    }
    p->touched.n = 0;
}

static void score_all(pzi_planner *p, pzi_rule rule, const pzi_copies *copies)
{
    p->touched.n = p->rejects.n = 0;
    memset(p->rejected, 0, p->work->trace->n_saved * sizeof *p->rejected);
    for (size_t i = 0; i < p->work->trace->n_saved; i++)
        pzi_draft_touch(p, (int32_t)i);
    refresh_scores(p, rule, copies);
}

static bool evict_one(pzi_planner *p, pzi_rule rule, const pzi_copies *copies, int32_t saved)
{
    const bool swap =
        rule == PZI_SWAP_LARGEST ||
        (rule == PZI_COST_MODEL && (double)copies->out_ns[saved] < recompute_ns(p, saved));
    if (!swap)
        return pzi_draft_drop(p, saved);
    pzi_draft_swap(p, saved);
    return true;
}

static void reject(pzi_planner *p, int32_t saved)
{
    p->rejected[saved] = 1;
    p->blocks[saved] = p->block;
    pzi_list_push(p, &p->rejects, saved);
}

/* True if dropping the tensor would be rejected again, for the reason that it was. */
static bool still_blocked(const pzi_planner *p, int32_t saved)
{
    const pzi_block *block = &p->blocks[saved];
    return block->holds &&
           pzi_range_max_get(&p->profile, block->first, block->last) == block->value;
}

/* Lets the rejected tensors run again for which something has changed. */
static void readmit(pzi_planner *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->rejects.n; i++) {
        const int32_t saved = p->rejects.items[i];
        if (still_blocked(p, saved)) {
            p->rejects.items[n++] = saved;
            continue;
        }
        p->rejected[saved] = 0;
        pzi_draft_touch(p, saved);
    }
    p->rejects.n = n;
}

/* Evicts the best candidate idle at the operator that does not lift another slot above the limit.
 * Rejected ones are out of the running until something that blocked them has changed. */
static bool evict_at(pzi_planner *p, pzi_rule rule, const pzi_copies *copies, int32_t op)
{
    bool evicted = false;
    while (!evicted && !p->no_memory) {
        const int32_t saved = pzi_scores_best(&p->scores, op);
        if (saved == PZI_NONE)
            break;
        if (p->chains[saved].stale) {
            pzi_draft_chain(p, saved);
            pzi_draft_touch(p, saved);
        } else {
            evicted = evict_one(p, rule, copies, saved);
            if (!evicted)
                reject(p, saved);
        }
        refresh_scores(p, rule, copies);
    }
    readmit(p);
    refresh_scores(p, rule, copies);
    return evicted;
}

bool pzi_evict(pzi_planner *p, pzi_rule rule, const pzi_copies *copies)
{
    score_all(p, rule, copies);
    while (pzi_draft_peak(p) > p->limit_bytes && !p->no_memory) {
        /* Both slots of an operator have the same idle tensors: from the last forward use to
         * the need. */
        const int32_t op = (int32_t)(pzi_range_max_where(&p->profile) / 2);
        if (!evict_at(p, rule, copies, op))
            return false;
    }
    return !p->no_memory;
}
