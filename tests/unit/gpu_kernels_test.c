/* The device kernels as plain C against the codec: the same bytes, and the same judgement of every
 * payload, in both orders of the lanes.  PZ_AGREEMENT is the number of random chunks for each type
 * and format. */
#include "support/test.h"

#include <stdlib.h>

#include "planezip/planezip.h"
#include "support/activations.h"
#include "support/chunkgen2.h"
#include "support/datagen.h"
#include "support/golden.h"
#include "support/lanes.h"
#include "support/rng.h"
#include "support/streamgen.h"
#include "support/streamgen2.h"

static const struct {
    unsigned w, e;
} types[] = {{8, 0},  {8, 4},  {8, 5},  {16, 0}, {16, 5},
             {16, 8}, {32, 0}, {32, 8}, {64, 0}, {64, 11}};

static const char *const codecs[] = {"planezip", "zvc", "bpc", "bx", "zbx"};

enum {
    TYPES = sizeof types / sizeof *types,
    CODECS = sizeof codecs / sizeof *codecs,
    ROOM = 2 * PZ_CHUNK_BYTES,
    TAILS = PZ_CHUNK_BYTES + 104
};

static unsigned rounds(void)
{
    const char *const text = getenv("PZ_AGREEMENT");

    return text != NULL ? (unsigned)atoi(text) : 48;
}

static pz_mode mode2_of(unsigned type, uint32_t level)
{
    return (pz_mode){types[type].w, level, PZ_FORMAT_2, types[type].e};
}

static pz_mode mode1_of(unsigned w, unsigned codec)
{
    pz_mode mode = {0};

    CHECK_EQ_U64(pz_mode_named(codecs[codec % CODECS], w, &mode), PZ_OK);
    return mode;
}

static size_t chunk_bytes(size_t raw_bytes, size_t chunk)
{
    const size_t left = raw_bytes - chunk * PZ_CHUNK_BYTES;

    return left < PZ_CHUNK_BYTES ? left : PZ_CHUNK_BYTES;
}

/* A stream by the kernels; returns its size, that of the CPU's if they agree. */
static size_t kernels_encode(enum lanes_order order, pz_mode mode, const uint8_t *raw,
                             size_t raw_bytes, uint8_t *stream)
{
    const size_t chunks = (size_t)pz_stream_chunks(raw_bytes);
    size_t position = 2 * chunks;

    for (size_t i = 0; i < chunks; i++) {
        const size_t bytes = lanes_encode_chunk(order, mode, raw + i * PZ_CHUNK_BYTES,
                                                chunk_bytes(raw_bytes, i), stream + position);

        stream[2 * i] = (uint8_t)bytes;
        stream[2 * i + 1] = (uint8_t)(bytes >> 8);
        position += bytes;
    }
    return position;
}

/* A stream whose headers are right, chunk by chunk up to the first fault. */
static pz_status kernels_decode(enum lanes_order order, pz_mode mode, const uint8_t *stream,
                                const uint64_t *offsets, uint8_t *raw, size_t raw_bytes)
{
    const size_t chunks = (size_t)pz_stream_chunks(raw_bytes);
    pz_status status = PZ_OK;

    for (size_t i = 0; status == PZ_OK && i < chunks; i++)
        status = lanes_decode_chunk(order, mode, stream + offsets[i],
                                    (size_t)(offsets[i + 1] - offsets[i]), raw + i * PZ_CHUNK_BYTES,
                                    chunk_bytes(raw_bytes, i));
    return status;
}

/* Headers and sizes are not the kernels' affair: they get what the index accepts. */
static void check_decode(pz_mode mode, const uint8_t *stream, size_t bytes, size_t raw_bytes)
{
    static uint8_t expected[ROOM], raw[ROOM];
    uint64_t offsets[4];
    pz_status status;

    if (pz_stream_index(stream, bytes, raw_bytes, offsets, NULL) != PZ_OK)
        return;
    status = pz_stream_decode(mode, stream, bytes, expected, raw_bytes, NULL);
    for (enum lanes_order order = 0; order < LANES_ORDERS; order++) {
        CHECK_EQ_U64(kernels_decode(order, mode, stream, offsets, raw, raw_bytes), status);
        if (status == PZ_OK)
            CHECK_MEM(raw, expected, raw_bytes);
    }
}

static void check_encode(pz_mode mode, const uint8_t *raw, size_t raw_bytes)
{
    static uint8_t expected[ROOM + 8], coded[ROOM + 8];
    size_t bytes = 0;

    CHECK_EQ_U64(pz_stream_encode(mode, raw, raw_bytes, expected, sizeof expected, &bytes), PZ_OK);
    for (enum lanes_order order = 0; order < LANES_ORDERS; order++) {
        CHECK_EQ_U64(kernels_encode(order, mode, raw, raw_bytes, coded), bytes);
        CHECK_MEM(coded, expected, bytes);
    }
    check_decode(mode, expected, bytes, raw_bytes);
}

TEST(random_chunks_of_format_2)
{
    uint8_t raw[CHUNKGEN2_BYTES];

    for (unsigned type = 0; type < TYPES; type++)
        for (unsigned i = 0; i < rounds(); i++) {
            const unsigned w = types[type].w, e = types[type].e, kind = i % CHUNKGEN2_KINDS;
            struct rng rng = {(uint64_t)type << 32 | i};
            const size_t bytes = chunkgen2_size(&rng);

            TEST_CONTEXT("w%u e%u, kind %u, round %u, %zu bytes", w, e, kind, i, bytes);
            chunkgen2_fill(&rng, (enum chunkgen2_kind)kind, w, e, raw);
            check_encode(mode2_of(type, rng_one_in(&rng, 4) ? PZ_LEVEL_FAST : PZ_LEVEL_NORMAL), raw,
                         bytes);
        }
}

TEST(random_chunks_of_format_1)
{
    uint8_t raw[PZ_CHUNK_BYTES];

    for (unsigned w = 8; w <= 64; w *= 2)
        for (unsigned i = 0; i < rounds(); i++) {
            struct rng rng = {(uint64_t)w << 32 | i};
            const size_t bytes = chunkgen2_size(&rng);

            TEST_CONTEXT("w%u, round %u, %zu bytes", w, i, bytes);
            datagen_fill(&rng, (enum datagen_kind)(i % DATAGEN_KINDS), w, raw, bytes);
            check_encode(mode1_of(w, rng_one_in(&rng, 2) ? 0 : i / DATAGEN_KINDS), raw, bytes);
        }
}

TEST(generated_and_damaged_streams)
{
    enum { DAMAGES = 8 };
    static uint8_t raw[ROOM], coded[ROOM + 8], damaged[ROOM + 8];
    uint64_t counts1[STREAMGEN_FEATURES] = {0}, counts2[STREAMGEN2_FEATURES] = {0};

    for (unsigned i = 0; i < 4 * rounds(); i++) {
        const unsigned type = i % TYPES, w = types[type].w;
        const bool is_first = i / TYPES % 3 == 0;
        const pz_mode mode = is_first ? mode1_of(w, 0) : mode2_of(type, PZ_LEVEL_NORMAL);
        struct rng rng = {UINT64_C(1) << 63 | i};
        const size_t raw_bytes = chunkgen2_size(&rng) + (rng_one_in(&rng, 8) ? 200 : 0);
        size_t bytes;

        for (unsigned k = 0; k < 2; k++)
            chunkgen2_fill(&rng, (enum chunkgen2_kind)rng_below(&rng, CHUNKGEN2_KINDS), w,
                           types[type].e, raw + k * CHUNKGEN2_BYTES);
        bytes = is_first ? streamgen_make(&rng, w, raw, raw_bytes, coded, counts1)
                         : streamgen2_make(&rng, w, types[type].e, raw, raw_bytes, coded, counts2);
        TEST_CONTEXT("w%u e%u, round %u, %zu bytes", w, types[type].e, i, raw_bytes);
        check_decode(mode, coded, bytes, raw_bytes);
        for (unsigned k = 0; k < DAMAGES; k++) {
            const size_t from = 2 * (size_t)pz_stream_chunks(raw_bytes);

            memcpy(damaged, coded, bytes);
            for (uint64_t n = 1 + rng_below(&rng, 3); n > 0 && from < bytes; n--)
                damaged[from + rng_below(&rng, rng_one_in(&rng, 2) && bytes - from > 12
                                                   ? 12
                                                   : bytes - from)] ^=
                    (uint8_t)(1u << rng_below(&rng, 8));
            check_decode(mode, damaged, bytes, raw_bytes);
        }
    }
}

/* Streams of the golden files that decoders must reject or accept. */
TEST(golden_streams)
{
    static const enum golden_kind kinds[] = {GOLDEN_BAD, GOLDEN_ACCEPT, GOLDEN_BAD2,
                                             GOLDEN_ACCEPT2};

    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct golden *const g = golden_open(kinds[i]);

        while (golden_next(g)) {
            const pz_format format = kinds[i] < GOLDEN_STREAMS2 ? PZ_FORMAT_1 : PZ_FORMAT_2;

            TEST_CONTEXT("%s", g->name);
            if (g->raw_bytes <= ROOM)
                check_decode((pz_mode){g->w, PZ_LEVEL_NORMAL, format, g->e}, g->coded,
                             g->coded_bytes, g->raw_bytes);
        }
        golden_close(g);
    }
}

/* All of them in a long run. */
TEST(tails)
{
    static uint8_t raw[TAILS];
    const size_t step = rounds() > 1000 ? 1 : 61;

    for (unsigned type = 0; type < TYPES; type++)
        for (size_t bytes = type % step; bytes <= TAILS; bytes += step) {
            struct rng rng = {bytes};

            TEST_CONTEXT("w%u e%u, %zu bytes", types[type].w, types[type].e, bytes);
            datagen_fill(&rng, bytes % 2 ? DATAGEN_MIXED : DATAGEN_FLOATS, types[type].w, raw,
                         bytes);
            check_encode(mode2_of(type, PZ_LEVEL_NORMAL), raw, bytes);
            if (types[type].e == 0)
                check_encode(mode1_of(types[type].w, 0), raw, bytes);
        }
}

/* Every chunk in a long run. */
TEST(activations)
{
    struct activations *const all = activations_load();
    const size_t step = 1 + all->count / (10 * (size_t)rounds());

    for (size_t i = 0; i < all->count; i += step) {
        const struct activation *const chunk = &all->chunks[i];
        const bool is_float = chunk->kind[0] == 'f' || strcmp(chunk->kind, "bf16") == 0;

        TEST_CONTEXT("%s, %s, %s, chunk %zu", chunk->model, chunk->kind, chunk->cls, i);
        check_encode((pz_mode){chunk->w, PZ_LEVEL_NORMAL, PZ_FORMAT_2, is_float ? 8 : 0},
                     chunk->data, chunk->bytes);
        check_encode(mode1_of(chunk->w, 0), chunk->data, chunk->bytes);
    }
    activations_free(all);
}
