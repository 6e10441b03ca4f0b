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

#define _mm512_maskz_compress_epi8(mask, a) emulated_compress(mask, a, 1)
#define _mm512_maskz_compress_epi16(mask, a) emulated_compress(mask, a, 2)
#define _mm512_maskz_expand_epi8(mask, a) emulated_expand(mask, a, 1)
#define _mm512_maskz_expand_epi16(mask, a) emulated_expand(mask, a, 2)
#define _mm512_maskz_expand_epi32(mask, a) emulated_expand(mask, a, 4)
#define _mm512_maskz_expand_epi64(mask, a) emulated_expand(mask, a, 8)
#define _mm512_alignr_epi8(a, b, bytes) emulated_align(a, b, 16, bytes)
#define _mm512_alignr_epi64(a, b, words) emulated_align(a, b, 64, 8 * (words))
#define _mm512_bslli_epi128(a, bytes) emulated_align(a, _mm512_setzero_si512(), 16, 16 - (bytes))

#endif
