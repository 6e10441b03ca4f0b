/* What is known of types besides what the public header tells. */
#ifndef PZI_BASE_DTYPE_H
#define PZI_BASE_DTYPE_H

#include "planezip/planezip.h"

/* By exactly the name that safetensors gives it; 0 if it has no such type. */
pz_dtype pzi_dtype_of_safetensors(const char *name);

/* Of a number that format 2 codes by its exponent, else 0: docs/format2.md, "Symbols, blocks,
 * chunks". */
unsigned pzi_exponent_bits(pz_dtype dtype);

#endif
