/* The AVX-512 instance by emulation of its instructions. */
#define PZI_EMULATED "support/emulated_avx512.h"
#define pzi_ops_avx512 emulated_ops
#include "codec/isa_avx512.c" /* NOLINT(bugprone-suspicious-include): under another name */

#include "support/same_as_scalar.h"
#include "support/same_as_scalar2.h"
