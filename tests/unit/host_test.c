/* The host tier of the engine, on the device that gpu/wanted.h says, by default a driver that plays
 * one (gpu/mock_cuda.c).  Nothing of its streams happens before somebody waits,
 * and then only as far as that needs: whatever depends on an order that no event makes comes out
 * wrong. */
#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/mock_cuda.h"
#include "gpu/wanted.h"
#include "support/engines.h"

enum { SEGMENT = 4 * 4096, TENSOR = 3 * SEGMENT + 1000, TENSORS = 10, CHUNK = 4096 };

static pz_gpu *gpu;
static void *stream; /* the caller's */
static uint8_t data[TENSORS][TENSOR], back[TENSOR], scratch[TENSOR];
static void *source, *target; /* of the device */

static struct {
    mock_cuda_count *count;
    mock_cuda_fail *fail;
    mock_cuda_fail_at *fail_at;
    mock_cuda_forget *forget;
    void *library; /* NULL: there is no mock that counts */
} mock;

/* ---- Device, pool, engine -------------------------------------------------------------------- */

static void open_mock(const char *file)
{
    mock.library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    *(void **)&mock.count = dlsym(mock.library, "mock_cuda_counts_now");
    *(void **)&mock.fail = dlsym(mock.library, "mock_cuda_fail_next");
    *(void **)&mock.fail_at = dlsym(mock.library, "mock_cuda_fail_at_call");
    *(void **)&mock.forget = dlsym(mock.library, "mock_cuda_forget_follow");
    CHECK(mock.count != NULL && mock.fail != NULL && mock.fail_at != NULL && mock.forget != NULL);
}

static void open_device(void)
{
    if (gpu != NULL)
        return;
    gpu = open_wanted();
    if (is_mock())
        open_mock(player());
    CHECK_EQ_U64(pz_gpu_stream_new(gpu, &stream), PZ_OK);
    CHECK_EQ_U64(pz_gpu_alloc(gpu, PZ_GPU_DEVICE, TENSOR, &source), PZ_OK);
    CHECK_EQ_U64(pz_gpu_alloc(gpu, PZ_GPU_DEVICE, TENSOR, &target), PZ_OK);
    for (unsigned i = 0; i < TENSORS; i++)
        engines_fill(i, data[i], TENSOR);
}

static uint8_t *mapping; /* the last one of the pool */
static uint64_t mapping_bytes;
static bool is_pageable;
static unsigned warnings;

static pz_status pin(void *user, void *memory, size_t bytes)
{
    (void)user;
    mapping = memory;
    return is_pageable ? PZ_ERR_MEMORY : pz_gpu_pin(gpu, memory, bytes);
}

static void unpin(void *user, void *memory, size_t bytes)
{
    (void)user;
    pz_gpu_unpin(gpu, memory, bytes);
}

static void warn(void *user, const char *text)
{
    (void)user;
    CHECK(strncmp(text, "cannot pin", 10) == 0);
    warnings++;
}

static pz_pool *pool_of(uint64_t bytes)
{
    const pz_pool_options options = {.size = sizeof options,
                                     .budget_bytes = bytes,
                                     .chunk_bytes = CHUNK,
                                     .mapping_bytes = mapping_bytes,
                                     .pin = pin,
                                     .unpin = unpin,
                                     .warn = warn};
    pz_pool *pool = NULL;

    warnings = 0;
    CHECK_EQ_U64(pz_pool_new(&options, &pool), PZ_OK);
    return pool;
}

static pz_engine_options options_of(pz_pool *pool)
{
    return (pz_engine_options){.size = sizeof(pz_engine_options),
                               .tier = PZ_TIER_HOST,
                               .pool = pool,
                               .segment_bytes = SEGMENT,
                               .bypass = PZ_BYPASS_NEVER,
                               .gpu = gpu,
                               .groups = 3};
}

static void close_engine(pz_engine *engine, pz_pool *pool)
{
    pz_engine_free(engine);
    CHECK_EQ_U64(engines_used(pool), 0);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* ---- What a caller does ---------------------------------------------------------------------- */

static void copy(void *to, const void *from, size_t bytes)
{
    CHECK_EQ_U64(pz_gpu_copy(gpu, stream, to, from, bytes), PZ_OK);
}

static void end(void)
{
    CHECK_EQ_U64(pz_gpu_wait(gpu, stream), PZ_OK);
}

/* Makes a tensor in the caller's stream, and swaps it out. */
static pz_swap *out(pz_engine *engine, const void *from, size_t bytes, pz_dtype dtype)
{
    pz_swap_options options = engines_tensor(source, bytes, 7);
    pz_swap *swap = NULL;

    options.dtype = dtype;
    options.stream = stream;
    copy(source, from, bytes);
    CHECK_EQ_U64(pz_swap_out(engine, &options, true, &swap), PZ_OK);
    return swap;
}

/* Uses the tensor's memory for something else, as soon as it may. */
static void reuse(pz_swap *swap, size_t bytes)
{
    memset(scratch, 0x77, sizeof scratch);
    CHECK_EQ_U64(pz_swap_join(swap, stream), PZ_OK);
    copy(source, scratch, bytes);
}

static void check_in(pz_swap *swap, const void *expected, size_t bytes)
{
    memset(back, 0, sizeof back);
    CHECK_EQ_U64(pz_swap_in_on(swap, target, stream, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_join(swap, stream), PZ_OK);
    copy(back, target, bytes);
    end();
    CHECK_MEM(back, (const uint8_t *)expected, bytes);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
    CHECK(pz_swap_done(swap));
}

static void check_tensor(pz_engine *engine, const void *from, size_t bytes, pz_dtype dtype)
{
    pz_swap *const swap = out(engine, from, bytes, dtype);

    reuse(swap, bytes);
    check_in(swap, from, bytes);
    check_in(swap, from, bytes);
    CHECK_EQ_U64(engines_swap_stats(swap).raw_bytes, bytes);
    CHECK_EQ_U64(engines_swap_stats(swap).swapped_in, 2);
    pz_swap_free(swap);
}

/* ---- Tensors come back ----------------------------------------------------------------------- */

TEST(every_width_format_and_size)
{
    static const size_t sizes[] = {0, 1, 4096, SEGMENT - 1, SEGMENT + 1, TENSOR};
    static const pz_dtype types[] = {PZ_DTYPE_U8, PZ_DTYPE_BF16, PZ_DTYPE_F32, PZ_DTYPE_F64};
    static const char *const codecs[] = {"planezip2", "planezip"};
    pz_pool *pool;

    open_device();
    pool = pool_of(4 * TENSOR);
    for (unsigned codec = 0; codec < 2; codec++) {
        pz_engine_options options = options_of(pool);
        pz_engine *engine;

        options.codec = codecs[codec];
        engine = engines_new(&options);
        for (unsigned type = 0; type < 4; type++)
            for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                TEST_CONTEXT("%s, %s, %zu bytes", codecs[codec], pz_dtype_name(types[type]),
                             sizes[i]);
                check_tensor(engine, data[type], sizes[i], types[type]);
            }
        CHECK_EQ_U64(engines_stats(engine).swaps, 0);
        CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].transfers, 24);
        CHECK_EQ_U64(engines_stats(engine).directions[PZ_IN].failed, 0);
        CHECK(engines_stats(engine).staging_bytes >= 4 * SEGMENT);
        pz_engine_free(engine);
    }
    CHECK_EQ_U64(engines_used(pool), 0);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

/* More segments than there are tickets; nobody has waited when the last one is asked for but for
 * tickets.  What was reserved and is not needed is given back. */
TEST(many_tensors)
{
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;
    pz_swap *swaps[3 * TENSORS];
    uint64_t coded = 0;

    open_device();
    pool = pool_of(3 * TENSORS * (TENSOR + SEGMENT));
    options = options_of(pool);
    engine = engines_new(&options);
    for (unsigned i = 0; i < 3 * TENSORS; i++) {
        swaps[i] = out(engine, data[i % TENSORS], TENSOR, PZ_DTYPE_BF16);
        reuse(swaps[i], TENSOR);
    }
    for (unsigned i = 3 * TENSORS; i-- > 0;)
        check_in(swaps[i], data[i % TENSORS], TENSOR);
    for (unsigned i = 0; i < 3 * TENSORS; i++)
        coded += engines_swap_stats(swaps[i]).coded_bytes;
    CHECK(coded < 3 * TENSORS * TENSOR * 3 / 4);
    CHECK(engines_used(pool) < coded + 3 * TENSORS * 4 * CHUNK);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].coded_bytes, coded);
    CHECK(engines_stats(engine).directions[PZ_OUT].coded_bps > 0);
    CHECK(engines_stats(engine).directions[PZ_IN].moved_bps > 0);
    close_engine(engine, pool); /* with its tensors */
}

/* No copy of a driver may go from one of them to the next. */
TEST(many_mappings)
{
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;

    open_device();
    mapping_bytes = 2 * CHUNK;
    pool = pool_of(2 * TENSOR);
    mapping_bytes = 0;
    options = options_of(pool);
    engine = engines_new(&options);
    check_tensor(engine, data[3], TENSOR, PZ_DTYPE_BF16);
    pz_engine_free(engine);
    options.bypass = PZ_BYPASS_ALWAYS;
    engine = engines_new(&options);
    check_tensor(engine, data[0], TENSOR, PZ_DTYPE_BF16);
    close_engine(engine, pool);
}

/* ---- Who waits for whom ---------------------------------------------------------------------- */

/* The target is in use until its bytes are in `used`. */
static bool is_right(pz_engine *engine, bool engine_first)
{
    uint8_t used[SEGMENT];
    pz_swap *swap = out(engine, data[0], SEGMENT, PZ_DTYPE_BF16);

    reuse(swap, SEGMENT);
    if (engine_first)
        CHECK_EQ_U64(pz_engine_wait(engine), PZ_OK);
    else
        end();
    copy(target, data[1], SEGMENT);
    copy(used, target, SEGMENT);
    CHECK_EQ_U64(pz_swap_in_on(swap, target, stream, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_join(swap, stream), PZ_OK);
    copy(back, target, SEGMENT);
    if (engine_first)
        CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
    end();
    pz_swap_free(swap);
    return memcmp(used, data[1], SEGMENT) == 0 && memcmp(back, data[0], SEGMENT) == 0;
}

/* Four times a stream waits for an event, and without any of them something is wrong. */
TEST(every_event_is_needed)
{
    struct mock_cuda_counts before, after;
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;

    open_device();
    if (mock.library == NULL)
        return;
    pool = pool_of(4 * TENSOR);
    options = options_of(pool);
    engine = engines_new(&options);
    mock.count(&before);
    CHECK(is_right(engine, true));
    CHECK(is_right(engine, false));
    mock.count(&after);
    CHECK_EQ_U64(after.follows - before.follows, 2 * 4);
    for (unsigned follow = 1; follow <= 4; follow++) {
        bool right = true;

        TEST_CONTEXT("event %u", follow);
        for (unsigned first = 0; first < 2; first++) {
            mock.forget(follow);
            right = is_right(engine, first != 0) && right;
        }
        CHECK(!right);
    }
    close_engine(engine, pool);
}

/* Neither going out nor coming in makes the host wait, allocate or compile. */
TEST(the_host_does_not_wait)
{
    struct mock_cuda_counts before, after;
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;
    pz_swap *swap;

    open_device();
    if (mock.library == NULL)
        return;
    pool = pool_of(4 * TENSOR);
    options = options_of(pool);
    engine = engines_new(&options);
    check_tensor(engine, data[0], TENSOR, PZ_DTYPE_BF16);
    mock.count(&before);
    swap = out(engine, data[0], TENSOR, PZ_DTYPE_BF16);
    reuse(swap, TENSOR);
    CHECK(!pz_swap_done(swap));
    mock.count(&after);
    CHECK_EQ_U64(after.waits, before.waits);
    CHECK_EQ_U64(after.all_allocations, before.all_allocations);
    CHECK_EQ_U64(pz_engine_wait(engine), PZ_OK);
    mock.count(&before);
    CHECK_EQ_U64(pz_swap_in_on(swap, target, stream, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_join(swap, stream), PZ_OK);
    CHECK(!pz_swap_done(swap));
    mock.count(&after);
    CHECK_EQ_U64(after.waits, before.waits);
    CHECK_EQ_U64(after.all_allocations, before.all_allocations);
    CHECK_EQ_U64(after.all_modules, before.all_modules);
    pz_swap_free(swap); /* nor does this */
    mock.count(&after);
    CHECK_EQ_U64(after.waits, before.waits);
    CHECK(engines_used(pool) > 0);
    close_engine(engine, pool);
}

/* ---- Without the codec ----------------------------------------------------------------------- */

static pz_swap_stats stats_of(pz_engine *engine, double ratio)
{
    pz_swap_options options = engines_tensor(source, SEGMENT, 0);
    pz_swap_stats stats;
    pz_swap *swap = NULL;

    options.stream = stream;
    options.ratio = ratio;
    copy(source, data[0], SEGMENT);
    CHECK_EQ_U64(pz_swap_out(engine, &options, true, &swap), PZ_OK);
    check_in(swap, data[0], SEGMENT);
    stats = engines_swap_stats(swap);
    pz_swap_free(swap);
    return stats;
}

TEST(bypass)
{
    struct mock_cuda_counts before = {0}, after = {0};
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;

    open_device();
    pool = pool_of(4 * TENSOR);
    options = options_of(pool);
    options.bypass = PZ_BYPASS_ALWAYS;
    engine = engines_new(&options);
    if (mock.library != NULL)
        mock.count(&before);
    check_tensor(engine, data[0], TENSOR, PZ_DTYPE_BF16);
    CHECK_EQ_U64(stats_of(engine, 0).coded_bytes, SEGMENT);
    if (mock.library != NULL)
        mock.count(&after);
    CHECK_EQ_U64(after.launches, before.launches);
    pz_engine_free(engine);
    options.bypass = PZ_BYPASS_AUTO;
    options.codec_bps = 1; /* slower than any link, as soon as that is known */
    engine = engines_new(&options);
    CHECK(!stats_of(engine, 2).bypassed);
    CHECK(stats_of(engine, 2).bypassed);
    CHECK(stats_of(engine, 0.9).bypassed);
    close_engine(engine, pool);
    pool = pool_of(4 * TENSOR);
    options.pool = pool;
    options.codec_bps = 1e18;
    engine = engines_new(&options);
    CHECK(!stats_of(engine, 2).bypassed);
    CHECK(!stats_of(engine, 2).bypassed);
    close_engine(engine, pool);
}

TEST(measuring_stores_nothing)
{
    pz_swap_options tensor = {0};
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;
    pz_swap *swap = NULL;

    open_device();
    pool = pool_of(CHUNK);
    options = options_of(pool);
    engine = engines_new(&options);
    tensor = engines_tensor(source, TENSOR, 0);
    tensor.stream = stream;
    tensor.measure = true;
    copy(source, data[0], TENSOR);
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swap), PZ_OK);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
    CHECK(engines_swap_stats(swap).coded_bytes > 0);
    CHECK(engines_swap_stats(swap).coded_bytes < TENSOR * 3 / 4);
    CHECK_EQ_U64(pz_swap_in_on(swap, target, stream, true), PZ_ERR_ARGUMENT);
    pz_swap_free(swap);
    close_engine(engine, pool);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* Kernels cannot write there, so copies do. */
TEST(memory_that_cannot_be_pinned)
{
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;

    open_device();
    if (mock.library == NULL)
        return;
    pool = pool_of(4 * TENSOR);
    options = options_of(pool);
    engine = engines_new(&options);
    mock.fail(MOCK_CUDA_PIN);
    check_tensor(engine, data[0], TENSOR, PZ_DTYPE_BF16);
    check_tensor(engine, data[3], TENSOR, PZ_DTYPE_F32);
    CHECK_EQ_U64(warnings, 1);
    close_engine(engine, pool);
}

/* Room for all that a tensor can become, until it is known what it does. */
TEST(a_full_pool)
{
    pz_swap_options tensor;
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;
    pz_swap *swaps[4], *none = NULL;
    unsigned count = 0;
    pz_status status;

    open_device();
    pool = pool_of(8 * CHUNK);
    options = options_of(pool);
    engine = engines_new(&options);
    tensor = engines_tensor(source, SEGMENT, 0);
    tensor.stream = stream;
    copy(source, data[0], SEGMENT);
    while ((status = pz_swap_out(engine, &tensor, true, &swaps[count])) == PZ_OK && count < 3)
        count++;
    CHECK_EQ_U64(status, PZ_ERR_FULL);
    CHECK_EQ_U64(count, 2);
    check_in(swaps[0], data[0], SEGMENT);
    check_in(swaps[1], data[0], SEGMENT);
    /* A tensor that is freed while it comes in leaves room when it has come. */
    CHECK_EQ_U64(pz_swap_in_on(swaps[0], target, stream, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_join(swaps[0], stream), PZ_OK);
    pz_swap_free(swaps[0]);
    swaps[0] = NULL;
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swaps[0]), PZ_OK);
    tensor.bytes = TENSOR; /* larger than all of it */
    pz_swap_free(swaps[0]);
    pz_swap_free(swaps[1]);
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &none), PZ_ERR_FULL);
    CHECK(none == NULL);
    CHECK_EQ_U64(engines_used(pool), 0);
    CHECK_EQ_U64(engines_stats(engine).swaps, 0);
    check_tensor(engine, data[3], SEGMENT, PZ_DTYPE_BF16);
    close_engine(engine, pool);
}

TEST(a_full_queue)
{
    pz_swap_options tensor;
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;
    pz_swap *first = NULL, *second = NULL;

    open_device();
    if (mock.library == NULL)
        return;
    pool = pool_of(8 * TENSOR);
    options = options_of(pool);
    options.queue_bytes[PZ_OUT] = SEGMENT;
    engine = engines_new(&options);
    tensor = engines_tensor(source, TENSOR, 0);
    tensor.stream = stream;
    copy(source, data[0], TENSOR);
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, false, &first), PZ_OK);
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, false, &second), PZ_ERR_BUSY);
    CHECK_EQ_U64(pz_swap_in_on(first, target, stream, false), PZ_ERR_BUSY);
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &second), PZ_OK);
    CHECK(engines_swap_stats(first).coded_bytes > 0);
    CHECK_EQ_U64(pz_swap_cancel(second), PZ_OK); /* a device does not stop */
    check_in(second, data[0], TENSOR);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].queue_peak_bytes, TENSOR);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].queue_bytes, 0);
    pz_swap_free(first);
    close_engine(engine, pool);
}

/* ---- What goes wrong ------------------------------------------------------------------------- */

TEST(damaged_memory)
{
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;
    pz_swap *swap;

    open_device();
    pool = pool_of(4 * TENSOR);
    options = options_of(pool);
    engine = engines_new(&options);
    swap = out(engine, data[0], TENSOR, PZ_DTYPE_BF16);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
    mapping[1] ^= 0xff; /* the size of the first chunk */
    CHECK_EQ_U64(pz_swap_in_on(swap, target, stream, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_ERR_CHECK);
    CHECK_EQ_U64(pz_swap_join(swap, stream), PZ_ERR_CHECK);
    CHECK_EQ_U64(engines_stats(engine).directions[PZ_IN].failed, 1);
    mapping[1] ^= 0xff;
    check_in(swap, data[0], TENSOR);
    close_engine(engine, pool);
}

static void check_wrong(pz_engine_options options)
{
    pz_engine *none = NULL;
    pz_diag diag = {0};

    CHECK_EQ_U64(pz_engine_new(&options, &none, &diag), PZ_ERR_ARGUMENT);
    CHECK(none == NULL);
}

static void done(void *user, uint64_t token, pz_direction direction, pz_status status)
{
    (void)user;
    (void)token;
    (void)direction;
    (void)status;
}

TEST(wrong_arguments)
{
    pz_engine_options options, wrong;
    pz_swap_options tensor;
    pz_engine *engine;
    pz_pool *pool;
    pz_swap *swap = NULL;

    open_device();
    pool = pool_of(4 * TENSOR);
    wrong = options = options_of(pool);
    wrong.gpu = NULL;
    check_wrong(wrong);
    wrong = options;
    wrong.pool = NULL;
    check_wrong(wrong);
    wrong = options;
    wrong.done = done;
    check_wrong(wrong);
    wrong = options;
    wrong.event = true;
    check_wrong(wrong);
    wrong = options;
    wrong.link_bps[PZ_IN] = 1e9;
    check_wrong(wrong);
    wrong = options;
    wrong.tier = PZ_TIER_MEMORY; /* which has no device */
    check_wrong(wrong);
    wrong.gpu = NULL;
    wrong.groups = 0;
    engine = engines_new(&wrong);
    tensor = engines_tensor(data[0], SEGMENT, 0);
    tensor.stream = stream;
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swap), PZ_ERR_ARGUMENT);
    tensor.stream = NULL;
    CHECK_EQ_U64(pz_swap_out(engine, &tensor, true, &swap), PZ_OK);
    CHECK_EQ_U64(pz_swap_in_on(swap, back, NULL, true), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_swap_join(swap, NULL), PZ_ERR_ARGUMENT);
    close_engine(engine, pool);
}

/* What a caller sees of a transfer there and back while a call of the driver fails; the data is
 * right whenever nobody has said otherwise. */
static void try_transfer(pz_engine *engine)
{
    pz_swap_options tensor = engines_tensor(source, SEGMENT + 4096, 0);
    pz_swap *swap = NULL;
    pz_status status;

    tensor.stream = stream;
    status = pz_swap_out(engine, &tensor, true, &swap);
    if (status == PZ_OK)
        status = pz_swap_wait(swap);
    if (status == PZ_OK)
        status = pz_swap_in_on(swap, target, stream, true);
    if (status == PZ_OK)
        status = pz_swap_join(swap, stream);
    if (status == PZ_OK)
        status = pz_swap_wait(swap);
    mock.fail_at(0, 0);
    end();
    if (status == PZ_OK) {
        copy(back, target, tensor.bytes);
        end();
        CHECK_MEM(back, data[0], tensor.bytes);
    }
    CHECK(status == PZ_OK || status == PZ_ERR_IO || status == PZ_ERR_MEMORY);
    pz_swap_free(swap);
}

/* Fails the calls one after the other; true if there was no such call. */
static bool check_failure(unsigned call, bool lasts, pz_bypass bypass)
{
    struct mock_cuda_counts before, after;
    pz_pool *const pool = pool_of(4 * TENSOR);
    pz_engine_options options = options_of(pool);
    pz_engine *engine = NULL;
    pz_diag diag = {0};
    pz_status status;

    TEST_CONTEXT("call %u%s, bypass %u, pageable %d", call, lasts ? " and all that follow" : "",
                 (unsigned)bypass, is_pageable);
    options.bypass = bypass;
    copy(source, data[0], TENSOR);
    end();
    mock.count(&before);
    mock.fail_at(call, lasts);
    status = pz_engine_new(&options, &engine, &diag);
    CHECK(status == PZ_OK || (diag.text[0] != '\0' && engine == NULL));
    if (status == PZ_OK)
        try_transfer(engine);
    mock.fail_at(0, 0);
    if (status == PZ_OK)
        check_tensor(engine, data[0], 4096, PZ_DTYPE_BF16);
    close_engine(engine, pool);
    mock.count(&after);
    CHECK_EQ_U64(after.allocations, before.allocations);
    CHECK_EQ_U64(after.streams, before.streams);
    CHECK_EQ_U64(after.events, before.events);
    CHECK_EQ_U64(after.pinned, before.pinned);
    return after.calls - before.calls < call;
}

TEST(failures_at_every_call)
{
    open_device();
    if (mock.library == NULL)
        return;
    for (unsigned i = 0; i < 6; i++) {
        const pz_bypass bypass = i / 2 == 1 ? PZ_BYPASS_ALWAYS : PZ_BYPASS_NEVER;

        is_pageable = i / 2 == 2;
        unsigned call = 1;

        while (call < 1000 && !check_failure(call, i % 2 == 0, bypass))
            call++;
        CHECK(call < 1000); /* or some were never tried */
    }
    is_pageable = false;
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 6 };

struct user {
    pthread_t thread;
    pz_engine *engine;
    const uint8_t *tensor;
    unsigned wrong;
};

/* There and back in a stream of its own; half of the tensors are freed under way. */
static unsigned swap_once(const struct user *user, void *own, uint8_t *from, uint8_t *to,
                          bool waits)
{
    static const size_t bytes = 2 * SEGMENT + 100;
    pz_swap_options options = engines_tensor(from, bytes, 0);
    uint8_t *const got = calloc(1, bytes);
    pz_swap *swap = NULL;
    unsigned wrong = 0;

    options.stream = own;
    wrong += pz_gpu_copy(gpu, own, from, user->tensor, bytes) != PZ_OK;
    wrong += pz_swap_out(user->engine, &options, true, &swap) != PZ_OK;
    wrong += pz_swap_join(swap, own) != PZ_OK;
    wrong += pz_swap_in_on(swap, to, own, true) != PZ_OK;
    wrong += pz_swap_join(swap, own) != PZ_OK;
    wrong += pz_gpu_copy(gpu, own, got, to, bytes) != PZ_OK;
    wrong += waits && pz_swap_wait(swap) != PZ_OK;
    pz_swap_free(swap);
    wrong += pz_gpu_wait(gpu, own) != PZ_OK;
    wrong += memcmp(got, user->tensor, bytes) != 0;
    free(got);
    return wrong;
}

static void *use(void *arg)
{
    struct user *const user = arg;
    void *own = NULL, *from = NULL, *to = NULL;

    user->wrong += pz_gpu_stream_new(gpu, &own) != PZ_OK;
    user->wrong += pz_gpu_alloc(gpu, PZ_GPU_DEVICE, TENSOR, &from) != PZ_OK;
    user->wrong += pz_gpu_alloc(gpu, PZ_GPU_DEVICE, TENSOR, &to) != PZ_OK;
    for (unsigned i = 0; i < ROUNDS && user->wrong == 0; i++)
        user->wrong += swap_once(user, own, from, to, i % 2 == 0);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, from);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, to);
    pz_gpu_stream_free(gpu, own);
    return NULL;
}

TEST(several_threads)
{
    struct user users[THREADS];
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;

    open_device();
    if (player() != NULL && !is_mock()) /* mock_opencl.c is for one thread */
        return;
    pool = pool_of(THREADS * 4 * TENSOR);
    options = options_of(pool);
    engine = engines_new(&options);
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){.engine = engine, .tensor = data[i]};
        CHECK(pthread_create(&users[i].thread, NULL, use, &users[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK(pthread_join(users[i].thread, NULL) == 0);
        CHECK_EQ_U64(users[i].wrong, 0);
    }
    CHECK_EQ_U64(pz_engine_wait(engine), PZ_OK);
    CHECK_EQ_U64(engines_stats(engine).swaps, 0);
    close_engine(engine, pool);
}

/* A child has no device, and frees what it has inherited. */
TEST(a_child_frees)
{
    pz_engine_options options;
    pz_engine *engine;
    pz_pool *pool;
    pz_swap *swap;
    int status = -1;
    pid_t child;

    open_device();
    pool = pool_of(4 * TENSOR);
    options = options_of(pool);
    engine = engines_new(&options);
    swap = out(engine, data[0], TENSOR, PZ_DTYPE_BF16);
    child = fork();
    if (child == 0) {
        const bool fine =
            pz_swap_wait(swap) == PZ_ERR_ARGUMENT && pz_swap_join(swap, stream) == PZ_ERR_ARGUMENT;

        pz_swap_free(swap);
        pz_engine_free(engine);
        (void)pz_pool_free(pool);
        _exit(fine ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_in(swap, data[0], TENSOR);
    close_engine(engine, pool);
}

TEST(zz_nothing_is_left)
{
    struct mock_cuda_counts left = {0};

    open_device();
    pz_gpu_free(gpu, PZ_GPU_DEVICE, source);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, target);
    pz_gpu_stream_free(gpu, stream);
    pz_gpu_close(gpu);
    if (mock.library == NULL)
        return;
    mock.count(&left);
    CHECK_EQ_U64(left.allocations, 0);
    CHECK_EQ_U64(left.streams, 0);
    CHECK_EQ_U64(left.events, 0);
    CHECK_EQ_U64(left.pinned, 0);
    CHECK_EQ_U64(left.contexts, 0);
    dlclose(mock.library);
}
