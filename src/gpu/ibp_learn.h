/* The kernels that learn which bits of rows are invariant, from every step-th row (docs/ibp.md,
 * "Learning"): in how many of them each bit is 1; how many of the masks of falling thresholds
 * groups of all sizes fit; and the mask that saves most bits of each group.  What they find is what
 * ibp/learn.c finds.
 *
 * A warp has a column of 64 bytes, and a lane two bytes of it.  Each mask has all bits of the one
 * before: so what a byte fits is one number, its level, and the level of a group is the least of
 * its bytes' levels, whatever the width of elements. */
#ifndef PZI_GPU_IBP_LEARN_H
#define PZI_GPU_IBP_LEARN_H

#include "gpu/ibp.h"

/* What is learned from. */
struct pzi_ibp_sample {
    PZ_GLOBAL const uint8_t *raw;
    uint32_t row_bytes;
    uint64_t step, kept; /* from one row to the next; rows */
};

struct pzi_ibp_masks {
    uint32_t of[PZI_IBP_LEVELS];
};

struct pzi_ibp_bins {
    struct pzi_lanes lanes;
    uint32_t count[PZI_IBP_BINS * (PZI_IBP_LEVELS + 1)];
};

struct pzi_ibp_choice {
    struct pzi_lanes lanes;
    uint32_t mask[PZI_IBP_LEVELS][PZ_LANES];
    uint32_t level[PZI_IBP_COLUMN_BYTES]; /* of each group, PZI_IBP_LEVELS for none */
};

/* Where the groups of 2^(size + 3) bits begin among those of all sizes. */
PZI_FN uint32_t pzi_ibp_first_bin(uint32_t size)
{
    return 128 - (128 >> size);
}

/* The two bytes of a lane, zeros behind the row. */
PZI_FN uint32_t pzi_ibp_pair(const struct pzi_ibp_sample *sample, uint64_t row, uint32_t at)
{
    PZ_GLOBAL const uint8_t *const from = sample->raw + row * sample->step * sample->row_bytes;
    uint32_t pair = 0;

    if (at < sample->row_bytes)
        pair = from[at];
    if (at + 1 < sample->row_bytes)
        pair |= (uint32_t)from[at + 1] << 8;
    return pair;
}

/* ---- In how many rows each bit is 1 --------------------------------------------------------- */

/* Adds up to 255 rows; bit k of planes[i] is bit i of the number of rows that have bit k. */
PZI_FN void pzi_ibp_add_rows(const struct pzi_ibp_sample *sample, uint64_t from, uint64_t end,
                             uint32_t at, uint32_t planes[8])
{
    for (uint32_t i = 0; i < 8; i++)
        planes[i] = 0;
    for (uint64_t row = from; row < end; row++) {
        uint32_t carry = pzi_ibp_pair(sample, row, at);

        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t both = planes[i] & carry;

            planes[i] ^= carry;
            carry = both;
        }
    }
}

/* Zeros. */
PZ_KERNEL void pz_ibp_clear(PZ_GLOBAL uint32_t *words, uint64_t count)
{
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);

    for (PZ_EACH_LANE(&lanes))
        for (uint64_t i = (uint64_t)PZ_GROUP_ID * PZ_LANES + lane; i < count;
             i += (uint64_t)PZ_GROUP_COUNT * PZ_LANES)
            words[i] = 0;
}

/* Adds to `ones`, a number for each bit of a row. */
PZ_KERNEL void pz_ibp_ones(PZ_GLOBAL const uint8_t *raw, uint32_t row_bytes, uint64_t step,
                           uint64_t kept, PZ_GLOBAL uint32_t *ones)
{
    const uint64_t columns = pzi_ibp_columns(row_bytes);
    const uint64_t tasks =
        columns * ((kept + PZI_IBP_ROWS_OF_COUNTER - 1) / PZI_IBP_ROWS_OF_COUNTER);
    struct pzi_ibp_sample sample;
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);

    sample.raw = raw;
    sample.row_bytes = row_bytes;
    sample.step = step;
    sample.kept = kept;
    for (uint64_t task = PZ_GROUP_ID; task < tasks; task += PZ_GROUP_COUNT)
        for (PZ_EACH_LANE(&lanes)) {
            const uint64_t from = task / columns * PZI_IBP_ROWS_OF_COUNTER;
            const uint64_t end =
                kept - from < PZI_IBP_ROWS_OF_COUNTER ? kept : from + PZI_IBP_ROWS_OF_COUNTER;
            const uint32_t at = (uint32_t)(task % columns) * PZI_IBP_COLUMN_BYTES + 2 * lane;
            uint32_t planes[8];

            pzi_ibp_add_rows(&sample, from, end, at, planes);
            for (uint32_t k = 0; k < 16 && 8 * at + k < 8 * row_bytes; k++) {
                uint32_t sum = 0;

                for (uint32_t i = 0; i < 8; i++)
                    sum |= (planes[i] >> k & 1) << i;
                PZ_ADD32(&ones[8 * at + k], sum);
            }
        }
}

/* ---- Levels --------------------------------------------------------------------------------- */

/* The value of a lane's bits and the masks of the thresholds; least: in how many rows a bit has to
 * be so for the only one, 0 for all of them.  Zeros behind the row. */
PZI_FN uint32_t pzi_ibp_masks(PZ_GLOBAL const uint32_t *ones, uint32_t row_bytes, uint64_t kept,
                              uint32_t least, uint32_t at, uint32_t masks[PZI_IBP_LEVELS])
{
    const uint32_t thresholds[PZI_IBP_LEVELS] = {PZI_IBP_THRESHOLDS};
    uint32_t value = 0;

    for (uint32_t i = 0; i < PZI_IBP_LEVELS; i++)
        masks[i] = 0;
    for (uint32_t k = 0; k < 16 && 8 * at + k < 8 * row_bytes; k++) {
        const uint64_t one = ones[8 * at + k], same = 2 * one > kept ? one : kept - one;

        value |= (uint32_t)(2 * one > kept) << k;
        for (uint32_t i = 0; i < PZI_IBP_LEVELS; i++)
            if (least != 0 ? i == 0 && same >= least : 10000 * same >= thresholds[i] * kept)
                masks[i] |= 1u << k;
    }
    return value;
}

/* Levels of the two bytes of a lane, that of the first one in the low half. */
PZI_FN uint32_t pzi_ibp_levels_of(uint32_t wrong, const uint32_t masks[PZI_IBP_LEVELS],
                                  uint32_t levels)
{
    uint32_t both = 0;

    for (uint32_t i = 0; i < PZI_IBP_LEVELS; i++)
        if (i < levels)
            both += (uint32_t)((wrong & masks[i] & 0xff) == 0) +
                    ((uint32_t)((wrong & masks[i] & 0xff00) == 0) << 16);
    return both;
}

PZI_FN void pzi_ibp_hit(PZ_LOCAL struct pzi_ibp_bins *bins, uint32_t size, uint32_t number,
                        uint32_t level)
{
    bins->count[(pzi_ibp_first_bin(size) + number) * (PZI_IBP_LEVELS + 1) + level]++;
}

/* Counts the levels of a row's groups of every size from `first_size` on; bytes are those of the
 * column, and both[] the levels of each lane's. */
PZI_FN void pzi_ibp_count_levels(PZ_LOCAL struct pzi_ibp_bins *bins, uint32_t first_size,
                                 uint32_t bytes, const uint32_t *both)
{
    PZ_LANE_VAR(uint32_t, level);
    PZ_LANE_VAR(uint32_t, other);

    for (PZ_EACH_LANE(&bins->lanes)) {
        const uint32_t low = both[PZ_SLOT] & 0xffff, high = both[PZ_SLOT] >> 16;
        const uint32_t at = 2 * lane;

        level[PZ_SLOT] = at >= bytes ? PZI_IBP_LEVELS : at + 1 >= bytes || low < high ? low : high;
        if (first_size == 0 && at < bytes)
            pzi_ibp_hit(bins, 0, at, low);
        if (first_size == 0 && at + 1 < bytes)
            pzi_ibp_hit(bins, 0, at + 1, high);
    }
    for (uint32_t size = 1; size < PZI_IBP_SIZES; size++) {
        for (PZ_EACH_LANE(&bins->lanes))
            if (size >= first_size && (2 * lane & ((1u << size) - 1)) == 0 && 2 * lane < bytes)
                pzi_ibp_hit(bins, size, 2 * lane >> size, level[PZ_SLOT]);
        PZ_SHUFFLE(&bins->lanes, other, level, lane ^ 1u << (size - 1));
        for (PZ_EACH_LANE(&bins->lanes))
            if (other[PZ_SLOT] < level[PZ_SLOT])
                level[PZ_SLOT] = other[PZ_SLOT];
    }
}

/* Adds the levels of some rows to `counts`, for each column those of all its groups. */
PZ_KERNEL void pz_ibp_levels(PZ_GLOBAL const uint8_t *raw, uint32_t row_bytes, uint64_t step,
                             uint64_t kept, uint32_t width_log, uint32_t least,
                             PZ_GLOBAL const uint32_t *ones, PZ_GLOBAL uint32_t *counts)
{
    enum { ALL = PZI_IBP_BINS * (PZI_IBP_LEVELS + 1) };
    const uint64_t columns = pzi_ibp_columns(row_bytes);
    const uint64_t tasks = columns * ((kept + PZI_IBP_ROWS_AT_ONCE - 1) / PZI_IBP_ROWS_AT_ONCE);
    const uint32_t levels = least != 0 ? 1 : PZI_IBP_LEVELS;
    struct pzi_ibp_sample sample;
    PZ_LOCAL_STRUCT(struct pzi_ibp_bins, bins);

    sample.raw = raw;
    sample.row_bytes = row_bytes;
    sample.step = step;
    sample.kept = kept;
    for (uint64_t task = PZ_GROUP_ID; task < tasks; task += PZ_GROUP_COUNT) {
        const uint64_t column = task % columns, from = task / columns * PZI_IBP_ROWS_AT_ONCE;
        const uint64_t end =
            kept - from < PZI_IBP_ROWS_AT_ONCE ? kept : from + PZI_IBP_ROWS_AT_ONCE;
        const uint32_t at = (uint32_t)column * PZI_IBP_COLUMN_BYTES, bytes = row_bytes - at;
        PZ_GLOBAL uint32_t *const sums = counts + column * ALL;
        PZ_LANE_VAR(struct pzi_ibp_masks, masks);
        PZ_LANE_VAR(uint32_t, value);

        PZ_SYNC(&bins.lanes);
        for (PZ_EACH_LANE(&bins.lanes)) {
            value[PZ_SLOT] =
                pzi_ibp_masks(ones, row_bytes, kept, least, at + 2 * lane, masks[PZ_SLOT].of);
            for (uint32_t i = lane; i < ALL; i += PZ_LANES)
                bins.count[i] = 0;
        }
        PZ_SYNC(&bins.lanes);
        for (uint64_t row = from; row < end; row++) {
            PZ_LANE_VAR(uint32_t, both);

            for (PZ_EACH_LANE(&bins.lanes))
                both[PZ_SLOT] =
                    pzi_ibp_levels_of(pzi_ibp_pair(&sample, row, at + 2 * lane) ^ value[PZ_SLOT],
                                      masks[PZ_SLOT].of, levels);
            pzi_ibp_count_levels(&bins, width_log - 3, bytes, both);
        }
        PZ_SYNC(&bins.lanes);
        for (PZ_EACH_LANE(&bins.lanes))
            for (uint32_t i = lane; i < ALL; i += PZ_LANES)
                if (bins.count[i] != 0)
                    PZ_ADD32(&sums[i], bins.count[i]);
    }
}

/* ---- Choosing ------------------------------------------------------------------------------- */

/* Bits of a mask in 2^size bytes from byte `at` on. */
PZI_FN uint32_t pzi_ibp_mask_bits(PZ_LOCAL const uint32_t *mask, uint32_t size, uint32_t at)
{
    uint32_t bits = 0;

    if (size == 0)
        return pzi_count32(mask[at / 2] >> 8 * (at % 2) & 0xff);
    for (uint32_t i = at / 2; i < (at + (1u << size)) / 2; i++)
        bits += pzi_count32(mask[i]);
    return bits;
}

/* The level that saves most bits of a group, to *best_level, and how many these are. */
PZI_FN uint64_t pzi_ibp_best(PZ_LOCAL const struct pzi_ibp_choice *choice,
                             PZ_GLOBAL const uint32_t *counts, uint32_t levels, uint32_t size,
                             uint32_t number, PZ_LOCAL uint32_t *best_level)
{
    PZ_GLOBAL const uint32_t *const count =
        counts + (pzi_ibp_first_bin(size) + number) * (PZI_IBP_LEVELS + 1);
    uint64_t best = 0, fitting = 0;
    uint32_t chosen = PZI_IBP_LEVELS;

    for (uint32_t level = levels; level-- > 0;) {
        uint64_t saved;

        fitting += count[level + 1];
        saved = fitting * pzi_ibp_mask_bits(choice->mask[level], size, number << size);
        if (saved > best) {
            best = saved;
            chosen = level;
        }
    }
    *best_level = chosen;
    return best;
}

/* A size of groups: each group's level to choice->level; bits saved of the column, in all lanes. */
PZI_FN uint64_t pzi_ibp_choose(PZ_LOCAL struct pzi_ibp_choice *choice,
                               PZ_GLOBAL const uint32_t *counts, uint32_t levels, uint32_t bytes,
                               uint32_t size)
{
    PZ_LANE_VAR(uint64_t, saved);
    uint64_t sum;

    for (PZ_EACH_LANE(&choice->lanes)) {
        saved[PZ_SLOT] = 0;
        for (uint32_t g = lane; g << size < bytes && g << size < PZI_IBP_COLUMN_BYTES;
             g += PZ_LANES)
            saved[PZ_SLOT] += pzi_ibp_best(choice, counts, levels, size, g, &choice->level[g]);
    }
    sum = pzi_running_sum(&choice->lanes, saved);
    PZ_SYNC(&choice->lanes);
    return sum;
}

/* The mask of one of a lane's bytes, 0 or 1. */
PZI_FN uint32_t pzi_ibp_chosen(PZ_LOCAL const struct pzi_ibp_choice *choice, uint32_t size,
                               uint32_t lane, uint32_t k)
{
    const uint32_t level = choice->level[(2 * lane + k) >> size];

    return level < PZI_IBP_LEVELS ? choice->mask[level][lane] >> 8 * k & 0xff : 0;
}

/* Of each column, bits saved by groups of every size; behind them the values, and the masks for
 * every size: `learned` as learn.h has it. */
PZ_KERNEL void pz_ibp_choose(uint32_t row_bytes, uint64_t kept, uint32_t least,
                             PZ_GLOBAL const uint32_t *ones, PZ_GLOBAL const uint32_t *counts,
                             PZ_GLOBAL uint64_t *saved, PZ_GLOBAL uint8_t *values)
{
    const uint32_t columns = pzi_ibp_columns(row_bytes), levels = least != 0 ? 1 : PZI_IBP_LEVELS;
    PZ_LOCAL_STRUCT(struct pzi_ibp_choice, choice);

    for (uint32_t column = (uint32_t)PZ_GROUP_ID; column < columns;
         column += (uint32_t)PZ_GROUP_COUNT) {
        const uint32_t at = column * PZI_IBP_COLUMN_BYTES, bytes = row_bytes - at;

        PZ_SYNC(&choice.lanes);
        for (PZ_EACH_LANE(&choice.lanes)) {
            uint32_t masks[PZI_IBP_LEVELS];
            const uint32_t value =
                pzi_ibp_masks(ones, row_bytes, kept, least, at + 2 * lane, masks);

            for (uint32_t i = 0; i < PZI_IBP_LEVELS; i++)
                choice.mask[i][lane] = masks[i];
            for (uint32_t k = 0; k < 2 && 2 * lane + k < bytes; k++)
                values[at + 2 * lane + k] = (uint8_t)(value >> 8 * k);
        }
        PZ_SYNC(&choice.lanes);
        for (uint32_t size = 0; size < PZI_IBP_SIZES; size++) {
            const uint64_t bits = pzi_ibp_choose(
                &choice, counts + (uint64_t)column * PZI_IBP_BINS * (PZI_IBP_LEVELS + 1), levels,
                bytes, size);
            PZ_GLOBAL uint8_t *const masks = values + (uint64_t)(1 + size) * row_bytes;

            for (PZ_EACH_LANE(&choice.lanes)) {
                for (uint32_t k = 0; k < 2 && 2 * lane + k < bytes; k++)
                    masks[at + 2 * lane + k] = (uint8_t)pzi_ibp_chosen(&choice, size, lane, k);
                if (lane == 0)
                    saved[(uint64_t)column * PZI_IBP_SIZES + size] = bits;
            }
            PZ_SYNC(&choice.lanes);
        }
    }
}

#endif
