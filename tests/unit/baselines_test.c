/* BDI by hand-computed blocks; real data: activations_test.c. */
#include "baselines/baselines.h"

#include <stdlib.h>

#include "base/le.h"
#include "support/rng.h"
#include "support/test.h"

enum { HEADER = 2 };

/* Bytes of 128 bytes of input as a chunk: bits with the 4 bits of the tag, and the header. */
static uint64_t coded(unsigned bits)
{
    return HEADER + (4 + bits + 7) / 8;
}

static void check_block(const uint8_t *block, uint64_t expected)
{
    uint64_t coded_bytes = 0;

    CHECK_EQ_U64(pzb_bdi_measure(block, 128, &coded_bytes), PZ_OK);
    CHECK_EQ_U64(coded_bytes, expected);
}

TEST(zero_repeated_and_random)
{
    uint8_t block[128] = {0};
    struct rng rng = {1};

    check_block(block, coded(8));
    for (unsigned i = 0; i < 16; i++)
        pzi_store_le64(block + 8 * i, UINT64_C(0x0123456789abcdef));
    check_block(block, coded(64));
    rng_fill(&rng, block, sizeof block);
    check_block(block, HEADER + 128);
}

/* Numbers about a base, and numbers about zero beside them. */
TEST(two_bases)
{
    uint8_t block[128];

    for (unsigned i = 0; i < 16; i++)
        pzi_store_le64(block + 8 * i, i % 3 == 0 ? i : UINT64_C(0x1122334455667788) + i);
    check_block(block, coded(16 + 64 + 16 * 8));
    /* The base is the first that is far from zero: 128 above it is too far for a signed byte. */
    pzi_store_le64(block + 8 * 14, UINT64_C(0x1122334455667789) + 128);
    check_block(block, coded(16 + 64 + 16 * 16));
    pzi_store_le64(block + 8 * 14, UINT64_C(0x1122334455667789) - 128);
    check_block(block, coded(16 + 64 + 16 * 8));
}

TEST(elements_of_four_and_two_bytes)
{
    uint8_t block[128];

    for (unsigned i = 0; i < 32; i++)
        pzi_store_le32(block + 4 * i, 0x7f000000 + (i * 37) % 100);
    check_block(block, coded(32 + 32 + 32 * 8));
    for (unsigned i = 0; i < 64; i++)
        pzi_store_le16(block + 2 * i, (uint16_t)(i % 2 ? 0x4000 + i : 0xffff - i));
    check_block(block, coded(64 + 16 + 64 * 8));
}

/* A delta may wrap around: 0x8000 and 0x7fff are neighbours. */
TEST(deltas_are_modular)
{
    uint8_t block[128];

    for (unsigned i = 0; i < 64; i++)
        pzi_store_le16(block + 2 * i, (uint16_t)(0x7ff0 + (i * 7) % 32));
    check_block(block, coded(64 + 16 + 64 * 8));
}

TEST(chunks_and_arguments)
{
    uint8_t *raw = calloc(1, 4097);
    uint64_t coded_bytes = 1;

    if (!CHECK(raw != NULL))
        return;
    CHECK_EQ_U64(pzb_bdi_measure(NULL, 0, &coded_bytes), PZ_OK);
    CHECK_EQ_U64(coded_bytes, 0);
    CHECK_EQ_U64(pzb_bdi_measure(raw, 4097, &coded_bytes), PZ_OK);
    CHECK_EQ_U64(coded_bytes, 2 + 32 * 12 / 8 + 2 + 1);
    CHECK_EQ_U64(pzb_bdi_measure(NULL, 1, &coded_bytes), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pzb_bdi_measure(raw, 1, NULL), PZ_ERR_ARGUMENT);
    free(raw);
}
