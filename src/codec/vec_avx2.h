/* The 32 x 32 bit transposition in AVX2, of which vec_avx2.tmpl.h makes planes.
 *
 * A block is 1024 bits, each with an address of 10 bits: register r1 r0, lane l of 128 bits, byte
 * b3 b2 b1 b0 of the lane, bit c2 c1 c0 of the byte.  To turn symbols into planes is to permute the
 * bits of the address.  Symbol i, bit j lies at i j; plane j, position i is to lie at j i.  Every
 * step below exchanges or rotates a few of those address bits in all four registers; the comments
 * of the template follow where i and j are.  Each step is undone by itself but for pzi_unpack and
 * pzi_reorder. */
#ifndef PZI_VEC_AVX2_H
#define PZI_VEC_AVX2_H

#include <immintrin.h>

#include "base/inline.h"

typedef struct pzi_quad {
    __m256i v[4]; /* register r1 r0 */
} pzi_quad;

/* Applies two operations to both pairs of registers that differ in address bit r (0 or 1) only. */
#define PZI_PAIRS(q, r, LOW, HIGH)                         \
    do {                                                   \
        const __m256i a_ = (q)->v[0], b_ = (q)->v[1 << r]; \
        const __m256i c_ = (q)->v[2 >> r], d_ = (q)->v[3]; \
        (q)->v[0] = LOW(a_, b_);                           \
        (q)->v[1 << r] = HIGH(a_, b_);                     \
        (q)->v[2 >> r] = LOW(c_, d_);                      \
        (q)->v[3] = HIGH(c_, d_);                          \
    } while (0)

#define PZI_LANE_LOW(a, b) _mm256_permute2x128_si256(a, b, 0x20)
#define PZI_LANE_HIGH(a, b) _mm256_permute2x128_si256(a, b, 0x31)
#define PZI_EVEN32(a, b) \
    _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88))
#define PZI_ODD32(a, b) \
    _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd))

/* Exchanges register bit r with the lane. */
#define PZI_SWAP_LANE(q, r) PZI_PAIRS(q, r, PZI_LANE_LOW, PZI_LANE_HIGH)

/* Exchanges register bit r with b3. */
#define PZI_SWAP_B3(q, r) PZI_PAIRS(q, r, _mm256_unpacklo_epi64, _mm256_unpackhi_epi64)

/* b3 becomes register bit r, which goes below b2, b1 or b0; those above it move up. */
#define PZI_UNPACK32(q, r) PZI_PAIRS(q, r, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32)
#define PZI_UNPACK16(q, r) PZI_PAIRS(q, r, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16)
#define PZI_UNPACK8(q, r) PZI_PAIRS(q, r, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8)

/* The inverse of PZI_UNPACK32: b2 becomes register bit r, b3 moves down to b2 and r to b3. */
#define PZI_PACK32(q, r) PZI_PAIRS(q, r, PZI_EVEN32, PZI_ODD32)

/* Address of the byte that pzi_reorder() takes to `to`. */
#define PZI_FROM(to, n3, n2, n1, n0) \
    ((to >> 3 & 1) << n3 | (to >> 2 & 1) << n2 | (to >> 1 & 1) << n1 | (to & 1) << n0)

/* The byte bits are from now on those that were b<n3> b<n2> b<n1> b<n0>. */
#define PZI_REORDER(q, n3, n2, n1, n0)                                                             \
    do {                                                                                           \
        const __m256i from_ = _mm256_broadcastsi128_si256(_mm_setr_epi8(                           \
            PZI_FROM(0, n3, n2, n1, n0), PZI_FROM(1, n3, n2, n1, n0), PZI_FROM(2, n3, n2, n1, n0), \
            PZI_FROM(3, n3, n2, n1, n0), PZI_FROM(4, n3, n2, n1, n0), PZI_FROM(5, n3, n2, n1, n0), \
            PZI_FROM(6, n3, n2, n1, n0), PZI_FROM(7, n3, n2, n1, n0), PZI_FROM(8, n3, n2, n1, n0), \
            PZI_FROM(9, n3, n2, n1, n0), PZI_FROM(10, n3, n2, n1, n0),                             \
            PZI_FROM(11, n3, n2, n1, n0), PZI_FROM(12, n3, n2, n1, n0),                            \
            PZI_FROM(13, n3, n2, n1, n0), PZI_FROM(14, n3, n2, n1, n0),                            \
            PZI_FROM(15, n3, n2, n1, n0)));                                                        \
        (q)->v[0] = _mm256_shuffle_epi8((q)->v[0], from_);                                         \
        (q)->v[1] = _mm256_shuffle_epi8((q)->v[1], from_);                                         \
        (q)->v[2] = _mm256_shuffle_epi8((q)->v[2], from_);                                         \
        (q)->v[3] = _mm256_shuffle_epi8((q)->v[3], from_);                                         \
    } while (0)

/* The doublewords of each register in the given order. */
PZI_INLINE void pzi_permute32(pzi_quad *q, __m256i from)
{
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        q->v[k] = _mm256_permutevar8x32_epi32(q->v[k], from);
}

PZI_INLINE void pzi_swap_bits(__m256i *low, __m256i *high, int distance, __m256i mask)
{
    const __m256i differ =
        _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi64(*low, distance), *high), mask);

    *high = _mm256_xor_si256(*high, differ);
    *low = _mm256_xor_si256(*low, _mm256_slli_epi64(differ, distance));
}

/* Exchanges register bit r with c2, c1 or c0. */
PZI_INLINE void pzi_swap_c(pzi_quad *q, unsigned r, unsigned c)
{
    const __m256i mask = _mm256_set1_epi8(c == 2 ? 0x0f : c == 1 ? 0x33 : 0x55);

    pzi_swap_bits(&q->v[0], &q->v[1u << r], 1 << c, mask);
    pzi_swap_bits(&q->v[2u >> r], &q->v[3], 1 << c, mask);
}

/* From r = i1 i2, b3 = i0, c = j2 j1 j0 to r = l j0, l = j1, b3 = j2, c = i2 i1 i0. */
PZI_INLINE void pzi_core(pzi_quad *q)
{
    pzi_swap_c(q, 1, 1);
    pzi_swap_c(q, 0, 2);
    PZI_SWAP_B3(q, 0);
    pzi_swap_c(q, 0, 0);
    PZI_SWAP_LANE(q, 1);
}

PZI_INLINE void pzi_core_back(pzi_quad *q)
{
    PZI_SWAP_LANE(q, 1);
    pzi_swap_c(q, 0, 0);
    PZI_SWAP_B3(q, 0);
    pzi_swap_c(q, 0, 2);
    pzi_swap_c(q, 1, 1);
}

#define PZI_FOLLOW(a, b, bytes) _mm256_alignr_epi8(_mm256_permute2x128_si256(a, b, 0x21), a, bytes)

/* All bytes of q move down by 1, 2, 4 or 8; those of `next` follow. */
PZI_INLINE pzi_quad pzi_shift_down(const pzi_quad *q, __m256i next, unsigned bytes)
{
    pzi_quad to;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m256i a = q->v[k], b = k < 3 ? q->v[k + 1] : next;

        to.v[k] = bytes == 1   ? PZI_FOLLOW(a, b, 1)
                  : bytes == 2 ? PZI_FOLLOW(a, b, 2)
                  : bytes == 4 ? PZI_FOLLOW(a, b, 4)
                               : PZI_FOLLOW(a, b, 8);
    }
    return to;
}

PZI_INLINE pzi_quad pzi_load_quad(const void *from)
{
    const __m256i *const v = from;
    pzi_quad q;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        q.v[k] = _mm256_loadu_si256(v + k);
    return q;
}

PZI_INLINE void pzi_store_quad(void *to, const pzi_quad *q)
{
    __m256i *const v = to;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        _mm256_storeu_si256(v + k, q->v[k]);
}

#endif
