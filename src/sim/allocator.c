/* A model of PyTorch's caching allocator.  See allocator.h. */
#include "sim/allocator.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/trace.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* Sizes of PyTorch's allocator as it comes. */
#define ROUND_BYTES UINT64_C(512)     /* blocks are whole multiples of this */
#define SMALL_BYTES (1 * MIB)         /* up to here an allocation is small */
#define SMALL_SEGMENT_BYTES (2 * MIB) /* and shares a segment of this size */
#define LARGE_BYTES (10 * MIB)        /* below, a large one shares */
#define LARGE_SEGMENT_BYTES (20 * MIB)
#define ROUND_SEGMENT_BYTES (2 * MIB) /* from there on it has a segment of its own */

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t segment_size(uint64_t bytes)
{
    if (bytes <= SMALL_BYTES)
        return SMALL_SEGMENT_BYTES;
    return bytes < LARGE_BYTES ? LARGE_SEGMENT_BYTES : round_up(bytes, ROUND_SEGMENT_BYTES);
}

void pzi_allocator_init(pzi_allocator *a, uint64_t limit_bytes)
{
    *a = (pzi_allocator){.limit_bytes = limit_bytes};
}

void pzi_allocator_free(pzi_allocator *a)
{
    free(a->blocks);
    free(a->unused.blocks);
    free(a->free[0].blocks);
    free(a->free[1].blocks);
    *a = (pzi_allocator){0};
}

/* Lists -----------------------------------------------------------------------------------------
 */

static bool is_before(const pzi_piece *a, const pzi_piece *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}

/* The place of the first block in the list that is not before the wanted one. */
static size_t find(const pzi_allocator *a, const pzi_free_list *list, const pzi_piece *wanted)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_before(&a->blocks[list->blocks[middle]], wanted))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static pz_status insert(pzi_free_list *list, size_t place, int32_t block)
{
    int32_t *grown = pzi_grow(list->blocks, &list->room, list->n + 1, sizeof *grown);
    if (!grown)
        return PZ_ERR_MEMORY;
    list->blocks = grown;
    memmove(&list->blocks[place + 1], &list->blocks[place],
            (list->n - place) * sizeof *list->blocks);
    list->blocks[place] = block;
    list->n++;
    return PZ_OK;
}

static void take_out(pzi_allocator *a, int32_t block)
{
    pzi_free_list *list = &a->free[a->blocks[block].small];
    const size_t place = find(a, list, &a->blocks[block]);
    list->n--;
    memmove(&list->blocks[place], &list->blocks[place + 1],
            (list->n - place) * sizeof *list->blocks);
}

static pz_status put_in(pzi_allocator *a, int32_t block)
{
    pzi_free_list *list = &a->free[a->blocks[block].small];
    a->blocks[block].taken = false;
    return insert(list, find(a, list, &a->blocks[block]), block);
}

static pz_status add_block(pzi_allocator *a, pzi_piece block, int32_t *number)
{
    if (a->unused.n > 0) {
        *number = a->unused.blocks[--a->unused.n];
    } else {
        pzi_piece *grown = pzi_grow(a->blocks, &a->room_blocks, a->n_blocks + 1, sizeof *grown);
        if (!grown)
            return PZ_ERR_MEMORY;
        a->blocks = grown;
        *number = (int32_t)a->n_blocks++;
    }
    a->blocks[*number] = block;
    return PZ_OK;
}

/* Segments --------------------------------------------------------------------------------------
 */

/* Gives the device back every segment that is one free block. */
static pz_status release_segments(pzi_allocator *a)
{
    for (size_t pool = 0; pool < 2; pool++) {
        pzi_free_list *list = &a->free[pool];
        size_t kept = 0;
        for (size_t i = 0; i < list->n; i++) {
            const pzi_piece *block = &a->blocks[list->blocks[i]];
            if (block->previous != PZI_NONE || block->next != PZI_NONE) {
                list->blocks[kept++] = list->blocks[i];
                continue;
            }
            a->segment_bytes -= block->bytes;
            if (insert(&a->unused, a->unused.n, list->blocks[i]) != PZ_OK)
                return PZ_ERR_MEMORY;
        }
        list->n = kept;
    }
    return PZ_OK;
}

static bool has_room(const pzi_allocator *a, uint64_t bytes)
{
    return a->segment_bytes <= a->limit_bytes && bytes <= a->limit_bytes - a->segment_bytes;
}

static pz_status add_segment(pzi_allocator *a, uint64_t bytes, int32_t *block)
{
    const uint64_t size = segment_size(bytes);
    if (!has_room(a, size) && release_segments(a) != PZ_OK)
        return PZ_ERR_MEMORY;
    if (!has_room(a, size))
        return PZ_ERR_INFEASIBLE;
    const pzi_piece whole = {.address = a->next_address,
                             .bytes = size,
                             .previous = PZI_NONE,
                             .next = PZI_NONE,
                             .small = bytes <= SMALL_BYTES};
    a->segment_bytes += size;
    a->next_address += size;
    return add_block(a, whole, block);
}

/* Blocks ----------------------------------------------------------------------------------------
 */

/* The smallest free block that is large enough, the lowest of several; PZI_NONE if there is none.
 */
static int32_t best_fit(pzi_allocator *a, uint64_t bytes)
{
    const pzi_free_list *list = &a->free[bytes <= SMALL_BYTES];
    const size_t place = find(a, list, &(pzi_piece){.bytes = bytes});
    if (place == list->n)
        return PZI_NONE;
    const int32_t block = list->blocks[place];
    take_out(a, block);
    return block;
}

/* What is left is worth keeping: anything in a small segment, more than 1 MiB in a large one. */
static bool should_split(const pzi_piece *block, uint64_t bytes)
{
    const uint64_t rest = block->bytes - bytes;
    return block->small ? rest >= ROUND_BYTES : rest > SMALL_BYTES;
}

/* Cuts a block to size; the rest is a free block after it. */
static pz_status split(pzi_allocator *a, int32_t block, uint64_t bytes)
{
    const pzi_piece whole = a->blocks[block];
    if (!should_split(&whole, bytes))
        return PZ_OK;
    int32_t rest;
    const pz_status status = add_block(a,
                                       (pzi_piece){.address = whole.address + bytes,
                                                   .bytes = whole.bytes - bytes,
                                                   .previous = block,
                                                   .next = whole.next,
                                                   .small = whole.small},
                                       &rest);
    if (status != PZ_OK)
        return status;
    a->blocks[block].bytes = bytes;
    a->blocks[block].next = rest;
    if (whole.next != PZI_NONE)
        a->blocks[whole.next].previous = rest;
    return put_in(a, rest);
}

pz_status pzi_allocator_take(pzi_allocator *a, uint64_t bytes, int32_t *block)
{
    bytes = round_up(bytes, ROUND_BYTES);
    *block = best_fit(a, bytes);
    pz_status status = *block == PZI_NONE ? add_segment(a, bytes, block) : PZ_OK;
    if (status == PZ_OK)
        status = split(a, *block, bytes);
    if (status != PZ_OK)
        return status;
    a->blocks[*block].taken = true;
    a->taken_bytes += a->blocks[*block].bytes;
    return PZ_OK;
}

/* Joins two neighbours into the first; the second is no more. */
static pz_status join(pzi_allocator *a, int32_t first, int32_t second)
{
    a->blocks[first].bytes += a->blocks[second].bytes;
    a->blocks[first].next = a->blocks[second].next;
    if (a->blocks[second].next != PZI_NONE)
        a->blocks[a->blocks[second].next].previous = first;
    return insert(&a->unused, a->unused.n, second);
}

pz_status pzi_allocator_give(pzi_allocator *a, int32_t block)
{
    const int32_t previous = a->blocks[block].previous, next = a->blocks[block].next;
    pz_status status = PZ_OK;
    a->taken_bytes -= a->blocks[block].bytes;
    if (next != PZI_NONE && !a->blocks[next].taken) {
        take_out(a, next);
        status = join(a, block, next);
    }
    if (status == PZ_OK && previous != PZI_NONE && !a->blocks[previous].taken) {
        take_out(a, previous);
        status = join(a, previous, block);
        block = previous;
    }
    return status == PZ_OK ? put_in(a, block) : status;
}

uint64_t pzi_allocator_largest_free(const pzi_allocator *a)
{
    uint64_t largest = 0;
    for (size_t pool = 0; pool < 2; pool++) {
        const pzi_free_list *list = &a->free[pool];
        const uint64_t bytes = list->n > 0 ? a->blocks[list->blocks[list->n - 1]].bytes : 0;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}
