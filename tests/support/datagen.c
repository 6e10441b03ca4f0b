/* See datagen.h. */
#include "datagen.h"

enum { BLOCK_BYTES = 128, CHUNK_BYTES = 4096 };

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

/* What the floating-point symbols of a tensor have in common. */
struct floats {
    unsigned w, e, m;
    uint64_t top, spread; /* exponents */
    uint64_t zeros, far;  /* per cent */
    uint64_t signs;
    uint64_t constant, varying; /* bits of the mantissa */
};

static struct floats begin_floats(struct rng *rng, unsigned w, unsigned e)
{
    struct floats f = {.w = w, .e = e, .m = w - 1 - e};

    f.top = rng_below(rng, 1u << e);
    f.spread = 1 + rng_below(rng, 14);
    f.zeros = rng_below(rng, 101);
    f.far = rng_below(rng, 20);
    f.signs = rng_below(rng, 2);
    f.varying = low_bits(UINT64_MAX, f.m);
    if (rng_one_in(rng, 4))
        f.varying &= UINT64_MAX << rng_below(rng, f.m + 1);
    f.constant = rng_next(rng) & ~f.varying & low_bits(UINT64_MAX, f.m);
    return f;
}

static uint64_t next_float(struct rng *rng, const struct floats *f)
{
    uint64_t exponent = low_bits(f->top - rng_below(rng, f->spread), f->e);
    uint64_t mantissa = (rng_next(rng) & f->varying) | f->constant;

    if (rng_below(rng, 100) < f->far)
        exponent = low_bits(rng_next(rng), f->e);
    if (rng_below(rng, 100) < f->zeros)
        return 0;
    return mantissa | exponent << f->m | (f->signs & rng_next(rng)) << (f->w - 1);
}

void datagen_fill_floats(struct rng *rng, unsigned w, unsigned e, uint8_t *dst, size_t bytes)
{
    const struct floats f = begin_floats(rng, w, e);
    const unsigned size = w / 8;
    uint64_t symbol = 0;

    for (size_t k = 0; k < bytes; k++) {
        if (k % size == 0)
            symbol = next_float(rng, &f);
        dst[k] = (uint8_t)(symbol >> (8 * (k % size)));
    }
}

void datagen_fill_about(struct rng *rng, unsigned w, unsigned e, unsigned base, uint8_t *chunk)
{
    const unsigned size = w / 8;
    struct floats any = begin_floats(rng, w, e), same;

    any.spread = UINT64_C(1) << e;
    any.zeros = any.far = 0;
    same = any;
    same.top = base;
    same.spread = 1;
    for (size_t k = 0; k < CHUNK_BYTES; k += size) {
        const uint64_t symbol = next_float(rng, k / BLOCK_BYTES % 4 == 3 ? &same : &any);

        for (unsigned i = 0; i < size; i++)
            chunk[k + i] = (uint8_t)(symbol >> (8 * i));
    }
}
