/* Constants of the tensor stream, docs/format.md.  Sizes of blocks and chunks and the tags of the
 * encodings are public: PZ_BLOCK_BYTES, PZ_CHUNK_BLOCKS, PZ_CHUNK_BYTES, pz_encoding. */
#ifndef PZI_FORMAT_H
#define PZI_FORMAT_H

#include "planezip/planezip.h"

#define PZI_BLOCK_BITS (8 * PZ_BLOCK_BYTES)
#define PZI_TAG_BITS 3
#define PZI_HEADER_BYTES 2

/* Every encoding that a pz_mode may name. */
#define PZI_ALL_ENCODINGS ((1u << PZ_ENCODINGS) - 1)

#endif
