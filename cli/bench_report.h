/* What bench found, as text, CSV or JSON. */
#ifndef CLI_BENCH_REPORT_H
#define CLI_BENCH_REPORT_H

#include "bench_data.h"
#include "bench_run.h"

/* One codec on one set of data. */
typedef struct bench_row {
    const bench_set *set;
    const char *codec;
    const char *version; /* of a peer, else NULL */
    const char *isa;     /* NULL for a peer */
    unsigned width_bits; /* 0 for a peer */
    unsigned threads;
    bench_clock clock;
    double memcpy_bps; /* of the set */
    bench_result result;
} bench_row;

/* All rows, and what the machine gave, the copies as medians of the sets; 0 for what it does not
 * have or tell. */
typedef struct bench_report {
    const bench_row *rows;
    size_t count;
    size_t raw_bytes; /* of each set */
    unsigned runs;
    double memcpy_bps, copy_bps, core_hz;
    const char *const *missing_peers;
    size_t missing_count;
} bench_report;

void bench_report_text(const bench_report *self);
void bench_report_csv(const bench_report *self);
void bench_report_json(const bench_report *self);

#endif
