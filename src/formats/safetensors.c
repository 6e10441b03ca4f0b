/* Headers of .safetensors files, by the rules of version 0.8: JSON that names for every tensor
 * type, shape and place, without gaps, overlaps or duplicates.  Knows no container. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/diag.h"
#include "base/dtype.h"
#include "base/le.h"

enum { HEADER_MAX_BYTES = 100000000, SHOWN_NAME = 80 };

struct pz_safetensors {
    json_t *root; /* holds the names */
    pz_safetensors_entry *entries;
    uint64_t *dimensions; /* of all shapes */
    size_t count;
    uint64_t data_bytes;
};

pz_status pz_safetensors_header_bytes(const void *start, size_t start_bytes, size_t *header_bytes,
                                      pz_diag *diag)
{
    uint64_t bytes;

    if (start_bytes < PZ_SAFETENSORS_START_BYTES)
        return pzi_fail(diag, PZ_ERR_TRUNCATED, "it is too short for a .safetensors file");
    bytes = pzi_load_le64(start);
    if (bytes > HEADER_MAX_BYTES)
        return pzi_fail(diag, PZ_ERR_FORMAT,
                        "it is no .safetensors file: the size of its header is %" PRIu64
                        ", allowed are 100 MB",
                        bytes);
    *header_bytes = PZ_SAFETENSORS_START_BYTES + (size_t)bytes;
    return PZ_OK;
}

/* ---- One tensor ---- */

static pz_status fail_tensor(const char *name, pz_status status, const char *what, pz_diag *diag)
{
    char path[SHOWN_NAME + 16];

    snprintf(path, sizeof path, "tensor '%.*s'", SHOWN_NAME, name);
    return pzi_fail_at(diag, status, path, "%s", what);
}

static bool take_number(const json_t *value, uint64_t *number)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

/* The dimensions go to *next, which moves on. */
static bool take_shape(const json_t *shape, pz_safetensors_entry *entry, uint64_t **next)
{
    entry->rank = (uint32_t)json_array_size(shape);
    entry->shape = *next;
    for (uint32_t i = 0; i < entry->rank; i++)
        if (!take_number(json_array_get(shape, i), (*next)++))
            return false;
    return json_is_array(shape);
}

static pz_status take_tensor(const char *name, const json_t *value, pz_safetensors_entry *entry,
                             uint64_t **next, pz_diag *diag)
{
    const char *const dtype = json_string_value(json_object_get(value, "dtype"));
    const json_t *const offsets = json_object_get(value, "data_offsets");
    uint64_t end, bytes;

    entry->name = name;
    if (dtype == NULL)
        return fail_tensor(name, PZ_ERR_MEANING, "its dtype is missing or no text", diag);
    entry->dtype = pzi_dtype_of_safetensors(dtype);
    if (entry->dtype == 0)
        return fail_tensor(name, PZ_ERR_FORMAT, "its dtype is not known", diag);
    if (!take_shape(json_object_get(value, "shape"), entry, next))
        return fail_tensor(name, PZ_ERR_MEANING, "its shape is missing or no list of sizes", diag);
    if (json_array_size(offsets) != 2 ||
        !take_number(json_array_get(offsets, 0), &entry->begin_bytes) ||
        !take_number(json_array_get(offsets, 1), &end) || end < entry->begin_bytes)
        return fail_tensor(name, PZ_ERR_MEANING,
                           "its data_offsets are missing or no pair of a begin and an end", diag);
    entry->bytes = end - entry->begin_bytes;
    if (pz_tensor_bytes(entry->dtype, entry->rank, entry->shape, &bytes) != PZ_OK ||
        bytes != entry->bytes)
        return fail_tensor(name, PZ_ERR_MEANING, "its data_offsets do not fit its dtype and shape",
                           diag);
    return PZ_OK;
}

/* ---- All tensors ---- */

/* Dimensions of all shapes, for memory. */
static size_t count_dimensions(json_t *root)
{
    size_t count = 0;
    const char *name;
    json_t *value;

    json_object_foreach(root, name, value) count +=
        json_array_size(json_object_get(value, "shape"));
    return count;
}

static pz_status check_metadata(const json_t *metadata, pz_diag *diag)
{
    const char *key;
    json_t *value;

    if (metadata == NULL || json_is_null(metadata))
        return PZ_OK;
    if (!json_is_object(metadata))
        return pzi_fail_at(diag, PZ_ERR_MEANING, "__metadata__", "it is no object");
    json_object_foreach((json_t *)metadata, key,
                        value) if (!json_is_string(value)) return pzi_fail_at(diag, PZ_ERR_MEANING,
                                                                              "__metadata__",
                                                                              "a value is no text");
    return PZ_OK;
}

static pz_status take_tensors(pz_safetensors *file, pz_diag *diag)
{
    uint64_t *next = file->dimensions;
    const char *name;
    json_t *value;

    json_object_foreach(file->root, name, value)
    {
        pz_status status;

        if (strcmp(name, "__metadata__") == 0)
            continue;
        status = take_tensor(name, value, &file->entries[file->count], &next, diag);
        if (status != PZ_OK)
            return status;
        file->count++;
    }
    return PZ_OK;
}

/* By place; tensors without bytes come before what begins at the same place, and keep the order of
 * their names, so that the order is the same everywhere. */
static int compare(const void *a, const void *b)
{
    const pz_safetensors_entry *const x = a, *const y = b;

    if (x->begin_bytes != y->begin_bytes)
        return x->begin_bytes < y->begin_bytes ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static pz_status order_tensors(pz_safetensors *file, pz_diag *diag)
{
    qsort(file->entries, file->count, sizeof *file->entries, compare);
    for (size_t i = 0; i < file->count; i++) {
        const pz_safetensors_entry *const entry = &file->entries[i];

        if (entry->begin_bytes != file->data_bytes)
            return fail_tensor(entry->name, PZ_ERR_MEANING,
                               entry->begin_bytes > file->data_bytes
                                   ? "there is a gap before its data"
                                   : "its data overlaps that of another tensor",
                               diag);
        file->data_bytes += entry->bytes;
    }
    return PZ_OK;
}

/* The text as JSON. */
static pz_status load(const char *text, size_t bytes, json_t **root, pz_diag *diag)
{
    json_error_t error;

    if (bytes == 0 || text[0] != '{')
        return pzi_fail(diag, PZ_ERR_FORMAT,
                        "it is no .safetensors file: its header does not begin with '{'");
    *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (*root != NULL)
        return PZ_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return pzi_no_memory(diag);
    if (diag != NULL) {
        pzi_fail(diag, PZ_ERR_SYNTAX, "the header is not valid: %.200s", error.text);
        diag->line = (uint32_t)(error.line > 0 ? error.line : 0);
        diag->column = (uint32_t)(error.column > 0 ? error.column : 0);
    }
    return PZ_ERR_SYNTAX;
}

static pz_status parse(const uint8_t *header, size_t header_bytes, pz_safetensors *file,
                       pz_diag *diag)
{
    size_t told_bytes = 0;
    pz_status status = pz_safetensors_header_bytes(header, header_bytes, &told_bytes, diag);

    if (status == PZ_OK && told_bytes != header_bytes)
        status = pzi_fail(diag, PZ_ERR_TRUNCATED, "the file ends within its header");
    if (status == PZ_OK)
        status = load((const char *)header + PZ_SAFETENSORS_START_BYTES,
                      header_bytes - PZ_SAFETENSORS_START_BYTES, &file->root, diag);
    if (status != PZ_OK)
        return status;
    file->entries = calloc(json_object_size(file->root) + 1, sizeof *file->entries);
    file->dimensions = calloc(count_dimensions(file->root) + 1, sizeof *file->dimensions);
    if (file->entries == NULL || file->dimensions == NULL)
        return pzi_no_memory(diag);
    status = check_metadata(json_object_get(file->root, "__metadata__"), diag);
    if (status == PZ_OK)
        status = take_tensors(file, diag);
    return status == PZ_OK ? order_tensors(file, diag) : status;
}

pz_status pz_safetensors_parse(const void *header, size_t header_bytes, pz_safetensors **file,
                               pz_diag *diag)
{
    pz_safetensors *made = calloc(1, sizeof *made);
    pz_status status;

    if (made == NULL)
        return pzi_no_memory(diag);
    status = parse(header, header_bytes, made, diag);
    if (status == PZ_OK)
        *file = made;
    else
        pz_safetensors_free(made);
    return status;
}

void pz_safetensors_free(pz_safetensors *file)
{
    if (file == NULL)
        return;
    json_decref(file->root);
    free(file->entries);
    free(file->dimensions);
    free(file);
}

size_t pz_safetensors_count(const pz_safetensors *file)
{
    return file->count;
}

const pz_safetensors_entry *pz_safetensors_tensor(const pz_safetensors *file, size_t index)
{
    return index < file->count ? &file->entries[index] : NULL;
}

uint64_t pz_safetensors_data_bytes(const pz_safetensors *file)
{
    return file->data_bytes;
}
