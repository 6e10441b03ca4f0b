/* What a sweep goes over: see sweep_setup.h. */
#define _POSIX_C_SOURCE 200809L
#include "sweep_setup.h"

#include "errors.h"
#include "input.h"
#include "memory.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Ratio tables ---- */

struct tables {
    const char **files;
    pz_predictor **predictors;
    size_t count;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the files *.json in a folder, sorted. */
static int list_folder(const char *folder, word_list *files)
{
    DIR *stream = opendir(folder);
    struct dirent *entry;

    if (stream == NULL)
        return fail_errno(folder, "read it");
    while ((entry = readdir(stream)) != NULL) {
        size_t length = strlen(entry->d_name);

        if (length < 6 || strcmp(entry->d_name + length - 5, ".json") != 0)
            continue;
        files->words = memory_resize(files->words, files->count + 1, sizeof *files->words);
        files->words[files->count++] = memory_text("%s/%s", folder, entry->d_name);
    }
    closedir(stream);
    if (files->count == 0)
        return fail(folder, NULL, "give a folder with ratio tables", "it has no files *.json");
    qsort(files->words, files->count, sizeof *files->words, compare_names);
    return STATUS_OK;
}

static int read_tables(const word_list *files, struct tables *tables)
{
    int status = STATUS_OK;

    tables->files = files->words;
    tables->predictors = memory_keep(files->count, sizeof(pz_predictor *));
    for (size_t i = 0; status == STATUS_OK && i < files->count; i++, tables->count++)
        status = input_predictor(files->words[i], &tables->predictors[i]);
    return status;
}

/* name: of the option that gives the tables. */
static int find_table(const struct tables *tables, const char *name, const sweep_trace *trace,
                      sweep_table *found)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (strcmp(pz_predictor_model(tables->predictors[i]), trace->info.model) != 0)
            continue;
        if (found->predictor != NULL)
            return fail(tables->files[i], NULL,
                        memory_text("give one table per model with %s", name),
                        "it is of model '%s', like %s", trace->info.model, found->file);
        *found = (sweep_table){tables->files[i], tables->predictors[i]};
    }
    if (found->predictor == NULL && tables->count > 0)
        return fail(trace->file, NULL, "add one", "no ratio table is of its model '%s'",
                    trace->info.model);
    return STATUS_OK;
}

int sweep_load_traces(const word_list *files, const word_list *ratios, const char *ratios_folder,
                      sweep_trace **traces)
{
    struct tables tables = {0};
    word_list in_folder = {0};
    int status = STATUS_OK;

    *traces = memory_keep(files->count, sizeof **traces);
    if (ratios_folder != NULL)
        status = list_folder(ratios_folder, &in_folder);
    own(in_folder.words, free);
    if (status == STATUS_OK)
        status = read_tables(ratios_folder != NULL ? &in_folder : ratios, &tables);
    for (size_t i = 0; status == STATUS_OK && i < files->count; i++) {
        sweep_trace *entry = &(*traces)[i];

        entry->file = files->words[i];
        status = input_trace(entry->file, &entry->trace);
        if (status != STATUS_OK)
            return status;
        pz_trace_get_info(entry->trace, &entry->info);
        status = find_table(&tables, "--ratios", entry, &entry->ratios);
    }
    return status;
}

int sweep_load_actual(const word_list *files, sweep_trace *traces, size_t count)
{
    struct tables tables = {0};
    int status = read_tables(files, &tables);

    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        status = find_table(&tables, "--actual", &traces[i], &traces[i].actual);
    return status;
}

/* ---- Platforms ---- */

static double engine_of(const sweep_overrides *overrides, size_t index, double link_bps)
{
    return overrides->engines > 0 ? overrides->engine_bps[index]
                                  : overrides->engine_per_link[index] * link_bps;
}

/* One platform with all overrides, appended to the list. */
static void add_variants(const pz_platform *platform, const sweep_overrides *overrides,
                         pz_platform *list, size_t *count)
{
    size_t engines = overrides->engines + overrides->engines_per_link;

    for (size_t link = 0; link < (overrides->links > 0 ? overrides->links : 1); link++)
        for (size_t engine = 0; engine < (engines > 0 ? engines : 1); engine++) {
            pz_platform *entry = &list[(*count)++];

            *entry = *platform;
            if (overrides->links > 0)
                entry->d2h_bps = entry->h2d_bps = overrides->link_bps[link];
            if (engines > 0)
                entry->engine_bps = engine_of(overrides, engine, entry->d2h_bps);
        }
}

static size_t count_variants(const sweep_overrides *overrides)
{
    size_t engines = overrides->engines + overrides->engines_per_link;

    return (overrides->links > 0 ? overrides->links : 1) * (engines > 0 ? engines : 1);
}

/* A variant of add_variants() that no platform may be. */
static int fail_variant(const pz_platform *platform, const sweep_overrides *overrides,
                        size_t variant, const pz_diag *diag)
{
    size_t engines = overrides->engines + overrides->engines_per_link;
    size_t engine = engines > 0 ? variant % engines : 0;
    const char *name = "--engine-per-link";
    double value;

    if (overrides->links > 0 && strcmp(diag->path, "engine_bytes_per_s") != 0) {
        name = "--link";
        value = platform->d2h_bps / 1e9;
    } else if (overrides->engines > 0) {
        name = "--engine";
        value = overrides->engine_bps[engine] / 1e9;
    } else {
        value = overrides->engine_per_link[engine];
    }
    return fail_usage("%s %g: on platform %s, %s %s", name, value, platform->name, diag->path,
                      diag->text);
}

int sweep_load_platforms(const word_list *names, const sweep_overrides *overrides,
                         pz_platform **platforms, size_t *count)
{
    size_t variants = count_variants(overrides);
    pz_diag diag = {0};

    *count = 0;
    *platforms = memory_keep(names->count * variants, sizeof **platforms);
    for (size_t i = 0; i < names->count; i++) {
        pz_platform platform;
        int status = input_platform(names->words[i], &platform);

        if (status != STATUS_OK)
            return status;
        add_variants(&platform, overrides, *platforms, count);
    }
    for (size_t i = 0; i < *count; i++)
        if (pz_platform_check(&(*platforms)[i], &diag) != PZ_OK)
            return fail_variant(&(*platforms)[i], overrides, i % variants, &diag);
    return STATUS_OK;
}

/* ---- Ratios of a trace ---- */

struct known_ratios {
    const sweep_trace *trace;
    const sweep_table *table;
    const char *codec;
    pz_precision precision;
    pz_signature signature;
    double times;
    double *ratios;
    struct known_ratios *next;
};

/* What does not compress stays so. */
static void multiply(double *ratios, size_t count, double times)
{
    for (size_t i = 0; i < count; i++)
        if (ratios[i] > 1)
            ratios[i] = fmax(1, ratios[i] * times);
}

int sweep_ratios(const sweep_trace *trace, const sweep_table *table, const char *codec,
                 pz_precision precision, pz_signature signature, double times,
                 const double **ratios)
{
    static struct known_ratios *known;
    struct known_ratios *entry;
    int status;

    *ratios = NULL;
    if (table->predictor == NULL)
        return STATUS_OK;
    for (entry = known; entry != NULL; entry = entry->next)
        if (entry->trace == trace && entry->table == table && strcmp(entry->codec, codec) == 0 &&
            entry->precision == precision && entry->signature == signature &&
            entry->times == times) {
            *ratios = entry->ratios;
            return STATUS_OK;
        }
    entry = memory_keep(1, sizeof *entry);
    *entry = (struct known_ratios){trace, table, codec, precision, signature, times, NULL, known};
    status = input_ratios(table->file, table->predictor, trace->trace, codec, precision, signature,
                          &entry->ratios);
    if (status == STATUS_OK && entry->ratios != NULL)
        multiply(entry->ratios, trace->info.saved, times);
    known = entry;
    *ratios = entry->ratios;
    return status;
}
