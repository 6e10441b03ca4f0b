/* The library held against the reference of the format (reference/pzref.h, pzref2.h), on every
 * instruction set that this CPU has.  All buffers of the library have exactly the size that the
 * call is told, and stand first before and then behind a page that may not be touched (guard.h).
 * The functions return NULL if all agree, else a sentence about what differs; it lasts until the
 * next call. */
#ifndef PZ_TEST_DIFFERENTIAL_H
#define PZ_TEST_DIFFERENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "planezip/planezip.h"
#include "reference/pzref.h"
#include "reference/pzref2.h"

/* Any bytes as a stream: both accept it, with the same output, or both reject it, in the same
 * chunk, for format 1 for the same reason at the same place; whole, by the index, and chunk by
 * chunk. */
const char *differential_decode(pz_mode mode, const uint8_t *coded, size_t coded_bytes,
                                size_t raw_bytes);

/* Any bytes as input: the same stream, of the size that both size models give; it fits no smaller
 * buffer, and both decoders return the input. */
const char *differential_encode(pz_mode mode, const uint8_t *raw, size_t raw_bytes);

/* The library's status for a check of the reference; docs/format.md and docs/format2.md, "What a
 * decoder rejects". */
pz_status differential_status(enum pzref_error error);
pz_status differential_status2(enum pzref2_error error);

#endif
