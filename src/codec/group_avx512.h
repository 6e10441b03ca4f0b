/* Codewords of a group of 64 symbols in AVX-512, see group_scalar.h: one register of bytes, whose
 * bits are read as masks and set under masks; and what group_avx512.tmpl.h derives from the width.
 * Needs F and BW; an instruction set that looks up bytes in a table of 64 in one step defines
 * PZI_LOOK_UP64. */
#ifndef PZI_GROUP_AVX512_H
#define PZI_GROUP_AVX512_H

#include "codec/vec_avx512.h"
#include "codec/width.h"
#include "codec/words2.h"

/* One bit for each symbol of a register. */
typedef uint64_t lanes_w8;
typedef uint32_t lanes_w16;
typedef uint16_t lanes_w32;
typedef uint8_t lanes_w64;

/* Bytes of a record in mode E, and of an exponent. */
#define PZ_RB PZ_PASTE(PZ_RB_, PZ_W)
#define PZ_RB_8 0
#define PZ_RB_16 1
#define PZ_RB_32 3
#define PZ_RB_64 6
#define PZ_EB PZ_PASTE(PZ_EB_, PZ_W)
#define PZ_EB_8 1
#define PZ_EB_16 1
#define PZ_EB_32 1
#define PZ_EB_64 2

PZI_INLINE __m512i pzi_table16(const uint8_t table[16])
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table));
}

#ifndef PZI_LOOK_UP64

/* Bits 4 and 5 of the index choose one of four tables; the look-ups in these ignore them. */
PZI_INLINE __m512i pzi_look_up64(const uint8_t table[64], __m512i index)
{
    const uint64_t bit4 = _mm512_test_epi8_mask(index, _mm512_set1_epi8(16));
    const uint64_t bit5 = _mm512_test_epi8_mask(index, _mm512_set1_epi8(32));
    __m512i lower = _mm512_shuffle_epi8(pzi_table16(table), index);
    __m512i upper = _mm512_shuffle_epi8(pzi_table16(table + 32), index);

    lower = _mm512_mask_shuffle_epi8(lower, bit4, pzi_table16(table + 16), index);
    upper = _mm512_mask_shuffle_epi8(upper, bit4, pzi_table16(table + 48), index);
    return _mm512_mask_mov_epi8(lower, bit5, upper);
}

#define PZI_LOOK_UP64(table, index) pzi_look_up64(table, index)

#endif

PZI_INLINE void pzi_words_of(const uint8_t classes[PZI_GROUP], const struct pzi_code2 *code,
                             struct pzi_words2 *words)
{
    const __m512i from = _mm512_loadu_si512(classes);
    const __m512i word = _mm512_shuffle_epi8(pzi_table16(code->word), from);
    const __m512i more = _mm512_shuffle_epi8(pzi_table16(code->more), from);

    words->escape = _mm512_test_epi8_mask(word, _mm512_set1_epi8(64));
    words->more[0] = 0;
#pragma GCC unroll 6
    for (unsigned l = 0; l < PZI_LEVELS2; l++) {
        const __m512i bit = _mm512_set1_epi8((char)(32 >> l));

        words->bit[l] = _mm512_test_epi8_mask(word, bit);
        if (l > 0)
            words->more[l] = _mm512_test_epi8_mask(more, bit);
    }
}

PZI_INLINE uint64_t pzi_classes_of(const uint64_t *bit, size_t stride, const struct pzi_code2 *code,
                                   uint8_t classes[PZI_GROUP])
{
    __m512i codeword = _mm512_setzero_si512(), found;

    /* A sum, as bytes have no OR under a mask. */
#pragma GCC unroll 6
    for (unsigned l = 0; l < PZI_LEVELS2; l++)
        codeword = _mm512_mask_add_epi8(codeword, bit[l * stride], codeword,
                                        _mm512_set1_epi8((char)(32 >> l)));
    found = PZI_LOOK_UP64(code->class_of, codeword);
    _mm512_storeu_si512(classes, found);
    return _mm512_cmpeq_epi8_mask(found, _mm512_set1_epi8(PZI_ESCAPE2));
}

/* The largest of 32 numbers. */
static inline unsigned pzi_largest16(__m512i v)
{
    const __m256i half =
        _mm256_max_epu16(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    const __m128i max =
        _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    const __m128i ones = _mm_set1_epi16(-1);

    return 0xffff ^ (unsigned)_mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(max, ones)), 0);
}

#endif
