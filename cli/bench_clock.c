/* Clocks and copies: see bench_clock.h. */
#define _POSIX_C_SOURCE 200809L
#include "bench_clock.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

const char *bench_clock_name(bench_clock clock)
{
    static const char *const names[] = {"cpu", "wall", "device"};

    return names[clock];
}

double bench_clock_now(bench_clock clock)
{
    struct timespec now = {0};

    clock_gettime(clock == BENCH_CPU ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

bool bench_copy_past_caches(void *to, const void *from, size_t bytes)
{
#if defined(__SSE2__)
    char *target = to;
    const char *begin = from;

    for (size_t i = 0; i < bytes; i += 64)
        for (size_t k = 0; k < 64; k += 16)
            _mm_stream_si128((__m128i *)(void *)(target + i + k),
                             _mm_loadu_si128((const __m128i *)(const void *)(begin + i + k)));
    _mm_sfence();
    return true;
#else
    (void)to;
    (void)from;
    (void)bytes;
    return false;
#endif
}

#if defined(__x86_64__)
double bench_core_hz(void)
{
    enum { RUNS = 100, STEPS = 1000000 };
    double best = 0;

    /* Whatever else the machine does can only slow a run down. */
    for (unsigned i = 0; i < RUNS; i++) {
        const double begin = bench_clock_now(BENCH_CPU);
        uint64_t left = STEPS;
        double hz;

        /* A chain of subtractions, one cycle each. */
        __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(left) : : "cc");
        hz = STEPS / (bench_clock_now(BENCH_CPU) - begin);
        best = hz > best ? hz : best;
    }
    return best;
}
#else
double bench_core_hz(void)
{
    return 0;
}
#endif
