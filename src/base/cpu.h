/* What the CPU, and the operating system under us, can run beyond the baseline of the compiler. */
#ifndef PZI_CPU_H
#define PZI_CPU_H

#include <stdint.h>

/* A set of these.  The AVX-512 bits stand for what an implementation needs together:
 * PZI_CPU_AVX512 for F, BW, DQ and VL. */
#define PZI_CPU_POPCNT (1u << 0)
#define PZI_CPU_BMI (1u << 1)
#define PZI_CPU_BMI2 (1u << 2)
#define PZI_CPU_AVX2 (1u << 3)
#define PZI_CPU_AVX512 (1u << 4)
#define PZI_CPU_AVX512_VBMI (1u << 5)
#define PZI_CPU_AVX512_VBMI2 (1u << 6)
#define PZI_CPU_GFNI (1u << 7)
#define PZI_CPU_LZCNT (1u << 8)

/* Empty on machines that are not x86.  Asks the CPU on every call, which is slow: keep
 * the result. */
uint32_t pzi_cpu_features(void);

#endif
