/* See chunkgen2.h. */
#include "chunkgen2.h"

#include <stdbool.h>
#include <string.h>

#include "datagen.h"

enum { BLOCK_BYTES = 128 };

static uint64_t ones(unsigned bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static void put(uint8_t *chunk, size_t at, unsigned w, uint64_t symbol)
{
    for (unsigned k = 0; k < w / 8; k++)
        chunk[at + k] = (uint8_t)(symbol >> (8 * k));
}

/* Steps of either direction, of any size that is the same throughout.  A float below zero has the
 * magnitude of the number and a sign. */
static void fill_smooth(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    const uint64_t steps = 1 + (rng_next(rng) & ones((unsigned)rng_below(rng, w)));
    const uint64_t rounded = UINT64_MAX << (rng_one_in(rng, 3) ? rng_below(rng, w) : 0);
    uint64_t number = rng_one_in(rng, 2) ? rng_next(rng) : 0;

    for (size_t at = 0; at < CHUNKGEN2_BYTES; at += w / 8) {
        const bool is_below = e != 0 && number >> (w - 1) & 1;

        number += rng_below(rng, 2 * steps) - steps + rng_below(rng, 2);
        put(chunk, at, w, (is_below ? number ^ ones(w - 1) : number) & rounded);
    }
}

static void fill_mask(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    const uint64_t one = ones(e) >> 1 << (w - 1 - e) % 64;
    const uint64_t values[] = {1, ones(w), one, rng_next(rng)};
    const uint64_t value = values[rng_below(rng, 4)];
    const uint64_t other = rng_one_in(rng, 3) ? values[rng_below(rng, 4)] : 0;
    const uint64_t run = 1 + rng_below(rng, rng_one_in(rng, 2) ? 4 : 200);
    bool is_other = rng_one_in(rng, 2);

    for (size_t at = 0; at < CHUNKGEN2_BYTES; at += w / 8) {
        is_other ^= rng_one_in(rng, run);
        put(chunk, at, w, is_other ? other : value);
    }
}

/* Exponents and mantissas next to the ends of what there is. */
static uint64_t special(struct rng *rng, unsigned w, unsigned e)
{
    const unsigned m = w - 1 - e;
    const uint64_t mantissas[] = {0, 1, ones(m), ones(m) ^ (ones(m) >> 1), rng_next(rng) & ones(m)};
    const uint64_t near = rng_below(rng, rng_one_in(rng, 4) ? 12 : 2) & ones(e);
    const uint64_t exponent = rng_one_in(rng, 2) ? near : ones(e) - near;

    return rng_below(rng, 2) << (w - 1) | exponent << m | mantissas[rng_below(rng, 5)];
}

static void fill_special(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    const uint64_t share = 1 + rng_below(rng, 20);

    datagen_fill_floats(rng, w, e, chunk, CHUNKGEN2_BYTES);
    for (size_t at = 0; at < CHUNKGEN2_BYTES; at += w / 8)
        if (rng_one_in(rng, share))
            put(chunk, at, w, special(rng, w, e));
}

static void fill_integers(struct rng *rng, unsigned w, uint8_t *chunk)
{
    const bool is_signed = rng_one_in(rng, 2);
    unsigned bits = 0;

    for (size_t at = 0; at < CHUNKGEN2_BYTES; at += w / 8) {
        uint64_t number = rng_next(rng);

        if (at % BLOCK_BYTES == 0)
            bits = (unsigned)rng_below(rng, w + 1);
        number &= ones(bits) >> (rng_one_in(rng, 4) ? 0 : rng_below(rng, bits + 1) % 64);
        put(chunk, at, w, is_signed && rng_one_in(rng, 2) ? -number : number);
    }
}

static void fill_simple(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    chunkgen2_fill(rng, (enum chunkgen2_kind)rng_below(rng, CHUNKGEN2_SIMPLE), w, e, chunk);
}

static void fill_about(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    const unsigned base = (unsigned)(rng_next(rng) & ones(e));

    datagen_fill_about(rng, w, e, rng_one_in(rng, 2) ? base % 16 : base, chunk);
}

static void fill_unsampled(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    uint8_t other[CHUNKGEN2_BYTES];

    fill_simple(rng, w, e, chunk);
    fill_simple(rng, w, e, other);
    for (size_t b = 3; b < CHUNKGEN2_BYTES / BLOCK_BYTES; b += 4)
        memcpy(chunk + b * BLOCK_BYTES, other + b * BLOCK_BYTES, BLOCK_BYTES);
}

static void fill_change(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    uint8_t other[CHUNKGEN2_BYTES];
    const size_t from = (size_t)rng_below(rng, CHUNKGEN2_BYTES);

    fill_simple(rng, w, e, chunk);
    fill_simple(rng, w, e, other);
    memcpy(chunk + from, other + from, CHUNKGEN2_BYTES - from);
}

static void fill_empty_blocks(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    const uint64_t percent = rng_below(rng, 101);

    fill_simple(rng, w, e, chunk);
    for (size_t at = 0; at < CHUNKGEN2_BYTES; at += BLOCK_BYTES)
        if (rng_below(rng, 100) < percent)
            memset(chunk + at, 0, BLOCK_BYTES);
}

/* As behind a dropout. */
static void fill_dropped(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    const uint64_t percent = rng_below(rng, 101);

    fill_simple(rng, w, e, chunk);
    for (size_t at = 0; at < CHUNKGEN2_BYTES; at += w / 8)
        if (rng_below(rng, 100) < percent)
            put(chunk, at, w, 0);
}

static void fill_outliers(struct rng *rng, unsigned w, unsigned e, uint8_t *chunk)
{
    fill_simple(rng, w, e, chunk);
    for (uint64_t n = 1 + rng_below(rng, 4); n > 0; n--)
        chunk[rng_below(rng, CHUNKGEN2_BYTES)] ^= (uint8_t)(1u << rng_below(rng, 8));
}

void chunkgen2_fill(struct rng *rng, enum chunkgen2_kind kind, unsigned w, unsigned e,
                    uint8_t chunk[CHUNKGEN2_BYTES])
{
    switch (kind) {
    case CHUNKGEN2_FLOATS:
        datagen_fill_floats(rng, w, e, chunk, CHUNKGEN2_BYTES);
        break;
    case CHUNKGEN2_SMOOTH:
        fill_smooth(rng, w, e, chunk);
        break;
    case CHUNKGEN2_MASK:
        fill_mask(rng, w, e, chunk);
        break;
    case CHUNKGEN2_SPECIAL:
        fill_special(rng, w, e, chunk);
        break;
    case CHUNKGEN2_INTEGERS:
        fill_integers(rng, w, chunk);
        break;
    case CHUNKGEN2_ABOUT:
        fill_about(rng, w, e, chunk);
        break;
    case CHUNKGEN2_UNSAMPLED:
        fill_unsampled(rng, w, e, chunk);
        break;
    case CHUNKGEN2_CHANGE:
        fill_change(rng, w, e, chunk);
        break;
    case CHUNKGEN2_EMPTY_BLOCKS:
        fill_empty_blocks(rng, w, e, chunk);
        break;
    case CHUNKGEN2_DROPPED:
        fill_dropped(rng, w, e, chunk);
        break;
    case CHUNKGEN2_OUTLIERS:
        fill_outliers(rng, w, e, chunk);
        break;
    default:
        datagen_fill(rng, (enum datagen_kind)rng_below(rng, DATAGEN_KINDS), w, chunk,
                     CHUNKGEN2_BYTES);
    }
}

size_t chunkgen2_size(struct rng *rng)
{
    const uint64_t choice = rng_below(rng, 4);

    if (choice < 2)
        return CHUNKGEN2_BYTES;
    return 1 + (size_t)rng_below(rng, choice == 2 ? CHUNKGEN2_BYTES : 400);
}
