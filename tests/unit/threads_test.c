/* Threads: the same results for any number of them, from any of them, and after fork(); and chunk
 * ranges.  Includes public headers only, as it is compiled a second time for ThreadSanitizer. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planezip/planezip.h"
#include "support/datagen.h"
#include "support/guard.h"
#include "support/rng.h"
#include "support/test.h"

/* ThreadSanitizer and qemu do not follow threads into a child. */
#if defined(__SANITIZE_THREAD__)
#define PZ_NO_FORK
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PZ_NO_FORK
#endif
#endif

/* Both formats in all widths, and both levels of format 2. */
static const struct {
    const char *codec;
    unsigned w, e;
} symbols[] = {{"planezip", 8, 0},        {"planezip", 16, 0},  {"planezip", 32, 0},
               {"planezip", 64, 0},       {"planezip2", 8, 0},  {"planezip2", 16, 8},
               {"planezip2-fast", 32, 8}, {"planezip2", 64, 11}};

enum { MODES = sizeof symbols / sizeof symbols[0], FIRST_OF_FORMAT_2 = 4 };

enum { MAX_BYTES = 70 * PZ_CHUNK_BYTES + 17, BOUND = MAX_BYTES + 2 * 71 };

static uint8_t raw[MAX_BYTES];

static pz_mode mode_at(unsigned i)
{
    pz_mode mode = {0};

    CHECK_EQ_U64(pz_mode_named(symbols[i].codec, symbols[i].w, &mode), PZ_OK);
    mode.exponent_bits = symbols[i].e;
    return mode;
}

static pz_threads *threads_of(unsigned count)
{
    const pz_threads_options options = {sizeof options, count, NULL, NULL};
    pz_threads *threads = NULL;

    CHECK_EQ_U64(pz_threads_new(&options, &threads), PZ_OK);
    return threads;
}

/* One kind of data after the other, a few chunks each. */
static void fill(uint64_t seed, unsigned w)
{
    struct rng rng = {seed};

    for (size_t at = 0, kind = seed; at < sizeof raw; at += 10000, kind++)
        datagen_fill(&rng, (enum datagen_kind)(kind % DATAGEN_KINDS), w, raw + at,
                     sizeof raw - at < 10000 ? sizeof raw - at : 10000);
}

/* What the calling thread alone gives. */
struct expected {
    uint8_t *coded;
    size_t coded_bytes;
    pz_stats stats;
};

static bool encodes_to(pz_threads *threads, pz_mode mode, size_t raw_bytes,
                       const struct expected *expected, uint8_t *coded, size_t room)
{
    size_t bytes = 0;

    return pz_stream_encode_on(threads, mode, raw, raw_bytes, coded, room, &bytes) == PZ_OK &&
           bytes == expected->coded_bytes && memcmp(coded, expected->coded, bytes) == 0;
}

static bool agrees_with(pz_threads *threads, pz_mode mode, size_t raw_bytes,
                        const struct expected *expected)
{
    const size_t coded_bytes = expected->coded_bytes;
    struct guard coded_guard = {0}, back_guard = {0};
    uint8_t *const back = guard_place(&back_guard, GUARD_BACK, raw_bytes);
    uint8_t *coded = guard_place(&coded_guard, GUARD_BACK, coded_bytes);
    bool same = encodes_to(threads, mode, raw_bytes, expected, coded, coded_bytes);
    pz_stats stats;

    same = same &&
           pz_stream_decode_on(threads, mode, coded, coded_bytes, back, raw_bytes, NULL) == PZ_OK;
    same = same && memcmp(back, raw, raw_bytes) == 0;
    coded = guard_place(&coded_guard, GUARD_BACK, BOUND);
    same = same && encodes_to(threads, mode, raw_bytes, expected, coded, BOUND);
    same = same && pz_stream_measure_on(threads, mode, raw, raw_bytes, &stats) == PZ_OK;
    same = same && memcmp(&stats, &expected->stats, sizeof stats) == 0;
    guard_drop(&coded_guard);
    guard_drop(&back_guard);
    return same;
}

/* Whether all three functions give what the calling thread alone gives; safe to call from any
 * thread, unlike CHECK. */
static bool agrees(pz_threads *threads, pz_mode mode, size_t raw_bytes)
{
    struct expected expected = {.coded = malloc(BOUND)};
    bool same = expected.coded != NULL;

    same = same && pz_stream_encode(mode, raw, raw_bytes, expected.coded, BOUND,
                                    &expected.coded_bytes) == PZ_OK;
    same = same && pz_stream_measure(mode, raw, raw_bytes, &expected.stats) == PZ_OK;
    same = same && agrees_with(threads, mode, raw_bytes, &expected);
    free(expected.coded);
    return same;
}

TEST(any_number_of_threads)
{
    static const unsigned counts[] = {1, 2, 3, 8};
    static const size_t sizes[] = {0, 1, 32768, 32769, 65536, 200000, MAX_BYTES};

    for (unsigned i = 0; i < 4; i++) {
        pz_threads *threads = threads_of(counts[i]);

        CHECK_EQ_U64(pz_threads_count(threads), counts[i]);
        for (unsigned k = 0; k < MODES * 7; k++) {
            const pz_mode mode = mode_at(k % MODES);

            TEST_CONTEXT("%u threads, %s, w %u, %zu bytes", counts[i], symbols[k % MODES].codec,
                         mode.width_bits, sizes[k / MODES]);
            fill(k, mode.width_bits);
            CHECK(agrees(threads, mode, sizes[k / MODES]));
        }
        pz_threads_free(threads);
    }
}

static void check_space(pz_threads *threads, pz_mode mode)
{
    static uint8_t coded[BOUND];
    size_t coded_bytes = 0, unused = 0;

    fill(5, 16);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, sizeof raw, coded, BOUND, &coded_bytes), PZ_OK);
    for (size_t room = 0; room < coded_bytes; room += 1 + room / 3)
        CHECK_EQ_U64(pz_stream_encode_on(threads, mode, raw, sizeof raw, coded, room, &unused),
                     PZ_ERR_SPACE);
    CHECK_EQ_U64(
        pz_stream_encode_on(threads, mode, raw, sizeof raw, coded, coded_bytes - 1, &unused),
        PZ_ERR_SPACE);
}

TEST(too_little_space)
{
    pz_threads *threads = threads_of(3);

    check_space(threads, mode_at(1));
    check_space(threads, mode_at(FIRST_OF_FORMAT_2 + 1));
    pz_threads_free(threads);
}

/* Of several errors, the first one in the stream. */
TEST(errors_are_those_of_one_thread)
{
    static uint8_t coded[BOUND], back[MAX_BYTES];
    pz_threads *threads = threads_of(4);
    size_t coded_bytes = 0;
    struct rng rng = {1};

    for (unsigned round = 0; round < 200; round++) {
        const pz_mode mode = mode_at(round % MODES);
        pz_where expected = {0, 0, 0}, where = {0, 0, 0};
        pz_status status;

        fill(round, mode.width_bits);
        CHECK_EQ_U64(pz_stream_encode(mode, raw, sizeof raw, coded, BOUND, &coded_bytes), PZ_OK);
        for (uint64_t hits = 1 + rng_below(&rng, 20); hits > 0; hits--)
            coded[142 + rng_below(&rng, coded_bytes - 142)] ^= 1u << rng_below(&rng, 8);
        status = pz_stream_decode(mode, coded, coded_bytes, back, sizeof raw, &expected);
        TEST_CONTEXT("round %u, %s", round, pz_status_name(status));
        CHECK_EQ_U64(
            pz_stream_decode_on(threads, mode, coded, coded_bytes, back, sizeof raw, &where),
            status);
        CHECK(memcmp(&where, &expected, sizeof where) == 0);
    }
    pz_threads_free(threads);
}

/* ---- The caller's workers -------------------------------------------------------------------- */

static void run_backwards(void *user, void (*task)(void *arg, size_t i), void *arg, size_t count)
{
    (*(unsigned *)user)++;
    while (count-- > 0)
        task(arg, count);
}

struct call {
    void (*task)(void *arg, size_t i);
    void *arg;
    size_t i;
};

static void *make_call(void *arg)
{
    const struct call *const call = arg;

    call->task(call->arg, call->i);
    return NULL;
}

static void run_on_threads(void *user, void (*task)(void *arg, size_t i), void *arg, size_t count)
{
    pthread_t workers[8];
    struct call calls[8];

    (*(unsigned *)user)++;
    for (size_t i = 0; i < count; i++) {
        calls[i] = (struct call){task, arg, i};
        if (pthread_create(&workers[i], NULL, make_call, &calls[i]) != 0)
            abort();
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(workers[i], NULL);
}

TEST(workers_of_the_caller)
{
    unsigned calls = 0;
    pz_threads_options options = {sizeof options, 8, run_backwards, &calls};

    fill(9, 16);
    for (unsigned i = 0; i < 2; i++) {
        pz_threads *threads = NULL;

        CHECK_EQ_U64(pz_threads_new(&options, &threads), PZ_OK);
        CHECK(agrees(threads, mode_at(1), sizeof raw));
        CHECK(agrees(threads, mode_at(FIRST_OF_FORMAT_2 + 1), sizeof raw));
        pz_threads_free(threads);
        CHECK_EQ_U64(calls, 6 * (i + 1));
        options.run = run_on_threads;
    }
}

/* ---- Many users, fork ------------------------------------------------------------------------ */

struct user {
    pz_threads *threads;
    pz_mode mode;
    size_t raw_bytes;
    unsigned agreed;
};

static void *use(void *arg)
{
    struct user *const user = arg;

    for (unsigned i = 0; i < 10; i++)
        user->agreed += agrees(user->threads, user->mode, user->raw_bytes - 1000 * i);
    return NULL;
}

TEST(many_users_at_once)
{
    enum { USERS = 6 };
    pz_threads *threads = threads_of(3);
    struct user users[USERS];
    pthread_t ids[USERS];

    fill(3, 16);
    for (size_t i = 0; i < USERS; i++) {
        users[i] = (struct user){threads, mode_at((unsigned)i + 2), MAX_BYTES - 30000 * i, 0};
        if (!CHECK(pthread_create(&ids[i], NULL, use, &users[i]) == 0))
            return;
    }
    for (size_t i = 0; i < USERS; i++) {
        pthread_join(ids[i], NULL);
        CHECK_EQ_U64(users[i].agreed, 10);
    }
    pz_threads_free(threads);
}

#ifndef PZ_NO_FORK

TEST(after_fork)
{
    pz_threads *threads = threads_of(4), *unused = threads_of(4);

    fill(4, 16);
    CHECK(agrees(threads, mode_at(1), sizeof raw));
    for (unsigned i = 0; i < 5; i++) {
        int status = 1;
        const pid_t child = fork();

        if (child == 0) {
            const bool same = i == 0 || agrees(threads, mode_at(1), sizeof raw);

            pz_threads_free(threads);
            pz_threads_free(unused);
            _exit(same ? 0 : 1);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_EQ_U64(status, 0);
        CHECK(agrees(threads, mode_at(1), sizeof raw));
    }
    pz_threads_free(threads);
    pz_threads_free(unused);
}

#endif

TEST(thread_arguments)
{
    pz_threads_options options = {sizeof options, PZ_THREADS_MAX + 1, NULL, NULL};
    pz_threads *threads = NULL;

    CHECK_EQ_U64(pz_threads_new(&options, &threads), PZ_ERR_ARGUMENT);
    options = (pz_threads_options){1, 1, NULL, NULL};
    CHECK_EQ_U64(pz_threads_new(&options, &threads), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_threads_new(NULL, NULL), PZ_ERR_ARGUMENT);
    CHECK(threads == NULL);
    CHECK_EQ_U64(pz_threads_new(NULL, &threads), PZ_OK);
    CHECK(pz_threads_count(threads) >= 1);
    CHECK_EQ_U64(pz_threads_count(NULL), 1);
    pz_threads_free(threads);
    pz_threads_free(NULL);
}

/* ---- Ranges of chunks ------------------------------------------------------------------------ */

static void check_ranges(pz_mode mode)
{
    static uint8_t coded[BOUND];
    static uint64_t offsets[72];
    size_t coded_bytes = 0;

    fill(2, 16);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, sizeof raw, coded, BOUND, &coded_bytes), PZ_OK);
    CHECK_EQ_U64(pz_stream_index(coded, coded_bytes, sizeof raw, offsets, NULL), PZ_OK);
    for (uint64_t first = 0; first <= 71; first += 1 + first / 9) {
        for (uint64_t end = first; end <= 71; end += 1 + (end - first) / 3) {
            const size_t from = (size_t)first * PZ_CHUNK_BYTES;
            const size_t bytes = end == 71 ? sizeof raw - (first == 71 ? sizeof raw : from)
                                           : (size_t)(end - first) * PZ_CHUNK_BYTES;
            uint8_t *back = malloc(bytes + 1);

            if (!CHECK(back != NULL))
                return;
            TEST_CONTEXT("chunks %d to %d", (int)first, (int)end);
            CHECK_EQ_U64(pz_stream_decode_chunks(mode, coded, coded_bytes, sizeof raw, offsets,
                                                 first, end - first, back, NULL),
                         PZ_OK);
            CHECK(bytes == 0 || memcmp(back, raw + from, bytes) == 0);
            free(back);
        }
    }
}

TEST(chunk_ranges)
{
    check_ranges(mode_at(1));
    check_ranges(mode_at(FIRST_OF_FORMAT_2 + 1));
}

TEST(chunk_range_arguments_and_errors)
{
    static uint8_t coded[BOUND], back[MAX_BYTES];
    static uint64_t offsets[72];
    const pz_mode mode = mode_at(1), bad = {17, 0, PZ_FORMAT_1, 0};
    size_t bytes = 0;
    pz_where where = {0, 0, 0};

    fill(0, 16);
    memset(raw + 5 * PZ_CHUNK_BYTES, 0, PZ_CHUNK_BYTES);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, sizeof raw, coded, BOUND, &bytes), PZ_OK);
    CHECK_EQ_U64(pz_stream_index(coded, bytes, sizeof raw, offsets, NULL), PZ_OK);
#define DECODE(mode, first, count) \
    pz_stream_decode_chunks(mode, coded, bytes, sizeof raw, offsets, first, count, back, &where)
    CHECK_EQ_U64(DECODE(bad, 0, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(DECODE(mode, 72, 0), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(DECODE(mode, 70, 2), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(DECODE(mode, 1, UINT64_MAX), PZ_ERR_ARGUMENT);
    offsets[3] += 1;
    CHECK_EQ_U64(DECODE(mode, 2, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(DECODE(mode, 4, 1), PZ_OK);
    offsets[3] = UINT64_MAX;
    CHECK_EQ_U64(DECODE(mode, 2, 1), PZ_ERR_ARGUMENT);
    coded[offsets[5]] = 7; /* a reserved tag */
    CHECK_EQ_U64(DECODE(mode, 4, 3), PZ_ERR_TAG);
    CHECK_EQ_U64(where.chunk, 5);
    CHECK_EQ_U64(where.block, 0);
    CHECK_EQ_U64(DECODE(mode, 6, 3), PZ_OK);
}
