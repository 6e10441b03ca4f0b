/* Rows packed by invariant bits (docs/ibp.md) on a device: what host and kernels have to agree on,
 * and what packing and unpacking share.  A row is words of 32 bits, one for each lane; the width of
 * elements matters to nobody but who learns. */
#ifndef PZI_GPU_IBP_H
#define PZI_GPU_IBP_H

#include "gpu/place.h"

#include "ibp/levels.h"

enum {
    /* A table as the kernels read it: numbers, masks and values as words, zeros behind a row. */
    PZI_IBP_ROW_BYTES = 0,
    PZI_IBP_GROUP_LOG = 1,   /* 2^this bits are a group, 3 to 9 */
    PZI_IBP_LEAST_BYTES = 2, /* of a packed row: all of its groups participate */
    PZI_IBP_HEAD_WORDS = 4,

    /* What rows are, a sum of these; else in slots, and one after the other. */
    PZI_IBP_CONDENSED = 1,
    PZI_IBP_BY_INDEX = 2,

    PZI_IBP_PIECE_BYTES = 128,   /* read at once, at a multiple of as many */
    PZI_IBP_WINDOW_WORDS = 256,  /* pieces of a row that are there */
    PZI_IBP_MAP_WORDS = 128,     /* who participates, so much of it at a time */
    PZI_IBP_MAP_GROUPS = 4096,   /* groups of it */
    PZI_IBP_OUT_WORDS = 36,      /* what 32 lanes pack at once, and what is left of a word */
    PZI_IBP_BINS = 127,          /* groups of all sizes of a column */
    PZI_IBP_ROWS_AT_ONCE = 1024, /* what a warp learns from */
    PZI_IBP_ROWS_OF_COUNTER = 255
};

/* A table in the memory of the device. */
struct pzi_ibp_view {
    PZ_GLOBAL const uint32_t *mask, *value;
    uint32_t row_bytes, words, group_log, groups, map_bytes, least_bytes;
};

/* The memory of a warp that packs or unpacks. */
struct pzi_ibp_warp {
    struct pzi_lanes lanes;
    uint32_t map[PZI_IBP_MAP_WORDS]; /* 1: this group participates */
    uint32_t window[PZI_IBP_WINDOW_WORDS];
};

PZI_FN struct pzi_ibp_view pzi_ibp_view_of(PZ_GLOBAL const uint32_t *table)
{
    struct pzi_ibp_view t;

    t.row_bytes = table[PZI_IBP_ROW_BYTES];
    t.words = (t.row_bytes + 3) / 4;
    t.group_log = table[PZI_IBP_GROUP_LOG];
    t.groups = (8 * t.row_bytes + (1u << t.group_log) - 1) >> t.group_log;
    t.map_bytes = (t.groups + 7) / 8;
    t.least_bytes = table[PZI_IBP_LEAST_BYTES];
    t.mask = table + PZI_IBP_HEAD_WORDS;
    t.value = t.mask + t.words;
    return t;
}

PZI_FN uint32_t pzi_ibp_columns(uint32_t row_bytes)
{
    return (row_bytes + PZI_IBP_COLUMN_BYTES - 1) / PZI_IBP_COLUMN_BYTES;
}

/* ---- Words of a row ------------------------------------------------------------------------- */

/* The bits of word j that belong to the row. */
PZI_FN uint32_t pzi_ibp_valid_bits(const struct pzi_ibp_view *t, uint32_t j)
{
    const uint32_t left = t->row_bytes - 4 * j;

    return left >= 4 ? 0xffffffffu : (1u << 8 * left) - 1;
}

/* Word j of a row with any alignment, zeros behind it. */
PZI_FN uint32_t pzi_ibp_load(PZ_GLOBAL const uint8_t *row, uint32_t bytes, uint32_t j)
{
    uint32_t word = 0;

    if (((uintptr_t)row & 3) == 0 && 4 * j + 4 <= bytes)
        return ((PZ_GLOBAL const uint32_t *)row)[j];
    for (uint32_t k = 4 * j; k < bytes && k < 4 * j + 4; k++)
        word |= (uint32_t)row[k] << 8 * (k & 3);
    return word;
}

PZI_FN void pzi_ibp_store(PZ_GLOBAL uint8_t *row, uint32_t bytes, uint32_t j, uint32_t word)
{
    if (((uintptr_t)row & 3) == 0 && 4 * j + 4 <= bytes) {
        ((PZ_GLOBAL uint32_t *)row)[j] = word;
        return;
    }
    for (uint32_t k = 4 * j; k < bytes && k < 4 * j + 4; k++)
        row[k] = (uint8_t)(word >> 8 * (k & 3));
}

/* ---- Who participates: a part of the map at a time ------------------------------------------ */

PZI_FN uint32_t pzi_ibp_map_parts(const struct pzi_ibp_view *t)
{
    return (t->groups + PZI_IBP_MAP_GROUPS - 1) / PZI_IBP_MAP_GROUPS;
}

/* The first word of a row whose groups are in a part of the map, or the end of the row. */
PZI_FN uint32_t pzi_ibp_map_word(const struct pzi_ibp_view *t, uint32_t part)
{
    const uint32_t word = part * (PZI_IBP_MAP_GROUPS / 32) << t->group_log;

    return word < t->words ? word : t->words;
}

/* Ones in the bits of word j that belong to groups that participate. */
PZI_FN uint32_t pzi_ibp_packed_bits(const struct pzi_ibp_view *t, PZ_LOCAL const uint32_t *map,
                                    uint32_t j)
{
    const uint32_t number =
        (t->group_log >= 5 ? j >> (t->group_log - 5) : j << (5 - t->group_log)) %
        PZI_IBP_MAP_GROUPS;
    const uint32_t bits = map[number / 32] >> number % 32;

    if (t->group_log == 3)
        return ((bits & 15) * 0x00204081u & 0x01010101u) * 0xff;
    if (t->group_log == 4)
        return ((bits & 3) * 0x8001u & 0x00010001u) * 0xffff;
    return 0 - (bits & 1);
}

/* The bits of word j that are stored. */
PZI_FN uint32_t pzi_ibp_kept_bits(const struct pzi_ibp_view *t, PZ_LOCAL const uint32_t *map,
                                  uint32_t j)
{
    return pzi_ibp_valid_bits(t, j) & ~(t->mask[j] & pzi_ibp_packed_bits(t, map, j));
}

/* How many bits are stored of the words of a part of the map. */
PZI_FN uint32_t pzi_ibp_count(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                              uint32_t part)
{
    const uint32_t end = pzi_ibp_map_word(t, part + 1);
    PZ_LANE_VAR(uint32_t, bits);

    for (PZ_EACH_LANE(&warp->lanes)) {
        bits[PZ_SLOT] = 0;
        for (uint32_t j = pzi_ibp_map_word(t, part) + lane; j < end; j += PZ_LANES)
            bits[PZ_SLOT] += pzi_count32(pzi_ibp_kept_bits(t, warp->map, j));
    }
    return pzi_scan(&warp->lanes, bits);
}

#endif
