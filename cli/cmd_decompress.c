/* planezip decompress: .pz containers back to the files that they were made from. */
#include "batch.h"
#include "clean.h"
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "units.h"
#include "unpacking.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct {
    batch_options batch;
    unpacking_options unpacking;
} options;

static const option decompress_options[] = {
    BATCH_OPTIONS(options.batch),
    SWITCH(0, "salvage", &options.unpacking.salvage,
           "of damaged or unfinished files, write what is whole;\n"
           "zeros stand for what is lost.  The status is 1 if it was"),
    COMMON_OPTIONS};

static void report(const char *in, const unpacking_result *result)
{
    char raw[UNITS_TEXT];

    if (common.verbose) {
        clean_print(in, stderr);
        fprintf(stderr, ": %" PRIu64 " tensor%s, %s raw\n", result->tensors,
                result->tensors == 1 ? "" : "s", units_bytes(result->raw_bytes, raw));
    }
    if (result->lost_bytes > 0)
        warn("%s: %" PRIu64 " of %" PRIu64 " bytes are lost, zeros stand for them", in,
             result->lost_bytes, result->raw_bytes);
}

static int decompress_file(const char *in, const char *out, pz_threads *threads)
{
    unpacking_result result;
    output_file file;
    source input;
    int status = source_open(&input, in);
    bool written;

    if (status != STATUS_OK)
        return status;
    status = output_open(&file, out, options.batch.force);
    if (status != STATUS_OK) {
        source_close(&input);
        return status;
    }
    options.unpacking.threads = threads;
    status = unpacking_run(&input, &file, &options.unpacking, &result);
    written =
        status == STATUS_OK || (options.unpacking.salvage && result.raw_bytes > 0 && !file.failed);
    if (!written)
        output_abandon(&file);
    else if (output_commit(&file, input.bytes != PZ_UNKNOWN ? &input.status : NULL) != STATUS_OK)
        status = STATUS_DATA;
    source_close(&input);
    if (written)
        report(in, &result);
    return status;
}

static const char *name_output(const char *in)
{
    if (batch_has_suffix(in, ".pz") && strcmp(batch_base_name(in), ".pz") != 0)
        return memory_text("%.*s", (int)(strlen(in) - 3), in);
    fail(in, NULL, "name the output with -o", "its name does not end with .pz");
    return NULL;
}

static bool wants(const char *name)
{
    return batch_has_suffix(name, ".pz");
}

static int run(char **files, size_t count)
{
    static const batch self = {.options = &options.batch,
                               .work = decompress_file,
                               .name_output = name_output,
                               .wants = wants,
                               .joins = true};

    if (options.unpacking.salvage && options.batch.remove)
        return fail_usage("--salvage and --rm exclude each other");
    return batch_run(&self, files, count);
}

static const command commands[] = {{
    .name = "decompress",
    .usage = "[OPTIONS] [FILE...]",
    .summary = "Restore files from .pz containers.",
    .details =
        "FILE.pz becomes FILE.  Everything is checked before it is written.  Without a file,\n"
        "standard input goes to standard output.",
    .options = decompress_options,
    .operands_max = SIZE_MAX,
    .run = run,
}};

const verb verb_decompress = {.name = "decompress", .commands = commands, .count = 1};
