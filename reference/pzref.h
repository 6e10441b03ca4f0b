/* Reference of the tensor stream, version 1 (docs/format.md): written to be compared with, not to
 * be fast.  It knows nothing of the library and the library nothing of it; tests hold the two
 * against each other.  A width w is 8, 16, 32 or 64; a set of encodings is the sum of 1 << tag. */
#ifndef PZREF_H
#define PZREF_H

#include <stddef.h>
#include <stdint.h>

enum pzref_tag { PZREF_RAW, PZREF_ZVC, PZREF_BX, PZREF_DBX, PZREF_ZBX, PZREF_TAGS };

/* One value for each check of docs/format.md, "What a decoder rejects". */
enum pzref_error {
    PZREF_OK,
    PZREF_HEADERS_TRUNCATED,
    PZREF_HEADER_ABOVE_RAW,
    PZREF_PAYLOAD_TRUNCATED,
    PZREF_TRAILING_BYTES,
    PZREF_CHUNK_OVERRUN,
    PZREF_CHUNK_LEFTOVER,
    PZREF_CHUNK_PADDING,
    PZREF_RESERVED_TAG,
    PZREF_ZVC_ZERO_SYMBOL,
    PZREF_ZBX_ZERO_SYMBOL,
    PZREF_DELTA_BELOW,
    PZREF_DELTA_ABOVE,
    PZREF_RUN_PAST_END,
    PZREF_POSITION_OUTSIDE,
    PZREF_PAIR_OUTSIDE,
    PZREF_ZERO_PLANE,
    PZREF_BLOCK_PADDING,
    PZREF_ERRORS
};

/* Where an error stands: the chunk, and the block within it.  block is -1 where the error belongs
 * to no block, chunk is -1 where it belongs to no chunk. */
struct pzref_where {
    int64_t chunk;
    int block;
};

struct pzref_sizes {
    uint64_t coded_bytes;        /* of the whole stream */
    uint64_t chunks;             /* all of them */
    uint64_t raw_chunks;         /* those stored raw */
    uint64_t blocks[PZREF_TAGS]; /* canonical encoding of each block, raw chunks included */
    uint64_t payload_bits; /* all blocks with their tags, no padding, raw chunks as if coded */
};

/* The most bytes that pzref_encode() writes for raw_bytes of input. */
size_t pzref_bound(size_t raw_bytes);

/* Writes the canonical stream to dst, which has room for pzref_bound(raw_bytes), and returns its
 * size in bytes.  RAW may be chosen even where encodings lacks it. */
size_t pzref_encode(unsigned w, unsigned encodings, const uint8_t *raw, size_t raw_bytes,
                    uint8_t *dst);

/* What pzref_encode() would write, counted by the lengths of the codes; nothing is written. */
struct pzref_sizes pzref_measure(unsigned w, unsigned encodings, const uint8_t *raw,
                                 size_t raw_bytes);

/* Decodes a stream of exactly coded_bytes into exactly raw_bytes.  After an error the content of
 * raw is undefined and *where says where it is; where may be NULL. */
enum pzref_error pzref_decode(unsigned w, const uint8_t *coded, size_t coded_bytes, uint8_t *raw,
                              size_t raw_bytes, struct pzref_where *where);

#endif
