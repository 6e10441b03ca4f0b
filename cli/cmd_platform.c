/* planezip platform: the built-in platforms, as a table and as files to edit. */
#include "commands.h"
#include "errors.h"
#include "input.h"
#include "names.h"
#include "output.h"
#include "table.h"

#include <planezip/plan.h>

#include <stdio.h>

static struct {
    bool json, force;
    const char *output;
} options = {.output = "-"};

static const option list_options[] = {SWITCH(0, "json", &options.json, "print JSON"),
                                      COMMON_OPTIONS};

static const option show_options[] = {
    OPTION('o', "output", "FILE", option_text, &options.output,
           "where to write the platform (standard output)"),
    SWITCH('f', "force", &options.force, "overwrite FILE"),
    SWITCH(0, "json", &options.json, "a platform is always shown as JSON"), COMMON_OPTIONS};

static const column columns[] = {
    {"name", "name", COLUMN_TEXT},
    {"precision", "precision", COLUMN_TEXT},
    {"math_flops", NULL, COLUMN_NUMBER},
    {"math_fraction", NULL, COLUMN_NUMBER},
    {"memory_bps", "memory", COLUMN_GBPS},
    {"memory_fraction", NULL, COLUMN_NUMBER},
    {"d2h_bps", "to host", COLUMN_GBPS},
    {"h2d_bps", "to device", COLUMN_GBPS},
    {"gpus_per_link", "GPUs per link", COLUMN_COUNT},
    {"engine_bps", "engine", COLUMN_GBPS},
    {"software_bps", "software", COLUMN_GBPS},
    {"memory_bytes", "size", COLUMN_BYTES},
    {"description", "description", COLUMN_TEXT},
    {"source", NULL, COLUMN_TEXT},
};

static void add_row(table *results, const pz_platform *platform)
{
    table_text(results, platform->name);
    table_text(results, names_precision(platform->precision));
    table_real(results, platform->math_flops);
    table_real(results, platform->math_fraction);
    table_real(results, platform->memory_bps);
    table_real(results, platform->memory_fraction);
    table_real(results, platform->d2h_bps);
    table_real(results, platform->h2d_bps);
    table_int(results, platform->gpus_per_link);
    table_real(results, platform->engine_bps);
    table_real(results, platform->software_bps);
    table_size(results, platform->memory_bytes);
    table_text(results, platform->description);
    table_text(results, platform->source);
}

static int run_list(char **operands, size_t count)
{
    table *results = table_new(columns, LENGTH(columns));
    pz_platform platform;

    (void)operands;
    (void)count;
    for (size_t i = 0; i < pz_platform_count(); i++)
        if (pz_platform_builtin(i, &platform) == PZ_OK)
            add_row(results, &platform);
    if (options.json)
        json_show(json_pack("{s:o}", "platforms", table_json(results)), stdout);
    else
        table_print(results, NULL);
    return STATUS_OK;
}

static int run_show(char **operands, size_t count)
{
    pz_platform platform;
    pz_status result;
    char *text = NULL;
    int status = output_check(options.output, options.force, false);

    (void)count;
    if (status == STATUS_OK)
        status = input_platform(operands[0], &platform);
    if (status != STATUS_OK)
        return status;
    result = pz_platform_json(&platform, &text);
    return json_save(options.output, options.force, operands[0], result, text);
}

static const command commands[] = {
    {
        .name = "platform list",
        .usage = "[--json]",
        .summary = "List the built-in platforms.",
        .details = "-v adds the math rate, the achievable shares and the sources.",
        .options = list_options,
        .run = run_list,
    },
    {
        .name = "platform show",
        .usage = "[-o FILE] PLATFORM",
        .summary = "Print a platform as a file to edit.",
        .details = "PLATFORM is a built-in name or a file.",
        .options = show_options,
        .operands_min = 1,
        .operands_max = 1,
        .run = run_show,
    },
};

const verb verb_platform = {.name = "platform", .commands = commands, .count = LENGTH(commands)};
