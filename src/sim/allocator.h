/* A model of PyTorch's caching allocator, which asks the device for segments, hands out blocks of
 * them and keeps what is given back: the reason why memory that is enough in sum can be too little.
 * Sizes and rules: docs/simulator.md, "Fragmentation".  Knows bytes, no tensors. */
#ifndef PZI_SIM_ALLOCATOR_H
#define PZI_SIM_ALLOCATOR_H

#include <planezip/plan.h>
#include <stdbool.h>

/* A piece of a segment, taken or free. */
typedef struct pzi_piece {
    uint64_t address, bytes;
    int32_t previous, next; /* neighbours in the segment, or PZI_NONE */
    bool small;             /* of a segment for small allocations */
    bool taken;
} pzi_piece;

/* Free blocks in order of size, then address. */
typedef struct pzi_free_list {
    int32_t *blocks;
    size_t n, room;
} pzi_free_list;

typedef struct pzi_allocator {
    uint64_t limit_bytes;   /* of all segments together */
    uint64_t segment_bytes; /* now */
    uint64_t taken_bytes;   /* of blocks, rounded */
    uint64_t next_address;  /* of the next segment */
    pzi_piece *blocks;      /* all that ever were */
    size_t n_blocks, room_blocks;
    pzi_free_list unused;  /* numbers of blocks that are no more */
    pzi_free_list free[2]; /* large, small */
} pzi_allocator;

void pzi_allocator_init(pzi_allocator *allocator, uint64_t limit_bytes);
void pzi_allocator_free(pzi_allocator *allocator);

/* Takes a block of at least so many bytes, at least 1.  PZ_ERR_INFEASIBLE if no free block is large
 * enough and no segment for it fits below the limit, even after all segments without a taken block
 * have gone; PZ_ERR_MEMORY. */
pz_status pzi_allocator_take(pzi_allocator *allocator, uint64_t bytes, int32_t *block);

/* Gives it back: joined with its free neighbours.  PZ_ERR_MEMORY. */
pz_status pzi_allocator_give(pzi_allocator *allocator, int32_t block);

/* The largest free block. */
uint64_t pzi_allocator_largest_free(const pzi_allocator *allocator);

#endif
