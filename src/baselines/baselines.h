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

/* ---- Peers ------------------------------------------------------------------------------------
 *
 * Codecs of others, in shared libraries that are opened at run time if the machine has them; none
 * is ever required.  All work with one thread and the parameters that are usual where speed counts:
 * "lz4"; "zstd", level 1; "bitshuffle+lz4" and "shuffle+zstd" of c-blosc2, levels 5 and 1.  A peer
 * belongs to one thread at a time. */
typedef struct pzb_peer pzb_peer;

/* Name of a peer, and the file of its library; NULL past the end. */
const char *pzb_peer_name(unsigned index);
const char *pzb_peer_library(unsigned index);

/* Opens a peer, for elements of element_bytes where it asks for their size.  PZ_ERR_IO if there is
 * no such library, or one without the functions that are needed; PZ_ERR_MEMORY; PZ_ERR_ARGUMENT. */
pz_status pzb_peer_open(unsigned index, unsigned element_bytes, pzb_peer **peer);
void pzb_peer_close(pzb_peer *peer); /* NULL is fine */

/* "1.9.4", of the library. */
const char *pzb_peer_version(const pzb_peer *peer);

/* As the functions of planezip.h for streams; raw_bytes is less than 2^31 - 2^25, else
 * PZ_ERR_ARGUMENT.  What a peer calls an error is PZ_ERR_SPACE in the encoder and PZ_ERR_FORMAT in
 * the decoder. */
pz_status pzb_peer_bound(const pzb_peer *peer, size_t raw_bytes, size_t *bound_bytes);
pz_status pzb_peer_encode(pzb_peer *peer, const void *raw, size_t raw_bytes, void *dst,
                          size_t dst_bytes, size_t *coded_bytes);
pz_status pzb_peer_decode(pzb_peer *peer, const void *coded, size_t coded_bytes, void *raw,
                          size_t raw_bytes);

#endif
