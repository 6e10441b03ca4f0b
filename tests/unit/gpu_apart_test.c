/* The device kernels with lanes that run apart: each is a coroutine, and between two barriers they
 * go on in a random order.  So a barrier that is missing shows, and lanes that do not meet do.
 *
 * PZ_APART_W is the one width to test, where mutants are tried (tests/gpu/mutants.py); else all. */
#include "support/test.h"

#include <stdlib.h>
#include <ucontext.h>

#include "planezip/gpu_ibp.h"
#include "support/chunkgen2.h"
#include "support/datagen.h"
#include "support/ibpgen.h"
#include "support/rng.h"

/* Static analysis has seen the other widths in support/lanes.c. */
#if defined(__clang_analyzer__) && !defined(PZ_APART_W)
#define PZ_APART_W 16
#endif

enum {
    LANES = 32,
    STACK_BYTES = 1 << 18,
    CHUNKS = CHUNKGEN2_KINDS,
    TILES = 1,
    PIECE_BYTES = 8192,
    PIECES = CHUNKS / 2 + 2
};

static ucontext_t lane_at[LANES], scheduler;
static char stacks[LANES][STACK_BYTES];
static volatile uint32_t this_lane;
static volatile bool is_done[LANES];
static void (*kernel)(void);
static struct rng order;

static void meet(void)
{
    swapcontext(&lane_at[this_lane], &scheduler);
}

static void run_lane(void)
{
    kernel();
    is_done[this_lane] = true;
}

static void shuffle_lanes(uint32_t *lanes)
{
    for (uint32_t i = 0; i < LANES; i++) {
        const uint32_t other = (uint32_t)rng_below(&order, i + 1);

        lanes[i] = lanes[other];
        lanes[other] = i;
    }
}

/* Each lane up to its next barrier, or its end; returns how many have come to their end. */
static unsigned run_lanes(void)
{
    uint32_t lanes[LANES];
    unsigned done = 0;

    shuffle_lanes(lanes);
    for (uint32_t i = 0; i < LANES; i++) {
        this_lane = lanes[i];
        if (!is_done[this_lane])
            swapcontext(&scheduler, &lane_at[this_lane]);
        done += is_done[this_lane];
    }
    return done;
}

/* A group of a kernel. */
static void launch(void (*body)(void))
{
    unsigned done = 0;

    kernel = body;
    for (uint32_t i = 0; i < LANES; i++) {
        is_done[i] = false;
        getcontext(&lane_at[i]);
        lane_at[i].uc_stack.ss_sp = stacks[i];
        lane_at[i].uc_stack.ss_size = STACK_BYTES;
        lane_at[i].uc_link = &scheduler;
        makecontext(&lane_at[i], run_lane, 0);
    }
    while (done == 0)
        done = run_lanes();
    CHECK_EQ_U64(done, LANES); /* or some lanes wait for others that have gone */
}

#define PZI_LANES_APART
#define PZ_THIS_LANE this_lane
#define PZ_SYNC_WARP() meet()
#define PZ_GROUP_ID 0
#define PZ_GROUP_COUNT 1
#define PZ_LOCAL_STRUCT(type, name) static type name

#include "codec/width.h"
#include "gpu/ibp_learn.h"
#include "gpu/ibp_pack.h"
#include "gpu/ibp_unpack.h"
#include "gpu/place_kernels.h"
#include "gpu/tables.h"

#ifdef PZ_APART_W
#define PZ_W PZ_APART_W
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#else
#define PZ_W 8
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 16
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 32
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 64
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#endif

/* ---- Arguments of kernels, the same for all lanes ------------------------------------------- */

static uint8_t tables[PZI_TABLES_BYTES], raw[CHUNKS * PZ_CHUNK_BYTES], back[sizeof raw];
static uint8_t slots[sizeof raw], stream[CHUNKS * (PZ_CHUNK_BYTES + 2)], expected[sizeof stream];
static uint16_t sizes[CHUNKS];
static uint8_t in_pieces[PIECES][PIECE_BYTES];
static uint64_t pieces[PIECES];
static uint64_t sums[TILES], offsets[CHUNKS + 1], state[PZI_STATE_WORDS], result[PZI_STATE_WORDS];
static uint64_t chunks, raw_bytes, coded_bytes;
static uint32_t is_encoding;
static pz_mode mode;

#define CODEC(w)                                                                                  \
    static void encode_w##w(void)                                                                 \
    {                                                                                             \
        pz_encode_w##w(tables, mode.format, mode.encodings, mode.exponent_bits, raw, raw_bytes,   \
                       slots, sizes);                                                             \
    }                                                                                             \
    static void decode_w##w(void)                                                                 \
    {                                                                                             \
        pz_decode_w##w(tables, mode.format, mode.exponent_bits, stream, offsets, back, raw_bytes, \
                       state);                                                                    \
    }

#ifdef PZ_APART_W
#define CODEC_OF(w) CODEC(w)
CODEC_OF(PZ_APART_W)
#else
CODEC(8)
CODEC(16)
CODEC(32)
CODEC(64)
#endif

static void tiles(void)
{
    pz_tiles(is_encoding ? (const uint8_t *)sizes : stream, chunks, sums);
}

static void tops(void)
{
    pz_tops(chunks, is_encoding, coded_bytes, sums, offsets, state);
}

static void places(void)
{
    pz_offsets(is_encoding ? (const uint8_t *)sizes : stream, raw_bytes,
               is_encoding ? UINT64_MAX : coded_bytes, sums, offsets, state);
}

static void gather(void)
{
    pz_gather(slots, (const uint8_t *)sizes, chunks, offsets, state, stream);
}

static void gather_pieces(void)
{
    pz_gather_pieces(slots, (const uint8_t *)sizes, chunks, offsets, state, pieces, PIECE_BYTES);
}

static void finish(void)
{
    pz_finish(state, result);
}

/* ---- Streams -------------------------------------------------------------------------------- */

static void place(uint32_t encoding, uint64_t bytes)
{
    is_encoding = encoding;
    coded_bytes = bytes;
    launch(tiles);
    launch(tops);
    launch(places);
}

/* The same stream in pieces that stand in another order. */
static bool comes_in_pieces(size_t bytes)
{
    for (unsigned i = 0; i < PIECES; i++)
        pieces[i] = (uintptr_t)in_pieces[PIECES - 1 - i];
    launch(gather_pieces);
    for (size_t at = 0; at < bytes; at += PIECE_BYTES)
        if (!CHECK_MEM(in_pieces[PIECES - 1 - at / PIECE_BYTES], expected + at,
                       bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES))
            return false;
    return true;
}

static bool encodes(void (*encode)(void), size_t bytes)
{
    memset(stream, 0, sizeof stream);
    launch(encode);
    place(1, sizeof stream);
    launch(gather);
    launch(finish);
    return CHECK_EQ_U64(result[PZI_STATE_BYTES], bytes) && CHECK_MEM(stream, expected, bytes) &&
           comes_in_pieces(bytes);
}

static bool decodes(void (*decode)(void), size_t bytes)
{
    static uint8_t wanted[sizeof raw];
    pz_where where;
    const pz_status status = pz_stream_decode(mode, stream, bytes, wanted, raw_bytes, &where);

    memset(back, 0, sizeof back);
    place(0, bytes);
    launch(decode);
    if (status != PZ_OK)
        return CHECK_EQ_U64(state[PZI_STATE_CHUNKS], where.chunk << 8 | status);
    return CHECK_EQ_U64(state[PZI_STATE_CHUNKS], UINT64_MAX) && CHECK_MEM(back, wanted, raw_bytes);
}

/* A few flipped bits behind the headers. */
static void damage(struct rng *rng, size_t bytes)
{
    const size_t from = 2 * (size_t)chunks;

    memcpy(stream, expected, bytes);
    for (unsigned i = 0; i < 2; i++)
        stream[from + rng_below(rng, bytes - from)] ^= (uint8_t)(1u << rng_below(rng, 8));
}

/* One of the lowest bits of each payload: faults that show at once, chunk after chunk. */
static void damage_heads(struct rng *rng, size_t bytes, unsigned bits)
{
    memcpy(stream, expected, bytes);
    for (unsigned i = 0; i < CHUNKS; i++)
        stream[offsets[i]] ^= (uint8_t)(1u << rng_below(rng, bits));
}

/* The first failure is enough: where lanes do not meet, nothing is sure any more. */
static void check(void (*encode)(void), void (*decode)(void), pz_mode with)
{
    struct rng rng = {with.width_bits};
    size_t bytes = 0;

    mode = with;
    order.state = 1;
    raw_bytes = sizeof raw - 1001;
    chunks = CHUNKS;
    TEST_CONTEXT("w%u e%u, format %u", mode.width_bits, mode.exponent_bits, mode.format);
    for (unsigned i = 0; i < CHUNKS; i++)
        if (mode.format == PZ_FORMAT_1)
            datagen_fill(&rng, (enum datagen_kind)(i % DATAGEN_KINDS), mode.width_bits,
                         raw + i * PZ_CHUNK_BYTES, PZ_CHUNK_BYTES);
        else
            chunkgen2_fill(&rng, (enum chunkgen2_kind)(i % CHUNKGEN2_KINDS), mode.width_bits,
                           mode.exponent_bits, raw + i * PZ_CHUNK_BYTES);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, raw_bytes, expected, sizeof expected, &bytes), PZ_OK);
    if (!encodes(encode, bytes) || !decodes(decode, bytes))
        return;
    for (unsigned i = 0; i < 8; i++) {
        if (i < 2)
            damage(&rng, bytes);
        else
            damage_heads(&rng, bytes, i % 2 ? 8 : 2);
        if (!decodes(decode, bytes))
            return;
    }
}

static void check_width(void (*encode)(void), void (*decode)(void), unsigned w)
{
    const unsigned e = w == 8 ? 4 : w == 64 ? 11 : 8;
    pz_mode first = {0};

    pzi_gpu_tables(tables);
    CHECK_EQ_U64(pz_mode_named("planezip", w, &first), PZ_OK);
    check(encode, decode, first);
    if (test_failures == 0 && w < 64)
        check(encode, decode, (pz_mode){w, PZ_LEVEL_NORMAL, PZ_FORMAT_2, 0});
    if (test_failures == 0)
        check(encode, decode, (pz_mode){w, PZ_LEVEL_NORMAL, PZ_FORMAT_2, e});
}

TEST(lanes_that_run_apart)
{
#ifdef PZ_APART_W
    check_width(PZ_PASTE(encode_w, PZ_APART_W), PZ_PASTE(decode_w, PZ_APART_W), PZ_APART_W);
#else
    check_width(encode_w8, decode_w8, 8);
    check_width(encode_w16, decode_w16, 16);
    check_width(encode_w32, decode_w32, 32);
    check_width(encode_w64, decode_w64, 64);
#endif
}

/* ---- Packed rows ---------------------------------------------------------------------------- */

enum { ROWS = 11, ROW_MAX = 6000 };

static uint8_t rows_raw[ROWS * ROW_MAX], rows_back[sizeof rows_raw], rows_map[2];
static uint8_t rows_slots[sizeof rows_raw], rows_wanted[sizeof rows_raw];
static uint32_t rows_table[ROW_MAX + 16], rows_ones[8 * 200], rows_counts[4 * 127 * 15];
static uint64_t rows_learned[1000], row_bytes, learned_rows;
static uint32_t width_log;

static void begin_rows(void)
{
    pz_ibp_begin(state);
}

static void unpack_rows(void)
{
    pz_ibp_unpack_rows(rows_table, 0, rows_slots, rows_map, ROWS, row_bytes, NULL, 0, ROWS,
                       rows_back, state);
}

static void pack_rows(void)
{
    pz_ibp_pack_rows(rows_table, rows_raw, 0, ROWS, rows_slots, row_bytes, rows_map);
}

static void clear_ones(void)
{
    pz_ibp_clear(rows_ones, sizeof rows_ones / 4);
}

static void clear_counts(void)
{
    pz_ibp_clear(rows_counts, sizeof rows_counts / 4);
}

static void count_ones(void)
{
    pz_ibp_ones(rows_raw, (uint32_t)row_bytes, 1, learned_rows, rows_ones);
}

static void count_levels(void)
{
    pz_ibp_levels(rows_raw, (uint32_t)row_bytes, 1, learned_rows, width_log, 0, rows_ones,
                  rows_counts);
}

static void choose_masks(void)
{
    pz_ibp_choose((uint32_t)row_bytes, learned_rows, 0, rows_ones, rows_counts, rows_learned,
                  (uint8_t *)(rows_learned + 7 * ((row_bytes + 63) / 64)));
}

/* Slots and bit map of the CPU. */
static bool are_packed(const pz_ibp_table *table)
{
    for (unsigned row = 0; row < ROWS; row++) {
        const uint8_t *const slot = rows_slots + row * row_bytes;
        uint64_t ends[2];

        CHECK_EQ_U64(pz_ibp_condense(NULL, table, rows_raw + row * row_bytes, 0, 1, rows_wanted,
                                     row_bytes, ends),
                     PZ_OK);
        if (!CHECK_MEM(slot, rows_wanted, ends[1]) ||
            !CHECK_EQ_U64(rows_map[row / 8] >> row % 8 & 1, ends[1] < row_bytes))
            return false;
    }
    return true;
}

/* Packed rows, and what a flipped bit makes of each. */
static void check_rows(const pz_ibp_table *table, struct rng *rng)
{
    const pz_ibp_rows rows = {.size = sizeof rows,
                              .table = table,
                              .data = rows_slots,
                              .count = ROWS,
                              .data_bytes = sizeof rows_slots,
                              .stride_bytes = row_bytes,
                              .packed = rows_map};
    uint64_t bad = 0;
    pz_status status;

    launch(pack_rows);
    if (!are_packed(table))
        return;
    launch(begin_rows);
    launch(unpack_rows);
    CHECK_EQ_U64(state[PZI_STATE_CHUNKS], UINT64_MAX);
    if (!CHECK_MEM(rows_back, rows_raw, ROWS * row_bytes))
        return;
    CHECK_EQ_U64(pz_ibp_unpack(NULL, &rows, 0, ROWS, rows_wanted, NULL), PZ_OK);
    CHECK_MEM(rows_wanted, rows_raw, ROWS * row_bytes);
    rows_map[0] ^= 0xa5;
    rows_slots[3 * row_bytes + rng_below(rng, row_bytes)] ^= (uint8_t)(1u << rng_below(rng, 8));
    status = pz_ibp_unpack(NULL, &rows, 0, ROWS, rows_wanted, &bad);
    launch(begin_rows);
    launch(unpack_rows);
    CHECK_EQ_U64(state[PZI_STATE_CHUNKS], status == PZ_OK ? UINT64_MAX : bad << 8 | status);
}

static void check_learning(const pz_ibp_shape *shape)
{
    const pz_ibp_learn_options options = {.size = sizeof options,
                                          .width_bits = shape->width_bits,
                                          .row_elements = shape->row_elements};
    pz_ibp_learner *learner = NULL;
    pz_ibp_table *table = NULL, *wanted = NULL;

    width_log = (uint32_t)__builtin_ctz(shape->width_bits);
    launch(clear_ones);
    launch(clear_counts);
    launch(count_ones);
    launch(count_levels);
    launch(choose_masks);
    CHECK_EQ_U64(pz_gpu_ibp_table_of(&options, (size_t)learned_rows, rows_learned, &table), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_new(&options, &learner), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_add(learner, rows_raw, (size_t)learned_rows), PZ_OK);
    CHECK_EQ_U64(pz_ibp_learner_table(learner, &wanted), PZ_OK);
    CHECK_MEM(pz_ibp_table_masks(table), pz_ibp_table_masks(wanted), row_bytes);
    CHECK_MEM(pz_ibp_table_values(table), pz_ibp_table_values(wanted), row_bytes);
    pz_ibp_table_free(table);
    pz_ibp_table_free(wanted);
    pz_ibp_learner_free(learner);
}

TEST(rows_of_lanes_that_run_apart)
{
    static const size_t most[] = {200, 1200, ROW_MAX};
    struct rng rng = {5};

    for (unsigned round = 0; round < 12 && test_failures == 0; round++) {
        pz_ibp_shape shape;
        pz_ibp_table *const table = ibpgen_table(&rng, most[round % 3], &shape);

        row_bytes = pz_ibp_row_bytes(table);
        TEST_CONTEXT("round %u, w %u, b %u, E %u", round, shape.width_bits, shape.group_bits,
                     (unsigned)shape.row_elements);
        pz_gpu_ibp_table_fill(table, rows_table);
        ibpgen_rows(&rng, table, ROWS, rows_raw);
        check_rows(table, &rng);
        learned_rows = 150;
        if (row_bytes <= 200 && test_failures == 0) {
            ibpgen_rows(&rng, table, (size_t)learned_rows, rows_raw);
            check_learning(&shape);
        }
        pz_ibp_table_free(table);
    }
}
