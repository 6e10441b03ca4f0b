/* Reads a trace file into a pz_trace: the fields one by one, each checked for type and range.  What
 * the fields mean together is checked in flow.c.  Format: docs/architecture.md, "Files". */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "trace/json.h"
#include "trace/trace.h"

#define MAX_TOTAL_BYTES (UINT64_C(1) << 60)
#define MAX_MODEL 63 /* what a ratio table can hold */
#define MAX_DURATION_NS (INT64_C(1) << 50)

static const char *const phases[] = {"forward", "backward", NULL};
static const char *const optimizers[] = {"sgd", "adamw", NULL};
static const char *const kinds[] = {"parameter",          "buffer", "input", "activation",
                                    "parameter_gradient", NULL};
static const char *const dtypes[] = {
    "float64", "float32",        "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64",
    "int32",   "int16",          "int8",    "uint8",    "bool",          "uint16",      "uint32",
    "uint64",  "float8_e8m0fnu", NULL};

/* Storage ids of the file in increasing order, to find positions. */
struct ids {
    int64_t id;
    int32_t position;
};

struct reader {
    pz_trace *trace;
    pz_diag *diag;
    pzi_fields root;
    const json_t *ops, *storages;
    const char *model;
    struct ids *ids;
    char *string_end;
};

static const char *keep_string(struct reader *r, const char *text)
{
    char *kept = r->string_end;
    const size_t bytes = strlen(text) + 1;
    memcpy(kept, text, bytes);
    r->string_end += bytes;
    return kept;
}

static const char *get_name(pzi_fields *fields, const char *name)
{
    const char *text = pzi_get_string(fields, name);
    if (fields->status == PZ_OK && !*text)
        pzi_bad_field(fields, name, "is empty");
    return text;
}

static size_t string_bytes(const json_t *list, const char *name)
{
    size_t bytes = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_object_get(json_array_get(list, i), name);
        bytes += json_string_length(value) + 1;
    }
    return bytes;
}

static size_t array_sizes(const json_t *ops)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i);
        n += json_array_size(json_object_get(op, "reads"));
        n += json_array_size(json_object_get(op, "writes"));
    }
    return n;
}

static pz_status read_header(struct reader *r, const json_t *root)
{
    pz_trace *trace = r->trace;
    pz_status status = pzi_json_check_format(root, "planezip-trace", r->diag);
    if (status != PZ_OK)
        return status;
    pzi_fields fields = r->root = pzi_fields_root(root, r->diag);
    r->model = get_name(&fields, "model");
    if (strlen(r->model) > MAX_MODEL)
        pzi_bad_field(&fields, "model", "is longer than %d bytes", MAX_MODEL);
    trace->batch = (uint64_t)pzi_get_int(&fields, "batch", 1, PZI_MAX_COUNT);
    trace->parameters = (uint64_t)pzi_get_int(&fields, "parameters", 0, PZI_MAX_BYTES);
    trace->adamw = pzi_get_choice(&fields, "optimizer", optimizers) == 1;
    r->ops = pzi_get_array(&fields, "ops");
    r->storages = pzi_get_array(&fields, "storages");
    if (fields.status == PZ_OK && json_array_size(r->ops) == 0)
        pzi_bad_field(&fields, "ops", "is empty");
    if (fields.status == PZ_OK && json_array_size(r->ops) > PZI_MAX_COUNT)
        pzi_bad_field(&fields, "ops", "has more than 2^30 elements");
    if (fields.status == PZ_OK && json_array_size(r->storages) > PZI_MAX_COUNT)
        pzi_bad_field(&fields, "storages", "has more than 2^30 elements");
    if (fields.status == PZ_OK && array_sizes(r->ops) > PZI_MAX_COUNT)
        pzi_bad_field(&fields, "ops", "read and write more than 2^30 storages");
    return fields.status;
}

static pz_status allocate(struct reader *r)
{
    pz_trace *trace = r->trace;
    trace->n_ops = json_array_size(r->ops);
    trace->n_storages = json_array_size(r->storages);
    trace->n_accesses = array_sizes(r->ops);
    trace->ops = calloc(trace->n_ops, sizeof *trace->ops);
    trace->storages = calloc(trace->n_storages + 1, sizeof *trace->storages);
    trace->accesses = calloc(trace->n_accesses + 1, sizeof *trace->accesses);
    trace->strings = malloc(string_bytes(r->ops, "name") + strlen(r->model) + 1);
    r->string_end = trace->strings;
    r->ids = calloc(trace->n_storages + 1, sizeof *r->ids);
    if (!trace->ops || !trace->storages || !trace->accesses || !trace->strings || !r->ids)
        return pzi_no_memory(r->diag);
    trace->model = keep_string(r, r->model);
    return PZ_OK;
}

static pz_status read_storage(struct reader *r, size_t index)
{
    pzi_storage *storage = &r->trace->storages[index];
    pzi_fields fields = pzi_fields_element(&r->root, "storages", index);
    storage->id = pzi_get_int(&fields, "id", 0, INT32_MAX);
    storage->bytes = (uint64_t)pzi_get_int(&fields, "bytes", 0, PZI_MAX_BYTES);
    const int dtype = pzi_get_choice(&fields, "dtype", dtypes);
    storage->dtype = dtypes[dtype];
    storage->float32 = strcmp(storage->dtype, "float32") == 0;
    storage->kind = (pzi_kind)pzi_get_choice(&fields, "kind", kinds);
    const int64_t last_op = (int64_t)r->trace->n_ops - 1;
    storage->op = (int32_t)pzi_get_int(&fields, "op", PZI_NONE, last_op);
    storage->slot = (int32_t)pzi_get_int(&fields, "slot", PZI_NONE, INT32_MAX);
    if (fields.status != PZ_OK)
        return fields.status;
    const bool produced =
        storage->kind == PZI_ACTIVATION || storage->kind == PZI_PARAMETER_GRADIENT;
    if (produced != (storage->op >= 0))
        pzi_bad_field(&fields, "op", "is %d for a storage of kind %s", storage->op,
                      kinds[storage->kind]);
    if ((produced || storage->kind == PZI_INPUT) && storage->slot < 0)
        pzi_bad_field(&fields, "slot", "is %d for a storage of kind %s", storage->slot,
                      kinds[storage->kind]);
    r->ids[index] = (struct ids){storage->id, (int32_t)index};
    return fields.status;
}

static int compare_ids(const void *a, const void *b)
{
    const struct ids *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static pz_status read_storages(struct reader *r)
{
    const size_t n = r->trace->n_storages;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const pz_status status = read_storage(r, i);
        if (status != PZ_OK)
            return status;
        bytes += r->trace->storages[i].bytes;
        if (bytes > PZI_MAX_ALL_BYTES) {
            pzi_fields fields = pzi_fields_element(&r->root, "storages", i);
            pzi_bad_field(&fields, "bytes", "brings all storages together above 2^56 bytes");
            return fields.status;
        }
    }
    uint64_t total = 0;
    for (size_t i = 0; i < n && total <= MAX_TOTAL_BYTES; i++)
        total += r->trace->storages[i].bytes;
    if (total > MAX_TOTAL_BYTES)
        return pzi_fail_at(r->diag, PZ_ERR_MEANING, "storages", "have more than 2^60 bytes in all");
    qsort(r->ids, n, sizeof *r->ids, compare_ids);
    for (size_t i = 1; i < n; i++) {
        if (r->ids[i].id == r->ids[i - 1].id) {
            pzi_fields fields =
                pzi_fields_element(&r->root, "storages", (size_t)r->ids[i].position);
            pzi_bad_field(&fields, "id", "%lld is used twice", (long long)r->ids[i].id);
            return fields.status;
        }
    }
    return PZ_OK;
}

static void read_accesses(struct reader *r, pzi_fields *fields, const char *name, uint32_t *next)
{
    const json_t *list = pzi_get_array(fields, name);
    for (size_t k = 0; k < json_array_size(list) && fields->status == PZ_OK; k++) {
        const struct ids key = {pzi_array_int(fields, name, list, k, 0, INT32_MAX), 0};
        const struct ids *found =
            bsearch(&key, r->ids, r->trace->n_storages, sizeof key, compare_ids);
        if (!found)
            pzi_bad_field(fields, name, "names storage %lld, which does not exist",
                          (long long)key.id);
        else
            r->trace->accesses[(*next)++] = (pzi_access){found->position, PZI_NONE};
    }
}

static pz_status read_op(struct reader *r, size_t index, uint32_t *next)
{
    pz_trace *trace = r->trace;
    pzi_op *op = &trace->ops[index];
    pzi_fields fields = pzi_fields_element(&r->root, "ops", index);
    const char *name = get_name(&fields, "name");
    const bool forward = pzi_get_choice(&fields, "phase", phases) == 0;
    op->view = pzi_get_bool(&fields, "view");
    op->flops = (uint64_t)pzi_get_int(&fields, "flops", 0, PZI_MAX_FLOPS);
    op->bytes = (uint64_t)pzi_get_int(&fields, "bytes", 0, PZI_MAX_BYTES);
    op->float_bytes = (uint64_t)pzi_get_int(&fields, "float_bytes", 0, (int64_t)op->bytes);
    op->duration_ns = PZI_NONE;
    if (pzi_has(&fields, "duration_ns"))
        op->duration_ns = pzi_get_int(&fields, "duration_ns", 0, MAX_DURATION_NS);
    op->reads = *next;
    read_accesses(r, &fields, "reads", next);
    op->reads_end = op->writes = *next;
    read_accesses(r, &fields, "writes", next);
    op->writes_end = *next;
    if (fields.status != PZ_OK)
        return fields.status;
    op->name = keep_string(r, name);
    op->free_of_cost = op->view || strncmp(name, "aten.empty", strlen("aten.empty")) == 0;
    if (op->view && op->writes_end > op->writes)
        pzi_bad_field(&fields, "writes", "is not empty although the operator is a view");
    if (forward && trace->n_forward != index)
        pzi_bad_field(&fields, "phase", "is forward after a backward operator");
    trace->n_forward += forward;
    return fields.status;
}

static pz_status read_all(struct reader *r, const json_t *root)
{
    pz_status status = read_header(r, root);
    if (status == PZ_OK)
        status = allocate(r);
    if (status == PZ_OK)
        status = read_storages(r);
    uint32_t next = 0;
    for (size_t i = 0; status == PZ_OK && i < r->trace->n_ops; i++)
        status = read_op(r, i, &next);
    if (status == PZ_OK)
        status = pzi_flow_derive(r->trace, r->diag);
    return status;
}

static pz_status from_json(json_t *root, pz_trace **trace, pz_diag *diag)
{
    struct reader r = {.trace = calloc(1, sizeof(pz_trace)), .diag = diag};
    const pz_status status = r.trace ? read_all(&r, root) : pzi_no_memory(diag);
    json_decref(root);
    free(r.ids);
    if (status == PZ_OK)
        *trace = r.trace;
    else
        pz_trace_free(r.trace);
    return status;
}

pz_status pz_trace_parse(const char *json, size_t json_bytes, pz_trace **trace, pz_diag *diag)
{
    json_t *root;
    const pz_status status = pzi_json_parse(json, json_bytes, &root, diag);
    return status == PZ_OK ? from_json(root, trace, diag) : status;
}

pz_status pz_trace_read(const char *file, pz_trace **trace, pz_diag *diag)
{
    json_t *root;
    const pz_status status = pzi_json_load(file, &root, diag);
    return status == PZ_OK ? from_json(root, trace, diag) : status;
}

void pz_trace_free(pz_trace *trace)
{
    if (!trace)
        return;
    free(trace->ops);
    free(trace->storages);
    free(trace->accesses);
    free(trace->values);
    free(trace->saved);
    free(trace->strings);
    free(trace);
}
