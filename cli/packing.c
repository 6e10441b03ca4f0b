/* Packing files of tensors: see packing.h. */
#include "packing.h"

#include "batch.h"
#include "errors.h"
#include "memory.h"
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {[PACKING_ANY] = "auto",
                                    [PACKING_RAW] = "raw",
                                    [PACKING_NPY] = "npy",
                                    [PACKING_SAFETENSORS] = "safetensors"};

const char *option_kind(const char *text, void *target)
{
    for (size_t i = 0; i < LENGTH(kinds); i++)
        if (strcmp(kinds[i], text) == 0) {
            *(packing_kind *)target = (packing_kind)i;
            return NULL;
        }
    return "known are raw, npy, safetensors and auto";
}

const char *option_dtype(const char *text, void *target)
{
    if (pz_dtype_named(text, target) == PZ_OK)
        return NULL;
    return "known are f32, bf16, f16, f64, c64, c128, i64 ... i8, u64 ... u8, bool, f8_e4m3, "
           "f8_e5m2, f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz, f6_e2m3, f6_e3m2 and f4";
}

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
    unsigned char *header; /* of the source, before its first tensor */
    size_t header_bytes;
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

/* ---- The parts that all kinds have ---- */

/* Reads the header, of a size that is limited. */
static int take_header(struct packing *self, size_t bytes)
{
    size_t got;
    int status;

    if (self->in->bytes < bytes)
        return fail(self->in->name, NULL, "get the file again",
                    "the file ends within its header of %zu bytes", bytes);
    self->header = memory_resize(NULL, bytes, 1);
    self->header_bytes = bytes;
    status = source_fill(self->in, self->header, bytes, &got);
    if (status == STATUS_OK && got < bytes)
        return fail(self->in->name, NULL, "get the file again",
                    "the file ends within its header of %zu bytes", bytes);
    return status;
}

/* Whether a file whose size is known has the size that its header tells. */
static int check_size(const struct packing *self, uint64_t data_bytes)
{
    const uint64_t told = self->header_bytes + data_bytes;

    if (self->in->bytes == PZ_UNKNOWN || self->in->bytes == told)
        return STATUS_OK;
    return fail(self->in->name, NULL, "get the file again, or use --format raw",
                "it has %" PRIu64 " bytes instead of %" PRIu64, self->in->bytes, told);
}

static int put_metadata(struct packing *self, packing_kind kind)
{
    const pz_metadata entries[] = {
        {"source.format", kinds[kind], strlen(kinds[kind])},
        {"source.header", self->header, self->header_bytes},
    };
    pz_status status = pz_writer_metadata(self->writer, entries, self->header_bytes > 0 ? 2 : 1);

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
            return fail(self->in->name, name, "get the file again",
                        "the file ends %" PRIu64 " bytes before its data is complete", left);
    }
    return STATUS_OK;
}

static int put_tensor(struct packing *self, pz_tensor *tensor, uint64_t data_bytes)
{
    const unsigned width = pz_profile_width(self->options->profile, tensor->dtype);
    pz_status result;
    int status;

    tensor->size = sizeof *tensor;
    result = pz_mode_named(self->options->codec, width, &tensor->mode);
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

/* The name of the only tensor of a file. */
static const char *tensor_name(const struct packing *self)
{
    return self->in->is_standard ? "stdin" : batch_base_name(self->in->name);
}

/* ---- The kinds ---- */

static int fail_raw_size(const struct packing *self, uint64_t told)
{
    return fail(self->in->name, NULL, "check --dtype and --shape",
                "it has %" PRIu64 " bytes instead of %" PRIu64, self->in->bytes, told);
}

static int pack_raw(struct packing *self)
{
    const packing_options *options = self->options;
    const uint64_t unknown = PZ_UNKNOWN;
    pz_tensor tensor = {
        .name = tensor_name(self), .dtype = options->dtype, .rank = 1, .shape = &unknown};
    uint64_t bytes = PZ_UNKNOWN;
    int status;

    if (options->dtype == 0)
        return fail(self->in->name, NULL,
                    "tell with --dtype what its elements are, as in --dtype bf16",
                    "it is neither .npy nor .safetensors");
    if (options->shape != NULL) {
        tensor.rank = options->rank;
        tensor.shape = options->shape;
        if (pz_tensor_bytes(tensor.dtype, tensor.rank, tensor.shape, &bytes) != PZ_OK)
            return fail_usage("--shape: it makes no size in whole bytes below 2^63");
        if (self->in->bytes != PZ_UNKNOWN && self->in->bytes != bytes)
            return fail_raw_size(self, bytes);
    }
    status = put_metadata(self, PACKING_RAW);
    return status == STATUS_OK ? put_tensor(self, &tensor, bytes) : status;
}

static int pack_npy(struct packing *self)
{
    static const pz_metadata fortran = {"fortran_order", "1", 1};
    pz_tensor tensor = {.name = tensor_name(self), .metadata = &fortran};
    pz_diag diag = {0};
    pz_npy npy;
    size_t header_bytes;
    pz_status result =
        pz_npy_header_bytes(self->in->start, self->in->start_bytes, &header_bytes, &diag);
    int status;

    if (result != PZ_OK)
        return fail_status(self->in->name, result, &diag);
    status = take_header(self, header_bytes);
    if (status != STATUS_OK)
        return status;
    result = pz_npy_parse(self->header, header_bytes, self->options->dtype, &npy, &diag);
    if (result != PZ_OK)
        return fail_status(self->in->name, result, &diag);
    status = check_size(self, npy.data_bytes);
    if (status == STATUS_OK)
        status = put_metadata(self, PACKING_NPY);
    tensor.dtype = npy.dtype;
    tensor.rank = npy.rank;
    tensor.shape = npy.shape;
    tensor.metadata_count = npy.fortran_order ? 1 : 0;
    return status == STATUS_OK ? put_tensor(self, &tensor, npy.data_bytes) : status;
}

static int put_entries(struct packing *self, const pz_safetensors *file)
{
    int status = check_size(self, pz_safetensors_data_bytes(file));

    if (status == STATUS_OK)
        status = put_metadata(self, PACKING_SAFETENSORS);
    for (size_t i = 0; i < pz_safetensors_count(file) && status == STATUS_OK; i++) {
        const pz_safetensors_entry *entry = pz_safetensors_tensor(file, i);
        pz_tensor tensor = {
            .name = entry->name, .dtype = entry->dtype, .rank = entry->rank, .shape = entry->shape};

        status = put_tensor(self, &tensor, entry->bytes);
    }
    return status;
}

static int pack_safetensors(struct packing *self)
{
    pz_safetensors *file;
    pz_diag diag = {0};
    size_t header_bytes;
    pz_status result =
        pz_safetensors_header_bytes(self->in->start, self->in->start_bytes, &header_bytes, &diag);
    int status;

    if (result != PZ_OK)
        return fail_status(self->in->name, result, &diag);
    status = take_header(self, header_bytes);
    if (status != STATUS_OK)
        return status;
    result = pz_safetensors_parse(self->header, header_bytes, &file, &diag);
    if (result != PZ_OK)
        return fail_status(self->in->name, result, &diag);
    status = put_entries(self, file);
    pz_safetensors_free(file);
    return status;
}

/* By its first bytes; what is neither of the others is raw. */
static packing_kind guess_kind(const source *in)
{
    size_t header_bytes;

    if (in->start_bytes >= 6 && memcmp(in->start, "\x93NUMPY", 6) == 0)
        return PACKING_NPY;
    if (in->start_bytes > PZ_SAFETENSORS_START_BYTES &&
        in->start[PZ_SAFETENSORS_START_BYTES] == '{' &&
        pz_safetensors_header_bytes(in->start, in->start_bytes, &header_bytes, NULL) == PZ_OK)
        return PACKING_SAFETENSORS;
    /* A file that says so by its name gets the message of its format. */
    if (batch_has_suffix(in->name, ".npy"))
        return PACKING_NPY;
    return batch_has_suffix(in->name, ".safetensors") ? PACKING_SAFETENSORS : PACKING_RAW;
}

static int pack(struct packing *self)
{
    packing_kind kind = self->options->kind;
    int status = source_peek(self->in);

    if (status != STATUS_OK)
        return status;
    if (kind == PACKING_ANY && self->in->start_bytes >= 4 &&
        memcmp(self->in->start, "\x89PZT", 4) == 0)
        return fail(self->in->name, NULL, "use --format raw to compress it again",
                    "it is a .pz file already");
    if (kind == PACKING_ANY)
        kind = guess_kind(self->in);
    if (kind == PACKING_NPY)
        status = pack_npy(self);
    else
        status = kind == PACKING_RAW ? pack_raw(self) : pack_safetensors(self);
    return status == STATUS_OK ? finish(self) : status;
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
    free(self.header);
    free(self.piece);
    return exit_status;
}
