/* Two registers of 64 bytes, in which vec_avx512.tmpl.h holds a block: any permutation of its bytes
 * takes one instruction for each half, and so does the transposition of 8 x 8 bits in every
 * 64-bit word.  Planes are therefore: bytes to matrices, transposition, bytes to planes. */
#ifndef PZI_VEC_AVX512_H
#define PZI_VEC_AVX512_H

#include <stdint.h>

typedef struct pzi_pair {
    __m512i lo, hi;
} pzi_pair;

static inline pzi_pair pzi_pair_of(__m512i lo, __m512i hi)
{
    const pzi_pair pair = {lo, hi};

    return pair;
}

static inline pzi_pair pzi_load_pair(const void *from)
{
    const uint8_t *const bytes = from;

    return pzi_pair_of(_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + 64));
}

static inline void pzi_store_pair(void *to, pzi_pair v)
{
    uint8_t *const bytes = to;

    _mm512_storeu_si512(bytes, v.lo);
    _mm512_storeu_si512(bytes + 64, v.hi);
}

/* Byte i of the result is byte from[i] of v. */
static inline pzi_pair pzi_permute(pzi_pair v, const uint8_t from[128])
{
    const pzi_pair index = pzi_load_pair(from);

    return pzi_pair_of(_mm512_permutex2var_epi8(v.lo, index.lo, v.hi),
                       _mm512_permutex2var_epi8(v.lo, index.hi, v.hi));
}

/* In every 64-bit word: bit i of byte j becomes bit j of byte 7 - i. */
static inline pzi_pair pzi_transpose8(pzi_pair v)
{
    const __m512i unit = _mm512_set1_epi64((long long)0x8040201008040201u);

    return pzi_pair_of(_mm512_gf2p8affine_epi64_epi8(unit, v.lo, 0),
                       _mm512_gf2p8affine_epi64_epi8(unit, v.hi, 0));
}

/* 0, 1, .. 63, each plus `add`. */
static inline __m512i pzi_count_from(int add)
{
    static const uint8_t count[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

    return _mm512_add_epi8(_mm512_loadu_si512(count), _mm512_set1_epi8((char)add));
}

/* All bytes move down by fewer than 64; those of `next` follow. */
static inline pzi_pair pzi_move_down(pzi_pair v, __m512i next, int bytes)
{
    const __m512i from = pzi_count_from(bytes);

    return pzi_pair_of(_mm512_permutex2var_epi8(v.lo, from, v.hi),
                       _mm512_permutex2var_epi8(v.hi, from, next));
}

/* All bytes move up by fewer than 64; the last ones of `before` come first. */
static inline pzi_pair pzi_move_up(pzi_pair v, __m512i before, int bytes)
{
    const __m512i from = pzi_count_from(64 - bytes);

    return pzi_pair_of(_mm512_permutex2var_epi8(before, from, v.lo),
                       _mm512_permutex2var_epi8(v.lo, from, v.hi));
}

/* The numbers f(0), f(1), .. f(127). */
#define PZI_TABLE_8(f, i) f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7)
#define PZI_TABLE_32(f, i) \
    PZI_TABLE_8(f, i), PZI_TABLE_8(f, i + 8), PZI_TABLE_8(f, i + 16), PZI_TABLE_8(f, i + 24)
#define PZI_TABLE_128(f) \
    PZI_TABLE_32(f, 0), PZI_TABLE_32(f, 32), PZI_TABLE_32(f, 64), PZI_TABLE_32(f, 96)

#endif
