/* Devices and jobs (planezip/gpu.h): which kernels make up a job, and what lies where in its
 * workspace.  Knows no driver; below it are back ends (device.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "codec/format.h"
#include "gpu/device.h"
#include "gpu/place.h"
#include "gpu/tables.h"

/* The kernels of place.h, in the order of pzi_program.kernels. */
enum place_kernel { TILES, TOPS, OFFSETS, GATHER, FINISH, GATHER_PIECES, PLACE_KERNELS };

enum { ALIGNMENT = 16, WORKSPACE_STEP = 256, PAGE_BYTES = 4096 };

/* ---- Devices -------------------------------------------------------------------------------- */

/* The tables, by a copy that has ended. */
static pz_status fill_tables(pz_gpu *gpu)
{
    uint8_t tables[PZI_TABLES_BYTES];
    void *stream = NULL;
    pz_status status = pz_gpu_stream_new(gpu, &stream);

    if (status != PZ_OK)
        return status;
    pzi_gpu_tables(tables);
    status = pz_gpu_copy(gpu, stream, gpu->tables, tables, sizeof tables);
    if (status == PZ_OK)
        status = pz_gpu_wait(gpu, stream);
    pz_gpu_stream_free(gpu, stream);
    return status;
}

static pz_status make_tables(pz_gpu *gpu, pz_diag *diag)
{
    pz_status status = pz_gpu_alloc(gpu, PZ_GPU_DEVICE, PZI_TABLES_BYTES, &gpu->tables);

    if (status == PZ_OK)
        status = fill_tables(gpu);
    return status == PZ_OK ? PZ_OK : pzi_fail(diag, status, "the device has no memory to use");
}

pz_status pz_gpu_open(const pz_gpu_options *options, pz_gpu **gpu, pz_diag *diag)
{
    pz_gpu *opened;
    pz_status status;

    if (gpu == NULL || options == NULL || options->size != sizeof *options ||
        (options->kind != PZ_GPU_CUDA && options->kind != PZ_GPU_OPENCL))
        return PZ_ERR_ARGUMENT;
    if (pzi_gpu_source[0] == '\0')
        return pzi_fail(diag, PZ_ERR_IO, "the library was built without kernels for devices");
    opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return pzi_no_memory(diag);
    opened->backend = options->kind == PZ_GPU_CUDA ? &pzi_backend_cuda : &pzi_backend_opencl;
    status = opened->backend->open(opened, options, diag);
    if (status != PZ_OK) {
        free(opened);
        return status;
    }
    pthread_mutex_init(&opened->lock, NULL);
    status = make_tables(opened, diag);
    if (status == PZ_OK)
        *gpu = opened;
    else
        pz_gpu_close(opened);
    return status;
}

void pz_gpu_close(pz_gpu *gpu)
{
    if (gpu == NULL)
        return;
    for (unsigned i = 0; i < PZI_PROGRAMS; i++)
        if (gpu->programs[i].program != NULL)
            gpu->backend->unload(gpu, &gpu->programs[i]);
    if (gpu->tables != NULL)
        pz_gpu_free(gpu, PZ_GPU_DEVICE, gpu->tables);
    gpu->backend->close(gpu);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

void pz_gpu_info_of(const pz_gpu *gpu, pz_gpu_info *info)
{
    *info = gpu->info;
}

/* ---- Programs ------------------------------------------------------------------------------- */

static unsigned program_of(pz_mode mode, bool is_decoder)
{
    const unsigned width = mode.width_bits == 8    ? 0
                           : mode.width_bits == 16 ? 1
                           : mode.width_bits == 32 ? 2
                                                   : 3;

    return (mode.format == PZ_FORMAT_2) * 8 + is_decoder * 4 + width;
}

static pz_status load_places(pz_gpu *gpu, struct pzi_program *program, pz_diag *diag)
{
    static const char *const options[] = {"-DPZ_ONLY_PLACES"};
    static const char *const names[PLACE_KERNELS] = {"pz_tiles",  "pz_tops",   "pz_offsets",
                                                     "pz_gather", "pz_finish", "pz_gather_pieces"};

    return gpu->backend->load(gpu, pzi_gpu_source, options, 1, names, PLACE_KERNELS, program, diag);
}

static pz_status load_codec(pz_gpu *gpu, pz_mode mode, bool is_decoder, struct pzi_program *program,
                            pz_diag *diag)
{
    char width[16], format[16], name[32];
    const char *const options[] = {width, format,
                                   is_decoder ? "-DPZ_ONLY_DECODE" : "-DPZ_ONLY_ENCODE"};
    const char *const names[] = {name};

    snprintf(width, sizeof width, "-DPZ_W=%u", mode.width_bits);
    snprintf(format, sizeof format, "-DPZ_FORMAT=%u", mode.format);
    snprintf(name, sizeof name, "pz_%s_w%u", is_decoder ? "decode" : "encode", mode.width_bits);
    return gpu->backend->load(gpu, pzi_gpu_source, options, 3, names, 1, program, diag);
}

/* With the lock. */
static pz_status load_missing(pz_gpu *gpu, pz_mode mode, bool is_decoder, pz_diag *diag)
{
    const unsigned codec = program_of(mode, is_decoder);
    pz_status status = PZ_OK;

    if (!gpu->loaded[PZI_PLACES])
        status = load_places(gpu, &gpu->programs[PZI_PLACES], diag);
    gpu->loaded[PZI_PLACES] = status == PZ_OK;
    if (status != PZ_OK || gpu->loaded[codec])
        return status;
    status = load_codec(gpu, mode, is_decoder, &gpu->programs[codec], diag);
    gpu->loaded[codec] = status == PZ_OK;
    return status;
}

/* Loads what is not there yet of a direction.  Who needs nothing does not wait for others that
 * compile. */
static pz_status prepare(pz_gpu *gpu, pz_mode mode, bool is_decoder, pz_diag *diag)
{
    pz_status status;

    if (gpu->loaded[PZI_PLACES] && gpu->loaded[program_of(mode, is_decoder)])
        return PZ_OK;
    pthread_mutex_lock(&gpu->lock);
    status = load_missing(gpu, mode, is_decoder, diag);
    pthread_mutex_unlock(&gpu->lock);
    return status;
}

pz_status pz_gpu_prepare(pz_gpu *gpu, pz_mode mode, pz_diag *diag)
{
    pz_status status;

    if (gpu == NULL || !pzi_mode_is_valid(mode))
        return PZ_ERR_ARGUMENT;
    status = prepare(gpu, mode, false, diag);
    return status == PZ_OK ? prepare(gpu, mode, true, diag) : status;
}

/* ---- Workspaces ----------------------------------------------------------------------------- */

/* Where things lie in a workspace; only an encoder needs sizes and slots. */
struct layout {
    size_t state, sums, offsets, sizes, slots, end;
};

static size_t take(size_t *used, uint64_t bytes)
{
    const size_t at = *used;

    *used += (size_t)((bytes + WORKSPACE_STEP - 1) / WORKSPACE_STEP * WORKSPACE_STEP);
    return at;
}

static struct layout layout_of(uint64_t chunks)
{
    struct layout self;
    size_t used = 0;

    self.state = take(&used, sizeof(uint64_t) * PZI_STATE_WORDS);
    self.sums = take(&used, sizeof(uint64_t) * pzi_tiles_of(chunks));
    self.offsets = take(&used, sizeof(uint64_t) * (chunks + 1));
    self.sizes = take(&used, sizeof(uint16_t) * chunks);
    self.slots = take(&used, PZ_CHUNK_BYTES * chunks);
    self.end = used;
    return self;
}

pz_status pz_gpu_workspace_bytes(size_t raw_bytes, bool is_decoder, size_t *bytes)
{
    struct layout layout;

    if (bytes == NULL || raw_bytes > SIZE_MAX / 2)
        return PZ_ERR_ARGUMENT;
    layout = layout_of(pz_stream_chunks(raw_bytes));
    *bytes = is_decoder ? layout.sizes : layout.end;
    return PZ_OK;
}

static bool is_aligned(const void *memory, size_t alignment)
{
    return (uintptr_t)memory % alignment == 0;
}

/* What lies in a workspace; the last two not in that of a decoder. */
struct workspace {
    uint8_t *state, *sums, *offsets, *sizes, *slots;
};

static pz_status workspace_of(const pz_gpu *gpu, const pz_gpu_job *job, size_t raw_bytes,
                              bool is_decoder, struct workspace *self)
{
    uint8_t *const base = job != NULL ? job->workspace : NULL;
    struct layout layout;
    size_t bytes;

    if (gpu == NULL || base == NULL || job->size != sizeof *job || job->result == NULL ||
        !is_aligned(base, ALIGNMENT) || !is_aligned(job->result, sizeof(uint64_t)) ||
        pz_gpu_workspace_bytes(raw_bytes, is_decoder, &bytes) != PZ_OK ||
        job->workspace_bytes < bytes)
        return PZ_ERR_ARGUMENT;
    layout = layout_of(pz_stream_chunks(raw_bytes));
    *self = (struct workspace){base + layout.state, base + layout.sums, base + layout.offsets,
                               base + layout.sizes, base + layout.slots};
    return PZ_OK;
}

/* ---- Kernels -------------------------------------------------------------------------------- */

/* A job at work: what its kernels get. */
struct run {
    pz_gpu *gpu;
    const pz_gpu_job *job;
    struct workspace space;
    uint64_t raw_bytes, chunks;
};

static unsigned groups_for(const pz_gpu *gpu, const pz_gpu_job *job, uint64_t tasks)
{
    const unsigned limit = job->groups;
    unsigned groups = gpu->info.groups;

    if (limit > 0 && limit < groups)
        groups = limit;
    return tasks < groups ? (tasks > 0 ? (unsigned)tasks : 1) : groups;
}

pz_status pzi_gpu_launch(pz_gpu *gpu, const pz_gpu_job *job, void *kernel, uint64_t tasks,
                         const struct pzi_argument *arguments, unsigned count)
{
    return gpu->backend->launch(gpu, kernel, job->stream, groups_for(gpu, job, tasks), arguments,
                                count);
}

static pz_status launch(const struct run *self, void *kernel, uint64_t tasks,
                        const struct pzi_argument *arguments, unsigned count)
{
    return pzi_gpu_launch(self->gpu, self->job, kernel, tasks, arguments, count);
}

static void *place_kernel(const struct run *self, unsigned kernel)
{
    return self->gpu->programs[PZI_PLACES].kernels[kernel];
}

/* Offsets of chunks from their sizes, and the state.  Encoding, `bytes` is the room. */
static pz_status find_places(const struct run *self, const uint8_t *sizes, bool is_encoding,
                             uint64_t bytes)
{
    const struct workspace *const space = &self->space;
    const uint64_t limit = is_encoding ? UINT64_MAX : bytes;
    const uint64_t there = limit / 2 < self->chunks ? limit / 2 : self->chunks;
    const uint64_t tiles = pzi_tiles_of(self->chunks);
    const struct pzi_argument sum[] = {POINTER(sizes), U64(there), POINTER(space->sums)};
    const struct pzi_argument top[] = {
        U64(self->chunks),    U32(is_encoding),        U64(bytes),
        POINTER(space->sums), POINTER(space->offsets), POINTER(space->state)};
    const struct pzi_argument offset[] = {
        POINTER(sizes),       U64(self->raw_bytes),    U64(limit),
        POINTER(space->sums), POINTER(space->offsets), POINTER(space->state)};
    pz_status status = launch(self, place_kernel(self, TILES), tiles, sum, 3);

    if (status == PZ_OK)
        status = launch(self, place_kernel(self, TOPS), 1, top, 6);
    return status == PZ_OK ? launch(self, place_kernel(self, OFFSETS), tiles, offset, 6) : status;
}

static pz_status tell(const struct run *self)
{
    const struct pzi_argument arguments[] = {POINTER(self->space.state),
                                             POINTER(self->job->result)};

    return launch(self, place_kernel(self, FINISH), 1, arguments, 2);
}

/* ---- Jobs ----------------------------------------------------------------------------------- */

static pz_status begin(pz_gpu *gpu, const pz_gpu_job *job, const void *raw, size_t raw_bytes,
                       bool is_decoder, struct run *run)
{
    if (raw == NULL && raw_bytes != 0)
        return PZ_ERR_ARGUMENT;
    *run = (struct run){
        .gpu = gpu, .job = job, .raw_bytes = raw_bytes, .chunks = pz_stream_chunks(raw_bytes)};
    return workspace_of(gpu, job, raw_bytes, is_decoder, &run->space);
}

static pz_status encode_chunks(const struct run *self, pz_mode mode, const void *raw)
{
    const struct pzi_argument arguments[] = {POINTER(self->gpu->tables),
                                             U32(mode.format),
                                             U32(mode.encodings),
                                             U32(mode.exponent_bits),
                                             POINTER(raw),
                                             U64(self->raw_bytes),
                                             POINTER(self->space.slots),
                                             POINTER(self->space.sizes)};

    if (self->chunks == 0)
        return PZ_OK;
    return launch(self, self->gpu->programs[program_of(mode, false)].kernels[0], self->chunks,
                  arguments, 8);
}

pz_status pz_gpu_encode(pz_gpu *gpu, const pz_gpu_job *job, pz_mode mode, const void *raw,
                        size_t raw_bytes, size_t dst_bytes)
{
    struct run run;
    pz_status status = begin(gpu, job, raw, raw_bytes, false, &run);

    if (status == PZ_OK && !pzi_mode_is_valid(mode))
        status = PZ_ERR_ARGUMENT;
    if (status == PZ_OK)
        status = prepare(gpu, mode, false, NULL);
    if (status == PZ_OK)
        status = encode_chunks(&run, mode, raw);
    if (status == PZ_OK)
        status = find_places(&run, run.space.sizes, true, dst_bytes);
    return status == PZ_OK ? tell(&run) : status;
}

pz_status pz_gpu_gather(pz_gpu *gpu, const pz_gpu_job *job, size_t raw_bytes, void *dst)
{
    struct run run;
    pz_status status = begin(gpu, job, dst, raw_bytes, false, &run);

    if (status == PZ_OK && (!is_aligned(dst, 4) || place_kernel(&run, GATHER) == NULL))
        status = PZ_ERR_ARGUMENT;
    if (status == PZ_OK && run.chunks > 0) {
        const struct pzi_argument arguments[] = {
            POINTER(run.space.slots),   POINTER(run.space.sizes), U64(run.chunks),
            POINTER(run.space.offsets), POINTER(run.space.state), POINTER(dst)};

        status = launch(&run, place_kernel(&run, GATHER), run.chunks, arguments, 6);
    }
    return status;
}

pz_status pz_gpu_gather_pieces(pz_gpu *gpu, const pz_gpu_job *job, size_t raw_bytes,
                               const uint64_t *pieces, size_t piece_bytes)
{
    struct run run;
    pz_status status = begin(gpu, job, pieces, raw_bytes, false, &run);

    if (status == PZ_OK &&
        (gpu->backend->pin == NULL || !is_aligned(pieces, sizeof *pieces) || piece_bytes == 0 ||
         piece_bytes % PZ_CHUNK_BYTES != 0 || place_kernel(&run, GATHER_PIECES) == NULL))
        status = PZ_ERR_ARGUMENT;
    if (status == PZ_OK && run.chunks > 0) {
        const struct pzi_argument arguments[] = {
            POINTER(run.space.slots), POINTER(run.space.sizes),
            U64(run.chunks),          POINTER(run.space.offsets),
            POINTER(run.space.state), POINTER(pieces),
            U64(piece_bytes)};

        status = launch(&run, place_kernel(&run, GATHER_PIECES), run.chunks, arguments, 7);
    }
    return status;
}

pz_status pz_gpu_compress(pz_gpu *gpu, const pz_gpu_job *job, pz_mode mode, const void *raw,
                          size_t raw_bytes, void *dst, size_t dst_bytes)
{
    pz_status status;

    if ((dst == NULL && raw_bytes != 0) || !is_aligned(dst, 4))
        return PZ_ERR_ARGUMENT;
    status = pz_gpu_encode(gpu, job, mode, raw, raw_bytes, dst_bytes);
    return status == PZ_OK ? pz_gpu_gather(gpu, job, raw_bytes, dst) : status;
}

static pz_status decode_chunks(const struct run *self, pz_mode mode, const void *coded, void *raw)
{
    const struct pzi_argument arguments[] = {
        POINTER(self->gpu->tables),   U32(mode.format),
        U32(mode.exponent_bits),      POINTER(coded),
        POINTER(self->space.offsets), POINTER(raw),
        U64(self->raw_bytes),         POINTER(self->space.state)};

    if (self->chunks == 0)
        return PZ_OK;
    return launch(self, self->gpu->programs[program_of(mode, true)].kernels[0], self->chunks,
                  arguments, 8);
}

pz_status pz_gpu_decompress(pz_gpu *gpu, const pz_gpu_job *job, pz_mode mode, const void *coded,
                            size_t coded_bytes, void *raw, size_t raw_bytes)
{
    struct run run;
    pz_status status = begin(gpu, job, raw, raw_bytes, true, &run);

    if (status == PZ_OK && (!pzi_symbols_are_valid(mode) || (coded == NULL && coded_bytes != 0)))
        status = PZ_ERR_ARGUMENT;
    if (status == PZ_OK)
        status = prepare(gpu, mode, true, NULL);
    if (status == PZ_OK)
        status = find_places(&run, coded, false, coded_bytes);
    if (status == PZ_OK)
        status = decode_chunks(&run, mode, coded, raw);
    return status == PZ_OK ? tell(&run) : status;
}

pz_status pz_gpu_result_of(const pz_gpu_result *result, pz_where *where)
{
    const uint64_t fault =
        result->faults[result->faults[PZI_STATE_PLACES] == UINT64_MAX ? PZI_STATE_CHUNKS
                                                                      : PZI_STATE_PLACES];

    if (fault == UINT64_MAX)
        return PZ_OK;
    if (where != NULL)
        *where = (pz_where){fault >> 8, 0, 0};
    return (pz_status)(fault & 0xff);
}

size_t pz_gpu_predicted_bytes(size_t raw_bytes, double ratio)
{
    const double wanted = ratio > 0 ? 1.02 * (double)raw_bytes / ratio : (double)raw_bytes;
    size_t bound = raw_bytes;

    pz_stream_bound(raw_bytes, &bound);
    return wanted < (double)bound ? (size_t)wanted : bound;
}

/* ---- What back ends do without more --------------------------------------------------------- */

pz_status pz_gpu_alloc(pz_gpu *gpu, pz_gpu_place place, size_t bytes, void **memory)
{
    if (gpu == NULL || memory == NULL || bytes == 0 ||
        (place != PZ_GPU_DEVICE && place != PZ_GPU_PINNED))
        return PZ_ERR_ARGUMENT;
    return gpu->backend->alloc(gpu, place, bytes, memory);
}

void pz_gpu_free(pz_gpu *gpu, pz_gpu_place place, void *memory)
{
    if (memory != NULL)
        gpu->backend->free(gpu, place, memory);
}

pz_status pz_gpu_stream_new(pz_gpu *gpu, void **stream)
{
    return gpu == NULL || stream == NULL ? PZ_ERR_ARGUMENT : gpu->backend->stream_new(gpu, stream);
}

void pz_gpu_stream_free(pz_gpu *gpu, void *stream)
{
    if (stream != NULL)
        gpu->backend->stream_free(gpu, stream);
}

pz_status pz_gpu_copy(pz_gpu *gpu, void *stream, void *to, const void *from, size_t bytes)
{
    if (gpu == NULL || ((to == NULL || from == NULL) && bytes != 0))
        return PZ_ERR_ARGUMENT;
    return bytes == 0 ? PZ_OK : gpu->backend->copy(gpu, stream, to, from, bytes);
}

pz_status pz_gpu_wait(pz_gpu *gpu, void *stream)
{
    return gpu == NULL ? PZ_ERR_ARGUMENT : gpu->backend->wait(gpu, stream);
}

pz_status pz_gpu_mark(pz_gpu *gpu, void *stream, void **mark)
{
    return gpu == NULL || mark == NULL ? PZ_ERR_ARGUMENT : gpu->backend->mark(gpu, stream, mark);
}

pz_status pz_gpu_elapsed(pz_gpu *gpu, void *begin, void *end, double *seconds)
{
    if (gpu == NULL || begin == NULL || end == NULL || seconds == NULL)
        return PZ_ERR_ARGUMENT;
    return gpu->backend->elapsed(gpu, begin, end, seconds);
}

void pz_gpu_mark_free(pz_gpu *gpu, void *mark)
{
    if (mark != NULL)
        gpu->backend->mark_free(gpu, mark);
}

pz_status pz_gpu_follow(pz_gpu *gpu, void *stream, void *mark)
{
    if (gpu == NULL || mark == NULL)
        return PZ_ERR_ARGUMENT;
    return gpu->backend->follow(gpu, stream, mark);
}

pz_status pz_gpu_reached(pz_gpu *gpu, void *mark)
{
    return gpu == NULL || mark == NULL ? PZ_ERR_ARGUMENT : gpu->backend->reached(gpu, mark);
}

pz_status pz_gpu_await(pz_gpu *gpu, void *mark)
{
    return gpu == NULL || mark == NULL ? PZ_ERR_ARGUMENT : gpu->backend->await(gpu, mark);
}

pz_status pz_gpu_pin(void *gpu, void *memory, size_t bytes)
{
    struct pz_gpu *const self = gpu;

    if (self == NULL || memory == NULL || bytes == 0 || !is_aligned(memory, PAGE_BYTES) ||
        bytes % PAGE_BYTES != 0)
        return PZ_ERR_ARGUMENT;
    return self->backend->pin != NULL ? self->backend->pin(self, memory, bytes) : PZ_ERR_MEMORY;
}

void pz_gpu_unpin(void *gpu, void *memory, size_t bytes)
{
    struct pz_gpu *const self = gpu;

    (void)bytes;
    if (self->backend->unpin != NULL)
        self->backend->unpin(self, memory);
}
