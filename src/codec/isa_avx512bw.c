/* The codec for x86-64 with AVX-512 as Skylake has it, without VBMI and GFNI.  Tested under
 * emulation (tests/unit/avx512bw_emulated_test.c) as isa_avx512.c is; its speed has not been
 * measured. */
#include "codec/isa.h"

#if defined(__x86_64__) || defined(PZI_EMULATED)

#if defined(PZI_EMULATED)
#include PZI_EMULATED
#else
#include <immintrin.h>
#endif
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"
#include "codec/target.h"

#if !defined(PZI_EMULATED)
PZ_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,lzcnt,popcnt")
#endif

#define PZI_COUNT64(x) __builtin_popcountll(x)

#include "codec/planecode.h"

#include "codec/vec_words.h"
#include "codec/width.h"

#define PZ_W 8
#include "codec/marks.tmpl.h"

#include "codec/vec_words.tmpl.h"

#include "codec/vec_avx512.tmpl.h"

#include "codec/vec_bmi2.tmpl.h"

#include "codec/block.tmpl.h"
#undef PZ_W

#define PZ_W 16
#include "codec/marks.tmpl.h"

#include "codec/vec_words.tmpl.h"

#include "codec/vec_avx512.tmpl.h"

#include "codec/vec_bmi2.tmpl.h"

#include "codec/block.tmpl.h"
#undef PZ_W

#define PZ_W 32
#include "codec/marks.tmpl.h"

#include "codec/vec_words.tmpl.h"

#include "codec/vec_avx512.tmpl.h"

#include "codec/vec_compress.tmpl.h"

#include "codec/block.tmpl.h"
#undef PZ_W

#define PZ_W 64
#include "codec/marks.tmpl.h"

#include "codec/vec_words.tmpl.h"

#include "codec/vec_avx512.tmpl.h"

#include "codec/vec_compress.tmpl.h"

#include "codec/block.tmpl.h"
#undef PZ_W

#if !defined(PZI_EMULATED)
PZ_TARGET_END
#endif

const struct pzi_ops pzi_ops_avx512bw = {
    .name = "avx512bw",
    .cpu_features = PZI_CPU_AVX512 | PZI_CPU_BMI | PZI_CPU_BMI2 | PZI_CPU_LZCNT | PZI_CPU_POPCNT,
    .width =
        {
            {measure_blocks_w8, encode_blocks_w8, decode_blocks_w8},
            {measure_blocks_w16, encode_blocks_w16, decode_blocks_w16},
            {measure_blocks_w32, encode_blocks_w32, decode_blocks_w32},
            {measure_blocks_w64, encode_blocks_w64, decode_blocks_w64},
        },
};

#else

/* An empty file is not C. */
typedef int pzi_no_avx512bw;

#endif
