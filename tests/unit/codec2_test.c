/* The codec of format 2 against its reference, on every instruction set that this CPU has. */
#include "support/test.h"

#include <stdlib.h>

#include "planezip/planezip.h"
#include "support/datagen.h"
#include "support/differential.h"
#include "support/golden.h"
#include "support/rng.h"
#include "support/streamgen2.h"

enum { MAX_RAW = 3 * PZ_CHUNK_BYTES };

#define CHECK_AGREE(difference) CHECK_STR(difference, NULL)

static const struct {
    unsigned w, e;
} types[] = {{8, 0},  {8, 4},  {8, 5},  {16, 0}, {16, 5},
             {16, 8}, {32, 0}, {32, 8}, {64, 0}, {64, 11}};

enum { TYPES = sizeof types / sizeof *types };

static pz_mode mode_of(unsigned w, unsigned e)
{
    return (pz_mode){w, PZ_LEVEL_NORMAL, PZ_FORMAT_2, e};
}

/* Both levels. */
static void check_encoded(unsigned type, const uint8_t *raw, size_t raw_bytes)
{
    pz_mode mode = mode_of(types[type].w, types[type].e);

    CHECK_AGREE(differential_encode(mode, raw, raw_bytes));
    mode.encodings = PZ_LEVEL_FAST;
    CHECK_AGREE(differential_encode(mode, raw, raw_bytes));
}

TEST(every_type_and_size)
{
    static uint8_t raw[MAX_RAW];
    static const size_t around[] = {0, 4096, 8192};

    for (unsigned type = 0; type < TYPES; type++)
        for (size_t k = 0; k < sizeof around / sizeof *around; k++)
            for (size_t more = 0; more < 140; more += more < 20 ? 1 : 7) {
                const size_t raw_bytes = k == 0 ? more : around[k] - 70 + more;
                struct rng rng = {1000 * type + raw_bytes};

                TEST_CONTEXT("w%u e%u, %zu bytes", types[type].w, types[type].e, raw_bytes);
                datagen_fill(&rng, (enum datagen_kind)(more % DATAGEN_KINDS), types[type].w, raw,
                             raw_bytes);
                check_encoded(type, raw, raw_bytes);
            }
}

TEST(every_kind_of_data)
{
    static uint8_t raw[PZ_CHUNK_BYTES];

    for (unsigned type = 0; type < TYPES; type++)
        for (unsigned i = 0; i < 12 * DATAGEN_KINDS; i++) {
            struct rng rng = {i};
            const size_t raw_bytes = i % 3 == 0 ? PZ_CHUNK_BYTES : 1 + rng_below(&rng, 4096);

            TEST_CONTEXT("w%u e%u, seed %u", types[type].w, types[type].e, i);
            datagen_fill(&rng, (enum datagen_kind)(i % DATAGEN_KINDS), types[type].w, raw,
                         raw_bytes);
            check_encoded(type, raw, raw_bytes);
        }
}

TEST(floating_point_numbers)
{
    static uint8_t raw[PZ_CHUNK_BYTES];

    for (unsigned type = 0; type < TYPES; type++)
        for (unsigned i = 0; i < 150 && types[type].e != 0; i++) {
            struct rng rng = {i};
            const size_t raw_bytes = i % 3 != 0 ? PZ_CHUNK_BYTES : 1 + rng_below(&rng, 4096);

            TEST_CONTEXT("w%u e%u, seed %u", types[type].w, types[type].e, i);
            datagen_fill_floats(&rng, types[type].w, types[type].e, raw, raw_bytes);
            check_encoded(type, raw, raw_bytes);
        }
}

/* Exponents near 0 that are classes, and where the sample does not see them, the largest, which are
 * not: nothing comes round. */
TEST(small_and_largest_exponents)
{
    static uint8_t raw[PZ_CHUNK_BYTES];

    for (unsigned type = 0; type < TYPES; type++)
        for (unsigned i = 0; i < 60 && types[type].e != 0; i++) {
            const unsigned w = types[type].w, e = types[type].e, m = w - 1 - e;
            struct rng rng = {i};

            TEST_CONTEXT("w%u e%u, seed %u", w, e, i);
            rng_fill(&rng, raw, sizeof raw);
            for (size_t at = 0; at < sizeof raw; at += w / 8) {
                const bool is_sampled = at / PZ_BLOCK_BYTES % 4 == 3;
                const bool is_large = !is_sampled && rng_below(&rng, 100) < i % 7;
                const uint64_t depth = rng_below(&rng, 12);
                const uint64_t exponent = is_large ? (1u << e) - 1 - depth : rng_below(&rng, 9);
                const uint64_t symbol =
                    (rng_next(&rng) & ((UINT64_C(1) << m) - 1)) | exponent % (1u << e) << m;

                for (unsigned k = 0; k < w / 8; k++)
                    raw[at + k] = (uint8_t)(symbol >> (8 * k));
            }
            check_encoded(type, raw, sizeof raw);
        }
}

static bool is_fast(const struct golden *g)
{
    return strcmp(g->codec, "planezip2-fast") == 0;
}

TEST(golden_streams)
{
    struct golden *g = golden_open(GOLDEN_STREAMS2);

    while (golden_next(g)) {
        pz_mode mode = mode_of(g->w, g->e);
        size_t bound = 0, bytes = 0;
        uint8_t *coded;

        TEST_CONTEXT("%s w%u e%u %s", g->name, g->w, g->e, g->codec);
        if (is_fast(g))
            mode.encodings = PZ_LEVEL_FAST;
        pz_stream_bound(g->raw_bytes, &bound);
        coded = malloc(bound + 1);
        CHECK_EQ_U64(pz_stream_encode(mode, g->raw, g->raw_bytes, coded, bound, &bytes), PZ_OK);
        if (CHECK_EQ_U64(bytes, g->coded_bytes))
            CHECK_MEM(coded, g->coded, bytes);
        CHECK_AGREE(differential_encode(mode, g->raw, g->raw_bytes));
        free(coded);
    }
    golden_close(g);
}

static void check_rejected(const struct golden *g)
{
    uint8_t *raw = malloc(g->raw_bytes + 1);
    pz_where where = {77, 0, 0};

    CHECK_STR(pz_status_name(pz_stream_decode(mode_of(g->w, g->e), g->coded, g->coded_bytes, raw,
                                              g->raw_bytes, &where)),
              g->status);
    if (g->chunk >= 0)
        CHECK_EQ_U64(where.chunk, g->chunk);
    free(raw);
}

TEST(golden_bad_streams)
{
    struct golden *g = golden_open(GOLDEN_BAD2);

    while (golden_next(g)) {
        for (unsigned i = 0; i < pz_isa_count(); i++) {
            TEST_CONTEXT("%s, %s", g->name, pz_isa_name(i));
            pz_isa_select(pz_isa_name(i));
            check_rejected(g);
        }
        CHECK_AGREE(
            differential_decode(mode_of(g->w, g->e), g->coded, g->coded_bytes, g->raw_bytes));
    }
    golden_close(g);
}

TEST(golden_accepted_streams)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT2);

    while (golden_next(g)) {
        TEST_CONTEXT("%s", g->name);
        CHECK_AGREE(
            differential_decode(mode_of(g->w, g->e), g->coded, g->coded_bytes, g->raw_bytes));
    }
    golden_close(g);
}

TEST(generated_streams)
{
    static uint8_t raw[MAX_RAW], coded[MAX_RAW + 64];
    uint64_t counts[STREAMGEN2_FEATURES] = {0};

    for (unsigned type = 0; type < TYPES; type++)
        for (uint64_t seed = 0; seed < 300; seed++) {
            const unsigned w = types[type].w, e = types[type].e;
            struct rng rng = {seed};
            const size_t raw_bytes = rng_below(&rng, seed % 10 == 0 ? 5000 : 600);
            size_t bytes;

            TEST_CONTEXT("w%u e%u, seed %" PRIu64, w, e, seed);
            datagen_fill(&rng, (enum datagen_kind)(seed % DATAGEN_KINDS), w, raw, raw_bytes);
            bytes = streamgen2_make(&rng, w, e, raw, raw_bytes, coded, counts);
            CHECK_AGREE(differential_decode(mode_of(w, e), coded, bytes, raw_bytes));
        }
}

/* Damage of generated streams: every length, and flipped bits. */
TEST(damaged_streams)
{
    static uint8_t raw[MAX_RAW], coded[MAX_RAW + 64];
    uint64_t counts[STREAMGEN2_FEATURES] = {0};

    for (unsigned type = 0; type < TYPES; type++)
        for (uint64_t seed = 0; seed < 12; seed++) {
            const pz_mode mode = mode_of(types[type].w, types[type].e);
            struct rng rng = {seed};
            const size_t raw_bytes = 1 + rng_below(&rng, 300);
            size_t bytes;

            datagen_fill(&rng, (enum datagen_kind)(seed % DATAGEN_KINDS), types[type].w, raw,
                         raw_bytes);
            bytes =
                streamgen2_make(&rng, types[type].w, types[type].e, raw, raw_bytes, coded, counts);
            for (size_t cut = 0; cut <= bytes; cut++) {
                TEST_CONTEXT("w%u e%u, seed %" PRIu64 ", %zu bytes", types[type].w, types[type].e,
                             seed, cut);
                coded[0] = (uint8_t)(cut >= 2 ? cut - 2 : 0);
                coded[1] = (uint8_t)(cut >= 2 ? (cut - 2) >> 8 : 0);
                CHECK_AGREE(differential_decode(mode, coded, cut, raw_bytes));
            }
            for (unsigned i = 0; i < 400; i++) {
                const size_t bit = rng_below(&rng, 8 * bytes);

                coded[bit / 8] ^= (uint8_t)(1u << bit % 8);
                CHECK_AGREE(differential_decode(mode, coded, bytes, raw_bytes));
                if (i % 4 != 0)
                    coded[bit / 8] ^= (uint8_t)(1u << bit % 8);
            }
        }
}

TEST(modes_by_name_and_type)
{
    static const struct {
        pz_dtype dtype;
        unsigned w, e;
    } cases[] = {{PZ_DTYPE_BF16, 16, 8},   {PZ_DTYPE_F32, 32, 8},    {PZ_DTYPE_F16, 16, 5},
                 {PZ_DTYPE_F64, 64, 11},   {PZ_DTYPE_C64, 32, 8},    {PZ_DTYPE_C128, 64, 11},
                 {PZ_DTYPE_F8_E4M3, 8, 4}, {PZ_DTYPE_F8_E5M2, 8, 5}, {PZ_DTYPE_F8_E8M0, 8, 0},
                 {PZ_DTYPE_BOOL, 8, 0},    {PZ_DTYPE_I64, 64, 0},    {PZ_DTYPE_U16, 16, 0},
                 {PZ_DTYPE_F4, 8, 0}};
    pz_mode mode;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (pz_profile profile = 0; profile < PZ_PROFILES; profile++) {
            TEST_CONTEXT("%s", pz_dtype_name(cases[i].dtype));
            CHECK_EQ_U64(pz_mode_of("planezip2", profile, cases[i].dtype, &mode), PZ_OK);
            CHECK_EQ_U64(mode.width_bits, cases[i].w);
            CHECK_EQ_U64(mode.exponent_bits, cases[i].e);
            CHECK_EQ_U64(mode.format, PZ_FORMAT_2);
        }
    CHECK_EQ_U64(pz_mode_of("planezip", PZ_PROFILE_PAPER, PZ_DTYPE_I64, &mode), PZ_OK);
    CHECK_EQ_U64(mode.width_bits, 32);
    CHECK_EQ_U64(mode.format, PZ_FORMAT_1);
    CHECK_EQ_U64(pz_mode_of("planezip3", PZ_PROFILE_NATIVE, PZ_DTYPE_I64, &mode), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_mode_of("planezip2", PZ_PROFILE_NATIVE, (pz_dtype)0, &mode), PZ_ERR_ARGUMENT);
}

/* What encoder, size model and decoder say of a mode. */
static void check_mode(pz_mode mode, pz_status encoder, pz_status decoder)
{
    static const uint8_t stored[] = {2, 0, 1, 2};
    uint8_t raw[2] = {1, 2}, coded[8];
    size_t bytes;
    pz_stats stats;

    TEST_CONTEXT("w%" PRIu32 " e%" PRIu32 ", format %" PRIu32 ", encodings %" PRIx32,
                 mode.width_bits, mode.exponent_bits, mode.format, mode.encodings);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, sizeof raw, coded, sizeof coded, &bytes), encoder);
    CHECK_EQ_U64(pz_stream_measure(mode, raw, sizeof raw, &stats), encoder);
    CHECK_EQ_U64(pz_stream_decode(mode, stored, sizeof stored, raw, sizeof raw, NULL), decoder);
}

/* A mode that no stream can have is refused by all. */
TEST(wrong_modes)
{
    check_mode((pz_mode){16, PZ_LEVEL_NORMAL, 0, 0}, PZ_ERR_ARGUMENT, PZ_ERR_ARGUMENT);
    check_mode((pz_mode){16, PZ_LEVEL_NORMAL, 3, 0}, PZ_ERR_ARGUMENT, PZ_ERR_ARGUMENT);
    check_mode((pz_mode){16, 1, PZ_FORMAT_1, 8}, PZ_ERR_ARGUMENT, PZ_ERR_ARGUMENT);
    for (uint32_t w = 0; w <= 128; w++)
        for (uint32_t e = 0; e <= 64; e++) {
            pz_status status = PZ_ERR_ARGUMENT;

            for (unsigned type = 0; type < TYPES; type++)
                if (types[type].w == w && types[type].e == e)
                    status = PZ_OK;
            check_mode((pz_mode){w, PZ_LEVEL_NORMAL, PZ_FORMAT_2, e}, status, status);
        }
}

/* There are two; a decoder does not ask for the level. */
TEST(levels)
{
    for (uint32_t encodings = 0; encodings < 1u << PZ_ENCODINGS; encodings++)
        check_mode((pz_mode){16, encodings, PZ_FORMAT_2, 8},
                   encodings == PZ_LEVEL_NORMAL || encodings == PZ_LEVEL_FAST ? PZ_OK
                                                                              : PZ_ERR_ARGUMENT,
                   PZ_OK);
}
