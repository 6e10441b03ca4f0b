/* One chunk of a stream of format 2 (docs/format2.md, "Payload"): what chunk.h is to format 1. */
#ifndef PZI_CHUNK2_H
#define PZI_CHUNK2_H

#include <stddef.h>
#include <stdint.h>

#include "codec/isa.h"
#include "planezip/planezip.h"

/* In all functions: 1 <= raw_bytes <= PZ_CHUNK_BYTES, ops are those of the width of the mode. */

/* Writes the payload into at most dst_bytes and returns its size, raw_bytes if it is raw; 0 if
 * dst_bytes do not suffice.  May use all of dst to work in. */
size_t pzi_chunk2_encode(const struct pzi_width2_ops *ops, pz_mode mode, const uint8_t *raw,
                         size_t raw_bytes, uint8_t *dst, size_t dst_bytes);

/* Adds the chunk to stats, raw_bytes apart; its header counts as coded bytes. */
void pzi_chunk2_measure(const struct pzi_width2_ops *ops, pz_mode mode, const uint8_t *raw,
                        size_t raw_bytes, pz_stats *stats);

/* Decodes a payload of coded_bytes <= raw_bytes, which lies at the front of readable_bytes.  On an
 * error sets where->block and where->bit. */
pz_status pzi_chunk2_decode(const struct pzi_width2_ops *ops, pz_mode mode, const uint8_t *coded,
                            size_t coded_bytes, size_t readable_bytes, uint8_t *raw,
                            size_t raw_bytes, pz_where *where);

#endif
