/* The validation of the paper, "Validation" in its section III: 4,000 blocks sampled from float32
 * and bfloat16 activations of the five models, and 1,800 synthetic corner blocks.  For each of
 * them, size model, encoder, decoder and reference agree, in every codec. */
#include <stdlib.h>

#include "base/le.h"
#include "planezip/planezip.h"
#include "support/activations.h"
#include "support/differential.h"
#include "support/rng.h"
#include "support/test.h"

enum { REAL_BLOCKS = 4000, CORNER_BLOCKS = 1800 };

static const unsigned widths[] = {8, 16, 32, 64};
static const char *const codecs[] = {"planezip", "zvc", "bpc", "bx", "zbx"};

static void check_block(unsigned w, const uint8_t block[PZ_BLOCK_BYTES])
{
    for (unsigned i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        pz_mode mode;

        CHECK_EQ_U64(pz_mode_named(codecs[i], w, &mode), PZ_OK);
        CHECK_STR(differential_encode(mode, block, PZ_BLOCK_BYTES), NULL);
    }
}

/* The same number of blocks from each model in each of the two types. */
TEST(real_blocks)
{
    static const char *const models[] = {"resnet50", "densenet121", "efficientnet_b0", "vit_b_16",
                                         "gpt2"};
    static const char *const kinds[] = {"f32", "bf16"};
    struct activations *all = activations_load();
    struct rng rng = {20260101};
    unsigned taken[10] = {0}, done = 0;

    while (done < REAL_BLOCKS) {
        const struct activation *chunk = &all->chunks[rng_below(&rng, all->count)];
        const size_t block = (size_t)rng_below(&rng, chunk->bytes / PZ_BLOCK_BYTES);
        unsigned group = 0;

        while (group < 10 && (strcmp(chunk->model, models[group / 2]) != 0 ||
                              strcmp(chunk->kind, kinds[group % 2]) != 0))
            group++;
        if (group == 10 || taken[group] == REAL_BLOCKS / 10)
            continue;
        TEST_CONTEXT("%s %s, offset %zu, block %zu", chunk->model, chunk->kind, chunk->offset,
                     block);
        check_block(chunk->w, chunk->data + block * PZ_BLOCK_BYTES);
        taken[group]++;
        done++;
    }
    activations_free(all);
}

/* ---- Corner blocks: symbol i of a block, in w bits ------------------------------------------- */

static uint64_t low_bits(unsigned w)
{
    return UINT64_MAX >> (64 - w);
}

/* Sign, exponent and mantissa of the float of w bits, bfloat16 for w = 16; 8 bits as 1-4-3. */
static unsigned mantissa_bits(unsigned w)
{
    return w == 8 ? 3 : w == 16 ? 7 : w == 32 ? 23 : 52;
}

static uint64_t sign_bit(unsigned w)
{
    return (uint64_t)1 << (w - 1);
}

static uint64_t infinity(unsigned w)
{
    return (sign_bit(w) - 1) >> mantissa_bits(w) << mantissa_bits(w);
}

static uint64_t mantissa(struct rng *rng, unsigned w)
{
    return rng_next(rng) & low_bits(mantissa_bits(w));
}

/* One symbol of the corner `corner`; seed is the same for all symbols of a block. */
typedef uint64_t corner_symbol(struct rng *rng, unsigned w, unsigned i, uint64_t seed);

static uint64_t quiet_nans(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    const uint64_t quiet = (uint64_t)1 << (mantissa_bits(w) - 1);

    return infinity(w) | quiet | (seed & 1 ? mantissa(rng, w) : 0) |
           (i & seed & 2 ? sign_bit(w) : 0);
}

static uint64_t signalling_nans(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    (void)i;
    return infinity(w) | 1 | (mantissa(rng, w) >> 1) | (seed & 1 ? sign_bit(w) : 0);
}

static uint64_t nans_among_numbers(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    (void)i;
    if (rng_one_in(rng, 2 + seed % 7))
        return infinity(w) | 1 | mantissa(rng, w);
    return ((infinity(w) >> 1) + mantissa(rng, w)) | (rng_next(rng) & sign_bit(w));
}

static uint64_t infinities(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    return infinity(w) | (seed & 1 ? rng_next(rng) & sign_bit(w) : i & 1 ? sign_bit(w) : 0);
}

static uint64_t both_zeros(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    return seed & 1 ? rng_next(rng) & sign_bit(w) : (i >> (seed / 2 % 4) & 1) * sign_bit(w);
}

static uint64_t subnormals(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    (void)i;
    return (mantissa(rng, w) >> seed % mantissa_bits(w)) | (rng_next(rng) & sign_bit(w));
}

static uint64_t ramps(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    static const uint64_t steps[] = {1, 2, 3, 127, 128, 255, 0x8000, 0xffff};

    (void)rng;
    return ((seed & 8 ? 0 - i * steps[seed % 8] : i * steps[seed % 8]) + (seed >> 4)) & low_bits(w);
}

static uint64_t alternating(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    const uint64_t a = seed * UINT64_C(0x9e3779b97f4a7c15), b = seed & 1 ? ~a : 0;

    (void)rng;
    return (i >> (seed / 2 % 3) & 1 ? a : b) & low_bits(w);
}

static uint64_t single_symbol(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    (void)rng;
    return i == seed % (1024 / w) ? (seed >> 3 & 1 ? low_bits(w) : 1 + seed % 200) : 0;
}

static uint64_t single_bit(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    (void)rng;
    return i == seed % (1024 / w) ? (uint64_t)1 << (seed / 7 % w) : 0;
}

static uint64_t constants(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    static const uint64_t values[] = {0, 1, 2, UINT64_MAX, UINT64_MAX - 1};

    (void)rng;
    (void)i;
    return (seed % 6 == 5 ? sign_bit(w) : values[seed % 6]) & low_bits(w);
}

/* Deltas that need all w + 1 bits: from the least to the greatest symbol and back. */
static uint64_t extreme_deltas(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    (void)i;
    return (rng_one_in(rng, 2) ? low_bits(w) - rng_below(rng, 1 + seed % 3)
                               : rng_below(rng, 1 + seed % 3));
}

static uint64_t sparse_numbers(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    (void)i;
    return rng_below(rng, 16) < seed % 17 ? 0 : (infinity(w) >> 1) + mantissa(rng, w);
}

static uint64_t random_bits(struct rng *rng, unsigned w, unsigned i, uint64_t seed)
{
    (void)i;
    (void)seed;
    return rng_next(rng) & low_bits(w);
}

static const struct {
    const char *name;
    corner_symbol *symbol;
} corners[] = {
    {"quiet NaNs", quiet_nans},
    {"signalling NaNs", signalling_nans},
    {"NaNs among numbers", nans_among_numbers},
    {"infinities", infinities},
    {"both zeros", both_zeros},
    {"subnormals", subnormals},
    {"ramps", ramps},
    {"alternating", alternating},
    {"single symbol", single_symbol},
    {"single bit", single_bit},
    {"constants", constants},
    {"extreme deltas", extreme_deltas},
    {"sparse numbers", sparse_numbers},
    {"random bits", random_bits},
};

enum { CORNERS = sizeof corners / sizeof corners[0] };

static void store(unsigned w, uint8_t block[PZ_BLOCK_BYTES], unsigned i, uint64_t symbol)
{
    uint8_t bytes[8];

    pzi_store_le64(bytes, symbol);
    memcpy(block + i * (w / 8), bytes, w / 8);
}

TEST(corner_blocks)
{
    struct rng rng = {1800};

    for (unsigned k = 0; k < CORNER_BLOCKS; k++) {
        const unsigned w = widths[k % 4], corner = k / 4 % CORNERS;
        const uint64_t seed = k / 4 / CORNERS;
        uint8_t block[PZ_BLOCK_BYTES];

        for (unsigned i = 0; i < 1024 / w; i++)
            store(w, block, i, corners[corner].symbol(&rng, w, i, seed));
        TEST_CONTEXT("block %u, w %u, %s", k, w, corners[corner].name);
        check_block(w, block);
    }
}
