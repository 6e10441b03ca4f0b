/* Bit writer and bit reader, and little-endian access. */
#include "base/bits.h"

#include <stdlib.h>

#include "support/rng.h"
#include "support/test.h"

enum { FIELDS = 400, BYTES = FIELDS * 8 + PZI_BITS_SLACK };

static uint64_t random_field(struct rng *rng, unsigned *bits)
{
    *bits = 1 + (unsigned)rng_below(rng, 64);
    return rng_next(rng) >> (64 - *bits);
}

/* One bit after another: docs/format.md, "Bit order". */
static void put_slowly(uint8_t *bytes, size_t *at, uint64_t value, unsigned bits)
{
    for (unsigned k = 0; k < bits; k++, (*at)++)
        bytes[*at / 8] |= (uint8_t)((value >> k & 1) << (*at % 8));
}

TEST(writer_equals_single_bits)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        uint8_t expected[BYTES] = {0}, written[BYTES];
        struct rng rng = {seed};
        struct pzi_bit_writer writer;
        size_t at = 0;

        TEST_CONTEXT("seed %d", (int)seed);
        pzi_writer_init(&writer, written);
        for (uint64_t fields = rng_below(&rng, FIELDS); fields > 0; fields--) {
            unsigned bits;
            const uint64_t value = random_field(&rng, &bits);

            pzi_put(&writer, value, bits);
            pzi_put(&writer, 0, 0);
            put_slowly(expected, &at, value, bits);
        }
        pzi_writer_finish(&writer);
        CHECK_EQ_U64(writer.next - written, (at + 7) / 8);
        CHECK_MEM(written, expected, (at + 7) / 8);
    }
}

/* The block is exactly as large as promised, so that a sanitizer sees a byte too many. */
TEST(writer_keeps_within_the_slack)
{
    for (unsigned fields = 0; fields <= 40; fields++) {
        uint8_t *block = malloc((fields * 17 + 7) / 8 + PZI_BITS_SLACK);
        struct pzi_bit_writer writer;

        if (!CHECK(block != NULL))
            return;
        pzi_writer_init(&writer, block);
        for (unsigned k = 0; k < fields; k++)
            pzi_put(&writer, 0x15555, 17);
        pzi_writer_finish(&writer);
        CHECK_EQ_U64(writer.next - block, (fields * 17 + 7) / 8);
        free(block);
    }
}

TEST(reader_returns_what_was_written)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        uint8_t bytes[BYTES] = {0}, *block;
        struct rng rng = {seed};
        const uint64_t fields = 1 + rng_below(&rng, FIELDS - 1);
        struct rng again = rng;
        struct pzi_bit_reader reader;
        size_t at = 0, read_bits = 0;
        unsigned bits;

        TEST_CONTEXT("seed %d", (int)seed);
        for (uint64_t i = 0; i < fields; i++) {
            const uint64_t value = random_field(&rng, &bits);

            put_slowly(bytes, &at, value, bits);
        }
        block = malloc((at + 7) / 8 + PZI_BITS_SLACK);
        if (!CHECK(block != NULL))
            return;
        memcpy(block, bytes, (at + 7) / 8 + PZI_BITS_SLACK);
        pzi_reader_init(&reader, block, (at + 7) / 8);
        for (uint64_t i = 0; i < fields; i++) {
            const uint64_t value = random_field(&again, &bits);
            const uint64_t mask = UINT64_MAX >> (64 - bits);

            CHECK_EQ_U64(reader.position, read_bits);
            CHECK_EQ_U64((pzi_peek(&reader) ^ value) & mask & (UINT64_MAX >> 7), 0);
            CHECK_EQ_U64(pzi_get(&reader, bits), value);
            read_bits += bits;
        }
        CHECK(pzi_left(&reader) < 8);
        free(block);
    }
}

TEST(little_endian)
{
    const uint8_t bytes[9] = {0xee, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    uint8_t stored[9] = {0xee};

    CHECK_EQ_U64(pzi_load_le8(bytes + 1), 0x01);
    CHECK_EQ_U64(pzi_load_le16(bytes + 1), 0x2301);
    CHECK_EQ_U64(pzi_load_le32(bytes + 5), 0xefcdab89);
    CHECK_EQ_U64(pzi_load_le64(bytes + 1), UINT64_C(0xefcdab8967452301));
    pzi_store_le64(stored + 1, UINT64_C(0xefcdab8967452301));
    CHECK_MEM(stored, bytes, sizeof bytes);
    memset(stored + 1, 0, 8);
    pzi_store_le32(stored + 1, 0x67452301);
    pzi_store_le16(stored + 5, 0xab89);
    pzi_store_le8(stored + 7, 0xcd);
    pzi_store_le8(stored + 8, 0xef);
    CHECK_MEM(stored, bytes, sizeof bytes);
}
