/* Reference of the tensor stream, version 2 (docs/format2.md): written to be compared with, not to
 * be fast.  It knows nothing of the library nor of the reference of version 1; tests hold them
 * against each other.  w and e must be one of the pairs that the format lists. */
#ifndef PZREF2_H
#define PZREF2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pzref2_mode { PZREF2_E, PZREF2_I, PZREF2_D, PZREF2_C, PZREF2_MODES };

/* One value for each row of docs/format2.md, "What a decoder rejects". */
enum pzref2_error {
    PZREF2_OK,
    PZREF2_HEADERS_TRUNCATED,
    PZREF2_HEADER_ABOVE_RAW,
    PZREF2_PAYLOAD_TRUNCATED,
    PZREF2_TRAILING_BYTES,
    PZREF2_CHUNK_OVERRUN,
    PZREF2_CHUNK_LEFTOVER,
    PZREF2_MODE_WITHOUT_EXPONENT,
    PZREF2_BASE,
    PZREF2_CONSTANT_BITS,
    PZREF2_MAP,
    PZREF2_EMPTY_MASK,
    PZREF2_MASK,
    PZREF2_CLASS_BELOW_ZERO,
    PZREF2_ESCAPED_EXPONENT,
    PZREF2_ESCAPE_WIDTH,
    PZREF2_BLOCK_BITS,
    PZREF2_BLOCK_BITS_NOT_EXACT,
    PZREF2_BLOCK_PADDING,
    PZREF2_QUOTIENT,
    PZREF2_PLANE_PADDING,
    PZREF2_SYMBOL_PADDING,
    PZREF2_ERRORS
};

struct pzref2_sizes {
    uint64_t coded_bytes;         /* of the whole stream */
    uint64_t chunks;              /* all of them */
    uint64_t raw_chunks;          /* those stored raw */
    uint64_t modes[PZREF2_MODES]; /* canonical mode of each chunk, raw ones included */
    uint64_t payload_bytes;       /* of all chunks, raw ones as if coded */
};

/* Whether the format has this pair. */
bool pzref2_valid(unsigned w, unsigned e);

/* The most bytes that pzref2_encode() writes for raw_bytes of input. */
size_t pzref2_bound(size_t raw_bytes);

/* Writes the canonical stream of the level normal, or fast, to dst, which has room for
 * pzref2_bound(raw_bytes), and returns its size in bytes. */
size_t pzref2_encode(unsigned w, unsigned e, bool fast, const uint8_t *raw, size_t raw_bytes,
                     uint8_t *dst);

/* What pzref2_encode() would write, counted by the lengths of the parts; nothing is written. */
struct pzref2_sizes pzref2_measure(unsigned w, unsigned e, bool fast, const uint8_t *raw,
                                   size_t raw_bytes);

/* Decodes a stream of exactly coded_bytes into exactly raw_bytes.  After an error the content of
 * raw is undefined and *chunk says where it is, -1 if it belongs to none; chunk may be NULL. */
enum pzref2_error pzref2_decode(unsigned w, unsigned e, const uint8_t *coded, size_t coded_bytes,
                                uint8_t *raw, size_t raw_bytes, int64_t *chunk);

#endif
