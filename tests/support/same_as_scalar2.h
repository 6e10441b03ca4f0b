/* The test of an emulated instruction set, `emulated_ops`, against the scalar one in format 2: what
 * same_as_scalar.h is to format 1. */
#ifndef PZ_TEST_SAME_AS_SCALAR2_H
#define PZ_TEST_SAME_AS_SCALAR2_H

#include <stdlib.h>

#include "codec/chunk2.h"
#include "support/chunkgen2.h"
#include "support/datagen.h"
#include "support/rng.h"
#include "support/streamgen2.h"
#include "support/test.h"

static const struct {
    unsigned w, e;
} types2[] = {{8, 0},  {8, 4},  {8, 5},  {16, 0}, {16, 5},
              {16, 8}, {32, 0}, {32, 8}, {64, 0}, {64, 11}};

enum { TYPES2 = sizeof types2 / sizeof *types2, ROUNDS2 = 80, FLIPS2 = 30 };

static pz_mode mode2(unsigned type, uint32_t level)
{
    return (pz_mode){types2[type].w, level, PZ_FORMAT_2, types2[type].e};
}

static const struct pzi_width2_ops *ops2(const struct pzi_ops *ops, pz_mode mode)
{
    const unsigned w = mode.width_bits;

    return &ops->width2[w == 8 ? 0 : w == 16 ? 1 : w == 32 ? 2 : 3];
}

static void check_decoding2(pz_mode mode, const uint8_t *coded, size_t coded_bytes,
                            size_t raw_bytes)
{
    uint8_t expected[PZ_CHUNK_BYTES], back[PZ_CHUNK_BYTES];
    pz_where expected_where = {0, 0, 0}, where = {0, 0, 0};
    const pz_status status =
        pzi_chunk2_decode(ops2(&pzi_ops_scalar, mode), mode, coded, coded_bytes, coded_bytes,
                          expected, raw_bytes, &expected_where);

    CHECK_EQ_U64(pzi_chunk2_decode(ops2(&emulated_ops, mode), mode, coded, coded_bytes, coded_bytes,
                                   back, raw_bytes, &where),
                 status);
    CHECK(memcmp(&where, &expected_where, sizeof where) == 0);
    if (status == PZ_OK)
        CHECK_MEM(back, expected, raw_bytes);
}

static void check_damaged2(pz_mode mode, uint8_t *coded, size_t coded_bytes, size_t raw_bytes,
                           struct rng *rng)
{
    check_decoding2(mode, coded, coded_bytes, raw_bytes);
    for (unsigned k = 0; k < FLIPS2; k++) {
        const uint64_t bit = rng_below(rng, 8 * coded_bytes);

        coded[bit / 8] ^= (uint8_t)(1u << bit % 8);
        check_decoding2(mode, coded, coded_bytes, raw_bytes);
        coded[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void check_chunk2(pz_mode mode, const uint8_t *raw, size_t raw_bytes, struct rng *rng)
{
    uint8_t expected[PZ_CHUNK_BYTES], coded[PZ_CHUNK_BYTES];
    pz_stats expected_stats = {0}, stats = {0};
    const size_t coded_bytes = pzi_chunk2_encode(ops2(&pzi_ops_scalar, mode), mode, raw, raw_bytes,
                                                 expected, sizeof expected);

    CHECK_EQ_U64(
        pzi_chunk2_encode(ops2(&emulated_ops, mode), mode, raw, raw_bytes, coded, sizeof coded),
        coded_bytes);
    CHECK_MEM(coded, expected, coded_bytes);
    pzi_chunk2_measure(ops2(&pzi_ops_scalar, mode), mode, raw, raw_bytes, &expected_stats);
    pzi_chunk2_measure(ops2(&emulated_ops, mode), mode, raw, raw_bytes, &stats);
    CHECK(memcmp(&stats, &expected_stats, sizeof stats) == 0);
    check_damaged2(mode, coded, coded_bytes, raw_bytes, rng);
}

TEST(same_as_scalar2)
{
    uint8_t raw[PZ_CHUNK_BYTES];
    struct rng rng = {513};

    for (unsigned type = 0; type < TYPES2; type++)
        for (unsigned k = 0; k < ROUNDS2; k++) {
            const size_t bytes =
                k % 4 == 0 ? sizeof raw : 1 + (size_t)rng_below(&rng, k % 4 == 1 ? 4096 : 600);

            TEST_CONTEXT("w %u, e %u, kind %u, %zu bytes", types2[type].w, types2[type].e,
                         k % DATAGEN_KINDS, bytes);
            if (k % 2 == 0 && types2[type].e != 0)
                datagen_fill_floats(&rng, types2[type].w, types2[type].e, raw, bytes);
            else
                datagen_fill(&rng, (enum datagen_kind)(k / 2 % DATAGEN_KINDS), types2[type].w, raw,
                             bytes);
            check_chunk2(mode2(type, k % 3 == 0 ? PZ_LEVEL_FAST : PZ_LEVEL_NORMAL), raw, bytes,
                         &rng);
        }
}

/* PZ_AGREEMENT is the number of chunks for each type. */
TEST(same_as_scalar2_for_every_kind)
{
    const char *const text = getenv("PZ_AGREEMENT");
    const unsigned rounds = text != NULL ? (unsigned)atoi(text) : 5 * CHUNKGEN2_KINDS;
    uint8_t raw[PZ_CHUNK_BYTES];

    for (unsigned type = 0; type < TYPES2; type++)
        for (unsigned k = 0; k < rounds; k++) {
            const unsigned w = types2[type].w, e = types2[type].e, kind = k % CHUNKGEN2_KINDS;
            struct rng rng = {(uint64_t)type << 32 | k};
            const size_t bytes = chunkgen2_size(&rng);

            TEST_CONTEXT("w %u, e %u, kind %u, round %u, %zu bytes", w, e, kind, k, bytes);
            chunkgen2_fill(&rng, (enum chunkgen2_kind)kind, w, e, raw);
            check_chunk2(mode2(type, k % 4 == 0 ? PZ_LEVEL_FAST : PZ_LEVEL_NORMAL), raw, bytes,
                         &rng);
        }
}

/* Exponents that are far from the base have no class, on either side. */
TEST(same_as_scalar2_for_every_base)
{
    uint8_t raw[PZ_CHUNK_BYTES];
    struct rng rng = {515};

    for (unsigned type = 0; type < TYPES2; type++) {
        const unsigned w = types2[type].w, e = types2[type].e;

        for (unsigned base = 0; e != 0 && base < 1u << e; base += base < 20 ? 1 : 9) {
            TEST_CONTEXT("w %u, e %u, base %u", w, e, base);
            datagen_fill_about(&rng, w, e, base, raw);
            check_chunk2(mode2(type, PZ_LEVEL_FAST), raw, sizeof raw, &rng);
        }
    }
}

/* What no encoder writes. */
TEST(same_as_scalar2_for_other_streams)
{
    uint8_t raw[PZ_CHUNK_BYTES], coded[PZ_CHUNK_BYTES + 64];
    uint64_t counts[STREAMGEN2_FEATURES] = {0};
    struct rng rng = {514};

    for (unsigned type = 0; type < TYPES2; type++)
        for (unsigned k = 0; k < ROUNDS2; k++) {
            const size_t bytes = 1 + (size_t)rng_below(&rng, k % 8 == 0 ? sizeof raw : 600);
            const unsigned w = types2[type].w, e = types2[type].e;
            size_t payload_bytes;

            TEST_CONTEXT("w %u, e %u, kind %u, %zu bytes", w, e, k % DATAGEN_KINDS, bytes);
            datagen_fill(&rng, (enum datagen_kind)(k % DATAGEN_KINDS), w, raw, bytes);
            payload_bytes = streamgen2_make(&rng, w, e, raw, bytes, coded, counts) - 2;
            check_damaged2(mode2(type, PZ_LEVEL_NORMAL), coded + 2, payload_bytes, bytes, &rng);
        }
}

#endif
