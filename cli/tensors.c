/* Files of tensors: see tensors.h. */
#include "tensors.h"

#include "batch.h"
#include "errors.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {[TENSORS_ANY] = "auto",
                                    [TENSORS_RAW] = "raw",
                                    [TENSORS_NPY] = "npy",
                                    [TENSORS_SAFETENSORS] = "safetensors"};

const char *option_kind(const char *text, void *target)
{
    for (size_t i = 0; i < LENGTH(kinds); i++)
        if (strcmp(kinds[i], text) == 0) {
            *(tensors_kind *)target = (tensors_kind)i;
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

/* ---- Header ---- */

/* Reads the header, of a size that is limited. */
static int take_header(tensors *self, size_t bytes)
{
    size_t got = 0;
    int status = STATUS_OK;

    if (self->in->bytes >= bytes) {
        self->header = memory_resize(NULL, bytes, 1);
        self->header_bytes = bytes;
        status = source_fill(self->in, self->header, bytes, &got);
    }
    if (status == STATUS_OK && got < bytes)
        return fail(self->in->name, NULL, "get the file again",
                    "the file ends within its header of %zu bytes", bytes);
    return status;
}

/* Whether a file whose size is known has the size that its header tells. */
static int check_size(const tensors *self, uint64_t data_bytes)
{
    const uint64_t told = self->header_bytes + data_bytes;

    if (self->in->bytes == PZ_UNKNOWN || self->in->bytes == told)
        return STATUS_OK;
    return fail(self->in->name, NULL, "get the file again, or use --format raw",
                "it has %" PRIu64 " bytes instead of %" PRIu64, self->in->bytes, told);
}

/* The shape as it was given. */
static const char *shape_text(const tensors_options *options)
{
    const char *text = "";

    for (uint32_t i = 0; i < options->rank; i++)
        text = memory_text("%s%s%" PRIu64, text, i > 0 ? "," : "", options->shape[i]);
    return text;
}

/* Whether a raw file can have the shape that was told for it. */
static int check_shape(tensors *self)
{
    const tensors_options *options = self->options;
    uint64_t bytes;

    if (options->shape == NULL)
        return STATUS_OK;
    if (pz_tensor_bytes(options->dtype, options->rank, options->shape, &bytes) != PZ_OK)
        return fail_usage("--shape '%s': of %s elements it makes no size in whole bytes below 2^63",
                          shape_text(options), pz_dtype_name(options->dtype));
    if (self->in->bytes != PZ_UNKNOWN && self->in->bytes != bytes)
        return fail(self->in->name, NULL, "check --dtype and --shape",
                    "it has %" PRIu64 " bytes instead of %" PRIu64, self->in->bytes, bytes);
    self->raw_bytes = bytes;
    return STATUS_OK;
}

static int open_raw(tensors *self)
{
    self->count = 1;
    self->raw_bytes = PZ_UNKNOWN;
    if (self->options->dtype != 0)
        return check_shape(self);
    return fail(self->in->name, NULL, "tell with --dtype what its elements are, as in --dtype bf16",
                "it is neither .npy nor .safetensors");
}

/* Whether the type that was told for the elements, if any, is the one that the file names. */
static int check_dtype(const tensors *self, pz_dtype dtype)
{
    if (self->options->dtype == 0 || self->options->dtype == dtype)
        return STATUS_OK;
    return fail(self->in->name, NULL, "leave --dtype out, or use --format raw",
                "its elements are %s, not %s", pz_dtype_name(dtype),
                pz_dtype_name(self->options->dtype));
}

static int open_npy(tensors *self)
{
    pz_diag diag = {0};
    size_t header_bytes;
    pz_status result =
        pz_npy_header_bytes(self->in->start, self->in->start_bytes, &header_bytes, &diag);
    int status;

    if (result != PZ_OK)
        return fail_status(self->in->name, result, &diag);
    status = take_header(self, header_bytes);
    if (status != STATUS_OK)
        return status;
    result = pz_npy_parse(self->header, header_bytes, self->options->dtype, &self->npy, &diag);
    if (result != PZ_OK)
        return fail_status(self->in->name, result, &diag);
    self->count = 1;
    status = check_dtype(self, self->npy.dtype);
    return status == STATUS_OK ? check_size(self, self->npy.data_bytes) : status;
}

static int open_safetensors(tensors *self)
{
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
    result = pz_safetensors_parse(self->header, header_bytes, &self->safetensors, &diag);
    if (result != PZ_OK)
        return fail_status(self->in->name, result, &diag);
    self->count = pz_safetensors_count(self->safetensors);
    for (size_t i = 0; i < self->count && status == STATUS_OK; i++)
        status = check_dtype(self, pz_safetensors_tensor(self->safetensors, i)->dtype);
    return status == STATUS_OK ? check_size(self, pz_safetensors_data_bytes(self->safetensors))
                               : status;
}

/* By its first bytes; what is neither of the others is raw. */
static tensors_kind guess_kind(const source *in)
{
    size_t header_bytes;

    if (in->start_bytes >= 6 && memcmp(in->start, "\x93NUMPY", 6) == 0)
        return TENSORS_NPY;
    if (in->start_bytes > PZ_SAFETENSORS_START_BYTES &&
        in->start[PZ_SAFETENSORS_START_BYTES] == '{' &&
        pz_safetensors_header_bytes(in->start, in->start_bytes, &header_bytes, NULL) == PZ_OK)
        return TENSORS_SAFETENSORS;
    /* A file that says so by its name gets the message of its format. */
    if (batch_has_suffix(in->name, ".npy"))
        return TENSORS_NPY;
    return batch_has_suffix(in->name, ".safetensors") ? TENSORS_SAFETENSORS : TENSORS_RAW;
}

static int open_kind(tensors *self)
{
    switch (self->kind) {
    case TENSORS_NPY:
        return open_npy(self);
    case TENSORS_SAFETENSORS:
        return open_safetensors(self);
    default:
        return open_raw(self);
    }
}

int tensors_open(tensors *self, source *in, const tensors_options *options)
{
    int status = source_peek(in);

    *self = (tensors){.in = in, .options = options, .kind = options->kind};
    if (status != STATUS_OK)
        return status;
    if (self->kind == TENSORS_ANY && in->start_bytes >= 4 && memcmp(in->start, "\x89PZT", 4) == 0)
        return fail(in->name, NULL, "use --format raw to take its bytes as they are",
                    "it is a .pz file already");
    if (self->kind == TENSORS_ANY)
        self->kind = guess_kind(in);
    self->kind_name = kinds[self->kind];
    status = open_kind(self);
    if (status != STATUS_OK)
        tensors_close(self);
    return status;
}

void tensors_close(tensors *self)
{
    pz_safetensors_free(self->safetensors);
    free(self->header);
    self->safetensors = NULL;
    self->header = NULL;
}

/* ---- Tensors ---- */

/* The name of the only tensor of a file. */
static const char *only_name(const tensors *self)
{
    return self->in->is_standard ? "stdin" : batch_base_name(self->in->name);
}

static void raw_at(const tensors *self, pz_tensor *tensor, uint64_t *data_bytes)
{
    static const uint64_t unknown = PZ_UNKNOWN;
    const tensors_options *options = self->options;

    *tensor = (pz_tensor){.size = sizeof *tensor,
                          .name = only_name(self),
                          .dtype = options->dtype,
                          .rank = options->shape != NULL ? options->rank : 1,
                          .shape = options->shape != NULL ? options->shape : &unknown};
    *data_bytes = self->raw_bytes;
}

static void npy_at(const tensors *self, pz_tensor *tensor, uint64_t *data_bytes)
{
    static const pz_metadata fortran = {"fortran_order", "1", 1};

    *tensor = (pz_tensor){.size = sizeof *tensor,
                          .name = only_name(self),
                          .dtype = self->npy.dtype,
                          .rank = self->npy.rank,
                          .shape = self->npy.shape,
                          .metadata = &fortran,
                          .metadata_count = self->npy.fortran_order ? 1 : 0};
    *data_bytes = self->npy.data_bytes;
}

static void safetensors_at(const tensors *self, size_t index, pz_tensor *tensor,
                           uint64_t *data_bytes)
{
    const pz_safetensors_entry *entry = pz_safetensors_tensor(self->safetensors, index);

    *tensor = (pz_tensor){.size = sizeof *tensor,
                          .name = entry->name,
                          .dtype = entry->dtype,
                          .rank = entry->rank,
                          .shape = entry->shape};
    *data_bytes = entry->bytes;
}

void tensors_at(const tensors *self, size_t index, pz_tensor *tensor, uint64_t *data_bytes)
{
    switch (self->kind) {
    case TENSORS_NPY:
        npy_at(self, tensor, data_bytes);
        break;
    case TENSORS_SAFETENSORS:
        safetensors_at(self, index, tensor, data_bytes);
        break;
    default:
        raw_at(self, tensor, data_bytes);
        break;
    }
}

int tensors_fail_short(const tensors *self, const char *name, uint64_t left)
{
    return fail(self->in->name, name, "get the file again",
                "the file ends %" PRIu64 " bytes before its data is complete", left);
}
