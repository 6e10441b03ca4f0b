/* The device kernels (src/gpu) as plain C: a warp is a loop over its lanes, forwards or backwards.
 * Needs a little-endian machine, as the kernels do. */
#ifndef PZ_TEST_LANES_H
#define PZ_TEST_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "planezip/planezip.h"

enum lanes_order { LANES_FORWARDS, LANES_BACKWARDS, LANES_ORDERS };

/* Runs a kernel by its name, as "pz_encode_w16", with so many groups, and pointers to its
 * arguments; false if there is none of the name.  Groups too come forwards or backwards. */
bool lanes_launch(enum lanes_order order, const char *kernel, unsigned groups,
                  void *const *arguments);

/* Writes the payload of a chunk of 1 to PZ_CHUNK_BYTES to `to`, which has room for as many bytes,
 * and returns its size. */
size_t lanes_encode_chunk(enum lanes_order order, pz_mode mode, const uint8_t *raw,
                          size_t raw_bytes, uint8_t *to);

/* Reads a payload of coded_bytes <= raw_bytes; writes nothing unless it is right. */
pz_status lanes_decode_chunk(enum lanes_order order, pz_mode mode, const uint8_t *coded,
                             size_t coded_bytes, uint8_t *raw, size_t raw_bytes);

#endif
