/* planezip test: checks .pz containers, writing nothing. */
#include "batch.h"
#include "clean.h"
#include "commands.h"
#include "errors.h"
#include "table.h"
#include "units.h"
#include "unpacking.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct {
    batch_options batch;
    bool json;
} options;

static table *results; /* of --json */

static const option test_options[] = {BATCH_INPUTS(options.batch),
                                      SWITCH(0, "json", &options.json, "print the results as JSON"),
                                      COMMON_OPTIONS};

static const column columns[] = {{"file", "file", COLUMN_TEXT},
                                 {"ok", "ok", COLUMN_FLAG},
                                 {"tensors", "tensors", COLUMN_COUNT},
                                 {"raw_bytes", "raw", COLUMN_BYTES}};

static void report(const char *in, bool ok, const unpacking_result *result)
{
    char raw[UNITS_TEXT];

    if (options.json) {
        table_text(results, in);
        table_flag(results, ok);
        table_size(results, result->tensors);
        table_size(results, result->raw_bytes);
    } else if (ok && !common.quiet) {
        clean_print(strcmp(in, "-") == 0 ? "standard input" : in, stdout);
        printf(": ok, %" PRIu64 " tensor%s, %s raw\n", result->tensors,
               result->tensors == 1 ? "" : "s", units_bytes(result->raw_bytes, raw));
    }
}

static int test_file(const char *in, const char *out, pz_threads *threads)
{
    const unpacking_options all_checks = {.check_pages = true, .threads = threads};
    unpacking_result result = {0};
    source input;
    int status = source_open(&input, in);

    (void)out;
    if (status == STATUS_USAGE)
        return status;
    if (status == STATUS_OK) {
        status = unpacking_run(&input, NULL, &all_checks, &result);
        source_close(&input);
    }
    report(in, status == STATUS_OK, &result);
    return status;
}

static bool wants(const char *name)
{
    return batch_has_suffix(name, ".pz");
}

static int run(char **files, size_t count)
{
    static const batch self = {.options = &options.batch, .work = test_file, .wants = wants};
    int status;

    if (options.json)
        results = table_new(columns, LENGTH(columns));
    status = batch_run(&self, files, count);
    if (options.json && status != STATUS_USAGE)
        json_show(json_pack("{s:o}", "files", table_json(results)), stdout);
    return status;
}

static const command commands[] = {{
    .name = "test",
    .usage = "[OPTIONS] [FILE...]",
    .summary = "Check .pz containers, writing nothing.",
    .details = "Every byte is read, decoded and compared with its checksums.",
    .options = test_options,
    .operands_max = SIZE_MAX,
    .run = run,
}};

const verb verb_test = {.name = "test", .commands = commands, .count = 1};
