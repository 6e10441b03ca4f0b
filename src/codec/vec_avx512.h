/* Two registers of 64 bytes, in which vec_avx512.tmpl.h holds a block, and what the instances for
 * AVX-512 have in common.  Needs F, BW, DQ and VL only. */
#ifndef PZI_VEC_AVX512_H
#define PZI_VEC_AVX512_H

#include <stdint.h>

#include "base/inline.h"

typedef struct pzi_pair {
    __m512i lo, hi;
} pzi_pair;

PZI_INLINE pzi_pair pzi_pair_of(__m512i lo, __m512i hi)
{
    const pzi_pair pair = {lo, hi};

    return pair;
}

PZI_INLINE pzi_pair pzi_load_pair(const void *from)
{
    const uint8_t *const bytes = from;

    return pzi_pair_of(_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + 64));
}

PZI_INLINE void pzi_store_pair(void *to, pzi_pair v)
{
    uint8_t *const bytes = to;

    _mm512_storeu_si512(bytes, v.lo);
    _mm512_storeu_si512(bytes + 64, v.hi);
}

/* Bytes of a symbol and of a plane. */
#define PZ_SB (PZ_W / 8)
#define PZ_PB (PZ_N / 8)

/* All bytes move down by 1, 2, 4 or 8; those of `next` follow. */
#define PZI_MOVE_DOWN(v, next, bytes)                                                      \
    pzi_pair_of(_mm512_alignr_epi8(_mm512_alignr_epi64((v).hi, (v).lo, 2), (v).lo, bytes), \
                _mm512_alignr_epi8(_mm512_alignr_epi64(next, (v).hi, 2), (v).hi, bytes))

/* All bytes move up by 1, 2, 4 or 8; the last ones of `before` come first. */
#define PZI_MOVE_UP(v, before, bytes)                                                             \
    pzi_pair_of(_mm512_alignr_epi8((v).lo, _mm512_alignr_epi64((v).lo, before, 6), 16 - (bytes)), \
                _mm512_alignr_epi8((v).hi, _mm512_alignr_epi64((v).hi, (v).lo, 6), 16 - (bytes)))

/* The lanes of 128 bits move up by one or two; zeros come first. */
PZI_INLINE __m512i pzi_lanes_up_1(__m512i v)
{
    return _mm512_alignr_epi64(v, _mm512_setzero_si512(), 6);
}

PZI_INLINE __m512i pzi_lanes_up_2(__m512i v)
{
    return _mm512_alignr_epi64(v, _mm512_setzero_si512(), 4);
}

/* The numbers f(i), f(i + 1), .. */
#define PZI_TABLE_8(f, i) f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7)
#define PZI_TABLE_32(f, i) \
    PZI_TABLE_8(f, i), PZI_TABLE_8(f, i + 8), PZI_TABLE_8(f, i + 16), PZI_TABLE_8(f, i + 24)

/* The numbers i, i + 1, .. */
#define PZI_COUNT_8(i) i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7
#define PZI_COUNT_32(i) PZI_COUNT_8(i), PZI_COUNT_8(i + 8), PZI_COUNT_8(i + 16), PZI_COUNT_8(i + 24)

#endif
