/* planezip list: the tensors of .pz containers, by the index; through a pipe, by the records. */
#include "clean.h"
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "source.h"
#include "table.h"
#include "unpacking.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool csv, json;
} options;

static const option list_options[] = {SWITCH(0, "csv", &options.csv, "print CSV"),
                                      SWITCH(0, "json", &options.json, "print JSON"),
                                      COMMON_OPTIONS};

static const column columns[] = {
    {"name", "name", COLUMN_TEXT},           {"dtype", "dtype", COLUMN_TEXT},
    {"shape", "shape", COLUMN_TEXT},         {"codec", "codec", COLUMN_TEXT},
    {"format", NULL, COLUMN_COUNT},          {"width_bits", "width", COLUMN_COUNT},
    {"exponent_bits", NULL, COLUMN_COUNT},   {"raw_bytes", "raw", COLUMN_BYTES},
    {"stored_bytes", "coded", COLUMN_BYTES}, {"ratio", "ratio", COLUMN_RATIO},
    {"raw_blocks", "RAW", COLUMN_BLOCKS},    {"zvc_blocks", "ZVC", COLUMN_BLOCKS},
    {"bx_blocks", "BX", COLUMN_BLOCKS},      {"dbx_blocks", "DBX", COLUMN_BLOCKS},
    {"zbx_blocks", "ZBX", COLUMN_BLOCKS},    {"e_blocks", "E", COLUMN_BLOCKS},
    {"i_blocks", "I", COLUMN_BLOCKS},        {"d_blocks", "D", COLUMN_BLOCKS},
    {"c_blocks", "C", COLUMN_BLOCKS},        {"stream_bytes", NULL, COLUMN_COUNT},
    {"segments", NULL, COLUMN_COUNT},        {"chunks", NULL, COLUMN_COUNT},
    {"raw_chunks", NULL, COLUMN_COUNT},      {"fortran_order", NULL, COLUMN_FLAG},
};

/* A file at work: its rows, and their sum. */
struct listing {
    source in;
    pz_reader *reader;
    table *rows;
    pz_tensor sum;
    uint64_t tensors;
    pz_diag diag;
};

/* "[3, 4]", which is also how JSON writes it. */
static const char *shape_text(const pz_tensor *tensor)
{
    char *text = memory_new(tensor->rank + 1, 24);
    size_t used = 1;

    text[0] = '[';
    for (uint32_t i = 0; i < tensor->rank; i++)
        used += (size_t)sprintf(text + used, "%s%" PRIu64, i > 0 ? ", " : "", tensor->shape[i]);
    text[used] = ']';
    own(text, free);
    return text;
}

static bool is_fortran(const pz_tensor *tensor)
{
    for (size_t i = 0; i < tensor->metadata_count; i++)
        if (strcmp(tensor->metadata[i].key, "fortran_order") == 0)
            return true;
    return false;
}

static double ratio_of(const pz_tensor *tensor)
{
    return tensor->raw_bytes > 0 ? (double)tensor->raw_bytes / (double)tensor->stored_bytes
                                 : (double)NAN;
}

static void add_counts(table *rows, const pz_tensor *tensor)
{
    table_size(rows, tensor->raw_bytes);
    table_size(rows, tensor->stored_bytes);
    table_real(rows, ratio_of(tensor));
    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        table_size(rows, tensor->blocks[i]);
    table_size(rows, tensor->stream_bytes);
    table_size(rows, tensor->segments);
    table_size(rows, tensor->chunks);
    table_size(rows, tensor->raw_chunks);
}

static void add_mode(table *rows, pz_mode mode)
{
    const char *codec = names_stream_codec(mode);

    if (codec != NULL)
        table_text(rows, codec);
    else
        table_none(rows);
    table_int(rows, mode.format);
    table_int(rows, mode.width_bits);
    table_int(rows, mode.exponent_bits);
}

static void add_tensor(struct listing *self, const pz_tensor *tensor)
{
    pz_tensor *const sum = &self->sum;

    table_text(self->rows, tensor->name);
    table_text(self->rows, pz_dtype_name(tensor->dtype));
    table_text(self->rows, shape_text(tensor));
    add_mode(self->rows, tensor->mode);
    add_counts(self->rows, tensor);
    table_flag(self->rows, is_fortran(tensor));
    self->tensors++;
    sum->raw_bytes += tensor->raw_bytes;
    sum->stored_bytes += tensor->stored_bytes;
    sum->stream_bytes += tensor->stream_bytes;
    sum->segments += tensor->segments;
    sum->chunks += tensor->chunks;
    sum->raw_chunks += tensor->raw_chunks;
    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        sum->blocks[i] += tensor->blocks[i];
}

static void add_sum(struct listing *self)
{
    table_text(self->rows, "all");
    for (unsigned i = 0; i < 6; i++)
        table_none(self->rows);
    add_counts(self->rows, &self->sum);
    table_none(self->rows);
}

/* ---- Reading ---- */

static pz_status read_index(struct listing *self)
{
    const pz_reader_options reader_options = {.size = sizeof reader_options,
                                              .read_at = source_read_at,
                                              .user = &self->in,
                                              .file_bytes = self->in.bytes};
    pz_status status = pz_reader_new(&reader_options, &self->reader, &self->diag);

    for (uint64_t i = 0; status == PZ_OK && i < pz_reader_count(self->reader); i++)
        add_tensor(self, pz_reader_tensor(self->reader, i));
    return status;
}

/* Whole tensors only: what is known of the others is not complete. */
static pz_status scan(struct listing *self)
{
    const pz_reader_options reader_options = {
        .size = sizeof reader_options, .read = source_read, .user = &self->in};
    pz_status status = pz_reader_new(&reader_options, &self->reader, &self->diag);
    const pz_tensor *tensor = NULL;

    if (status == PZ_OK)
        status = pz_reader_next(self->reader, &tensor, &self->diag);
    while (status == PZ_OK && tensor != NULL) {
        const void *raw;
        size_t bytes = 1;

        /* Damage of content does not matter here. */
        while (bytes > 0)
            status = pz_reader_segment(self->reader, &raw, &bytes, &self->diag);
        if (status != PZ_OK)
            break;
        add_tensor(self, tensor);
        status = pz_reader_next(self->reader, &tensor, &self->diag);
    }
    return status;
}

/* Without its index, a file is gone through from the front. */
static pz_status read_listing(struct listing *self)
{
    pz_status status, index_status;
    pz_diag diag;

    if (self->in.bytes == PZ_UNKNOWN)
        return scan(self);
    index_status = read_index(self);
    if (index_status == PZ_OK || index_status == PZ_ERR_IO || index_status == PZ_ERR_FORMAT ||
        index_status == PZ_ERR_MEMORY)
        return index_status;
    diag = self->diag;
    status = scan(self);
    if (status == PZ_OK)
        self->diag = diag;
    return status == PZ_OK ? index_status : status;
}

/* ---- Printing ---- */

/* What the source says of itself, if it was a .safetensors file. */
static json_t *source_metadata(const pz_reader *reader)
{
    const pz_metadata *format = unpacking_metadata(reader, "source.format");
    const pz_metadata *header = unpacking_metadata(reader, "source.header");
    json_t *root, *metadata;

    if (format == NULL || header == NULL || format->value_bytes != strlen("safetensors") ||
        memcmp(format->value, "safetensors", strlen("safetensors")) != 0 ||
        header->value_bytes < PZ_SAFETENSORS_START_BYTES)
        return NULL;
    root = json_loadb((const char *)header->value + PZ_SAFETENSORS_START_BYTES,
                      (size_t)header->value_bytes - PZ_SAFETENSORS_START_BYTES, 0, NULL);
    metadata = json_incref(json_object_get(root, "__metadata__"));
    json_decref(root);
    return metadata;
}

static json_t *format_json(const pz_reader *reader)
{
    const pz_metadata *format = unpacking_metadata(reader, "source.format");
    json_t *text = NULL;

    if (format != NULL)
        text = json_stringn(format->value, (size_t)format->value_bytes);
    return text != NULL ? text : json_null();
}

static json_t *listing_json(const struct listing *self)
{
    json_t *tensors = table_json(self->rows), *metadata = source_metadata(self->reader), *row;
    json_t *const listing = json_object();
    size_t index;

    json_array_foreach(tensors, index, row) json_object_set_new(
        row, "shape", json_loads(json_string_value(json_object_get(row, "shape")), 0, NULL));
    json_set_word(listing, "file", self->in.name);
    json_object_update_new(
        listing, json_pack("{s:o, s:I, s:I, s:o, s:o}", "source_format", format_json(self->reader),
                           "raw_bytes", (json_int_t)self->sum.raw_bytes, "stored_bytes",
                           (json_int_t)self->sum.stored_bytes, "metadata",
                           metadata != NULL ? metadata : json_null(), "tensors", tensors));
    return listing;
}

static void print_metadata(const pz_reader *reader)
{
    json_t *metadata = source_metadata(reader);
    char *text = metadata != NULL ? json_dumps(metadata, JSON_SORT_KEYS) : NULL;

    if (metadata != NULL && text == NULL)
        memory_fail();
    if (text != NULL) {
        printf("metadata: ");
        clean_print(text, stdout);
        printf("\n");
    }
    free(text);
    json_decref(metadata);
}

static void show(struct listing *self, bool heading, json_t *files)
{
    if (options.json) {
        json_array_append_new(files, listing_json(self));
        return;
    }
    if (options.csv) {
        table_csv(self->rows);
        return;
    }
    if (self->tensors > 1)
        add_sum(self);
    if (heading) {
        clean_print(self->in.name, stdout);
        printf("\n");
    }
    table_print(self->rows, NULL);
    if (common.verbose)
        print_metadata(self->reader);
}

static int list_file(const char *name, bool heading, json_t *files)
{
    struct listing self = {.rows = table_new(columns, LENGTH(columns))};
    int status = source_open(&self.in, name);
    pz_status result;

    if (status != STATUS_OK)
        return status;
    result = read_listing(&self);
    if (self.reader != NULL && (result == PZ_OK || self.tensors > 0))
        show(&self, heading, files);
    pz_reader_free(self.reader);
    if (self.in.error != 0)
        status = source_fail(&self.in);
    else if (result != PZ_OK)
        status = fail_container(name, result, &self.diag);
    source_close(&self.in);
    return status;
}

static int run(char **files, size_t count)
{
    json_t *shown = options.json ? json_array() : NULL;
    int status = STATUS_OK;

    if (options.csv && options.json)
        return fail_usage("--csv and --json exclude each other");
    if (options.csv && count > 1)
        return fail_usage("--csv takes one file, not %zu", count);
    for (size_t i = 0; i < count; i++) {
        const int got = list_file(files[i], count > 1, shown);

        status = got > status ? got : status;
    }
    if (options.json)
        json_show(json_pack("{s:o}", "files", shown), stdout);
    return status;
}

static const command commands[] = {{
    .name = "list",
    .usage = "[OPTIONS] FILE...",
    .summary = "List the tensors of .pz containers.",
    .details = "Blocks of 128 bytes are counted by the encoding that was chosen for them or, in\n"
               "planezip2, for their chunk; encodings without a block are left out.  -v prints\n"
               "more columns, and the metadata of .safetensors files.",
    .options = list_options,
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .run = run,
}};

const verb verb_list = {.name = "list", .commands = commands, .count = 1};
