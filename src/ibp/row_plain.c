/* Rows in plain C.  The bits of each lane are moved together, or to their places, in steps that the
 * table has: by 1, 2, 4 ... places. */
#include <stdbool.h>
#include <string.h>

#include "base/inline.h"
#include "base/le.h"
#include "ibp/row.h"

/* Stored bits of the lane that begins at bit `at`. */
PZI_INLINE unsigned count_lane(const pz_ibp_table *table, size_t k, uint64_t lanes, uint64_t valid,
                               unsigned lane, unsigned at)
{
    const unsigned whole =
        valid == UINT64_MAX ? lane : (unsigned)__builtin_popcountll(valid >> at << (64 - lane));

    return lanes >> at & 1 ? table->word[k].kept[at / lane] : whole;
}

PZI_INLINE unsigned count_word(const pz_ibp_table *table, size_t k, uint64_t lanes, uint64_t valid,
                               unsigned lane)
{
    unsigned bits = 0;

    for (unsigned at = 0; at < 64; at += lane)
        bits += count_lane(table, k, lanes, valid, lane, at);
    return bits;
}

PZI_INLINE uint64_t low_bits(uint64_t x, unsigned bits)
{
    return bits == 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

/* Steps of half a lane and less. */
PZI_INLINE unsigned steps_of(unsigned lane)
{
    return lane == 8 ? 3 : lane == 16 ? 4 : lane == 32 ? 5 : 6;
}

PZI_INLINE uint64_t deposit_word(const pz_ibp_table *table, size_t k, uint64_t lanes,
                                 uint64_t valid, unsigned lane, uint64_t stored)
{
    uint64_t x = 0;
    unsigned from = 0;

    for (unsigned at = 0; at < 64; at += lane) {
        const unsigned bits = count_lane(table, k, lanes, valid, lane, at);

        x |= low_bits(stored >> from % 64, bits) << at;
        from += bits;
    }
    for (unsigned i = steps_of(lane); i-- > 0;) {
        const uint64_t moving = table->word[k].step[i] & lanes;

        x = (x & ~moving) | (x << (1u << i) & moving);
    }
    return x & valid & ~(table->mask[k] & lanes);
}

PZI_INLINE uint64_t extract_word(const pz_ibp_table *table, size_t k, uint64_t lanes,
                                 uint64_t valid, unsigned lane, uint64_t x)
{
    uint64_t stored = 0;
    unsigned to = 0;

    x &= valid & ~(table->mask[k] & lanes);
    for (unsigned i = 0; i < steps_of(lane); i++) {
        const uint64_t moving = x & table->word[k].step[i] & lanes;

        x = (x ^ moving) | moving >> (1u << i);
    }
    for (unsigned at = 0; at < 64; at += lane) {
        const unsigned bits = count_lane(table, k, lanes, valid, lane, at);

        stored |= low_bits(x >> at, bits) << to % 64;
        to += bits;
    }
    return stored;
}

/* A bit for each lane into the lanes' lowest bits, then all of their bits. */
PZI_INLINE uint64_t spread(unsigned bits, unsigned lane)
{
    switch (lane) {
    case 8: {
        const uint64_t each = bits * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);

        return (((each + UINT64_C(0x7f7f7f7f7f7f7f7f)) | each) >> 7 &
                UINT64_C(0x0101010101010101)) *
               0xff;
    }
    case 16:
        return (bits * UINT64_C(0x0000200040008001) & UINT64_C(0x0001000100010001)) * 0xffff;
    default:
        return ((uint64_t)(bits & 1) | (uint64_t)(bits >> 1) << 32) * 0xffffffff;
    }
}

PZI_INLINE bool block_is_clean(const pz_ibp_table *table, size_t k, const uint8_t *raw)
{
    uint64_t wrong = 0;

    for (size_t i = 0; i < PZ_IBP_GROUP_MAX_BITS / 64; i++)
        wrong |= (pzi_load_le64(raw + 8 * (k + i)) ^ table->value[k + i]) & table->mask[k + i];
    return wrong == 0;
}

#include "ibp/row.tmpl.h"

const struct pzi_ibp_ops pzi_ibp_plain = {size_row, pack_row, unpack_row};
