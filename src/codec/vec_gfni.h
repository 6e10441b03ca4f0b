/* What vec_gfni.tmpl.h builds on: with VBMI any permutation of the bytes of a block takes one
 * instruction for each half, and with GFNI so does the transposition of 8 x 8 bits in every 64-bit
 * word. */
#ifndef PZI_VEC_GFNI_H
#define PZI_VEC_GFNI_H

#include "codec/vec_avx512.h"

/* Byte i of the result is byte from[i] of v. */
PZI_INLINE pzi_pair pzi_permute(pzi_pair v, const uint8_t from[128])
{
    const pzi_pair index = pzi_load_pair(from);

    return pzi_pair_of(_mm512_permutex2var_epi8(v.lo, index.lo, v.hi),
                       _mm512_permutex2var_epi8(v.lo, index.hi, v.hi));
}

/* In every 64-bit word: bit i of byte j becomes bit j of byte 7 - i. */
PZI_INLINE pzi_pair pzi_transpose8(pzi_pair v)
{
    const __m512i unit = _mm512_set1_epi64((long long)0x8040201008040201u);

    return pzi_pair_of(_mm512_gf2p8affine_epi64_epi8(unit, v.lo, 0),
                       _mm512_gf2p8affine_epi64_epi8(unit, v.hi, 0));
}

/* The numbers f(0), f(1), .. f(127). */
#define PZI_TABLE_128(f) \
    PZI_TABLE_32(f, 0), PZI_TABLE_32(f, 32), PZI_TABLE_32(f, 64), PZI_TABLE_32(f, 96)

#endif
