/* The kernels for CUDA: pz_encode_w8 and so on, see kernels.tmpl.h.  How to compile them:
 * docs/gpu.md, "Registers". */
#include "gpu/place_kernels.h"

#include "codec/width.h"

#define PZ_W 8
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 16
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 32
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 64
#include "gpu/kernels.tmpl.h"
