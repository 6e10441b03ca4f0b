/* planezip ratios: tables of ratios, the predictor's memory between runs. */
#include "clean.h"
#include "commands.h"
#include "errors.h"
#include "input.h"
#include "memory.h"
#include "names.h"
#include "output.h"
#include "table.h"

#include <planezip/plan.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MODEL_BYTES = 63 };

static struct {
    const char *trace, *codec, *output, *model;
    int64_t op, slot;
    pz_precision precision;
    uint64_t raw_bytes, coded_bytes, iteration;
    bool force, csv, json;
} options = {.codec = "planezip", .output = "-"};

static const option show_options[] = {OPTION('t', "trace", "TRACE", option_text, &options.trace,
                                             "weight the mean ratios with the bytes of a trace"),
                                      SWITCH(0, "csv", &options.csv, "print the entries as CSV"),
                                      SWITCH(0, "json", &options.json, "print JSON"),
                                      COMMON_OPTIONS};

static const option compare_options[] = {
    OPTION_NEEDED('t', "trace", "TRACE", option_text, &options.trace, "trace of the tables' model"),
    OPTION('c', "codec", "CODEC", option_codec, &options.codec, "planezip (default) or zvc"),
    SWITCH(0, "csv", &options.csv, "print CSV"), SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};

static const option update_options[] = {
    OPTION_NEEDED(0, "op", "N", option_index, &options.op,
                  "operator that produced the tensor, -1 for an input"),
    OPTION_NEEDED(0, "slot", "N", option_index, &options.slot, "output slot of the operator"),
    OPTION_NEEDED('c', "codec", "CODEC", option_codec, &options.codec, "planezip or zvc"),
    OPTION_NEEDED(0, "precision", "P", option_precision, &options.precision, "bf16 or fp32"),
    OPTION_NEEDED(0, "raw", "BYTES", option_size, &options.raw_bytes, "size of the tensor"),
    OPTION_NEEDED(0, "coded", "BYTES", option_size, &options.coded_bytes, "size of its stream"),
    OPTION(0, "iteration", "N", option_count, &options.iteration,
           "iteration of the measurement (0)"),
    OPTION(0, "model", "NAME", option_text, &options.model,
           "model of a table that is created (the file's name)"),
    OPTION('o', "output", "FILE", option_text, &options.output,
           "where to write the table (standard output)"),
    SWITCH('f', "force", &options.force, "overwrite FILE, which may be TABLE"),
    COMMON_OPTIONS};

/* ---- show ---- */

static const column entry_columns[] = {
    {"op", "op", COLUMN_COUNT},
    {"slot", "slot", COLUMN_COUNT},
    {"producer_class", "producer", COLUMN_TEXT},
    {"planezip_bf16_ratio", "planezip bf16", COLUMN_RATIO},
    {"planezip_fp32_ratio", "fp32", COLUMN_RATIO},
    {"zvc_bf16_ratio", "zvc bf16", COLUMN_RATIO},
    {"zvc_fp32_ratio", "fp32", COLUMN_RATIO},
};

static const column mean_columns[] = {
    {"codec", "codec", COLUMN_TEXT},
    {"bf16_ratio", "bf16", COLUMN_RATIO},
    {"fp32_ratio", "fp32", COLUMN_RATIO},
    {"weight", "mean over", COLUMN_TEXT},
};

static const pz_precision shown_precisions[] = {PZ_BF16, PZ_FP32};

static void add_entries(table *results, const pz_predictor *predictor)
{
    for (size_t i = 0; i < pz_predictor_entries(predictor); i++) {
        pz_ratio_entry entry;

        if (pz_predictor_entry(predictor, i, &entry) != PZ_OK)
            continue;
        table_int(results, entry.op);
        table_int(results, entry.slot);
        table_text(results, entry.producer_class);
        for (size_t c = 0; c < NAMES_CODECS; c++)
            for (size_t p = 0; p < LENGTH(shown_precisions); p++)
                table_real(results, pz_predictor_ratio(predictor, entry.op, entry.slot,
                                                       names_codecs[c], shown_precisions[p]));
    }
}

/* Wire bytes add up, so the mean of ratios is a harmonic one. */
static double mean_of_entries(const pz_predictor *predictor, const char *codec,
                              pz_precision precision)
{
    size_t count = pz_predictor_entries(predictor);
    double wire = 0;

    for (size_t i = 0; i < count; i++) {
        pz_ratio_entry entry;

        if (pz_predictor_entry(predictor, i, &entry) == PZ_OK)
            wire += 1 / pz_predictor_ratio(predictor, entry.op, entry.slot, codec, precision);
    }
    return count > 0 ? (double)count / wire : NAN;
}

static int mean_of_trace(const pz_predictor *predictor, const char *file, const pz_trace *trace,
                         const char *codec, pz_precision precision, double *mean)
{
    pz_trace_info info;
    double *ratios, wire = 0;
    int status = input_ratios(file, predictor, trace, codec, precision, PZ_BY_TENSOR, &ratios);

    if (status != STATUS_OK)
        return status;
    pz_trace_get_info(trace, &info);
    for (size_t i = 0; i < info.saved; i++) {
        pz_saved saved;

        if (pz_trace_get_saved(trace, i, &saved) == PZ_OK)
            wire += (double)saved.bytes[precision] / ratios[i];
    }
    *mean = wire > 0 ? (double)info.saved_bytes[precision] / wire : NAN;
    return STATUS_OK;
}

static int add_means(table *results, const pz_predictor *predictor, const char *file,
                     const pz_trace *trace)
{
    for (size_t c = 0; c < NAMES_CODECS; c++) {
        table_text(results, names_codecs[c]);
        for (size_t p = 0; p < LENGTH(shown_precisions); p++) {
            double mean = mean_of_entries(predictor, names_codecs[c], shown_precisions[p]);
            int status = trace == NULL ? STATUS_OK
                                       : mean_of_trace(predictor, file, trace, names_codecs[c],
                                                       shown_precisions[p], &mean);

            if (status != STATUS_OK)
                return status;
            table_real(results, mean);
        }
        table_text(results, trace != NULL ? "bytes of the trace" : "entries, unweighted");
    }
    return STATUS_OK;
}

static void print_show(const char *model, const table *entries, const table *means)
{
    if (options.json) {
        json_show(json_pack("{s:s, s:o, s:o}", "model", model, "means", table_json(means),
                            "entries", table_json(entries)),
                  stdout);
    } else if (options.csv) {
        table_csv(entries);
    } else {
        printf("%s, %zu entries\n", model, table_rows(entries));
        table_print(means, NULL);
        printf("\n");
        table_print(entries, NULL);
    }
}

static int run_show(char **files, size_t count)
{
    table *entries = table_new(entry_columns, LENGTH(entry_columns));
    table *means = table_new(mean_columns, LENGTH(mean_columns));
    pz_predictor *predictor;
    pz_trace *trace = NULL;
    int status = table_check_formats(options.csv, options.json);

    (void)count;
    if (status == STATUS_OK)
        status = input_predictor(files[0], &predictor);
    if (status == STATUS_OK && options.trace != NULL)
        status = input_trace(options.trace, &trace);
    if (status != STATUS_OK)
        return status;
    add_entries(entries, predictor);
    status = add_means(means, predictor, files[0], trace);
    if (status == STATUS_OK)
        print_show(pz_predictor_model(predictor), entries, means);
    return status;
}

/* ---- compare ---- */

static const column error_columns[] = {
    {"signature", "signature", COLUMN_TEXT},
    {"bf16_wire_error", "bf16", COLUMN_PERCENT},
    {"fp32_wire_error", "fp32", COLUMN_PERCENT},
};

static int add_error(table *results, char **files, pz_predictor *const *predictors,
                     const pz_trace *trace, pz_signature signature, pz_precision precision)
{
    double *predicted, *actual;
    int status = input_ratios(files[0], predictors[0], trace, options.codec, precision, signature,
                              &predicted);

    if (status == STATUS_OK)
        status = input_ratios(files[1], predictors[1], trace, options.codec, precision,
                              PZ_BY_TENSOR, &actual);
    if (status == STATUS_OK)
        table_real(results, pz_wire_error(trace, precision, predicted, actual));
    return status;
}

static int run_compare(char **files, size_t count)
{
    table *results = table_new(error_columns, LENGTH(error_columns));
    pz_predictor *predictors[2];
    pz_trace *trace;
    int status = table_check_formats(options.csv, options.json);

    (void)count;
    if (status == STATUS_OK)
        status = input_trace(options.trace, &trace);
    for (size_t i = 0; status == STATUS_OK && i < 2; i++)
        status = input_predictor(files[i], &predictors[i]);
    for (pz_signature s = PZ_BY_TENSOR; status == STATUS_OK && s <= PZ_BY_NOTHING; s++) {
        table_text(results, names_signature(s));
        for (size_t p = 0; status == STATUS_OK && p < LENGTH(shown_precisions); p++)
            status = add_error(results, files, predictors, trace, s, shown_precisions[p]);
    }
    if (status != STATUS_OK)
        return status;
    if (options.json)
        json_show(json_pack("{s:s, s:s, s:o}", "model", pz_predictor_model(predictors[0]), "codec",
                            options.codec, "wire_errors", table_json(results)),
                  stdout);
    else if (options.csv)
        table_csv(results);
    else
        table_print(results, "Table IV: error of the wire size by signature");
    return STATUS_OK;
}

/* ---- update ---- */

/* "tables/gpt2.json" is the table of gpt2, unless --model tells. */
static const char *model_of(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash != NULL ? slash + 1 : file;
    size_t length = strlen(name);

    if (options.model != NULL)
        return options.model;
    if (length > 5 && strcmp(name + length - 5, ".json") == 0)
        length -= 5;
    return memory_text("%.*s", (int)length, name);
}

static bool is_utf8(const char *text)
{
    json_t *value = json_string(text);

    json_decref(value);
    return value != NULL;
}

/* What is wrong with the name of a new table's model, or NULL. */
static const char *check_model(const char *model)
{
    if (!is_utf8(model))
        return "it is not UTF-8";
    if (!clean_is(model))
        return "it contains a control character";
    return strlen(model) > MODEL_BYTES ? "it is longer than 63 bytes" : NULL;
}

static int open_table(const char *file, pz_predictor **predictor)
{
    const char *problem = check_model(model_of(file));
    pz_status result;

    if (strcmp(file, "-") == 0 || access(file, F_OK) == 0 || errno != ENOENT)
        return input_predictor(file, predictor);
    if (problem != NULL)
        return fail(file, NULL, "give --model", "its name would be the model's, but %s", problem);
    result = pz_predictor_new(model_of(file), predictor);
    if (result != PZ_OK)
        return fail_status(file, result, NULL);
    input_keep_predictor(*predictor);
    return STATUS_OK;
}

static int check_measurement(void)
{
    const char *problem = options.model != NULL ? check_model(options.model) : NULL;

    if (problem != NULL)
        return fail_usage("--model '%s': %s", options.model, problem);
    if (options.op > INT32_MAX)
        return fail_usage("--op %" PRId64 ": it must be -1 to %" PRId32, options.op, INT32_MAX);
    if (options.slot < 0 || options.slot > INT32_MAX)
        return fail_usage("--slot %" PRId64 ": it must be 0 to %" PRId32, options.slot, INT32_MAX);
    if (options.coded_bytes == 0 && options.raw_bytes > 0)
        return fail_usage("--coded 0: only an empty tensor has no stream");
    if (options.coded_bytes > 0 && options.raw_bytes == 0)
        return fail_usage("--coded %" PRIu64 ": it must be 0, as an empty tensor has no stream",
                          options.coded_bytes);
    return STATUS_OK;
}

static int run_update(char **files, size_t count)
{
    pz_predictor *predictor;
    pz_status result;
    char *text = NULL;
    int status = check_measurement();

    (void)count;
    if (status == STATUS_OK)
        status = output_check(options.output, options.force, false);
    if (status == STATUS_OK)
        status = open_table(files[0], &predictor);
    if (status != STATUS_OK)
        return status;
    result =
        pz_predictor_update(predictor, options.op, options.slot, options.codec, options.precision,
                            options.raw_bytes, options.coded_bytes, options.iteration);
    if (result == PZ_OK)
        result = pz_predictor_json(predictor, &text);
    return json_save(options.output, options.force, files[0], result, text);
}

static const command commands[] = {
    {
        .name = "ratios show",
        .usage = "[--trace TRACE] [--csv | --json] TABLE",
        .summary = "Show a ratio table: its entries, and the mean ratio per codec.",
        .options = show_options,
        .operands_min = 1,
        .operands_max = 1,
        .run = run_show,
    },
    {
        .name = "ratios compare",
        .usage = "--trace TRACE [OPTIONS] PREDICTED ACTUAL",
        .summary = "Compare tables: wire-size error of three signatures (Table IV).",
        .details = "The signatures are (operator, slot), operator type, and one ratio for all.",
        .options = compare_options,
        .operands_min = 2,
        .operands_max = 2,
        .run = run_compare,
    },
    {
        .name = "ratios update",
        .usage = "--op N --slot N --codec C --precision P --raw BYTES --coded BYTES\n"
                 "                               [-o FILE] TABLE",
        .summary = "Enter a measurement into a ratio table.",
        .details = "A TABLE that does not exist is created.",
        .options = update_options,
        .operands_min = 1,
        .operands_max = 1,
        .run = run_update,
    },
};

const verb verb_ratios = {.name = "ratios", .commands = commands, .count = LENGTH(commands)};
