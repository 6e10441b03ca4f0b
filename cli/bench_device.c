/* Timing on a device: see bench_device.h. */
#include "bench_device.h"

#include "errors.h"
#include "memory.h"
#include "progress.h"

#include <planezip/gpu.h>

#include <stdlib.h>
#include <string.h>

struct bench_device {
    pz_gpu *gpu;
    const char *name;
    const bench_buffers *buffers;
    void *stream, *raw, *coded, *workspace, *result;
    size_t workspace_bytes;
};

static void close_device(void *object)
{
    bench_device *const self = object;
    void *const memory[] = {self->raw, self->coded, self->workspace, self->result};

    if (self->gpu == NULL)
        return;
    if (self->stream != NULL)
        pz_gpu_wait(self->gpu, self->stream); /* a step that failed may have begun something */
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        pz_gpu_free(self->gpu, PZ_GPU_DEVICE, memory[i]);
    pz_gpu_stream_free(self->gpu, self->stream);
    pz_gpu_close(self->gpu);
}

static pz_status take_memory(bench_device *self)
{
    const struct {
        size_t bytes;
        void **memory;
    } wanted[] = {{self->buffers->raw_bytes, &self->raw},
                  {self->buffers->coded_room, &self->coded},
                  {self->workspace_bytes, &self->workspace},
                  {sizeof(pz_gpu_result), &self->result}};
    pz_status status = pz_gpu_stream_new(self->gpu, &self->stream);

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == PZ_OK; i++)
        status = pz_gpu_alloc(self->gpu, PZ_GPU_DEVICE, wanted[i].bytes, wanted[i].memory);
    return status;
}

int bench_device_open(const char *kind, const char *driver, const bench_buffers *buffers,
                      bench_device **device)
{
    const pz_gpu_options options = {.size = sizeof options,
                                    .kind =
                                        strcmp(kind, "opencl") == 0 ? PZ_GPU_OPENCL : PZ_GPU_CUDA,
                                    .driver = driver};
    bench_device *const self = memory_keep(1, sizeof *self);
    pz_gpu_info info;
    pz_diag diag = {0};
    pz_status status;

    self->buffers = buffers;
    own(self, close_device);
    status = pz_gpu_open(&options, &self->gpu, &diag);
    if (status != PZ_OK)
        return fail(NULL, diag.path, "install its driver, or leave out --device", "%s",
                    diag.text[0] != '\0' ? diag.text : pz_status_text(status));
    pz_gpu_info_of(self->gpu, &info);
    self->name = memory_text("%s: %s", kind, info.name);
    status = pz_gpu_workspace_bytes(buffers->raw_bytes, false, &self->workspace_bytes);
    if (status == PZ_OK)
        status = take_memory(self);
    *device = self;
    return status == PZ_OK ? STATUS_OK
                           : fail(NULL, NULL, "give a smaller --size", "%s: %s", self->name,
                                  pz_status_text(status));
}

const char *bench_device_name(const bench_device *self)
{
    return self->name;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* What is timed, and the size of its stream, once that is known. */
struct task {
    const bench_device *device;
    pz_mode mode;
    size_t coded_bytes;
};

typedef pz_status step(const struct task *task);

static pz_gpu_job job_of(const bench_device *self)
{
    return (pz_gpu_job){.size = sizeof(pz_gpu_job),
                        .stream = self->stream,
                        .workspace = self->workspace,
                        .workspace_bytes = self->workspace_bytes,
                        .result = self->result};
}

static pz_status measure(const struct task *task)
{
    const bench_device *const self = task->device;
    const pz_gpu_job job = job_of(self);

    return pz_gpu_encode(self->gpu, &job, task->mode, self->raw, self->buffers->raw_bytes,
                         SIZE_MAX);
}

static pz_status encode(const struct task *task)
{
    const bench_device *const self = task->device;
    const pz_gpu_job job = job_of(self);

    return pz_gpu_compress(self->gpu, &job, task->mode, self->raw, self->buffers->raw_bytes,
                           self->coded, self->buffers->coded_room);
}

static pz_status decode(const struct task *task)
{
    const bench_device *const self = task->device;
    const pz_gpu_job job = job_of(self);

    return pz_gpu_decompress(self->gpu, &job, task->mode, self->coded, task->coded_bytes, self->raw,
                             self->buffers->raw_bytes);
}

/* Waits, and looks at what the job found. */
static pz_status end(const bench_device *self, size_t *coded_bytes)
{
    pz_gpu_result found;
    const pz_status copied =
        pz_gpu_copy(self->gpu, self->stream, &found, self->result, sizeof found);
    pz_status status = pz_gpu_wait(self->gpu, self->stream); /* whatever is to be written there */

    if (status == PZ_OK)
        status = copied;
    if (status == PZ_OK)
        status = pz_gpu_result_of(&found, NULL);
    if (status == PZ_OK)
        *coded_bytes = (size_t)found.coded_bytes;
    return status;
}

/* Once, by the device's clock. */
static pz_status time_once(struct task *task, step *run, double *seconds)
{
    const bench_device *const self = task->device;
    void *from = NULL, *to = NULL;
    pz_status status = pz_gpu_mark(self->gpu, self->stream, &from);

    if (status == PZ_OK)
        status = run(task);
    if (status == PZ_OK)
        status = pz_gpu_mark(self->gpu, self->stream, &to);
    if (status == PZ_OK)
        status = end(self, &task->coded_bytes);
    if (status == PZ_OK)
        status = pz_gpu_elapsed(self->gpu, from, to, seconds);
    pz_gpu_mark_free(self->gpu, from);
    pz_gpu_mark_free(self->gpu, to);
    return status;
}

static pz_status time_step(struct task *task, step *run, double *bps)
{
    const bench_buffers *const buffers = task->device->buffers;
    double rates[BENCH_RUNS_MAX];

    for (unsigned i = 0; i < buffers->runs; i++) {
        double seconds = 0;
        const pz_status status = time_once(task, run, &seconds);

        if (status != PZ_OK)
            return status;
        rates[i] = seconds > 0 ? (double)buffers->raw_bytes / seconds : 0;
        progress_add(buffers->raw_bytes);
    }
    *bps = bench_median(rates, buffers->runs);
    return PZ_OK;
}

/* From host to device, or back. */
static pz_status move(const bench_device *self, void *to, const void *from)
{
    const pz_status status =
        pz_gpu_copy(self->gpu, self->stream, to, from, self->buffers->raw_bytes);

    return status == PZ_OK ? pz_gpu_wait(self->gpu, self->stream) : status;
}

static pz_status time_codec(struct task *task, bench_result *result)
{
    const bench_device *const self = task->device;
    const bench_buffers *const buffers = self->buffers;
    pz_status status = move(self, self->raw, buffers->raw);

    if (status == PZ_OK)
        status = time_step(task, measure, &result->measure_bps);
    if (status == PZ_OK)
        status = time_step(task, encode, &result->encode_bps);
    memset(buffers->back, 0, buffers->raw_bytes);
    if (status == PZ_OK)
        status = move(self, self->raw, buffers->back);
    if (status == PZ_OK)
        status = time_step(task, decode, &result->decode_bps);
    return status == PZ_OK ? move(self, buffers->back, self->raw) : status;
}

int bench_device_run(const bench_device *self, const bench_codec *codec, bench_result *result)
{
    struct task task = {.device = self, .mode = codec->mode};
    pz_diag diag = {0};
    pz_status status = pz_gpu_prepare(self->gpu, codec->mode, &diag);

    *result = (bench_result){0};
    if (status == PZ_OK)
        status = time_codec(&task, result);
    if (status != PZ_OK)
        return fail(NULL, NULL, "leave it out of --codec", "%s fails on %s: %s", codec->name,
                    self->name, diag.text[0] != '\0' ? diag.text : pz_status_text(status));
    if (memcmp(self->buffers->raw, self->buffers->back, self->buffers->raw_bytes) != 0)
        return fail(NULL, NULL, "report it with the data", "%s on %s does not give back the data",
                    codec->name, self->name);
    result->coded_bytes = task.coded_bytes;
    return STATUS_OK;
}
