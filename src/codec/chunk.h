/* One chunk of a tensor stream (docs/format.md, "Chunks"): up to 4096 bytes of input and one
 * payload, coded or raw.  Its header is the stream's affair. */
#ifndef PZI_CHUNK_H
#define PZI_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "codec/isa.h"
#include "planezip/planezip.h"

/* In all functions: 1 <= raw_bytes <= PZ_CHUNK_BYTES. */

/* Writes the payload into at most dst_bytes and returns its size, raw_bytes if it is raw; 0 if
 * dst_bytes do not suffice.  May use all of dst to work in. */
size_t pzi_chunk_encode(const struct pzi_width_ops *ops, uint32_t encodings, const uint8_t *raw,
                        size_t raw_bytes, uint8_t *dst, size_t dst_bytes);

/* Adds the chunk to stats, raw_bytes apart; its header counts as coded bytes. */
void pzi_chunk_measure(const struct pzi_width_ops *ops, uint32_t encodings, const uint8_t *raw,
                       size_t raw_bytes, pz_stats *stats);

/* Decodes a payload of coded_bytes <= raw_bytes, which lies at the front of readable_bytes.  On an
 * error sets where->block and where->bit. */
pz_status pzi_chunk_decode(const struct pzi_width_ops *ops, const uint8_t *coded,
                           size_t coded_bytes, size_t readable_bytes, uint8_t *raw,
                           size_t raw_bytes, pz_where *where);

#endif
