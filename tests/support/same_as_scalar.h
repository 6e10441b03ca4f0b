/* The test of an emulated instruction set, `emulated_ops`, against the scalar one: the same chunks
 * encode to the same bytes, measure the same and come back; damaged ones fail alike.  No byte
 * beside a buffer is touched. */
#ifndef PZ_TEST_SAME_AS_SCALAR_H
#define PZ_TEST_SAME_AS_SCALAR_H

#include "codec/chunk.h"
#include "support/datagen.h"
#include "support/guard.h"
#include "support/rng.h"
#include "support/test.h"

enum { ROUNDS = 60, FLIPS = 40 };

static struct guard input_guard, output_guard;

static void check_decoding(unsigned i, enum guard_side side, const uint8_t *coded,
                           size_t coded_bytes, size_t raw_bytes)
{
    const uint8_t *const input = guard_copy(&input_guard, side, coded, coded_bytes);
    uint8_t *const back = guard_place(&output_guard, side, raw_bytes);
    uint8_t expected[PZ_CHUNK_BYTES];
    pz_where expected_where = {0, 0, 0}, where = {0, 0, 0};
    const pz_status status = pzi_chunk_decode(&pzi_ops_scalar.width[i], coded, coded_bytes,
                                              coded_bytes, expected, raw_bytes, &expected_where);

    CHECK_EQ_U64(pzi_chunk_decode(&emulated_ops.width[i], input, coded_bytes, coded_bytes, back,
                                  raw_bytes, &where),
                 status);
    CHECK(memcmp(&where, &expected_where, sizeof where) == 0);
    if (status == PZ_OK)
        CHECK_MEM(back, expected, raw_bytes);
}

/* Into exactly the room that is needed. */
static void check_encoding(unsigned i, enum guard_side side, uint32_t encodings, const uint8_t *raw,
                           size_t raw_bytes, const uint8_t *coded, size_t coded_bytes)
{
    const uint8_t *const input = guard_copy(&input_guard, side, raw, raw_bytes);
    uint8_t *const output = guard_place(&output_guard, side, coded_bytes);
    pz_stats expected_stats = {0}, stats = {0};

    CHECK_EQ_U64(
        pzi_chunk_encode(&emulated_ops.width[i], encodings, input, raw_bytes, output, coded_bytes),
        coded_bytes);
    CHECK_MEM(output, coded, coded_bytes);
    pzi_chunk_measure(&pzi_ops_scalar.width[i], encodings, raw, raw_bytes, &expected_stats);
    pzi_chunk_measure(&emulated_ops.width[i], encodings, input, raw_bytes, &stats);
    CHECK(memcmp(&stats, &expected_stats, sizeof stats) == 0);
}

static void check_chunk(unsigned i, uint32_t encodings, const uint8_t *raw, size_t raw_bytes,
                        struct rng *rng)
{
    uint8_t coded[PZ_CHUNK_BYTES];
    const size_t coded_bytes =
        pzi_chunk_encode(&pzi_ops_scalar.width[i], encodings, raw, raw_bytes, coded, sizeof coded);

    for (enum guard_side side = GUARD_FRONT; side < GUARD_SIDES; side++) {
        check_encoding(i, side, encodings, raw, raw_bytes, coded, coded_bytes);
        check_decoding(i, side, coded, coded_bytes, raw_bytes);
    }
    for (unsigned k = 0; k < FLIPS; k++) {
        const uint64_t bit = rng_below(rng, 8 * coded_bytes);

        coded[bit / 8] ^= (uint8_t)(1u << bit % 8);
        check_decoding(i, (enum guard_side)(k % GUARD_SIDES), coded, coded_bytes, raw_bytes);
        coded[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

TEST(same_as_scalar)
{
    static const uint32_t sets[] = {0x1f, 0x1f, 0x1f, 0x03, 0x05, 0x09, 0x11};
    uint8_t raw[PZ_CHUNK_BYTES];
    struct rng rng = {512};

    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < ROUNDS * DATAGEN_KINDS / 4; k++) {
            const size_t bytes = 1 + (size_t)rng_below(&rng, k % 8 == 0 ? sizeof raw : 600);

            TEST_CONTEXT("w %u, kind %u, %zu bytes", 8u << i, k % DATAGEN_KINDS, bytes);
            datagen_fill(&rng, (enum datagen_kind)(k % DATAGEN_KINDS), 8u << i, raw, bytes);
            check_chunk(i, sets[rng_below(&rng, 7)], raw, bytes, &rng);
        }
    }
}

#endif
