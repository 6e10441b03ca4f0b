/* planezip/gpu.h on the device that gpu/wanted.h says.  Bytes and judgements are held against the
 * codec. */
#include "support/test.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "gpu/mock_cuda.h"
#include "gpu/wanted.h"
#include "planezip/gpu.h"
#include "support/chunkgen2.h"
#include "support/datagen.h"
#include "support/rng.h"

static const struct {
    unsigned w, e;
} types[] = {{8, 0}, {8, 4}, {16, 0}, {16, 8}, {32, 8}, {64, 0}};

enum {
    TYPES = sizeof types / sizeof *types,
    CHUNKS = 3 * CHUNKGEN2_KINDS,
    ROOM = CHUNKS * (PZ_CHUNK_BYTES + 2) + 64
};

static pz_gpu *gpu;
static void *stream;
static uint8_t raw[CHUNKS * PZ_CHUNK_BYTES], back[sizeof raw], coded[ROOM], expected[ROOM];
static void *device_raw, *device_coded, *workspace;
static pz_gpu_result *device_result;
static pz_gpu_job job;

static void open_device(void)
{
    if (gpu != NULL)
        return;
    gpu = open_wanted();
    CHECK_EQ_U64(pz_gpu_stream_new(gpu, &stream), PZ_OK);
    job = (pz_gpu_job){.size = sizeof job, .stream = stream};
    CHECK_EQ_U64(pz_gpu_workspace_bytes(sizeof raw, false, &job.workspace_bytes), PZ_OK);
    device_raw = device_memory(gpu, sizeof raw);
    device_coded = device_memory(gpu, ROOM);
    device_result = device_memory(gpu, sizeof *device_result);
    job.workspace = workspace = device_memory(gpu, job.workspace_bytes);
    job.result = device_result;
}

static void close_device(void)
{
    pz_gpu_free(gpu, PZ_GPU_DEVICE, device_raw);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, device_coded);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, workspace);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, device_result);
    pz_gpu_stream_free(gpu, stream);
    pz_gpu_close(gpu);
    gpu = NULL;
}

static pz_mode mode1_of(unsigned w)
{
    pz_mode mode = {0};

    CHECK_EQ_U64(pz_mode_named("planezip", w, &mode), PZ_OK);
    return mode;
}

static pz_mode mode2_of(unsigned type)
{
    return (pz_mode){types[type].w, PZ_LEVEL_NORMAL, PZ_FORMAT_2, types[type].e};
}

/* Data, and what the codec makes of it; returns the size of that. */
static size_t fill(pz_mode mode, size_t raw_bytes)
{
    struct rng rng = {raw_bytes};
    size_t bytes = 0;

    for (unsigned i = 0; i < CHUNKS; i++)
        if (mode.format == PZ_FORMAT_1)
            datagen_fill(&rng, (enum datagen_kind)(i % DATAGEN_KINDS), mode.width_bits,
                         raw + i * PZ_CHUNK_BYTES, PZ_CHUNK_BYTES);
        else
            chunkgen2_fill(&rng, (enum chunkgen2_kind)(i % CHUNKGEN2_KINDS), mode.width_bits,
                           mode.exponent_bits, raw + i * PZ_CHUNK_BYTES);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, raw_bytes, expected, sizeof expected, &bytes), PZ_OK);
    return bytes;
}

static void copy(void *to, const void *from, size_t bytes)
{
    CHECK_EQ_U64(pz_gpu_copy(gpu, stream, to, from, bytes), PZ_OK);
}

static void end(void)
{
    CHECK_EQ_U64(pz_gpu_wait(gpu, stream), PZ_OK);
}

/* What the job found, once it has ended. */
static pz_gpu_result finish(void)
{
    pz_gpu_result result;

    copy(&result, device_result, sizeof result);
    end();
    return result;
}

static void check_compress(pz_mode mode, size_t raw_bytes)
{
    const size_t bytes = fill(mode, raw_bytes);
    pz_gpu_result result;

    copy(device_raw, raw, raw_bytes);
    CHECK_EQ_U64(pz_gpu_compress(gpu, &job, mode, device_raw, raw_bytes, device_coded, ROOM),
                 PZ_OK);
    copy(coded, device_coded, bytes);
    result = finish();
    CHECK_EQ_U64(pz_gpu_result_of(&result, NULL), PZ_OK);
    CHECK_EQ_U64(result.coded_bytes, bytes);
    CHECK_MEM(coded, expected, bytes);
}

/* Any bytes as a stream. */
static void check_decompress(pz_mode mode, const uint8_t *bytes_at, size_t bytes, size_t raw_bytes)
{
    static uint8_t right[sizeof raw];
    pz_where where = {0, 0, 0}, found = {0, 0, 0};
    const pz_status status = pz_stream_decode(mode, bytes_at, bytes, right, raw_bytes, &where);
    pz_gpu_job small = job;
    pz_gpu_result result;

    CHECK_EQ_U64(pz_gpu_workspace_bytes(raw_bytes, true, &small.workspace_bytes), PZ_OK);
    CHECK(small.workspace_bytes < 4096);
    copy(device_coded, bytes_at, bytes);
    CHECK_EQ_U64(pz_gpu_decompress(gpu, &small, mode, device_coded, bytes, device_raw, raw_bytes),
                 PZ_OK);
    copy(back, device_raw, raw_bytes);
    result = finish();
    CHECK_EQ_U64(pz_gpu_result_of(&result, &found), status);
    if (status == PZ_OK)
        CHECK_MEM(back, right, raw_bytes);
    else
        CHECK_EQ_U64(found.chunk, where.chunk);
}

/* Bits of headers or payloads, or the end. */
static void check_damage(pz_mode mode, size_t bytes, size_t raw_bytes)
{
    const size_t headers = 2 * (size_t)pz_stream_chunks(raw_bytes);

    for (uint64_t i = 0; i < 12; i++) {
        struct rng rng = {i};
        const size_t from = i % 4 == 0 ? 0 : headers, to = i % 4 == 0 ? headers : bytes;
        const size_t left = i % 4 == 3 ? rng_below(&rng, bytes) : bytes;

        TEST_CONTEXT("w%u e%u, format %u, damage %u", mode.width_bits, mode.exponent_bits,
                     mode.format, (unsigned)i);
        memcpy(coded, expected, bytes);
        coded[from + rng_below(&rng, to - from)] ^= (uint8_t)(1u << rng_below(&rng, 8));
        check_decompress(mode, coded, left, raw_bytes);
    }
}

static void check_mode(pz_mode mode)
{
    const size_t raw_bytes = sizeof raw - 1001;
    const size_t bytes = fill(mode, raw_bytes);

    TEST_CONTEXT("w%u e%u, format %u", mode.width_bits, mode.exponent_bits, mode.format);
    check_compress(mode, raw_bytes);
    check_decompress(mode, expected, bytes, raw_bytes);
    check_damage(mode, bytes, raw_bytes);
}

TEST(bytes_and_judgements_of_the_codec)
{
    open_device();
    for (unsigned type = 0; type < TYPES; type++) {
        check_mode(mode2_of(type));
        if (types[type].e == 0)
            check_mode(mode1_of(types[type].w));
    }
}

TEST(any_size_and_any_number_of_groups)
{
    static const size_t sizes[] = {0, 1, 127, 4095, 4096, 4097, 5 * PZ_CHUNK_BYTES};
    const pz_mode mode = mode2_of(3);

    open_device();
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        TEST_CONTEXT("%zu bytes", sizes[i]);
        job.groups = i % 3;
        check_compress(mode, sizes[i]);
        check_decompress(mode, expected, fill(mode, sizes[i]), sizes[i]);
    }
    job.groups = 0;
}

TEST(no_room)
{
    const pz_mode mode = mode2_of(3);
    const size_t bytes = fill(mode, sizeof raw);
    pz_gpu_result result;

    open_device();
    memset(coded, 0xee, sizeof coded);
    copy(device_raw, raw, sizeof raw);
    copy(device_coded, coded, ROOM);
    CHECK_EQ_U64(pz_gpu_compress(gpu, &job, mode, device_raw, sizeof raw, device_coded, bytes - 1),
                 PZ_OK);
    copy(coded, device_coded, ROOM);
    result = finish();
    CHECK_EQ_U64(pz_gpu_result_of(&result, NULL), PZ_ERR_SPACE);
    CHECK_EQ_U64(result.coded_bytes, bytes);
    for (size_t i = 0; i < ROOM; i++)
        if (!CHECK_EQ_U64(coded[i], 0xee))
            return;
}

/* The size first, then the stream; a copy of what is foreseen, then of the rest. */
TEST(size_first_and_copies_in_two_parts)
{
    const pz_mode mode = mode2_of(3);
    const size_t bytes = fill(mode, sizeof raw);
    const size_t first = pz_gpu_predicted_bytes(sizeof raw, 1.03 * sizeof raw / (double)bytes);
    pz_gpu_result result;

    open_device();
    copy(device_raw, raw, sizeof raw);
    CHECK_EQ_U64(pz_gpu_encode(gpu, &job, mode, device_raw, sizeof raw, SIZE_MAX), PZ_OK);
    result = finish();
    CHECK_EQ_U64(result.coded_bytes, bytes);
    CHECK_EQ_U64(pz_gpu_gather(gpu, &job, sizeof raw, device_coded), PZ_OK);
    CHECK(first < bytes);
    copy(coded, device_coded, first);
    end();
    CHECK_MEM(coded, expected, first);
    copy(coded + first, (uint8_t *)device_coded + first, bytes - first);
    end();
    CHECK_MEM(coded, expected, bytes);
    CHECK(pz_gpu_predicted_bytes(1000, 2) == 510 && pz_gpu_predicted_bytes(1000, 0.5) == 1002);
}

TEST(straight_from_and_to_pinned_memory)
{
    const pz_mode mode = mode2_of(3);
    const size_t bytes = fill(mode, sizeof raw);
    pz_gpu_result *result;
    void *pinned;

    open_device();
    if (pz_gpu_alloc(gpu, PZ_GPU_PINNED, ROOM, &pinned) != PZ_OK)
        return;
    CHECK_EQ_U64(pz_gpu_alloc(gpu, PZ_GPU_PINNED, sizeof *result, (void **)&result), PZ_OK);
    job.result = result;
    copy(device_raw, raw, sizeof raw);
    CHECK_EQ_U64(pz_gpu_compress(gpu, &job, mode, device_raw, sizeof raw, pinned, ROOM), PZ_OK);
    end();
    CHECK_EQ_U64(pz_gpu_result_of(result, NULL), PZ_OK);
    CHECK_EQ_U64(result->coded_bytes, bytes);
    CHECK_MEM((uint8_t *)pinned, expected, bytes);
    CHECK_EQ_U64(pz_gpu_decompress(gpu, &job, mode, pinned, bytes, device_raw, sizeof raw), PZ_OK);
    copy(back, device_raw, sizeof raw);
    end();
    CHECK_EQ_U64(pz_gpu_result_of(result, NULL), PZ_OK);
    CHECK_MEM(back, raw, sizeof raw);
    job.result = device_result;
    pz_gpu_free(gpu, PZ_GPU_PINNED, result);
    pz_gpu_free(gpu, PZ_GPU_PINNED, pinned);
}

/* A page-aligned array that a device can reach, or NULL. */
static void *pinned_pages(size_t bytes)
{
    void *memory = NULL;

    if (CHECK(posix_memalign(&memory, 4096, bytes) == 0))
        CHECK_EQ_U64(pz_gpu_pin(gpu, memory, bytes), PZ_OK);
    return memory;
}

static void free_pages(void *memory, size_t bytes)
{
    pz_gpu_unpin(gpu, memory, bytes);
    free(memory);
}

/* The table is in the device's memory, and pieces come in any order. */
static void check_pieces(pz_mode mode, size_t piece_bytes)
{
    enum { PIECES = ROOM / PZ_CHUNK_BYTES + 1 };
    const size_t bytes = fill(mode, sizeof raw);
    uint64_t table[PIECES] = {0};
    uint8_t *const pages = pinned_pages(PIECES * PZ_CHUNK_BYTES);
    const size_t count = PIECES * PZ_CHUNK_BYTES / piece_bytes;
    void *device_table = device_memory(gpu, sizeof table);

    TEST_CONTEXT("format %u, pieces of %zu bytes", mode.format, piece_bytes);
    for (size_t i = 0; i < count; i++)
        table[i] = (uintptr_t)pages + (count - 1 - i) * piece_bytes;
    copy(device_table, table, sizeof table);
    copy(device_raw, raw, sizeof raw);
    CHECK_EQ_U64(pz_gpu_encode(gpu, &job, mode, device_raw, sizeof raw, SIZE_MAX), PZ_OK);
    CHECK_EQ_U64(pz_gpu_gather_pieces(gpu, &job, sizeof raw, device_table, piece_bytes), PZ_OK);
    for (size_t at = 0; at < bytes; at += piece_bytes)
        copy(coded + at, pages + (count - 1) * piece_bytes - at,
             bytes - at < piece_bytes ? bytes - at : piece_bytes);
    end();
    CHECK_MEM(coded, expected, bytes);
    CHECK_EQ_U64(pz_gpu_gather_pieces(gpu, &job, sizeof raw, device_table, 4095), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_gather_pieces(gpu, &job, sizeof raw, NULL, 4096), PZ_ERR_ARGUMENT);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, device_table);
    free_pages(pages, PIECES * PZ_CHUNK_BYTES);
}

TEST(pieces_in_any_order)
{
    open_device();
    if (is_opencl()) {
        CHECK_EQ_U64(pz_gpu_gather_pieces(gpu, &job, 1, workspace, 4096), PZ_ERR_ARGUMENT);
        return;
    }
    check_pieces(mode2_of(3), 4096);
    check_pieces(mode2_of(0), 3 * 4096);
    check_pieces(mode1_of(32), 2 * 4096);
}

/* What a stream does after a mark of another one comes after it, though the other one is waited
 * for later. */
TEST(streams_follow_marks)
{
    void *other = NULL, *mark = NULL;
    uint8_t got[64];

    open_device();
    memset(raw, 1, sizeof got);
    memset(back, 2, sizeof got);
    CHECK_EQ_U64(pz_gpu_stream_new(gpu, &other), PZ_OK);
    copy(device_raw, raw, sizeof got);
    end();
    copy(device_raw, back, sizeof got);
    CHECK_EQ_U64(pz_gpu_mark(gpu, stream, &mark), PZ_OK);
    CHECK_EQ_U64(pz_gpu_follow(gpu, other, mark), PZ_OK);
    if (is_mock())
        CHECK_EQ_U64(pz_gpu_reached(gpu, mark), PZ_ERR_BUSY);
    CHECK_EQ_U64(pz_gpu_copy(gpu, other, got, device_raw, sizeof got), PZ_OK);
    CHECK_EQ_U64(pz_gpu_wait(gpu, other), PZ_OK);
    CHECK_MEM(got, back, sizeof got);
    CHECK_EQ_U64(pz_gpu_reached(gpu, mark), PZ_OK);
    CHECK_EQ_U64(pz_gpu_await(gpu, mark), PZ_OK);
    CHECK_EQ_U64(pz_gpu_follow(gpu, other, NULL), PZ_ERR_ARGUMENT);
    pz_gpu_mark_free(gpu, mark);
    pz_gpu_stream_free(gpu, other);
}

TEST(time_passes)
{
    void *begin = NULL, *after = NULL;
    double seconds = -1;

    open_device();
    CHECK_EQ_U64(pz_gpu_mark(gpu, stream, &begin), PZ_OK);
    check_compress(mode2_of(3), sizeof raw);
    CHECK_EQ_U64(pz_gpu_mark(gpu, stream, &after), PZ_OK);
    end();
    CHECK_EQ_U64(pz_gpu_elapsed(gpu, begin, after, &seconds), PZ_OK);
    CHECK(seconds > 0 && seconds < 600);
    pz_gpu_mark_free(gpu, begin);
    pz_gpu_mark_free(gpu, after);
}

static pz_status try_job(pz_gpu_job changed, pz_mode mode, const void *from, void *to)
{
    return pz_gpu_compress(gpu, &changed, mode, from, sizeof raw, to, ROOM);
}

TEST(wrong_arguments)
{
    const pz_mode mode = mode2_of(3);
    pz_mode wrong = mode;
    pz_gpu_job changed;

    open_device();
    wrong.width_bits = 12;
    CHECK_EQ_U64(try_job(job, wrong, device_raw, device_coded), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_prepare(gpu, wrong, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(try_job(job, mode, NULL, device_coded), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(try_job(job, mode, device_raw, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(try_job(job, mode, device_raw, (uint8_t *)device_coded + 2), PZ_ERR_ARGUMENT);
    changed = job;
    changed.workspace_bytes--;
    CHECK_EQ_U64(try_job(changed, mode, device_raw, device_coded), PZ_ERR_ARGUMENT);
    changed = job;
    changed.workspace = (uint8_t *)workspace + 8;
    CHECK_EQ_U64(try_job(changed, mode, device_raw, device_coded), PZ_ERR_ARGUMENT);
    changed = job;
    changed.result = NULL;
    CHECK_EQ_U64(try_job(changed, mode, device_raw, device_coded), PZ_ERR_ARGUMENT);
    changed = job;
    changed.size = 8;
    CHECK_EQ_U64(try_job(changed, mode, device_raw, device_coded), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_decompress(gpu, &job, wrong, device_coded, 9, device_raw, 9),
                 PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_workspace_bytes(SIZE_MAX, false, &changed.workspace_bytes),
                 PZ_ERR_ARGUMENT);
    changed = job;
    changed.size++;
    CHECK_EQ_U64(try_job(changed, mode, device_raw, device_coded), PZ_ERR_ARGUMENT);
    uint8_t *const pages = aligned_alloc(4096, 8192);
    CHECK_EQ_U64(pz_gpu_pin(gpu, pages + 64, 4096), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_pin(gpu, pages, 4095), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_pin(gpu, pages, 0), PZ_ERR_ARGUMENT);
    free(pages);
}

/* ---- What only the mock can tell ------------------------------------------------------------ */

static struct {
    mock_cuda_count *count;
    mock_cuda_fail *fail;
    void *library;
} mock;

static bool open_mock(void)
{
    open_device();
    if (!is_mock())
        return false;
    if (mock.library == NULL)
        mock.library = dlopen(PZ_MOCK_CUDA, RTLD_NOW | RTLD_LOCAL);
    *(void **)&mock.count = dlsym(mock.library, "mock_cuda_counts_now");
    *(void **)&mock.fail = dlsym(mock.library, "mock_cuda_fail_next");
    return CHECK(mock.count != NULL && mock.fail != NULL);
}

/* Jobs start kernels and do nothing else: they neither wait, nor allocate, nor load, nor look. */
TEST(jobs_only_start_kernels)
{
    struct mock_cuda_counts before, after;
    const pz_mode mode = mode2_of(3);
    pz_gpu_result *result;
    size_t bytes;

    if (!open_mock())
        return;
    bytes = fill(mode, sizeof raw);
    CHECK_EQ_U64(pz_gpu_prepare(gpu, mode, NULL), PZ_OK);
    CHECK_EQ_U64(pz_gpu_alloc(gpu, PZ_GPU_PINNED, sizeof *result, (void **)&result), PZ_OK);
    memset(result, 0xa5, sizeof *result);
    job.result = result;
    copy(device_raw, raw, sizeof raw);
    mock.count(&before);
    CHECK_EQ_U64(pz_gpu_compress(gpu, &job, mode, device_raw, sizeof raw, device_coded, ROOM),
                 PZ_OK);
    CHECK_EQ_U64(pz_gpu_decompress(gpu, &job, mode, device_coded, bytes, device_raw, sizeof raw),
                 PZ_OK);
    mock.count(&after);
    CHECK_EQ_U64(after.launches - before.launches, 6 + 5);
    CHECK_EQ_U64(after.waits, before.waits);
    CHECK_EQ_U64(after.all_allocations, before.all_allocations);
    CHECK_EQ_U64(after.all_modules, before.all_modules);
    CHECK_EQ_U64(result->coded_bytes, UINT64_C(0xa5a5a5a5a5a5a5a5));
    copy(back, device_raw, sizeof raw);
    end();
    CHECK_EQ_U64(pz_gpu_result_of(result, NULL), PZ_OK);
    CHECK_MEM(back, raw, sizeof raw);
    job.result = device_result;
    pz_gpu_free(gpu, PZ_GPU_PINNED, result);
}

TEST(failures_of_the_driver)
{
    const pz_mode mode = mode2_of(3), other = {64, PZ_LEVEL_NORMAL, PZ_FORMAT_2, 11};
    pz_gpu_options options = options_for(PZ_MOCK_CUDA);
    pz_gpu *another = NULL;
    pz_diag diag = {0};
    void *memory;

    if (!open_mock())
        return;
    mock.fail(MOCK_CUDA_LAUNCH);
    CHECK_EQ_U64(try_job(job, mode, device_raw, device_coded), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_MEMORY);
    CHECK_EQ_U64(pz_gpu_alloc(gpu, PZ_GPU_DEVICE, 1, &memory), PZ_ERR_MEMORY);
    mock.fail(MOCK_CUDA_MEMORY);
    CHECK_EQ_U64(pz_gpu_open(&options, &another, &diag), PZ_ERR_MEMORY);
    CHECK(another == NULL);
    CHECK_EQ_U64(pz_gpu_open(&options, &another, &diag), PZ_OK);
    mock.fail(MOCK_CUDA_COMPILE);
    CHECK_EQ_U64(pz_gpu_prepare(another, other, &diag), PZ_ERR_IO);
    CHECK_STR(diag.text, "NVRTC refuses the kernels for --gpu-architecture=sm_90: refused");
    CHECK_EQ_U64(pz_gpu_prepare(another, other, &diag), PZ_OK);
    pz_gpu_close(another);
    end();
}

/* Nothing is called in whatever context the thread has instead. */
TEST(a_context_that_cannot_be_entered)
{
    struct mock_cuda_counts before, after;
    const pz_mode mode = mode2_of(3);
    const pz_gpu_options options = options_for(PZ_MOCK_CUDA);
    pz_gpu *another = NULL;
    static _Alignas(4096) uint8_t page[4096];
    void *made = NULL, *mark = NULL;
    double seconds;
    pz_diag diag = {0};

    if (!open_mock())
        return;
    CHECK_EQ_U64(pz_gpu_prepare(gpu, mode, NULL), PZ_OK);
    CHECK_EQ_U64(pz_gpu_mark(gpu, stream, &mark), PZ_OK);
    mock.count(&before);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_alloc(gpu, PZ_GPU_DEVICE, 1, &made), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_stream_new(gpu, &made), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_mark(gpu, stream, &made), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_copy(gpu, stream, device_raw, raw, 1), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_wait(gpu, stream), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_follow(gpu, stream, mark), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_reached(gpu, mark), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_await(gpu, mark), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(try_job(job, mode, device_raw, device_coded), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_elapsed(gpu, mark, mark, &seconds), PZ_ERR_IO);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_pin(gpu, page, sizeof page), PZ_ERR_MEMORY);
    /* The mock ends the program if one of these comes in another context. */
    mock.fail(MOCK_CUDA_CONTEXT);
    pz_gpu_mark_free(gpu, mark);
    mock.fail(MOCK_CUDA_CONTEXT);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, device_raw);
    mock.fail(MOCK_CUDA_CONTEXT);
    pz_gpu_stream_free(gpu, stream);
    mock.fail(MOCK_CUDA_CONTEXT);
    pz_gpu_unpin(gpu, page, sizeof page);
    mock.count(&after);
    CHECK_EQ_U64(after.calls, before.calls);
    CHECK_EQ_U64(after.events, before.events);
    CHECK_EQ_U64(after.allocations, before.allocations);
    CHECK_EQ_U64(after.streams, before.streams);
    CHECK(made == NULL);
    pz_gpu_mark_free(gpu, mark);
    CHECK_EQ_U64(pz_gpu_open(&options, &another, NULL), PZ_OK);
    mock.fail(MOCK_CUDA_CONTEXT);
    CHECK_EQ_U64(pz_gpu_prepare(another, mode, &diag), PZ_ERR_IO);
    CHECK_STR(diag.text, "CUDA: the device cannot be used: an error of the mock");
    pz_gpu_close(another);
    end();
}

/* The text may go on with what the system says. */
static void check_refused(pz_gpu_options options, const char *path, const char *text)
{
    pz_gpu *none = NULL;
    pz_diag diag = {0};

    TEST_CONTEXT("%s", options.driver);
    CHECK_EQ_U64(pz_gpu_open(&options, &none, &diag), PZ_ERR_IO);
    CHECK(none == NULL);
    CHECK_STR(diag.path, path);
    diag.text[strlen(text)] = '\0';
    CHECK_STR(diag.text, text);
}

TEST(drivers_that_are_none)
{
    pz_gpu_options options;
    pz_gpu *another = NULL;

    if (!open_mock())
        return;
    check_refused(options_for("libnone.so.1"), "libnone.so.1", "the library cannot be opened: ");
    check_refused(options_for("libm.so.6"), "libm.so.6", "the library has no cuInit");
    check_refused(options_for(PZ_STUB_CUDA), "", "CUDA: the driver has no device: unknown error");
    options = options_for(PZ_MOCK_CUDA);
    options.device = 1;
    check_refused(options, "", "CUDA: there is no device 1, but 1");
    options = options_for(PZ_MOCK_CUDA);
    options.compiler = "libm.so.6";
    check_refused(options, "libm.so.6", "the library has no nvrtcCreateProgram");
    options = options_for(PZ_MOCK_CUDA);
    options.size++;
    CHECK_EQ_U64(pz_gpu_open(&options, &another, NULL), PZ_ERR_ARGUMENT);
    options = options_for(PZ_MOCK_CUDA);
    options.compiler = NULL; /* it is its own */
    CHECK_EQ_U64(pz_gpu_open(&options, &another, NULL), PZ_OK);
    pz_gpu_close(another);
    options = options_for("libm.so.6");
    options.kind = PZ_GPU_OPENCL;
    check_refused(options, "libm.so.6", "the library has no clGetPlatformIDs");
}

/* The last one: nothing is left. */
TEST(zz_nothing_is_left)
{
    struct mock_cuda_counts left;
    const bool counts = open_mock();

    close_device();
    if (!counts)
        return;
    mock.count(&left);
    CHECK_EQ_U64(left.allocations, 0);
    CHECK_EQ_U64(left.streams, 0);
    CHECK_EQ_U64(left.events, 0);
    CHECK_EQ_U64(left.modules, 0);
    CHECK_EQ_U64(left.contexts, 0);
    dlclose(mock.library);
}
