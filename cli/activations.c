/* Activations by their index: see activations.h. */
#include "activations.h"

#include "errors.h"
#include "input.h"
#include "memory.h"
#include "units.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 64, MODELS_MAX = 256 };

/* Columns that are needed, in the order of the enumeration. */
enum field {
    FIELD_MODEL,
    FIELD_CLASS,
    FIELD_KIND,
    FIELD_OFFSET,
    FIELD_LENGTH,
    FIELD_WIDTH,
    FIELD_COUNT
};
static const char *const field_names[FIELD_COUNT] = {"model", "cls", "kind", "off", "len", "w"};

/* The files of a model, read when they are first needed. */
struct model {
    const char *name;
    buffer f32, bf16, other;
    bool has_f32, has_other;
};

struct reader {
    const char *file;
    char *folder; /* of the index, with its slash */
    pz_profile profile;
    int (*visit)(void *user, const activations_chunk *chunk);
    void *user;
    unsigned line;
    size_t visits;
    int columns[FIELD_COUNT];
    int sizes_columns[SIZES_CODECS]; /* -1: the index does not tell */
    char *values[FIELDS_MAX];
    size_t value_count;
    struct model models[MODELS_MAX];
    size_t model_count;
};

int activations_fail(const char *file, unsigned line, const char *text, const char *what)
{
    char where[64];

    snprintf(where, sizeof where, "line %u%s%.24s%s", line, text != NULL ? ", '" : "",
             text != NULL ? text : "", text != NULL ? "'" : "");
    return fail(file, where, "correct the index", "%s", what);
}

static int fail_line(const struct reader *self, int place, const char *what)
{
    return activations_fail(self->file, self->line, place >= 0 ? self->values[place] : NULL, what);
}

/* ---- Lines ---- */

/* Splits a line in place; returns what follows it, or NULL at the end. */
static char *split_line(struct reader *self, char *line)
{
    char *next = strchr(line, '\n');

    if (next != NULL)
        *next++ = '\0';
    line[strcspn(line, "\r")] = '\0';
    self->line++;
    self->value_count = 0;
    while (self->value_count < FIELDS_MAX) {
        self->values[self->value_count++] = line;
        line = strchr(line, ',');
        if (line == NULL)
            break;
        *line++ = '\0';
    }
    return next != NULL && *next != '\0' ? next : NULL;
}

static int find_column(const struct reader *self, const char *name)
{
    for (size_t i = 0; i < self->value_count; i++)
        if (strcmp(self->values[i], name) == 0)
            return (int)i;
    return -1;
}

static int read_header(struct reader *self)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        self->columns[i] = find_column(self, field_names[i]);
        if (self->columns[i] < 0)
            return fail(self->file, "line 1", "give an index of activations",
                        "the column '%s' is missing", field_names[i]);
    }
    for (size_t i = 0; i < SIZES_CODECS; i++)
        self->sizes_columns[i] = find_column(self, sizes_codecs[i]);
    return STATUS_OK;
}

/* ---- Data ---- */

static int load_f32(const struct reader *self, struct model *model)
{
    const char *file = memory_text("%s%s.f32", self->folder, model->name);
    int status = input_read(file, &model->f32);

    if (status != STATUS_OK)
        return status;
    own(model->f32.data, free);
    if (model->f32.bytes % 4 != 0)
        return fail(file, NULL, "get the file again", "it is not a whole number of floats");
    model->bf16 = (buffer){memory_keep(model->f32.bytes / 2, 1), model->f32.bytes / 2};
    sizes_to_bf16(model->f32.data, model->f32.bytes / 4, model->bf16.data);
    model->has_f32 = true;
    return STATUS_OK;
}

static int load_other(const struct reader *self, struct model *model)
{
    int status = input_read(memory_text("%s%s.other", self->folder, model->name), &model->other);

    if (status != STATUS_OK)
        return status;
    own(model->other.data, free);
    model->has_other = true;
    return STATUS_OK;
}

/* The bytes that hold chunks of a kind. */
static int find_data(const struct reader *self, struct model *model, const char *kind,
                     const buffer **content)
{
    bool is_bf16 = strcmp(kind, "bf16") == 0, is_float = is_bf16 || strcmp(kind, "f32") == 0;
    int status = STATUS_OK;

    if (is_float && !model->has_f32)
        status = load_f32(self, model);
    else if (!is_float && !model->has_other)
        status = load_other(self, model);
    *content = is_bf16 ? &model->bf16 : is_float ? &model->f32 : &model->other;
    return status;
}

/* NULL if there are too many. */
static struct model *find_model(struct reader *self, const char *name)
{
    for (size_t i = 0; i < self->model_count; i++)
        if (strcmp(self->models[i].name, name) == 0)
            return &self->models[i];
    if (self->model_count == MODELS_MAX)
        return NULL;
    self->models[self->model_count].name = memory_text("%s", name);
    return &self->models[self->model_count++];
}

/* ---- Chunks ---- */

static int read_expected(const struct reader *self, activations_chunk *chunk)
{
    for (size_t i = 0; i < SIZES_CODECS; i++) {
        int place = self->sizes_columns[i];

        chunk->expected[i] = UINT64_MAX;
        if (place >= 0 && units_parse_count(self->values[place], &chunk->expected[i]) != NULL)
            return fail_line(self, place, "it is not a size");
    }
    return STATUS_OK;
}

/* Finds model and data of a chunk. */
static int locate(struct reader *self, activations_chunk *chunk, uint64_t offset, uint64_t length)
{
    const buffer *content;
    struct model *model;
    int status;

    if (chunk->model[0] == '\0' || strchr(chunk->model, '/') != NULL)
        return fail_line(self, -1, "it is not the name of a model");
    model = find_model(self, chunk->model);
    if (model == NULL)
        return fail_line(self, -1, "there are too many models");
    status = find_data(self, model, chunk->kind, &content);
    if (status != STATUS_OK)
        return status;
    if (offset > content->bytes || length > content->bytes - offset)
        return fail_line(self, -1, "the chunk lies outside its file");
    chunk->data = content->data + offset;
    chunk->bytes = (size_t)length;
    return STATUS_OK;
}

static int read_chunk(struct reader *self)
{
    activations_chunk chunk = {.model = self->values[self->columns[FIELD_MODEL]],
                               .class = self->values[self->columns[FIELD_CLASS]],
                               .kind = self->values[self->columns[FIELD_KIND]],
                               .line = self->line};
    uint64_t offset, length, width;
    int status;

    if (units_parse_count(self->values[self->columns[FIELD_OFFSET]], &offset) != NULL ||
        units_parse_count(self->values[self->columns[FIELD_LENGTH]], &length) != NULL ||
        units_parse_count(self->values[self->columns[FIELD_WIDTH]], &width) != NULL)
        return fail_line(self, -1, "off, len or w is not a number");
    if (pz_dtype_named(chunk.kind, &chunk.dtype) != PZ_OK)
        return fail_line(self, self->columns[FIELD_KIND], "it is not a type");
    chunk.width_bits = pz_profile_width(self->profile, chunk.dtype);
    if (width != pz_profile_width(PZ_PROFILE_NATIVE, chunk.dtype) &&
        width != pz_profile_width(PZ_PROFILE_PAPER, chunk.dtype))
        return fail_line(self, self->columns[FIELD_WIDTH],
                         "the type has no symbols of this width in any profile");
    if (width != chunk.width_bits)
        return STATUS_OK;
    self->visits++;
    status = locate(self, &chunk, offset, length);
    if (status == STATUS_OK)
        status = read_expected(self, &chunk);
    return status == STATUS_OK ? self->visit(self->user, &chunk) : status;
}

/* Lines are strings, which would end at a NUL byte. */
static int check_text(struct reader *self, const char *text, size_t bytes)
{
    const char *nul = memchr(text, '\0', bytes);

    if (nul == NULL)
        return STATUS_OK;
    self->line = 1;
    for (; text < nul; text++)
        self->line += *text == '\n';
    return fail_line(self, -1, "the line contains a NUL byte");
}

static int read_lines(struct reader *self, char *text)
{
    size_t header_count;
    int status;

    text = split_line(self, text);
    header_count = self->value_count;
    status = read_header(self);
    while (status == STATUS_OK && text != NULL) {
        text = split_line(self, text);
        if (self->value_count != header_count)
            return fail_line(self, -1, "the line has more or fewer values than the first line");
        status = read_chunk(self);
    }
    return status;
}

int activations_read(const char *file, pz_profile profile,
                     int (*visit)(void *user, const activations_chunk *chunk), void *user)
{
    struct reader *self = memory_keep(1, sizeof *self);
    const char *slash = strrchr(file, '/');
    buffer content;
    char *text;
    int status = input_read_up_to(file, INPUT_TEXT_BYTES, &content);

    if (status != STATUS_OK)
        return status;
    own(content.data, free);
    self->file = file;
    self->profile = profile;
    self->visit = visit;
    self->user = user;
    self->folder = memory_text("%.*s", slash != NULL ? (int)(slash - file) + 1 : 0, file);
    text = memory_keep(content.bytes + 1, 1);
    memcpy(text, content.data, content.bytes);
    status = check_text(self, text, content.bytes);
    if (status == STATUS_OK)
        status = read_lines(self, text);
    if (status != STATUS_OK || self->visits > 0)
        return status;
    return fail(file, NULL, "give an index of activations",
                self->line > 1 ? "its chunks are none of the profile" : "it names no chunks");
}
