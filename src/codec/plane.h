/* Plane words: one bit per symbol of a block, bit i for symbol i.  Two families with the same
 * vocabulary, so that the block template can be written once: p64 for up to 64 positions (w = 16,
 * 32, 64) and p128, a pair of words, for up to 128 (w = 8).
 *
 * Plain integer code without pointers, so that a compiler for GPUs can take the same file. */
#ifndef PZI_PLANE_H
#define PZI_PLANE_H

#include <stdint.h>

#ifndef PZI_FN
#include "base/inline.h"

#define PZI_FN PZI_INLINE
#define PZI_CTZ64(x) ((uint32_t)__builtin_ctzll(x)) /* x is not zero */
#define PZI_CLZ64(x) ((uint32_t)__builtin_clzll(x)) /* x is not zero */
#endif

/* What a non-zero x plane looks like, as a set; docs/format.md, "PLANES". */
#define PZI_SHAPE_ONES 1u     /* x is all ones */
#define PZI_SHAPE_RESET 2u    /* b, the plane before the XOR, is zero */
#define PZI_SHAPE_ONE 4u      /* x has one 1 */
#define PZI_SHAPE_ADJACENT 8u /* x has two 1s, adjacent */

/* An instruction set that counts in one step defines PZI_COUNT64. */
PZI_FN uint32_t pzi_count64(uint64_t a)
{
#ifdef PZI_COUNT64
    return (uint32_t)PZI_COUNT64(a);
#else
    a -= a >> 1 & 0x5555555555555555u;
    a = (a & 0x3333333333333333u) + (a >> 2 & 0x3333333333333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (uint32_t)((a * 0x0101010101010101u) >> 56);
#endif
}

/* ---- p64 ------------------------------------------------------------------------------------ */

typedef uint64_t pzi_p64;

/* From 64-bit pieces, lowest first; and back. */
PZI_FN pzi_p64 pzi_p64_of(uint64_t lo, uint64_t hi)
{
    (void)hi;
    return lo;
}

PZI_FN uint64_t pzi_p64_piece(pzi_p64 a, uint32_t index)
{
    (void)index;
    return a;
}

/* The positions below p, 1 <= p <= 64. */
PZI_FN pzi_p64 pzi_p64_below(uint32_t p)
{
    return ~(uint64_t)0 >> (64 - p);
}

PZI_FN pzi_p64 pzi_p64_at(uint32_t position)
{
    return (uint64_t)1 << position;
}

PZI_FN pzi_p64 pzi_p64_xor(pzi_p64 a, pzi_p64 b)
{
    return a ^ b;
}

PZI_FN pzi_p64 pzi_p64_or(pzi_p64 a, pzi_p64 b)
{
    return a | b;
}

PZI_FN pzi_p64 pzi_p64_and(pzi_p64 a, pzi_p64 b)
{
    return a & b;
}

/* a without what is in b. */
PZI_FN pzi_p64 pzi_p64_without(pzi_p64 a, pzi_p64 b)
{
    return a & ~b;
}

/* Every position moves down by one; position 0 falls out. */
PZI_FN pzi_p64 pzi_p64_down(pzi_p64 a)
{
    return a >> 1;
}

/* Every position moves up by one. */
PZI_FN pzi_p64 pzi_p64_up(pzi_p64 a)
{
    return a << 1;
}

PZI_FN uint32_t pzi_p64_is_zero(pzi_p64 a)
{
    return a == 0;
}

PZI_FN uint32_t pzi_p64_equal(pzi_p64 a, pzi_p64 b)
{
    return a == b;
}

PZI_FN uint32_t pzi_p64_count(pzi_p64 a)
{
    return pzi_count64(a);
}

/* Without its lowest 1; a is not zero. */
PZI_FN pzi_p64 pzi_p64_rest(pzi_p64 a)
{
    return a & (a - 1);
}

/* The position of the lowest 1; a is not zero. */
PZI_FN uint32_t pzi_p64_lowest(pzi_p64 a)
{
    return PZI_CTZ64(a);
}

/* The position of the highest 1; a is not zero. */
PZI_FN uint32_t pzi_p64_highest(pzi_p64 a)
{
    return 63 - PZI_CLZ64(a);
}

/* Whether there is a 1 at the position. */
PZI_FN uint32_t pzi_p64_has(pzi_p64 a, uint32_t position)
{
    return (uint32_t)(a >> position) & 1;
}

/* The borrow out of to - from - borrow, for each position a subtraction of single bits. */
PZI_FN pzi_p64 pzi_p64_borrow(pzi_p64 to, pzi_p64 from, pzi_p64 borrow)
{
    return (from & ~to) | (borrow & ~(to ^ from));
}

/* The shape of x, which is not zero; `all` are the positions that exist.  They may have gaps: the
 * planes of a block then stand for those of its non-zero symbols, and "adjacent" means that there
 * are only gaps between.  So ZBX is sized without moving a symbol: filled with ones, the gaps let
 * the carry of x + lowest through, and it clears x exactly if x is one run. */
PZI_FN uint32_t pzi_p64_shape(pzi_p64 x, pzi_p64 b, pzi_p64 all)
{
    const uint64_t low = x & (0 - x), rest = x ^ low;
    const uint32_t at_most_two = (rest & (rest - 1)) == 0;
    const uint32_t one_run = (((x | ~all) + low) & x) == 0;
    const uint32_t shape = (x == all ? PZI_SHAPE_ONES : 0) | (b == 0 ? PZI_SHAPE_RESET : 0);

    if (at_most_two && one_run)
        return shape | (rest == 0 ? PZI_SHAPE_ONE : PZI_SHAPE_ADJACENT);
    return shape;
}

/* True if x has three 1s or more, as most planes do. */
PZI_FN uint32_t pzi_p64_is_many(pzi_p64 x)
{
    const uint64_t rest = x & (x - 1);

    return (rest & (rest - 1)) != 0;
}

/* ---- p128: the same, see p64 ---------------------------------------------------------------- */

typedef struct pzi_p128 {
    uint64_t lo, hi;
} pzi_p128;

PZI_FN pzi_p128 pzi_p128_of(uint64_t lo, uint64_t hi)
{
    pzi_p128 a;

    a.lo = lo;
    a.hi = hi;
    return a;
}

PZI_FN uint64_t pzi_p128_piece(pzi_p128 a, uint32_t index)
{
    return index == 0 ? a.lo : a.hi;
}

PZI_FN pzi_p128 pzi_p128_below(uint32_t p)
{
    if (p <= 64)
        return pzi_p128_of(pzi_p64_below(p), 0);
    return pzi_p128_of(~(uint64_t)0, pzi_p64_below(p - 64));
}

PZI_FN pzi_p128 pzi_p128_at(uint32_t position)
{
    if (position < 64)
        return pzi_p128_of(pzi_p64_at(position), 0);
    return pzi_p128_of(0, pzi_p64_at(position - 64));
}

PZI_FN pzi_p128 pzi_p128_xor(pzi_p128 a, pzi_p128 b)
{
    return pzi_p128_of(a.lo ^ b.lo, a.hi ^ b.hi);
}

PZI_FN pzi_p128 pzi_p128_or(pzi_p128 a, pzi_p128 b)
{
    return pzi_p128_of(a.lo | b.lo, a.hi | b.hi);
}

PZI_FN pzi_p128 pzi_p128_and(pzi_p128 a, pzi_p128 b)
{
    return pzi_p128_of(a.lo & b.lo, a.hi & b.hi);
}

PZI_FN pzi_p128 pzi_p128_without(pzi_p128 a, pzi_p128 b)
{
    return pzi_p128_of(a.lo & ~b.lo, a.hi & ~b.hi);
}

PZI_FN pzi_p128 pzi_p128_down(pzi_p128 a)
{
    return pzi_p128_of(a.lo >> 1 | a.hi << 63, a.hi >> 1);
}

PZI_FN pzi_p128 pzi_p128_up(pzi_p128 a)
{
    return pzi_p128_of(a.lo << 1, a.hi << 1 | a.lo >> 63);
}

PZI_FN uint32_t pzi_p128_is_zero(pzi_p128 a)
{
    return (a.lo | a.hi) == 0;
}

PZI_FN uint32_t pzi_p128_equal(pzi_p128 a, pzi_p128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

PZI_FN uint32_t pzi_p128_count(pzi_p128 a)
{
    return pzi_count64(a.lo) + pzi_count64(a.hi);
}

PZI_FN uint32_t pzi_p128_lowest(pzi_p128 a)
{
    return a.lo != 0 ? PZI_CTZ64(a.lo) : 64 + PZI_CTZ64(a.hi);
}

PZI_FN uint32_t pzi_p128_highest(pzi_p128 a)
{
    return a.hi != 0 ? 127 - PZI_CLZ64(a.hi) : 63 - PZI_CLZ64(a.lo);
}

PZI_FN uint32_t pzi_p128_has(pzi_p128 a, uint32_t position)
{
    return (uint32_t)((position < 64 ? a.lo : a.hi) >> position % 64) & 1;
}

PZI_FN pzi_p128 pzi_p128_borrow(pzi_p128 to, pzi_p128 from, pzi_p128 borrow)
{
    return pzi_p128_of(pzi_p64_borrow(to.lo, from.lo, borrow.lo),
                       pzi_p64_borrow(to.hi, from.hi, borrow.hi));
}

PZI_FN pzi_p128 pzi_p128_plus(pzi_p128 a, pzi_p128 b)
{
    const uint64_t lo = a.lo + b.lo;

    return pzi_p128_of(lo, a.hi + b.hi + (lo < a.lo));
}

PZI_FN pzi_p128 pzi_p128_rest(pzi_p128 x)
{
    if (x.lo != 0)
        return pzi_p128_of(x.lo & (x.lo - 1), x.hi);
    return pzi_p128_of(0, x.hi & (x.hi - 1));
}

PZI_FN uint32_t pzi_p128_shape(pzi_p128 x, pzi_p128 b, pzi_p128 all)
{
    const pzi_p128 rest = pzi_p128_rest(x), filled = pzi_p128_of(x.lo | ~all.lo, x.hi | ~all.hi);
    const uint32_t shape =
        (pzi_p128_equal(x, all) ? PZI_SHAPE_ONES : 0) | (pzi_p128_is_zero(b) ? PZI_SHAPE_RESET : 0);

    if (!pzi_p128_is_zero(pzi_p128_rest(rest)))
        return shape;
    if (pzi_p128_is_zero(rest))
        return shape | PZI_SHAPE_ONE;
    if (pzi_p128_is_zero(pzi_p128_and(pzi_p128_plus(filled, pzi_p128_xor(x, rest)), x)))
        return shape | PZI_SHAPE_ADJACENT;
    return shape;
}

PZI_FN uint32_t pzi_p128_is_many(pzi_p128 x)
{
    return !pzi_p128_is_zero(pzi_p128_rest(pzi_p128_rest(x)));
}

#endif
