/* Where payloads stand in a stream: what host and kernels have to agree on. */
#ifndef PZI_GPU_PLACE_H
#define PZI_GPU_PLACE_H

#include "gpu/words.h"

enum {
    PZI_TILE = 1024, /* chunks */
    /* What a call knows of its stream.  Faults are 256 times the number of the first chunk that has
     * one, plus the status, or UINT64_MAX. */
    PZI_STATE_PLACES = 0, /* fault of headers and sizes */
    PZI_STATE_CHUNKS = 1, /* fault of a payload */
    PZI_STATE_BYTES = 2,  /* of the stream that the headers tell */
    PZI_STATE_WORDS = 3
};

PZI_FN uint64_t pzi_chunks_of(uint64_t raw_bytes)
{
    return raw_bytes / PZ_CHUNK_BYTES + (raw_bytes % PZ_CHUNK_BYTES != 0);
}

PZI_FN uint32_t pzi_chunk_bytes(uint64_t raw_bytes, uint64_t chunk)
{
    const uint64_t left = raw_bytes - chunk * PZ_CHUNK_BYTES;

    return left < PZ_CHUNK_BYTES ? (uint32_t)left : PZ_CHUNK_BYTES;
}

PZI_FN uint64_t pzi_tiles_of(uint64_t chunks)
{
    return (chunks + PZI_TILE - 1) / PZI_TILE;
}

#endif
