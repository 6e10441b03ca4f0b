/* The kernels for packed rows (src/gpu/ibp_*.h) as plain C, lanes in both orders: slots and rows
 * are those of planezip/ibp.h, damaged ones are judged as there, with memory around every row that
 * may not be touched, and tables that are learned are the same. */
#include "support/test.h"

#include <stdlib.h>

#include "planezip/gpu_ibp.h"
#include "support/guard.h"
#include "support/ibpgen.h"
#include "support/lanes.h"

enum { ROW_MAX = 12000, ROWS = 20, SPACE = 2 * ROWS * (ROW_MAX + 64) };

static uint8_t raw[SPACE], slots[SPACE], expected[SPACE], back[SPACE];
static uint32_t image[8 + ROW_MAX];
static uint64_t state[3];
static enum lanes_order order;
static unsigned groups;

static pz_ibp_table *random_table(struct rng *rng, size_t most, pz_ibp_shape *shape)
{
    pz_ibp_table *const table = ibpgen_table(rng, most, shape);

    CHECK(pz_gpu_ibp_table_bytes(table) <= sizeof image);
    pz_gpu_ibp_table_fill(table, image);
    order = (enum lanes_order)rng_below(rng, LANES_ORDERS);
    groups = 1 + (unsigned)rng_below(rng, 3);
    return table;
}

static void launch(const char *kernel, void *const *arguments)
{
    CHECK(lanes_launch(order, kernel, groups, arguments));
}

static void pack(uint8_t *from, uint64_t first, uint64_t count, uint8_t *to, uint64_t stride,
                 uint8_t *map)
{
    uint32_t *table = image;

    launch("pz_ibp_pack_rows", (void *[]){&table, &from, &first, &count, &to, &stride, &map});
}

/* The status of the first row that is wrong; *bad is its place among the rows that are wanted. */
static pz_status unpack(const pz_ibp_rows *rows, const uint64_t *index, uint64_t first,
                        uint64_t count, uint8_t *to, uint64_t *bad)
{
    const void *places = rows->offsets != NULL ? (const void *)rows->offsets : rows->packed;
    const void *data = rows->data;
    uint64_t extent = rows->offsets != NULL ? rows->data_bytes : rows->stride_bytes;
    uint64_t stored = rows->count, *state_at = state;
    uint32_t kind = (rows->offsets != NULL ? 1 : 0) | (index != NULL ? 2 : 0), *table = image;

    launch("pz_ibp_begin", (void *[]){&state_at});
    launch("pz_ibp_unpack_rows", (void *[]){&table, &kind, &data, &places, &stored, &extent, &index,
                                            &first, &count, &to, &state_at});
    CHECK_EQ_U64(state[0], UINT64_MAX);
    *bad = state[1] >> 8;
    return state[1] == UINT64_MAX ? PZ_OK : (pz_status)(state[1] & 0xff);
}

static void check_pack(const pz_ibp_table *table, struct rng *rng, size_t count)
{
    const size_t R = pz_ibp_row_bytes(table), stride = R + rng_below(rng, 9);
    const uint64_t first = rng_below(rng, ROWS - count + 1);
    const size_t shift = rng_below(rng, 4), from = rng_below(rng, 4);
    uint8_t map[ROWS / 8 + 1], wanted[sizeof map];

    memmove(raw + from, raw, count * R);
    memset(map, 0x5a, sizeof map);
    memcpy(wanted, map, sizeof map);
    memset(slots, 0xee, shift + ROWS * stride);
    memset(expected, 0xee, shift + ROWS * stride);
    CHECK_EQ_U64(pz_ibp_pack(NULL, table, raw + from, first, count, back, stride, wanted), PZ_OK);
    for (uint64_t row = first; row < first + count; row++) {
        uint64_t offsets[2];

        CHECK_EQ_U64(pz_ibp_condense(NULL, table, raw + from + (row - first) * R, 0, 1,
                                     expected + shift + row * stride, R, offsets),
                     PZ_OK);
        memset(expected + shift + row * stride + offsets[1], 0xee, R - offsets[1]);
    }
    pack(raw + from, first, count, slots + shift, stride, map);
    CHECK_MEM(map, wanted, sizeof map);
    CHECK_MEM(slots, expected, shift + ROWS * stride);
    memmove(raw, raw + from, count * R);
}

static void check_condensed(const pz_ibp_table *table, struct rng *rng, size_t count)
{
    const size_t R = pz_ibp_row_bytes(table), shift = rng_below(rng, 4);
    uint64_t offsets[ROWS + 1], index[ROWS], bad;
    const pz_ibp_rows rows = {.size = sizeof rows,
                              .table = table,
                              .data = expected + shift,
                              .count = count,
                              .data_bytes = SPACE - shift,
                              .offsets = offsets};

    CHECK_EQ_U64(
        pz_ibp_condense(NULL, table, raw, 0, count, expected + shift, SPACE - shift, offsets),
        PZ_OK);
    CHECK_EQ_U64(unpack(&rows, NULL, 0, count, back + shift, &bad), PZ_OK);
    CHECK_MEM(back + shift, raw, count * R);
    for (size_t k = 0; k < count; k++)
        index[k] = rng_below(rng, count);
    CHECK_EQ_U64(unpack(&rows, index, 0, count, back, &bad), PZ_OK);
    for (size_t k = 0; k < count; k++)
        CHECK_MEM(back + k * R, raw + index[k] * R, R);
}

/* Rows of a few bytes, of some hundreds, and of which the map comes in parts. */
TEST(rows_are_those_of_the_cpu)
{
    static const size_t most[] = {40, 1200, ROW_MAX};
    struct rng rng = {1};

    for (unsigned round = 0; round < 150; round++) {
        const size_t kind = round % 16 == 0 ? 2 : round % 2;
        const size_t count = 1 + rng_below(&rng, kind == 2 ? 3 : ROWS);
        pz_ibp_shape shape;
        pz_ibp_table *const table = random_table(&rng, most[kind], &shape);

        ibpgen_rows(&rng, table, count, raw);
        TEST_CONTEXT("round %u, w %u, b %u, E %u, %zu rows", round, shape.width_bits,
                     shape.group_bits, (unsigned)shape.row_elements, count);
        check_pack(table, &rng, count);
        check_condensed(table, &rng, count);
        pz_ibp_table_free(table);
        if (test_failures != 0)
            return;
    }
}

/* A row at every place within a piece, packed, raw, or of nothing but invariant bits. */
static void check_places(const pz_ibp_shape *shape, uint8_t mask)
{
    const size_t R = (size_t)shape->row_elements * (shape->width_bits / 8);
    uint8_t *const masks = malloc(2 * R), *const values = masks + R;
    pz_ibp_table *table = NULL;
    struct rng rng = {R};

    memset(masks, mask, R);
    memset(values, 0, R);
    CHECK_EQ_U64(pz_ibp_table_new(shape, masks, values, &table), PZ_OK);
    pz_gpu_ibp_table_fill(table, image);
    for (size_t skew = 0; skew < 128 && test_failures == 0; skew += R < 4096 ? 1 : 13) {
        uint64_t offsets[2] = {0, 0}, bad;
        const pz_ibp_rows rows = {.size = sizeof rows,
                                  .table = table,
                                  .data = expected + skew,
                                  .count = 1,
                                  .data_bytes = R,
                                  .offsets = offsets};

        TEST_CONTEXT("w %u, b %u, E %u, mask %u, skew %zu", shape->width_bits, shape->group_bits,
                     (unsigned)shape->row_elements, mask, skew);
        rng_fill(&rng, raw, R);
        for (size_t i = 0; i < R; i++)
            raw[i] &= (uint8_t)(i % 199 == skew ? 0xff : ~mask);
        CHECK_EQ_U64(pz_ibp_condense(NULL, table, raw, 0, 1, expected + skew, R, offsets), PZ_OK);
        CHECK_EQ_U64(unpack(&rows, NULL, 0, 1, back, &bad), PZ_OK);
        CHECK_MEM(back, raw, R);
    }
    pz_ibp_table_free(table);
    free(masks);
}

TEST(every_place_and_the_smallest_rows)
{
    static const pz_ibp_shape shapes[] = {{8, 8, 1},    {8, 16, 3},    {8, 512, 5},
                                          {16, 16, 33}, {64, 512, 16}, {32, 32, 256},
                                          {8, 8, 5000}, {16, 16, 4097}};

    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        groups = 1;
        order = (enum lanes_order)(i % LANES_ORDERS);
        check_places(&shapes[i], 0);
        check_places(&shapes[i], 0x71);
        check_places(&shapes[i], 0xff);
    }
}

/* ---- Damage --------------------------------------------------------------------------------- */

/* Any bytes as a row, with nothing around them that may be touched. */
static void check_damaged(const pz_ibp_table *table, const uint8_t *row, size_t bytes, bool is_slot)
{
    const size_t R = pz_ibp_row_bytes(table);
    const uint64_t offsets[2] = {0, bytes};
    const uint8_t map = 1;
    pz_ibp_rows rows = {.size = sizeof rows, .table = table, .data = row, .count = 1};
    uint64_t bad = 7;
    pz_status status;

    rows.data_bytes = bytes;
    rows.stride_bytes = R;
    rows.packed = &map;
    rows.offsets = is_slot ? NULL : offsets;
    status = pz_ibp_unpack(NULL, &rows, 0, 1, expected, NULL);
    CHECK_EQ_U64(unpack(&rows, NULL, 0, 1, back, &bad), status);
    if (status == PZ_OK)
        CHECK_MEM(back, expected, R);
    else
        CHECK_EQ_U64(bad, 0);
}

/* A packed row with a few changes, cut or with bytes behind it; returns how many it has. */
static size_t damage(const pz_ibp_table *table, struct rng *rng, bool is_slot, uint8_t *row)
{
    const size_t R = pz_ibp_row_bytes(table);
    uint64_t offsets[2];
    size_t bytes;

    memset(row, 0, R);
    CHECK_EQ_U64(pz_ibp_condense(NULL, table, raw, 0, 1, row, R, offsets), PZ_OK);
    bytes = (size_t)offsets[1];
    for (uint64_t flips = rng_below(rng, 4); flips > 0; flips--)
        row[rng_below(rng, rng_one_in(rng, 2) ? bytes : (bytes + 7) / 8)] ^=
            (uint8_t)(1u << rng_below(rng, 8));
    if (is_slot)
        return R;
    if (rng_one_in(rng, 2))
        return bytes - rng_below(rng, rng_one_in(rng, 4) ? bytes : 2);
    return bytes + (bytes + 1 < R && rng_one_in(rng, 2));
}

TEST(damaged_rows_are_judged_as_by_the_cpu)
{
    struct rng rng = {2};
    struct guard guard = {0};

    for (unsigned round = 0; round < 3000 && test_failures == 0; round++) {
        pz_ibp_shape shape;
        pz_ibp_table *const table = random_table(&rng,
                                                 round % 64 == 0  ? ROW_MAX
                                                 : round % 8 == 0 ? 700
                                                                  : 100,
                                                 &shape);
        const bool is_slot = rng_one_in(&rng, 2);
        size_t bytes;

        ibpgen_rows(&rng, table, 1, raw);
        bytes = damage(table, &rng, is_slot, slots);
        TEST_CONTEXT("round %u, w %u, b %u, E %u, %zu bytes", round, shape.width_bits,
                     shape.group_bits, (unsigned)shape.row_elements, bytes);
        check_damaged(table, guard_copy(&guard, (enum guard_side)(round % 2), slots, bytes), bytes,
                      is_slot);
        pz_ibp_table_free(table);
    }
    guard_drop(&guard);
}

/* Offsets and numbers are not trusted, and the first row that is wrong is told. */
TEST(offsets_and_numbers_are_judged_as_by_the_cpu)
{
    struct rng rng = {3};

    for (unsigned round = 0; round < 300 && test_failures == 0; round++) {
        pz_ibp_shape shape;
        pz_ibp_table *const table = random_table(&rng, 60, &shape);
        uint64_t offsets[ROWS + 1], index[ROWS], bad = 0, wanted = 0;
        pz_ibp_rows rows = {.size = sizeof rows,
                            .table = table,
                            .data = slots,
                            .count = ROWS,
                            .data_bytes = ROWS * 60,
                            .offsets = offsets};
        pz_status status;

        ibpgen_rows(&rng, table, ROWS, raw);
        CHECK_EQ_U64(pz_ibp_condense(NULL, table, raw, 0, ROWS, slots, SPACE, offsets), PZ_OK);
        rows.data_bytes = (size_t)offsets[ROWS];
        for (unsigned i = 0; i < ROWS; i++)
            index[i] = i < 10 ? i : rng_below(&rng, ROWS + rng_one_in(&rng, 10));
        offsets[rng_below(&rng, ROWS + 1)] += rng_below(&rng, 3) * (rng_one_in(&rng, 2) ? 1 : ~0u);
        offsets[rng_below(&rng, ROWS + 1)] -= rng_below(&rng, 3);
        TEST_CONTEXT("round %u, w %u, b %u, E %u", round, shape.width_bits, shape.group_bits,
                     (unsigned)shape.row_elements);
        status = pz_ibp_fetch(NULL, &rows, index, ROWS, expected, &wanted);
        CHECK_EQ_U64(unpack(&rows, index, 0, ROWS, back, &bad), status);
        if (status != PZ_OK)
            CHECK_EQ_U64(index[bad < ROWS ? bad : 0], wanted);
        pz_ibp_table_free(table);
    }
}

/* ---- Learning ------------------------------------------------------------------------------- */

static pz_ibp_table *learned_on_cpu(const pz_ibp_learn_options *options, size_t count)
{
    pz_ibp_learner *learner = NULL;
    pz_ibp_table *table = NULL;

    CHECK_EQ_U64(pz_ibp_learner_new(options, &learner), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_add(learner, raw, count), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_table(learner, &table), PZ_OK);
    pz_ibp_learner_free(learner);
    return table;
}

/* As the job has it: planezip/gpu_ibp.h through a driver is gpu_ibp_test.c. */
static pz_ibp_table *learned_by_kernels(const pz_ibp_learn_options *options, size_t count,
                                        uint64_t step, uint32_t least)
{
    const size_t R = (size_t)options->row_elements * (options->width_bits / 8);
    const size_t columns = (R + 63) / 64;
    uint64_t words = 8 * R + 127 * 15 * columns, kept = (count - 1) / step + 1;
    uint32_t row_bytes = (uint32_t)R, width_log = (uint32_t)__builtin_ctz(options->width_bits);
    uint32_t *ones = malloc(4 * words), *counts = ones + 8 * R;
    uint64_t *saved = malloc(columns * 56 + 8 * R);
    uint8_t *values = (uint8_t *)saved + columns * 56, *rows = raw;
    pz_ibp_table *table = NULL;

    launch("pz_ibp_clear", (void *[]){&ones, &words});
    launch("pz_ibp_ones", (void *[]){&rows, &row_bytes, &step, &kept, &ones});
    launch("pz_ibp_levels",
           (void *[]){&rows, &row_bytes, &step, &kept, &width_log, &least, &ones, &counts});
    launch("pz_ibp_choose", (void *[]){&row_bytes, &kept, &least, &ones, &counts, &saved, &values});
    CHECK_EQ_U64(pz_gpu_ibp_table_of(options, count, saved, &table), PZ_OK);
    free(saved);
    free(ones);
    return table;
}

static void check_same(const pz_ibp_table *table, const pz_ibp_table *wanted)
{
    const size_t R = pz_ibp_row_bytes(wanted);

    CHECK_EQ_U64(pz_ibp_table_shape(table).group_bits, pz_ibp_table_shape(wanted).group_bits);
    CHECK_MEM(pz_ibp_table_masks(table), pz_ibp_table_masks(wanted), R);
    CHECK_MEM(pz_ibp_table_values(table), pz_ibp_table_values(wanted), R);
}

TEST(tables_are_those_of_the_cpu)
{
    struct rng rng = {4};

    for (unsigned round = 0; round < 60 && test_failures == 0; round++) {
        pz_ibp_shape shape;
        pz_ibp_table *made = random_table(&rng, round % 8 == 0 ? 300 : 70, &shape), *table, *wanted;
        const size_t R = pz_ibp_row_bytes(made);
        const size_t room = 64 + rng_below(&rng, 1200), count = 1 + rng_below(&rng, 3000);
        const bool has_threshold = rng_one_in(&rng, 3);
        const pz_ibp_learn_options options = {.size = sizeof options,
                                              .width_bits = shape.width_bits,
                                              .group_bits = round % 2 ? shape.group_bits : 0,
                                              .row_elements = shape.row_elements,
                                              .threshold = has_threshold ? 0.75 : 0,
                                              .sample_bytes = room * R};
        uint64_t step = 1;

        while ((count + step - 1) / step > room)
            step *= 2;
        ibpgen_rows(&rng, made, count, raw);
        TEST_CONTEXT("round %u, w %u, b %u, E %u, %zu rows, step %u", round, shape.width_bits,
                     shape.group_bits, (unsigned)shape.row_elements, count, (unsigned)step);
        wanted = learned_on_cpu(&options, count);
        table = learned_by_kernels(
            &options, count, step,
            has_threshold ? (uint32_t)((3 * ((count - 1) / step + 1) + 3) / 4) : 0);
        if (CHECK(table != NULL && wanted != NULL))
            check_same(table, wanted);
        pz_ibp_table_free(table);
        pz_ibp_table_free(wanted);
        pz_ibp_table_free(made);
    }
}
