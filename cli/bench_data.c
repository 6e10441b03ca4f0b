/* Data for bench: see bench_data.h. */
#include "bench_data.h"

#include "activations.h"
#include "errors.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static void release_sets(void *object)
{
    bench_sets *self = object;

    for (size_t i = 0; i < self->count; i++)
        free(self->list[i].data);
    free(self->list);
}

/* The set of a file for a type, made if there is none. */
static bench_set *find_set(bench_sets *self, const char *name, pz_dtype dtype)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->list[i].dtype == dtype && strcmp(self->list[i].name, name) == 0)
            return &self->list[i];
    if (self->count == 0)
        own(self, release_sets);
    self->list = memory_resize(self->list, self->count + 1, sizeof *self->list);
    self->list[self->count] = (bench_set){.name = memory_text("%s", name), .dtype = dtype};
    return &self->list[self->count++];
}

/* ---- Files of tensors ---- */

/* Reads at most as much as the set still takes; *got is less at the end of the file. */
static int read_some(bench_set *set, source *in, size_t want, size_t *got)
{
    int status;

    set->data = memory_resize(set->data, set->bytes + want, 1);
    status = source_fill(in, set->data + set->bytes, want, got);
    set->bytes += *got;
    return status;
}

/* A file that does not tell its size is read piece by piece. */
static int read_tensor(const bench_sets *self, bench_set *set, const tensors *file,
                       const pz_tensor *tensor, uint64_t data_bytes)
{
    enum { PIECE = 1 << 20 };
    uint64_t left = data_bytes;

    while (left > 0 && set->bytes < self->limit_bytes) {
        size_t want = self->limit_bytes - set->bytes, got;
        int status;

        want = want < PIECE ? want : PIECE;
        want = left < want ? (size_t)left : want;
        status = read_some(set, file->in, want, &got);
        if (status != STATUS_OK)
            return status;
        left -= got;
        if (got < want)
            return data_bytes == PZ_UNKNOWN ? STATUS_OK
                                            : tensors_fail_short(file, tensor->name, left);
    }
    return data_bytes != PZ_UNKNOWN ? source_skip(file->in, left) : STATUS_OK;
}

static int read_tensors(bench_sets *self, const tensors *file)
{
    int status = STATUS_OK;

    for (size_t i = 0; i < file->count && status == STATUS_OK; i++) {
        pz_tensor tensor;
        uint64_t data_bytes;

        tensors_at(file, i, &tensor, &data_bytes);
        status = read_tensor(self, find_set(self, file->in->name, tensor.dtype), file, &tensor,
                             data_bytes);
    }
    return status;
}

int bench_read_file(bench_sets *self, const char *file, const tensors_options *options)
{
    const size_t before = self->count;
    tensors content;
    source in;
    int status = source_open(&in, file);

    if (status != STATUS_OK)
        return status;
    status = tensors_open(&content, &in, options);
    if (status == STATUS_OK) {
        status = read_tensors(self, &content);
        tensors_close(&content);
    }
    source_close(&in);
    for (size_t i = before; i < self->count && status == STATUS_OK; i++)
        if (self->list[i].bytes < PZ_CHUNK_BYTES)
            status = fail(file, pz_dtype_name(self->list[i].dtype), "give larger tensors",
                          "%zu bytes are too few to be timed", self->list[i].bytes);
    return status;
}

/* ---- Index ---- */

static int add_chunk(void *user, const activations_chunk *chunk)
{
    bench_sets *self = user;
    bench_set *set = find_set(self, "activations", chunk->dtype);

    if (chunk->bytes != PZ_CHUNK_BYTES || self->limit_bytes - set->bytes < chunk->bytes)
        return STATUS_OK;
    set->data = memory_resize(set->data, set->bytes + chunk->bytes, 1);
    memcpy(set->data + set->bytes, chunk->data, chunk->bytes);
    set->bytes += chunk->bytes;
    return STATUS_OK;
}

int bench_read_index(bench_sets *self, const char *file)
{
    int status = activations_read(file, PZ_PROFILE_NATIVE, add_chunk, self);

    for (size_t i = 0; i < self->count && status == STATUS_OK; i++)
        if (self->list[i].bytes == 0)
            status = fail(file, pz_dtype_name(self->list[i].dtype), "give an index of activations",
                          "it has no chunk of 4096 bytes");
    return status;
}

/* ---- Order ---- */

/* The same numbers in every run of the program, so that runs can be compared. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void bench_fill(const bench_set *set, unsigned char *to, size_t bytes)
{
    const size_t chunks = set->bytes / PZ_CHUNK_BYTES;
    uint64_t state = 1;
    size_t *order;

    if (set->bytes >= bytes) {
        memcpy(to, set->data, bytes);
        return;
    }
    order = memory_new(chunks, sizeof *order);
    for (size_t i = 0; i < chunks; i++)
        order[i] = i;
    for (size_t at = 0; at < bytes / PZ_CHUNK_BYTES; at++) {
        const size_t i = at % chunks;
        const size_t pick = i + (size_t)(next_random(&state) % (chunks - i));
        const size_t chosen = order[pick];

        order[pick] = order[i];
        order[i] = chosen;
        memcpy(to + at * PZ_CHUNK_BYTES, set->data + chosen * PZ_CHUNK_BYTES, PZ_CHUNK_BYTES);
    }
    free(order);
}
