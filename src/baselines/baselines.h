/* Codecs that PlaneZip is compared with and that its stream cannot express (ZVC, BPC, BX and ZBX
 * are modes of the codec itself, see pz_mode_named()).  A library of its own: measuring tools and
 * tests link it, libplanezip does not. */
#ifndef PZB_BASELINES_H
#define PZB_BASELINES_H

#include <stddef.h>
#include <stdint.h>

#include "planezip/planezip.h"

/* The size of a tensor in BDI (base-delta-immediate) with two bases per 128-byte block, in chunks
 * of 4096 bytes with a header of 2, like a tensor stream; sizes only, no stream is written.
 *
 * A block has a 4-bit tag and takes the smallest of: nothing but zeros, 8 bits; one 8-byte value
 * over and over, 64; raw, 1024; or, for elements of k = 8, 4 or 2 bytes and deltas of d < k bytes
 * (d = 1, 2, 4), a mask of one bit per element, a base of k bytes and a delta of d bytes per
 * element, if each element is within a signed delta of zero or of the base.  The base is the first
 * element that is not within a delta of zero.  A chunk that would grow is raw.  The last block is
 * padded with zeros.
 *
 * raw may be NULL if raw_bytes is 0.  Any thread, any alignment. */
pz_status pzb_bdi_measure(const void *raw, size_t raw_bytes, uint64_t *coded_bytes);

#endif
