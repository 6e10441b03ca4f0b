/* Speed of invariant bit packing on one core: unpacking beside memcpy of 64 MiB for widths and rows
 * of several sizes, random fetches beside those of raw rows, and learning.  Medians of runs that
 * take turns; floats about one, whose tables save what is told.
 *
 * Usage: ibp_bench [RUNS [MIB OF THE TABLE TO FETCH FROM, 64 OR MORE]]      (9 and 1024) */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "planezip/ibp.h"

enum { MEMORY_BYTES = 64 << 20, MAX_RUNS = 99, FETCH_ROW_BYTES = 1024, FETCHES = 200000 };

static unsigned runs = 9;

/* Of the processor, which is what an idle machine would take. */
static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void *memory(size_t bytes)
{
    void *const got = malloc(bytes);

    if (got == NULL) {
        fprintf(stderr, "ibp_bench: no %zu bytes of memory\n", bytes);
        exit(1);
    }
    return got;
}

static void check(pz_status status)
{
    if (status == PZ_OK)
        return;
    fprintf(stderr, "ibp_bench: %s\n", pz_status_text(status));
    exit(1);
}

static uint64_t random_next(void)
{
    static uint64_t state = 1;

    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, runs, sizeof times[0], by_value);
    return times[runs / 2];
}

/* Elements whose upper four or eight bits are the same, but in one of 400. */
static void fill(uint8_t *to, size_t bytes, unsigned w)
{
    const size_t size = w / 8;

    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        const uint64_t word = random_next();

        memcpy(to + at, &word, 8);
    }
    for (size_t at = size - 1; at < bytes; at += size)
        if (random_next() % 400 != 0)
            to[at] = w < 32 ? (uint8_t)((to[at] & 0x0f) | 0x30) : 0x3d;
}

static pz_ibp_table *learn(unsigned w, size_t row_bytes, const uint8_t *raw, size_t bytes,
                           double *seconds)
{
    const pz_ibp_learn_options options = {
        .size = sizeof options, .width_bits = w, .row_elements = row_bytes / (w / 8)};
    const double begin = now();
    pz_ibp_learner *learner;
    pz_ibp_table *table;

    check(pz_ibp_learner_new(&options, &learner));
    check(pz_ibp_learner_add(learner, raw, bytes / row_bytes));
    check(pz_ibp_learner_table(learner, &table));
    pz_ibp_learner_free(learner);
    *seconds = now() - begin;
    return table;
}

static void print_speeds(unsigned w, size_t row_bytes, const pz_ibp_stats *stats,
                         const pz_ibp_table *table, double times[4][MAX_RUNS], double learning)
{
    const double copy = median(times[0]);

    printf("%2u %5zu  %3u  %5.1f %%  %5.2f  %5.2f  %5.2f  %5.2f  %5.2f  %6.1f ms\n", w, row_bytes,
           pz_ibp_table_shape(table).group_bits,
           100 - 100 * (double)stats->packed_bytes / (double)stats->raw_bytes,
           1e-9 * MEMORY_BYTES / copy, 1e-9 * MEMORY_BYTES / median(times[1]),
           1e-9 * MEMORY_BYTES / median(times[2]), copy / median(times[2]), copy / median(times[3]),
           1e3 * learning);
}

static void bench_rows(unsigned w, size_t row_bytes, const uint8_t *raw, uint8_t *packed,
                       uint8_t *to)
{
    const size_t rows = MEMORY_BYTES / row_bytes;
    uint64_t *const offsets = memory((rows + 1) * sizeof *offsets);
    uint8_t *const map = memory(rows / 8 + 1), *const slots = memory(MEMORY_BYTES);
    double times[4][MAX_RUNS], learning;
    pz_ibp_table *const table = learn(w, row_bytes, raw, MEMORY_BYTES, &learning);
    const pz_ibp_rows condensed = {sizeof condensed, table, packed, rows,
                                   MEMORY_BYTES,     0,     NULL,   offsets};
    const pz_ibp_rows in_slots = {sizeof in_slots, table,     slots, rows,
                                  MEMORY_BYTES,    row_bytes, map,   NULL};
    pz_ibp_stats stats;

    check(pz_ibp_measure(NULL, table, raw, rows, &stats));
    check(pz_ibp_pack(NULL, table, raw, 0, rows, slots, row_bytes, map));
    for (unsigned run = 0; run < runs; run++) {
        double begin = now();

        memcpy(to, raw, MEMORY_BYTES);
        times[0][run] = now() - begin;
        begin = now();
        check(pz_ibp_condense(NULL, table, raw, 0, rows, packed, MEMORY_BYTES, offsets));
        times[1][run] = now() - begin;
        begin = now();
        check(pz_ibp_unpack(NULL, &condensed, 0, rows, to, NULL));
        times[2][run] = now() - begin;
        begin = now();
        check(pz_ibp_unpack(NULL, &in_slots, 0, rows, to, NULL));
        times[3][run] = now() - begin;
    }
    if (memcmp(to, raw, MEMORY_BYTES) != 0)
        check(PZ_ERR_CHECK);
    print_speeds(w, row_bytes, &stats, table, times, learning);
    pz_ibp_table_free(table);
    free(offsets);
    free(map);
    free(slots);
}

/* The row that is wanted, as a plain loop copies it, or with those to come fetched ahead. */
static void fetch_raw(const uint8_t *raw, const uint64_t *index, size_t ahead, uint8_t *to)
{
    for (size_t k = 0; k < FETCHES; k++) {
        for (size_t i = 0; ahead > 0 && k + ahead < FETCHES && i < FETCH_ROW_BYTES; i += 64)
            __builtin_prefetch(raw + index[k + ahead] * FETCH_ROW_BYTES + i);
        memcpy(to + k * FETCH_ROW_BYTES, raw + index[k] * FETCH_ROW_BYTES, FETCH_ROW_BYTES);
    }
}

/* Rows of 1 KiB by random numbers, from a table larger than the caches; in slots, as a device
 * fetches them. */
static void bench_fetch(size_t mib)
{
    const size_t rows = (mib << 20) / FETCH_ROW_BYTES, part = MEMORY_BYTES / FETCH_ROW_BYTES;
    const double bytes = 1e-9 * FETCHES * FETCH_ROW_BYTES;
    uint8_t *const raw = memory(rows * FETCH_ROW_BYTES), *const slots = memory(mib << 20);
    uint8_t *const map = memory(rows / 8 + 1);
    uint8_t *const to = memory((size_t)FETCHES * FETCH_ROW_BYTES);
    uint64_t *const index = memory(FETCHES * sizeof *index);
    double times[3][MAX_RUNS], learning, packed_time;
    pz_ibp_table *table;

    fill(raw, part * FETCH_ROW_BYTES, 16);
    for (size_t row = part; row < rows; row++)
        memcpy(raw + row * FETCH_ROW_BYTES, raw + row % part * FETCH_ROW_BYTES, FETCH_ROW_BYTES);
    table = learn(16, FETCH_ROW_BYTES, raw, part * FETCH_ROW_BYTES, &learning);
    check(pz_ibp_pack(NULL, table, raw, 0, rows, slots, FETCH_ROW_BYTES, map));
    const pz_ibp_rows in_slots = {sizeof in_slots, table,           slots, rows,
                                  mib << 20,       FETCH_ROW_BYTES, map,   NULL};

    memset(to, 1, (size_t)FETCHES * FETCH_ROW_BYTES);
    for (unsigned run = 0; run < runs; run++) {
        double begin;

        for (size_t k = 0; k < FETCHES; k++)
            index[k] = random_next() % rows;
        begin = now();
        fetch_raw(raw, index, 0, to);
        times[0][run] = now() - begin;
        begin = now();
        fetch_raw(raw, index, 4, to);
        times[1][run] = now() - begin;
        begin = now();
        check(pz_ibp_fetch(NULL, &in_slots, index, FETCHES, to, NULL));
        times[2][run] = now() - begin;
    }
    packed_time = median(times[2]);
    printf(
        "\nrandom rows of 1 KiB from %zu MiB: packed %.2f GB/s; raw %.2f GB/s, with rows fetched\n"
        "ahead %.2f GB/s: packed is %.2f and %.2f of them\n",
        mib, bytes / packed_time, bytes / median(times[0]), bytes / median(times[1]),
        median(times[0]) / packed_time, median(times[1]) / packed_time);
    pz_ibp_table_free(table);
    free(raw);
    free(slots);
    free(map);
    free(to);
    free(index);
}

int main(int argc, char **argv)
{
    static const size_t row_bytes[] = {128, 512, 1024, 4096};
    const size_t mib = argc > 2 ? strtoul(argv[2], NULL, 10) : 1024;
    uint8_t *raw, *packed, *to;

    if (argc > 1)
        runs = (unsigned)strtoul(argv[1], NULL, 10);
    if (runs < 1 || runs > MAX_RUNS || mib < MEMORY_BYTES >> 20) {
        fprintf(stderr, "Usage: ibp_bench [RUNS [MIB, 64 OR MORE]]\n");
        return 2;
    }
    raw = memory(MEMORY_BYTES);
    packed = memory(MEMORY_BYTES);
    to = memory(MEMORY_BYTES);
    printf("instruction set: %s; GB/s of raw bytes; unpacking also in parts of memcpy's rate\n\n"
           " w   row    b   saved memcpy condense unpack  /copy  slots  learning\n",
           pz_isa_active());
    for (unsigned w = 8; w <= 64; w *= 2) {
        fill(raw, MEMORY_BYTES, w);
        for (size_t i = 0; i < sizeof row_bytes / sizeof row_bytes[0]; i++)
            bench_rows(w, row_bytes[i], raw, packed, to);
    }
    free(raw);
    free(packed);
    free(to);
    bench_fetch(mib);
    return 0;
}
