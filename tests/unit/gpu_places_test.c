/* The kernels that say where payloads stand (src/gpu/place_kernels.h), as plain C: sizes become
 * offsets and slots a stream, and headers are judged as the codec does. */
#include "support/test.h"

#include <stdlib.h>

#include "planezip/planezip.h"
#include "support/lanes.h"
#include "support/rng.h"

enum { CHUNKS_MAX = 2100, TILES_MAX = 3, TILE = 1024 };

static uint8_t slots[CHUNKS_MAX * PZ_CHUNK_BYTES], sizes[2 * CHUNKS_MAX + 4];
static uint8_t stream[CHUNKS_MAX * (PZ_CHUNK_BYTES + 2) + 16], expected[sizeof stream];
static uint64_t sums[TILES_MAX], offsets[CHUNKS_MAX + 1], wanted[CHUNKS_MAX + 1], state[3];

static unsigned groups;
static enum lanes_order order;

static void launch(const char *kernel, unsigned count, void *const *arguments)
{
    CHECK(lanes_launch(order, kernel, count, arguments));
}

/* The offsets and the state of `bytes` of a stream of that many raw bytes, or of that much room. */
static void place(uint8_t *headers, uint64_t raw_bytes, uint32_t is_encoding, uint64_t bytes)
{
    uint64_t chunks = pz_stream_chunks((size_t)raw_bytes), limit = is_encoding ? UINT64_MAX : bytes;
    uint64_t there = !is_encoding && bytes / 2 < chunks ? bytes / 2 : chunks;
    uint64_t *sums_at = sums, *offsets_at = offsets, *state_at = state;

    memset(sums, 0xa5, sizeof sums);
    memset(state, 0xa5, sizeof state);
    launch("pz_tiles", groups, (void *[]){&headers, &there, &sums_at});
    launch("pz_tops", 1,
           (void *[]){&chunks, &is_encoding, &bytes, &sums_at, &offsets_at, &state_at});
    launch("pz_offsets", groups,
           (void *[]){&headers, &raw_bytes, &limit, &sums_at, &offsets_at, &state_at});
}

static void gather(uint64_t chunks, uint8_t *to)
{
    uint8_t *slots_at = slots, *sizes_at = sizes;
    uint64_t *offsets_at = offsets, *state_at = state;

    launch("pz_gather", groups,
           (void *[]){&slots_at, &sizes_at, &chunks, &offsets_at, &state_at, &to});
}

static uint32_t size_at(const uint8_t *headers, size_t chunk)
{
    return headers[2 * chunk] | (uint32_t)headers[2 * chunk + 1] << 8;
}

/* Sizes as chunks may have them, of all kinds: few bytes, whole chunks, none too large. */
static void fill_sizes(struct rng *rng, size_t raw_bytes)
{
    const size_t chunks = (size_t)pz_stream_chunks(raw_bytes);

    for (size_t i = 0; i < chunks; i++) {
        const size_t left = raw_bytes - i * PZ_CHUNK_BYTES;
        const uint64_t raw = left < PZ_CHUNK_BYTES ? left : PZ_CHUNK_BYTES;
        const uint64_t size = rng_one_in(rng, 8)   ? raw
                              : rng_one_in(rng, 4) ? 1 + rng_below(rng, raw < 6 ? raw : 6)
                                                   : 1 + rng_below(rng, raw);

        sizes[2 * i] = (uint8_t)size;
        sizes[2 * i + 1] = (uint8_t)(size >> 8);
    }
}

/* What gather should make of slots and sizes; its size. */
static size_t expect(size_t chunks)
{
    size_t position = 2 * chunks;

    memcpy(expected, sizes, 2 * chunks);
    for (size_t i = 0; i < chunks; i++) {
        wanted[i] = position;
        memcpy(expected + position, slots + i * PZ_CHUNK_BYTES, size_at(sizes, i));
        position += size_at(sizes, i);
    }
    wanted[chunks] = position;
    return position;
}

static void check_stream(size_t chunks, size_t bytes)
{
    CHECK_EQ_U64(state[0], UINT64_MAX);
    CHECK_EQ_U64(state[1], UINT64_MAX);
    CHECK_EQ_U64(state[2], bytes);
    CHECK_MEM(offsets, wanted, (chunks + 1) * sizeof *wanted);
    memset(stream, 0xee, bytes + 16);
    gather(chunks, stream);
    CHECK_MEM(stream, expected, bytes);
    for (size_t i = bytes; i < bytes + 16; i++)
        CHECK_EQ_U64(stream[i], 0xee);
}

TEST(slots_become_a_stream)
{
    static const size_t counts[] = {0, 1, 2, 31, 33, 63, 64, 65, TILE - 1, TILE, TILE + 1, 2100};
    struct rng rng = {8};

    rng_fill(&rng, slots, sizeof slots);
    for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
        const size_t chunks = counts[i / 2];
        const size_t raw_bytes = chunks * PZ_CHUNK_BYTES - (chunks > 0 ? rng_below(&rng, 4096) : 0);
        size_t bytes;

        order = (enum lanes_order)(i % 2);
        groups = 1 + (unsigned)rng_below(&rng, 5);
        TEST_CONTEXT("%zu chunks, %zu raw bytes, %u groups", chunks, raw_bytes, groups);
        fill_sizes(&rng, raw_bytes);
        bytes = expect(chunks);
        place(sizes, raw_bytes, 1, bytes);
        check_stream(chunks, bytes);
    }
}

TEST(no_room_for_a_stream)
{
    struct rng rng = {1};
    size_t bytes;

    groups = 2;
    fill_sizes(&rng, 70 * PZ_CHUNK_BYTES);
    bytes = expect(70);
    place(sizes, 70 * PZ_CHUNK_BYTES, 1, bytes - 1);
    CHECK_EQ_U64(state[0], PZ_ERR_SPACE);
    CHECK_EQ_U64(state[2], bytes);
    memset(stream, 0xee, bytes);
    gather(70, stream);
    for (size_t i = 0; i < bytes; i++)
        if (!CHECK_EQ_U64(stream[i], 0xee))
            return;
}

static void check_headers(uint8_t *coded, size_t bytes, size_t raw_bytes)
{
    pz_where where = {0, 0, 0};
    const pz_status status = pz_stream_index(coded, bytes, raw_bytes, wanted, &where);

    place(coded, raw_bytes, 0, bytes);
    if (status != PZ_OK) {
        CHECK_EQ_U64(state[0], where.chunk << 8 | status);
        return;
    }
    CHECK_EQ_U64(state[0], UINT64_MAX);
    CHECK_MEM(offsets, wanted, ((size_t)pz_stream_chunks(raw_bytes) + 1) * sizeof *wanted);
}

/* Damaged headers, streams that are too short or too long, at any alignment; in a block of just
 * their size, so that a sanitizer sees what is read beyond. */
TEST(headers_are_judged_as_by_the_codec)
{
    for (unsigned i = 0; i < 600; i++) {
        struct rng rng = {i};
        const size_t chunks = 1 + rng_below(&rng, rng_one_in(&rng, 20) ? 1100 : 70);
        const size_t raw_bytes = chunks * PZ_CHUNK_BYTES - rng_below(&rng, 4096);
        const size_t shift = rng_below(&rng, 4);
        uint8_t *block, *coded;
        size_t bytes;

        TEST_CONTEXT("round %u, %zu chunks", i, chunks);
        order = (enum lanes_order)(i % 2);
        groups = 1 + i % 3;
        fill_sizes(&rng, raw_bytes);
        bytes = expect(chunks);
        if (rng_one_in(&rng, 3))
            bytes -= rng_below(&rng, rng_one_in(&rng, 2) ? bytes : 5);
        else if (rng_one_in(&rng, 2))
            bytes += rng_below(&rng, 3);
        block = malloc(shift + bytes + (shift + bytes == 0));
        if (!CHECK(block != NULL))
            return;
        coded = block + shift;
        memcpy(coded, expected, bytes);
        for (uint64_t k = rng_below(&rng, 4); k > 0 && bytes > 0; k--) {
            const uint64_t at = rng_below(&rng, bytes < 2 * chunks ? bytes : 2 * chunks);

            coded[at] ^= (uint8_t)(1u << rng_below(&rng, rng_one_in(&rng, 2) ? 3 : 8));
        }
        check_headers(coded, bytes, raw_bytes);
        free(block);
    }
}
