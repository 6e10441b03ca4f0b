/* Where segments of tensors stay: what each tier can do.  A tier knows coded bytes only.  Its
 * functions may be called by several threads at once, for different places. */
#ifndef PZI_ENGINE_TIER_H
#define PZI_ENGINE_TIER_H

#include "planezip/engine.h"

#define PZI_NOWHERE UINT64_MAX

/* A part of a tensor.  Whoever codes it sets bytes and is_coded, the tier the rest. */
struct pzi_segment {
    uint64_t at;    /* disk: PZI_NOWHERE as long as it is not in the tier */
    uint64_t check; /* disk: XXH3-64 of its bytes */
    uint32_t bytes;
    bool is_coded; /* a stream of its own, else raw */
};

/* A tensor in a tier; all zero but its segments before the first one is put there. */
struct pzi_place {
    size_t count;
    struct pzi_segment *segments;
    uint8_t **chunks; /* memory: in the order of their bytes */
    size_t chunk_count, chunk_room;
    uint64_t bytes;   /* memory: that the chunks hold */
    int system_error; /* disk: errno of the last failure, or 0 */
};

struct pzi_tier {
    /* Puts segment i, which is the next one; its buffer has room for a whole slot, and what is
     * behind the bytes of the segment may be overwritten.  PZ_ERR_FULL, PZ_ERR_MEMORY, PZ_ERR_IO.
     */
    pz_status (*put)(struct pzi_tier *tier, struct pzi_place *place, size_t i, uint8_t *buffer);

    /* Gets segment i into such a buffer.  PZ_ERR_IO, PZ_ERR_TRUNCATED, PZ_ERR_CHECK. */
    pz_status (*get)(struct pzi_tier *tier, struct pzi_place *place, size_t i, uint8_t *buffer);

    /* Forgets all segments of a place. */
    void (*drop)(struct pzi_tier *tier, struct pzi_place *place);

    /* Fills in what concerns the tier. */
    void (*tell)(struct pzi_tier *tier, pz_engine_stats *stats);

    /* Frees the tier; in a child process too. */
    void (*close)(struct pzi_tier *tier);
};

/* In chunks of a pool. */
pz_status pzi_tier_memory(pz_pool *pool, struct pzi_tier **tier);

/* In a file without a name, of at most limit_bytes, 0 for no limit, in slots that hold a segment
 * each.  Past the page cache unless `cached` or the file system refuses.  PZ_ERR_MEMORY, or
 * PZ_ERR_IO and *system_error. */
pz_status pzi_tier_disk(const char *directory, uint64_t limit_bytes, size_t slot_bytes, bool cached,
                        struct pzi_tier **tier, int *system_error);

#endif
