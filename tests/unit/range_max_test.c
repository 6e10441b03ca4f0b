/* Range maximum against a plain array. */
#include "plan/range_max.h"

#include <stdlib.h>

#include "support/rng.h"
#include "support/test.h"

enum { MAX_N = 70 };

struct pair {
    pzi_range_max seq;
    int64_t plain[MAX_N];
    size_t n;
};

static int64_t plain_max(const struct pair *p, size_t first, size_t last)
{
    int64_t max = INT64_MIN;

    for (size_t i = first; i <= last && last < p->n; i++)
        max = p->plain[i] > max ? p->plain[i] : max;
    return max;
}

static size_t plain_last_above(const struct pair *p, size_t end, int64_t limit)
{
    while (end > 0)
        if (p->plain[--end] > limit)
            return end;
    return SIZE_MAX;
}

static size_t plain_where(const struct pair *p)
{
    size_t where = 0;

    for (size_t i = 1; i < p->n; i++)
        if (p->plain[i] > p->plain[where])
            where = i;
    return where;
}

static void compare(struct pair *p, struct rng *rng)
{
    const size_t first = rng_below(rng, p->n), last = rng_below(rng, p->n);
    const int64_t limit = (int64_t)rng_below(rng, 200) - 100;
    const size_t end = rng_below(rng, p->n + 1);

    CHECK_EQ_I64(pzi_range_max_get(&p->seq, first, last),
                 first <= last ? plain_max(p, first, last) : INT64_MIN);
    CHECK_EQ_I64(pzi_range_max_all(&p->seq), plain_max(p, 0, p->n - 1));
    CHECK_EQ_U64(pzi_range_max_where(&p->seq), plain_where(p));
    CHECK_EQ_U64(pzi_range_max_last_above(&p->seq, end, limit), plain_last_above(p, end, limit));
}

static void add(struct pair *p, struct rng *rng)
{
    const size_t first = rng_below(rng, p->n), last = rng_below(rng, p->n);
    const int64_t delta = (int64_t)rng_below(rng, 41) - 20;

    pzi_range_max_add(&p->seq, first, last, delta);
    for (size_t i = first; i <= last && first <= last; i++)
        p->plain[i] += delta;
}

TEST(against_a_plain_array)
{
    for (size_t n = 1; n <= MAX_N; n++) {
        struct rng rng = {n};
        struct pair p = {.n = n};
        pzi_range_max copy;
        TEST_CONTEXT("%zu values", n);
        CHECK_EQ_I64(pzi_range_max_new(n, &p.seq), PZ_OK);
        CHECK_EQ_I64(pzi_range_max_new(n, &copy), PZ_OK);
        for (size_t i = 0; i < n; i++)
            p.plain[i] = (int64_t)rng_below(&rng, 100) - 50;
        pzi_range_max_fill(&p.seq, p.plain);
        for (int k = 0; k < 200; k++) {
            compare(&p, &rng);
            add(&p, &rng);
        }
        pzi_range_max_copy(&copy, &p.seq);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ_I64(pzi_range_max_get(&copy, i, i), p.plain[i]);
        pzi_range_max_free(&copy);
        pzi_range_max_free(&p.seq);
    }
}

/* Sizes that no sum may overflow, and nothing is found among the padding. */
TEST(large_and_negative_values)
{
    pzi_range_max seq;
    int64_t values[3] = {-(INT64_C(1) << 59), -(INT64_C(1) << 59) + 1, -(INT64_C(1) << 59)};

    CHECK_EQ_I64(pzi_range_max_new(3, &seq), PZ_OK);
    pzi_range_max_fill(&seq, values);
    CHECK_EQ_U64(pzi_range_max_where(&seq), 1);
    CHECK_EQ_I64(pzi_range_max_all(&seq), values[1]);
    pzi_range_max_add(&seq, 0, 2, INT64_C(1) << 60);
    CHECK_EQ_I64(pzi_range_max_get(&seq, 2, 2), INT64_C(1) << 59);
    CHECK_EQ_U64(pzi_range_max_last_above(&seq, 3, 0), 2);
    CHECK_EQ_U64(pzi_range_max_last_above(&seq, 4, 0), SIZE_MAX);
    pzi_range_max_free(&seq);
}

TEST(empty_ranges)
{
    pzi_range_max seq;
    const int64_t values[2] = {1, 2};

    CHECK_EQ_I64(pzi_range_max_new(2, &seq), PZ_OK);
    pzi_range_max_fill(&seq, values);
    pzi_range_max_add(&seq, 1, 0, 100);
    pzi_range_max_add(&seq, 0, 2, 100); /* outside: nothing */
    CHECK_EQ_I64(pzi_range_max_all(&seq), 2);
    CHECK_EQ_I64(pzi_range_max_get(&seq, 1, 0), INT64_MIN);
    CHECK_EQ_I64(pzi_range_max_get(&seq, 0, 2), INT64_MIN);
    pzi_range_max_free(&seq);
    CHECK_EQ_I64(pzi_range_max_new(0, &seq), PZ_OK);
    pzi_range_max_fill(&seq, values);
    CHECK_EQ_U64(pzi_range_max_last_above(&seq, 0, -5), SIZE_MAX);
    pzi_range_max_free(&seq);
}
