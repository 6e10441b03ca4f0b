/* The instance for AVX-512 without VBMI and GFNI by emulation of its instructions. */
#define PZI_EMULATED "support/emulated_avx512.h"
#define pzi_ops_avx512bw emulated_ops
#include "codec/isa_avx512bw.c" /* NOLINT(bugprone-suspicious-include): under another name */

#include "support/same_as_scalar.h"
#include "support/same_as_scalar2.h"
