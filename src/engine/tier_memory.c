/* The memory tier: the segments of a tensor stand one behind the other in chunks of a pool, of
 * which only the last one is not full. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "engine/tier.h"

struct memory_tier {
    struct pzi_tier tier;
    pz_pool *pool;
    size_t chunk_bytes;
};

/* The bytes from `at` on that lie in the same chunk, `left` at most. */
static size_t in_one_chunk(const struct memory_tier *memory, uint64_t at, size_t left)
{
    const size_t room = memory->chunk_bytes - (size_t)(at % memory->chunk_bytes);

    return left < room ? left : room;
}

static uint8_t *address(const struct memory_tier *memory, const struct pzi_place *place,
                        uint64_t at)
{
    return place->chunks[at / memory->chunk_bytes] + at % memory->chunk_bytes;
}

static pz_status add_chunk(struct memory_tier *memory, struct pzi_place *place)
{
    uint8_t **const chunks = pzi_grow(place->chunks, &place->chunk_room, place->chunk_count + 1,
                                      sizeof place->chunks[0]);
    void *chunk = NULL;
    pz_status status;

    if (chunks == NULL)
        return PZ_ERR_MEMORY;
    place->chunks = chunks;
    status = pz_pool_take(memory->pool, &chunk);
    if (status == PZ_OK)
        place->chunks[place->chunk_count++] = chunk;
    return status;
}

static pz_status put(struct pzi_tier *tier, struct pzi_place *place, size_t i, uint8_t *buffer)
{
    struct memory_tier *const memory = (struct memory_tier *)tier;
    size_t left = place->segments[i].bytes;

    place->segments[i].at = place->bytes;
    while (left > 0) {
        const size_t part = in_one_chunk(memory, place->bytes, left);

        if (place->bytes == (uint64_t)place->chunk_count * memory->chunk_bytes) {
            const pz_status status = add_chunk(memory, place);

            if (status != PZ_OK)
                return status;
        }
        memcpy(address(memory, place, place->bytes), buffer, part);
        place->bytes += part;
        buffer += part;
        left -= part;
    }
    return PZ_OK;
}

static pz_status get(struct pzi_tier *tier, struct pzi_place *place, size_t i, uint8_t *buffer)
{
    const struct memory_tier *const memory = (const struct memory_tier *)tier;
    uint64_t at = place->segments[i].at;

    for (size_t left = place->segments[i].bytes; left > 0;) {
        const size_t part = in_one_chunk(memory, at, left);

        memcpy(buffer, address(memory, place, at), part);
        at += part;
        buffer += part;
        left -= part;
    }
    return PZ_OK;
}

static void drop(struct pzi_tier *tier, struct pzi_place *place)
{
    const struct memory_tier *const memory = (const struct memory_tier *)tier;

    for (size_t i = 0; i < place->chunk_count; i++)
        (void)pz_pool_give(memory->pool, place->chunks[i]);
    free(place->chunks);
    place->chunks = NULL;
    place->chunk_count = place->chunk_room = 0;
    place->bytes = 0;
}

static void tell(struct pzi_tier *tier, pz_engine_stats *stats)
{
    (void)tier;
    stats->disk_bytes = 0;
    stats->is_direct = false;
}

static void close_memory(struct pzi_tier *tier)
{
    free(tier);
}

pz_status pzi_tier_memory(pz_pool *pool, struct pzi_tier **tier)
{
    pz_pool_stats stats = {.size = sizeof stats};
    struct memory_tier *memory;

    if (pz_pool_get_stats(pool, &stats) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    memory = malloc(sizeof *memory);
    if (memory == NULL)
        return PZ_ERR_MEMORY;
    *memory = (struct memory_tier){{put, get, drop, tell, close_memory}, pool, stats.chunk_bytes};
    *tier = &memory->tier;
    return PZ_OK;
}
