/* Random valid streams of format 2 that an encoder need not write: any mode, base, code, k, escapes
 * without need, raw chunks that could be coded (docs/format2.md, "What a decoder accepts").  Shares
 * no code with the library or with the reference. */
#ifndef PZ_TEST_STREAMGEN2_H
#define PZ_TEST_STREAMGEN2_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"

/* What a stream may contain; the generator counts it, so that a test sees whether all came.  Those
 * before STREAMGEN2_MODE_I come only where there are exponents. */
enum streamgen2_feature {
    STREAMGEN2_MODE_E,
    STREAMGEN2_MODE_C,
    STREAMGEN2_FEWER_CONSTANT_BITS, /* than there are, or mode E though there are some */
    STREAMGEN2_SIGNS,               /* S = 1 */
    STREAMGEN2_SIGNS_UNNEEDED,      /* ... and no symbol is negative */
    STREAMGEN2_OTHER_BASE,          /* not the largest exponent */
    STREAMGEN2_ESCAPE,              /* of an exponent without a class */
    STREAMGEN2_ESCAPE_UNNEEDED,     /* of one that has one */
    STREAMGEN2_CODE,                /* 0 to 15, the first of 16 features */
    STREAMGEN2_MODE_I = STREAMGEN2_CODE + 16,
    STREAMGEN2_MODE_D,
    STREAMGEN2_OTHER_BASE_SYMBOL, /* not the first symbol */
    STREAMGEN2_EXACT,
    STREAMGEN2_EXACT_WIDE, /* with more bits than necessary */
    STREAMGEN2_QUOTIENT,   /* 1 to 5 as such */
    STREAMGEN2_LARGE_QUOTIENT,
    STREAMGEN2_QUOTIENT_ESCAPE_UNNEEDED,
    STREAMGEN2_WIDE_ESCAPE,    /* escape width greater than necessary */
    STREAMGEN2_ONE_HEADER,     /* U = 1 */
    STREAMGEN2_EQUAL_HEADERS,  /* U = 0 where U = 1 would do */
    STREAMGEN2_PACKED,         /* mode I or D with Z = 1 */
    STREAMGEN2_PACKED_NOTHING, /* ... and no symbol is coded */
    STREAMGEN2_MASKS,          /* Z = 1 */
    STREAMGEN2_MASKS_UNNEEDED, /* ... and no symbol is zero */
    STREAMGEN2_CODED_ZERO,     /* ... and one that is coded is */
    STREAMGEN2_ZERO_UNMASKED,  /* Z = 0, and a symbol is zero */
    STREAMGEN2_CODED_CHUNK,
    STREAMGEN2_RAW_CHUNK,
    STREAMGEN2_FEATURES
};

/* Writes a stream that decodes to raw and returns its bytes.  dst has room for raw_bytes and 2 for
 * each started 4096.  Adds to counts what the stream contains. */
size_t streamgen2_make(struct rng *rng, unsigned w, unsigned e, const uint8_t *raw,
                       size_t raw_bytes, uint8_t *dst, uint64_t counts[STREAMGEN2_FEATURES]);

#endif
