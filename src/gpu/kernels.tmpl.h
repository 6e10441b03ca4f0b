/* Template, parameter PZ_W: the kernels that a host starts, with any number of groups of 32: each
 * takes one chunk after the other.  Coded chunks lie in slots of 4096 bytes, or behind one another
 * where offsets tell (place.h).  With PZ_ONLY_ENCODE or PZ_ONLY_DECODE there is just that one. */
#include "gpu/chunk.tmpl.h"

#ifndef PZ_ONLY_DECODE

/* The payload of each chunk to its slot, its size to `sizes`.  Slots begin at a multiple of 4. */
PZ_KERNEL void PZ_CAT(pz_encode)(PZ_GLOBAL const uint8_t *tables, uint32_t format,
                                 uint32_t encodings, uint32_t e, PZ_GLOBAL const uint8_t *raw,
                                 uint64_t raw_bytes, PZ_GLOBAL uint8_t *slots,
                                 PZ_GLOBAL uint16_t *sizes)
{
    const uint64_t chunks = pzi_chunks_of(raw_bytes);
    PZ_LOCAL_STRUCT(struct PZ_CAT(warp), warp);

    for (uint64_t chunk = PZ_GROUP_ID; chunk < chunks; chunk += PZ_GROUP_COUNT) {
        const uint32_t bytes =
            PZ_CAT(encode_chunk)(&warp, tables, format, encodings, e, raw + chunk * PZ_CHUNK_BYTES,
                                 pzi_chunk_bytes(raw_bytes, chunk), slots + chunk * PZ_CHUNK_BYTES);

        if (PZ_IS_FIRST(&warp.lanes))
            sizes[chunk] = (uint16_t)bytes;
    }
}

#endif
#ifndef PZ_ONLY_ENCODE

/* Chunk i from offsets[i] up to offsets[i + 1], all of them unless the state has a fault of
 * headers. The first chunk with a fault goes to the state. */
PZ_KERNEL void PZ_CAT(pz_decode)(PZ_GLOBAL const uint8_t *tables, uint32_t format, uint32_t e,
                                 PZ_GLOBAL const uint8_t *coded, PZ_GLOBAL const uint64_t *offsets,
                                 PZ_GLOBAL uint8_t *raw, uint64_t raw_bytes,
                                 PZ_GLOBAL uint64_t *state)
{
    const uint64_t chunks = pzi_chunks_of(raw_bytes);
    PZ_LOCAL_STRUCT(struct PZ_CAT(warp), warp);

    if (state[PZI_STATE_PLACES] != UINT64_MAX)
        return;
    for (uint64_t chunk = PZ_GROUP_ID; chunk < chunks; chunk += PZ_GROUP_COUNT) {
        const uint32_t status =
            PZ_CAT(decode_chunk)(&warp, tables, format, e, coded + offsets[chunk],
                                 (uint32_t)(offsets[chunk + 1] - offsets[chunk]),
                                 raw + chunk * PZ_CHUNK_BYTES, pzi_chunk_bytes(raw_bytes, chunk));

        if (status != PZ_OK && PZ_IS_FIRST(&warp.lanes))
            PZ_MIN64(&state[PZI_STATE_CHUNKS], chunk << 8 | status);
    }
}

#endif
