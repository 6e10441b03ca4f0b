/* The kernels that all widths share: sizes of chunks to offsets in three steps, a tile of chunks at
 * a time; slots to a stream; and the checks of headers (docs/format.md, "Tensor stream").  Any
 * number of groups will do but for pz_tops and pz_finish, which take one.
 *
 * Sizes are 16 bits each, as in the headers of a stream; the arrays may have any alignment. */
#ifndef PZI_GPU_PLACE_KERNELS_H
#define PZI_GPU_PLACE_KERNELS_H

#include "gpu/place.h"

/* That of a chunk, or 0 behind the last one. */
PZI_FN uint32_t pzi_size_of(PZ_GLOBAL const uint8_t *sizes, uint64_t chunks, uint64_t chunk)
{
    if (chunk >= chunks)
        return 0;
    return sizes[2 * chunk] | (uint32_t)sizes[2 * chunk + 1] << 8;
}

/* The sum of the sizes of each tile of the first `chunks` chunks. */
PZ_KERNEL void pz_tiles(PZ_GLOBAL const uint8_t *sizes, uint64_t chunks, PZ_GLOBAL uint64_t *sums)
{
    const uint64_t tiles = pzi_tiles_of(chunks);
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);

    for (uint64_t tile = PZ_GROUP_ID; tile < tiles; tile += PZ_GROUP_COUNT) {
        PZ_LANE_VAR(uint32_t, sum);
        uint32_t total;

        for (PZ_EACH_LANE(&lanes)) {
            sum[PZ_SLOT] = 0;
            for (uint32_t i = lane; i < PZI_TILE; i += PZ_LANES)
                sum[PZ_SLOT] += pzi_size_of(sizes, chunks, tile * PZI_TILE + i);
        }
        total = pzi_scan(&lanes, sum);
        if (PZ_IS_FIRST(&lanes))
            sums[tile] = total;
    }
}

/* The sums of tiles become the offset of each tile's first payload; returns the end of the last. */
PZI_FN uint64_t pzi_scan_tiles(PZ_LOCAL struct pzi_lanes *lanes, uint64_t tiles, uint64_t offset,
                               PZ_GLOBAL uint64_t *sums)
{
    for (uint64_t tile = 0; tile < tiles; tile += PZ_LANES) {
        PZ_LANE_VAR(uint64_t, sum);
        uint64_t total;

        for (PZ_EACH_LANE(lanes))
            sum[PZ_SLOT] = tile + lane < tiles ? sums[tile + lane] : 0;
        total = pzi_scan64(lanes, sum);
        for (PZ_EACH_LANE(lanes))
            if (tile + lane < tiles)
                sums[tile + lane] = offset + sum[PZ_SLOT];
        offset += total;
    }
    return offset;
}

/* Begins the state of a call, with what shows from sums alone.  Encoding, coded_bytes is the room
 * for the stream, decoding the size of it, and its headers may be cut. */
PZ_KERNEL void pz_tops(uint64_t chunks, uint32_t is_encoding, uint64_t coded_bytes,
                       PZ_GLOBAL uint64_t *sums, PZ_GLOBAL uint64_t *offsets,
                       PZ_GLOBAL uint64_t *state)
{
    const uint64_t is_cut = !is_encoding && coded_bytes < 2 * chunks;
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);
    uint64_t end, fault = UINT64_MAX;

    end = pzi_scan_tiles(&lanes, is_cut ? 0 : pzi_tiles_of(chunks), 2 * chunks, sums);
    if (is_cut)
        fault = coded_bytes / 2 << 8 | PZ_ERR_TRUNCATED;
    else if (is_encoding && end > coded_bytes)
        fault = PZ_ERR_SPACE;
    else if (!is_encoding && end < coded_bytes)
        fault = chunks << 8 | PZ_ERR_TRAILING;
    if (PZ_IS_FIRST(&lanes)) {
        offsets[chunks] = end;
        state[PZI_STATE_PLACES] = fault;
        state[PZI_STATE_CHUNKS] = UINT64_MAX;
        state[PZI_STATE_BYTES] = end;
    }
}

/* What is wrong with a size, as the CPU finds it. */
PZI_FN uint32_t pzi_check_size(uint32_t bytes, uint32_t raw_bytes, uint64_t offset,
                               uint64_t coded_bytes)
{
    if (bytes > raw_bytes)
        return PZ_ERR_CHUNK_SIZE;
    return offset > coded_bytes || bytes > coded_bytes - offset ? PZ_ERR_TRUNCATED : PZ_OK;
}

/* The offsets of payloads from those of tiles; coded_bytes is the size of a stream to be decoded,
 * else UINT64_MAX. */
PZ_KERNEL void pz_offsets(PZ_GLOBAL const uint8_t *sizes, uint64_t raw_bytes, uint64_t coded_bytes,
                          PZ_GLOBAL const uint64_t *sums, PZ_GLOBAL uint64_t *offsets,
                          PZ_GLOBAL uint64_t *state)
{
    const uint64_t chunks = pzi_chunks_of(raw_bytes);
    const uint64_t tiles = coded_bytes < 2 * chunks ? 0 : pzi_tiles_of(chunks);
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);

    for (uint64_t tile = PZ_GROUP_ID; tile < tiles; tile += PZ_GROUP_COUNT) {
        uint64_t offset = sums[tile];

        for (uint32_t i = 0; i < PZI_TILE; i += PZ_LANES) {
            const uint64_t first = tile * PZI_TILE + i;
            PZ_LANE_VAR(uint32_t, size);
            PZ_LANE_VAR(uint32_t, below);
            uint32_t total;

            for (PZ_EACH_LANE(&lanes)) {
                size[PZ_SLOT] = pzi_size_of(sizes, chunks, first + lane);
                below[PZ_SLOT] = size[PZ_SLOT];
            }
            total = pzi_scan(&lanes, below);
            for (PZ_EACH_LANE(&lanes))
                if (first + lane < chunks) {
                    const uint64_t at = offset + below[PZ_SLOT];
                    const uint32_t status = pzi_check_size(
                        size[PZ_SLOT], pzi_chunk_bytes(raw_bytes, first + lane), at, coded_bytes);

                    offsets[first + lane] = at;
                    if (status != PZ_OK)
                        PZ_MIN64(&state[PZI_STATE_PLACES], (first + lane) << 8 | status);
                }
            offset += total;
        }
    }
}

/* ---- Gather --------------------------------------------------------------------------------- */

/* Copies a payload from a slot, whole words of the target at a time: 32 lanes write 128 bytes that
 * stand together, as suits a link. */
PZI_FN void pzi_copy_payload(PZ_LOCAL struct pzi_lanes *lanes, PZ_GLOBAL const uint8_t *slot,
                             uint32_t bytes, PZ_GLOBAL uint8_t *to)
{
    const uint32_t gap = (uint32_t)(0 - (uintptr_t)to) & 3, head = gap < bytes ? gap : bytes;
    const uint32_t words = (bytes - head) / 4, tail = head + 4 * words;
    PZ_GLOBAL const uint32_t *const from = (PZ_GLOBAL const uint32_t *)slot;
    PZ_GLOBAL uint32_t *const whole = (PZ_GLOBAL uint32_t *)(to + head);

    for (PZ_EACH_LANE(lanes)) {
        for (uint32_t i = lane; i < words; i += PZ_LANES)
            whole[i] = head == 0 ? from[i] : from[i] >> 8 * head | from[i + 1] << (32 - 8 * head);
        if (lane < head)
            to[lane] = slot[lane];
        if (lane < bytes - tail)
            to[tail + lane] = slot[tail + lane];
    }
}

/* All headers, then all payloads, to a stream that begins at a multiple of 4; nothing if it has no
 * room. */
PZ_KERNEL void pz_gather(PZ_GLOBAL const uint8_t *slots, PZ_GLOBAL const uint8_t *sizes,
                         uint64_t chunks, PZ_GLOBAL const uint64_t *offsets,
                         PZ_GLOBAL const uint64_t *state, PZ_GLOBAL uint8_t *stream)
{
    const uint64_t rows = (chunks + 63) / 64;
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);

    if (state[PZI_STATE_PLACES] != UINT64_MAX)
        return;
    for (uint64_t row = PZ_GROUP_ID; row < rows; row += PZ_GROUP_COUNT) {
        const uint64_t left = chunks - 64 * row;

        pzi_copy_payload(&lanes, sizes + 128 * row, left < 64 ? 2 * (uint32_t)left : 128,
                         stream + 128 * row);
    }
    for (uint64_t chunk = PZ_GROUP_ID; chunk < chunks; chunk += PZ_GROUP_COUNT)
        pzi_copy_payload(&lanes, slots + chunk * PZ_CHUNK_BYTES, pzi_size_of(sizes, chunks, chunk),
                         stream + offsets[chunk]);
}

/* Where a byte of a stream in pieces of one size is. */
PZI_FN PZ_GLOBAL uint8_t *pzi_in_pieces(PZ_GLOBAL const uint64_t *pieces, uint64_t piece_bytes,
                                        uint64_t at)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a kernel of OpenCL takes no table of pointers */
    return (PZ_GLOBAL uint8_t *)(uintptr_t)pieces[at / piece_bytes] + at % piece_bytes;
}

/* Few payloads lie in two pieces, and those go byte by byte. */
PZI_FN void pzi_copy_to_pieces(PZ_LOCAL struct pzi_lanes *lanes, PZ_GLOBAL const uint8_t *slot,
                               uint32_t bytes, PZ_GLOBAL const uint64_t *pieces,
                               uint64_t piece_bytes, uint64_t at)
{
    if (bytes <= piece_bytes - at % piece_bytes) {
        pzi_copy_payload(lanes, slot, bytes, pzi_in_pieces(pieces, piece_bytes, at));
        return;
    }
    for (PZ_EACH_LANE(lanes))
        for (uint32_t i = lane; i < bytes; i += PZ_LANES)
            *pzi_in_pieces(pieces, piece_bytes, at + i) = slot[i];
}

/* The same to pieces whose addresses are given, each of piece_bytes, a multiple of 4,096. */
PZ_KERNEL void pz_gather_pieces(PZ_GLOBAL const uint8_t *slots, PZ_GLOBAL const uint8_t *sizes,
                                uint64_t chunks, PZ_GLOBAL const uint64_t *offsets,
                                PZ_GLOBAL const uint64_t *state, PZ_GLOBAL const uint64_t *pieces,
                                uint64_t piece_bytes)
{
    const uint64_t rows = (chunks + 63) / 64;
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);

    if (state[PZI_STATE_PLACES] != UINT64_MAX)
        return;
    for (uint64_t row = PZ_GROUP_ID; row < rows; row += PZ_GROUP_COUNT) {
        const uint64_t left = chunks - 64 * row;

        pzi_copy_to_pieces(&lanes, sizes + 128 * row, left < 64 ? 2 * (uint32_t)left : 128, pieces,
                           piece_bytes, 128 * row);
    }
    for (uint64_t chunk = PZ_GROUP_ID; chunk < chunks; chunk += PZ_GROUP_COUNT)
        pzi_copy_to_pieces(&lanes, slots + chunk * PZ_CHUNK_BYTES,
                           pzi_size_of(sizes, chunks, chunk), pieces, piece_bytes, offsets[chunk]);
}

/* The state to where the caller looks for it, behind all else. */
PZ_KERNEL void pz_finish(PZ_GLOBAL const uint64_t *state, PZ_GLOBAL uint64_t *result)
{
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);

    if (PZ_IS_FIRST(&lanes))
        for (uint32_t i = 0; i < PZI_STATE_WORDS; i++)
            result[i] = state[i];
}

#endif
