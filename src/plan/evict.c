/* Evicts one tensor after the other, always at the slot of the highest peak: the candidate with the
 * lowest score, ties to the lower storage.  Costs grow while tensors are dropped (but for the copy
 * of a clone that is dropped too), so a chain is computed again only when its tensor is about to be
 * chosen. */
#include "plan/evict.h"

#include <math.h>

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

static int32_t best_at(const pzi_planner *p, pzi_rule rule, const pzi_copies *copies, size_t slot)
{
    int32_t best = PZI_NONE;
    double best_score = INFINITY;
    for (size_t i = 0; i < p->work->trace->n_saved; i++) {
        if (!pzi_draft_idle_at(p, (int32_t)i, slot) || p->rejected[i] == p->round)
            continue;
        const double score = score_of(p, rule, copies, (int32_t)i);
        if (score < best_score) {
            best_score = score;
            best = (int32_t)i;
        }
    }
    return best;
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

/* Evicts the best candidate that does not lift another slot above the limit. */
static bool evict_at(pzi_planner *p, pzi_rule rule, const pzi_copies *copies, size_t slot)
{
    p->round++;
    for (;;) {
        const int32_t saved = best_at(p, rule, copies, slot);
        if (saved == PZI_NONE)
            return false;
        if (p->chains[saved].stale) {
            pzi_draft_chain(p, saved);
            continue;
        }
        if (evict_one(p, rule, copies, saved))
            return true;
        p->rejected[saved] = p->round;
    }
}

bool pzi_evict(pzi_planner *p, pzi_rule rule, const pzi_copies *copies)
{
    while (pzi_draft_peak(p) > p->limit_bytes && !p->no_memory)
        if (!evict_at(p, rule, copies, pzi_range_max_where(&p->profile)))
            return false;
    return !p->no_memory;
}
