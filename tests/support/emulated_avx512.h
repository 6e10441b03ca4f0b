/* AVX-512 in plain C, by SIMDe (Debian: libsimde-dev), and what that lacks; BMI2. */
#ifndef PZ_TEST_EMULATED_AVX512_H
#define PZ_TEST_EMULATED_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_NO_NATIVE
#include <simde/x86/avx512.h>
#include <simde/x86/gfni.h>
#include <stdint.h>
#include <string.h>

/* The bits of a at the places of mask, moved together; and back. */
static inline uint64_t emulated_pext(uint64_t a, uint64_t mask)
{
    uint64_t result = 0;

    for (unsigned n = 0; mask != 0; mask &= mask - 1)
        result |= (a >> __builtin_ctzll(mask) & 1) << n++;
    return result;
}

static inline uint64_t emulated_pdep(uint64_t a, uint64_t mask)
{
    uint64_t result = 0;

    for (; mask != 0; mask &= mask - 1, a >>= 1)
        result |= (a & 1) << __builtin_ctzll(mask);
    return result;
}

#define _pext_u64 emulated_pext
#define _pdep_u64 emulated_pdep

/* The lanes of mask, of `size` bytes each, moved together in front of zeros. */
static inline __m512i emulated_compress(uint64_t mask, __m512i a, unsigned size)
{
    uint8_t from[64], to[64] = {0};
    unsigned n = 0;

    memcpy(from, &a, sizeof from);
    for (unsigned i = 0; i < 64 / size; i++)
        if (mask >> i & 1)
            memcpy(to + size * n++, from + size * i, size);
    memcpy(&a, to, sizeof to);
    return a;
}

static inline __m512i emulated_expand(uint64_t mask, __m512i a, unsigned size)
{
    uint8_t from[64], to[64] = {0};
    unsigned n = 0;

    memcpy(from, &a, sizeof from);
    for (unsigned i = 0; i < 64 / size; i++)
        if (mask >> i & 1)
            memcpy(to + size * i, from + size * n++, size);
    memcpy(&a, to, sizeof to);
    return a;
}

/* In every lane of `lane` bytes: those of b, then those of a, from number `first` on. */
static inline __m512i emulated_align(__m512i a, __m512i b, unsigned lane, unsigned first)
{
    uint8_t from_a[64], from_b[64], to[64];

    memcpy(from_a, &a, sizeof from_a);
    memcpy(from_b, &b, sizeof from_b);
    for (unsigned i = 0; i < 64; i++) {
        const unsigned at = i % lane + first, begin = i - i % lane;

        to[i] = at < lane ? from_b[begin + at] : from_a[begin + at - lane];
    }
    memcpy(&a, to, sizeof to);
    return a;
}

/* Numbers of `from` bytes each become numbers of `to` bytes. */
static inline __m512i emulated_widen(const void *numbers, unsigned from, unsigned to)
{
    uint8_t wide[64] = {0};
    __m512i v;

    for (unsigned i = 0; i < 64 / to; i++)
        memcpy(wide + to * i, (const uint8_t *)numbers + from * i, from);
    memcpy(&v, wide, sizeof v);
    return v;
}

static inline __m512i emulated_cvtepu8_epi16(__m256i a)
{
    return emulated_widen(&a, 1, 2);
}

static inline __m512i emulated_cvtepu8_epi32(__m128i a)
{
    return emulated_widen(&a, 1, 4);
}

static inline __m512i emulated_cvtepu16_epi64(__m128i a)
{
    return emulated_widen(&a, 2, 8);
}

static inline uint64_t emulated_or(__m512i a)
{
    uint64_t words[8], all = 0;

    memcpy(words, &a, sizeof words);
    for (unsigned i = 0; i < 8; i++)
        all |= words[i];
    return all;
}

static inline uint32_t emulated_equal16(__m512i a, __m512i b)
{
    return ~_mm512_test_epi16_mask(_mm512_xor_si512(a, b), _mm512_set1_epi16(-1));
}

#define _mm512_maskz_compress_epi8(mask, a) emulated_compress(mask, a, 1)
#define _mm512_maskz_compress_epi16(mask, a) emulated_compress(mask, a, 2)
#define _mm512_maskz_expand_epi8(mask, a) emulated_expand(mask, a, 1)
#define _mm512_maskz_expand_epi16(mask, a) emulated_expand(mask, a, 2)
#define _mm512_maskz_expand_epi32(mask, a) emulated_expand(mask, a, 4)
#define _mm512_maskz_expand_epi64(mask, a) emulated_expand(mask, a, 8)
#define _mm512_alignr_epi8(a, b, bytes) emulated_align(a, b, 16, bytes)
#define _mm512_alignr_epi64(a, b, words) emulated_align(a, b, 64, 8 * (words))
#define _mm512_bslli_epi128(a, bytes) emulated_align(a, _mm512_setzero_si512(), 16, 16 - (bytes))
#define _mm512_cvtepu8_epi16 emulated_cvtepu8_epi16
#define _mm512_cvtepu8_epi32 emulated_cvtepu8_epi32
#define _mm512_cvtepu16_epi64 emulated_cvtepu16_epi64
#define _mm512_reduce_or_epi64(a) emulated_or(a)
#define _mm512_reduce_and_epi64(a) ~emulated_or(_mm512_xor_si512(a, _mm512_set1_epi64(-1)))
#define _mm512_cmpeq_epi16_mask(a, b) emulated_equal16(a, b)
#define _mm512_mask_sub_epi16(other, mask, a, b) \
    _mm512_mask_mov_epi16(other, mask, _mm512_sub_epi16(a, b))

#endif
