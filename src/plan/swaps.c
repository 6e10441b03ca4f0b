/* Stage 1: admits swaps in the order of a ranking while both copy queues meet their deadlines.
 *
 * D2H, in order of ready time: the queue ends at max over i of (ready_i + copy times from i on),
 * and must end by Tfwd.  H2D, in order of first use, starts at Tfwd: tensor i arrives at Tfwd +
 * copy times up to i, and must arrive by its use.  Positions that are not admitted are bounded by
 * admitted ones, so one sequence with range addition answers each question. */
#include "plan/swaps.h"

#include <stdlib.h>

pz_status pzi_copies_new(const pzi_work *work, const double *ratios, pzi_copies *copies)
{
    const size_t n = work->trace->n_saved;
    *copies =
        (pzi_copies){calloc(n + 1, sizeof *copies->out_ns), calloc(n + 1, sizeof *copies->in_ns)};
    if (!copies->out_ns || !copies->in_ns) {
        pzi_copies_free(copies);
        return PZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t bytes = pzi_saved_bytes(work, i);
        const double ratio = ratios ? ratios[i] : 1.0;
        copies->out_ns[i] = pz_platform_transfer_ns(work->platform, bytes, ratio, 1);
        copies->in_ns[i] = pz_platform_transfer_ns(work->platform, bytes, ratio, 0);
    }
    return PZ_OK;
}

void pzi_copies_free(pzi_copies *copies)
{
    free(copies->out_ns);
    free(copies->in_ns);
    *copies = (pzi_copies){0};
}

struct candidate {
    double rank;
    int32_t saved;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    return (x->saved > y->saved) - (x->saved < y->saved);
}

static int64_t slower_ns(const pzi_copies *copies, int32_t saved)
{
    const int64_t out = copies->out_ns[saved], in = copies->in_ns[saved];
    return out > in ? out : in;
}

/* Recomputation that the swap avoids; an input cannot be recomputed, only be transferred again. */
static double avoided_ns(const pzi_planner *p, int32_t saved)
{
    const pzi_chain *chain = &p->empty_chains[saved];
    if (chain->possible)
        return (double)chain->ns;
    const uint64_t bytes = pzi_saved_bytes(p->work, (size_t)saved);
    return (double)pz_platform_transfer_ns(p->work->platform, bytes, 1.0, 0);
}

static double rank_of(const pzi_planner *p, const pzi_copies *copies, pzi_ranking ranking,
                      int32_t saved)
{
    const double bytes = (double)pzi_saved_bytes(p->work, (size_t)saved);
    const double copy_ns = (double)slower_ns(copies, saved);
    switch (ranking) {
    case PZI_RECOMPUTE_PER_COPY:
        return avoided_ns(p, saved) / copy_ns;
    case PZI_MEMORY_PER_COPY:
        return bytes / copy_ns;
    default:
        return avoided_ns(p, saved) / bytes;
    }
}

static size_t list_candidates(const pzi_planner *p, const pzi_copies *copies, pzi_ranking ranking,
                              struct candidate *list)
{
    size_t n = 0;
    for (size_t i = 0; i < p->work->trace->n_saved; i++)
        if (pzi_saved_bytes(p->work, i) > 0 && slower_ns(copies, (int32_t)i) > 0)
            list[n++] = (struct candidate){rank_of(p, copies, ranking, (int32_t)i), (int32_t)i};
    qsort(list, n, sizeof *list, compare_candidates);
    return n;
}

/* Deadlines of empty queues: ready times, and how late a copy of no length at Tfwd would be. */
static pz_status start_queues(pzi_planner *p)
{
    const pzi_work *work = p->work;
    const size_t n = work->trace->n_saved;
    int64_t *values = calloc(n + 1, sizeof *values);
    if (!values)
        return PZ_ERR_MEMORY;
    for (size_t k = 0; k < n; k++)
        values[k] = pzi_ready_ns(work, (size_t)work->by_ready[k]);
    pzi_range_max_fill(&p->d2h_ends, values);
    for (size_t k = 0; k < n; k++) {
        const pzi_saved *saved = &work->trace->saved[work->by_use[k]];
        values[k] = work->forward_ns - work->start_ns[saved->first_backward_use];
    }
    pzi_range_max_fill(&p->h2d_late, values);
    free(values);
    return PZ_OK;
}

static bool fits_windows(const pzi_planner *p, const pzi_copies *copies, int32_t saved)
{
    const pzi_work *work = p->work;
    const int32_t use = work->trace->saved[saved].first_backward_use;
    return copies->out_ns[saved] <= work->forward_ns - pzi_ready_ns(work, (size_t)saved) &&
           copies->in_ns[saved] <= work->start_ns[use] - work->forward_ns;
}

static bool meets_deadlines(const pzi_planner *p, const pzi_copies *copies, int32_t saved)
{
    const size_t ready = (size_t)p->ready_position[saved], use = (size_t)p->use_position[saved];
    const size_t last = p->work->trace->n_saved - 1;
    return pzi_range_max_get(&p->d2h_ends, 0, ready) + copies->out_ns[saved] <=
               p->work->forward_ns &&
           pzi_range_max_get(&p->h2d_late, use, last) + copies->in_ns[saved] <= 0;
}

static void admit(pzi_planner *p, const pzi_copies *copies, int32_t saved)
{
    const size_t last = p->work->trace->n_saved - 1;
    pzi_range_max_add(&p->d2h_ends, 0, (size_t)p->ready_position[saved], copies->out_ns[saved]);
    pzi_range_max_add(&p->h2d_late, (size_t)p->use_position[saved], last, copies->in_ns[saved]);
    pzi_draft_swap(p, saved);
}

void pzi_admit_swaps(pzi_planner *p, const pzi_copies *copies, pzi_ranking ranking, double eta)
{
    const pzi_work *work = p->work;
    struct candidate *list = calloc(work->trace->n_saved + 1, sizeof *list);
    if (!list || start_queues(p) != PZ_OK) {
        p->no_memory = true;
        free(list);
        return;
    }
    const int64_t window =
        work->forward_ns < work->backward_ns ? work->forward_ns : work->backward_ns;
    const int64_t budget_ns = (int64_t)(eta * (double)window);
    const size_t n = list_candidates(p, copies, ranking, list);
    int64_t copy_ns = 0;
    for (size_t i = 0; i < n && pzi_draft_peak(p) > p->limit_bytes; i++) {
        const int32_t saved = list[i].saved;
        const int64_t x = slower_ns(copies, saved);
        if (copy_ns + x > budget_ns || !fits_windows(p, copies, saved) ||
            !meets_deadlines(p, copies, saved))
            continue;
        copy_ns += x;
        admit(p, copies, saved);
    }
    free(list);
}
