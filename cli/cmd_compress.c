/* planezip compress: files of tensors to .pz containers. */
#include "batch.h"
#include "clean.h"
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "packing.h"
#include "table.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct {
    batch_options batch;
    packing_options packing; /* codec: NULL if it was not told */
    bool fast, json;
} options;

static table *results; /* of --json */

/* "3,4,5"; an empty text is a single element. */
static const char *parse_shape(const char *text, void *target)
{
    tensors_options *file = target;
    uint64_t *shape = memory_keep(strlen(text) + 1, sizeof *shape);
    uint32_t rank = 0;

    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        const char *problem =
            units_parse_count(memory_text("%.*s", (int)length, text), &shape[rank++]);

        if (problem != NULL)
            return problem;
        text += length;
        if (*text == ',' && *++text == '\0')
            return "a part of the list is empty";
    }
    file->shape = shape;
    file->rank = rank;
    return NULL;
}

static const char *parse_segment(const char *text, void *target)
{
    uint64_t bytes;
    const char *problem = units_parse_bytes(text, &bytes);

    if (problem != NULL)
        return problem;
    if (bytes == 0 || bytes % PZ_CHUNK_BYTES != 0 || bytes > PZ_SEGMENT_MAX_BYTES)
        return "it must be a multiple of 4096, and at most 256MiB";
    *(uint64_t *)target = bytes;
    return NULL;
}

static const option compress_options[] = {
    OPTION('d', "dtype", "TYPE", option_dtype, &options.packing.file.dtype,
           "type of the elements of raw files, and of .npy files\n"
           "that do not name it: bf16, f32, i64, bool, ...; a file\n"
           "that names another one is refused"),
    OPTION('s', "shape", "N,N,...", parse_shape, &options.packing.file,
           "shape of raw files; without it, a vector"),
    OPTION(0, "format", "KIND", option_kind, &options.packing.file.kind,
           "raw, npy or safetensors; auto (default) looks at the file"),
    OPTION(0, "codec", "C", option_stream_codec, &options.packing.codec,
           "planezip2 (default) or planezip2-fast; or of the paper's\n"
           "format planezip, zvc, bpc, bx or zbx"),
    SWITCH(0, "fast", &options.fast, "compress faster and less well, as --codec planezip2-fast"),
    OPTION('p', "profile", "NAME", option_profile, &options.packing.profile,
           "symbol widths of the paper's format: native (default), as\n"
           "wide as the elements, or paper, 16 bits for bf16 and f16\n"
           "and 32 for all else"),
    OPTION(0, "segment", "SIZE", parse_segment, &options.packing.segment_bytes,
           "raw bytes that are coded together, 16MiB by default"),
    BATCH_OPTIONS(options.batch),
    SWITCH(0, "json", &options.json, "print what was written as JSON"),
    COMMON_OPTIONS};

static const column columns[] = {
    {"file", "file", COLUMN_TEXT},           {"output", "output", COLUMN_TEXT},
    {"tensors", "tensors", COLUMN_COUNT},    {"raw_bytes", "raw", COLUMN_BYTES},
    {"stored_bytes", "coded", COLUMN_BYTES}, {"ratio", "ratio", COLUMN_RATIO}};

static void report(const char *in, const char *out, const packing_result *result)
{
    const double ratio = result->raw_bytes > 0
                             ? (double)result->raw_bytes / (double)result->stored_bytes
                             : (double)NAN;
    char raw[UNITS_TEXT], stored[UNITS_TEXT];

    if (options.json) {
        table_text(results, in);
        table_text(results, out);
        table_size(results, result->tensors);
        table_size(results, result->raw_bytes);
        table_size(results, result->stored_bytes);
        table_real(results, ratio);
    }
    if (!common.verbose)
        return;
    clean_print(in, stderr);
    fprintf(stderr, ": %" PRIu64 " tensor%s, %s raw, %s coded, ratio %.3f\n", result->tensors,
            result->tensors == 1 ? "" : "s", units_bytes(result->raw_bytes, raw),
            units_bytes(result->stored_bytes, stored), result->raw_bytes > 0 ? ratio : 1.0);
}

static int compress_file(const char *in, const char *out, pz_threads *threads)
{
    packing_result result;
    output_file file;
    source input;
    int status = source_open(&input, in);

    if (status != STATUS_OK)
        return status;
    status = output_open(&file, out, options.batch.force);
    if (status != STATUS_OK) {
        source_close(&input);
        return status;
    }
    options.packing.threads = threads;
    status = packing_run(&input, &file, &options.packing, &result);
    if (status == STATUS_OK)
        status = output_commit(&file, input.bytes != PZ_UNKNOWN ? &input.status : NULL);
    else
        output_abandon(&file);
    source_close(&input);
    if (status == STATUS_OK)
        report(in, out, &result);
    return status;
}

static const char *name_output(const char *in)
{
    return memory_text("%s.pz", in);
}

/* Raw files only if their type was told, and never what was compressed before. */
static bool wants(const char *name)
{
    if (batch_has_suffix(name, ".pz"))
        return false;
    return options.packing.file.dtype != 0 || batch_has_suffix(name, ".npy") ||
           batch_has_suffix(name, ".safetensors");
}

/* Whether the options go together; then a codec is chosen. */
static int check_options(size_t count)
{
    packing_options *packing = &options.packing;
    pz_mode mode;

    if (options.json && (options.batch.to_standard || count == 0))
        return fail_usage("--json needs an output that is a file");
    if (packing->file.shape != NULL && packing->file.dtype == 0)
        return fail_usage("--shape needs --dtype");
    if (options.fast && packing->codec != NULL)
        return fail_usage("--fast and --codec exclude each other");
    if (packing->codec == NULL)
        packing->codec = options.fast ? "planezip2-fast" : "planezip2";
    pz_mode_named(packing->codec, 8, &mode);
    if (packing->profile != PZ_PROFILE_NATIVE && mode.format != PZ_FORMAT_1)
        return fail_usage("--profile paper is for the paper's format, as in --codec planezip: %s "
                          "takes its symbols from the type",
                          packing->codec);
    return STATUS_OK;
}

static int run(char **files, size_t count)
{
    static const batch self = {.options = &options.batch,
                               .work = compress_file,
                               .name_output = name_output,
                               .wants = wants};
    int status = check_options(count);

    if (status != STATUS_OK)
        return status;
    if (options.json)
        results = table_new(columns, LENGTH(columns));
    status = batch_run(&self, files, count);
    if (options.json && status != STATUS_USAGE)
        json_show(json_pack("{s:o}", "files", table_json(results)), stdout);
    return status;
}

static const command commands[] = {{
    .name = "compress",
    .usage = "[OPTIONS] [FILE...]",
    .summary = "Compress files of tensors into .pz containers.",
    .details = "Files are .npy, .safetensors, or raw elements of a type that --dtype tells.  FILE\n"
               "becomes FILE.pz, and decompress restores it to the last bit.  Without a file,\n"
               "standard input goes to standard output.",
    .options = compress_options,
    .operands_max = SIZE_MAX,
    .run = run,
}};

const verb verb_compress = {.name = "compress", .commands = commands, .count = 1};
