/* AVX-512 in plain C, by SIMDe (Debian: libsimde-dev), and what it lacks of BMI2. */
#ifndef PZ_TEST_EMULATED_AVX512_H
#define PZ_TEST_EMULATED_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_NO_NATIVE
#include <simde/x86/avx512.h>
#include <simde/x86/gfni.h>
#include <stdint.h>

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

#endif
