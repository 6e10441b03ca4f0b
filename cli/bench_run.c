/* Timing: see bench_run.h. */
#include "bench_run.h"

#include "errors.h"
#include "memory.h"
#include "progress.h"

#include <string.h>

enum { CALL_BYTES = 256, CALLS_MAX = 4096 };

void bench_buffers_make(bench_buffers *self, size_t raw_bytes, unsigned runs)
{
    /* More than what any codec may write at most. */
    const size_t coded_room = raw_bytes + raw_bytes / 16 + 4096;

    *self = (bench_buffers){.raw = memory_keep(raw_bytes, 1),
                            .coded = memory_keep(coded_room, 1),
                            .back = memory_keep(raw_bytes, 1),
                            .raw_bytes = raw_bytes,
                            .coded_room = coded_room,
                            .runs = runs};
    /* Memory that was never written may be one and the same page. */
    memset(self->raw, 1, raw_bytes);
    memset(self->coded, 1, coded_room);
    memset(self->back, 1, raw_bytes);
}

/* What is timed in a loop, with the state that it needs. */
struct job {
    const bench_buffers *buffers;
    const bench_codec *codec;
    size_t coded_bytes;
};

typedef pz_status step(struct job *job);

static pz_status measure(struct job *job)
{
    return bench_codec_measure(job->codec, job->buffers->raw, job->buffers->raw_bytes);
}

static pz_status encode(struct job *job)
{
    const bench_buffers *buffers = job->buffers;

    return bench_codec_encode(job->codec, buffers->raw, buffers->raw_bytes, buffers->coded,
                              buffers->coded_room, &job->coded_bytes);
}

static pz_status decode(struct job *job)
{
    const bench_buffers *buffers = job->buffers;

    return bench_codec_decode(job->codec, buffers->coded, job->coded_bytes, buffers->back,
                              buffers->raw_bytes);
}

static pz_status copy(struct job *job)
{
    const bench_buffers *buffers = job->buffers;

    memcpy(buffers->back, buffers->raw, buffers->raw_bytes);
    return PZ_OK;
}

static pz_status copy_past_caches(struct job *job)
{
    const bench_buffers *buffers = job->buffers;

    return bench_copy_past_caches(buffers->back, buffers->raw, buffers->raw_bytes)
               ? PZ_OK
               : PZ_ERR_ARGUMENT;
}

/* The median of the rates of a step. */
static pz_status time_step(struct job *job, step *run, bench_clock clock, double *bps)
{
    double rates[BENCH_RUNS_MAX];

    for (unsigned i = 0; i < job->buffers->runs; i++) {
        const double begin = bench_clock_now(clock);
        const pz_status status = run(job);

        rates[i] = (double)job->buffers->raw_bytes / (bench_clock_now(clock) - begin);
        if (status != PZ_OK)
            return status;
        progress_add(job->buffers->raw_bytes);
    }
    *bps = bench_median(rates, job->buffers->runs);
    return PZ_OK;
}

/* Calls for small inputs from all over the data, all of which have been touched before. */
static pz_status time_calls(const struct job *job, bench_clock clock, bench_result *result)
{
    const bench_buffers *buffers = job->buffers;
    const size_t places = buffers->raw_bytes / CALL_BYTES;
    size_t coded_bytes[CALLS_MAX], bound, calls;
    pz_status status = bench_codec_bound(job->codec, CALL_BYTES, &bound);
    double begin;

    if (status != PZ_OK)
        return status;
    calls = buffers->coded_room / bound < CALLS_MAX ? buffers->coded_room / bound : CALLS_MAX;
    begin = bench_clock_now(clock);
    for (size_t i = 0; i < calls && status == PZ_OK; i++)
        status = bench_codec_encode(job->codec, buffers->raw + i * 7 % places * CALL_BYTES,
                                    CALL_BYTES, buffers->coded + i * bound, bound, &coded_bytes[i]);
    result->encode_call_ns = (bench_clock_now(clock) - begin) / (double)calls * 1e9;
    begin = bench_clock_now(clock);
    for (size_t i = 0; i < calls && status == PZ_OK; i++)
        status = bench_codec_decode(job->codec, buffers->coded + i * bound, coded_bytes[i],
                                    buffers->back, CALL_BYTES);
    result->decode_call_ns = (bench_clock_now(clock) - begin) / (double)calls * 1e9;
    return status;
}

static pz_status time_codec(struct job *job, bench_clock clock, bench_result *result)
{
    pz_status status = PZ_OK;

    if (job->codec->peer == NULL)
        status = time_step(job, measure, clock, &result->measure_bps);
    if (status == PZ_OK)
        status = time_step(job, encode, clock, &result->encode_bps);
    memset(job->buffers->back, 0, job->buffers->raw_bytes);
    if (status == PZ_OK)
        status = time_step(job, decode, clock, &result->decode_bps);
    return status;
}

int bench_run(const bench_buffers *self, const bench_codec *codec, bench_clock clock,
              bench_result *result)
{
    struct job job = {.buffers = self, .codec = codec};
    pz_status status;

    *result = (bench_result){0};
    status = time_codec(&job, clock, result);
    if (status == PZ_OK && memcmp(self->raw, self->back, self->raw_bytes) != 0)
        return fail(NULL, NULL, "report it with the data", "%s does not give back what it encoded",
                    codec->name);
    result->coded_bytes = job.coded_bytes;
    if (status == PZ_OK)
        status = time_calls(&job, clock, result);
    return status == PZ_OK ? STATUS_OK
                           : fail(NULL, NULL, "leave it out of --codec", "%s fails: %s",
                                  codec->name, pz_status_text(status));
}

double bench_memcpy_bps(const bench_buffers *self)
{
    struct job job = {.buffers = self};
    double bps = 0;

    time_step(&job, copy, BENCH_CPU, &bps);
    return bps;
}

double bench_copy_bps(const bench_buffers *self)
{
    struct job job = {.buffers = self};
    double bps = 0;

    time_step(&job, copy_past_caches, BENCH_CPU, &bps);
    return bps;
}
