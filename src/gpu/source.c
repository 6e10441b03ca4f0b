/* The text of the kernels, which the build makes of src/gpu (tools/gpu_source.cmake); a library
 * that is compiled without has none, and opens no device. */
#include "gpu/device.h"

#ifdef PZ_GPU_SOURCE
#include PZ_GPU_SOURCE
#else
const char pzi_gpu_source[] = "";
#endif
