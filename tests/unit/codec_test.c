/* Tensor streams: the library against the reference, against tests/golden, and against damage. */
#include <stdlib.h>

#include "planezip/planezip.h"
#include "support/datagen.h"
#include "support/differential.h"
#include "support/golden.h"
#include "support/guard.h"
#include "support/rng.h"
#include "support/streamgen.h"
#include "support/test.h"

enum { TAGS = PZ_ZBX + 1 };

static const unsigned widths[] = {8, 16, 32, 64};
static const char *const codecs[] = {"planezip", "zvc", "bpc", "bx", "zbx"};

enum { WIDTHS = 4, CODECS = 5, MAX_RAW_BYTES = 3 * PZ_CHUNK_BYTES };

/* The differential functions give NULL or a sentence to print. */
#define CHECK_AGREE(difference) CHECK_STR(difference, NULL)

/* What a decoder wants to know. */
static pz_mode any_of(unsigned w)
{
    return (pz_mode){w, 0, PZ_FORMAT_1, 0};
}

static pz_mode mode_of(const char *codec, unsigned w)
{
    pz_mode mode = {0};

    CHECK_EQ_U64(pz_mode_named(codec, w, &mode), PZ_OK);
    return mode;
}

/* ---- Against the reference ------------------------------------------------------------------ */

/* All sizes up to one block, then steps that are prime to every symbol size, then what is around
 * the end of a chunk. */
static size_t next_size(size_t bytes)
{
    if (bytes < 130)
        return bytes + 1;
    if (bytes < 4080)
        return bytes + 61 < 4080 ? bytes + 61 : 4080;
    return bytes < 4112 ? bytes + 1 : bytes + 29;
}

TEST(every_width_codec_and_size)
{
    static uint8_t raw[4200];
    struct rng rng = {42};
    unsigned kind = 0;

    for (unsigned i = 0; i < WIDTHS * CODECS; i++) {
        const unsigned w = widths[i % WIDTHS];
        const char *codec = codecs[i / WIDTHS];

        for (size_t bytes = 0; bytes <= sizeof raw; bytes = next_size(bytes)) {
            TEST_CONTEXT("w %u, codec %s, %zu bytes, kind %u", w, codec, bytes, kind);
            datagen_fill(&rng, (enum datagen_kind)kind, w, raw, bytes);
            CHECK_AGREE(differential_encode(mode_of(codec, w), raw, bytes));
            kind = (kind + 1) % DATAGEN_KINDS;
        }
    }
}

/* Any set of encodings, not only the named ones. */
TEST(every_set_of_encodings)
{
    static uint8_t raw[1024];
    struct rng rng = {7};

    for (uint32_t encodings = 0; encodings < 1u << TAGS; encodings++) {
        for (unsigned i = 0; i < WIDTHS; i++) {
            const pz_mode mode = {widths[i], encodings, PZ_FORMAT_1, 0};

            TEST_CONTEXT("w %u, encodings 0x%x", widths[i], (unsigned)encodings);
            datagen_fill(&rng, DATAGEN_MIXED, widths[i], raw, sizeof raw);
            CHECK_AGREE(differential_encode(mode, raw, sizeof raw));
        }
    }
}

TEST(several_chunks)
{
    static uint8_t raw[MAX_RAW_BYTES];
    struct rng rng = {3};

    for (unsigned i = 0; i < WIDTHS; i++) {
        for (unsigned kind = 0; kind < DATAGEN_KINDS; kind++) {
            const size_t bytes = sizeof raw - (size_t)rng_below(&rng, 5000);

            TEST_CONTEXT("w %u, kind %u, %zu bytes", widths[i], kind, bytes);
            datagen_fill(&rng, (enum datagen_kind)kind, widths[i], raw, bytes);
            CHECK_AGREE(differential_encode(mode_of("planezip", widths[i]), raw, bytes));
        }
    }
}

/* ---- Against tests/golden ------------------------------------------------------------------- */

TEST(golden_streams)
{
    struct golden *g = golden_open(GOLDEN_STREAMS);

    while (golden_next(g)) {
        const pz_mode mode = mode_of(g->codec, g->w);
        size_t bound_bytes = 0, coded_bytes = 0;
        uint8_t *coded;

        TEST_CONTEXT("%s, w %u, codec %s", g->name, g->w, g->codec);
        CHECK_EQ_U64(pz_stream_bound(g->raw_bytes, &bound_bytes), PZ_OK);
        coded = malloc(bound_bytes + 1);
        if (!CHECK(coded != NULL))
            return;
        CHECK_EQ_U64(pz_stream_encode(mode, g->raw, g->raw_bytes, coded, bound_bytes, &coded_bytes),
                     PZ_OK);
        CHECK_EQ_U64(coded_bytes, g->coded_bytes);
        CHECK_MEM(coded, g->coded, g->coded_bytes);
        free(coded);
    }
    golden_close(g);
}

static pz_status decode(const struct golden *g, uint8_t *raw, pz_where *where)
{
    const pz_mode mode = {g->w, 0, PZ_FORMAT_1, 0};

    return pz_stream_decode(mode, g->coded, g->coded_bytes, raw, g->raw_bytes, where);
}

TEST(golden_bad_streams_are_rejected_in_their_place)
{
    struct golden *g = golden_open(GOLDEN_BAD);

    while (golden_next(g)) {
        uint8_t *raw = malloc(g->raw_bytes + 1);
        pz_where where = {99, 99, 99};

        if (!CHECK(raw != NULL))
            return;
        TEST_CONTEXT("%s: %s", g->name, g->reason);
        CHECK_STR(pz_status_name(decode(g, raw, &where)), g->status);
        CHECK_STR(pz_status_name(decode(g, raw, NULL)), g->status);
        if (g->chunk >= 0)
            CHECK_EQ_U64(where.chunk, g->chunk);
        if (g->block >= 0)
            CHECK_EQ_U64(where.block, g->block);
        CHECK_AGREE(differential_decode(any_of(g->w), g->coded, g->coded_bytes, g->raw_bytes));
        free(raw);
    }
    golden_close(g);
}

TEST(golden_accepted_streams)
{
    struct golden *g = golden_open(GOLDEN_ACCEPT);

    while (golden_next(g)) {
        uint8_t *raw = malloc(g->raw_bytes + 1);
        const pz_where nowhere = {77, 88, 99};
        pz_where where = nowhere;

        if (!CHECK(raw != NULL))
            return;
        TEST_CONTEXT("%s: %s", g->name, g->reason);
        CHECK_EQ_U64(decode(g, raw, &where), PZ_OK);
        CHECK_MEM(raw, g->raw, g->raw_bytes);
        CHECK(memcmp(&where, &nowhere, sizeof where) == 0);
        free(raw);
    }
    golden_close(g);
}

/* ---- Streams that no encoder of ours writes, and damaged ones -------------------------------- */

TEST(generated_streams_are_accepted)
{
    static uint8_t raw[5000], coded[5000 + 4];
    uint64_t counts[STREAMGEN_FEATURES] = {0};

    for (uint64_t seed = 0; seed < 400; seed++) {
        struct rng rng = {seed};
        const unsigned w = widths[seed % WIDTHS];
        const size_t bytes =
            (size_t)rng_below(&rng, rng_one_in(&rng, 8) ? sizeof raw : 3 * PZ_BLOCK_BYTES);
        size_t coded_bytes;

        TEST_CONTEXT("seed %d, w %u, %zu bytes", (int)seed, w, bytes);
        datagen_fill(&rng, (enum datagen_kind)(seed / WIDTHS % DATAGEN_KINDS), w, raw, bytes);
        coded_bytes = streamgen_make(&rng, w, raw, bytes, coded, counts);
        CHECK_AGREE(differential_decode(any_of(w), coded, coded_bytes, bytes));
        CHECK_EQ_U64(pz_stream_decode(any_of(w), coded, coded_bytes, raw, bytes, NULL), PZ_OK);
    }
    for (unsigned i = 0; i < STREAMGEN_FEATURES; i++) {
        TEST_CONTEXT("feature %u", i);
        CHECK(counts[i] > 0);
    }
}

enum { SMALL_RAW_BYTES = 160, SMALL_STREAM_BYTES = SMALL_RAW_BYTES + 2, SMALL_STREAMS = 200 };

/* A small stream for the tests of damage, often of two blocks; returns its bytes. */
static size_t small_stream(uint64_t seed, unsigned *w, size_t *raw_bytes, uint8_t *coded)
{
    static uint8_t raw[SMALL_RAW_BYTES];
    uint64_t counts[STREAMGEN_FEATURES] = {0};
    struct rng rng = {seed};

    *w = widths[seed % WIDTHS];
    *raw_bytes = 1 + (size_t)rng_below(&rng, sizeof raw);
    datagen_fill(&rng, (enum datagen_kind)(seed / WIDTHS % DATAGEN_KINDS), *w, raw, *raw_bytes);
    return streamgen_make(&rng, *w, raw, *raw_bytes, coded, counts);
}

/* With the header as it was, and with one that fits what is left. */
TEST(every_truncation)
{
    uint8_t coded[SMALL_STREAM_BYTES];
    size_t raw_bytes;
    unsigned w;

    for (uint64_t seed = 0; seed < SMALL_STREAMS; seed++) {
        const size_t coded_bytes = small_stream(seed, &w, &raw_bytes, coded);

        for (size_t cut = 0; cut < coded_bytes; cut++) {
            TEST_CONTEXT("seed %d, %zu of %zu bytes", (int)seed, cut, coded_bytes);
            CHECK_AGREE(differential_decode(any_of(w), coded, cut, raw_bytes));
        }
        for (size_t cut = coded_bytes; cut-- > 2;) {
            coded[0] = (uint8_t)(cut - 2);
            coded[1] = (uint8_t)((cut - 2) >> 8);
            TEST_CONTEXT("seed %d, header for %zu bytes", (int)seed, cut);
            CHECK_AGREE(differential_decode(any_of(w), coded, cut, raw_bytes));
        }
    }
}

TEST(every_flipped_bit)
{
    uint8_t coded[SMALL_STREAM_BYTES];
    size_t raw_bytes;
    unsigned w;

    for (uint64_t seed = 0; seed < SMALL_STREAMS; seed++) {
        const size_t coded_bytes = small_stream(seed, &w, &raw_bytes, coded);

        for (size_t bit = 0; bit < 8 * coded_bytes; bit++) {
            TEST_CONTEXT("seed %d, bit %zu", (int)seed, bit);
            coded[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            CHECK_AGREE(differential_decode(any_of(w), coded, coded_bytes, raw_bytes));
            coded[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        }
    }
}

/* ---- Space, alignment, arguments ------------------------------------------------------------- */

TEST(every_smaller_capacity_is_refused)
{
    static uint8_t raw[PZ_CHUNK_BYTES + 200], whole[PZ_CHUNK_BYTES + 204];
    struct guard guard = {0};
    struct rng rng = {11};

    for (unsigned i = 0; i < WIDTHS * DATAGEN_KINDS; i++) {
        const pz_mode mode = mode_of("planezip", widths[i % WIDTHS]);
        const size_t raw_bytes = i < WIDTHS ? sizeof raw : (size_t)rng_below(&rng, 400);
        size_t coded_bytes = 0, unused = 0;

        datagen_fill(&rng, (enum datagen_kind)(i / WIDTHS), mode.width_bits, raw, raw_bytes);
        CHECK_EQ_U64(pz_stream_encode(mode, raw, raw_bytes, whole, sizeof whole, &coded_bytes),
                     PZ_OK);
        for (size_t capacity = 0; capacity < coded_bytes; capacity++) {
            uint8_t *const dst = guard_place(&guard, GUARD_BACK, capacity);

            TEST_CONTEXT("w %u, kind %u, %zu of %zu bytes", mode.width_bits, i / WIDTHS, capacity,
                         coded_bytes);
            CHECK_EQ_U64(pz_stream_encode(mode, raw, raw_bytes, dst, capacity, &unused),
                         PZ_ERR_SPACE);
        }
    }
    guard_drop(&guard);
}

TEST(any_alignment)
{
    static uint8_t raw[1000 + 8], coded[1002 + 8], expected[1002], back[1000 + 8];
    struct rng rng = {13};

    for (unsigned i = 0; i < WIDTHS * 8; i++) {
        const pz_mode mode = mode_of("planezip", widths[i % WIDTHS]);
        const unsigned shift = i / WIDTHS;
        size_t coded_bytes = 0, expected_bytes = 0;

        TEST_CONTEXT("w %u, shift %u", mode.width_bits, shift);
        datagen_fill(&rng, DATAGEN_MIXED, mode.width_bits, raw, 1000);
        CHECK_EQ_U64(pz_stream_encode(mode, raw, 1000, expected, 1002, &expected_bytes), PZ_OK);
        memmove(raw + shift, raw, 1000);
        CHECK_EQ_U64(
            pz_stream_encode(mode, raw + shift, 1000, coded + 7 - shift, 1002, &coded_bytes),
            PZ_OK);
        CHECK_EQ_U64(coded_bytes, expected_bytes);
        CHECK_MEM(coded + 7 - shift, expected, coded_bytes);
        CHECK_EQ_U64(
            pz_stream_decode(mode, coded + 7 - shift, coded_bytes, back + shift / 2, 1000, NULL),
            PZ_OK);
        CHECK_MEM(back + shift / 2, raw + shift, 1000);
    }
}

TEST(bound)
{
    static const struct {
        size_t raw_bytes, bound_bytes;
    } cases[] = {{0, 0}, {1, 3}, {4096, 4098}, {4097, 4101}, {1u << 20, (1u << 20) + 512}};
    size_t bound_bytes = 0;

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ_U64(pz_stream_bound(cases[i].raw_bytes, &bound_bytes), PZ_OK);
        CHECK_EQ_U64(bound_bytes, cases[i].bound_bytes);
    }
    CHECK_EQ_U64(pz_stream_bound(SIZE_MAX, &bound_bytes), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_bound(SIZE_MAX / 2049 * 2048 + 4096, &bound_bytes), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_bound(1, NULL), PZ_ERR_ARGUMENT);
}

TEST(modes)
{
    const pz_mode before = {1, 2, 3, 4};
    pz_mode mode = before;

    CHECK_EQ_U64(pz_mode_named("planezip", 16, &mode), PZ_OK);
    CHECK_EQ_U64(mode.width_bits, 16);
    CHECK_EQ_U64(mode.encodings, (1u << TAGS) - 1);
    CHECK_EQ_U64(pz_mode_named("bpc", 64, &mode), PZ_OK);
    CHECK_EQ_U64(mode.encodings & ~1u, 1u << PZ_DBX);
    mode = before;
    CHECK_EQ_U64(pz_mode_named("planezip", 24, &mode), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_mode_named("Planezip", 16, &mode), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_mode_named(NULL, 16, &mode), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_mode_named("bx", 16, NULL), PZ_ERR_ARGUMENT);
    CHECK(memcmp(&mode, &before, sizeof mode) == 0);
}

TEST(arguments)
{
    const pz_mode good = mode_of("planezip", 16), width = {12, 1, PZ_FORMAT_1, 0},
                  set = {16, 1u << TAGS, PZ_FORMAT_1, 0};
    uint8_t raw[4] = {1, 2, 3, 4}, coded[8];
    size_t bytes = 0;
    pz_stats stats;

    CHECK_EQ_U64(pz_stream_encode(width, raw, 4, coded, 8, &bytes), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_encode(set, raw, 4, coded, 8, &bytes), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_encode(good, NULL, 4, coded, 8, &bytes), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_encode(good, raw, 4, NULL, 8, &bytes), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_encode(good, raw, 4, coded, 8, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_encode(good, raw, 4, NULL, 0, &bytes), PZ_ERR_SPACE);
    CHECK_EQ_U64(pz_stream_encode(good, NULL, 0, NULL, 0, &bytes), PZ_OK);
    CHECK_EQ_U64(bytes, 0);
    CHECK_EQ_U64(pz_stream_measure(width, raw, 4, &stats), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_measure(set, raw, 4, &stats), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_measure(good, NULL, 4, &stats), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_measure(good, raw, SIZE_MAX, &stats), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_measure(good, raw, 4, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_decode(width, coded, 0, raw, 0, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_decode(good, NULL, 1, raw, 4, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_decode(good, coded, 1, NULL, 4, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_decode(good, NULL, 0, raw, 4, NULL), PZ_ERR_TRUNCATED);
    CHECK_EQ_U64(pz_stream_decode(good, NULL, 0, NULL, 0, NULL), PZ_OK);
    CHECK_EQ_U64(pz_stream_decode(good, coded, 1, NULL, 0, NULL), PZ_ERR_TRAILING);
}

/* ---- Index and places of errors -------------------------------------------------------------- */

TEST(index_of_chunks)
{
    static uint8_t raw[2 * PZ_CHUNK_BYTES + 1], coded[2 * PZ_CHUNK_BYTES + 7];
    const pz_mode mode = mode_of("planezip", 32);
    uint64_t offsets[4];
    size_t coded_bytes = 0;
    pz_where where = {0, 0, 0};
    struct rng rng = {5};

    rng_fill(&rng, raw + PZ_CHUNK_BYTES, PZ_CHUNK_BYTES);
    CHECK_EQ_U64(pz_stream_chunks(0), 0);
    CHECK_EQ_U64(pz_stream_chunks(PZ_CHUNK_BYTES), 1);
    CHECK_EQ_U64(pz_stream_chunks(sizeof raw), 3);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, sizeof raw, coded, sizeof coded, &coded_bytes), PZ_OK);
    CHECK_EQ_U64(pz_stream_index(coded, coded_bytes, sizeof raw, offsets, NULL), PZ_OK);
    CHECK_EQ_U64(offsets[0], 6);
    CHECK_EQ_U64(offsets[1] - offsets[0], coded[0] | coded[1] << 8);
    CHECK_EQ_U64(offsets[2] - offsets[1], PZ_CHUNK_BYTES);
    CHECK_EQ_U64(offsets[3] - offsets[2], 1);
    CHECK_EQ_U64(offsets[3], coded_bytes);

    CHECK_EQ_U64(pz_stream_index(coded, 3, sizeof raw, offsets, &where), PZ_ERR_TRUNCATED);
    CHECK_EQ_U64(where.chunk, 1);
    CHECK_EQ_U64(pz_stream_index(coded, coded_bytes - 1, sizeof raw, offsets, &where),
                 PZ_ERR_TRUNCATED);
    CHECK_EQ_U64(where.chunk, 2);
    CHECK_EQ_U64(pz_stream_index(coded, coded_bytes + 1, sizeof raw, offsets, &where),
                 PZ_ERR_TRAILING);
    CHECK_EQ_U64(where.chunk, 3);
    CHECK_EQ_U64(pz_stream_index(coded, coded_bytes, sizeof raw, NULL, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_index(NULL, 1, 1, offsets, NULL), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_stream_index(NULL, 0, 0, offsets, NULL), PZ_OK);
    CHECK_EQ_U64(offsets[0], 0);
}

/* Offsets that are not those of the stream are refused, or by chance lead to a chunk's end. */
TEST(offsets_of_another_stream)
{
    static uint8_t raw[3 * PZ_CHUNK_BYTES];
    static const uint64_t far[] = {0, 1, 6, 4096, UINT32_MAX, UINT64_MAX, UINT64_MAX - 4095};
    const pz_mode mode = mode_of("planezip", 16);
    struct guard coded_guard = {0}, raw_guard = {0};
    size_t coded_bytes = 0;
    struct rng rng = {17};
    uint8_t *coded = guard_place(&coded_guard, GUARD_BACK, sizeof raw + 6);

    datagen_fill(&rng, DATAGEN_MIXED, 16, raw, sizeof raw);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, sizeof raw, coded, sizeof raw + 6, &coded_bytes),
                 PZ_OK);
    memmove(coded + sizeof raw + 6 - coded_bytes, coded, coded_bytes);
    coded += sizeof raw + 6 - coded_bytes;
    for (unsigned i = 0; i < 20000; i++) {
        const uint64_t first = rng_below(&rng, 3), count = 1 + rng_below(&rng, 3 - first);
        uint8_t *const to = guard_place(&raw_guard, GUARD_BACK, (size_t)count * PZ_CHUNK_BYTES);
        uint64_t offsets[4];

        CHECK_EQ_U64(pz_stream_index(coded, coded_bytes, sizeof raw, offsets, NULL), PZ_OK);
        for (uint64_t wrong = 1 + rng_below(&rng, 4); wrong > 0; wrong--)
            offsets[rng_below(&rng, 4)] += far[rng_below(&rng, 7)] * (rng_one_in(&rng, 2) ? 1 : -1);
        pz_stream_decode_chunks(mode, coded, coded_bytes, sizeof raw, offsets, first, count, to,
                                NULL);
    }
    guard_drop(&coded_guard);
    guard_drop(&raw_guard);
}

/* Decodes a payload, of one chunk of raw_bytes, that must be rejected. */
static void check_place(const char *payload, size_t payload_bytes, size_t raw_bytes,
                        pz_status expected, unsigned block, unsigned bit)
{
    uint8_t coded[64] = {(uint8_t)payload_bytes}, raw[PZ_CHUNK_BYTES];
    const pz_mode mode = mode_of("planezip", 16);
    pz_where where = {9, 9, 9};

    memcpy(coded + 2, payload, payload_bytes);
    CHECK_STR(
        pz_status_name(pz_stream_decode(mode, coded, 2 + payload_bytes, raw, raw_bytes, &where)),
        pz_status_name(expected));
    CHECK_EQ_U64(where.chunk, 0);
    CHECK_EQ_U64(where.block, block);
    CHECK_EQ_U64(where.bit, bit);
}

/* Blocks of zeros are 9 bits at w = 16: tag 2 (bits 010), code 01, field 14 (bits 0111). */
TEST(places_of_errors_to_the_bit)
{
    /* A second block with tag 7. */
    check_place("\xd2\x0f", 2, 256, PZ_ERR_TAG, 1, 9);
    /* The payload ends within the tag of the second block, then within the run of the first. */
    check_place("\xd2", 1, 128, PZ_ERR_CHUNK_END, 0, 3);
    check_place("\xd2\x01", 2, 384, PZ_ERR_CHUNK_END, 1, 12);
    /* A run of 17, one too many, in the second block: its code begins at bit 12. */
    check_place("\xd2\xe5\x03", 3, 256, PZ_ERR_RUN, 1, 12);
    /* Left over: a whole byte, and a bit of padding. */
    check_place("\xd2\x01\x00", 3, 128, PZ_ERR_CHUNK_END, 1, 9);
    check_place("\xd2\x81", 2, 128, PZ_ERR_PADDING, 1, 9);
}
