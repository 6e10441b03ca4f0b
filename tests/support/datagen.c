/* See datagen.h. */
#include "datagen.h"

enum { BLOCK_BYTES = 128 };

static uint64_t low_bits(uint64_t value, unsigned w)
{
    return w == 64 ? value : value & ((UINT64_C(1) << w) - 1);
}

/* An exponent within a few steps of one's, and random mantissa bits below it. */
static uint64_t random_float(struct rng *rng, unsigned w)
{
    unsigned mantissa = w == 8 ? 3 : w == 16 ? 7 : w == 32 ? 23 : 52;
    uint64_t bias = w == 8 ? 7 : w == 64 ? 1023 : 127;
    uint64_t sign = rng_below(rng, 2), exponent = bias - rng_below(rng, 4);
    uint64_t fraction = rng_next(rng) & ((UINT64_C(1) << mantissa) - 1);

    return sign << (w - 1) | exponent << mantissa | fraction;
}

static uint64_t extreme(struct rng *rng, unsigned w)
{
    static const uint64_t offsets[] = {0, 1, 2, UINT64_MAX, UINT64_MAX - 1};
    uint64_t middle = rng_one_in(rng, 2) ? UINT64_C(1) << (w - 1) : 0;

    return middle + offsets[rng_below(rng, 5)];
}

/* What the symbols of one stretch have in common. */
struct stretch {
    uint64_t value, step;
    unsigned jitter;
};

/* In statements, as the order within an initializer is the compiler's. */
static struct stretch begin_stretch(struct rng *rng)
{
    struct stretch s;

    s.value = rng_next(rng);
    s.step = 1 + rng_below(rng, 3);
    s.jitter = 1 + (unsigned)rng_below(rng, 4);
    return s;
}

static uint64_t next_symbol(struct rng *rng, enum datagen_kind kind, unsigned w, struct stretch *s)
{
    switch (kind) {
    case DATAGEN_CONSTANT:
        return s->value;
    case DATAGEN_RAMP:
        s->value += s->step + rng_below(rng, s->jitter);
        return s->value;
    case DATAGEN_SMALL:
        return rng_below(rng, 2 * s->jitter) - s->jitter;
    case DATAGEN_FLOATS:
        return random_float(rng, w);
    case DATAGEN_SPARSE:
        return rng_one_in(rng, 3) ? random_float(rng, w) : 0;
    case DATAGEN_FEW_BITS:
        return rng_one_in(rng, 8) ? s->step << rng_below(rng, w) : 0;
    case DATAGEN_EXTREMES:
        return extreme(rng, w);
    default:
        return kind == DATAGEN_RANDOM ? rng_next(rng) : 0;
    }
}

static void fill_stretch(struct rng *rng, enum datagen_kind kind, unsigned w, uint8_t *dst,
                         size_t bytes)
{
    struct stretch s = begin_stretch(rng);
    unsigned size = w / 8;
    uint64_t symbol = 0;

    for (size_t k = 0; k < bytes; k++) {
        if (k % size == 0)
            symbol = low_bits(next_symbol(rng, kind, w, &s), w);
        dst[k] = (uint8_t)(symbol >> (8 * (k % size)));
    }
}

void datagen_fill(struct rng *rng, enum datagen_kind kind, unsigned w, uint8_t *dst, size_t bytes)
{
    if (kind != DATAGEN_MIXED) {
        fill_stretch(rng, kind, w, dst, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += BLOCK_BYTES) {
        size_t left = bytes - at;

        fill_stretch(rng, (enum datagen_kind)rng_below(rng, DATAGEN_MIXED), w, dst + at,
                     left < BLOCK_BYTES ? left : BLOCK_BYTES);
    }
}
