/* The device kernels (src/gpu) as plain C: a warp is a loop over its lanes, forwards or backwards.
 * Needs a little-endian machine, as the kernels do. */
#ifndef PZ_TEST_LANES_H
#define PZ_TEST_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "planezip/planezip.h"

enum lanes_order { LANES_FORWARDS, LANES_BACKWARDS, LANES_ORDERS };

/* Writes the payload of a chunk of 1 to PZ_CHUNK_BYTES to `to`, which has room for as many bytes,
 * and returns its size. */
size_t lanes_encode_chunk(enum lanes_order order, pz_mode mode, const uint8_t *raw,
                          size_t raw_bytes, uint8_t *to);

/* The tables of the kernels (gpu/words.h), PZI_TABLES_BYTES; they last. */
const uint8_t *lanes_tables(void);

/* Reads a payload of coded_bytes <= raw_bytes; writes nothing unless it is right. */
pz_status lanes_decode_chunk(enum lanes_order order, pz_mode mode, const uint8_t *coded,
                             size_t coded_bytes, uint8_t *raw, size_t raw_bytes);

#endif
