/* planezip/gpu_ibp.h on the device that gpu/wanted.h says: tables, slots and rows are held against
 * planezip/ibp.h. */
#include "support/test.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "gpu/mock_cuda.h"
#include "gpu/wanted.h"
#include "planezip/gpu_ibp.h"
#include "support/ibpgen.h"

enum { ROWS = 70, ROW_MAX = 2000, ROOM = ROWS * (ROW_MAX + 16) + 64, MAP = ROWS / 8 + 1 };

static pz_gpu *gpu;
static void *stream;
static pz_gpu_job job;
static uint8_t raw[ROOM], slots[ROOM], expected[ROOM], back[ROOM];
static void *device_raw, *device_slots, *device_map, *device_table, *device_index, *device_offsets;

static void open_device(void)
{
    if (gpu != NULL)
        return;
    gpu = open_wanted();
    CHECK_EQ_U64(pz_gpu_stream_new(gpu, &stream), PZ_OK);
    job = (pz_gpu_job){.size = sizeof job, .stream = stream, .workspace_bytes = 1 << 20};
    job.workspace = device_memory(gpu, job.workspace_bytes);
    job.result = device_memory(gpu, sizeof *job.result);
    device_raw = device_memory(gpu, ROOM);
    device_slots = device_memory(gpu, ROOM);
    device_map = device_memory(gpu, MAP);
    device_table = device_memory(gpu, 2 * ROW_MAX + 64);
    device_index = device_memory(gpu, ROWS * sizeof(uint64_t));
    device_offsets = device_memory(gpu, (ROWS + 1) * sizeof(uint64_t));
}

static void close_device(void)
{
    void *const all[] = {job.workspace, job.result,   device_raw,   device_slots,
                         device_map,    device_table, device_index, device_offsets};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        pz_gpu_free(gpu, PZ_GPU_DEVICE, all[i]);
    pz_gpu_stream_free(gpu, stream);
    pz_gpu_close(gpu);
    gpu = NULL;
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
static pz_status finish(uint64_t *place)
{
    pz_gpu_result result;
    pz_where where = {0, 0, 0};
    pz_status status;

    copy(&result, job.result, sizeof result);
    end();
    status = pz_gpu_result_of(&result, &where);
    *place = where.chunk;
    return status;
}

static pz_ibp_table *random_table(struct rng *rng, pz_ibp_shape *shape)
{
    static uint32_t image[ROW_MAX + 16];
    pz_ibp_table *const table = ibpgen_table(rng, rng_one_in(rng, 3) ? ROW_MAX : 200, shape);

    pz_gpu_ibp_table_fill(table, image);
    copy(device_table, image, pz_gpu_ibp_table_bytes(table));
    end();
    return table;
}

static void check_slots(const pz_ibp_table *table, uint64_t first, size_t count, size_t stride)
{
    uint8_t map[MAP] = {0}, wanted_map[MAP] = {0};
    const size_t R = pz_ibp_row_bytes(table), bytes = (first + count - 1) * stride + R;
    pz_ibp_rows rows = {.size = sizeof rows,
                        .table = table,
                        .data = device_slots,
                        .count = first + count,
                        .data_bytes = bytes,
                        .stride_bytes = stride,
                        .packed = device_map};
    uint64_t place;

    copy(device_map, map, MAP);
    copy(device_raw, raw, count * R);
    CHECK_EQ_U64(pz_gpu_ibp_pack(gpu, &job, table, device_table, device_raw, first, count,
                                 device_slots, stride, device_map),
                 PZ_OK);
    copy(map, device_map, MAP);
    copy(slots, device_slots, bytes);
    CHECK_EQ_U64(pz_gpu_ibp_unpack(gpu, &job, &rows, device_table, first, count, device_raw),
                 PZ_OK);
    copy(back, device_raw, count * R);
    CHECK_EQ_U64(finish(&place), PZ_OK);
    CHECK_MEM(back, raw, count * R);
    CHECK_EQ_U64(pz_ibp_pack(NULL, table, raw, first, count, expected, stride, wanted_map), PZ_OK);
    CHECK_MEM(map, wanted_map, MAP);
    rows.data = slots;
    rows.packed = map;
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, first, count, expected, NULL), PZ_OK);
    CHECK_MEM(expected, raw, count * R);
}

/* Condensed rows by their numbers, one of which may be damaged. */
static void check_fetch(const pz_ibp_table *table, struct rng *rng)
{
    uint64_t offsets[ROWS + 1], index[ROWS], place, bad = 0;
    pz_ibp_rows rows = {.size = sizeof rows,
                        .table = table,
                        .data = slots,
                        .count = ROWS,
                        .data_bytes = ROOM,
                        .offsets = offsets};
    const size_t R = pz_ibp_row_bytes(table);
    pz_status status;

    CHECK_EQ_U64(pz_ibp_condense(NULL, table, raw, 0, ROWS, slots, ROOM, offsets), PZ_OK);
    slots[rng_below(rng, offsets[ROWS])] ^= (uint8_t)(1u << rng_below(rng, 8));
    rows.data_bytes = (size_t)offsets[ROWS];
    for (unsigned i = 0; i < ROWS; i++)
        index[i] = rng_below(rng, ROWS);
    status = pz_ibp_fetch(NULL, &rows, index, ROWS, expected, &bad);
    copy(device_slots, slots, rows.data_bytes);
    copy(device_index, index, sizeof index);
    rows.data = device_slots;
    rows.offsets = device_offsets;
    copy(device_offsets, offsets, sizeof offsets);
    CHECK_EQ_U64(pz_gpu_ibp_fetch(gpu, &job, &rows, device_table, device_index, ROWS, device_raw),
                 PZ_OK);
    copy(back, device_raw, ROWS * R);
    CHECK_EQ_U64(finish(&place), status);
    if (status == PZ_OK)
        CHECK_MEM(back, expected, ROWS * R);
    else if (CHECK(place < ROWS))
        CHECK_EQ_U64(index[place], bad);
}

TEST(slots_rows_and_judgements_of_the_cpu)
{
    struct rng rng = {1};

    open_device();
    for (unsigned round = 0; round < 24 && test_failures == 0; round++) {
        const size_t count = 1 + rng_below(&rng, ROWS);
        pz_ibp_shape shape;
        pz_ibp_table *const table = random_table(&rng, &shape);

        job.groups = round % 3;
        ibpgen_rows(&rng, table, ROWS, raw);
        TEST_CONTEXT("round %u, w %u, b %u, E %u", round, shape.width_bits, shape.group_bits,
                     (unsigned)shape.row_elements);
        check_slots(table, rng_below(&rng, ROWS - count + 1), count,
                    pz_ibp_row_bytes(table) + rng_below(&rng, 16));
        check_fetch(table, &rng);
        pz_ibp_table_free(table);
    }
}

static void check_learning(const pz_ibp_learn_options *options, const uint8_t *rows, size_t count)
{
    pz_ibp_learner *learner = NULL;
    pz_ibp_table *table = NULL, *made = NULL;
    size_t bytes = 0, needed = 0, R;

    CHECK_EQ_U64(pz_gpu_ibp_workspace_bytes(options, &needed), PZ_OK);
    CHECK(needed <= job.workspace_bytes);
    CHECK_EQ_U64(pz_gpu_ibp_learned_bytes(options, &bytes), PZ_OK);
    CHECK_EQ_U64(pz_gpu_ibp_learn(gpu, &job, options, device_raw, count, device_slots), PZ_OK);
    copy(slots, device_slots, bytes);
    end();
    CHECK_EQ_U64(pz_gpu_ibp_table_of(options, count, slots, &table), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_new(options, &learner), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_add(learner, rows, count), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_table(learner, &made), PZ_OK);
    R = pz_ibp_row_bytes(made);
    CHECK_EQ_U64(pz_ibp_table_shape(table).group_bits, pz_ibp_table_shape(made).group_bits);
    CHECK_MEM(pz_ibp_table_masks(table), pz_ibp_table_masks(made), R);
    CHECK_MEM(pz_ibp_table_values(table), pz_ibp_table_values(made), R);
    pz_ibp_table_free(table);
    pz_ibp_table_free(made);
    pz_ibp_learner_free(learner);
}

TEST(tables_of_the_cpu)
{
    static const double thresholds[] = {0, 0.7, 0.99, 1, 2. / 3, 0.51};
    struct rng rng = {2};

    open_device();
    for (unsigned round = 0; round < 18 && test_failures == 0; round++) {
        pz_ibp_shape shape;
        pz_ibp_table *const table = ibpgen_table(&rng, 90, &shape);
        const size_t R = pz_ibp_row_bytes(table), count = 1 + rng_below(&rng, ROOM / R);
        const pz_ibp_learn_options options = {.size = sizeof options,
                                              .width_bits = shape.width_bits,
                                              .group_bits = round % 2 ? shape.group_bits : 0,
                                              .row_elements = shape.row_elements,
                                              .threshold = thresholds[round % 6],
                                              .sample_bytes = round % 4 ? 0 : 100 * R};

        ibpgen_rows(&rng, table, count, raw);
        copy(device_raw, raw, count * R);
        job.groups = round % 3;
        TEST_CONTEXT("round %u, w %u, E %u, %zu rows", round, shape.width_bits,
                     (unsigned)shape.row_elements, count);
        check_learning(&options, raw, count);
        pz_ibp_table_free(table);
    }
}

TEST(wrong_arguments)
{
    static const pz_ibp_shape shape = {16, 16, 8};
    static const uint8_t zeros[16];
    const pz_ibp_learn_options options = {
        .size = sizeof options, .width_bits = 16, .row_elements = 8};
    pz_ibp_table *table = NULL;
    pz_ibp_rows rows = {.size = sizeof rows, .count = 1, .data_bytes = 16, .stride_bytes = 16};
    pz_gpu_job small;
    size_t bytes = 0;

    open_device();
    CHECK_EQ_U64(pz_ibp_table_new(&shape, zeros, zeros, &table), PZ_OK);
    rows.table = table;
    rows.data = device_slots;
    rows.packed = device_map;
    CHECK_EQ_U64(pz_gpu_ibp_prepare(NULL, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_workspace_bytes(NULL, &bytes), PZ_OK);
    small = job;
    small.workspace_bytes = bytes - 1;
    CHECK_EQ_U64(pz_gpu_ibp_unpack(gpu, &small, &rows, device_table, 0, 1, device_raw),
                 PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_unpack(gpu, &job, &rows, device_table, 1, 1, device_raw),
                 PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_unpack(gpu, &job, &rows, device_table, 0, 1, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_fetch(gpu, &job, &rows, device_table, NULL, 1, device_raw),
                 PZ_ERR_ARGUMENT);
    rows.stride_bytes = 15;
    CHECK_EQ_U64(pz_gpu_ibp_unpack(gpu, &job, &rows, device_table, 0, 1, device_raw),
                 PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_pack(gpu, &job, table, device_table, device_raw, 0, 1, device_slots, 15,
                                 device_map),
                 PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_learn(gpu, &job, &options, device_raw, 0, device_slots),
                 PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_learn(gpu, &small, &options, device_raw, 1, device_slots),
                 PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_learned_bytes(NULL, &bytes), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_gpu_ibp_pack(gpu, &job, table, device_table, NULL, 0, 0, NULL, 16, NULL),
                 PZ_OK);
    end();
    pz_ibp_table_free(table);
}

/* Nothing waits, nothing is allocated once the kernels are there, and nothing is left behind. */
TEST(jobs_only_launch)
{
    void *const library = dlopen(PZ_MOCK_CUDA, RTLD_NOW);
    mock_cuda_count *now;
    struct mock_cuda_counts before, after;
    const pz_ibp_learn_options options = {
        .size = sizeof options, .width_bits = 16, .row_elements = 8};

    open_device();
    if (!is_mock()) {
        close_device();
        dlclose(library);
        return;
    }
    *(void **)&now = dlsym(library, "mock_cuda_counts_now");
    CHECK_EQ_U64(pz_gpu_ibp_prepare(gpu, NULL), PZ_OK);
    now(&before);
    CHECK_EQ_U64(pz_gpu_ibp_learn(gpu, &job, &options, device_raw, 100, device_slots), PZ_OK);
    now(&after);
    CHECK_EQ_U64(after.launches, before.launches + 4);
    CHECK_EQ_U64(after.all_allocations, before.all_allocations);
    CHECK_EQ_U64(after.waits, before.waits);
    end();
    close_device();
    now(&after);
    CHECK_EQ_U64(after.allocations + after.modules + after.streams + after.contexts, 0);
    dlclose(library);
}
