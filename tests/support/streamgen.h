/* Random valid streams that an encoder need not write: any encoding of a block, longer codes than
 * necessary, runs in pieces, raw chunks that could be coded (docs/format.md, "What a decoder
 * accepts").  Shares no code with the library or with the reference. */
#ifndef PZ_TEST_STREAMGEN_H
#define PZ_TEST_STREAMGEN_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"

/* What a stream may contain; the generator counts it, so that a test sees whether all came. */
enum streamgen_feature {
    STREAMGEN_RAW, /* the first five are the tags */
    STREAMGEN_ZVC,
    STREAMGEN_BX,
    STREAMGEN_DBX,
    STREAMGEN_ZBX,
    STREAMGEN_ZBX_EMPTY, /* n = 0 */
    STREAMGEN_ZBX_FULL,  /* n = N */
    STREAMGEN_ALL_ONES,
    STREAMGEN_ZERO_BEFORE_XOR,
    STREAMGEN_ONE_BIT,
    STREAMGEN_TWO_BITS,
    STREAMGEN_VERBATIM,
    STREAMGEN_LONG_CODE,     /* a non-zero plane in a code that is not the shortest */
    STREAMGEN_ZERO_VERBATIM, /* a zero plane */
    STREAMGEN_ZERO_SINGLE,   /* 001 */
    STREAMGEN_RUN,
    STREAMGEN_RUN_PIECE, /* 01 or 001 that leaves a part of its run */
    STREAMGEN_CODED_CHUNK,
    STREAMGEN_RAW_CHUNK,
    STREAMGEN_FEATURES
};

/* Writes a stream that decodes to raw and returns its bytes.  dst has room for raw_bytes and 2 for
 * each started 4096.  Adds to counts what the stream contains. */
size_t streamgen_make(struct rng *rng, unsigned w, const uint8_t *raw, size_t raw_bytes,
                      uint8_t *dst, uint64_t counts[STREAMGEN_FEATURES]);

#endif
