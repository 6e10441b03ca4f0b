/* What vec_words.tmpl.h builds on, for CPUs with AVX-512 but without VBMI and GFNI.
 *
 * As in vec_avx2.h, to turn symbols into planes is to permute the bits of an address; here they are
 * register r, lane l1 l0 of 128 bits, byte b3 b2 b1 b0 of the lane, bit c2 c1 c0.  The word address
 * is r l1 l0 b3 b2 b1. */
#ifndef PZI_VEC_WORDS_H
#define PZI_VEC_WORDS_H

#include "codec/vec_avx512.h"

/* Address of the word, and of the byte in a lane, that a permutation takes to `to`. */
#define PZI_WORD(to, n5, n4, n3, n2, n1, n0)                                 \
    (((to) >> 5 & 1) << n5 | ((to) >> 4 & 1) << n4 | ((to) >> 3 & 1) << n3 | \
     ((to) >> 2 & 1) << n2 | ((to) >> 1 & 1) << n1 | ((to)&1) << n0)
#define PZI_WORD_8(to, ...)                                                                  \
    PZI_WORD(to, __VA_ARGS__), PZI_WORD(to + 1, __VA_ARGS__), PZI_WORD(to + 2, __VA_ARGS__), \
        PZI_WORD(to + 3, __VA_ARGS__), PZI_WORD(to + 4, __VA_ARGS__),                        \
        PZI_WORD(to + 5, __VA_ARGS__), PZI_WORD(to + 6, __VA_ARGS__),                        \
        PZI_WORD(to + 7, __VA_ARGS__)
#define PZI_BYTE(to, n3, n2, n1, n0) PZI_WORD(to, 0, 0, n3, n2, n1, n0)

/* The bits of the word address are from now on those that were n5 .. n0 of it. */
#define PZI_PERMUTE_WORDS(v, ...)                                                                  \
    do {                                                                                           \
        static const uint16_t from_[64] = {                                                        \
            PZI_WORD_8(0, __VA_ARGS__),  PZI_WORD_8(8, __VA_ARGS__),  PZI_WORD_8(16, __VA_ARGS__), \
            PZI_WORD_8(24, __VA_ARGS__), PZI_WORD_8(32, __VA_ARGS__), PZI_WORD_8(40, __VA_ARGS__), \
            PZI_WORD_8(48, __VA_ARGS__), PZI_WORD_8(56, __VA_ARGS__)};                             \
        const pzi_pair index_ = pzi_load_pair(from_);                                              \
                                                                                                   \
        *(v) = pzi_pair_of(_mm512_permutex2var_epi16((v)->lo, index_.lo, (v)->hi),                 \
                           _mm512_permutex2var_epi16((v)->lo, index_.hi, (v)->hi));                \
    } while (0)

/* The byte bits are from now on those that were b<n3> b<n2> b<n1> b<n0>. */
#define PZI_PERMUTE_BYTES(v, n3, n2, n1, n0)                                                       \
    do {                                                                                           \
        const __m512i from_ = _mm512_broadcast_i32x4(_mm_setr_epi8(                                \
            PZI_BYTE(0, n3, n2, n1, n0), PZI_BYTE(1, n3, n2, n1, n0), PZI_BYTE(2, n3, n2, n1, n0), \
            PZI_BYTE(3, n3, n2, n1, n0), PZI_BYTE(4, n3, n2, n1, n0), PZI_BYTE(5, n3, n2, n1, n0), \
            PZI_BYTE(6, n3, n2, n1, n0), PZI_BYTE(7, n3, n2, n1, n0), PZI_BYTE(8, n3, n2, n1, n0), \
            PZI_BYTE(9, n3, n2, n1, n0), PZI_BYTE(10, n3, n2, n1, n0),                             \
            PZI_BYTE(11, n3, n2, n1, n0), PZI_BYTE(12, n3, n2, n1, n0),                            \
            PZI_BYTE(13, n3, n2, n1, n0), PZI_BYTE(14, n3, n2, n1, n0),                            \
            PZI_BYTE(15, n3, n2, n1, n0)));                                                        \
        *(v) =                                                                                     \
            pzi_pair_of(_mm512_shuffle_epi8((v)->lo, from_), _mm512_shuffle_epi8((v)->hi, from_)); \
    } while (0)

/* Exchanges address bits b<k> and c<k>, k given by the distance and the mask of what moves. */
PZI_INLINE __m512i pzi_swap_bc(__m512i v, unsigned distance, uint64_t mask)
{
    const __m512i moving = _mm512_set1_epi64((long long)mask);
    /* (v ^ v >> distance) & moving */
    const __m512i differ =
        _mm512_ternarylogic_epi64(v, _mm512_srli_epi64(v, distance), moving, 0x28);

    return _mm512_ternarylogic_epi64(v, differ, _mm512_slli_epi64(differ, distance), 0x96);
}

PZI_INLINE __m512i pzi_transpose8_of(__m512i v)
{
    v = pzi_swap_bc(v, 7, 0x00aa00aa00aa00aau);
    v = pzi_swap_bc(v, 14, 0x0000cccc0000ccccu);
    return pzi_swap_bc(v, 28, 0x00000000f0f0f0f0u);
}

/* Exchanges b2 b1 b0 with c2 c1 c0. */
PZI_INLINE void pzi_transpose8(pzi_pair *v)
{
    *v = pzi_pair_of(pzi_transpose8_of(v->lo), pzi_transpose8_of(v->hi));
}

#endif
