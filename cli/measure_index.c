/* measure --index: see measure_index.h. */
#include "measure_index.h"

#include "activations.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "sizes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 256 };

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

struct measuring {
    const char *file;
    struct groups models, classes;
};

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

/* The index tells what comes out; a difference means that something is broken. */
static int check_sizes(const char *file, const activations_chunk *chunk, const sizes *measured)
{
    for (size_t i = 0; i < SIZES_CODECS; i++) {
        char where[64];

        if (chunk->expected[i] == UINT64_MAX || chunk->expected[i] == measured->coded_bytes[i])
            continue;
        snprintf(where, sizeof where, "line %u, %s", chunk->line, sizes_codecs[i]);
        return fail(file, where, "use the data that belongs to the index",
                    "a chunk takes %" PRIu64 " bytes instead of %" PRIu64, measured->coded_bytes[i],
                    chunk->expected[i]);
    }
    return STATUS_OK;
}

/* Floats count at their own precision, all else at both. */
static void add_chunk(struct group *model, struct group *class, pz_dtype dtype,
                      const sizes *measured)
{
    model->chunks++;
    if (dtype != PZ_DTYPE_BF16)
        sizes_join(&model->sum[PZ_FP32], measured);
    if (dtype == PZ_DTYPE_F32)
        return;
    sizes_join(&model->sum[PZ_BF16], measured);
    sizes_join(&class->sum[PZ_BF16], measured);
    class->chunks++;
}

static int measure_chunk(void *user, const activations_chunk *chunk)
{
    struct measuring *self = user;
    struct group *model = find_group(&self->models, chunk->model);
    struct group *class = find_group(&self->classes, chunk->class);
    const sizes_symbols symbols = {chunk->width_bits, chunk->dtype};
    sizes measured = {0};

    if (model == NULL || class == NULL)
        return activations_fail(self->file, chunk->line, NULL,
                                "there are too many models or classes");
    if (sizes_add(&measured, &symbols, chunk->data, chunk->bytes) != PZ_OK)
        return activations_fail(self->file, chunk->line, NULL, "the chunk cannot be measured");
    add_chunk(model, class, chunk->dtype, &measured);
    return check_sizes(self->file, chunk, &measured);
}

/* ---- Tables ---- */

static const column figure_columns[] = {
    {"precision", "precision", COLUMN_TEXT},
    {"model", "model", COLUMN_TEXT},
    {"raw_bytes", NULL, COLUMN_COUNT},
    {"planezip_ratio", "planezip", COLUMN_RATIO},
    {"zvc_ratio", "zvc", COLUMN_RATIO},
    {"bpc_ratio", "bpc", COLUMN_RATIO},
    {"bx_ratio", "bx", COLUMN_RATIO},
    {"zbx_ratio", "zbx", COLUMN_RATIO},
    {"bdi_ratio", "bdi", COLUMN_RATIO},
    {"planezip2_ratio", "planezip2", COLUMN_RATIO},
    {"planezip2_fast_ratio", "planezip2-fast", COLUMN_RATIO},
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
    {"planezip2_ratio", "planezip2", COLUMN_RATIO},
    {"top_mode", "mode", COLUMN_TEXT},
    {"top_mode_share", "of blocks", COLUMN_PERCENT},
    {"e_blocks", NULL, COLUMN_COUNT},
    {"i_blocks", NULL, COLUMN_COUNT},
    {"d_blocks", NULL, COLUMN_COUNT},
    {"c_blocks", NULL, COLUMN_COUNT},
};

/* The encoding of first .. last that most blocks have, its share, and then the blocks of all. */
static void add_blocks(table *results, const uint64_t *blocks, pz_encoding first, pz_encoding last)
{
    pz_encoding top = first;
    uint64_t all = 0;

    for (pz_encoding i = first; i <= last; i++) {
        all += blocks[i];
        top = blocks[i] > blocks[top] ? i : top;
    }
    table_text(results, names_encoding(top));
    table_real(results, all > 0 ? (double)blocks[top] / (double)all : NAN);
    for (pz_encoding i = first; i <= last; i++)
        table_size(results, blocks[i]);
}

static void add_class_row(table *results, const struct group *class)
{
    const sizes *sum = &class->sum[PZ_BF16];

    table_text(results, class->name);
    table_size(results, class->chunks);
    table_size(results, sum->raw_bytes);
    table_real(results, sizes_ratio(sum, SIZES_ZVC));
    table_real(results, sizes_ratio(sum, SIZES_BX));
    table_real(results, sizes_ratio(sum, SIZES_PLANEZIP));
    add_blocks(results, sum->blocks, PZ_RAW, PZ_ZBX);
    table_real(results, sizes_ratio(sum, SIZES_PLANEZIP2));
    add_blocks(results, sum->blocks, PZ_EXPONENTS, PZ_CONSTANTS);
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
    struct measuring *self = memory_keep(1, sizeof *self);
    int status;

    self->file = file;
    status =
        activations_read(file, native ? PZ_PROFILE_NATIVE : PZ_PROFILE_PAPER, measure_chunk, self);
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
