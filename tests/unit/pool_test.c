/* The pool: exact budgets, no fragmentation, pins, warnings, leaks, threads, fork. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planezip/engine.h"
#include "support/rng.h"
#include "support/test.h"

/* What the pool says and asks for. */
struct host {
    unsigned warnings, pins, unpins;
    unsigned pins_allowed;
    uint64_t pinned_bytes;
    char text[256];
};

static void warn(void *user, const char *text)
{
    struct host *const host = user;

    host->warnings++;
    snprintf(host->text, sizeof host->text, "%s", text);
}

static pz_status pin(void *user, void *memory, size_t bytes)
{
    struct host *const host = user;

    CHECK(memory != NULL);
    if (host->pins++ >= host->pins_allowed)
        return PZ_ERR_MEMORY;
    host->pinned_bytes += bytes;
    return PZ_OK;
}

static void unpin(void *user, void *memory, size_t bytes)
{
    struct host *const host = user;

    CHECK(memory != NULL);
    host->unpins++;
    host->pinned_bytes -= bytes;
}

static pz_pool_options options_of(struct host *host, uint64_t budget_bytes)
{
    return (pz_pool_options){.size = sizeof(pz_pool_options),
                             .budget_bytes = budget_bytes,
                             .chunk_bytes = 4096,
                             .mapping_bytes = 3 * 4096,
                             .warn = warn,
                             .user = host};
}

static pz_pool *pool_of(const pz_pool_options *options)
{
    pz_pool *pool = NULL;

    CHECK_EQ_U64(pz_pool_new(options, &pool), PZ_OK);
    return pool;
}

static pz_pool_stats stats_of(pz_pool *pool)
{
    pz_pool_stats stats = {.size = sizeof stats};

    CHECK_EQ_U64(pz_pool_get_stats(pool, &stats), PZ_OK);
    return stats;
}

/* Takes until there is none; how many there were. */
static size_t take_all(pz_pool *pool, void **chunks, size_t most, pz_status expected)
{
    size_t count = 0;
    pz_status status = PZ_OK;

    while (count < most && (status = pz_pool_take(pool, &chunks[count])) == PZ_OK)
        count++;
    CHECK_EQ_U64(status, expected);
    return count;
}

static void give_all(pz_pool *pool, void **chunks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK_EQ_U64(pz_pool_give(pool, chunks[i]), PZ_OK);
}

TEST(budget_is_exact)
{
    for (uint64_t budget = 4096; budget < 12 * 4096; budget += 1024) {
        struct host host = {0};
        const pz_pool_options options = options_of(&host, budget);
        pz_pool *pool = pool_of(&options);
        const uint64_t whole = budget / 4096 * 4096;
        void *chunks[16];
        pz_pool_stats stats;

        TEST_CONTEXT("budget %d", (int)budget);
        CHECK_EQ_U64(stats_of(pool).mapped_bytes, 0);
        CHECK_EQ_U64(take_all(pool, chunks, 15, PZ_ERR_FULL), whole / 4096);
        stats = stats_of(pool);
        CHECK_EQ_U64(stats.budget_bytes, whole);
        CHECK_EQ_U64(stats.mapped_bytes, whole);
        CHECK_EQ_U64(stats.used_bytes, whole);
        CHECK_EQ_U64(stats.peak_bytes, whole);
        CHECK_EQ_U64(stats.mappings, (whole / 4096 + 2) / 3);
        CHECK_EQ_U64(stats.refused, 1);
        for (size_t i = 0; i < whole / 4096; i++)
            memset(chunks[i], (int)i, 4096); /* they are memory, and apart */
        for (size_t i = 0; i < whole / 4096; i++)
            CHECK(((uint8_t *)chunks[i])[0] == i && ((uint8_t *)chunks[i])[4095] == i);
        give_all(pool, chunks, (size_t)(whole / 4096));
        CHECK_EQ_U64(stats_of(pool).used_bytes, 0);
        CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
        CHECK_EQ_U64(host.warnings, 0); /* a budget that is used up is no surprise */
    }
}

/* Whatever is given back in whatever order: as long as less than the budget is out, there is a
 * chunk, and nothing is mapped beyond it. */
TEST(no_fragmentation)
{
    struct host host = {0};
    const pz_pool_options options = options_of(&host, 100 * 4096);
    pz_pool *pool = pool_of(&options);
    void *chunks[101];
    size_t count = 0;
    struct rng rng = {7};

    for (unsigned round = 0; round < 20000; round++) {
        if (count < 100 && (count == 0 || rng_below(&rng, 100) < 60)) {
            if (!CHECK(pz_pool_take(pool, &chunks[count]) == PZ_OK))
                return;
            count++;
        } else {
            const size_t which = (size_t)rng_below(&rng, count);

            CHECK_EQ_U64(pz_pool_give(pool, chunks[which]), PZ_OK);
            chunks[which] = chunks[--count];
        }
        if (rng_one_in(&rng, 500))
            pz_pool_trim(pool);
        CHECK_EQ_U64(stats_of(pool).used_bytes, count * 4096);
        CHECK(stats_of(pool).mapped_bytes <= 100 * 4096);
    }
    give_all(pool, chunks, count);
    CHECK_EQ_U64(stats_of(pool).mapped_bytes, 100 * 4096);
    pz_pool_trim(pool);
    CHECK_EQ_U64(stats_of(pool).mapped_bytes, 0);
    CHECK_EQ_U64(stats_of(pool).mappings, 0);
    CHECK_EQ_U64(stats_of(pool).peak_bytes, 100 * 4096);
    CHECK_EQ_U64(take_all(pool, chunks, 101, PZ_ERR_FULL), 100);
    give_all(pool, chunks, 100);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

TEST(chunks_that_are_not_given_back)
{
    struct host host = {0};
    const pz_pool_options options = options_of(&host, 4 * 4096);
    pz_pool *pool = pool_of(&options);
    void *chunks[5];

    CHECK_EQ_U64(take_all(pool, chunks, 5, PZ_ERR_FULL), 4);
    give_all(pool, chunks, 2);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_ERR_BUSY);
    CHECK_EQ_U64(host.warnings, 1);
    CHECK_STR(host.text, "the pool is not freed: 2 chunks of 4096 bytes are out");
    CHECK_EQ_U64(pz_pool_give(pool, chunks[0]), PZ_ERR_ARGUMENT); /* a second time */
    CHECK_EQ_U64(pz_pool_give(pool, (uint8_t *)chunks[2] + 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_pool_give(pool, &host), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_pool_give(pool, NULL), PZ_ERR_ARGUMENT);
    give_all(pool, chunks + 2, 2);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* A driver may not copy from one to the next. */
TEST(mappings_stand_apart)
{
    enum { COUNT = 32 };
    struct host host = {0};
    pz_pool_options options = options_of(&host, COUNT * 4096);
    pz_pool *pool;
    uint8_t *chunks[COUNT];

    options.mapping_bytes = 4096;
    pool = pool_of(&options);
    for (unsigned i = 0; i < COUNT; i++) {
        void *chunk = NULL;

        CHECK_EQ_U64(pz_pool_take(pool, &chunk), PZ_OK);
        chunks[i] = chunk;
    }
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned k = 0; k < COUNT; k++)
            CHECK(chunks[i] + 4096 != chunks[k]);
    for (unsigned i = 0; i < COUNT; i++)
        CHECK_EQ_U64(pz_pool_give(pool, chunks[i]), PZ_OK);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* Given back in any order, chunks of the oldest mapping are taken first. */
TEST(the_oldest_serves)
{
    enum { COUNT = 12 };
    struct host host = {0};
    const pz_pool_options options = options_of(&host, COUNT * 4096);
    pz_pool *pool = pool_of(&options);
    void *chunks[COUNT], *again = NULL;

    for (unsigned i = 0; i < COUNT; i++)
        CHECK_EQ_U64(pz_pool_take(pool, &chunks[i]), PZ_OK);
    for (unsigned i = COUNT; i-- > 0;) {
        CHECK_EQ_U64(pz_pool_give(pool, chunks[i]), PZ_OK);
        CHECK_EQ_U64(pz_pool_take(pool, &again), PZ_OK);
        CHECK(again == chunks[i]);
    }
    for (unsigned i = 0; i < COUNT; i++)
        CHECK_EQ_U64(pz_pool_give(pool, chunks[i]), PZ_OK);
    CHECK_EQ_U64(pz_pool_take(pool, &again), PZ_OK);
    CHECK(again == chunks[0] || again == chunks[1] || again == chunks[2]); /* of a mapping */
    CHECK_EQ_U64(pz_pool_give(pool, again), PZ_OK);
    pz_pool_trim(pool);
    CHECK_EQ_U64(pz_pool_take(pool, &again), PZ_OK);
    CHECK_EQ_U64(pz_pool_give(pool, again), PZ_OK);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

TEST(pinned)
{
    struct host host = {.pins_allowed = 100};
    pz_pool_options options = options_of(&host, 7 * 4096);
    pz_pool *pool;
    void *chunks[8];

    options.pin = pin;
    options.unpin = unpin;
    options.all_at_once = true;
    pool = pool_of(&options);
    CHECK_EQ_U64(host.pinned_bytes, 7 * 4096);
    CHECK_EQ_U64(stats_of(pool).pinned_bytes, 7 * 4096);
    CHECK_EQ_U64(take_all(pool, chunks, 8, PZ_ERR_FULL), 7);
    CHECK_EQ_U64(host.pins, 3);
    give_all(pool, chunks, 7);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    CHECK_EQ_U64(host.unpins, 3);
    CHECK_EQ_U64(host.pinned_bytes, 0);
    CHECK_EQ_U64(host.warnings, 0);
}

/* One warning, no retries, and the rest is pageable. */
TEST(pinning_fails)
{
    struct host host = {.pins_allowed = 1};
    pz_pool_options options = options_of(&host, 12 * 4096);
    pz_pool *pool;
    void *chunks[13];

    options.pin = pin;
    options.unpin = unpin;
    pool = pool_of(&options);
    CHECK_EQ_U64(take_all(pool, chunks, 13, PZ_ERR_FULL), 12);
    CHECK_EQ_U64(host.pins, 2);
    CHECK_EQ_U64(host.warnings, 1);
    CHECK_STR(host.text,
              "cannot pin 12288 bytes of page-locked host memory (12288 of 49152 are); the rest is "
              "pageable, and slower; raise the limit of locked memory or lower the budget");
    CHECK_EQ_U64(stats_of(pool).pinned_bytes, 3 * 4096);
    give_all(pool, chunks, 12);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    CHECK_EQ_U64(host.pinned_bytes, 0);
}

TEST(pinned_or_nothing)
{
    struct host host = {.pins_allowed = 1};
    pz_pool_options options = options_of(&host, 12 * 4096);
    pz_pool *pool;
    void *chunks[13];

    options.pin = pin;
    options.unpin = unpin;
    options.pinned_only = true;
    pool = pool_of(&options);
    CHECK_EQ_U64(take_all(pool, chunks, 13, PZ_ERR_MEMORY), 3);
    CHECK_EQ_U64(pz_pool_take(pool, chunks + 3), PZ_ERR_MEMORY);
    CHECK_EQ_U64(host.pins, 2);
    CHECK_EQ_U64(host.warnings, 1);
    CHECK_EQ_U64(stats_of(pool).mapped_bytes, 3 * 4096);
    give_all(pool, chunks, 3);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    options.all_at_once = true;
    pool = NULL;
    host.pins = 0;
    CHECK_EQ_U64(pz_pool_new(&options, &pool), PZ_ERR_MEMORY);
    CHECK(pool == NULL);
    CHECK_EQ_U64(host.pinned_bytes, 0);
}

/* More than there are addresses. */
TEST(no_memory)
{
    struct host host = {0};
    pz_pool_options options = options_of(&host, UINT64_C(1) << 50);
    pz_pool *pool = NULL;
    void *chunk = NULL;

    if (sizeof(size_t) < 8)
        return;
    options.chunk_bytes = 0;
    options.mapping_bytes = UINT64_C(1) << 48;
    pool = pool_of(&options);
    CHECK_EQ_U64(pz_pool_take(pool, &chunk), PZ_ERR_MEMORY);
    CHECK_EQ_U64(pz_pool_take(pool, &chunk), PZ_ERR_MEMORY);
    CHECK_EQ_U64(host.warnings, 1);
    CHECK(strstr(host.text, "lower the budget") != NULL);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* ---- Threads, fork, arguments ---------------------------------------------------------------- */

static void *take_and_give(void *arg)
{
    pz_pool *const pool = arg;
    void *chunks[8];
    size_t wrong = 0;

    for (unsigned round = 0; round < 300; round++) {
        size_t count = 0;

        while (count < 8 && pz_pool_take(pool, &chunks[count]) == PZ_OK) {
            memset(chunks[count], (int)round, 4096);
            count++;
        }
        while (count-- > 0) {
            wrong += ((uint8_t *)chunks[count])[0] != (uint8_t)round;
            wrong += pz_pool_give(pool, chunks[count]) != PZ_OK;
        }
        if (round % 50 == 0)
            pz_pool_trim(pool);
    }
    return wrong == 0 ? pool : NULL;
}

TEST(many_threads)
{
    struct host host = {0};
    const pz_pool_options options = options_of(&host, 20 * 4096);
    pz_pool *pool = pool_of(&options);
    pthread_t threads[6];
    pz_pool_stats stats;

    for (unsigned i = 0; i < 6; i++)
        CHECK(pthread_create(&threads[i], NULL, take_and_give, pool) == 0);
    for (unsigned i = 0; i < 6; i++) {
        void *right = NULL;

        pthread_join(threads[i], &right);
        CHECK(right != NULL);
    }
    stats = stats_of(pool);
    CHECK_EQ_U64(stats.used_bytes, 0);
    CHECK(stats.peak_bytes <= 20 * 4096);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

TEST(freed_in_a_child)
{
    struct host host = {.pins_allowed = 9};
    pz_pool_options options = options_of(&host, 4 * 4096);
    pz_pool *pool;
    void *chunk = NULL;
    int status = 1;
    pid_t child;

    options.pin = pin;
    options.unpin = unpin;
    pool = pool_of(&options);
    CHECK_EQ_U64(pz_pool_take(pool, &chunk), PZ_OK);
    child = fork();
    if (child == 0) {
        void *other = NULL;
        const bool refused = pz_pool_take(pool, &other) == PZ_ERR_ARGUMENT &&
                             pz_pool_give(pool, chunk) == PZ_ERR_ARGUMENT;

        _exit(refused && pz_pool_free(pool) == PZ_OK && host.unpins == 0 ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ_U64(status, 0);
    CHECK_EQ_U64(pz_pool_give(pool, chunk), PZ_OK);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    CHECK_EQ_U64(host.unpins, 1);
}

TEST(arguments)
{
    struct host host = {0};
    pz_pool_options options = options_of(&host, 4095);
    pz_pool_stats stats = {.size = sizeof stats};
    pz_pool *pool = NULL;
    void *chunk = NULL;

    CHECK_EQ_U64(pz_pool_new(&options, &pool), PZ_ERR_ARGUMENT); /* less than a chunk */
    options.budget_bytes = UINT64_MAX;
    CHECK_EQ_U64(pz_pool_new(&options, &pool), PZ_ERR_ARGUMENT);
    options.budget_bytes = 1 << 20;
    options.chunk_bytes = 4097;
    CHECK_EQ_U64(pz_pool_new(&options, &pool), PZ_ERR_ARGUMENT);
    options.chunk_bytes = 0;
    options.size--;
    CHECK_EQ_U64(pz_pool_new(&options, &pool), PZ_ERR_ARGUMENT);
    options.size++;
    CHECK_EQ_U64(pz_pool_new(&options, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_pool_new(NULL, &pool), PZ_ERR_ARGUMENT);
    CHECK(pool == NULL);
    pool = pool_of(&options);
    CHECK_EQ_U64(stats_of(pool).chunk_bytes, 65536);
    CHECK_EQ_U64(pz_pool_take(pool, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_pool_take(NULL, &chunk), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_pool_get_stats(NULL, &stats), PZ_ERR_ARGUMENT);
    stats.size--;
    CHECK_EQ_U64(pz_pool_get_stats(pool, &stats), PZ_ERR_ARGUMENT);
    pz_pool_trim(NULL);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    CHECK_EQ_U64(pz_pool_free(NULL), PZ_OK);
}
