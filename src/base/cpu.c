/* CPU features by the cpuid instruction.  A vector feature counts only if the operating system
 * saves its registers (xgetbv), else the first use would fault. */
#include "base/cpu.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* One register bit of cpuid leaf 7 and the feature it stands for. */
static uint32_t if_all(uint32_t reg, uint32_t bits, uint32_t feature)
{
    return (reg & bits) == bits ? feature : 0;
}

static uint32_t saved_registers(void)
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

uint32_t pzi_cpu_features(void)
{
    const uint32_t avx_state = 0x06, avx512_state = 0xe6;
    const uint32_t avx512_set = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    uint32_t a, b, c, d, features, state = 0;

    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    features = if_all(c, 1u << 23, PZI_CPU_POPCNT);
    if (c & 1u << 27)
        state = saved_registers();
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d))
        features |= if_all(c, 1u << 5, PZI_CPU_LZCNT);
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return features;
    features |= if_all(b, 1u << 3, PZI_CPU_BMI) | if_all(b, 1u << 8, PZI_CPU_BMI2);
    features |= if_all(c, 1u << 8, PZI_CPU_GFNI);
    if ((state & avx_state) == avx_state)
        features |= if_all(b, 1u << 5, PZI_CPU_AVX2);
    if ((state & avx512_state) == avx512_state && if_all(b, avx512_set, 1))
        features |= PZI_CPU_AVX512 | if_all(c, 1u << 1, PZI_CPU_AVX512_VBMI) |
                    if_all(c, 1u << 6, PZI_CPU_AVX512_VBMI2);
    return features;
}

#else

uint32_t pzi_cpu_features(void)
{
    return 0;
}

#endif
