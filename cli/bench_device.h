/* Timing our codecs on a device (planezip/gpu.h). */
#ifndef CLI_BENCH_DEVICE_H
#define CLI_BENCH_DEVICE_H

#include "bench_run.h"

typedef struct bench_device bench_device;

/* kind: "cuda" or "opencl"; driver: a library in place of the driver's and of its compiler, or
 * NULL. With memory for what the buffers hold; lives until the program ends.  Prints its errors. */
int bench_device_open(const char *kind, const char *driver, const bench_buffers *buffers,
                      bench_device **device);

/* "cuda: NVIDIA H100". */
const char *bench_device_name(const bench_device *self);

/* As bench_run(), by the device's own clock, from and to its memory: for the size model, that of
 * the encoder without the stream.  What comes back is compared.  No calls for few bytes are timed.
 */
int bench_device_run(const bench_device *self, const bench_codec *codec, bench_result *result);

#endif
