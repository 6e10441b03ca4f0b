/* A complete binary tree in an array: node k has the children 2k and 2k + 1, leaves come last. */
#include "plan/range_max.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING INT64_MIN
/* Padding leaves: so low that no sum of real additions brings them near a real value. */
#define LOW (INT64_MIN / 4)

pz_status pzi_range_max_new(size_t n, pzi_range_max *seq)
{
    size_t leaves = 1;
    while (leaves <= n) /* one position past the end stays inside */
        leaves *= 2;
    *seq = (pzi_range_max){n, leaves, calloc(2 * leaves, sizeof *seq->max),
                           calloc(2 * leaves, sizeof *seq->add)};
    if (seq->max && seq->add)
        return PZ_OK;
    pzi_range_max_free(seq);
    return PZ_ERR_MEMORY;
}

void pzi_range_max_free(pzi_range_max *seq)
{
    free(seq->max);
    free(seq->add);
    *seq = (pzi_range_max){0};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void pzi_range_max_fill(pzi_range_max *seq, const int64_t *values)
{
    for (size_t i = 0; i < seq->leaves; i++)
        seq->max[seq->leaves + i] = i < seq->n ? values[i] : LOW;
    for (size_t k = seq->leaves - 1; k > 0; k--)
        seq->max[k] = larger(seq->max[2 * k], seq->max[2 * k + 1]);
    memset(seq->add, 0, 2 * seq->leaves * sizeof *seq->add);
}

void pzi_range_max_copy(pzi_range_max *seq, const pzi_range_max *source)
{
    memcpy(seq->max, source->max, 2 * seq->leaves * sizeof *seq->max);
    memcpy(seq->add, source->add, 2 * seq->leaves * sizeof *seq->add);
}

static void apply(pzi_range_max *seq, size_t k, int64_t delta)
{
    seq->max[k] += delta;
    seq->add[k] += delta;
}

static void refresh_above(pzi_range_max *seq, size_t k)
{
    for (k /= 2; k > 0; k /= 2)
        seq->max[k] = larger(seq->max[2 * k], seq->max[2 * k + 1]) + seq->add[k];
}

void pzi_range_max_add(pzi_range_max *seq, size_t first, size_t last, int64_t delta)
{
    if (last < first || last >= seq->n || delta == 0)
        return;
    size_t l = first + seq->leaves, r = last + seq->leaves + 1;
    for (; l < r; l /= 2, r /= 2) {
        if (l & 1)
            apply(seq, l++, delta);
        if (r & 1)
            apply(seq, --r, delta);
    }
    refresh_above(seq, first + seq->leaves);
    refresh_above(seq, last + seq->leaves);
}

/* Sum of what was added above node k. */
static int64_t added_above(const pzi_range_max *seq, size_t k)
{
    int64_t sum = 0;
    for (k /= 2; k > 0; k /= 2)
        sum += seq->add[k];
    return sum;
}

int64_t pzi_range_max_get(const pzi_range_max *seq, size_t first, size_t last)
{
    if (last < first || last >= seq->n)
        return NOTHING;
    int64_t left = NOTHING, right = NOTHING; /* of the covered nodes, as seen from one level up */
    size_t l = first + seq->leaves, r = last + seq->leaves;
    left = seq->max[l];
    right = seq->max[r];
    while (l / 2 != r / 2) {
        if (!(l & 1))
            left = larger(left, seq->max[l + 1]);
        if (r & 1)
            right = larger(right, seq->max[r - 1]);
        l /= 2;
        r /= 2;
        left += seq->add[l];
        right += seq->add[r];
    }
    /* Both are below the same parent now; at the leaf level l may equal r. */
    return larger(left, right) + added_above(seq, l);
}

size_t pzi_range_max_where(const pzi_range_max *seq)
{
    size_t k = 1;
    while (k < seq->leaves)
        k = seq->max[2 * k] >= seq->max[2 * k + 1] ? 2 * k : 2 * k + 1;
    return k - seq->leaves;
}

size_t pzi_range_max_last_above(const pzi_range_max *seq, size_t end, int64_t limit)
{
    size_t k = end + seq->leaves;
    if (end > seq->n)
        return SIZE_MAX;
    /* Up to the nearest left neighbour subtree that holds such a value. */
    for (; k > 1; k /= 2)
        if ((k & 1) && seq->max[k - 1] + added_above(seq, k - 1) > limit)
            break;
    if (k <= 1)
        return SIZE_MAX;
    k--;
    int64_t rest = limit - added_above(seq, k);
    while (k < seq->leaves) {
        rest -= seq->add[k];
        k = seq->max[2 * k + 1] > rest ? 2 * k + 1 : 2 * k;
    }
    return k - seq->leaves;
}
