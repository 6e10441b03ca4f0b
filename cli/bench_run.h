/* Timing one codec on one set of data. */
#ifndef CLI_BENCH_RUN_H
#define CLI_BENCH_RUN_H

#include "bench_clock.h"
#include "bench_codec.h"

#include <stdint.h>

enum { BENCH_RUNS_MAX = 99 };

/* The buffers of all measurements, for raw_bytes of input; they live until the program ends. */
typedef struct bench_buffers {
    unsigned char *raw, *coded, *back;
    size_t raw_bytes, coded_room;
    unsigned runs; /* of each measurement, whose median counts */
} bench_buffers;

void bench_buffers_make(bench_buffers *self, size_t raw_bytes, unsigned runs);

/* Rates are bytes of raw data per second. */
typedef struct bench_result {
    size_t coded_bytes;
    double measure_bps; /* of the size model; 0: it has none */
    double encode_bps, decode_bps;
    double encode_call_ns, decode_call_ns; /* of a call for 256 bytes; 0: not timed */
} bench_result;

/* Prints its errors. */
int bench_run(const bench_buffers *self, const bench_codec *codec, bench_clock clock,
              bench_result *result);

/* Rates of copying raw; 0 if there is no such copy. */
double bench_memcpy_bps(const bench_buffers *self);
double bench_copy_bps(const bench_buffers *self);

#endif
