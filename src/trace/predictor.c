/* The predictor (paper, section III-B): one ratio per signature, codec and precision, overwritten
 * by every measurement; unknown is 1.  Entries are sorted by signature. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/grow.h"
#include "trace/json.h"
#include "trace/trace.h"

#define MIN_RATIO 1e-3
#define MAX_RATIO 1e6

/* A ratio of one entry.  raw_bytes, coded_bytes and iteration are known only for measurements. */
struct cell {
    char codec[16];
    pz_precision precision;
    double ratio;
    bool measured;
    uint64_t raw_bytes, coded_bytes, iteration;
};

struct entry {
    int64_t op, slot;
    char producer_class[24];
    struct cell *cells;
    size_t n_cells;
};

struct pz_predictor {
    char model[64];
    struct entry *entries;
    size_t n_entries, room;
};

static const char *const precisions[] = {"fp32", "bf16", NULL};

/* Entries and cells ---------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

/* A new entry at position index; NULL if memory is out. */
static struct entry *insert_entry(pz_predictor *p, size_t index, int64_t op, int64_t slot)
{
    struct entry *grown = pzi_grow(p->entries, &p->room, p->n_entries + 1, sizeof *grown);
    if (!grown)
        return NULL;
    p->entries = grown;
    struct entry *entry = &p->entries[index];
    memmove(entry + 1, entry, (p->n_entries - index) * sizeof *entry);
    p->n_entries++;
    *entry = (struct entry){.op = op, .slot = slot};
    return entry;
}

/* Number of entries before a signature. */
static size_t position_of(const pz_predictor *p, int64_t op, int64_t slot)
{
    const struct entry key = {.op = op, .slot = slot};
    size_t low = 0, high = p->n_entries;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (compare_entries(&p->entries[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct entry *find_entry(const pz_predictor *p, int64_t op, int64_t slot)
{
    const size_t k = position_of(p, op, slot);
    struct entry *entry = k < p->n_entries ? &p->entries[k] : NULL;
    return entry && entry->op == op && entry->slot == slot ? entry : NULL;
}

static struct cell *find_cell(const struct entry *entry, const char *codec, pz_precision precision)
{
    for (size_t i = 0; entry && i < entry->n_cells; i++)
        if (entry->cells[i].precision == precision && strcmp(entry->cells[i].codec, codec) == 0)
            return &entry->cells[i];
    return NULL;
}

/* The cell, made if it is not there; NULL if memory is out. */
static struct cell *need_cell(struct entry *entry, const char *codec, pz_precision precision)
{
    struct cell *cell = find_cell(entry, codec, precision);
    if (cell)
        return cell;
    struct cell *grown = realloc(entry->cells, (entry->n_cells + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    entry->cells = grown;
    cell = &entry->cells[entry->n_cells++];
    *cell = (struct cell){.precision = precision};
    snprintf(cell->codec, sizeof cell->codec, "%s", codec);
    return cell;
}

static bool codec_name_fits(const char *codec)
{
    const size_t length = strlen(codec);
    return length > 0 && length < sizeof((struct cell *)0)->codec &&
           strspn(codec, "abcdefghijklmnopqrstuvwxyz0123456789+-_") == length;
}

pz_status pz_predictor_new(const char *model, pz_predictor **predictor)
{
    if (strlen(model) >= sizeof((pz_predictor *)0)->model)
        return PZ_ERR_ARGUMENT;
    pz_predictor *p = calloc(1, sizeof *p);
    if (!p)
        return PZ_ERR_MEMORY;
    snprintf(p->model, sizeof p->model, "%s", model);
    *predictor = p;
    return PZ_OK;
}

void pz_predictor_free(pz_predictor *predictor)
{
    if (!predictor)
        return;
    for (size_t i = 0; i < predictor->n_entries; i++)
        free(predictor->entries[i].cells);
    free(predictor->entries);
    free(predictor);
}

const char *pz_predictor_model(const pz_predictor *predictor)
{
    return predictor->model;
}

size_t pz_predictor_entries(const pz_predictor *predictor)
{
    return predictor->n_entries;
}

pz_status pz_predictor_entry(const pz_predictor *predictor, size_t index, pz_ratio_entry *entry)
{
    if (index >= predictor->n_entries)
        return PZ_ERR_ARGUMENT;
    const struct entry *e = &predictor->entries[index];
    *entry = (pz_ratio_entry){e->op, e->slot, e->producer_class};
    return PZ_OK;
}

double pz_predictor_ratio(const pz_predictor *predictor, int64_t op, int64_t slot,
                          const char *codec, pz_precision precision)
{
    const struct cell *cell = find_cell(find_entry(predictor, op, slot), codec, precision);
    return cell ? cell->ratio : 1.0;
}

pz_status pz_predictor_update(pz_predictor *predictor, int64_t op, int64_t slot, const char *codec,
                              pz_precision precision, uint64_t raw_bytes, uint64_t coded_bytes,
                              uint64_t iteration)
{
    if (!codec_name_fits(codec) || op < -1 || op > INT32_MAX || slot < 0 || slot > INT32_MAX ||
        (coded_bytes == 0) != (raw_bytes == 0) || (precision != PZ_FP32 && precision != PZ_BF16) ||
        raw_bytes > INT64_MAX || coded_bytes > INT64_MAX || iteration > INT64_MAX)
        return PZ_ERR_ARGUMENT;
    struct entry *entry = find_entry(predictor, op, slot);
    if (!entry)
        entry = insert_entry(predictor, position_of(predictor, op, slot), op, slot);
    struct cell *cell = entry ? need_cell(entry, codec, precision) : NULL;
    if (!cell)
        return PZ_ERR_MEMORY;
    const double ratio = raw_bytes ? (double)raw_bytes / (double)coded_bytes : 1.0;
    cell->ratio = fmin(fmax(ratio, MIN_RATIO), MAX_RATIO); /* what a file may hold */
    cell->measured = true;
    cell->raw_bytes = raw_bytes;
    cell->coded_bytes = coded_bytes;
    cell->iteration = iteration;
    return PZ_OK;
}

/* File ----------------------------------------------------------------------------------------- */

static void read_ratios(pzi_fields *fields, struct entry *entry, pz_precision precision)
{
    const char *name = precisions[precision];
    json_t *object = json_object_get(fields->object, name);
    if (!object)
        return;
    if (!json_is_object(object))
        pzi_bad_field(fields, name, "is not an object");
    const char *codec;
    json_t *value;
    json_object_foreach(object, codec, value)
    {
        char path[64];
        snprintf(path, sizeof path, "%s.%.20s", name, codec);
        const double ratio = json_is_number(value) ? json_number_value(value) : -1;
        if (!codec_name_fits(codec))
            pzi_bad_field(fields, path, "names a codec with an impossible name");
        else if (!(ratio >= MIN_RATIO && ratio <= MAX_RATIO))
            pzi_bad_field(fields, path, "is not a ratio, a number in %g..%g", MIN_RATIO, MAX_RATIO);
        if (fields->status != PZ_OK)
            return;
        struct cell *cell = need_cell(entry, codec, precision);
        if (!cell) {
            fields->status = pzi_no_memory(fields->diag);
            return;
        }
        cell->ratio = ratio;
    }
}

/* "measured": [{"codec", "precision", "raw_bytes", "coded_bytes", "iteration"}], where known. */
static void read_measured(pzi_fields *fields, struct entry *entry)
{
    if (!pzi_has(fields, "measured"))
        return;
    const json_t *list = pzi_get_array(fields, "measured");
    for (size_t k = 0; k < json_array_size(list) && fields->status == PZ_OK; k++) {
        pzi_fields one = pzi_fields_element(fields, "measured", k);
        const char *codec = pzi_get_string(&one, "codec");
        const int precision = pzi_get_choice(&one, "precision", precisions);
        struct cell *cell = find_cell(entry, codec, (pz_precision)precision);
        const uint64_t raw = (uint64_t)pzi_get_int(&one, "raw_bytes", 0, INT64_MAX);
        const uint64_t coded = (uint64_t)pzi_get_int(&one, "coded_bytes", 0, INT64_MAX);
        const uint64_t iteration = (uint64_t)pzi_get_int(&one, "iteration", 0, INT64_MAX);
        if (one.status == PZ_OK && !cell)
            pzi_bad_field(&one, "codec", "has no ratio in its entry");
        fields->status = one.status;
        if (one.status != PZ_OK)
            return;
        cell->measured = true;
        cell->raw_bytes = raw;
        cell->coded_bytes = coded;
        cell->iteration = iteration;
    }
}

static pz_status read_entry(pz_predictor *p, const pzi_fields *root, size_t index)
{
    pzi_fields fields = pzi_fields_element(root, "entries", index);
    const int64_t op = pzi_get_int(&fields, "op", -1, INT32_MAX);
    const int64_t slot = pzi_get_int(&fields, "slot", 0, INT32_MAX);
    if (fields.status != PZ_OK)
        return fields.status;
    struct entry *entry = insert_entry(p, p->n_entries, op, slot);
    if (!entry)
        return pzi_no_memory(root->diag);
    pzi_get_text(&fields, "class", true, entry->producer_class, sizeof entry->producer_class);
    read_ratios(&fields, entry, PZ_FP32);
    read_ratios(&fields, entry, PZ_BF16);
    read_measured(&fields, entry);
    return fields.status;
}

static pz_status read_predictor(pz_predictor *p, const json_t *root, pz_diag *diag)
{
    pz_status status = pzi_json_check_format(root, "planezip-ratios", diag);
    if (status != PZ_OK)
        return status;
    pzi_fields fields = pzi_fields_root(root, diag);
    pzi_get_text(&fields, "model", false, p->model, sizeof p->model);
    const json_t *list = pzi_get_array(&fields, "entries");
    status = fields.status;
    for (size_t i = 0; status == PZ_OK && i < json_array_size(list); i++)
        status = read_entry(p, &fields, i);
    if (status != PZ_OK || p->n_entries == 0)
        return status;
    qsort(p->entries, p->n_entries, sizeof *p->entries, compare_entries);
    for (size_t i = 1; i < p->n_entries; i++)
        if (compare_entries(&p->entries[i - 1], &p->entries[i]) == 0)
            return pzi_fail_at(diag, PZ_ERR_MEANING, "entries", "has op %lld, slot %lld twice",
                               (long long)p->entries[i].op, (long long)p->entries[i].slot);
    return PZ_OK;
}

static pz_status from_json(json_t *root, pz_predictor **predictor, pz_diag *diag)
{
    pz_predictor *p;
    if (pz_predictor_new("", &p) != PZ_OK) {
        json_decref(root);
        return pzi_no_memory(diag);
    }
    const pz_status status = read_predictor(p, root, diag);
    json_decref(root);
    if (status == PZ_OK)
        *predictor = p;
    else
        pz_predictor_free(p);
    return status;
}

pz_status pz_predictor_parse(const char *json, size_t json_bytes, pz_predictor **predictor,
                             pz_diag *diag)
{
    json_t *root;
    const pz_status status = pzi_json_parse(json, json_bytes, &root, diag);
    return status == PZ_OK ? from_json(root, predictor, diag) : status;
}

pz_status pz_predictor_read(const char *file, pz_predictor **predictor, pz_diag *diag)
{
    json_t *root;
    const pz_status status = pzi_json_load(file, &root, diag);
    return status == PZ_OK ? from_json(root, predictor, diag) : status;
}

static json_t *measured_json(const struct cell *cell)
{
    return json_pack("{s:s,s:s,s:I,s:I,s:I}", "codec", cell->codec, "precision",
                     precisions[cell->precision], "raw_bytes", (json_int_t)cell->raw_bytes,
                     "coded_bytes", (json_int_t)cell->coded_bytes, "iteration",
                     (json_int_t)cell->iteration);
}

static json_t *entry_json(const struct entry *entry, bool *whole)
{
    json_t *object = json_pack("{s:I,s:I,s:s}", "op", (json_int_t)entry->op, "slot",
                               (json_int_t)entry->slot, "class", entry->producer_class);
    json_t *ratios[] = {json_object(), json_object()};
    json_t *measured = json_array();
    for (size_t i = 0; i < entry->n_cells; i++) {
        const struct cell *cell = &entry->cells[i];
        pzi_json_set(ratios[cell->precision], cell->codec, json_real(cell->ratio), whole);
        if (cell->measured)
            pzi_json_append(measured, measured_json(cell), whole);
    }
    pzi_json_set(object, "bf16", ratios[PZ_BF16], whole);
    pzi_json_set(object, "fp32", ratios[PZ_FP32], whole);
    if (!measured || json_array_size(measured) > 0)
        pzi_json_set(object, "measured", measured, whole);
    else
        json_decref(measured);
    return object;
}

pz_status pz_predictor_json(const pz_predictor *predictor, char **text)
{
    bool whole = true;
    json_t *entries = json_array();
    for (size_t i = 0; i < predictor->n_entries; i++)
        pzi_json_append(entries, entry_json(&predictor->entries[i], &whole), &whole);
    json_t *root = json_pack("{s:s,s:i,s:s,s:o}", "format", "planezip-ratios", "version", 1,
                             "model", predictor->model, "entries", entries);
    return pzi_json_text(root, whole, PZI_DIGITS_EXACT, text);
}

/* Predictions ---------------------------------------------------------------------------------- */

/* Raw and coded bytes of the saved tensors that one operator type produced. */
struct group {
    const char *name;
    double raw, coded;
};

static int compare_groups(const void *a, const void *b)
{
    return strcmp(((const struct group *)a)->name, ((const struct group *)b)->name);
}

static const char *type_of(const pz_trace *trace, size_t index, pz_signature signature)
{
    const int32_t op = trace->saved[index].ready_op;
    if (signature == PZ_BY_NOTHING)
        return "";
    return op < 0 ? "input" : trace->ops[op].name;
}

/* Sums over equal names; groups come in sorted and leave sorted and unique. */
static size_t merge_groups(struct group *groups, size_t n)
{
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        if (out > 0 && strcmp(groups[out - 1].name, groups[i].name) == 0) {
            groups[out - 1].raw += groups[i].raw;
            groups[out - 1].coded += groups[i].coded;
        } else {
            groups[out++] = groups[i];
        }
    }
    return out;
}

static pz_status fill_by_type(const pz_predictor *predictor, const pz_trace *trace,
                              const char *codec, pz_precision precision, pz_signature signature,
                              double *ratios)
{
    struct group *groups = calloc(trace->n_saved + 1, sizeof *groups);
    if (!groups)
        return PZ_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < trace->n_saved; i++) {
        const pzi_storage *storage = &trace->storages[trace->saved[i].storage];
        const struct cell *cell =
            find_cell(find_entry(predictor, storage->op, storage->slot), codec, precision);
        const double raw = (double)pzi_storage_bytes(storage, precision);
        if (cell)
            groups[n++] = (struct group){type_of(trace, i, signature), raw, raw / cell->ratio};
    }
    qsort(groups, n, sizeof *groups, compare_groups);
    n = merge_groups(groups, n);
    for (size_t i = 0; i < trace->n_saved; i++) {
        const struct group key = {type_of(trace, i, signature), 0, 0};
        const struct group *found = bsearch(&key, groups, n, sizeof key, compare_groups);
        ratios[i] = found && found->coded > 0 ? found->raw / found->coded : 1.0;
    }
    free(groups);
    return PZ_OK;
}

pz_status pz_predictor_fill(const pz_predictor *predictor, const pz_trace *trace, const char *codec,
                            pz_precision precision, pz_signature signature, double *ratios)
{
    if (signature != PZ_BY_TENSOR)
        return fill_by_type(predictor, trace, codec, precision, signature, ratios);
    for (size_t i = 0; i < trace->n_saved; i++) {
        const pzi_storage *storage = &trace->storages[trace->saved[i].storage];
        ratios[i] = pz_predictor_ratio(predictor, storage->op, storage->slot, codec, precision);
    }
    return PZ_OK;
}

double pz_wire_error(const pz_trace *trace, pz_precision precision, const double *predicted,
                     const double *actual)
{
    double error = 0, wire = 0;
    for (size_t i = 0; i < trace->n_saved; i++) {
        const pzi_storage *storage = &trace->storages[trace->saved[i].storage];
        const double raw = (double)pzi_storage_bytes(storage, precision);
        error += fabs(raw / predicted[i] - raw / actual[i]);
        wire += raw / actual[i];
    }
    return wire > 0 ? error / wire : 0;
}
