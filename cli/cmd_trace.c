/* planezip trace: what is in a trace (Table I), what a platform makes of it (Figure 1), validity.
 */
#include "clean.h"
#include "commands.h"
#include "errors.h"
#include "input.h"
#include "memory.h"
#include "names.h"
#include "table.h"

#include <planezip/plan.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    word_list platforms, ratios;
    bool tensors, csv, json;
} options;

static const option show_options[] = {
    OPTION_LIST('p', "platform", "PLATFORM", option_files, &options.platforms,
                "add times and transfer costs on a platform; a list,\n"
                "or several times"),
    OPTION_LIST('r', "ratios", "TABLE", option_files, &options.ratios,
                "ratio tables for the link's share with compression"),
    SWITCH('t', "tensors", &options.tensors, "list the saved tensors"),
    SWITCH(0, "csv", &options.csv, "print CSV"),
    SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};

static const option check_options[] = {COMMON_OPTIONS};

static const column trace_columns[] = {
    {"model", "model", COLUMN_TEXT},
    {"optimizer", "optimizer", COLUMN_TEXT},
    {"parameters", "parameters", COLUMN_COUNT},
    {"batch", "batch", COLUMN_COUNT},
    {"saved_tensors", "saved", COLUMN_COUNT},
    {"saved_fp32_bytes", "saved fp32", COLUMN_GB},
    {"saved_bf16_bytes", "bf16", COLUMN_GB},
    {"ops", "ops", COLUMN_COUNT},
    {"forward_ops", NULL, COLUMN_COUNT},
    {"view_ops", NULL, COLUMN_COUNT},
    {"storages", NULL, COLUMN_COUNT},
    {"peak_fp32_bytes", "peak fp32", COLUMN_GB},
    {"peak_bf16_bytes", "bf16", COLUMN_GB},
    {"peak_fp32_op", NULL, COLUMN_COUNT},
    {"peak_bf16_op", NULL, COLUMN_COUNT},
    {"digest", NULL, COLUMN_TEXT},
};

static const column platform_columns[] = {
    {"model", "model", COLUMN_TEXT},
    {"platform", "platform", COLUMN_TEXT},
    {"precision", "precision", COLUMN_TEXT},
    {"forward_ns", "forward", COLUMN_NS},
    {"backward_ns", "backward", COLUMN_NS},
    {"optimizer_ns", "optimizer", COLUMN_NS},
    {"samples_per_s", "samples/s", COLUMN_NUMBER},
    {"swap_costs_more_share", "swap dearer", COLUMN_PERCENT},
    {"swap_to_recompute_median", "median ratio", COLUMN_RATIO},
    {"link_share", "link", COLUMN_PERCENT},
    {"link_share_zvc", "with zvc", COLUMN_PERCENT},
    {"link_share_planezip", "with planezip", COLUMN_PERCENT},
};

static const column tensor_columns[] = {
    {"model", "model", COLUMN_TEXT},
    {"index", "tensor", COLUMN_COUNT},
    {"storage", "storage", COLUMN_COUNT},
    {"op", "op", COLUMN_COUNT},
    {"slot", "slot", COLUMN_COUNT},
    {"op_name", "written by", COLUMN_TEXT},
    {"dtype", "dtype", COLUMN_TEXT},
    {"fp32_bytes", "fp32", COLUMN_BYTES},
    {"bf16_bytes", "bf16", COLUMN_BYTES},
    {"ready_op", "ready", COLUMN_COUNT},
    {"last_forward_use", "last forward", COLUMN_COUNT},
    {"first_backward_use", "first backward", COLUMN_COUNT},
    {"last_use", "last", COLUMN_COUNT},
    {"platform", "platform", COLUMN_TEXT},
    {"swap_ns", "swap", COLUMN_NS},
    {"recompute_ns", "recompute", COLUMN_NS},
};

/* A trace and its costs on a platform. */
struct subject {
    const char *file;
    pz_trace *trace;
    pz_trace_info info;
};

/* A platform, with its name or file as it was given. */
struct machine {
    const char *word;
    pz_platform platform;
};

struct costs {
    int64_t *swap_ns, *recompute_ns;
};

/* One saved tensor in Figure 1a; those that cannot be recomputed, as inputs, are not in it. */
struct cost_sample {
    double ratio; /* swap over recomputation; infinite if that is free */
    uint64_t bytes;
};

struct cost_samples {
    struct cost_sample *list;
    size_t count;
};

/* ---- Rows ---- */

static void add_trace(table *results, const pz_trace_info *info)
{
    char digest[24];

    snprintf(digest, sizeof digest, "%016" PRIx64, info->digest);
    table_text(results, info->model);
    table_text(results, info->optimizer);
    table_size(results, info->parameters);
    table_size(results, info->batch);
    table_size(results, info->saved);
    table_size(results, info->saved_bytes[PZ_FP32]);
    table_size(results, info->saved_bytes[PZ_BF16]);
    table_size(results, info->ops);
    table_size(results, info->forward_ops);
    table_size(results, info->view_ops);
    table_size(results, info->storages);
    table_size(results, info->peak_bytes[PZ_FP32]);
    table_size(results, info->peak_bytes[PZ_BF16]);
    table_size(results, info->peak_op[PZ_FP32]);
    table_size(results, info->peak_op[PZ_BF16]);
    table_text(results, digest);
}

static void add_tensor(table *results, const char *model, size_t index, const pz_saved *saved)
{
    table_text(results, model);
    table_size(results, index);
    table_size(results, saved->storage);
    table_int(results, saved->op);
    table_int(results, saved->slot);
    table_text(results, saved->op_name);
    table_text(results, saved->dtype);
    table_size(results, saved->bytes[PZ_FP32]);
    table_size(results, saved->bytes[PZ_BF16]);
    table_int(results, saved->ready_op);
    table_int(results, saved->last_forward_use);
    table_int(results, saved->first_backward_use);
    table_int(results, saved->last_use);
}

static void add_tensors(table *results, const struct subject *subject, const char *platform,
                        const struct costs *costs)
{
    for (size_t i = 0; i < subject->info.saved; i++) {
        pz_saved saved;

        if (pz_trace_get_saved(subject->trace, i, &saved) != PZ_OK)
            continue;
        add_tensor(results, subject->info.model, i, &saved);
        if (platform == NULL) {
            table_none(results);
            table_none(results);
            table_none(results);
            continue;
        }
        table_text(results, platform);
        table_int(results, costs->swap_ns[i]);
        if (costs->recompute_ns[i] == INT64_MAX)
            table_none(results);
        else
            table_int(results, costs->recompute_ns[i]);
    }
}

/* ---- Figure 1 ---- */

/* Of two that are free, neither is dearer. */
static double cost_ratio(int64_t swap_ns, int64_t recompute_ns)
{
    return swap_ns == 0 && recompute_ns == 0 ? 1 : (double)swap_ns / (double)recompute_ns;
}

static void collect(struct cost_samples *samples, const struct subject *subject,
                    const pz_platform *platform, const struct costs *costs)
{
    size_t count = subject->info.saved;

    samples->list = memory_resize(samples->list, samples->count + count, sizeof *samples->list);
    for (size_t i = 0; i < count; i++) {
        pz_saved saved;

        if (pz_trace_get_saved(subject->trace, i, &saved) != PZ_OK ||
            costs->recompute_ns[i] == INT64_MAX)
            continue;
        samples->list[samples->count++] = (struct cost_sample){
            .ratio = cost_ratio(costs->swap_ns[i], costs->recompute_ns[i]),
            .bytes = saved.bytes[platform->precision],
        };
    }
}

static int compare_samples(const void *a, const void *b)
{
    double x = ((const struct cost_sample *)a)->ratio, y = ((const struct cost_sample *)b)->ratio;

    return x < y ? -1 : x > y;
}

/* Figure 1a: the share of the bytes whose swap costs more, and the ratio of the median byte. */
static void add_samples(table *results, struct cost_samples *samples)
{
    uint64_t all = 0, dearer = 0, below = 0;
    double median = NAN;

    qsort(samples->list, samples->count, sizeof *samples->list, compare_samples);
    for (size_t i = 0; i < samples->count; i++) {
        all += samples->list[i].bytes;
        if (samples->list[i].ratio > 1)
            dearer += samples->list[i].bytes;
    }
    for (size_t i = 0; i < samples->count && below < (all + 1) / 2; i++) {
        below += samples->list[i].bytes;
        median = samples->list[i].ratio;
    }
    table_real(results, all > 0 ? (double)dearer / (double)all : NAN);
    table_real(results, median);
}

/* Figure 1b with compression. */
static int add_link_share(table *results, const struct subject *subject,
                          const struct machine *machine, const pz_predictor *predictor,
                          const char *codec)
{
    pz_times times;
    pz_diag diag = {0};
    double *ratios;
    int status;
    pz_status result;

    if (predictor == NULL) {
        table_none(results);
        return STATUS_OK;
    }
    status = input_ratios(subject->file, predictor, subject->trace, codec,
                          machine->platform.precision, PZ_BY_TENSOR, &ratios);
    if (status != STATUS_OK)
        return status;
    result = pz_trace_times(subject->trace, &machine->platform, ratios, &times, &diag);
    if (result != PZ_OK)
        return fail_run(subject->file, machine->word, result, &diag);
    table_real(results, times.link_share);
    return STATUS_OK;
}

/* The table of a trace's model among those given, or NULL. */
static const pz_predictor *find_predictor(pz_predictor *const *predictors, const char *model)
{
    for (size_t i = 0; i < options.ratios.count; i++)
        if (strcmp(pz_predictor_model(predictors[i]), model) == 0)
            return predictors[i];
    return NULL;
}

static int add_platform(table *results, const struct subject *subject,
                        const struct machine *machine, struct cost_samples samples,
                        const pz_predictor *predictor)
{
    pz_times times;
    pz_diag diag = {0};
    pz_status result = pz_trace_times(subject->trace, &machine->platform, NULL, &times, &diag);
    int status;

    if (result != PZ_OK)
        return fail_run(subject->file, machine->word, result, &diag);
    table_text(results, subject->info.model);
    table_text(results, machine->platform.name);
    table_text(results, names_precision(machine->platform.precision));
    table_int(results, times.forward_ns);
    table_int(results, times.backward_ns);
    table_int(results, times.optimizer_ns);
    table_real(results, (double)subject->info.batch * 1e9 /
                            (double)(times.forward_ns + times.backward_ns + times.optimizer_ns));
    add_samples(results, &samples);
    table_real(results, times.link_share);
    status = add_link_share(results, subject, machine, predictor, "zvc");
    if (status == STATUS_OK)
        status = add_link_share(results, subject, machine, predictor, "planezip");
    return status;
}

/* All traces together: Figure 1a of the paper. */
static void add_all(table *results, const struct machine *machine, struct cost_samples *samples)
{
    table_text(results, "all");
    table_text(results, machine->platform.name);
    table_text(results, names_precision(machine->platform.precision));
    for (int i = 0; i < 4; i++)
        table_none(results);
    add_samples(results, samples);
    for (int i = 0; i < 3; i++)
        table_none(results);
}

/* A trace on a platform: its row and its tensors.  Its samples are added to those of all traces. */
static int show_costs(const struct subject *subject, const struct machine *machine,
                      const pz_predictor *predictor, struct cost_samples *all, table *results,
                      table *tensors)
{
    struct costs costs = {memory_keep(subject->info.saved, sizeof(int64_t)),
                          memory_keep(subject->info.saved, sizeof(int64_t))};
    struct cost_samples samples = {0};
    pz_diag diag = {0};
    pz_status result = pz_trace_costs(subject->trace, &machine->platform, costs.swap_ns,
                                      costs.recompute_ns, &diag);
    int status;

    if (result != PZ_OK)
        return fail_run(subject->file, machine->word, result, &diag);
    collect(&samples, subject, &machine->platform, &costs);
    collect(all, subject, &machine->platform, &costs);
    add_tensors(tensors, subject, machine->platform.name, &costs);
    status = add_platform(results, subject, machine, samples, predictor);
    free(samples.list);
    return status;
}

/* One platform: its row per trace, and the tensors of each trace. */
static int show_platform(const char *name, const struct subject *subjects, size_t count,
                         pz_predictor *const *predictors, table *results, table *tensors)
{
    struct cost_samples all = {0};
    struct machine machine = {.word = name};
    int status = input_platform(name, &machine.platform);

    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        status =
            show_costs(&subjects[i], &machine, find_predictor(predictors, subjects[i].info.model),
                       &all, results, tensors);
    if (status == STATUS_OK && count > 1)
        add_all(results, &machine, &all);
    free(all.list);
    return status;
}

/* ---- Commands ---- */

static void print_tables(const table *traces, const table *platforms, const table *tensors)
{
    bool has_platforms = table_rows(platforms) > 0;

    if (options.json && options.tensors) {
        json_show(json_pack("{s:o}", "tensors", table_json(tensors)), stdout);
    } else if (options.json) {
        json_show(json_pack("{s:o, s:o}", "traces", table_json(traces), "platforms",
                            table_json(platforms)),
                  stdout);
    } else if (options.csv) {
        table_csv(options.tensors ? tensors : has_platforms ? platforms : traces);
    } else if (options.tensors) {
        table_print(tensors, NULL);
    } else {
        table_print(traces, NULL);
        if (has_platforms) {
            printf("\n");
            table_print(platforms, NULL);
        }
    }
}

static int load_predictors(pz_predictor ***predictors)
{
    int status = STATUS_OK;

    *predictors = memory_keep(options.ratios.count, sizeof **predictors);
    for (size_t i = 0; status == STATUS_OK && i < options.ratios.count; i++)
        status = input_predictor(options.ratios.words[i], &(*predictors)[i]);
    return status;
}

/* Every table is of a model of the traces, and the only one. */
static int check_tables(pz_predictor *const *predictors, const struct subject *subjects,
                        size_t count)
{
    for (size_t t = 0; t < options.ratios.count; t++) {
        const char *file = options.ratios.words[t], *model = pz_predictor_model(predictors[t]);
        size_t i = 0;

        while (i < count && strcmp(subjects[i].info.model, model) != 0)
            i++;
        if (i == count)
            return fail(file, NULL, "use the table and the trace of one model",
                        "it is a table of model '%s', of which there is no trace", model);
        for (size_t k = 0; k < t; k++)
            if (strcmp(pz_predictor_model(predictors[k]), model) == 0)
                return fail(file, NULL, "give one table per model", "it is of model '%s', like %s",
                            model, options.ratios.words[k]);
    }
    return STATUS_OK;
}

static int run_show(char **files, size_t count)
{
    table *traces = table_new(trace_columns, LENGTH(trace_columns));
    table *platforms = table_new(platform_columns, LENGTH(platform_columns));
    table *tensors = table_new(tensor_columns, LENGTH(tensor_columns));
    struct subject *subjects = memory_keep(count, sizeof *subjects);
    pz_predictor **predictors;
    int status = table_check_formats(options.csv, options.json);

    if (status != STATUS_OK)
        return status;
    if (options.ratios.count > 0 && options.platforms.count == 0)
        return fail_usage("--ratios needs --platform");
    status = load_predictors(&predictors);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        subjects[i].file = files[i];
        status = input_trace(files[i], &subjects[i].trace);
        if (status != STATUS_OK)
            return status;
        pz_trace_get_info(subjects[i].trace, &subjects[i].info);
        add_trace(traces, &subjects[i].info);
        if (options.platforms.count == 0)
            add_tensors(tensors, &subjects[i], NULL, NULL);
    }
    if (status == STATUS_OK)
        status = check_tables(predictors, subjects, count);
    for (size_t i = 0; status == STATUS_OK && i < options.platforms.count; i++)
        status = show_platform(options.platforms.words[i], subjects, count, predictors, platforms,
                               tensors);
    if (status == STATUS_OK)
        print_tables(traces, platforms, tensors);
    return status;
}

/* Goes on after a file that is wrong. */
static int run_check(char **files, size_t count)
{
    int status = STATUS_OK;

    for (size_t i = 0; i < count; i++) {
        pz_trace *trace;
        pz_trace_info info;

        if (input_trace(files[i], &trace) != STATUS_OK) {
            status = STATUS_DATA;
            continue;
        }
        pz_trace_get_info(trace, &info);
        if (!common.quiet) {
            clean_print(files[i], stdout);
            printf(": ok\n");
        }
        if (common.verbose)
            printf("  %s, %zu operators, %zu saved tensors\n", info.model, info.ops, info.saved);
    }
    return status;
}

static const command commands[] = {
    {
        .name = "trace show",
        .usage = "[OPTIONS] TRACE...",
        .summary = "Summarise traces: the columns of Table I, with --platform Figure 1.",
        .details =
            "swap dearer: share of the bytes that can be recomputed but take longer to swap;\n"
            "median ratio: transfer over recomputation of the median byte;\n"
            "link: share of the saved bytes that the link moves in the shorter of the passes.\n"
            "--csv prints one table: the tensors, else the platforms, else the traces.",
        .options = show_options,
        .operands_min = 1,
        .operands_max = SIZE_MAX,
        .run = run_show,
    },
    {
        .name = "trace check",
        .usage = "TRACE...",
        .summary = "Check that traces are valid.",
        .options = check_options,
        .operands_min = 1,
        .operands_max = SIZE_MAX,
        .run = run_check,
    },
};

const verb verb_trace = {.name = "trace", .commands = commands, .count = LENGTH(commands)};
