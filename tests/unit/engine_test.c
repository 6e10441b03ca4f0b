/* The engine: tensors come back as they were, in their order and no more of them at a time than
 * allowed; cancelling, bypassing, full and damaged tiers, emulated links, fork and sudden death. */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "planezip/engine.h"
#include "support/engines.h"

enum { TENSOR = 300000, SEGMENT = 65536, TENSORS = 12 };

static uint8_t data[TENSORS][TENSOR], back[TENSOR];

/* What comes back into them is the same, so once is enough. */
static void fill_all(void)
{
    static bool is_filled;

    for (unsigned i = 0; i < TENSORS && !is_filled; i++)
        engines_fill(i, data[i], TENSOR);
    is_filled = true;
}

static pz_engine_options memory_options(pz_pool *pool)
{
    return (pz_engine_options){.size = sizeof(pz_engine_options),
                               .tier = PZ_TIER_MEMORY,
                               .pool = pool,
                               .segment_bytes = SEGMENT};
}

static pz_engine_options disk_options(const char *folder)
{
    return (pz_engine_options){.size = sizeof(pz_engine_options),
                               .tier = PZ_TIER_DISK,
                               .directory = folder,
                               .segment_bytes = SEGMENT};
}

/* ---- Tensors come back ----------------------------------------------------------------------- */

static void check_type(pz_engine *engine, pz_dtype dtype, size_t bytes)
{
    pz_swap_options options = engines_tensor(data[dtype % TENSORS], bytes, dtype);
    pz_swap *swap = NULL;

    TEST_CONTEXT("%s, %zu bytes", pz_dtype_name(dtype), bytes);
    options.dtype = dtype;
    CHECK_EQ_U64(pz_swap_out(engine, &options, true, &swap), PZ_OK);
    engines_check_in(swap, options.data, bytes);
    CHECK_EQ_U64(engines_swap_stats(swap).raw_bytes, bytes);
    CHECK(engines_swap_stats(swap).coded_bytes <= bytes);
    pz_swap_free(swap);
}

/* Every type, or every so many-th. */
static void check_types(const pz_engine_options *options, unsigned step)
{
    static const size_t sizes[] = {0, 1, 4096, SEGMENT - 1, SEGMENT, SEGMENT + 1, TENSOR};
    pz_engine *engine = engines_new(options);

    for (unsigned dtype = 1; dtype < PZ_DTYPES; dtype += step)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            check_type(engine, (pz_dtype)dtype, sizes[i]);
    CHECK_EQ_U64(engines_stats(engine).swaps, 0);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].transfers,
                 (PZ_DTYPES - 1 + step - 1) / step * 7);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_IN].failed, 0);
    pz_engine_free(engine);
}

TEST(every_type_and_size)
{
    static const char *const codecs[] = {NULL, "planezip2-fast", "planezip", "zvc"};
    const char *const folder = engines_folder();

    fill_all();
    for (unsigned i = 0; i < 4; i++) {
        pz_pool *pool = engines_pool(1 << 20, i % 2 == 0 ? 4096 : 0);
        pz_engine_options memory = memory_options(pool), disk = disk_options(folder);

        memory.codec = disk.codec = codecs[i];
        disk.cached = i % 2 == 1;
        check_types(&memory, 1);
        check_types(&disk, 5);
        CHECK_EQ_U64(engines_used(pool), 0);
        CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    }
    engines_remove(folder);
}

/* All out before any comes in; each comes in twice. */
static void check_many(const pz_engine_options *options)
{
    pz_engine *engine = engines_new(options);
    pz_swap *swaps[TENSORS];

    for (unsigned i = 0; i < TENSORS; i++)
        swaps[i] = engines_out(engine, data[i], TENSOR - i, i);
    for (unsigned i = 0; i < 2 * TENSORS; i++)
        engines_check_in(swaps[i % TENSORS], data[i % TENSORS], TENSOR - i % TENSORS);
    CHECK_EQ_U64(engines_stats(engine).swaps, TENSORS);
    CHECK_EQ_U64(engines_swap_stats(swaps[3]).swapped_in, 2);
    CHECK_EQ_U64(engines_swap_stats(swaps[3]).token, 3);
    for (unsigned i = 0; i < TENSORS; i += 2)
        pz_swap_free(swaps[i]);
    CHECK_EQ_U64(engines_stats(engine).swaps, TENSORS / 2);
    for (unsigned i = 0; i < TENSORS; i += 2) /* in the places of those */
        swaps[i] = engines_out(engine, data[i], TENSOR, i);
    for (unsigned i = 0; i < TENSORS; i += 2)
        engines_check_in(swaps[i], data[i], TENSOR);
    pz_engine_free(engine); /* with its tensors */
}

static pz_threads *threads_of(unsigned count)
{
    const pz_threads_options options = {sizeof options, count, NULL, NULL};
    pz_threads *threads = NULL;

    CHECK_EQ_U64(pz_threads_new(&options, &threads), PZ_OK);
    return threads;
}

TEST(many_tensors)
{
    const char *const folder = engines_folder();
    pz_pool *pool = engines_pool(TENSORS * (TENSOR + 4096), 4096);
    pz_engine_options memory = memory_options(pool), disk = disk_options(folder);

    fill_all();
    check_many(&memory);
    check_many(&disk);
    memory.threads = disk.threads = threads_of(3);
    memory.segment_bytes = disk.segment_bytes = 0;
    check_many(&memory);
    check_many(&disk);
    pz_threads_free(memory.threads);
    CHECK_EQ_U64(engines_used(pool), 0);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    engines_remove(folder);
}

/* Places that are given back are used again. */
TEST(disk_does_not_grow)
{
    const char *const folder = engines_folder();
    const pz_engine_options options = disk_options(folder);
    pz_engine *engine = engines_new(&options);

    fill_all();
    for (unsigned i = 0; i < 50; i++) {
        pz_swap *swap = engines_out(engine, data[i % TENSORS], TENSOR, i);

        CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
        pz_swap_free(swap);
    }
    CHECK(engines_stats(engine).disk_bytes <= TENSOR + 5 * 4096 + SEGMENT);
    pz_engine_free(engine);
    engines_remove(folder);
}

TEST(several_engines_share_a_pool)
{
    const char *const folder = engines_folder();
    pz_pool *pool = engines_pool(8 * TENSOR, 4096);
    const pz_engine_options options[] = {memory_options(pool), memory_options(pool),
                                         disk_options(folder), disk_options(folder)};
    pz_engine *engines[4];
    pz_swap *swaps[4];

    fill_all();
    for (unsigned i = 0; i < 4; i++)
        engines[i] = engines_new(&options[i]);
    for (unsigned i = 0; i < 4; i++)
        swaps[i] = engines_out(engines[i], data[i], TENSOR, i);
    for (unsigned i = 0; i < 4; i++)
        engines_check_in(swaps[i], data[i], TENSOR);
    for (unsigned i = 0; i < 4; i++)
        pz_engine_free(engines[i]);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    engines_remove(folder);
}

/* It is what the codec's size model says, segment by segment. */
TEST(measuring_stores_nothing)
{
    pz_pool *pool = engines_pool(4096, 4096); /* in which there is no room */
    const pz_engine_options options = memory_options(pool);
    pz_engine *engine = engines_new(&options);
    pz_swap_options tensor = engines_tensor(data[0], TENSOR, 1);
    pz_swap *swap = NULL;
    uint64_t expected = 0;
    pz_mode mode;

    fill_all();
    tensor.measure = true;
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swap), PZ_OK);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
    CHECK_EQ_U64(pz_mode_of("planezip2", PZ_PROFILE_NATIVE, PZ_DTYPE_BF16, &mode), PZ_OK);
    for (size_t at = 0; at < TENSOR; at += SEGMENT) {
        pz_stats stats;

        pz_stream_measure(mode, data[0] + at, TENSOR - at < SEGMENT ? TENSOR - at : SEGMENT,
                          &stats);
        expected += stats.coded_bytes;
    }
    CHECK_EQ_U64(engines_swap_stats(swap).coded_bytes, expected);
    CHECK(expected < TENSOR * 3 / 4);
    CHECK_EQ_U64(engines_used(pool), 0);
    CHECK_EQ_U64(pz_swap_in(swap, back, true), PZ_ERR_ARGUMENT);
    pz_swap_free(swap);
    pz_engine_free(engine);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* ---- Order, queues, events ------------------------------------------------------------------- */

/* The first transfer has ended as far as the engine is concerned, and those behind it wait. */
struct held {
    struct engines_gate gate;
    pz_pool *pool;
    pz_engine *engine;
    pz_swap *first;
};

static void hold(struct held *held, uint64_t queue_bytes, double link_bps)
{
    pz_engine_options options;

    *held = (struct held){.gate = ENGINES_GATE, .pool = engines_pool(8 << 20, 4096)};
    options = memory_options(held->pool);
    options.queue_bytes[PZ_OUT] = options.queue_bytes[PZ_IN] = queue_bytes;
    options.link_bps[PZ_OUT] = options.link_bps[PZ_IN] = link_bps;
    options.done = engines_done;
    options.user = &held->gate;
    held->engine = engines_new(&options);
    held->first = engines_out(held->engine, data[0], TENSOR, 0);
    engines_await_gate(&held->gate);
}

static void release(struct held *held)
{
    engines_open_gate(&held->gate);
    pz_engine_free(held->engine);
    CHECK_EQ_U64(pz_pool_free(held->pool), PZ_OK);
}

static void check_fifo(double link_bps)
{
    struct held held;
    pz_swap *swaps[TENSORS];

    hold(&held, 0, link_bps);
    swaps[0] = held.first;
    for (unsigned i = 1; i < TENSORS; i++) /* small ones between large ones */
        swaps[i] = engines_out(held.engine, data[i], i % 2 ? 100 : TENSOR, i);
    for (unsigned i = 0; i < TENSORS; i++) /* another order, which is that of coming in */
        CHECK_EQ_U64(pz_swap_in(swaps[i * 5 % TENSORS], data[i * 5 % TENSORS], true), PZ_OK);
    CHECK(!pz_swap_done(held.first));
    CHECK_EQ_U64(engines_stats(held.engine).directions[PZ_OUT].transfers, 1);
    engines_open_gate(&held.gate);
    CHECK_EQ_U64(pz_engine_wait(held.engine), PZ_OK);
    CHECK_EQ_U64(held.gate.count, 2 * TENSORS);
    for (size_t i = 0, out = 0, in = 0; i < held.gate.count; i++) {
        CHECK_EQ_U64(held.gate.log[i].status, PZ_OK);
        if (held.gate.log[i].direction == PZ_OUT)
            CHECK_EQ_U64(held.gate.log[i].token, out++);
        else
            CHECK_EQ_U64(held.gate.log[i].token, in++ * 5 % TENSORS);
    }
    release(&held);
}

TEST(first_in_first_out)
{
    fill_all();
    check_fifo(0);
    check_fifo(1e9);
}

static void *swap_one_out(void *arg)
{
    struct held *const held = arg;
    const pz_swap_options options = engines_tensor(data[2], TENSOR, 2);
    pz_swap *swap = NULL;

    return pz_swap_out(held->engine, &options, true, &swap) == PZ_OK ? swap : NULL;
}

/* Swaps a byte out and cancels that, until a tensor that waits for room does not let it pass. */
static bool is_overtaking_refused(const struct held *held)
{
    const pz_swap_options options = engines_tensor(data[1], 1, 1);
    const double start = seconds();
    pz_swap *swap = NULL;

    while (pz_swap_out(held->engine, &options, false, &swap) == PZ_OK) {
        pz_swap_free(swap);
        if (seconds() - start > 20)
            return false;
    }
    return true;
}

/* A queue of one and a half tensors: a second one has to wait, and a small one does not pass it. */
TEST(queues_do_not_grow)
{
    struct held held;
    pz_swap_options options = engines_tensor(data[1], TENSOR, 1);
    pz_swap *swap = NULL;
    void *other = NULL;
    pthread_t thread;

    fill_all();
    hold(&held, TENSOR * 3 / 2, 0);
    CHECK_EQ_U64(pz_swap_out(held.engine, &options, false, &swap), PZ_ERR_BUSY);
    CHECK_EQ_U64(engines_stats(held.engine).swaps, 1);
    CHECK(pthread_create(&thread, NULL, swap_one_out, &held) == 0);
    CHECK(is_overtaking_refused(&held));
    CHECK_EQ_U64(engines_stats(held.engine).directions[PZ_OUT].queue_bytes, TENSOR);
    engines_open_gate(&held.gate);
    pthread_join(thread, &other);
    CHECK(other != NULL);
    CHECK_EQ_U64(pz_engine_wait(held.engine), PZ_OK);
    CHECK(engines_stats(held.engine).directions[PZ_OUT].queue_peak_bytes <= TENSOR + 1);
    CHECK_EQ_U64(engines_stats(held.engine).directions[PZ_OUT].queue_bytes, 0);
    CHECK(engines_stats(held.engine).directions[PZ_OUT].blocked_ns > 0);
    engines_check_in(other, data[2], TENSOR);
    release(&held);
}

/* As much as the queue allows, and not a byte more. */
TEST(a_queue_that_is_full)
{
    struct held held;
    pz_swap_options options = engines_tensor(data[1], TENSOR / 2, 1);
    pz_swap *swap = NULL;

    fill_all();
    hold(&held, TENSOR * 3 / 2, 0);
    CHECK_EQ_U64(pz_swap_out(held.engine, &options, false, &swap), PZ_OK);
    options.bytes = 1;
    CHECK_EQ_U64(pz_swap_out(held.engine, &options, false, &swap), PZ_ERR_BUSY);
    CHECK_EQ_U64(engines_stats(held.engine).directions[PZ_OUT].queue_peak_bytes, TENSOR * 3 / 2);
    release(&held);
}

/* One that is larger than the queue goes alone. */
TEST(a_tensor_larger_than_the_queue)
{
    pz_pool *pool = engines_pool(8 << 20, 4096);
    pz_engine_options options = memory_options(pool);
    pz_engine *engine;
    pz_swap *swaps[4];

    fill_all();
    options.queue_bytes[PZ_OUT] = 1000;
    engine = engines_new(&options);
    for (unsigned i = 0; i < 4; i++)
        swaps[i] = engines_out(engine, data[i], TENSOR, i);
    for (unsigned i = 0; i < 4; i++)
        engines_check_in(swaps[i], data[i], TENSOR);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].queue_peak_bytes, TENSOR);
    pz_engine_free(engine);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

TEST(events)
{
    pz_pool *pool = engines_pool(8 << 20, 4096);
    pz_engine_options options = memory_options(pool);
    pz_engine *engine;
    pz_swap *swap;
    uint64_t count = 0;
    struct pollfd event = {.events = POLLIN};

    fill_all();
    options.event = true;
    engine = engines_new(&options);
    event.fd = pz_engine_event(engine);
    CHECK(event.fd >= 0 && poll(&event, 1, 0) == 0);
    swap = engines_out(engine, data[0], TENSOR, 0);
    CHECK(poll(&event, 1, 60000) == 1);
    CHECK(pz_swap_done(swap));
    engines_check_in(swap, data[0], TENSOR);
    CHECK_EQ_U64(pz_engine_wait(engine), PZ_OK);
    while (count < 2) {
        uint64_t more = 0;

        if (read(event.fd, &more, sizeof more) == sizeof more)
            count += more;
    }
    CHECK_EQ_U64(count, 2);
    CHECK(poll(&event, 1, 0) == 0);
    pz_engine_free(engine);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* Swaps the next tensor out when one has ended. */
struct chain {
    pz_engine *engine;
    pz_swap *swaps[TENSORS];
    unsigned wrong;
};

static void swap_next(void *user, uint64_t token, pz_direction direction, pz_status status)
{
    struct chain *const chain = user;
    const uint64_t next = token + 1;

    chain->wrong += status != PZ_OK;
    if (direction == PZ_OUT && next < TENSORS) {
        const pz_swap_options options = engines_tensor(data[next], TENSOR, next);

        chain->wrong += pz_swap_out(chain->engine, &options, false, &chain->swaps[next]) != PZ_OK;
    }
}

TEST(swapping_from_a_callback)
{
    pz_pool *pool = engines_pool(8 << 20, 4096);
    pz_engine_options options = memory_options(pool);
    struct chain chain = {0};

    fill_all();
    options.done = swap_next;
    options.user = &chain;
    chain.engine = engines_new(&options);
    chain.swaps[0] = engines_out(chain.engine, data[0], TENSOR, 0);
    CHECK_EQ_U64(pz_engine_wait(chain.engine), PZ_OK);
    for (unsigned i = 0; i < TENSORS; i++)
        engines_check_in(chain.swaps[i], data[i], TENSOR);
    CHECK_EQ_U64(chain.wrong, 0);
    pz_engine_free(chain.engine);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* Bytes that go out one after the other, and two tensors that come in by turns, for ever. */
enum { TURNS = 2, ENDLESS = TURNS, ONCE };

struct treadmill {
    pz_engine *engine;
    pz_swap *turns[TURNS];
    atomic_uint calls[PZ_DIRECTIONS], refused[PZ_DIRECTIONS], wrong;
};

/* When the engine is freed, the callbacks of both turns may overlap. */
static void note(struct treadmill *mill, pz_direction direction, pz_status status)
{
    const bool may_be = status == PZ_OK || status == PZ_ERR_CANCELLED ||
                        (direction == PZ_IN && status == PZ_ERR_BUSY);

    atomic_fetch_add(&mill->refused[direction], status != PZ_OK);
    atomic_fetch_add(&mill->wrong, !may_be);
}

static void swap_again(void *user, uint64_t token, pz_direction direction, pz_status status)
{
    struct treadmill *const mill = user;
    const pz_swap_options byte = engines_tensor(data[0], 1, direction == PZ_OUT ? token : ONCE);
    pz_swap *swap = NULL;

    (void)status;
    atomic_fetch_add(&mill->calls[direction], 1);
    if (direction == PZ_IN)
        note(mill, PZ_IN, pz_swap_in(mill->turns[(token + 1) % TURNS], back, false));
    if (direction == PZ_IN || token == ENDLESS)
        note(mill, PZ_OUT, pz_swap_out(mill->engine, &byte, false, &swap));
}

static void check_treadmill(pz_engine_options options)
{
    struct treadmill mill = {0};

    options.done = swap_again;
    options.user = &mill;
    mill.engine = engines_new(&options);
    for (unsigned i = 0; i < TURNS; i++)
        mill.turns[i] = engines_out(mill.engine, data[i], 1000, i);
    CHECK_EQ_U64(pz_engine_wait(mill.engine), PZ_OK);
    (void)engines_out(mill.engine, data[0], 1, ENDLESS);
    CHECK_EQ_U64(pz_swap_in(mill.turns[0], back, true), PZ_OK);
    while (atomic_load(&mill.calls[PZ_OUT]) < 50 || atomic_load(&mill.calls[PZ_IN]) < 50)
        nap();
    pz_engine_free(mill.engine);
    CHECK(atomic_load(&mill.refused[PZ_OUT]) >= 1);
    CHECK_EQ_U64(atomic_load(&mill.refused[PZ_IN]), 1);
    CHECK_EQ_U64(atomic_load(&mill.wrong), 0);
}

TEST(freed_while_callbacks_swap)
{
    const char *const folder = engines_folder();
    pz_pool *pool = engines_pool(8 << 20, 4096);

    fill_all();
    check_treadmill(memory_options(pool));
    check_treadmill(disk_options(folder));
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    engines_remove(folder);
}

/* ---- Cancelling ------------------------------------------------------------------------------ */

TEST(cancelling_what_is_queued)
{
    struct held held;
    pz_swap *second, *third;

    fill_all();
    hold(&held, 0, 0);
    second = engines_out(held.engine, data[1], TENSOR, 1);
    third = engines_out(held.engine, data[2], TENSOR, 2);
    CHECK_EQ_U64(pz_swap_in(second, back, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_cancel(second), PZ_ERR_CANCELLED);
    CHECK_EQ_U64(pz_swap_in(second, back, true), PZ_ERR_CANCELLED);
    CHECK_EQ_U64(engines_swap_stats(second).coded_bytes, 0);
    CHECK(!pz_swap_done(held.first) && !pz_swap_done(third));
    CHECK_EQ_U64(held.gate.count, 3);
    CHECK_EQ_U64(held.gate.log[1].direction, PZ_IN); /* first, as it waits for the other */
    CHECK_EQ_U64(held.gate.log[2].direction, PZ_OUT);
    CHECK_EQ_U64(held.gate.log[2].status, PZ_ERR_CANCELLED);
    engines_open_gate(&held.gate);
    engines_check_in(third, data[2], TENSOR);
    pz_swap_free(second);
    release(&held);
}

/* A link so slow that the transfer would take minutes, and a segment most of one. */
TEST(cancelling_what_runs)
{
    const char *const folder = engines_folder();
    pz_pool *pool = engines_pool(8 << 20, 4096);
    pz_engine_options options[] = {memory_options(pool), disk_options(folder)};

    fill_all();
    for (unsigned i = 0; i < 2; i++) {
        pz_engine *engine;
        pz_swap *running, *queued, *freed;
        double start;

        options[i].link_bps[PZ_OUT] = 1000;
        engine = engines_new(&options[i]);
        running = engines_out(engine, data[0], TENSOR, 0);
        queued = engines_out(engine, data[1], TENSOR, 1);
        freed = engines_out(engine, data[2], TENSOR, 2);
        CHECK_EQ_U64(pz_swap_in(running, back, true), PZ_OK); /* waits for going out */
        CHECK_EQ_U64(pz_swap_in(running, back, true), PZ_ERR_BUSY);
        pz_swap_free(freed);
        CHECK_EQ_U64(pz_swap_cancel(queued), PZ_ERR_CANCELLED);
        while (engines_swap_stats(running).code_ns[PZ_OUT] == 0)
            nap();
        for (unsigned k = 0; k < 20; k++) /* until a segment is on the link */
            nap();
        start = seconds();
        CHECK_EQ_U64(pz_swap_cancel(running), PZ_ERR_CANCELLED);
        CHECK(seconds() - start < 20);
        CHECK_EQ_U64(pz_swap_in(running, back, true), PZ_ERR_CANCELLED);
        CHECK_EQ_U64(engines_used(pool), 0);
        CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].cancelled, 3);
        CHECK_EQ_U64(engines_stats(engine).directions[PZ_IN].cancelled, 1);
        (void)engines_out(engine, data[0], TENSOR, 4);
        pz_engine_free(engine); /* stops it, too */
    }
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    engines_remove(folder);
}

/* Coming in is cancelled, of one tensor in the middle and of another in the queue: they are still
 * there, and the link is free for another one. */
TEST(cancelled_tensors_stay_in_the_tier)
{
    pz_pool *pool = engines_pool(8 << 20, 4096);
    pz_engine_options options = memory_options(pool);
    pz_engine *engine;
    pz_swap *large, *small;
    uint64_t used;
    double start;

    fill_all();
    options.link_bps[PZ_IN] = 1000;
    engine = engines_new(&options);
    large = engines_out(engine, data[0], TENSOR, 0);
    small = engines_out(engine, data[1], 100, 1);
    CHECK_EQ_U64(pz_engine_wait(engine), PZ_OK);
    used = engines_used(pool);
    CHECK_EQ_U64(pz_swap_cancel(large), PZ_OK); /* there was nothing to cancel */
    CHECK_EQ_U64(pz_swap_in(large, back, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_in(small, back, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_cancel(small), PZ_ERR_CANCELLED);
    while (engines_swap_stats(large).queued_ns[PZ_IN] == 0)
        nap();
    for (unsigned k = 0; k < 20; k++) /* until a segment is on the link */
        nap();
    CHECK_EQ_U64(pz_swap_cancel(large), PZ_ERR_CANCELLED);
    CHECK_EQ_U64(engines_used(pool), used);
    start = seconds();
    engines_check_in(small, data[1], 100);
    CHECK(seconds() - start < 20);
    CHECK_EQ_U64(pz_swap_in(large, back, true), PZ_OK);
    pz_engine_free(engine);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* The queue inwards is full: one tensor is on a slow link, and another behind it.  Of the small
 * ones the first has been on its way, too, until that was cancelled. */
enum { SMALL = 100 };

struct crowd {
    pz_pool *pool;
    pz_engine *engine;
    pz_swap *large, *filler, *small[2];
};

static void gather(struct crowd *crowd)
{
    pz_engine_options options;

    fill_all();
    crowd->pool = engines_pool(8 << 20, 4096);
    options = memory_options(crowd->pool);
    options.link_bps[PZ_IN] = 1000;
    options.queue_bytes[PZ_IN] = TENSOR + SMALL;
    crowd->engine = engines_new(&options);
    crowd->large = engines_out(crowd->engine, data[0], TENSOR, 0);
    crowd->filler = engines_out(crowd->engine, data[1], SMALL, 1);
    for (unsigned i = 0; i < 2; i++)
        crowd->small[i] = engines_out(crowd->engine, data[2 + i], SMALL, 2 + i);
    CHECK_EQ_U64(pz_engine_wait(crowd->engine), PZ_OK);
    CHECK_EQ_U64(pz_swap_in(crowd->large, back, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_in(crowd->small[0], back, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_cancel(crowd->small[0]), PZ_ERR_CANCELLED);
    CHECK_EQ_U64(pz_swap_in(crowd->filler, back, true), PZ_OK);
}

static void disperse(struct crowd *crowd)
{
    pz_engine_free(crowd->engine);
    CHECK_EQ_U64(pz_pool_free(crowd->pool), PZ_OK);
}

TEST(a_refused_transfer_changes_nothing)
{
    struct crowd crowd;

    gather(&crowd);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQ_U64(pz_swap_in(crowd.small[i], back, false), PZ_ERR_BUSY);
    CHECK_EQ_U64(pz_swap_wait(crowd.small[0]), PZ_ERR_CANCELLED); /* as before */
    CHECK_EQ_U64(pz_swap_wait(crowd.small[1]), PZ_OK);
    disperse(&crowd);
}

struct waiter {
    pz_swap *swap;
    pthread_t thread;
    pz_status status;
    uint8_t to[SMALL];
};

static void *swap_one_in(void *arg)
{
    struct waiter *const waiter = arg;

    waiter->status = pz_swap_in(waiter->swap, waiter->to, true);
    return NULL;
}

/* Returns when it waits for room. */
static void start_waiter(struct waiter *waiter, pz_swap *swap)
{
    waiter->swap = swap;
    CHECK(pthread_create(&waiter->thread, NULL, swap_one_in, waiter) == 0);
    while (pz_swap_done(swap))
        nap();
}

static pz_status join(const struct waiter *waiter)
{
    pthread_join(waiter->thread, NULL);
    return waiter->status;
}

/* Neither the first nor the second in turn stays, or keeps others from their turn. */
TEST(cancelling_what_waits_for_room)
{
    struct crowd crowd;
    struct waiter first, second;

    gather(&crowd);
    start_waiter(&first, crowd.small[0]);
    start_waiter(&second, crowd.small[1]);
    CHECK_EQ_U64(pz_swap_cancel(crowd.small[1]), PZ_OK); /* which it was out with */
    CHECK_EQ_U64(join(&second), PZ_ERR_CANCELLED);
    start_waiter(&second, crowd.small[1]);
    CHECK_EQ_U64(pz_swap_cancel(crowd.small[0]), PZ_ERR_CANCELLED);
    CHECK_EQ_U64(join(&first), PZ_ERR_CANCELLED);
    CHECK(!pz_swap_done(crowd.small[1]));
    CHECK_EQ_U64(pz_swap_cancel(crowd.filler), PZ_ERR_CANCELLED);
    CHECK_EQ_U64(join(&second), PZ_OK);
    CHECK_EQ_U64(pz_swap_cancel(crowd.large), PZ_ERR_CANCELLED);
    CHECK_EQ_U64(pz_swap_wait(crowd.small[1]), PZ_OK);
    CHECK_MEM(second.to, data[3], SMALL);
    disperse(&crowd);
}

/* ---- Bypass and links ------------------------------------------------------------------------ */

static bool is_bypassed(const pz_engine_options *options, double ratio)
{
    pz_engine *engine = engines_new(options);
    pz_swap_options tensor = engines_tensor(data[0], TENSOR, 0);
    pz_swap *swap = NULL;
    bool bypassed;

    tensor.ratio = ratio;
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swap), PZ_OK);
    engines_check_in(swap, data[0], TENSOR);
    bypassed = engines_swap_stats(swap).bypassed;
    CHECK_EQ_U64(engines_swap_stats(swap).coded_bytes < TENSOR, !bypassed);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].bypassed, bypassed);
    pz_engine_free(engine);
    return bypassed;
}

TEST(equation_2_decides)
{
    static const struct {
        double link_bps, codec_bps, ratio;
        pz_bypass bypass;
        bool is_bypassed;
    } cases[] = {
        {0, 0, 0, PZ_BYPASS_AUTO, false},       /* in memory it is smaller, and that is all */
        {0, 1e3, 2, PZ_BYPASS_AUTO, false},     /* so the codec may be slow */
        {0, 0, 1, PZ_BYPASS_AUTO, true},        /* but it must be smaller */
        {1e9, 2e9, 1.5, PZ_BYPASS_AUTO, false}, /* the codec keeps up with the link */
        {1e9, 5e8, 1.5, PZ_BYPASS_AUTO, true},  /* the codec is slower than the link */
        {1e9, 5e8, 0, PZ_BYPASS_AUTO, true},    /* whatever the ratio is */
        {1e9, 2e9, 0, PZ_BYPASS_AUTO, false},    {1e9, 2e9, 0.99, PZ_BYPASS_AUTO, true},
        {1e9, 5e8, 0.5, PZ_BYPASS_NEVER, false}, {1e9, 9e9, 9, PZ_BYPASS_ALWAYS, true},
    };
    pz_pool *pool = engines_pool(8 << 20, 4096);

    fill_all();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pz_engine_options options = memory_options(pool);

        options.link_bps[PZ_OUT] = options.link_bps[PZ_IN] = cases[i].link_bps;
        options.codec_bps = cases[i].codec_bps;
        options.bypass = cases[i].bypass;
        TEST_CONTEXT("case %zu", i);
        CHECK_EQ_U64(is_bypassed(&options, cases[i].ratio), cases[i].is_bypassed);
    }
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* By what the engine has measured: no codec keeps up with this link.  The first tensor is how it
 * learns that, and another one in a while is how it learns if that changes. */
TEST(measured_rates_decide)
{
    pz_pool *pool = engines_pool(8 << 20, 4096);
    pz_engine_options options = memory_options(pool);
    pz_engine *engine;

    fill_all();
    options.link_bps[PZ_OUT] = options.link_bps[PZ_IN] = 1e15;
    engine = engines_new(&options);
    for (unsigned i = 0; i < 40; i++) {
        pz_swap *swap = engines_out(engine, data[0], 10000, i);

        CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
        CHECK_EQ_U64(engines_swap_stats(swap).bypassed, i != 0 && i != 32);
        pz_swap_free(swap);
    }
    pz_engine_free(engine);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* Takes what the bytes that are moved need, not less; how much more depends on the machine. */
TEST(an_emulated_link_is_as_slow_as_told)
{
    pz_pool *pool = engines_pool(8 << 20, 4096);
    pz_engine_options options = memory_options(pool);
    pz_direction_stats stats;
    pz_engine *engine;
    double start, needed;

    fill_all();
    options.link_bps[PZ_OUT] = 5e6;
    engine = engines_new(&options);
    start = seconds();
    for (unsigned i = 0; i < 3; i++)
        (void)engines_out(engine, data[i], TENSOR, i);
    CHECK_EQ_U64(pz_engine_wait(engine), PZ_OK);
    stats = engines_stats(engine).directions[PZ_OUT];
    needed = (double)stats.coded_bytes / 5e6;
    CHECK(seconds() - start >= needed);
    CHECK(seconds() - start < needed + 30);
    CHECK(stats.link_bps == 5e6);
    CHECK(stats.coded_bytes < stats.raw_bytes);
    CHECK((double)stats.move_ns >= 0.9 * needed * 1e9);
    CHECK(stats.moved_bps > 0 && stats.moved_bps <= 5e6 / 0.9);
    CHECK(stats.coded_bps > 0);
    CHECK(engines_stats(engine).directions[PZ_IN].coded_bps == 0);
    CHECK(engines_stats(engine).directions[PZ_IN].link_bps == 0);
    pz_engine_free(engine);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* ---- Tiers that are full or damaged ---------------------------------------------------------- */

/* Whatever does not fit leaves nothing behind, and what was there before is not touched. */
static void check_full(pz_engine *engine, pz_status expected)
{
    pz_swap *swaps[TENSORS];
    size_t fit = 0;
    pz_status status;

    for (size_t i = 0; i < TENSORS; i++)
        swaps[i] = engines_out(engine, data[3], TENSOR, i);
    while (fit < TENSORS && pz_swap_wait(swaps[fit]) == PZ_OK)
        fit++;
    CHECK(fit > 0 && fit < TENSORS);
    for (size_t i = fit; i < TENSORS; i++) {
        status = pz_swap_wait(swaps[i]);
        CHECK_EQ_U64(status, expected);
        CHECK_EQ_U64(pz_swap_in(swaps[i], back, true), expected);
    }
    for (size_t i = 0; i < fit; i++)
        engines_check_in(swaps[i], data[3], TENSOR);
    pz_swap_free(swaps[0]);
    pz_swap_free(swaps[TENSORS - 1]);
    swaps[0] = engines_out(engine, data[3], TENSOR, 0); /* there is room for it again */
    engines_check_in(swaps[0], data[3], TENSOR);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].failed, TENSORS - fit);
}

TEST(a_full_pool)
{
    pz_pool *pool = engines_pool(3 * TENSOR + 50000, 4096);
    const pz_engine_options options = memory_options(pool);
    pz_engine *engine = engines_new(&options);

    fill_all();
    check_full(engine, PZ_ERR_FULL);
    CHECK(engines_used(pool) <= 3 * (TENSOR + 4096));
    pz_engine_free(engine);
    CHECK_EQ_U64(engines_used(pool), 0);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

TEST(a_full_disk_budget)
{
    const char *const folder = engines_folder();
    pz_engine_options options = disk_options(folder);
    pz_engine *engine;

    fill_all();
    options.disk_bytes = 1200000;
    engine = engines_new(&options);
    check_full(engine, PZ_ERR_FULL);
    CHECK(engines_stats(engine).disk_bytes <= 1200000);
    pz_engine_free(engine);
    engines_remove(folder);
}

/* As a quota or a full disk would: a write fails in the middle of a segment.  The signal that comes
 * with it must not reach the program. */
TEST(a_file_that_may_not_grow)
{
    const char *const folder = engines_folder();
    struct rlimit before, limit;

    fill_all();
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 1234567;
    for (unsigned cached = 0; cached < 2; cached++) {
        pz_engine_options options = disk_options(folder);
        pz_engine *engine;

        options.cached = cached != 0;
        engine = engines_new(&options);
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        check_full(engine, PZ_ERR_FULL);
        CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
        pz_engine_free(engine);
    }
    engines_remove(folder);
}

/* The number of the file that this process has open in a folder, as the kernel tells; -1: none. */
static int file_in(const char *folder)
{
    char path[64], name[512];

    for (int file = 3; file < 64; file++) {
        ssize_t bytes;

        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        bytes = readlink(path, name, sizeof name - 1);
        name[bytes > 0 ? bytes : 0] = '\0';
        if (strstr(name, folder) != NULL)
            return file;
    }
    return -1;
}

/* Somebody writes into the file, or cuts it off. */
TEST(a_damaged_file)
{
    const char *const folder = engines_folder();
    pz_engine_options options = disk_options(folder);
    pz_engine *engine;
    pz_swap *swap;
    int file;

    fill_all();
    options.cached = true;
    engine = engines_new(&options);
    swap = engines_out(engine, data[0], TENSOR, 0);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
    file = file_in(folder);
    CHECK(file >= 0 && pwrite(file, "damage", 6, 70000) == 6);
    CHECK_EQ_U64(pz_swap_in(swap, back, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_ERR_CHECK);
    CHECK(file >= 0 && ftruncate(file, 100) == 0);
    CHECK_EQ_U64(pz_swap_in(swap, back, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_ERR_TRUNCATED);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_IN].failed, 2);
    pz_engine_free(engine);
    engines_remove(folder);
}

TEST(no_such_folder)
{
    const pz_engine_options options = disk_options("no/such/folder");
    pz_engine *engine = NULL;
    pz_diag diag = {0};

    CHECK_EQ_U64(pz_engine_new(&options, &engine, &diag), PZ_ERR_IO);
    CHECK(engine == NULL);
    CHECK_STR(diag.path, "no/such/folder");
    CHECK_STR(diag.text, "no file can be made there: No such file or directory");
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* A child frees what it has inherited, in the middle of transfers. */
TEST(freed_in_a_child)
{
    const char *const folder = engines_folder();
    pz_pool *pool = engines_pool(8 << 20, 4096);
    pz_engine_options options[] = {memory_options(pool), disk_options(folder)};

    fill_all();
    for (unsigned i = 0; i < 2; i++) {
        pz_engine *engine;
        pz_swap *swap;
        int status = 1;
        pid_t child;

        options[i].link_bps[PZ_OUT] = 1e7;
        engine = engines_new(&options[i]);
        swap = engines_out(engine, data[0], TENSOR, 0);
        child = fork();
        if (child == 0) {
            const pz_swap_options tensor = engines_tensor(data[1], TENSOR, 1);
            pz_swap *other = NULL;
            const bool refused = pz_swap_out(engine, &tensor, true, &other) == PZ_ERR_ARGUMENT &&
                                 pz_swap_in(swap, back, true) == PZ_ERR_ARGUMENT &&
                                 pz_swap_wait(swap) == PZ_ERR_ARGUMENT &&
                                 pz_engine_wait(engine) == PZ_ERR_ARGUMENT;

            pz_swap_free(swap);
            pz_engine_free(engine);
            _exit(refused && pz_pool_free(pool) == PZ_OK ? 0 : 1);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_EQ_U64(status, 0);
        engines_check_in(swap, data[0], TENSOR);
        pz_engine_free(engine);
    }
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
    engines_remove(folder);
}

/* Killed in the middle of a transfer to the disk, after it has told that one has been written. */
TEST(killed)
{
    const char *const folder = engines_folder();
    int ends[2], status = 0;
    char byte = 0;
    pid_t child;

    fill_all();
    CHECK(pipe(ends) == 0);
    child = fork();
    if (child == 0) {
        pz_engine_options options = disk_options(folder);
        pz_engine *engine;

        options.link_bps[PZ_OUT] = 1e5;
        engine = engines_new(&options);
        for (unsigned i = 0; i < TENSORS; i++)
            (void)engines_out(engine, data[i], i == 0 ? 100 : TENSOR, i);
        while (engines_stats(engine).directions[PZ_OUT].transfers == 0)
            nap();
        _exit(write(ends[1], "x", 1) == 1 && pz_engine_wait(engine) == PZ_OK ? 0 : 1);
    }
    CHECK(child > 0 && read(ends[0], &byte, 1) == 1);
    CHECK(kill(child, SIGKILL) == 0);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    close(ends[0]);
    close(ends[1]);
    engines_remove(folder); /* is empty */
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Each makes one thing wrong. */
static void spoil(unsigned i, pz_engine_options *options)
{
    switch (i) {
    case 0:
        options->size--;
        break;
    case 1:
        options->tier = (pz_tier)3;
        break;
    case 2:
        options->pool = NULL;
        break;
    case 3:
        options->directory = ".";
        break;
    case 4:
        options->codec = "zip";
        break;
    case 5:
        options->segment_bytes = 4095;
        break;
    case 6:
        options->segment_bytes = 1 << 30;
        break;
    case 7:
        options->link_bps[PZ_IN] = -1;
        break;
    case 8:
        options->codec_bps = 0.0 / 0.0;
        break;
    case 9:
        options->link_bps[PZ_OUT] = 1e-9; /* a segment would take longer than time can tell */
        break;
    default:
        options->bypass = (pz_bypass)3;
    }
}

TEST(wrong_options)
{
    pz_pool *pool = engines_pool(1 << 20, 0);
    pz_engine_options options;
    pz_engine *engine = NULL;
    pz_diag diag = {0};

    for (unsigned i = 0; i < 11; i++) {
        options = memory_options(pool);
        spoil(i, &options);
        TEST_CONTEXT("%u", i);
        CHECK_EQ_U64(pz_engine_new(&options, &engine, &diag), PZ_ERR_ARGUMENT);
        CHECK(engine == NULL && diag.text[0] != '\0');
    }
    CHECK_EQ_U64(pz_engine_new(NULL, &engine, NULL), PZ_ERR_ARGUMENT);
    options = memory_options(pool);
    CHECK_EQ_U64(pz_engine_new(&options, NULL, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

TEST(wrong_calls)
{
    pz_pool *pool = engines_pool(1 << 20, 0);
    const pz_engine_options options = memory_options(pool);
    pz_engine *engine = engines_new(&options);
    pz_swap_options tensor = engines_tensor(NULL, 1, 0);
    pz_swap_stats swap_stats = {0};
    pz_engine_stats stats = {0};
    pz_swap *swap = NULL;

    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swap), PZ_ERR_ARGUMENT); /* no data */
    tensor = engines_tensor(data[0], 1, 0);
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_swap_out(NULL, &tensor, true, &swap), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_swap_out(engine, NULL, true, &swap), PZ_ERR_ARGUMENT);
    tensor.dtype = PZ_DTYPES;
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swap), PZ_ERR_ARGUMENT);
    tensor = engines_tensor(data[0], 1, 0);
    tensor.ratio = -1;
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swap), PZ_ERR_ARGUMENT);
    CHECK(swap == NULL);
    swap = engines_out(engine, data[0], 1, 0);
    CHECK_EQ_U64(pz_swap_in(swap, NULL, true), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_swap_in(NULL, back, true), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_swap_wait(NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_swap_cancel(NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_swap_get_stats(swap, &swap_stats), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_engine_get_stats(engine, &stats), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_engine_wait(NULL), PZ_ERR_ARGUMENT);
    CHECK(pz_swap_done(NULL));
    CHECK(pz_engine_event(engine) == -1);
    pz_swap_free(NULL);
    pz_engine_free(NULL);
    pz_engine_free(engine);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}
