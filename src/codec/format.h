/* Constants of the tensor stream, docs/format.md.  Sizes of blocks and chunks and the tags of the
 * encodings are public: PZ_BLOCK_BYTES, PZ_CHUNK_BLOCKS, PZ_CHUNK_BYTES, pz_encoding. */
#ifndef PZI_FORMAT_H
#define PZI_FORMAT_H

#include <stdbool.h>

#include "planezip/planezip.h"

#define PZI_BLOCK_BITS (8 * PZ_BLOCK_BYTES)
#define PZI_TAG_BITS 3
#define PZI_HEADER_BYTES 2

/* The encodings of format 1, whose tags are 0 .. PZI_TAGS - 1, and every one that a pz_mode of it
 * may name. */
#define PZI_TAGS (PZ_ZBX + 1)
#define PZI_ALL_TAGS ((1u << PZI_TAGS) - 1)

/* True if there are streams of this format and these symbols, which is all that a decoder wants to
 * know; and true if an encoder can work with the encodings as well. */
bool pzi_symbols_are_valid(pz_mode mode);
bool pzi_mode_is_valid(pz_mode mode);

#endif
