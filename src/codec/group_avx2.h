/* Codewords of a group of 64 symbols in AVX2, see group_scalar.h; and bits as bytes. */
#ifndef PZI_GROUP_AVX2_H
#define PZI_GROUP_AVX2_H

#include <immintrin.h>

#include "codec/words2.h"

/* The top bit of each of 64 bytes. */
static inline uint64_t pzi_tops64(__m256i a, __m256i b)
{
    return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

/* Ones in the bytes whose bit is set. */
static inline __m256i pzi_spread_bits(uint32_t bits)
{
    const __m256i bytes =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i each = _mm256_set1_epi64x((long long)0x8040201008040201);
    const __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), bytes);

    return _mm256_cmpeq_epi8(_mm256_and_si256(v, each), each);
}

static inline __m256i pzi_table16(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
}

static inline void pzi_words_of(const uint8_t classes[PZI_GROUP], const struct pzi_code2 *code,
                                struct pzi_words2 *words)
{
    const __m256i *const from = (const __m256i *)(const void *)classes;
    const __m256i a = _mm256_loadu_si256(from), b = _mm256_loadu_si256(from + 1);
    const __m256i word = pzi_table16(code->word), more = pzi_table16(code->more);
    __m256i word_a = _mm256_shuffle_epi8(word, a), word_b = _mm256_shuffle_epi8(word, b);
    __m256i more_a = _mm256_slli_epi16(_mm256_shuffle_epi8(more, a), 2);
    __m256i more_b = _mm256_slli_epi16(_mm256_shuffle_epi8(more, b), 2);

    word_a = _mm256_add_epi8(word_a, word_a);
    word_b = _mm256_add_epi8(word_b, word_b);
    words->escape = pzi_tops64(word_a, word_b);
    word_a = _mm256_add_epi8(word_a, word_a);
    word_b = _mm256_add_epi8(word_b, word_b);
    words->bit[0] = pzi_tops64(word_a, word_b);
    words->more[0] = 0;
    /* Not unrolled, as a compiler then puts the words together in vectors, slowly. */
#pragma GCC unroll 1
    for (unsigned l = 1; l < PZI_LEVELS2; l++) {
        word_a = _mm256_add_epi8(word_a, word_a);
        word_b = _mm256_add_epi8(word_b, word_b);
        words->bit[l] = pzi_tops64(word_a, word_b);
        more_a = _mm256_add_epi8(more_a, more_a);
        more_b = _mm256_add_epi8(more_b, more_b);
        words->more[l] = pzi_tops64(more_a, more_b);
    }
}

/* Entry number `index` & 63 of 64.  Bits 4 and 5 of the index choose one of four tables. */
static inline __m256i pzi_look_up64(const __m256i table[4], __m256i index)
{
    const __m256i low = _mm256_and_si256(index, _mm256_set1_epi8(15));
    const __m256i bit4 = _mm256_slli_epi16(index, 3), bit5 = _mm256_slli_epi16(index, 2);
    const __m256i lower = _mm256_blendv_epi8(_mm256_shuffle_epi8(table[0], low),
                                             _mm256_shuffle_epi8(table[1], low), bit4);
    const __m256i upper = _mm256_blendv_epi8(_mm256_shuffle_epi8(table[2], low),
                                             _mm256_shuffle_epi8(table[3], low), bit4);

    return _mm256_blendv_epi8(lower, upper, bit5);
}

static inline uint64_t pzi_classes_of(const uint64_t *bit, size_t stride,
                                      const struct pzi_code2 *code, uint8_t classes[PZI_GROUP])
{
    const __m256i table[4] = {pzi_table16(code->class_of), pzi_table16(code->class_of + 16),
                              pzi_table16(code->class_of + 32), pzi_table16(code->class_of + 48)};
    const __m256i escape = _mm256_set1_epi8(PZI_ESCAPE2);
    __m256i found[2];

#pragma GCC unroll 2
    for (unsigned half = 0; half < 2; half++) {
        __m256i codeword = _mm256_setzero_si256();

#pragma GCC unroll 6
        for (unsigned l = 0; l < PZI_LEVELS2; l++)
            codeword = _mm256_or_si256(
                codeword, _mm256_and_si256(pzi_spread_bits(pzi_load_le32(
                                               (const uint8_t *)&bit[l * stride] + 4 * half)),
                                           _mm256_set1_epi8((char)(32 >> l))));
        found[half] = pzi_look_up64(table, codeword);
        _mm256_storeu_si256((__m256i *)(void *)classes + half, found[half]);
    }
    return pzi_tops64(_mm256_cmpeq_epi8(found[0], escape), _mm256_cmpeq_epi8(found[1], escape));
}

#endif
