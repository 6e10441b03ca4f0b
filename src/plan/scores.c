/* A complete binary tree in an array: node k has the children 2k and 2k + 1, leaves come last. */
#include "plan/scores.h"

#include <math.h>
#include <stdlib.h>

static pz_status order_tensors(const pz_trace *trace, pzi_scores *s)
{
    pzi_key *places = calloc(s->n + 1, sizeof *places);
    if (!places)
        return PZ_ERR_MEMORY;
    for (size_t i = 0; i < s->n; i++)
        places[i] = (pzi_key){trace->saved[i].last_forward_use, 0, (int32_t)i};
    pzi_sort_keys(places, s->n);
    for (size_t k = 0; k < s->n; k++) {
        s->last[k] = places[k].first;
        s->tensor[k] = places[k].saved;
        s->position[places[k].saved] = (int32_t)k;
    }
    free(places);
    return PZ_OK;
}

pz_status pzi_scores_new(const pzi_work *work, pzi_scores *s)
{
    const size_t n = work->trace->n_saved;
    size_t leaves = 1;
    while (leaves < n)
        leaves *= 2;
    *s = (pzi_scores){
        .n = n,
        .leaves = leaves,
        .score = calloc(2 * leaves, sizeof *s->score),
        .need = calloc(2 * leaves, sizeof *s->need),
        .tensor = calloc(n + 1, sizeof *s->tensor),
        .position = calloc(n + 1, sizeof *s->position),
        .last = calloc(n + 1, sizeof *s->last),
    };
    pz_status status = PZ_ERR_MEMORY;
    if (s->score && s->need && s->tensor && s->position && s->last)
        status = order_tensors(work->trace, s);
    for (size_t k = 0; status == PZ_OK && k < 2 * leaves; k++)
        s->score[k] = INFINITY;
    if (status != PZ_OK)
        pzi_scores_free(s);
    return status;
}

void pzi_scores_free(pzi_scores *s)
{
    free(s->score);
    free(s->need);
    free(s->tensor);
    free(s->position);
    free(s->last);
    *s = (pzi_scores){0};
}

void pzi_scores_set(pzi_scores *s, int32_t saved, double score, int32_t need)
{
    size_t k = s->leaves + (size_t)s->position[saved];
    s->score[k] = score;
    s->need[k] = need;
    for (k /= 2; k > 0; k /= 2) {
        s->score[k] = fmin(s->score[2 * k], s->score[2 * k + 1]);
        s->need[k] = s->need[2 * k] > s->need[2 * k + 1] ? s->need[2 * k] : s->need[2 * k + 1];
    }
}

struct query {
    const pzi_scores *scores;
    size_t end; /* positions before it have their last forward use before op */
    int32_t op;
    double score;
    int32_t best;
};

/* Looks below node k, whose leaves are the positions first .. first + size - 1. */
static void search(struct query *q, size_t k, size_t first, size_t size)
{
    const pzi_scores *s = q->scores;
    if (first >= q->end || s->need[k] <= q->op || isinf(s->score[k]) || s->score[k] > q->score)
        return;
    if (size > 1) {
        /* The better half first: it rules out more of the other. */
        const size_t half = size / 2, right = s->score[2 * k + 1] < s->score[2 * k];
        search(q, 2 * k + right, first + right * half, half);
        search(q, 2 * k + !right, first + !right * half, half);
        return;
    }
    const int32_t saved = s->tensor[first];
    if (q->best == PZI_NONE || s->score[k] < q->score || saved < q->best) {
        q->best = saved;
        q->score = s->score[k];
    }
}

int32_t pzi_scores_best(const pzi_scores *s, int32_t op)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (s->last[middle] < op)
            low = middle + 1;
        else
            high = middle;
    }
    struct query q = {s, low, op, INFINITY, PZI_NONE};
    search(&q, 1, 0, s->leaves);
    return q.best;
}
