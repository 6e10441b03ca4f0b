/* Invariant bit packing against its reference (reference/ibpref.h): tables, rows in slots and
 * condensed, on both instruction sets, with memory behind every buffer that may not be touched. */
#include <stdlib.h>

#include "planezip/ibp.h"
#include "reference/ibpref.h"
#include "support/datagen.h"
#include "support/guard.h"
#include "support/ibpgen.h"
#include "support/test.h"

enum { MAX_ROW_BYTES = 1200, MAX_ROWS = 24, ROUNDS = 300 };

static uint8_t masks[MAX_ROW_BYTES], values[MAX_ROW_BYTES], raw[MAX_ROWS * MAX_ROW_BYTES];
static uint8_t unpacked[MAX_ROWS * MAX_ROW_BYTES], expected[2 * MAX_ROW_BYTES + 64];

static const char *const isas[] = {"scalar", "avx2"};

static size_t bytes_of(const pz_ibp_shape *shape)
{
    return (size_t)shape->row_elements * (shape->width_bits / 8);
}

static struct ibpref_table reference_of(const pz_ibp_shape *shape)
{
    return (struct ibpref_table){shape->width_bits, shape->group_bits, (size_t)shape->row_elements,
                                 masks, values};
}

static pz_ibp_table *random_table(struct rng *rng, size_t most, pz_ibp_shape *shape)
{
    pz_ibp_table *const table = ibpgen_table(rng, most, shape);

    CHECK(table != NULL);
    memcpy(masks, pz_ibp_table_masks(table), bytes_of(shape));
    memcpy(values, pz_ibp_table_values(table), bytes_of(shape));
    CHECK_EQ_U64(pz_ibp_row_bytes(table), bytes_of(shape));
    return table;
}

/* Every row by itself, as the reference packs it, between pages that may not be touched. */
static void check_condensed(const pz_ibp_table *table, const pz_ibp_shape *shape, size_t rows,
                            struct guard *guard)
{
    const struct ibpref_table reference = reference_of(shape);
    const size_t R = bytes_of(shape);

    for (size_t row = 0; row < rows; row++) {
        const size_t bytes = ibpref_pack(&reference, raw + row * R, expected);
        uint64_t offsets[2];
        uint8_t *const packed = guard_place(guard, row % 2 ? GUARD_FRONT : GUARD_BACK, bytes);
        const pz_ibp_rows view = {sizeof view, table, packed, 1, bytes, 0, NULL, offsets};

        CHECK_EQ_U64(pz_ibp_condense(NULL, table, raw + row * R, 0, 1, packed, bytes - 1, offsets),
                     PZ_ERR_SPACE);
        CHECK_EQ_U64(offsets[1], bytes);
        CHECK_EQ_U64(pz_ibp_condense(NULL, table, raw + row * R, 0, 1, packed, bytes, offsets),
                     PZ_OK);
        CHECK_EQ_U64(offsets[1], bytes);
        CHECK_MEM(packed, expected, bytes);
        memset(unpacked, 0xa5, R);
        CHECK_EQ_U64(pz_ibp_unpack(NULL, &view, 0, 1, unpacked, NULL), PZ_OK);
        CHECK_MEM(unpacked, raw + row * R, R);
    }
}

static void check_slots(const pz_ibp_table *table, const pz_ibp_shape *shape, size_t rows,
                        struct rng *rng, struct guard *guard)
{
    const struct ibpref_table reference = reference_of(shape);
    const size_t R = bytes_of(shape), stride = R + rng_below(rng, 20);
    const size_t bytes = (rows - 1) * stride + R;
    uint8_t *const slots = guard_place(guard, GUARD_BACK, bytes);
    uint8_t map[MAX_ROWS / 8 + 1];
    const pz_ibp_rows view = {sizeof view, table, slots, rows, bytes, stride, map, NULL};
    uint64_t index[MAX_ROWS];

    memset(map, 0xa5, sizeof map);
    CHECK_EQ_U64(pz_ibp_pack(NULL, table, raw, 0, rows, slots, stride, map), PZ_OK);
    for (size_t row = 0; row < rows; row++) {
        const size_t expected_bytes = ibpref_pack(&reference, raw + row * R, expected);

        CHECK_EQ_U64(map[row / 8] >> row % 8 & 1, expected_bytes < R);
        CHECK_MEM(slots + row * stride, expected, expected_bytes);
        index[row] = rng_below(rng, rows);
    }
    CHECK_EQ_U64(pz_ibp_fetch(NULL, &view, index, rows, unpacked, NULL), PZ_OK);
    for (size_t row = 0; row < rows; row++)
        CHECK_MEM(unpacked + row * R, raw + index[row] * R, R);
}

TEST(rows_are_those_of_the_reference)
{
    struct rng rng = {1};
    struct guard guard = {0};

    for (unsigned round = 0; round < ROUNDS; round++) {
        const size_t rows = 1 + rng_below(&rng, MAX_ROWS);
        pz_ibp_shape shape;
        pz_ibp_table *const table = random_table(&rng, MAX_ROW_BYTES, &shape);

        ibpgen_rows(&rng, table, rows, raw);
        for (unsigned i = 0; i < 2; i++) {
            if (pz_isa_select(isas[i]) != PZ_OK)
                continue;
            TEST_CONTEXT("round %u, %s, w %u, b %u, E %u", round, isas[i], shape.width_bits,
                         shape.group_bits, (unsigned)shape.row_elements);
            check_condensed(table, &shape, rows, &guard);
            check_slots(table, &shape, rows, &rng, &guard);
        }
        pz_ibp_table_free(table);
    }
    guard_drop(&guard);
}

static pz_status status_of(enum ibpref_error error)
{
    static const pz_status statuses[] = {PZ_OK, PZ_ERR_TRUNCATED, PZ_ERR_TRAILING, PZ_ERR_PADDING};

    return statuses[error];
}

/* Any bytes as a row: library and reference say the same. */
static void check_damaged(const pz_ibp_table *table, const pz_ibp_shape *shape, const uint8_t *row,
                          size_t bytes, bool is_slot)
{
    const struct ibpref_table reference = reference_of(shape);
    const size_t R = bytes_of(shape);
    const uint64_t offsets[2] = {0, bytes};
    const uint8_t map = 1;
    const pz_ibp_rows condensed = {sizeof condensed, table, row, 1, bytes, 0, NULL, offsets};
    const pz_ibp_rows slot = {sizeof slot, table, row, 1, bytes, R, &map, NULL};
    size_t used = is_slot ? R - 1 : bytes;
    uint64_t bad = 7;
    const pz_status status = status_of(ibpref_unpack(&reference, row, &used, !is_slot, expected));

    CHECK_EQ_U64(pz_ibp_unpack(NULL, is_slot ? &slot : &condensed, 0, 1, unpacked, &bad), status);
    if (status == PZ_OK)
        CHECK_MEM(unpacked, expected, R);
    else
        CHECK_EQ_U64(bad, 0);
}

TEST(damaged_rows_are_refused_as_by_the_reference)
{
    struct rng rng = {2};
    struct guard guard = {0};

    for (unsigned round = 0; round < 20 * ROUNDS; round++) {
        pz_ibp_shape shape;
        pz_ibp_table *const table =
            random_table(&rng, round % 3 == 0 ? MAX_ROW_BYTES : 100, &shape);
        const size_t R = bytes_of(&shape);
        const bool is_slot = rng_one_in(&rng, 2);
        struct ibpref_table reference = reference_of(&shape);
        size_t bytes;
        uint8_t *row;

        ibpgen_rows(&rng, table, 1, raw);
        bytes = ibpref_pack(&reference, raw, expected);
        if (!is_slot && bytes > 1 && rng_one_in(&rng, 2))
            bytes -= rng_below(&rng, 2);
        else if (!is_slot && bytes + 1 < R)
            bytes++;
        bytes = is_slot ? R : bytes == R ? R - 1 : bytes;
        row = guard_copy(&guard, GUARD_BACK, expected, bytes);
        for (uint64_t flips = rng_below(&rng, 4); flips > 0 && bytes > 0; flips--)
            row[rng_below(&rng, rng_one_in(&rng, 2) ? bytes : (bytes + 7) / 8)] ^=
                (uint8_t)(1u << rng_below(&rng, 8));
        for (unsigned i = 0; i < 2; i++)
            if (pz_isa_select(isas[i]) == PZ_OK) {
                TEST_CONTEXT("round %u, %s, w %u, b %u, E %u, %zu bytes", round, isas[i],
                             shape.width_bits, shape.group_bits, (unsigned)shape.row_elements,
                             bytes);
                check_damaged(table, &shape, row, bytes, is_slot);
            }
        pz_ibp_table_free(table);
    }
    guard_drop(&guard);
}

TEST(offsets_and_numbers_are_not_trusted)
{
    static const uint8_t row_masks[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, row_values[8];
    static const pz_ibp_shape shape = {16, 16, 4};
    uint8_t data[16] = {0};
    uint64_t offsets[3] = {0, 8, 16}, bad, index = 2;
    pz_ibp_rows rows = {sizeof rows, NULL, data, 2, sizeof data, 0, NULL, offsets};
    pz_ibp_table *table = NULL;

    CHECK_EQ_U64(pz_ibp_table_new(&shape, row_masks, row_values, &table), PZ_OK);
    rows.table = table;
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 0, 2, unpacked, &bad), PZ_OK);
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 1, 2, unpacked, &bad), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, UINT64_MAX, 2, unpacked, &bad), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_fetch(NULL, &rows, &index, 1, unpacked, &bad), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(bad, 2);
    offsets[1] = 9;
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 0, 1, unpacked, &bad), PZ_ERR_RANGE);
    offsets[1] = 17;
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 1, 1, unpacked, &bad), PZ_ERR_RANGE);
    CHECK_EQ_U64(bad, 1);
    offsets[2] = UINT64_MAX;
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 1, 1, unpacked, &bad), PZ_ERR_RANGE);
    rows.offsets = NULL;
    rows.packed = data;
    rows.stride_bytes = 9; /* the second slot would end behind the data */
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 0, 1, unpacked, &bad), PZ_ERR_ARGUMENT);
    rows.stride_bytes = 7;
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 0, 1, unpacked, &bad), PZ_ERR_ARGUMENT);
    rows.stride_bytes = 8;
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 0, 2, unpacked, &bad), PZ_OK);
    pz_ibp_table_free(table);
}

TEST(nothing_is_no_argument)
{
    uint8_t stored[64] = {0};
    uint64_t offsets[2] = {0, 0};
    struct rng rng = {10};
    pz_ibp_shape shape;
    pz_ibp_table *const table = random_table(&rng, 60, &shape), *other = NULL;
    const pz_ibp_rows nowhere = {sizeof nowhere, table, NULL, 1, 0, 0, NULL, offsets};
    size_t bytes;

    CHECK_EQ_U64(pz_ibp_unpack(NULL, &nowhere, 0, 1, unpacked, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_unpack(NULL, NULL, 0, 1, unpacked, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_learner_add(NULL, stored, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_learner_table(NULL, &other), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_table_save(NULL, stored, sizeof stored), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_table_save(table, NULL, 1000), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_table_stored_bytes(NULL, 40, &bytes, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_table_stored_bytes(stored, 40, NULL, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_table_load(NULL, 60, &other, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_table_load(stored, 60, NULL, NULL), PZ_ERR_ARGUMENT);
    pz_ibp_learner_free(NULL);
    pz_ibp_cache_free(NULL);
    pz_ibp_table_free(table);
}

TEST(a_row_is_replaced_where_it_is)
{
    struct rng rng = {3};
    pz_ibp_shape shape;
    pz_ibp_table *const table = random_table(&rng, 60, &shape);
    const size_t R = bytes_of(&shape);
    uint8_t slots[MAX_ROWS * 60], map[MAX_ROWS / 8] = {0};
    const pz_ibp_rows view = {sizeof view, table, slots, MAX_ROWS, sizeof slots, R, map, NULL};

    ibpgen_rows(&rng, table, MAX_ROWS, raw);
    for (unsigned round = 0; round < 200; round++) {
        const uint64_t first = rng_below(&rng, MAX_ROWS);
        const size_t count = 1 + rng_below(&rng, MAX_ROWS - first);

        if (round != 0) {
            rng_fill(&rng, raw + first * R, count * R / 2);
            CHECK_EQ_U64(pz_ibp_pack(NULL, table, raw + first * R, first, count, slots, R, map),
                         PZ_OK);
        } else {
            CHECK_EQ_U64(pz_ibp_pack(NULL, table, raw, 0, MAX_ROWS, slots, R, map), PZ_OK);
        }
        CHECK_EQ_U64(pz_ibp_unpack(NULL, &view, 0, MAX_ROWS, unpacked, NULL), PZ_OK);
        CHECK_MEM(unpacked, raw, MAX_ROWS * R);
    }
    pz_ibp_table_free(table);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static pz_status table_status(enum ibpref_error error)
{
    switch (error) {
    case IBPREF_OK:
        return PZ_OK;
    case IBPREF_TABLE_MAGIC:
        return PZ_ERR_FORMAT;
    case IBPREF_TABLE_CHECK:
        return PZ_ERR_CHECK;
    case IBPREF_TABLE_SIZE:
        return PZ_ERR_TRUNCATED;
    default:
        return PZ_ERR_MEANING;
    }
}

TEST(stored_tables_are_those_of_the_reference)
{
    struct rng rng = {4};
    uint8_t stored[2 * MAX_ROW_BYTES + 48], ours[2 * MAX_ROW_BYTES + 48];

    for (unsigned round = 0; round < ROUNDS; round++) {
        pz_ibp_shape shape;
        pz_ibp_table *const table = random_table(&rng, MAX_ROW_BYTES, &shape), *loaded = NULL;
        const struct ibpref_table reference = reference_of(&shape);
        const size_t bytes = pz_ibp_table_bytes(table);
        size_t told = 0;

        ibpref_table_write(&reference, stored);
        CHECK_EQ_U64(pz_ibp_table_save(table, ours, bytes - 1), PZ_ERR_SPACE);
        CHECK_EQ_U64(pz_ibp_table_save(table, ours, bytes), PZ_OK);
        CHECK_MEM(ours, stored, bytes);
        CHECK_EQ_U64(pz_ibp_table_stored_bytes(stored, PZ_IBP_START_BYTES, &told, NULL), PZ_OK);
        CHECK_EQ_U64(told, bytes);
        CHECK_EQ_U64(pz_ibp_table_load(stored, bytes, &loaded, NULL), PZ_OK);
        CHECK_MEM(pz_ibp_table_masks(loaded), masks, bytes_of(&shape));
        CHECK_MEM(pz_ibp_table_values(loaded), values, bytes_of(&shape));
        CHECK_EQ_U64(pz_ibp_table_shape(loaded).group_bits, shape.group_bits);
        pz_ibp_table_free(loaded);
        pz_ibp_table_free(table);
    }
}

TEST(damaged_tables_are_refused)
{
    struct rng rng = {5};
    pz_ibp_shape shape;
    pz_ibp_table *const table = random_table(&rng, 40, &shape), *loaded = NULL;
    const size_t bytes = pz_ibp_table_bytes(table);
    uint8_t stored[128 + 1] = {0};
    pz_diag diag;

    CHECK_EQ_U64(pz_ibp_table_save(table, stored, bytes), PZ_OK);
    CHECK_EQ_U64(pz_ibp_table_load(stored, bytes + 1, &loaded, &diag), PZ_ERR_TRAILING);
    for (size_t cut = 0; cut < bytes; cut++)
        CHECK_EQ_U64(pz_ibp_table_load(stored, cut, &loaded, &diag), PZ_ERR_TRUNCATED);
    for (size_t k = 0; k < 8 * bytes; k++) {
        struct ibpref_table reference;

        stored[k / 8] ^= (uint8_t)(1u << k % 8);
        const pz_status status = pz_ibp_table_load(stored, bytes, &loaded, &diag);
        const pz_status told = table_status(ibpref_table_read(stored, bytes, &reference));

        TEST_CONTEXT("bit %zu: %.200s", k, diag.text);
        /* A longer or shorter row is a wrong size, and which of the two the reference leaves out.
         */
        CHECK(status == told || (told == PZ_ERR_TRUNCATED && status == PZ_ERR_TRAILING));
        CHECK(status != PZ_OK);
        stored[k / 8] ^= (uint8_t)(1u << k % 8);
    }
    pz_ibp_table_free(table);
}

TEST(shapes_and_values_have_to_fit)
{
    static const pz_ibp_shape wrong[] = {{0, 16, 1},
                                         {12, 16, 1},
                                         {16, 8, 1},
                                         {16, 48, 1},
                                         {16, 1024, 1},
                                         {16, 16, 0},
                                         {8, 8, PZ_IBP_ROW_MAX_BYTES + 1},
                                         {64, 64, UINT64_MAX}};
    static const uint8_t zero[8], one[8] = {1};
    static const pz_ibp_shape shape = {64, 64, 1};
    pz_ibp_table *table = NULL;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_EQ_U64(pz_ibp_table_new(&wrong[i], zero, zero, &table), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_table_new(&shape, zero, one, &table), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_ibp_table_new(&shape, one, one, &table), PZ_OK);
    pz_ibp_table_free(table);
    pz_ibp_table_free(NULL);
}

/* ---- Learning -------------------------------------------------------------------------------- */

static pz_ibp_table *learn(uint32_t w, uint32_t b, uint64_t E, double threshold, const void *rows,
                           size_t count)
{
    const pz_ibp_learn_options options = {sizeof options, w, b, E, threshold, 0};
    pz_ibp_learner *learner = NULL;
    pz_ibp_table *table = NULL;

    if (!CHECK_EQ_U64(pz_ibp_learner_new(&options, &learner), PZ_OK))
        return NULL;
    CHECK_EQ_U64(pz_ibp_learner_table(learner, &table), PZ_ERR_ARGUMENT); /* no rows yet */
    CHECK_EQ_U64(pz_ibp_learner_add(learner, rows, count), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_table(learner, &table), PZ_OK);
    pz_ibp_learner_free(learner);
    return table;
}

/* 1000 rows of 4 elements: in element 0 all bits agree, in 1 the upper half, in 2 the upper half
 * but in every tenth row, 3 is random. */
static void fill_known(uint16_t rows[1000][4])
{
    struct rng rng = {6};

    for (unsigned i = 0; i < 1000; i++) {
        rows[i][0] = 0x1234;
        rows[i][1] = (uint16_t)(0xab00 | (rng_next(&rng) & 0xff));
        rows[i][2] = (uint16_t)(i % 10 == 0 ? rng_next(&rng) : 0xcd00 | (rng_next(&rng) & 0xff));
        rows[i][3] = (uint16_t)rng_next(&rng);
    }
}

TEST(what_is_learned_is_what_is_there)
{
    static uint16_t rows[1000][4];
    static const uint16_t all[] = {0xffff, 0xff00, 0xff00, 0}, strict[] = {0xffff, 0xff00, 0, 0};
    static const uint16_t are[] = {0x1234, 0xab00, 0xcd00, 0};
    pz_ibp_table *table;

    fill_known(rows);
    table = learn(16, 16, 4, 0, rows, 1000);
    CHECK_MEM(pz_ibp_table_masks(table), all, sizeof all);
    CHECK_MEM(pz_ibp_table_values(table), are, sizeof are);
    pz_ibp_table_free(table);
    table = learn(16, 16, 4, 1, rows, 1000);
    CHECK_MEM(pz_ibp_table_masks(table), strict, sizeof strict);
    pz_ibp_table_free(table);
}

TEST(the_size_of_groups_is_the_one_that_packs_best)
{
    enum { E = 100, ROWS = 400 };
    static uint8_t rows[ROWS * E * 8];
    struct rng rng = {7};

    for (uint32_t w = 8; w <= 64; w *= 2)
        for (unsigned kind = 0; kind < DATAGEN_MIXED; kind++) {
            uint64_t least = UINT64_MAX, chosen;
            pz_ibp_table *table;
            pz_ibp_stats stats;

            datagen_fill(&rng, (enum datagen_kind)kind, w, rows, (size_t)ROWS * E * w / 8);
            for (uint32_t b = w; b <= PZ_IBP_GROUP_MAX_BITS; b *= 2) {
                table = learn(w, b, E, 0, rows, ROWS);
                CHECK_EQ_U64(pz_ibp_measure(NULL, table, rows, ROWS, &stats), PZ_OK);
                least = stats.packed_bytes < least ? stats.packed_bytes : least;
                pz_ibp_table_free(table);
            }
            table = learn(w, 0, E, 0, rows, ROWS);
            CHECK_EQ_U64(pz_ibp_measure(NULL, table, rows, ROWS, &stats), PZ_OK);
            chosen = stats.packed_bytes;
            TEST_CONTEXT("w %u, kind %u: %u bytes, least %u", w, kind, (unsigned)chosen,
                         (unsigned)least);
            /* A fiftieth is what larger groups may cost; raw rows and whole bytes another one. */
            CHECK(chosen <= least + stats.raw_bytes / 50 + least / 50);
            CHECK(stats.raw_bytes == stats.rows * E * w / 8);
            CHECK(stats.packed_bytes <= stats.raw_bytes);
            pz_ibp_table_free(table);
        }
}

TEST(a_sample_is_every_nth_row_however_rows_come)
{
    enum { ROWS = 20000, R = 64 };
    static uint8_t rows[ROWS * R];
    const pz_ibp_learn_options options = {sizeof options, 32, 0, R / 4, 0, 1000 * R};
    pz_ibp_learner *at_once = NULL, *in_parts = NULL;
    pz_ibp_table *first = NULL, *second = NULL;
    struct rng rng = {8};

    datagen_fill(&rng, DATAGEN_FLOATS, 32, rows, sizeof rows);
    CHECK_EQ_U64(pz_ibp_learner_new(&options, &at_once), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_new(&options, &in_parts), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_add(at_once, rows, ROWS), PZ_OK);
    for (size_t at = 0, count; at < ROWS; at += count) {
        count = rng_below(&rng, 300);
        count = count < ROWS - at ? count : ROWS - at;
        CHECK_EQ_U64(pz_ibp_learner_add(in_parts, rows + at * R, count), PZ_OK);
    }
    CHECK_EQ_U64(pz_ibp_learner_table(at_once, &first), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_table(in_parts, &second), PZ_OK);
    CHECK_MEM(pz_ibp_table_masks(first), pz_ibp_table_masks(second), R);
    CHECK_MEM(pz_ibp_table_values(first), pz_ibp_table_values(second), R);
    pz_ibp_table_free(first);
    pz_ibp_table_free(second);
    pz_ibp_learner_free(at_once);
    pz_ibp_learner_free(in_parts);
}

/* ---- Threads --------------------------------------------------------------------------------- */

enum { ROWS = 20011 };

/* Of many faults of two kinds, in any order, several threads tell that which a single one does. */
static void find_first_fault(pz_threads *threads, const pz_ibp_rows *rows, struct rng *rng,
                             void *to)
{
    static uint64_t index[ROWS];
    uint64_t alone = 0, together = 0;
    const uint64_t from = rng_below(rng, ROWS);
    pz_status status;

    for (size_t i = 0; i < ROWS; i++)
        index[i] = i < from || rng_below(rng, 64) != 0 ? ROWS / 4
                   : rng_below(rng, 2) != 0            ? ROWS + i
                                                       : ROWS / 2 - 1;
    status = pz_ibp_fetch(NULL, rows, index, ROWS, to, &alone);
    CHECK_EQ_U64(pz_ibp_fetch(threads, rows, index, ROWS, to, &together), status);
    CHECK_EQ_U64(together, alone);
    if (status != PZ_OK)
        CHECK_EQ_U64(status, alone < ROWS ? PZ_ERR_RANGE : PZ_ERR_ARGUMENT);
}

TEST(threads_give_the_same_rows)
{
    enum { R = 192 };
    const pz_threads_options three = {sizeof three, 3, NULL, NULL};
    uint8_t *const many = malloc(ROWS * R), *const slots = malloc(ROWS * R);
    uint8_t *const again = malloc(ROWS * R), *const map = calloc(1, ROWS / 8 + 2);
    uint64_t *const offsets = malloc((ROWS + 1) * sizeof *offsets);
    pz_threads *threads = NULL;
    pz_ibp_table *table;
    pz_ibp_stats alone, together;
    struct rng rng = {9};
    uint64_t bad = 0;

    CHECK_EQ_U64(pz_threads_new(&three, &threads), PZ_OK);
    datagen_fill(&rng, DATAGEN_FLOATS, 32, many, ROWS * R);
    table = learn(32, 0, R / 4, 0, many, ROWS);
    CHECK_EQ_U64(pz_ibp_measure(NULL, table, many, ROWS, &alone), PZ_OK);
    CHECK_EQ_U64(pz_ibp_measure(threads, table, many, ROWS, &together), PZ_OK);
    CHECK_MEM(&alone, &together, sizeof alone);

    CHECK_EQ_U64(pz_ibp_pack(threads, table, many, 0, 5, slots, R, map), PZ_OK);
    CHECK_EQ_U64(pz_ibp_pack(threads, table, many + 5 * R, 5, ROWS - 5, slots, R, map), PZ_OK);
    const pz_ibp_rows in_slots = {sizeof in_slots, table, slots, ROWS, ROWS * R, R, map, NULL};
    CHECK_EQ_U64(pz_ibp_unpack(threads, &in_slots, 0, ROWS, again, NULL), PZ_OK);
    CHECK_MEM(again, many, ROWS * R);

    CHECK_EQ_U64(pz_ibp_condense(threads, table, many, 0, 5, slots, ROWS * R, offsets), PZ_OK);
    CHECK_EQ_U64(pz_ibp_condense(threads, table, many + 5 * R, 5, ROWS - 5, slots,
                                 (size_t)offsets[5] - 1, offsets),
                 PZ_ERR_RANGE);
    CHECK_EQ_U64(pz_ibp_condense(threads, table, many + 5 * R, 5, ROWS - 5, slots,
                                 (size_t)alone.packed_bytes, offsets),
                 PZ_OK);
    CHECK_EQ_U64(offsets[ROWS], alone.packed_bytes);
    memset(again, 0xff, ROWS * R);
    CHECK_EQ_U64(
        pz_ibp_condense(NULL, table, many, 0, ROWS, again, (size_t)alone.packed_bytes, offsets),
        PZ_OK);
    CHECK_EQ_U64(offsets[ROWS], alone.packed_bytes);
    CHECK_MEM(again, slots, (size_t)alone.packed_bytes);
    pz_ibp_rows condensed = {sizeof condensed, table, slots, ROWS, ROWS * R, 0, NULL, offsets};
    memset(again, 0, ROWS * R);
    CHECK_EQ_U64(pz_ibp_unpack(threads, &condensed, 0, ROWS, again, NULL), PZ_OK);
    CHECK_MEM(again, many, ROWS * R);
    offsets[ROWS / 2] = 0;
    CHECK_EQ_U64(pz_ibp_unpack(threads, &condensed, 0, ROWS, again, &bad), PZ_ERR_RANGE);
    CHECK_EQ_U64(bad, ROWS / 2 - 1);
    for (unsigned round = 0; round < 200; round++)
        find_first_fault(threads, &condensed, &rng, again);

    pz_ibp_table_free(table);
    pz_threads_free(threads);
    free(many);
    free(slots);
    free(again);
    free(map);
    free(offsets);
}

/* ---- Cache ----------------------------------------------------------------------------------- */

enum { CACHED_ROWS = 600, CACHED_BYTES = 192 };

/* Rows of which few are used most; what the cache gives is what is there. */
static pz_ibp_cache_stats use_cache(const pz_ibp_rows *rows, const uint8_t *expected_rows,
                                    const pz_ibp_cache_options *options)
{
    pz_ibp_cache_stats stats = {.size = sizeof stats};
    struct rng rng = {17};
    pz_ibp_cache *cache = NULL;

    CHECK_EQ_U64(pz_ibp_cache_new(rows, options, &cache), PZ_OK);
    for (unsigned round = 0; round < 4000; round++) {
        uint64_t index[3];

        for (size_t i = 0; i < 3; i++)
            index[i] = rng_below(&rng, 1 + rng_below(&rng, 1 + rng_below(&rng, CACHED_ROWS)));
        CHECK_EQ_U64(pz_ibp_cache_fetch(cache, index, 3, unpacked, NULL), PZ_OK);
        for (size_t i = 0; i < 3; i++)
            CHECK_MEM(unpacked + i * CACHED_BYTES, expected_rows + index[i] * CACHED_BYTES,
                      CACHED_BYTES);
    }
    CHECK_EQ_U64(pz_ibp_cache_get_stats(cache, &stats), PZ_OK);
    CHECK_EQ_U64(stats.lookups, 12000);
    pz_ibp_cache_free(cache);
    return stats;
}

TEST(a_cache_of_packed_rows_has_more_of_them)
{
    static uint8_t many[CACHED_ROWS * CACHED_BYTES], slots[CACHED_ROWS * CACHED_BYTES];
    static uint64_t offsets[CACHED_ROWS + 1];
    uint8_t map[CACHED_ROWS / 8 + 1];
    struct rng rng = {9};
    pz_ibp_cache_options options = {.size = sizeof options, .budget_bytes = 60 * CACHED_BYTES};
    pz_ibp_cache *cache;
    uint64_t bad = 0, wrong[2] = {3, CACHED_ROWS};

    rng_fill(&rng, many, sizeof many);
    for (size_t i = 1; i < sizeof many; i += 2)
        if (i / CACHED_BYTES % 50 != 7)
            many[i] = (uint8_t)((many[i] & 15) | 0x30);
    pz_ibp_table *const table = learn(16, 0, CACHED_BYTES / 2, 0, many, CACHED_ROWS);
    CHECK_EQ_U64(pz_ibp_condense(NULL, table, many, 0, CACHED_ROWS, slots, sizeof slots, offsets),
                 PZ_OK);
    const pz_ibp_rows condensed = {sizeof condensed, table, slots, CACHED_ROWS,
                                   sizeof slots,     0,     NULL,  offsets};
    const pz_ibp_cache_stats packed = use_cache(&condensed, many, &options);
    options.transfer_bytes = 32;
    const pz_ibp_cache_stats in_lines = use_cache(&condensed, many, &options);
    options.unpacked = true;
    const pz_ibp_cache_stats plain = use_cache(&condensed, many, &options);

    CHECK_EQ_U64(plain.places, 60);
    CHECK_EQ_U64(packed.place_bytes, 160); /* 3/4 of 192, the map, and up to a multiple of 16 */
    CHECK_EQ_U64(packed.places, 72);
    CHECK(packed.hits > plain.hits + 200);
    CHECK(packed.hits == in_lines.hits && in_lines.moved_bytes > packed.moved_bytes);
    CHECK_EQ_U64(in_lines.moved_bytes % 32, 0);

    options = (pz_ibp_cache_options){.size = sizeof options, .budget_bytes = sizeof many};
    CHECK_EQ_U64(use_cache(&condensed, many, &options).places, CACHED_ROWS);
    CHECK_EQ_U64(pz_ibp_pack(NULL, table, many, 0, CACHED_ROWS, slots, CACHED_BYTES, map), PZ_OK);
    const pz_ibp_rows in_slots = {sizeof in_slots, table,        slots, CACHED_ROWS,
                                  sizeof slots,    CACHED_BYTES, map,   NULL};
    options.budget_bytes = 60 * CACHED_BYTES;
    CHECK_EQ_U64(use_cache(&in_slots, many, &options).hits, packed.hits);
    options.budget_bytes = options.place_bytes = CACHED_BYTES; /* a single place */
    CHECK_EQ_U64(use_cache(&in_slots, many, &options).places, 1);

    CHECK_EQ_U64(pz_ibp_cache_new(&in_slots, &options, &cache), PZ_OK);
    CHECK_EQ_U64(pz_ibp_cache_fetch(cache, wrong, 2, unpacked, &bad), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(bad, CACHED_ROWS);
    pz_ibp_cache_free(cache);
    options.transfer_bytes = UINT32_MAX;
    CHECK_EQ_U64(use_cache(&in_slots, many, &options).moved_bytes % UINT32_MAX, 0);
    CHECK(use_cache(&in_slots, many, &options).moved_bytes > UINT32_MAX);
    options.transfer_bytes = (size_t)UINT32_MAX + 1;
    if (SIZE_MAX > UINT32_MAX)
        CHECK_EQ_U64(pz_ibp_cache_new(&in_slots, &options, &cache), PZ_ERR_ARGUMENT);
    options.transfer_bytes = 0;
    options.budget_bytes--;
    CHECK_EQ_U64(pz_ibp_cache_new(&in_slots, &options, &cache), PZ_ERR_ARGUMENT);
    pz_ibp_table_free(table);
}
