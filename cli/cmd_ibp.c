/* planezip ibp: rows of a file packed with a learned table, and back (docs/ibp.md, "Files"). */
#include "commands.h"
#include "errors.h"
#include "ibp_trial.h"
#include "input.h"
#include "memory.h"
#include "output.h"
#include "packed_rows.h"
#include "tensors.h"
#include "units.h"

#include <planezip/ibp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static const char *parse_columns(const char *text, void *target)
{
    uint64_t *const value = target;

    if (units_parse_count(text, value) != NULL || *value == 0)
        return "it must be a whole number above 0";
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
        OPTION('c', "columns", "N", parse_columns, &options.rows.columns,             \
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
        status = output_check_input(operands[0], options.output, "-o");
    if (status == STATUS_OK)
        status = row_file_open(operands[0], false, &options.rows, &file);
    if (status == STATUS_OK)
        status = row_file_learn(&file, &options.rows, &table);
    if (status != STATUS_OK)
        return status;
    stored = memory_keep(pz_ibp_table_bytes(table), 1);
    pz_ibp_table_save(table, stored, pz_ibp_table_bytes(table));
    return output_save(options.output, options.force, stored, pz_ibp_table_bytes(table));
}

static int run_pack(char **operands, size_t count)
{
    row_file file = {0};
    pz_ibp_table *table = NULL;
    pz_ibp_shape shape;
    int status;

    (void)count;
    if (options.table != NULL && (options.rows.group != 0 || options.rows.threshold != 0))
        return fail_usage("--group and --threshold are for a table that is learned, --table for "
                          "one that is there");
    status = output_check(operands[1], options.force, true);
    if (status == STATUS_OK)
        status = output_check_inputs((const char *[]){operands[0], options.table}, 2, operands[1],
                                     "OUT");
    if (status == STATUS_OK)
        status = row_file_open(operands[0], false, &options.rows, &file);
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
    return packed_rows_pack(&file, table, operands[1], options.force);
}

static int run_unpack(char **operands, size_t count)
{
    pieces *in;
    int status = output_check(operands[1], options.force, true);

    (void)count;
    if (status == STATUS_OK)
        status = output_check_input(operands[0], operands[1], "OUT");
    if (status == STATUS_OK)
        status = pieces_open(operands[0], false, &in);
    return status == STATUS_OK ? packed_rows_unpack(in, operands[1], options.force) : status;
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
            printf(", \"dtype\": \"%s\", \"rows\": %" PRIu64 ", \"raw_bytes\": %" PRIu64
                   ", \"packed_bytes\": %" PRIu64 ", \"file_bytes\": %" PRIu64,
                   pz_dtype_name(rows->dtype), rows->count, rows->count * row_bytes,
                   rows->data_bytes, rows->bytes);
        printf("}\n");
        return STATUS_OK;
    }
    printf("row        %" PRIu64 " elements of %" PRIu32 " bits, %zu bytes\n", shape.row_elements,
           shape.width_bits, row_bytes);
    if (rows != NULL)
        printf("type       %s\n", pz_dtype_name(rows->dtype));
    printf("groups     of %" PRIu32 " bits\ninvariant  %.1f %% of the bits\n", shape.group_bits,
           100 * invariant);
    if (rows != NULL && rows->count != 0)
        printf("rows       %" PRIu64 ", saved %.2f %%\n", rows->count,
               100 - 100 * (double)rows->data_bytes / ((double)rows->count * (double)row_bytes));
    return STATUS_OK;
}

static int run_show(char **operands, size_t count)
{
    pieces *in;
    packed_file file = {0};
    bool is_rows = false;
    int status = pieces_open(operands[0], false, &in);

    (void)count;
    if (status == STATUS_OK)
        status = packed_rows_look(in, &is_rows);
    if (status != STATUS_OK)
        return status;
    if (is_rows) {
        status = packed_rows_open(in, &file);
        return status == STATUS_OK ? show(file.table, &file) : status;
    }
    status = packed_rows_table(in, 0, &file);
    if (status == STATUS_OK && file.table_bytes != in->bytes)
        status = fail(in->name, NULL, "get the file again", "there are bytes behind the table");
    return status == STATUS_OK ? show(file.table, NULL) : status;
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
