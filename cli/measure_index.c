/* measure --index: see measure_index.h.
 *
 * The index is a CSV file with a line per chunk: model, class of the producer, kind of the data,
 * place, symbol width, and the sizes that are expected.  Chunks of kind f32 lie in MODEL.f32; of
 * kind bf16 in the conversion of the whole MODEL.f32; all others in MODEL.other. */
#include "measure_index.h"

#include "errors.h"
#include "input.h"
#include "memory.h"
#include "names.h"
#include "sizes.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 64, GROUPS_MAX = 256 };

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

/* Chunks that are added up: of a model and precision, or of a class. */
struct group {
    const char *name;
    uint64_t chunks;
    sizes sum[2]; /* by pz_precision; a class has bf16 only */
};

struct groups {
    struct group list[GROUPS_MAX];
    size_t count;
};

/* The files of a model, read when they are first needed. */
struct model_data {
    buffer f32, bf16, other;
    bool has_f32, has_other;
};

struct reader {
    const char *file;
    char *folder; /* of the index, with its slash */
    bool native;
    unsigned line;
    int columns[FIELD_COUNT];
    int sizes_columns[SIZES_CODECS]; /* -1: the index does not tell */
    char *values[FIELDS_MAX];
    size_t value_count;
    struct groups models, classes;
    struct model_data data[GROUPS_MAX]; /* beside models.list */
};

static int fail_line(const struct reader *self, int place, const char *what)
{
    char where[64];

    snprintf(where, sizeof where, "line %u%s%.24s%s", self->line, place >= 0 ? ", '" : "",
             place >= 0 ? self->values[place] : "", place >= 0 ? "'" : "");
    return fail(self->file, where, "correct the index", "%s", what);
}

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

/* The group of a name; NULL if there are too many. */
static struct group *find_group(struct groups *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->list[i].name, name) == 0)
            return &self->list[i];
    if (self->count == GROUPS_MAX)
        return NULL;
    self->list[self->count].name = memory_text("%s", name);
    return &self->list[self->count++];
}

static int load_f32(struct reader *self, struct model_data *data, const char *model)
{
    const char *file = memory_text("%s%s.f32", self->folder, model);
    int status = input_read(file, &data->f32);

    if (status != STATUS_OK)
        return status;
    own(data->f32.data, free);
    if (data->f32.bytes % 4 != 0)
        return fail(file, NULL, "get the file again", "it is not a whole number of floats");
    data->bf16 = (buffer){memory_keep(data->f32.bytes / 2, 1), data->f32.bytes / 2};
    sizes_to_bf16(data->f32.data, data->f32.bytes / 4, data->bf16.data);
    data->has_f32 = true;
    return STATUS_OK;
}

static int load_other(struct reader *self, struct model_data *data, const char *model)
{
    int status = input_read(memory_text("%s%s.other", self->folder, model), &data->other);

    if (status != STATUS_OK)
        return status;
    own(data->other.data, free);
    data->has_other = true;
    return STATUS_OK;
}

/* The bytes that hold chunks of a kind. */
static int find_data(struct reader *self, struct group *model, const char *kind,
                     const buffer **content)
{
    struct model_data *data = &self->data[model - self->models.list];
    bool is_bf16 = strcmp(kind, "bf16") == 0, is_float = is_bf16 || strcmp(kind, "f32") == 0;
    int status = STATUS_OK;

    if (is_float && !data->has_f32)
        status = load_f32(self, data, model->name);
    else if (!is_float && !data->has_other)
        status = load_other(self, data, model->name);
    *content = is_bf16 ? &data->bf16 : is_float ? &data->f32 : &data->other;
    return status;
}

/* 0 for a kind that is no type. */
static unsigned wanted_width(const char *kind, bool native)
{
    pz_dtype dtype;

    if (pz_dtype_named(kind, &dtype) != PZ_OK)
        return 0;
    return pz_profile_width(native ? PZ_PROFILE_NATIVE : PZ_PROFILE_PAPER, dtype);
}

/* The index tells what comes out; a difference means that something is broken. */
static int check_sizes(const struct reader *self, const sizes *chunk)
{
    for (size_t i = 0; i < SIZES_CODECS; i++) {
        int place = self->sizes_columns[i];
        uint64_t expected;
        char where[64];

        if (place < 0)
            continue;
        if (units_parse_count(self->values[place], &expected) != NULL)
            return fail_line(self, place, "it is not a size");
        snprintf(where, sizeof where, "line %u, %s", self->line, sizes_codecs[i]);
        if (expected != chunk->coded_bytes[i])
            return fail(self->file, where, "use the data that belongs to the index",
                        "a chunk takes %" PRIu64 " bytes instead of %" PRIu64,
                        chunk->coded_bytes[i], expected);
    }
    return STATUS_OK;
}

/* Floats count at their own precision, all else at both. */
static void add_chunk(struct group *model, struct group *class, const char *kind,
                      const sizes *chunk)
{
    bool is_f32 = strcmp(kind, "f32") == 0, is_bf16 = strcmp(kind, "bf16") == 0;

    model->chunks++;
    if (!is_bf16)
        sizes_join(&model->sum[PZ_FP32], chunk);
    if (is_f32)
        return;
    sizes_join(&model->sum[PZ_BF16], chunk);
    sizes_join(&class->sum[PZ_BF16], chunk);
    class->chunks++;
}

static int read_chunk(struct reader *self)
{
    char *values[FIELD_COUNT];
    uint64_t offset, length, width;
    struct group *model, *class;
    const buffer *content;
    sizes chunk = {0};
    unsigned wanted;
    int status;

    for (size_t i = 0; i < FIELD_COUNT; i++)
        values[i] = self->values[self->columns[i]];
    if (units_parse_count(values[FIELD_OFFSET], &offset) != NULL ||
        units_parse_count(values[FIELD_LENGTH], &length) != NULL ||
        units_parse_count(values[FIELD_WIDTH], &width) != NULL)
        return fail_line(self, -1, "off, len or w is not a number");
    wanted = wanted_width(values[FIELD_KIND], self->native);
    if (wanted == 0)
        return fail_line(self, self->columns[FIELD_KIND], "it is not a type");
    if (width != wanted)
        return STATUS_OK;
    if (values[FIELD_MODEL][0] == '\0' || strchr(values[FIELD_MODEL], '/') != NULL)
        return fail_line(self, -1, "it is not the name of a model");
    model = find_group(&self->models, values[FIELD_MODEL]);
    class = find_group(&self->classes, values[FIELD_CLASS]);
    if (model == NULL || class == NULL)
        return fail_line(self, -1, "there are too many models or classes");
    status = find_data(self, model, values[FIELD_KIND], &content);
    if (status != STATUS_OK)
        return status;
    if (offset > content->bytes || length > content->bytes - offset)
        return fail_line(self, -1, "the chunk lies outside its file");
    if (sizes_add(&chunk, (unsigned)width, content->data + offset, (size_t)length) != PZ_OK)
        return fail_line(self, -1, "the chunk cannot be measured");
    add_chunk(model, class, values[FIELD_KIND], &chunk);
    return check_sizes(self, &chunk);
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

static int read_index(struct reader *self, char *text)
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

/* ---- Tables ---- */

static const column figure_columns[] = {
    {"precision", "precision", COLUMN_TEXT}, {"model", "model", COLUMN_TEXT},
    {"raw_bytes", NULL, COLUMN_COUNT},       {"planezip_ratio", "planezip", COLUMN_RATIO},
    {"zvc_ratio", "zvc", COLUMN_RATIO},      {"bpc_ratio", "bpc", COLUMN_RATIO},
    {"bx_ratio", "bx", COLUMN_RATIO},        {"zbx_ratio", "zbx", COLUMN_RATIO},
    {"bdi_ratio", "bdi", COLUMN_RATIO},
};

static void add_figure_rows(table *results, const struct groups *models, pz_precision precision)
{
    double logs[SIZES_CODECS] = {0};
    size_t counted = 0;

    for (size_t i = 0; i < models->count; i++) {
        const sizes *sum = &models->list[i].sum[precision];

        if (sum->raw_bytes == 0)
            continue;
        counted++;
        table_text(results, names_precision(precision));
        table_text(results, models->list[i].name);
        table_size(results, sum->raw_bytes);
        for (unsigned codec = 0; codec < SIZES_CODECS; codec++) {
            table_real(results, sizes_ratio(sum, codec));
            logs[codec] += log(sizes_ratio(sum, codec));
        }
    }
    if (counted == 0)
        return;
    table_text(results, names_precision(precision));
    table_text(results, "geometric mean");
    table_none(results);
    for (unsigned codec = 0; codec < SIZES_CODECS; codec++)
        table_real(results, exp(logs[codec] / (double)counted));
}

static const column class_columns[] = {
    {"producer_class", "producer", COLUMN_TEXT},
    {"chunks", "chunks", COLUMN_COUNT},
    {"raw_bytes", NULL, COLUMN_COUNT},
    {"zvc_ratio", "zvc", COLUMN_RATIO},
    {"bx_ratio", "bx", COLUMN_RATIO},
    {"planezip_ratio", "planezip", COLUMN_RATIO},
    {"top_encoding", "top", COLUMN_TEXT},
    {"top_share", "of blocks", COLUMN_PERCENT},
    {"raw_blocks", NULL, COLUMN_COUNT},
    {"zvc_blocks", NULL, COLUMN_COUNT},
    {"bx_blocks", NULL, COLUMN_COUNT},
    {"dbx_blocks", NULL, COLUMN_COUNT},
    {"zbx_blocks", NULL, COLUMN_COUNT},
};

static void add_class_row(table *results, const struct group *class)
{
    const sizes *sum = &class->sum[PZ_BF16];
    uint64_t blocks = 0;
    unsigned top = 0;

    for (unsigned tag = 0; tag < PZ_ENCODINGS; tag++) {
        blocks += sum->blocks[tag];
        top = sum->blocks[tag] > sum->blocks[top] ? tag : top;
    }
    table_text(results, class->name);
    table_size(results, class->chunks);
    table_size(results, sum->raw_bytes);
    table_real(results, sizes_ratio(sum, SIZES_ZVC));
    table_real(results, sizes_ratio(sum, SIZES_BX));
    table_real(results, sizes_ratio(sum, SIZES_PLANEZIP));
    table_text(results, names_encoding((pz_encoding)top));
    table_real(results, blocks > 0 ? (double)sum->blocks[top] / (double)blocks : NAN);
    for (unsigned tag = 0; tag < PZ_ENCODINGS; tag++)
        table_size(results, sum->blocks[tag]);
}

/* The largest class first; equal ones by name, so that the order is stable. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *first = a, *second = b;
    uint64_t x = first->sum[PZ_BF16].raw_bytes, y = second->sum[PZ_BF16].raw_bytes;

    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(first->name, second->name);
}

int measure_index(const char *file, bool native, table **figure_3, table **table_3)
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
    self->native = native;
    self->folder = memory_text("%.*s", slash != NULL ? (int)(slash - file) + 1 : 0, file);
    text = memory_keep(content.bytes + 1, 1);
    memcpy(text, content.data, content.bytes);
    status = check_text(self, text, content.bytes);
    if (status == STATUS_OK)
        status = read_index(self, text);
    if (status != STATUS_OK)
        return status;
    *figure_3 = table_new(figure_columns, LENGTH(figure_columns));
    add_figure_rows(*figure_3, &self->models, PZ_BF16);
    add_figure_rows(*figure_3, &self->models, PZ_FP32);
    *table_3 = table_new(class_columns, LENGTH(class_columns));
    qsort(self->classes.list, self->classes.count, sizeof *self->classes.list, compare_groups);
    for (size_t i = 0; i < self->classes.count; i++)
        if (self->classes.list[i].chunks > 0)
            add_class_row(*table_3, &self->classes.list[i]);
    return STATUS_OK;
}
