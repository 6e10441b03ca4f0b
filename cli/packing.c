/* Packing files of tensors: see packing.h. */
#include "packing.h"

#include "errors.h"
#include "memory.h"
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *option_profile(const char *text, void *target)
{
    return pz_profile_named(text, target) == PZ_OK ? NULL : "known are native and paper";
}

/* What the work on one file needs. */
struct packing {
    source *in;
    output_file *out;
    const packing_options *options;
    packing_result *result;
    pz_writer *writer;
    tensors file;
    unsigned char *piece; /* as large as a segment */
    size_t piece_bytes;
};

static pz_status write_out(void *user, const void *data, size_t bytes, size_t *done)
{
    struct packing *self = user;

    if (output_write(self->out, data, bytes) != STATUS_OK)
        return PZ_ERR_IO;
    self->result->stored_bytes += bytes;
    *done = bytes;
    return PZ_OK;
}

/* The message of a failed write stands already. */
static int fail_writer(const struct packing *self, pz_status status)
{
    if (self->out->failed)
        return STATUS_DATA;
    return fail_status(self->in->name, status, NULL);
}

static int put_metadata(struct packing *self)
{
    const tensors *file = &self->file;
    const pz_metadata entries[] = {
        {"source.format", file->kind_name, strlen(file->kind_name)},
        {"source.header", file->header, file->header_bytes},
    };
    pz_status status = pz_writer_metadata(self->writer, entries, file->header_bytes > 0 ? 2 : 1);

    return status == PZ_OK ? STATUS_OK : fail_writer(self, status);
}

/* Copies data_bytes, or all that is left if they are PZ_UNKNOWN. */
static int put_data(struct packing *self, const char *name, uint64_t data_bytes)
{
    uint64_t left = data_bytes;

    while (left > 0) {
        const size_t want = left < self->piece_bytes ? (size_t)left : self->piece_bytes;
        pz_status result;
        size_t got;
        int status = source_fill(self->in, self->piece, want, &got);

        if (status != STATUS_OK)
            return status;
        result = pz_writer_data(self->writer, self->piece, got);
        if (result != PZ_OK)
            return fail_writer(self, result);
        progress_add(got);
        self->result->raw_bytes += got;
        left -= got;
        if (got < want && data_bytes == PZ_UNKNOWN)
            return STATUS_OK;
        if (got < want)
            return tensors_fail_short(&self->file, name, left);
    }
    return STATUS_OK;
}

static int put_tensor(struct packing *self, pz_tensor *tensor, uint64_t data_bytes)
{
    pz_status result;
    int status;

    result = pz_mode_of(self->options->codec, self->options->profile, tensor->dtype, &tensor->mode);
    if (result == PZ_OK)
        result = pz_writer_begin(self->writer, tensor);
    if (result != PZ_OK)
        return fail_writer(self, result);
    status = put_data(self, tensor->name, data_bytes);
    if (status != STATUS_OK)
        return status;
    result = pz_writer_end(self->writer);
    if (result == PZ_ERR_ARGUMENT)
        return fail(self->in->name, NULL, "check --dtype and --shape",
                    "%" PRIu64 " bytes are not a whole number of rows of %s elements",
                    self->result->raw_bytes, pz_dtype_name(tensor->dtype));
    self->result->tensors++;
    return result == PZ_OK ? STATUS_OK : fail_writer(self, result);
}

/* After the last tensor the file must end. */
static int finish(struct packing *self)
{
    size_t got;
    pz_status result;
    int status = source_fill(self->in, self->piece, 1, &got);

    if (status != STATUS_OK)
        return status;
    if (got > 0)
        return fail(self->in->name, NULL, "use --format raw to keep them",
                    "there are bytes after the last tensor");
    result = pz_writer_finish(self->writer);
    return result == PZ_OK ? STATUS_OK : fail_writer(self, result);
}

static int put_tensors(struct packing *self)
{
    int status = put_metadata(self);

    for (size_t i = 0; i < self->file.count && status == STATUS_OK; i++) {
        pz_tensor tensor;
        uint64_t data_bytes;

        tensors_at(&self->file, i, &tensor, &data_bytes);
        status = put_tensor(self, &tensor, data_bytes);
    }
    return status == STATUS_OK ? finish(self) : status;
}

static int pack(struct packing *self)
{
    int status = tensors_open(&self->file, self->in, &self->options->file);

    if (status != STATUS_OK)
        return status;
    status = put_tensors(self);
    tensors_close(&self->file);
    return status;
}

int packing_run(source *in, output_file *out, const packing_options *options,
                packing_result *result)
{
    struct packing self = {.in = in, .out = out, .options = options, .result = result};
    const pz_writer_options writer_options = {.size = sizeof writer_options,
                                              .write = write_out,
                                              .user = &self,
                                              .segment_bytes = options->segment_bytes,
                                              .threads = options->threads};
    pz_status status = pz_writer_new(&writer_options, &self.writer);
    int exit_status;

    *result = (packing_result){0};
    if (status != PZ_OK)
        return fail_status(in->name, status, NULL);
    self.piece_bytes =
        options->segment_bytes != 0 ? (size_t)options->segment_bytes : PZ_SEGMENT_BYTES;
    self.piece = memory_resize(NULL, self.piece_bytes, 1);
    progress_start(in->name, in->bytes);
    exit_status = pack(&self);
    progress_end();
    pz_writer_free(self.writer);
    free(self.piece);
    return exit_status;
}
