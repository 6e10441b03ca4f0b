/* planezip measure: the ratio of every codec on files, without writing anything. */
#include "commands.h"
#include "errors.h"
#include "input.h"
#include "measure_index.h"
#include "sizes.h"
#include "table.h"
#include "tensors.h"

#include <stdio.h>

static struct {
    pz_dtype dtype; /* 0: not told */
    uint32_t width;
    const char *index;
    bool to_bf16, native, csv, json;
} options;

static const option measure_options[] = {
    OPTION('d', "dtype", "TYPE", option_dtype, &options.dtype,
           "type of the elements: f32, bf16, f16, f64, i64 ... i8,\n"
           "u64 ... u8, bool, c64, c128, f8_e4m3, f8_e5m2, ..."),
    OPTION('w', "width", "W", option_width, &options.width,
           "bits per symbol instead: 8, 16, 32 or 64; planezip2 takes\n"
           "integers of this width"),
    SWITCH(0, "native", &options.native,
           "symbols as wide as the elements, as planezip2 takes them\n"
           "anyway, instead of 16 bits for bf16 and f16 and 32 for all\n"
           "other types"),
    SWITCH(0, "to-bf16", &options.to_bf16, "round f32 to bf16 first (to nearest, ties to even)"),
    OPTION(0, "index", "CSV", option_text, &options.index,
           "measure the chunks that an index of activations names"),
    SWITCH(0, "csv", &options.csv, "print CSV"),
    SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};

static const column columns[] = {
    {"file", "file", COLUMN_TEXT},
    {"width_bits", "width", COLUMN_COUNT},
    {"raw_bytes", "raw", COLUMN_BYTES},
    {"planezip_ratio", "planezip", COLUMN_RATIO},
    {"zvc_ratio", "zvc", COLUMN_RATIO},
    {"bpc_ratio", "bpc", COLUMN_RATIO},
    {"bx_ratio", "bx", COLUMN_RATIO},
    {"zbx_ratio", "zbx", COLUMN_RATIO},
    {"bdi_ratio", "bdi", COLUMN_RATIO},
    {"planezip2_ratio", "planezip2", COLUMN_RATIO},
    {"planezip2_fast_ratio", "planezip2-fast", COLUMN_RATIO},
    {"planezip_bytes", NULL, COLUMN_COUNT},
    {"zvc_bytes", NULL, COLUMN_COUNT},
    {"bpc_bytes", NULL, COLUMN_COUNT},
    {"bx_bytes", NULL, COLUMN_COUNT},
    {"zbx_bytes", NULL, COLUMN_COUNT},
    {"bdi_bytes", NULL, COLUMN_COUNT},
    {"planezip2_bytes", NULL, COLUMN_COUNT},
    {"planezip2_fast_bytes", NULL, COLUMN_COUNT},
    {"raw_blocks", NULL, COLUMN_BLOCKS},
    {"zvc_blocks", NULL, COLUMN_BLOCKS},
    {"bx_blocks", NULL, COLUMN_BLOCKS},
    {"dbx_blocks", NULL, COLUMN_BLOCKS},
    {"zbx_blocks", NULL, COLUMN_BLOCKS},
    {"e_blocks", "E", COLUMN_BLOCKS},
    {"i_blocks", "I", COLUMN_BLOCKS},
    {"d_blocks", "D", COLUMN_BLOCKS},
    {"c_blocks", "C", COLUMN_BLOCKS},
};

static void add_row(table *results, const char *name, unsigned width, const sizes *sum)
{
    table_text(results, name);
    table_int(results, width);
    table_size(results, sum->raw_bytes);
    for (unsigned codec = 0; codec < SIZES_CODECS; codec++)
        table_real(results, sizes_ratio(sum, codec));
    for (unsigned codec = 0; codec < SIZES_CODECS; codec++)
        table_size(results, sum->coded_bytes[codec]);
    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        table_size(results, sum->blocks[i]);
}

static sizes_symbols choose_symbols(void)
{
    const pz_dtype dtype = options.to_bf16 ? PZ_DTYPE_BF16 : options.dtype;
    const pz_profile profile = options.native ? PZ_PROFILE_NATIVE : PZ_PROFILE_PAPER;

    return (sizes_symbols){options.width != 0 ? options.width : pz_profile_width(profile, dtype),
                           dtype};
}

static int measure_file(const char *file, const sizes_symbols *symbols, sizes *sum)
{
    buffer content;
    pz_status result;
    int status = input_read(file, &content);

    if (status != STATUS_OK)
        return status;
    if (options.dtype != 0 && content.bytes * 8 % pz_dtype_bits(options.dtype) != 0) {
        status = fail(file, NULL, "check --dtype, or give --width instead",
                      "%zu bytes are not a whole number of %s elements", content.bytes,
                      pz_dtype_name(options.dtype));
        input_free(&content);
        return status;
    }
    if (options.to_bf16) {
        /* In place: what is written lies before what is read next. */
        sizes_to_bf16(content.data, content.bytes / 4, content.data);
        content.bytes /= 2;
    }
    result = sizes_add(sum, symbols, content.data, content.bytes);
    input_free(&content);
    return result == PZ_OK ? STATUS_OK : fail_status(file, result, NULL);
}

static int run_files(char **files, size_t count)
{
    table *results = table_new(columns, LENGTH(columns));
    table *total = table_new(columns, LENGTH(columns));
    const sizes_symbols symbols = choose_symbols();
    sizes all = {0};

    for (size_t i = 0; i < count; i++) {
        sizes sum = {0};
        int status = measure_file(files[i], &symbols, &sum);

        if (status != STATUS_OK)
            return status;
        add_row(results, files[i], symbols.width_bits, &sum);
        sizes_join(&all, &sum);
    }
    add_row(total, "all", symbols.width_bits, &all);
    if (options.csv) {
        table_csv(results);
    } else if (options.json) {
        json_show(
            json_pack("{s:o, s:o}", "files", table_json(results), "all", table_row_json(total, 0)),
            stdout);
    } else {
        if (count > 1)
            add_row(results, "all", symbols.width_bits, &all);
        table_print(results, NULL);
    }
    return STATUS_OK;
}

static int run_index(void)
{
    table *figure_3, *table_3;
    int status = measure_index(options.index, options.native, &figure_3, &table_3);

    if (status != STATUS_OK)
        return status;
    if (options.json) {
        json_show(json_pack("{s:o, s:o}", "figure_3", table_json(figure_3), "table_3",
                            table_json(table_3)),
                  stdout);
    } else if (options.csv) {
        table_csv(figure_3);
        printf("\n");
        table_csv(table_3);
    } else {
        table_print(figure_3, "Figure 3: ratio per model and codec, weighted by bytes");
        table_print(table_3, "\nTable III: ratio per class of producer, bf16");
    }
    return STATUS_OK;
}

static int run(char **files, size_t count)
{
    int status = table_check_formats(options.csv, options.json);

    if (status != STATUS_OK)
        return status;
    if (options.index != NULL) {
        if (count > 0 || options.dtype != 0 || options.width != 0 || options.to_bf16)
            return fail_usage("--index takes no files, --dtype, --width or --to-bf16");
        return run_index();
    }
    if (count == 0)
        return fail_usage("a file is missing");
    if (options.dtype == 0 && options.width == 0)
        return fail_usage("--dtype or --width is missing; the files do not tell their type");
    if (options.dtype != 0 && options.width != 0)
        return fail_usage("--dtype and --width exclude each other");
    if (options.native && options.dtype == 0)
        return fail_usage("--native needs --dtype");
    if (options.to_bf16 && options.dtype != PZ_DTYPE_F32)
        return fail_usage("--to-bf16 needs --dtype f32");
    return run_files(files, count);
}

static const command commands[] = {{
    .name = "measure",
    .usage = "(--dtype TYPE | --width W) [OPTIONS] FILE...\n"
             "       planezip measure --index CSV [OPTIONS]",
    .summary = "Measure the ratio of every codec on files.",
    .details =
        "Files hold nothing but elements.  planezip2 takes its symbols from the type.  The\n"
        "blocks are those of its modes; -v prints the sizes and the blocks of planezip too.\n"
        "--index prints the tables of Figure 3 and Table III.",
    .options = measure_options,
    .operands_max = SIZE_MAX,
    .run = run,
}};

const verb verb_measure = {.name = "measure", .commands = commands, .count = 1};
