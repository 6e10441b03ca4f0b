/* What the templates of format 2 share: bits of up to 64 symbols as words, and where bits of a
 * payload are put together.  Bit i of a word belongs to symbol i of a group of 64.
 *
 * An instruction set that moves bits in one step defines PZI_EXTRACT64 and PZI_DEPOSIT64. */
#ifndef PZI_WORDS2_H
#define PZI_WORDS2_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "codec/code2.h"
#include "codec/isa.h"
#include "codec/plane.h"

enum {
    PZI_GROUP = 64,
    PZI_GROUPS = PZ_CHUNK_BYTES / PZI_GROUP, /* of the smallest symbols */
    PZI_PLANE2_BYTES = PZ_CHUNK_BYTES / 8    /* a bit for each of the smallest symbols */
};

/* Bits 0 and 1 of the first byte of a payload. */
enum { PZI_MODE2_E, PZI_MODE2_I, PZI_MODE2_D, PZI_MODE2_C };

#ifndef PZI_EXTRACT64

/* Without an instruction for it, bits that have to move by 1, 2, 4, .. places go together. moves[s]
 * are those, in their places before step s, that move down by 2^s (Hacker's Delight, section 7-4).
 */
static inline void pzi_moves(uint64_t mask, uint64_t moves[6])
{
    uint64_t gaps = ~mask << 1; /* bits that count the zeros of the mask below a place */

    for (unsigned s = 0; s < 6; s++) {
        uint64_t odd = gaps;

        for (unsigned shift = 1; shift < 64; shift *= 2)
            odd ^= odd << shift;
        moves[s] = odd & mask;
        mask = (mask ^ moves[s]) | moves[s] >> (1u << s);
        gaps &= ~odd;
    }
}

/* One bit after the other, where there are few. */
enum { PZI_FEW_BITS = 24 };

static inline uint64_t pzi_extract_few(uint64_t a, uint64_t mask)
{
    uint64_t found = 0;

    for (unsigned i = 0; mask != 0; i++, mask &= mask - 1)
        found |= (uint64_t)((a & mask & (0 - mask)) != 0) << i;
    return found;
}

static inline uint64_t pzi_deposit_few(uint64_t a, uint64_t mask)
{
    uint64_t found = 0;

    for (; mask != 0; a >>= 1, mask &= mask - 1)
        found |= mask & (0 - mask) & (0 - (a & 1));
    return found;
}

static inline uint64_t pzi_extract_many(uint64_t a, uint64_t mask)
{
    uint64_t moves[6];

    pzi_moves(mask, moves);
    a &= mask;
    for (unsigned s = 0; s < 6; s++) {
        const uint64_t moving = a & moves[s];

        a = (a ^ moving) | moving >> (1u << s);
    }
    return a;
}

static inline uint64_t pzi_deposit_many(uint64_t a, uint64_t mask)
{
    uint64_t moves[6];

    pzi_moves(mask, moves);
    for (unsigned s = 6; s-- > 0;) {
        const uint64_t moving = a << (1u << s) & moves[s];

        a = (a & ~moves[s]) | moving;
    }
    return a & mask;
}

#define PZI_EXTRACT64(a, mask) \
    (pzi_count64(mask) <= PZI_FEW_BITS ? pzi_extract_few(a, mask) : pzi_extract_many(a, mask))
#define PZI_DEPOSIT64(a, mask) \
    (pzi_count64(mask) <= PZI_FEW_BITS ? pzi_deposit_few(a, mask) : pzi_deposit_many(a, mask))

#endif

/* The bits of a at the ones of the mask, moved together at the low end; its inverse, which takes as
 * many bits of a as the mask has ones. */
static inline uint64_t pzi_extract64(uint64_t a, uint64_t mask)
{
    return PZI_EXTRACT64(a, mask);
}

static inline uint64_t pzi_deposit64(uint64_t a, uint64_t mask)
{
    return PZI_DEPOSIT64(a, mask);
}

/* The lowest `count` bits, 0 <= count <= 64. */
static inline uint64_t pzi_ones64(unsigned count)
{
    return count == 0 ? 0 : pzi_p64_below(count);
}

/* The symbols of group g that are among the first c. */
static inline uint64_t pzi_group_of(unsigned c, unsigned g)
{
    const unsigned left = c - g * PZI_GROUP;

    return left < PZI_GROUP ? pzi_ones64(left) : UINT64_MAX;
}

static inline unsigned pzi_group_count(unsigned c)
{
    return (c + PZI_GROUP - 1) / PZI_GROUP;
}

/* Bytes of a plane of `bits` bits. */
static inline size_t pzi_plane_bytes(size_t bits)
{
    return (bits + 7) / 8;
}

/* The codewords of a group, see code2.h: what is read off the classes, and all that there is to be
 * written. */
struct pzi_words2 {
    uint64_t bit[PZI_LEVELS2];  /* code bit l + 1 */
    uint64_t more[PZI_LEVELS2]; /* longer than l; more[0] is not set */
    uint64_t escape;
};

/* ---- Planes of the levels, written ---- */

/* The planes of the levels 1 to 5, at index l - 1, each by itself until all are complete. */
struct pzi_levels2 {
    size_t bits[PZI_LEVELS2 - 1];
    uint8_t plane[PZI_LEVELS2 - 1][PZI_PLANE2_BYTES + PZI_BITS_SLACK];
};

static inline void pzi_levels_init(struct pzi_levels2 *levels)
{
    for (unsigned l = 0; l < PZI_LEVELS2 - 1; l++)
        levels->bits[l] = levels->plane[l][0] = 0;
}

/* Appends the bits of `bits` at the ones of `more` to level l.  Without a branch: what is behind
 * the bits so far is zero up to the end of its byte, and is overwritten. */
static inline void pzi_levels_put(struct pzi_levels2 *levels, unsigned l, uint64_t bits,
                                  uint64_t more)
{
    const uint64_t next = pzi_extract64(bits, more);
    const unsigned begin = levels->bits[l - 1] % 8;
    uint8_t *const at = levels->plane[l - 1] + levels->bits[l - 1] / 8;

    pzi_store_le64(at, at[0] | next << begin);
    at[8] = (uint8_t)(next >> 1 >> (63 - begin));
    levels->bits[l - 1] += pzi_count64(more);
}

/* Writes all planes; returns where they end. */
static inline uint8_t *pzi_levels_finish(struct pzi_levels2 *levels, uint8_t *to)
{
    for (unsigned l = 0; l < PZI_LEVELS2 - 1; l++) {
        const size_t bytes = pzi_plane_bytes(levels->bits[l]);

        memcpy(to, levels->plane[l], bytes);
        to += bytes;
    }
    return to;
}

/* ---- Planes, read ---- */

/* A plane that begins at from; `bits` of it have been read. */
struct pzi_plane_reader {
    const uint8_t *from;
    size_t bits;
};

/* The next bits at the ones of the mask.  Beyond the plane they are arbitrary. */
static inline uint64_t pzi_plane_deposit(struct pzi_plane_reader *reader, uint64_t mask)
{
    const uint8_t *const at = reader->from + reader->bits / 8;
    const unsigned begin = reader->bits % 8;
    const uint64_t next = pzi_load_le64(at) >> begin | (uint64_t)at[8] << 1 << (63 - begin);

    reader->bits += pzi_count64(mask);
    return pzi_deposit64(next, mask);
}

/* Goes past a plane of `bits` bits: it must be there, and end in zeros. */
static inline pz_status pzi_take_plane(struct pzi_reader2 *from, size_t bits)
{
    const size_t bytes = pzi_plane_bytes(bits);

    if (bytes > (size_t)(from->end - from->next))
        return PZ_ERR_CHUNK_END;
    if (bits % 8 != 0 && from->next[bytes - 1] >> bits % 8 != 0)
        return PZ_ERR_PADDING;
    from->next += bytes;
    return PZ_OK;
}

#endif
