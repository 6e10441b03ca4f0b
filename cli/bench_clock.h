/* Clocks and copies: what the rates of bench are measured with and against. */
#ifndef CLI_BENCH_CLOCK_H
#define CLI_BENCH_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* One thread is timed by the processor time that it takes, which on a busy machine is still what an
 * idle one would show as time; several by the time that passes; a device has its own clock. */
typedef enum bench_clock { BENCH_CPU, BENCH_WALL, BENCH_DEVICE } bench_clock;

const char *bench_clock_name(bench_clock clock); /* "cpu", "wall" or "device" */

/* Seconds since some moment; not of a device. */
double bench_clock_now(bench_clock clock);

/* Sorts values.  Of an even count, the upper one of the two in the middle. */
double bench_median(double *values, size_t count);

/* A copy that goes past the caches; bytes are a multiple of 64, `to` is aligned to 16.  False if
 * this processor has none here. */
bool bench_copy_past_caches(void *to, const void *from, size_t bytes);

/* Cycles per second of this core under load, the most that it reached; 0 if it cannot be told. */
double bench_core_hz(void);

#endif
