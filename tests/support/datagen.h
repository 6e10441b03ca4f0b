/* Random inputs with the structure of tensors, so that every encoding wins for some blocks. */
#ifndef PZ_TEST_DATAGEN_H
#define PZ_TEST_DATAGEN_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"

enum datagen_kind {
    DATAGEN_ZEROS,
    DATAGEN_CONSTANT, /* one symbol, over and over */
    DATAGEN_RAMP,     /* symbols with equal or almost equal distances, modulo 2^w */
    DATAGEN_SMALL,    /* small magnitudes of either sign */
    DATAGEN_FLOATS,   /* w-bit floats about one, signs and low mantissa bits random */
    DATAGEN_SPARSE,   /* mostly zero symbols among floats */
    DATAGEN_FEW_BITS, /* zero but for a few bits: planes with one or two ones */
    DATAGEN_EXTREMES, /* symbols next to 0, 2^(w-1) and 2^w */
    DATAGEN_RANDOM,   /* random bytes */
    DATAGEN_MIXED,    /* every 128 bytes another kind */
    DATAGEN_KINDS
};

/* Fills dst with little-endian symbols of w bits; the last one may be cut off. */
void datagen_fill(struct rng *rng, enum datagen_kind kind, unsigned w, uint8_t *dst, size_t bytes);

/* Fills dst with floating-point symbols of which a part is zero, negative, far from the others, and
 * with low bits that may be constant. */
void datagen_fill_floats(struct rng *rng, unsigned w, unsigned e, uint8_t *dst, size_t bytes);

/* Fills a chunk with floating-point symbols of any exponent, but in the blocks that an encoder of
 * format 2 looks at with one exponent, which becomes the base. */
void datagen_fill_about(struct rng *rng, unsigned w, unsigned e, unsigned base, uint8_t *chunk);

#endif
