/* Compiles what stands between PZ_TARGET_BEGIN and PZ_TARGET_END for more than the compiler's
 * baseline, e.g. PZ_TARGET_BEGIN("avx2,bmi2"), in place of flags for a whole file. */
#ifndef PZI_BASE_TARGET_H
#define PZI_BASE_TARGET_H

#define PZ_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define PZ_TARGET_BEGIN(features) \
    PZ_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define PZ_TARGET_END PZ_PRAGMA(clang attribute pop)
#else
#define PZ_TARGET_BEGIN(features) PZ_PRAGMA(GCC push_options) PZ_PRAGMA(GCC target(features))
#define PZ_TARGET_END PZ_PRAGMA(GCC pop_options)
#endif

#endif
