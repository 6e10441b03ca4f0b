/* Names of types that only one format knows. */
#ifndef PZI_BASE_DTYPE_H
#define PZI_BASE_DTYPE_H

#include "planezip/planezip.h"

/* By exactly the name that safetensors gives it; 0 if it has no such type. */
pz_dtype pzi_dtype_of_safetensors(const char *name);

#endif
