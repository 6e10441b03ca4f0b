/* The kernels for nvcc, to look at (tools/gpu_registers): those of PZ_W if it is defined, else of all
 * widths.  The library compiles them where it runs: docs/gpu.md, "Drivers". */
#ifdef PZ_ONLY_IBP
#include "gpu/ibp_learn.h"
#include "gpu/ibp_pack.h"
#include "gpu/ibp_unpack.h"
#else
#include "gpu/place_kernels.h"

#include "codec/width.h"

#ifdef PZ_W
#include "gpu/kernels.tmpl.h"
#else
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
#endif
#endif
