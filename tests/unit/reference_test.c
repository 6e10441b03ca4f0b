/* The reference against the golden files, against itself and against streams that it would not
 * write.  Uses nothing of the library but the names of its statuses. */
#include "test.h"

#include <stdlib.h>

#include "datagen.h"
#include "golden.h"
#include "planezip/planezip.h"
#include "pzref.h"
#include "rng.h"
#include "streamgen.h"

enum { MAX_RAW = 3 * 4096 };

static const unsigned widths[] = {8, 16, 32, 64};

static const struct {
    const char *name;
    unsigned encodings;
} codecs[] = {
    {"planezip", 0x1F},     {"zvc", 1u << PZREF_ZVC}, {"bpc", 1u << PZREF_DBX},
    {"bx", 1u << PZREF_BX}, {"zbx", 1u << PZREF_ZBX},
};

enum { CODECS = sizeof codecs / sizeof *codecs };

/* The words of tests/golden/bad.txt for the checks of the reference, and the library's statuses. */
static const struct {
    const char *fault;
    pz_status status;
} faults[PZREF_ERRORS] = {
    [PZREF_OK] = {"ok", PZ_OK},
    [PZREF_HEADERS_TRUNCATED] = {"headers_truncated", PZ_ERR_TRUNCATED},
    [PZREF_HEADER_ABOVE_RAW] = {"header_above_raw", PZ_ERR_CHUNK_SIZE},
    [PZREF_PAYLOAD_TRUNCATED] = {"payload_truncated", PZ_ERR_TRUNCATED},
    [PZREF_TRAILING_BYTES] = {"trailing_bytes", PZ_ERR_TRAILING},
    [PZREF_CHUNK_OVERRUN] = {"chunk_overrun", PZ_ERR_CHUNK_END},
    [PZREF_CHUNK_LEFTOVER] = {"chunk_leftover", PZ_ERR_CHUNK_END},
    [PZREF_CHUNK_PADDING] = {"chunk_padding", PZ_ERR_PADDING},
    [PZREF_RESERVED_TAG] = {"reserved_tag", PZ_ERR_TAG},
    [PZREF_ZVC_ZERO_SYMBOL] = {"zvc_zero_symbol", PZ_ERR_ZERO_SYMBOL},
    [PZREF_ZBX_ZERO_SYMBOL] = {"zbx_zero_symbol", PZ_ERR_ZERO_SYMBOL},
    [PZREF_DELTA_BELOW] = {"delta_below", PZ_ERR_DELTA},
    [PZREF_DELTA_ABOVE] = {"delta_above", PZ_ERR_DELTA},
    [PZREF_RUN_PAST_END] = {"run_past_end", PZ_ERR_RUN},
    [PZREF_POSITION_OUTSIDE] = {"position_outside", PZ_ERR_POSITION},
    [PZREF_PAIR_OUTSIDE] = {"pair_outside", PZ_ERR_POSITION},
    [PZREF_ZERO_PLANE] = {"zero_plane", PZ_ERR_ZERO_PLANE},
    [PZREF_BLOCK_PADDING] = {"block_padding", PZ_ERR_PADDING},
};

static const char *status_word(pz_status status)
{
    static const char *const words[] = {
#define STATUS_WORD(name, text) #name,
        PZ_STATUSES(STATUS_WORD)
#undef STATUS_WORD
    };

    return words[status];
}

static unsigned encodings_of(const char *codec)
{
    for (unsigned k = 0; k < CODECS; k++)
        if (strcmp(codecs[k].name, codec) == 0)
            return codecs[k].encodings;
    return 0;
}

/* A copy of exactly that size, so that a sanitizer sees a read beyond its end. */
static uint8_t *exact_copy(const uint8_t *bytes, size_t count)
{
    uint8_t *copy = malloc(count > 0 ? count : 1);

    memcpy(copy, bytes, count);
    return copy;
}

/* Decodes into memory of exactly raw_bytes; the result equals raw if that is given and valid. */
static enum pzref_error decode_exact(unsigned w, const uint8_t *coded, size_t coded_bytes,
                                     const uint8_t *raw, size_t raw_bytes,
                                     struct pzref_where *where)
{
    uint8_t *source = exact_copy(coded, coded_bytes);
    uint8_t *back = malloc(raw_bytes > 0 ? raw_bytes : 1);
    enum pzref_error error;

    memset(back, 0xEE, raw_bytes);
    error = pzref_decode(w, source, coded_bytes, back, raw_bytes, where);
    if (error == PZREF_OK && raw != NULL)
        CHECK_MEM(back, raw, raw_bytes);
    free(back);
    free(source);
    return error;
}

static void check_round_trip(unsigned w, unsigned codec, const uint8_t *raw, size_t raw_bytes)
{
    static uint8_t coded[MAX_RAW + 64];
    size_t bound = pzref_bound(raw_bytes), bytes;
    struct pzref_sizes sizes = pzref_measure(w, codecs[codec].encodings, raw, raw_bytes);
    struct pzref_where where = {-7, -7};

    memset(coded + bound, 0x5A, 16);
    bytes = pzref_encode(w, codecs[codec].encodings, raw, raw_bytes, coded);
    CHECK(bytes <= bound);
    CHECK_EQ_U64(coded[bound], 0x5A);
    CHECK_EQ_U64(bytes, sizes.coded_bytes);
    CHECK_EQ_U64(sizes.chunks, (raw_bytes + 4095) / 4096);
    CHECK_EQ_U64(decode_exact(w, coded, bytes, raw, raw_bytes, &where), PZREF_OK);
    CHECK_EQ_I64(where.chunk, -7);
}

TEST(bound)
{
    CHECK_EQ_U64(pzref_bound(0), 0);
    CHECK_EQ_U64(pzref_bound(1), 3);
    CHECK_EQ_U64(pzref_bound(4096), 4098);
    CHECK_EQ_U64(pzref_bound(4097), 4101);
}

/* Every size about the ends of blocks and chunks, and some in between. */
static bool is_tested_size(size_t bytes)
{
    return bytes <= 40 || bytes % 128 <= 1 || bytes % 128 == 127 || bytes % 61 == 0 ||
           (bytes >= 4090 && bytes <= 4104);
}

TEST(round_trip_of_sizes)
{
    static uint8_t raw[MAX_RAW];
    struct rng rng = {1};
    unsigned turn = 0;

    for (size_t bytes = 0; bytes <= 4200; bytes++) {
        unsigned w = widths[turn % 4], codec = turn / 4 % CODECS;
        unsigned kind = (unsigned)rng_below(&rng, DATAGEN_KINDS);

        if (!is_tested_size(bytes))
            continue;
        TEST_CONTEXT("%zu bytes of kind %u, w%u %s", bytes, kind, w, codecs[codec].name);
        datagen_fill(&rng, (enum datagen_kind)kind, w, raw, bytes);
        check_round_trip(w, codec, raw, bytes);
        turn++;
    }
}

TEST(round_trip_of_kinds)
{
    static uint8_t raw[MAX_RAW];
    struct rng rng = {2};

    for (unsigned k = 0; k < 4; k++) {
        for (unsigned kind = 0; kind < DATAGEN_KINDS; kind++) {
            datagen_fill(&rng, (enum datagen_kind)kind, widths[k], raw, 1000);
            for (unsigned codec = 0; codec < CODECS; codec++) {
                TEST_CONTEXT("kind %u, w%u %s", kind, widths[k], codecs[codec].name);
                check_round_trip(widths[k], codec, raw, 1000);
            }
        }
    }
}

TEST(round_trip_of_chunks)
{
    static uint8_t raw[MAX_RAW];
    struct rng rng = {3};

    for (unsigned k = 0; k < 4; k++) {
        TEST_CONTEXT("w%u", widths[k]);
        datagen_fill(&rng, DATAGEN_MIXED, widths[k], raw, MAX_RAW);
        datagen_fill(&rng, DATAGEN_RANDOM, widths[k], raw + 4096, 4096);
        check_round_trip(widths[k], 0, raw, MAX_RAW);
        CHECK_EQ_U64(pzref_measure(widths[k], 0x1F, raw, MAX_RAW).raw_chunks, 1);
    }
}

/* docs/format.md, "Worked example". */
TEST(worked_example)
{
    static const uint8_t bx[] = {0x04, 0x00, 0x12, 0x80, 0x04, 0x24};
    static const uint8_t dbx[] = {0x04, 0x00, 0x03, 0xfc, 0xf1, 0x01};
    static const uint8_t zbx[] = {0x05, 0x00, 0xd4, 0x00, 0x70, 0xff, 0x59};
    uint8_t ones[128], five[40] = {[8] = 5, [24] = 7, [32] = 6}, coded[130];

    for (unsigned k = 0; k < 128; k++)
        ones[k] = k % 2 ? 0x3F : 0x80;
    CHECK_EQ_U64(pzref_encode(16, 1u << PZREF_BX, ones, 128, coded), sizeof bx);
    CHECK_MEM(coded, bx, sizeof bx);
    CHECK_EQ_U64(pzref_measure(16, 1u << PZREF_BX, ones, 128).payload_bits, 31);
    CHECK_EQ_U64(pzref_encode(16, 0x1F, ones, 128, coded), sizeof dbx);
    CHECK_MEM(coded, dbx, sizeof dbx);
    CHECK_EQ_U64(pzref_measure(16, 0x1F, ones, 128).payload_bits, 25);
    CHECK_EQ_U64(pzref_encode(64, 0x1F, five, 40, coded), sizeof zbx);
    CHECK_MEM(coded, zbx, sizeof zbx);
    CHECK_EQ_U64(pzref_measure(64, 0x1F, five, 40).payload_bits, 39);
    CHECK_EQ_U64(pzref_measure(64, 1u << PZREF_BX, five, 40).payload_bits, 54);
}

static void check_golden_stream(const struct golden *g)
{
    unsigned encodings = encodings_of(g->codec);
    uint8_t *coded = malloc(pzref_bound(g->raw_bytes) + 1);
    size_t bytes = pzref_encode(g->w, encodings, g->raw, g->raw_bytes, coded);

    TEST_CONTEXT("%s w%u %s", g->name, g->w, g->codec);
    CHECK(encodings != 0);
    if (CHECK_EQ_U64(bytes, g->coded_bytes))
        CHECK_MEM(coded, g->coded, bytes);
    CHECK_EQ_U64(pzref_measure(g->w, encodings, g->raw, g->raw_bytes).coded_bytes, bytes);
    CHECK_EQ_U64(decode_exact(g->w, g->coded, g->coded_bytes, g->raw, g->raw_bytes, NULL),
                 PZREF_OK);
    free(coded);
}

TEST(golden_streams)
{
    struct golden *g = golden_open(GOLDEN_STREAMS);
    unsigned count = 0;

    while (golden_next(g)) {
        check_golden_stream(g);
        count++;
    }
    golden_close(g);
    CHECK(count > 0 && count % (4 * CODECS) == 0);
}

/* Which encodings win in the golden inputs: all of them, at every width. */
TEST(golden_streams_cover_encodings)
{
    uint64_t blocks[65][PZREF_TAGS] = {0};
    struct golden *g = golden_open(GOLDEN_STREAMS);

    while (golden_next(g)) {
        if (strcmp(g->codec, "planezip") != 0)
            continue;
        for (unsigned tag = 0; tag < PZREF_TAGS; tag++)
            blocks[g->w][tag] += pzref_measure(g->w, 0x1F, g->raw, g->raw_bytes).blocks[tag];
    }
    golden_close(g);
    for (unsigned k = 0; k < 4; k++) {
        for (unsigned tag = 0; tag < PZREF_TAGS; tag++) {
            TEST_CONTEXT("w%u tag %u", widths[k], tag);
            CHECK(blocks[widths[k]][tag] > 0);
        }
    }
}

static void check_bad(const struct golden *g, bool seen[PZREF_ERRORS])
{
    struct pzref_where where = {-7, -7};
    enum pzref_error error =
        decode_exact(g->w, g->coded, g->coded_bytes, NULL, g->raw_bytes, &where);

    TEST_CONTEXT("%s", g->name);
    seen[error] = true;
    CHECK_STR(faults[error].fault, g->fault);
    CHECK_STR(status_word(faults[error].status), g->status);
    CHECK_EQ_I64(where.chunk, g->chunk);
    CHECK_EQ_I64(where.block, g->block);
}

TEST(bad_streams)
{
    struct golden *g = golden_open(GOLDEN_BAD);
    bool seen[PZREF_ERRORS] = {false};

    while (golden_next(g))
        check_bad(g, seen);
    golden_close(g);
    for (unsigned error = PZREF_OK + 1; error < PZREF_ERRORS; error++) {
        TEST_CONTEXT("%s", faults[error].fault);
        CHECK(seen[error]);
    }
}

/* Those whose reason does not end in "canonical" differ from what an encoder writes. */
TEST(accepted_streams)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT);
    static uint8_t coded[MAX_RAW + 64];

    while (golden_next(g)) {
        size_t bytes = pzref_encode(g->w, 0x1F, g->raw, g->raw_bytes, coded);

        TEST_CONTEXT("%s", g->name);
        CHECK_EQ_U64(decode_exact(g->w, g->coded, g->coded_bytes, g->raw, g->raw_bytes, NULL),
                     PZREF_OK);
        if (strstr(g->reason, "; canonical") == NULL)
            CHECK(bytes != g->coded_bytes || memcmp(coded, g->coded, bytes) != 0);
    }
    golden_close(g);
}

/* Random valid streams, until everything that a stream may contain has come at every width. */
TEST(generated_streams)
{
    static uint8_t raw[MAX_RAW], coded[MAX_RAW + 64];

    for (unsigned k = 0; k < 4; k++) {
        uint64_t counts[STREAMGEN_FEATURES] = {0};

        for (uint64_t seed = 0; seed < 150; seed++) {
            struct rng rng = {seed};
            size_t raw_bytes = rng_below(&rng, seed % 10 == 0 ? 5000 : 600), bytes;

            TEST_CONTEXT("seed %" PRIu64 " w%u", seed, widths[k]);
            datagen_fill(&rng, (enum datagen_kind)(seed % DATAGEN_KINDS), widths[k], raw,
                         raw_bytes);
            bytes = streamgen_make(&rng, widths[k], raw, raw_bytes, coded, counts);
            CHECK(bytes <= pzref_bound(raw_bytes));
            CHECK_EQ_U64(decode_exact(widths[k], coded, bytes, raw, raw_bytes, NULL), PZREF_OK);
        }
        for (unsigned feature = 0; feature < STREAMGEN_FEATURES; feature++) {
            TEST_CONTEXT("feature %u w%u", feature, widths[k]);
            CHECK(counts[feature] > 0);
        }
    }
}

/* A shorter or longer stream is never valid, nor does the decoder leave its buffers. */
TEST(other_lengths)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT);

    while (golden_next(g)) {
        uint8_t *longer = malloc(g->coded_bytes + 1);

        TEST_CONTEXT("%s", g->name);
        if (g->coded_bytes > 300) { /* only for speed */
            free(longer);
            continue;
        }
        memcpy(longer, g->coded, g->coded_bytes);
        longer[g->coded_bytes] = 0;
        CHECK_EQ_U64(decode_exact(g->w, longer, g->coded_bytes + 1, NULL, g->raw_bytes, NULL),
                     PZREF_TRAILING_BYTES);
        for (size_t bytes = 0; bytes < g->coded_bytes; bytes++)
            CHECK(decode_exact(g->w, longer, bytes, NULL, g->raw_bytes, NULL) != PZREF_OK);
        free(longer);
    }
    golden_close(g);
}

/* Whether g's stream with bit k flipped is valid.  If it is, its data survives a round trip. */
static bool flipped_is_valid(const struct golden *g, size_t k)
{
    uint8_t *flipped = exact_copy(g->coded, g->coded_bytes);
    uint8_t *raw = malloc(g->raw_bytes > 0 ? g->raw_bytes : 1);
    bool valid;

    flipped[k / 8] ^= (uint8_t)(1u << (k % 8));
    valid = pzref_decode(g->w, flipped, g->coded_bytes, raw, g->raw_bytes, NULL) == PZREF_OK;
    if (valid)
        check_round_trip(g->w, 0, raw, g->raw_bytes);
    free(raw);
    free(flipped);
    return valid;
}

/* Whatever the bits are, the decoder ends and stays within its buffers. */
TEST(flipped_bits)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT);
    unsigned valid = 0, rejected = 0;

    while (golden_next(g)) {
        if (g->coded_bytes > 100) /* only for speed */
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
