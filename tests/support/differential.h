/* The library held against the reference (reference/pzref.h), on every instruction set that this
 * CPU has.  All buffers of the library have exactly the size that the call is told, and stand first
 * before and then behind a page that may not be touched (guard.h).  The functions return NULL if
 * all agree, else a sentence about what differs; it lasts until the next call. */
#ifndef PZ_TEST_DIFFERENTIAL_H
#define PZ_TEST_DIFFERENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "planezip/planezip.h"
#include "reference/pzref.h"

/* Any bytes as a stream: both accept it, with the same output, or both reject it for the same
 * reason at the same place; whole, by the index, and chunk by chunk. */
const char *differential_decode(unsigned w, const uint8_t *coded, size_t coded_bytes,
                                size_t raw_bytes);

/* Any bytes as input: the same stream, of the size that both size models give; it fits no smaller
 * buffer, and both decoders return the input. */
const char *differential_encode(pz_mode mode, const uint8_t *raw, size_t raw_bytes);

/* The library's status for a check of the reference; docs/format.md, "What a decoder rejects". */
pz_status differential_status(enum pzref_error error);

#endif
