/* The codec for x86-64 with AVX-512, VBMI, VBMI2 and GFNI, as from Ice Lake and Zen 4 on; older
 * CPUs with AVX-512 run isa_avx512bw.c.  Its bytes are tested under emulation
 * (tests/unit/avx512_emulated_test.c), which defines PZI_EMULATED as the header to include; its
 * speed has not been measured on a CPU that has the instructions. */
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
#include "base/target.h"

#if !defined(PZI_EMULATED)
PZ_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,gfni,bmi,bmi2,lzcnt,"
                "popcnt")
#endif

#define PZI_COUNT64(x) __builtin_popcountll(x)
#define PZI_EXTRACT64(a, mask) _pext_u64(a, mask)
#define PZI_DEPOSIT64(a, mask) _pdep_u64(a, mask)
#define PZI_LOOK_UP64(table, index) _mm512_permutexvar_epi8(index, _mm512_loadu_si512(table))

#include "codec/group_avx512.h"
#include "codec/planecode.h"

#include "codec/vec_gfni.h"
#include "codec/width.h"
#include "codec/window2.h"

#define PZ_W 8
#include "codec/marks.tmpl.h"

#include "codec/vec_gfni.tmpl.h"

#include "codec/vec_avx512.tmpl.h"

#include "codec/vec_compress.tmpl.h"

#include "codec/vec_run.tmpl.h"

#include "codec/block.tmpl.h"

#include "codec/group_vbmi.tmpl.h"

#include "codec/group_compress.tmpl.h"

#include "codec/group_avx512.tmpl.h"

#include "codec/chunk2.tmpl.h"
#undef PZ_W

#define PZ_W 16
#include "codec/marks.tmpl.h"

#include "codec/vec_gfni.tmpl.h"

#include "codec/vec_avx512.tmpl.h"

#include "codec/vec_compress.tmpl.h"

#include "codec/vec_run256.tmpl.h"

#include "codec/block.tmpl.h"

#include "codec/group_vbmi.tmpl.h"

#include "codec/group_compress.tmpl.h"

#include "codec/group_avx512.tmpl.h"

#include "codec/chunk2.tmpl.h"
#undef PZ_W

#define PZ_W 32
#include "codec/marks.tmpl.h"

#include "codec/vec_gfni.tmpl.h"

#include "codec/vec_avx512.tmpl.h"

#include "codec/vec_compress.tmpl.h"

#include "codec/vec_run256.tmpl.h"

#include "codec/block.tmpl.h"

#include "codec/group_vbmi.tmpl.h"

#include "codec/group_compress.tmpl.h"

#include "codec/group_avx512.tmpl.h"

#include "codec/chunk2.tmpl.h"
#undef PZ_W

#define PZ_W 64
#include "codec/marks.tmpl.h"

#include "codec/vec_gfni.tmpl.h"

#include "codec/vec_avx512.tmpl.h"

#include "codec/vec_compress.tmpl.h"

#include "codec/vec_run.tmpl.h"

#include "codec/block.tmpl.h"

#include "codec/group_vbmi.tmpl.h"

#include "codec/group_compress.tmpl.h"

#include "codec/group_avx512.tmpl.h"

#include "codec/chunk2.tmpl.h"
#undef PZ_W

#if !defined(PZI_EMULATED)
PZ_TARGET_END
#endif

const struct pzi_ops pzi_ops_avx512 = {
    "avx512",
    PZI_CPU_AVX512 | PZI_CPU_AVX512_VBMI | PZI_CPU_AVX512_VBMI2 | PZI_CPU_GFNI | PZI_CPU_BMI |
        PZI_CPU_BMI2 | PZI_CPU_LZCNT | PZI_CPU_POPCNT,
    {
        {measure_blocks_w8, encode_blocks_w8, decode_blocks_w8},
        {measure_blocks_w16, encode_blocks_w16, decode_blocks_w16},
        {measure_blocks_w32, encode_blocks_w32, decode_blocks_w32},
        {measure_blocks_w64, encode_blocks_w64, decode_blocks_w64},
    },
    {
        {encode2_w8, measure2_w8, decode2_w8},
        {encode2_w16, measure2_w16, decode2_w16},
        {encode2_w32, measure2_w32, decode2_w32},
        {encode2_w64, measure2_w64, decode2_w64},
    },
};

#else

/* An empty file is not C. */
typedef int pzi_no_avx512;

#endif
