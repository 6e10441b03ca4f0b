/* Format 2 at length: every instruction set that the CPU has and the reference write the same
 * streams, and judge damaged ones alike.  PZ_AGREEMENT is the number of random chunks for each
 * type; there are as many damaged streams of all types together as ten times that. */
#include "support/test.h"

#include <stdlib.h>

#include "planezip/planezip.h"
#include "support/activations.h"
#include "support/chunkgen2.h"
#include "support/differential.h"
#include "support/rng.h"
#include "support/streamgen2.h"

#define CHECK_AGREE(difference) CHECK_STR(difference, NULL)

static const struct {
    unsigned w, e;
} types[] = {{8, 0},  {8, 4},  {8, 5},  {16, 0}, {16, 5},
             {16, 8}, {32, 0}, {32, 8}, {64, 0}, {64, 11}};

enum { TYPES = sizeof types / sizeof *types, PATTERNS = 65536 };

static unsigned rounds(void)
{
    const char *const text = getenv("PZ_AGREEMENT");

    return text != NULL ? (unsigned)atoi(text) : 120;
}

static pz_mode mode_of(unsigned type, uint32_t level)
{
    return (pz_mode){types[type].w, level, PZ_FORMAT_2, types[type].e};
}

/* One chunk in four at the fast level, whose decoder is the same. */
TEST(random_chunks)
{
    uint8_t raw[CHUNKGEN2_BYTES];

    for (unsigned type = 0; type < TYPES; type++)
        for (unsigned i = 0; i < rounds(); i++) {
            const unsigned w = types[type].w, e = types[type].e, kind = i % CHUNKGEN2_KINDS;
            struct rng rng = {(uint64_t)type << 32 | i};
            const size_t bytes = chunkgen2_size(&rng);

            TEST_CONTEXT("w%u e%u, kind %u, round %u, %zu bytes", w, e, kind, i, bytes);
            chunkgen2_fill(&rng, (enum chunkgen2_kind)kind, w, e, raw);
            CHECK_AGREE(differential_encode(
                mode_of(type, rng_one_in(&rng, 4) ? PZ_LEVEL_FAST : PZ_LEVEL_NORMAL), raw, bytes));
        }
}

/* A stream of a chunk or two: as the encoder writes it, or one of those that it never would. */
static size_t make_stream(struct rng *rng, unsigned type, size_t *raw_bytes, uint8_t *coded)
{
    static uint8_t raw[2 * CHUNKGEN2_BYTES];
    uint64_t counts[STREAMGEN2_FEATURES] = {0};
    const unsigned w = types[type].w, e = types[type].e;
    size_t bytes = 0;

    for (unsigned k = 0; k < 2; k++)
        chunkgen2_fill(rng, (enum chunkgen2_kind)rng_below(rng, CHUNKGEN2_KINDS), w, e,
                       raw + k * CHUNKGEN2_BYTES);
    *raw_bytes = chunkgen2_size(rng) + (rng_one_in(rng, 8) ? 200 : 0);
    if (rng_one_in(rng, 2))
        return streamgen2_make(rng, w, e, raw, *raw_bytes, coded, counts);
    CHECK_EQ_U64(pz_stream_encode(mode_of(type, PZ_LEVEL_NORMAL), raw, *raw_bytes, coded,
                                  sizeof raw + 8, &bytes),
                 PZ_OK);
    return bytes;
}

/* Bits anywhere, or among the first bytes of a payload, of which most depends. */
static void damage(struct rng *rng, uint8_t *coded, size_t bytes)
{
    const size_t near = bytes < 12 ? bytes : 12;

    for (uint64_t n = 1 + rng_below(rng, 3); n > 0; n--) {
        const size_t at = rng_below(rng, rng_one_in(rng, 2) ? near : bytes);

        if (rng_one_in(rng, 2))
            coded[at] ^= (uint8_t)(1u << rng_below(rng, 8));
        else
            coded[at] = (uint8_t)rng_next(rng);
    }
}

TEST(damaged_streams)
{
    enum { DAMAGES = 20 };
    static uint8_t coded[2 * CHUNKGEN2_BYTES + 64], damaged[sizeof coded];

    for (unsigned i = 0; i < 10 * rounds() / DAMAGES; i++) {
        const unsigned type = i % TYPES;
        struct rng rng = {UINT64_C(1) << 63 | i};
        size_t raw_bytes;
        const size_t bytes = make_stream(&rng, type, &raw_bytes, coded);

        for (unsigned k = 0; k < DAMAGES; k++) {
            TEST_CONTEXT("w%u e%u, round %u.%u, %zu bytes", types[type].w, types[type].e, i, k,
                         raw_bytes);
            memcpy(damaged, coded, bytes);
            damage(&rng, damaged, bytes);
            CHECK_AGREE(
                differential_decode(mode_of(type, PZ_LEVEL_NORMAL), damaged, bytes, raw_bytes));
        }
    }
}

enum order { RISING, FALLING, STRIDE, BY_NUMBER, SHUFFLED, ORDERS };

/* All of them once, whatever the order. */
static unsigned pattern(enum order order, unsigned i)
{
    switch (order) {
    case FALLING:
        return PATTERNS - 1 - i;
    case STRIDE:
        return i * 257 % PATTERNS; /* other exponents at every step */
    case BY_NUMBER:
        return i < PATTERNS / 2 ? PATTERNS - 1 - i : i - PATTERNS / 2; /* from -NaN up to NaN */
    default:
        return i;
    }
}

static void shuffle(struct rng *rng, uint16_t *symbols)
{
    for (unsigned i = PATTERNS - 1; i > 0; i--) {
        const size_t k = rng_below(rng, i + 1);
        const uint16_t symbol = symbols[i];

        symbols[i] = symbols[k];
        symbols[k] = symbol;
    }
}

TEST(all_patterns_of_16_bits)
{
    static uint16_t symbols[PATTERNS];
    static uint8_t raw[2 * PATTERNS];
    struct rng rng = {16};

    for (enum order order = RISING; order < ORDERS; order++) {
        for (unsigned i = 0; i < PATTERNS; i++)
            symbols[i] = (uint16_t)pattern(order, i);
        if (order == SHUFFLED)
            shuffle(&rng, symbols);
        for (unsigned i = 0; i < PATTERNS; i++) {
            raw[2 * i] = (uint8_t)symbols[i];
            raw[2 * i + 1] = (uint8_t)(symbols[i] >> 8);
        }
        for (unsigned type = 0; type < TYPES; type++) {
            TEST_CONTEXT("w%u e%u, order %u", types[type].w, types[type].e, (unsigned)order);
            if (types[type].w == 16)
                CHECK_AGREE(differential_encode(mode_of(type, PZ_LEVEL_NORMAL), raw, sizeof raw));
        }
        CHECK_AGREE(
            differential_encode((pz_mode){16, PZ_LEVEL_FAST, PZ_FORMAT_2, 8}, raw, sizeof raw));
    }
}

/* Every chunk in a long run, else as many as there are random ones. */
TEST(activations)
{
    struct activations *const all = activations_load();
    const size_t step = 1 + all->count / (10 * (size_t)rounds());

    for (size_t i = 0; i < all->count; i += step) {
        const struct activation *const chunk = &all->chunks[i];
        const bool is_float = chunk->kind[0] == 'f' || strcmp(chunk->kind, "bf16") == 0;

        TEST_CONTEXT("%s, %s, %s, chunk %zu", chunk->model, chunk->kind, chunk->cls, i);
        CHECK_AGREE(
            differential_encode((pz_mode){chunk->w, i % 4 == 0 ? PZ_LEVEL_FAST : PZ_LEVEL_NORMAL,
                                          PZ_FORMAT_2, is_float ? 8 : 0},
                                chunk->data, chunk->bytes));
    }
    activations_free(all);
}
