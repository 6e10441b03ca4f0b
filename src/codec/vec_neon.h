/* The 32 x 32 bit transposition in NEON, of which vec_neon.tmpl.h makes planes.
 *
 * As in vec_avx2.h, to turn symbols into planes is to permute the bits of an address; here they are
 * register r2 r1 r0, byte b3 b2 b1 b0, bit c2 c1 c0.  Every step but pzi_unzip and pzi_zip, which
 * undo each other, is undone by itself. */
#ifndef PZI_VEC_NEON_H
#define PZI_VEC_NEON_H

#include <arm_neon.h>
#include <stdint.h>

#include "base/inline.h"

typedef struct pzi_octet {
    uint8x16_t v[8]; /* register r2 r1 r0 */
} pzi_octet;

/* Defines a step that applies two operations on LANES to all pairs of registers that differ in
 * address bit r only. */
#define PZI_STEP(name, LANES, FIRST, SECOND)                            \
    PZI_INLINE void name##_pair(uint8x16_t *low, uint8x16_t *high)      \
    {                                                                   \
        const LANES a = (LANES)*low, b = (LANES)*high;                  \
                                                                        \
        *low = (uint8x16_t)FIRST(a, b);                                 \
        *high = (uint8x16_t)SECOND(a, b);                               \
    }                                                                   \
    PZI_INLINE void name(pzi_octet *q, unsigned r)                      \
    {                                                                   \
        uint8x16_t *const low = q->v, *const high = q->v + (1u << r);   \
        const unsigned second = r == 0 ? 2 : 1, third = r == 2 ? 2 : 4; \
                                                                        \
        name##_pair(low, high);                                         \
        name##_pair(low + second, high + second);                       \
        name##_pair(low + third, high + third);                         \
        name##_pair(low + second + third, high + second + third);       \
    }

/* Exchanges register bit r with b3, b2 or b1. */
PZI_STEP(pzi_swap_b3, uint64x2_t, vtrn1q_u64, vtrn2q_u64)
PZI_STEP(pzi_swap_b2, uint32x4_t, vtrn1q_u32, vtrn2q_u32)
PZI_STEP(pzi_swap_b1, uint16x8_t, vtrn1q_u16, vtrn2q_u16)

/* b0 becomes register bit r, which becomes b3; those between move down.  And back. */
PZI_STEP(pzi_unzip, uint8x16_t, vuzp1q_u8, vuzp2q_u8)
PZI_STEP(pzi_zip, uint8x16_t, vzip1q_u8, vzip2q_u8)

/* Exchanges register bit r with c0, c1 or c2, for the two registers of a pair. */
#define PZI_LOW_C0(a, b) vbslq_u8(vdupq_n_u8(0x55), a, vshlq_n_u8(b, 1))
#define PZI_HIGH_C0(a, b) vbslq_u8(vdupq_n_u8(0x55), vshrq_n_u8(a, 1), b)
#define PZI_LOW_C1(a, b) vbslq_u8(vdupq_n_u8(0x33), a, vshlq_n_u8(b, 2))
#define PZI_HIGH_C1(a, b) vbslq_u8(vdupq_n_u8(0x33), vshrq_n_u8(a, 2), b)
#define PZI_LOW_C2(a, b) vsliq_n_u8(a, b, 4)
#define PZI_HIGH_C2(a, b) vsriq_n_u8(b, a, 4)
PZI_STEP(pzi_swap_c0, uint8x16_t, PZI_LOW_C0, PZI_HIGH_C0)
PZI_STEP(pzi_swap_c1, uint8x16_t, PZI_LOW_C1, PZI_HIGH_C1)
PZI_STEP(pzi_swap_c2, uint8x16_t, PZI_LOW_C2, PZI_HIGH_C2)

/* Register bits r2 r1 r0 are from now on those that were n2 n1 n0: other names, no instructions. */
PZI_INLINE void pzi_rename(pzi_octet *q, unsigned n2, unsigned n1, unsigned n0)
{
    const pzi_octet from = *q;

#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; k++)
        q->v[k] = from.v[(k >> 2) << n2 | (k >> 1 & 1) << n1 | (k & 1) << n0];
}

/* The even bytes of the first registers of q, moved together. */
PZI_INLINE void pzi_narrow(pzi_octet *q, unsigned registers)
{
#pragma GCC unroll 4
    for (unsigned k = 0; k < registers / 2; k++)
        q->v[k] = vuzp1q_u8(q->v[2 * k], q->v[2 * k + 1]);
}

/* The sums of neighbouring bytes of the first registers of q; a single register gives them twice.
 */
PZI_INLINE void pzi_add_pairs(pzi_octet *q, unsigned registers)
{
#pragma GCC unroll 4
    for (unsigned k = 0; k < (registers + 1) / 2; k++)
        q->v[k] = vpaddq_u8(q->v[2 * k], q->v[(2 * k + 1) % registers]);
}

/* Bit i of the bytes of the result is set if lane i, of zeros or ones, is ones; there is one byte
 * for eight lanes of 8, 16, 32 or 64 bits, and what follows them is arbitrary. */
PZI_INLINE uint64x2_t pzi_bits_of_lanes(pzi_octet q, unsigned lane_bits)
{
    const uint8x16_t unit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    const unsigned registers = 64 / lane_bits; /* of bytes */

    if (lane_bits > 8)
        pzi_narrow(&q, 8);
    if (lane_bits > 16)
        pzi_narrow(&q, 4);
    if (lane_bits > 32)
        pzi_narrow(&q, 2);
#pragma GCC unroll 8
    for (unsigned k = 0; k < registers; k++)
        q.v[k] = vandq_u8(q.v[k], unit);
    pzi_add_pairs(&q, registers);
    pzi_add_pairs(&q, (registers + 1) / 2);
    pzi_add_pairs(&q, (registers + 3) / 4);
    return vreinterpretq_u64_u8(q.v[0]);
}

PZI_INLINE pzi_octet pzi_load_octet(const void *from)
{
    const uint8_t *const bytes = from;
    pzi_octet q;

#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; k++)
        q.v[k] = vld1q_u8(bytes + 16 * k);
    return q;
}

PZI_INLINE void pzi_store_octet(void *to, const pzi_octet *q)
{
    uint8_t *const bytes = to;

#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; k++)
        vst1q_u8(bytes + 16 * k, q->v[k]);
}

#endif
