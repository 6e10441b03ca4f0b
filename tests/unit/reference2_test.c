/* The reference of format 2 against the golden files, against itself and against streams that it
 * would not write.  Uses nothing of the library. */
#include "test.h"

#include <stdlib.h>

#include "datagen.h"
#include "golden.h"
#include "pzref2.h"
#include "rng.h"
#include "streamgen2.h"

enum { MAX_RAW = 3 * 4096 };

static const struct {
    unsigned w, e;
} types[] = {{8, 0},  {8, 4},  {8, 5},  {16, 0}, {16, 5},
             {16, 8}, {32, 0}, {32, 8}, {64, 0}, {64, 11}};

enum { TYPES = sizeof types / sizeof *types };

/* The words of tests/golden/bad2.txt for the checks of the reference. */
static const char *const faults[PZREF2_ERRORS] = {
    [PZREF2_OK] = "ok",
    [PZREF2_HEADERS_TRUNCATED] = "headers_truncated",
    [PZREF2_HEADER_ABOVE_RAW] = "header_above_raw",
    [PZREF2_PAYLOAD_TRUNCATED] = "payload_truncated",
    [PZREF2_TRAILING_BYTES] = "trailing_bytes",
    [PZREF2_CHUNK_OVERRUN] = "chunk_overrun",
    [PZREF2_CHUNK_LEFTOVER] = "chunk_leftover",
    [PZREF2_MODE_WITHOUT_EXPONENT] = "mode_without_exponent",
    [PZREF2_BASE] = "base",
    [PZREF2_CONSTANT_BITS] = "constant_bits",
    [PZREF2_MAP] = "map",
    [PZREF2_EMPTY_MASK] = "empty_mask",
    [PZREF2_MASK] = "mask",
    [PZREF2_CLASS_BELOW_ZERO] = "class_below_zero",
    [PZREF2_ESCAPED_EXPONENT] = "escaped_exponent",
    [PZREF2_ESCAPE_WIDTH] = "escape_width",
    [PZREF2_BLOCK_BITS] = "block_bits",
    [PZREF2_BLOCK_BITS_NOT_EXACT] = "block_bits_not_exact",
    [PZREF2_BLOCK_PADDING] = "block_padding",
    [PZREF2_QUOTIENT] = "quotient",
    [PZREF2_PLANE_PADDING] = "plane_padding",
    [PZREF2_SYMBOL_PADDING] = "symbol_padding",
};

/* A copy of exactly that size, so that a sanitizer sees a read beyond its end. */
static uint8_t *exact_copy(const uint8_t *bytes, size_t count)
{
    uint8_t *copy = malloc(count > 0 ? count : 1);

    memcpy(copy, bytes, count);
    return copy;
}

/* Decodes into memory of exactly raw_bytes; the result equals raw if that is given and valid. */
static enum pzref2_error decode_exact(unsigned w, unsigned e, const uint8_t *coded,
                                      size_t coded_bytes, const uint8_t *raw, size_t raw_bytes,
                                      int64_t *chunk)
{
    uint8_t *source = exact_copy(coded, coded_bytes);
    uint8_t *back = malloc(raw_bytes > 0 ? raw_bytes : 1);
    enum pzref2_error error;

    memset(back, 0xEE, raw_bytes);
    error = pzref2_decode(w, e, source, coded_bytes, back, raw_bytes, chunk);
    if (error == PZREF2_OK && raw != NULL)
        CHECK_MEM(back, raw, raw_bytes);
    free(back);
    free(source);
    return error;
}

static void check_level(unsigned type, bool fast, const uint8_t *raw, size_t raw_bytes)
{
    static uint8_t coded[MAX_RAW + 64];
    unsigned w = types[type].w, e = types[type].e;
    size_t bound = pzref2_bound(raw_bytes), bytes;
    struct pzref2_sizes sizes = pzref2_measure(w, e, fast, raw, raw_bytes);
    int64_t chunk = -7;

    memset(coded + bound, 0x5A, 16);
    bytes = pzref2_encode(w, e, fast, raw, raw_bytes, coded);
    CHECK(bytes <= bound);
    CHECK_EQ_U64(coded[bound], 0x5A);
    CHECK_EQ_U64(bytes, sizes.coded_bytes);
    CHECK_EQ_U64(sizes.chunks, (raw_bytes + 4095) / 4096);
    CHECK_EQ_U64(sizes.modes[PZREF2_E] + sizes.modes[PZREF2_C] + sizes.modes[PZREF2_I] +
                     sizes.modes[PZREF2_D],
                 sizes.chunks);
    CHECK_EQ_U64(decode_exact(w, e, coded, bytes, raw, raw_bytes, &chunk), PZREF2_OK);
    CHECK_EQ_I64(chunk, -7);
}

static void check_round_trip(unsigned type, const uint8_t *raw, size_t raw_bytes)
{
    check_level(type, false, raw, raw_bytes);
    check_level(type, true, raw, raw_bytes);
}

TEST(bound)
{
    CHECK_EQ_U64(pzref2_bound(0), 0);
    CHECK_EQ_U64(pzref2_bound(1), 3);
    CHECK_EQ_U64(pzref2_bound(4096), 4098);
    CHECK_EQ_U64(pzref2_bound(4097), 4101);
}

TEST(pairs)
{
    unsigned valid = 0;

    for (unsigned w = 0; w < 130; w++)
        for (unsigned e = 0; e < 70; e++)
            valid += pzref2_valid(w, e);
    CHECK_EQ_U64(valid, TYPES);
    for (unsigned type = 0; type < TYPES; type++)
        CHECK(pzref2_valid(types[type].w, types[type].e));
}

/* All sizes up to 300 and every one about the ends of blocks and chunks. */
static bool is_tested_size(size_t bytes)
{
    return bytes <= 300 || bytes % 128 == 1 || bytes % 128 == 127 ||
           (bytes >= 4090 && bytes <= 4104);
}

TEST(round_trip_of_sizes)
{
    static uint8_t raw[MAX_RAW];
    struct rng rng = {1};

    for (size_t bytes = 0; bytes <= 4200; bytes++) {
        if (!is_tested_size(bytes))
            continue;
        for (unsigned type = 0; type < TYPES; type++) {
            unsigned kind = (unsigned)rng_below(&rng, DATAGEN_KINDS);

            TEST_CONTEXT("%zu bytes of kind %u, w%u e%u", bytes, kind, types[type].w,
                         types[type].e);
            datagen_fill(&rng, (enum datagen_kind)kind, types[type].w, raw, bytes);
            check_round_trip(type, raw, bytes);
        }
    }
}

TEST(round_trip_of_kinds)
{
    static uint8_t raw[MAX_RAW];
    struct rng rng = {2};

    for (unsigned type = 0; type < TYPES; type++) {
        for (unsigned kind = 0; kind < DATAGEN_KINDS; kind++) {
            TEST_CONTEXT("kind %u, w%u e%u", kind, types[type].w, types[type].e);
            datagen_fill(&rng, (enum datagen_kind)kind, types[type].w, raw, 1000);
            check_round_trip(type, raw, 1000);
        }
    }
}

static void put_symbol(uint8_t *raw, unsigned w, size_t index, uint64_t symbol)
{
    for (unsigned k = 0; k < w / 8; k++)
        raw[index * (w / 8) + k] = (uint8_t)(symbol >> (8 * k));
}

enum corner {
    CORNER_ONES,
    CORNER_MINUS_ZERO,
    CORNER_BOTH_ZEROS,
    CORNER_INFINITY,
    CORNER_NANS,
    CORNER_SUBNORMAL,
    CORNER_ALTERNATING, /* zero and one */
    CORNER_LONE_FIRST,  /* zeros but for the first symbol, or the last */
    CORNER_LONE_LAST,
    CORNER_LONE_ZERO,
    CORNER_EXPONENTS, /* each exponent in turn */
    CORNER_EXTREMES,  /* differences of 2^(w-1) */
    CORNERS
};

/* Symbol i of n.  Without exponents these are just numbers. */
static uint64_t corner_symbol(enum corner corner, unsigned type, size_t i, size_t n)
{
    unsigned w = types[type].w, e = types[type].e, m = w - 1 - e;
    uint64_t sign = UINT64_C(1) << (w - 1), all = sign - 1 + sign;
    uint64_t infinity = sign - (UINT64_C(1) << m);
    uint64_t one = e > 0 ? ((UINT64_C(1) << (e - 1)) - 1) << m : 1;

    switch (corner) {
    case CORNER_ONES:
        return all;
    case CORNER_MINUS_ZERO:
        return sign;
    case CORNER_BOTH_ZEROS:
        return i % 3 ? sign : 0;
    case CORNER_INFINITY:
        return i % 5 ? infinity : infinity | sign;
    case CORNER_NANS:
        return (infinity | (i * UINT64_C(0x9E3779B97F4A7C15) >> (65 - m % 64)) | 1) ^
               i % 2 << (w - 1);
    case CORNER_SUBNORMAL:
        return (i * 77 + 1) % (m < 16 ? UINT64_C(1) << m : 65521);
    case CORNER_ALTERNATING:
        return i % 2 ? one : 0;
    case CORNER_LONE_FIRST:
        return i == 0 ? one + 1 : 0;
    case CORNER_LONE_LAST:
        return i == n - 1 ? all : 0;
    case CORNER_LONE_ZERO:
        return i == n / 2 ? 0 : one;
    case CORNER_EXPONENTS:
        return i << m & all;
    default:
        return i % 2 ? all : 0;
    }
}

TEST(round_trip_of_corners)
{
    static const size_t sizes[] = {128, 600, 4096, 4096 + 131};
    static uint8_t raw[MAX_RAW];

    for (unsigned type = 0; type < TYPES; type++) {
        for (unsigned corner = 0; corner < CORNERS; corner++) {
            for (unsigned k = 0; k < 4; k++) {
                unsigned w = types[type].w;
                size_t n = sizes[k] * 8 / w + 1;

                for (size_t i = 0; i < n; i++)
                    put_symbol(raw, w, i, corner_symbol((enum corner)corner, type, i, n));
                TEST_CONTEXT("corner %u, %zu bytes, w%u e%u", corner, sizes[k], w, types[type].e);
                check_round_trip(type, raw, sizes[k]);
            }
        }
    }
}

/* All bfloat16 symbols, upwards and in an order that jumps. */
TEST(round_trip_of_all_bfloat16)
{
    static uint8_t raw[4096];

    for (unsigned step = 1; step < 50000; step += 40502) {
        for (unsigned from = 0; from < 65536; from += 2048) {
            for (unsigned i = 0; i < 2048; i++)
                put_symbol(raw, 16, i, (from + i) * step & 0xFFFF);
            TEST_CONTEXT("step %u from %u", step, from);
            check_round_trip(5, raw, 4096);
        }
    }
}

/* Random data grows by the header of each chunk and no more. */
TEST(incompressible)
{
    static uint8_t raw[MAX_RAW];
    struct rng rng = {3};

    rng_fill(&rng, raw, MAX_RAW);
    for (unsigned type = 0; type < TYPES; type++) {
        struct pzref2_sizes sizes =
            pzref2_measure(types[type].w, types[type].e, false, raw, MAX_RAW);

        TEST_CONTEXT("w%u e%u", types[type].w, types[type].e);
        CHECK_EQ_U64(sizes.raw_chunks, 3);
        CHECK_EQ_U64(sizes.coded_bytes, MAX_RAW + 6);
        CHECK(sizes.payload_bytes >= MAX_RAW);
        check_round_trip(type, raw, MAX_RAW);
    }
}

/* docs/format2.md, "Worked example". */
TEST(worked_example)
{
    static const uint16_t floats[] = {0x3F80, 0xBFC0, 0x3F40, 0x3FA0, 0x4000, 0xBF00,
                                      0x3FE0, 0x3D80, 0x4040, 0x2B8F, 0x3FC8, 0xBF66};
    static const uint16_t integers[] = {1000, 1001, 1003, 1003, 1004, 1090, 1006, 1007,
                                        1008, 1008, 1009, 1011, 1012, 1013, 1015, 1016};
    static const uint8_t mode_e[] = {0x16, 0x00, 0x18, 0x80, 0x00, 0x40, 0xc0, 0x20,
                                     0x80, 0x80, 0x60, 0x80, 0xc0, 0x8f, 0x48, 0xe6,
                                     0x22, 0x08, 0x6d, 0x0c, 0x02, 0x03, 0x02, 0x57};
    static const uint8_t mode_d[] = {0x15, 0x00, 0x9e, 0x00, 0xe8, 0x03, 0x00, 0x00,
                                     0x00, 0x00, 0x00, 0x00, 0xf6, 0xfd, 0xff, 0x1f,
                                     0x1a, 0x09, 0x1f, 0x06, 0x03, 0xac, 0xa7};
    uint8_t raw[128], coded[130];

    for (size_t i = 0; i < 12; i++)
        put_symbol(raw, 16, i, floats[i]);
    CHECK_EQ_U64(pzref2_encode(16, 8, false, raw, 24, coded), sizeof mode_e);
    CHECK_MEM(coded, mode_e, sizeof mode_e);
    for (size_t i = 0; i < 16; i++)
        put_symbol(raw, 64, i, integers[i]);
    CHECK_EQ_U64(pzref2_encode(64, 0, false, raw, 128, coded), sizeof mode_d);
    CHECK_MEM(coded, mode_d, sizeof mode_d);
}

static bool is_fast(const struct golden *g)
{
    return strcmp(g->codec, "planezip2-fast") == 0;
}

static void check_golden_stream(const struct golden *g)
{
    uint8_t *coded = malloc(pzref2_bound(g->raw_bytes) + 1);
    size_t bytes = pzref2_encode(g->w, g->e, is_fast(g), g->raw, g->raw_bytes, coded);

    TEST_CONTEXT("%s w%u e%u %s", g->name, g->w, g->e, g->codec);
    CHECK(is_fast(g) || strcmp(g->codec, "planezip2") == 0);
    if (CHECK_EQ_U64(bytes, g->coded_bytes))
        CHECK_MEM(coded, g->coded, bytes);
    CHECK_EQ_U64(pzref2_measure(g->w, g->e, is_fast(g), g->raw, g->raw_bytes).coded_bytes, bytes);
    CHECK_EQ_U64(decode_exact(g->w, g->e, g->coded, g->coded_bytes, g->raw, g->raw_bytes, NULL),
                 PZREF2_OK);
    free(coded);
}

TEST(golden_streams)
{
    struct golden *g = golden_open(GOLDEN_STREAMS2);
    unsigned count = 0;

    while (golden_next(g)) {
        check_golden_stream(g);
        count++;
    }
    golden_close(g);
    CHECK(count > 2 * TYPES && count % 2 == 0);
}

/* Every mode wins for a coded chunk of some golden input, at every pair that has it. */
TEST(golden_streams_cover_modes)
{
    uint64_t modes[TYPES][PZREF2_MODES] = {{0}};
    struct golden *g = golden_open(GOLDEN_STREAMS2);

    while (golden_next(g)) {
        struct pzref2_sizes sizes = pzref2_measure(g->w, g->e, is_fast(g), g->raw, g->raw_bytes);

        for (unsigned type = 0; type < TYPES; type++)
            for (unsigned mode = 0; mode < PZREF2_MODES && sizes.raw_chunks == 0; mode++)
                if (types[type].w == g->w && types[type].e == g->e)
                    modes[type][mode] += sizes.modes[mode];
    }
    golden_close(g);
    for (unsigned type = 0; type < TYPES; type++) {
        TEST_CONTEXT("w%u e%u", types[type].w, types[type].e);
        CHECK(modes[type][types[type].e > 0 ? PZREF2_E : PZREF2_I] > 0);
        CHECK_EQ_U64(modes[type][types[type].e > 0 ? PZREF2_I : PZREF2_E], 0);
        CHECK(modes[type][PZREF2_D] > 0);
        CHECK_EQ_U64(modes[type][PZREF2_C] > 0, types[type].e > 0);
    }
}

TEST(bad_streams)
{
    struct golden *g = golden_open(GOLDEN_BAD2);
    bool seen[PZREF2_ERRORS] = {false};

    while (golden_next(g)) {
        int64_t chunk = -7;
        enum pzref2_error error =
            decode_exact(g->w, g->e, g->coded, g->coded_bytes, NULL, g->raw_bytes, &chunk);

        TEST_CONTEXT("%s", g->name);
        seen[error] = true;
        CHECK_STR(faults[error], g->fault);
        CHECK_EQ_I64(chunk, g->chunk);
    }
    golden_close(g);
    for (unsigned error = PZREF2_OK + 1; error < PZREF2_ERRORS; error++) {
        TEST_CONTEXT("%s", faults[error]);
        CHECK(seen[error]);
    }
}

/* Those whose reason does not end in "canonical" differ from what an encoder writes. */
TEST(accepted_streams)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT2);
    static uint8_t coded[MAX_RAW + 64];

    while (golden_next(g)) {
        size_t bytes = pzref2_encode(g->w, g->e, false, g->raw, g->raw_bytes, coded);
        bool same = bytes == g->coded_bytes && memcmp(coded, g->coded, bytes) == 0;

        TEST_CONTEXT("%s", g->name);
        CHECK_EQ_U64(decode_exact(g->w, g->e, g->coded, g->coded_bytes, g->raw, g->raw_bytes, NULL),
                     PZREF2_OK);
        CHECK_EQ_U64(same, strstr(g->reason, "; canonical") != NULL);
    }
    golden_close(g);
}

static bool is_expected(unsigned type, unsigned feature)
{
    return types[type].e > 0 || feature >= STREAMGEN2_MODE_I;
}

/* Random valid streams, until everything that a stream may contain has come at every pair. */
TEST(generated_streams)
{
    static uint8_t raw[MAX_RAW], coded[MAX_RAW + 64];

    for (unsigned type = 0; type < TYPES; type++) {
        unsigned w = types[type].w, e = types[type].e;
        uint64_t counts[STREAMGEN2_FEATURES] = {0};

        for (uint64_t seed = 0; seed < 1200; seed++) {
            struct rng rng = {seed};
            size_t raw_bytes = rng_below(&rng, seed % 10 == 0 ? 5000 : 600), bytes;

            TEST_CONTEXT("seed %" PRIu64 " w%u e%u", seed, w, e);
            datagen_fill(&rng, (enum datagen_kind)(seed % DATAGEN_KINDS), w, raw, raw_bytes);
            bytes = streamgen2_make(&rng, w, e, raw, raw_bytes, coded, counts);
            CHECK(bytes <= pzref2_bound(raw_bytes));
            CHECK_EQ_U64(decode_exact(w, e, coded, bytes, raw, raw_bytes, NULL), PZREF2_OK);
        }
        for (unsigned feature = 0; feature < STREAMGEN2_FEATURES; feature++) {
            TEST_CONTEXT("feature %u w%u e%u", feature, w, e);
            CHECK_EQ_U64(counts[feature] > 0, is_expected(type, feature));
        }
    }
}

/* A shorter or longer stream is never valid, nor does the decoder leave its buffers. */
TEST(other_lengths)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT2);

    while (golden_next(g)) {
        uint8_t *longer = malloc(g->coded_bytes + 1);

        TEST_CONTEXT("%s", g->name);
        memcpy(longer, g->coded, g->coded_bytes);
        longer[g->coded_bytes] = 0;
        CHECK_EQ_U64(decode_exact(g->w, g->e, longer, g->coded_bytes + 1, NULL, g->raw_bytes, NULL),
                     PZREF2_TRAILING_BYTES);
        for (size_t bytes = 0; bytes < g->coded_bytes; bytes++)
            CHECK(decode_exact(g->w, g->e, longer, bytes, NULL, g->raw_bytes, NULL) != PZREF2_OK);
        free(longer);
    }
    golden_close(g);
}

/* The payload cut off and the header made to fit: the decoder sees the end within every part. */
static void check_payload_lengths(const struct golden *g)
{
    uint8_t *cut = exact_copy(g->coded, g->coded_bytes);

    TEST_CONTEXT("%s", g->name);
    for (size_t bytes = 0; bytes < g->coded_bytes - 2; bytes++) {
        cut[0] = (uint8_t)bytes;
        cut[1] = (uint8_t)(bytes >> 8);
        CHECK(decode_exact(g->w, g->e, cut, bytes + 2, NULL, g->raw_bytes, NULL) != PZREF2_OK);
    }
    free(cut);
}

TEST(other_payload_lengths)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT2);
    unsigned checked = 0;

    while (golden_next(g)) {
        if (g->raw_bytes == 0 || g->raw_bytes > 4096 || g->coded_bytes == g->raw_bytes + 2)
            continue; /* not one coded chunk */
        check_payload_lengths(g);
        checked++;
    }
    golden_close(g);
    CHECK(checked > 40);
}

static unsigned type_of(const struct golden *g)
{
    unsigned type = 0;

    while (types[type].w != g->w || types[type].e != g->e)
        type++;
    return type;
}

/* Whether g's stream with bit k flipped is valid.  If it is, its data survives a round trip. */
static bool flipped_is_valid(const struct golden *g, size_t k)
{
    uint8_t *flipped = exact_copy(g->coded, g->coded_bytes);
    uint8_t *raw = malloc(g->raw_bytes > 0 ? g->raw_bytes : 1);
    bool valid;

    flipped[k / 8] ^= (uint8_t)(1u << (k % 8));
    valid =
        pzref2_decode(g->w, g->e, flipped, g->coded_bytes, raw, g->raw_bytes, NULL) == PZREF2_OK;
    if (valid)
        check_round_trip(type_of(g), raw, g->raw_bytes);
    free(raw);
    free(flipped);
    return valid;
}

/* Whatever the bits are, the decoder ends and stays within its buffers. */
TEST(flipped_bits)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT2);
    unsigned valid = 0, rejected = 0;

    while (golden_next(g)) {
        if (g->coded_bytes > 160) /* only for speed */
            continue;
        for (size_t k = 0; k < 8 * g->coded_bytes; k++) {
            TEST_CONTEXT("%s bit %zu", g->name, k);
            if (flipped_is_valid(g, k))
                valid++;
            else
                rejected++;
        }
    }
    golden_close(g);
    CHECK(valid > 0);
    CHECK(rejected > 0);
}
