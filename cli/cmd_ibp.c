/* planezip ibp: rows of a file packed with a learned table, and back (docs/ibp.md, "Files"). */
#include "commands.h"
#include "errors.h"
#include "ibp_trial.h"
#include "input.h"
#include "memory.h"
#include "output.h"
#include "row_file.h"
#include "tensors.h"
#include "units.h"

#include <planezip/ibp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { HEADER_BYTES = 48, CHECK_BYTES = 8 };

static const unsigned char magic[8] = {0x89, 'I', 'B', 'P', 'R', '\r', '\n', 0x1a};

static struct {
    row_options rows;
    ibp_cache_options cache;
    const char *table, *output;
    bool force, json;
} options;

static const char *parse_threshold(const char *text, void *target)
{
    double *const value = target;

    if (units_parse_positive(text, value) != NULL || *value <= 0.5 || *value > 1)
        return "it must be above 0.5 and up to 1";
    return NULL;
}

static const char *parse_group(const char *text, void *target)
{
    uint64_t *const value = target;

    if (units_parse_count(text, value) != NULL || *value < 8 || *value > PZ_IBP_GROUP_MAX_BITS ||
        (*value & (*value - 1)) != 0)
        return "it must be 8, 16, 32, 64, 128, 256 or 512";
    return NULL;
}

static const char *parse_skew(const char *text, void *target)
{
    double *const value = target;

    if (units_parse_positive(text, value) != NULL || *value > 10)
        return "it must be above 0 and up to 10";
    return NULL;
}

static const char *parse_link(const char *text, void *target)
{
    double *const value = target, gbps;

    if (units_parse_positive(text, &gbps) != NULL || gbps > 1e6)
        return "it must be above 0 and up to a million";
    *value = 1e9 * gbps;
    return NULL;
}

static const char *parse_lookups(const char *text, void *target)
{
    uint64_t *const value = target;

    if (units_parse_count(text, value) != NULL || *value == 0 || *value > 100000000)
        return "it must be a number from 1 to 100000000";
    return NULL;
}

static const char *parse_line(const char *text, void *target)
{
    uint64_t *const value = target;

    if (units_parse_count(text, value) != NULL || *value == 0 || *value > PZ_IBP_ROW_MAX_BYTES)
        return "it must be a number from 1 to 1048576";
    return NULL;
}

#define ROWS                                                                          \
    OPTION('d', "dtype", "TYPE", option_dtype, &options.rows.dtype,                   \
           "type of raw elements; .npy files tell their own"),                        \
        OPTION('c', "columns", "N", option_count, &options.rows.columns,              \
               "elements of a row of raw elements"),                                  \
        OPTION(0, "group", "BITS", parse_group, &options.rows.group,                  \
               "bits that are packed together; by default what packs the rows best"), \
        OPTION(0, "threshold", "T", parse_threshold, &options.rows.threshold,         \
               "a bit is invariant if it is so in this share of the rows, such\n"     \
               "as 0.99; by default what packs the rows best")
#define FORCE SWITCH('f', "force", &options.force, "overwrite; write to a terminal")

static const option learn_options[] = {
    ROWS, OPTION_NEEDED('o', "output", "TABLE", option_text, &options.output, "where it goes"),
    FORCE, COMMON_OPTIONS};
static const option pack_options[] = {
    ROWS,
    OPTION('t', "table", "TABLE", option_text, &options.table,
           "what ibp learn wrote; by default a table of these rows"),
    FORCE, COMMON_OPTIONS};
static const option unpack_options[] = {FORCE, COMMON_OPTIONS};
static const option measure_options[] = {ROWS, SWITCH(0, "json", &options.json, "print JSON"),
                                         COMMON_OPTIONS};
static const option cache_options[] = {
    ROWS,
    OPTION('s', "skew", "S", parse_skew, &options.cache.skew,
           "the k-th row is looked up in proportion to k^-S (1)"),
    OPTION('n', "lookups", "N", parse_lookups, &options.cache.lookups,
           "that are counted, after as many that fill the cache; by\n"
           "default 4 for each row"),
    OPTION(0, "link", "GBPS", parse_link, &options.cache.link_bps,
           "rate of the link in 10^9 bytes a second (24, as PCIe 4)"),
    OPTION(0, "line", "BYTES", parse_line, &options.cache.line_bytes, "what is moved at once (32)"),
    SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};
static const option show_options[] = {SWITCH(0, "json", &options.json, "print JSON"),
                                      COMMON_OPTIONS};

static uint64_t load(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static void store(unsigned char *to, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static int read_table(const char *name, pz_ibp_table **table)
{
    buffer stored;
    pz_diag diag = {0};
    pz_status result;
    const int status = input_read(name, &stored);

    if (status != STATUS_OK)
        return status;
    own(stored.data, free);
    result = pz_ibp_table_load(stored.data, stored.bytes, table, &diag);
    if (result != PZ_OK)
        return fail_status(name, result, &diag);
    row_file_keep_table(*table);
    return STATUS_OK;
}

static int run_learn(char **operands, size_t count)
{
    row_file file = {0};
    pz_ibp_table *table = NULL;
    unsigned char *stored;
    int status = output_check(options.output, options.force, true);

    (void)count;
    if (status == STATUS_OK)
        status = row_file_read(operands[0], &options.rows, &file);
    if (status == STATUS_OK)
        status = row_file_learn(&file, &options.rows, &table);
    if (status != STATUS_OK)
        return status;
    stored = memory_keep(pz_ibp_table_bytes(table), 1);
    pz_ibp_table_save(table, stored, pz_ibp_table_bytes(table));
    return output_save(options.output, options.force, stored, pz_ibp_table_bytes(table));
}

/* ---- Files of packed rows ---------------------------------------------------------------------
 */

/* Where the parts of a file stand; they follow one another. */
typedef struct packed_file {
    pz_ibp_table *table;
    pz_dtype dtype;
    uint64_t count, prefix_bytes, data_bytes;
    size_t table_bytes, prefix_at, offsets_at, data_at, bytes;
} packed_file;

static void place_parts(packed_file *file)
{
    file->prefix_at = HEADER_BYTES + file->table_bytes;
    file->offsets_at = file->prefix_at + (size_t)file->prefix_bytes;
    file->data_at = file->offsets_at + 8 * (size_t)(file->count + 1);
    file->bytes = file->data_at + (size_t)file->data_bytes + CHECK_BYTES;
}

static void store_header(const packed_file *file, unsigned char *to)
{
    const size_t end = file->bytes - CHECK_BYTES;

    memcpy(to, magic, sizeof magic);
    store(to + 8, 4, 1);
    store(to + 12, 4, file->dtype);
    store(to + 16, 8, file->count);
    store(to + 24, 8, file->prefix_bytes);
    store(to + 32, 8, file->data_bytes);
    store(to + 40, 8, XXH3_64bits(to, 40));
    store(to + end, 8, XXH3_64bits(to + file->prefix_at, end - file->prefix_at));
}

static void report(const row_file *in, const packed_file *out)
{
    const double raw = (double)(in->content.bytes - in->prefix_bytes);

    if (common.verbose)
        fprintf(stderr, "%zu rows, saved %.2f %%, groups of %" PRIu32 " bits\n", in->count,
                100 - 100 * (double)out->data_bytes / raw,
                pz_ibp_table_shape(out->table).group_bits);
}

static int pack(const row_file *in, pz_ibp_table *table, const char *name)
{
    packed_file out = {.table = table,
                       .dtype = in->dtype,
                       .count = in->count,
                       .prefix_bytes = in->prefix_bytes,
                       .table_bytes = pz_ibp_table_bytes(table)};
    uint64_t *const offsets = memory_keep(in->count + 1, sizeof *offsets);
    pz_ibp_stats stats;
    unsigned char *to;
    pz_status status = pz_ibp_measure(NULL, table, row_file_rows(in), in->count, &stats);

    if (status != PZ_OK)
        return fail_status(in->name, status, NULL);
    out.data_bytes = stats.packed_bytes;
    place_parts(&out);
    to = memory_keep(out.bytes, 1);
    pz_ibp_table_save(table, to + HEADER_BYTES, out.table_bytes);
    memcpy(to + out.prefix_at, in->content.data, in->prefix_bytes);
    status = pz_ibp_condense(NULL, table, row_file_rows(in), 0, in->count, to + out.data_at,
                             (size_t)out.data_bytes, offsets);
    if (status != PZ_OK)
        return fail_status(in->name, status, NULL);
    for (size_t i = 0; i <= in->count; i++)
        store(to + out.offsets_at + 8 * i, 8, offsets[i]);
    store_header(&out, to);
    report(in, &out);
    return output_save(name, options.force, to, out.bytes);
}

static int run_pack(char **operands, size_t count)
{
    row_file file = {0};
    pz_ibp_table *table = NULL;
    pz_ibp_shape shape;
    int status = output_check(operands[1], options.force, true);

    (void)count;
    if (status == STATUS_OK)
        status = row_file_read(operands[0], &options.rows, &file);
    if (status == STATUS_OK)
        status = options.table != NULL ? read_table(options.table, &table)
                                       : row_file_learn(&file, &options.rows, &table);
    if (status != STATUS_OK)
        return status;
    shape = pz_ibp_table_shape(table);
    if (shape.row_elements != file.columns || shape.width_bits != row_file_width(&file))
        return fail(options.table, NULL, "learn one of these rows",
                    "the table is for rows of %" PRIu64 " elements of %" PRIu32 " bits",
                    shape.row_elements, shape.width_bits);
    return pack(&file, table, operands[1]);
}

static int fail_packed(const char *name, const char *what)
{
    return fail(name, NULL, "get the file again", "%s", what);
}

/* Header and table of a file; the parts lie within it, without gaps. */
static int open_packed(const char *name, const buffer *content, packed_file *file)
{
    const unsigned char *const data = content->data;
    pz_diag diag = {0};
    pz_status status;

    if (content->bytes < HEADER_BYTES || memcmp(data, magic, sizeof magic) != 0)
        return fail(name, NULL, "give what planezip ibp pack wrote",
                    "this is no file of packed rows");
    if (load(data + 8, 4) != 1)
        return fail(name, NULL, "use a newer planezip", "it has version %" PRIu64 ", known is 1",
                    load(data + 8, 4));
    if (load(data + 40, 8) != XXH3_64bits(data, 40))
        return fail_packed(name, "the header is damaged: its checksum does not match");
    *file = (packed_file){.dtype = (pz_dtype)load(data + 12, 4),
                          .count = load(data + 16, 8),
                          .prefix_bytes = load(data + 24, 8),
                          .data_bytes = load(data + 32, 8)};
    status = pz_ibp_table_stored_bytes(data + HEADER_BYTES, content->bytes - HEADER_BYTES,
                                       &file->table_bytes, &diag);
    if (status != PZ_OK)
        return fail_status(name, status, &diag);
    if (file->count >= content->bytes / 8 || file->prefix_bytes > ROW_FILE_PREFIX_MAX ||
        file->data_bytes > content->bytes)
        return fail_packed(name, "it is shorter than its header tells");
    place_parts(file);
    if (file->bytes != content->bytes)
        return fail_packed(name, "it has another size than its header tells");
    status = pz_ibp_table_load(data + HEADER_BYTES, file->table_bytes, &file->table, &diag);
    if (status != PZ_OK)
        return fail_status(name, status, &diag);
    row_file_keep_table(file->table);
    return STATUS_OK;
}

static int unpack(const char *name, const buffer *content, const packed_file *file, const char *out)
{
    const size_t end = file->bytes - CHECK_BYTES, row_bytes = pz_ibp_row_bytes(file->table);
    const size_t count = (size_t)file->count, prefix = (size_t)file->prefix_bytes;
    uint64_t *const offsets = memory_keep(count + 1, sizeof *offsets), bad = 0;
    const pz_ibp_rows rows = {.size = sizeof rows,
                              .table = file->table,
                              .data = content->data + file->data_at,
                              .count = count,
                              .data_bytes = (size_t)file->data_bytes,
                              .offsets = offsets};
    unsigned char *raw;
    pz_status status;

    if (load(content->data + end, 8) !=
        XXH3_64bits(content->data + file->prefix_at, end - file->prefix_at))
        return fail_packed(name, "the rows are damaged: their checksum does not match");
    if (count > (SIZE_MAX - prefix) / row_bytes)
        return fail_status(name, PZ_ERR_MEMORY, NULL);
    for (size_t i = 0; i <= count; i++)
        offsets[i] = load(content->data + file->offsets_at + 8 * i, 8);
    raw = memory_keep(prefix + count * row_bytes, 1);
    memcpy(raw, content->data + file->prefix_at, prefix);
    status = pz_ibp_unpack(NULL, &rows, 0, count, raw + prefix, &bad);
    if (status != PZ_OK)
        return fail(name, memory_text("row %" PRIu64, bad), "get the file again", "%s",
                    pz_status_text(status));
    return output_save(out, options.force, raw, prefix + count * row_bytes);
}

static int run_unpack(char **operands, size_t count)
{
    buffer content;
    packed_file file = {0};
    int status = output_check(operands[1], options.force, true);

    (void)count;
    if (status == STATUS_OK)
        status = input_read(operands[0], &content);
    if (status != STATUS_OK)
        return status;
    own(content.data, free);
    status = open_packed(operands[0], &content, &file);
    return status == STATUS_OK ? unpack(operands[0], &content, &file, operands[1]) : status;
}

/* ---- Show -------------------------------------------------------------------------------------
 */

static uint64_t masked_bits(const pz_ibp_table *table)
{
    const unsigned char *const masks = pz_ibp_table_masks(table);
    uint64_t bits = 0;

    for (size_t i = 0; i < pz_ibp_row_bytes(table); i++)
        bits += (unsigned)__builtin_popcount(masks[i]);
    return bits;
}

/* rows: NULL for a table alone. */
static int show(const pz_ibp_table *table, const packed_file *rows)
{
    const pz_ibp_shape shape = pz_ibp_table_shape(table);
    const size_t row_bytes = pz_ibp_row_bytes(table);
    const double invariant = (double)masked_bits(table) / (8 * (double)row_bytes);

    if (options.json) {
        printf("{\"width_bits\": %" PRIu32 ", \"group_bits\": %" PRIu32
               ", \"row_elements\": %" PRIu64 ", \"row_bytes\": %zu, \"invariant\": %.6f",
               shape.width_bits, shape.group_bits, shape.row_elements, row_bytes, invariant);
        if (rows != NULL)
            printf(", \"rows\": %" PRIu64 ", \"raw_bytes\": %" PRIu64
                   ", \"packed_bytes\": %" PRIu64,
                   rows->count, rows->count * row_bytes, rows->data_bytes);
        printf("}\n");
        return STATUS_OK;
    }
    printf("row        %" PRIu64 " elements of %" PRIu32 " bits, %zu bytes\n", shape.row_elements,
           shape.width_bits, row_bytes);
    printf("groups     of %" PRIu32 " bits\ninvariant  %.1f %% of the bits\n", shape.group_bits,
           100 * invariant);
    if (rows != NULL && rows->count != 0)
        printf("rows       %" PRIu64 ", saved %.2f %%\n", rows->count,
               100 - 100 * (double)rows->data_bytes / ((double)rows->count * (double)row_bytes));
    return STATUS_OK;
}

static int run_show(char **operands, size_t count)
{
    buffer content;
    packed_file file = {0};
    pz_ibp_table *table;
    int status = input_read(operands[0], &content);

    (void)count;
    if (status != STATUS_OK)
        return status;
    own(content.data, free);
    if (content.bytes >= sizeof magic && memcmp(content.data, magic, sizeof magic) == 0) {
        status = open_packed(operands[0], &content, &file);
        return status == STATUS_OK ? show(file.table, &file) : status;
    }
    pz_diag diag = {0};
    const pz_status result = pz_ibp_table_load(content.data, content.bytes, &table, &diag);

    if (result != PZ_OK)
        return fail_status(operands[0], result, &diag);
    row_file_keep_table(table);
    return show(table, NULL);
}

static int run_measure(char **operands, size_t count)
{
    return ibp_trial_measure(operands, count, &options.rows, options.json);
}

static int run_cache(char **operands, size_t count)
{
    ibp_cache_options cache = options.cache;

    (void)count;
    cache.skew = cache.skew != 0 ? cache.skew : 1;
    cache.link_bps = cache.link_bps != 0 ? cache.link_bps : 24e9;
    cache.line_bytes = cache.line_bytes != 0 ? cache.line_bytes : 32;
    return ibp_trial_cache(operands[0], &options.rows, &cache, options.json);
}

static const command commands[] = {
    {.name = "ibp learn",
     .usage = "-o TABLE [--dtype TYPE --columns N] [OPTIONS] FILE",
     .summary = "Learn which bits of rows are invariant.",
     .details = "FILE is .npy, whose last dimension is a row, or raw elements.",
     .options = learn_options,
     .operands_min = 1,
     .operands_max = 1,
     .run = run_learn},
    {.name = "ibp pack",
     .usage = "[--table TABLE] [--dtype TYPE --columns N] [OPTIONS] IN OUT",
     .summary = "Pack the rows of a file by invariant bits.",
     .options = pack_options,
     .operands_min = 2,
     .operands_max = 2,
     .run = run_pack},
    {.name = "ibp unpack",
     .usage = "[-f] IN OUT",
     .summary = "Make the file again that was packed.",
     .options = unpack_options,
     .operands_min = 2,
     .operands_max = 2,
     .run = run_unpack},
    {.name = "ibp show",
     .usage = "[--json] FILE",
     .summary = "Tell what a table or a file of packed rows is.",
     .options = show_options,
     .operands_min = 1,
     .operands_max = 1,
     .run = run_show},
    {.name = "ibp measure",
     .usage = "[--dtype TYPE --columns N] [OPTIONS] FILE...",
     .summary = "Measure what packing the rows of files saves, and its rates.",
     .details =
         "Beside planezip2 on all rows as one stream, and on each by itself.  Rates are GB/s on\n"
         "one core.",
     .options = measure_options,
     .operands_min = 1,
     .operands_max = SIZE_MAX,
     .run = run_measure},
    {.name = "ibp cache",
     .usage = "[--dtype TYPE --columns N] [OPTIONS] FILE",
     .summary = "Simulate skewed look-ups of rows through a cache of packed ones.",
     .details =
         "The rows lie packed behind a link; caches have the memory of 2 to 40 % of them.  Plain\n"
         "ones have rows as they are.  Unpacking is taken to be hidden behind the link.",
     .options = cache_options,
     .operands_min = 1,
     .operands_max = 1,
     .run = run_cache},
};

const verb verb_ibp = {.name = "ibp", .commands = commands, .count = LENGTH(commands)};
