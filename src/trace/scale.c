/* The trace of another batch size.  Two traces of a model tell how every number depends on the
 * batch size; of a single one we take it that whatever follows from the inputs grows with it, and
 * that parameters, what is made of them alone and sizes that the batch size does not divide stay.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "trace/trace.h"

/* Copies what a file has of a trace; what is derived from it comes later. */
static pz_trace *copy_trace(const pz_trace *trace)
{
    pz_trace *copy = calloc(1, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = (pz_trace){
        .adamw = trace->adamw,
        .batch = trace->batch,
        .parameters = trace->parameters,
        .n_ops = trace->n_ops,
        .n_forward = trace->n_forward,
        .n_storages = trace->n_storages,
        .n_accesses = trace->n_accesses,
    };
    size_t string_bytes = strlen(trace->model) + 1;
    for (size_t i = 0; i < trace->n_ops; i++)
        string_bytes += strlen(trace->ops[i].name) + 1;
    copy->ops = calloc(trace->n_ops + 1, sizeof *copy->ops);
    copy->storages = calloc(trace->n_storages + 1, sizeof *copy->storages);
    copy->accesses = calloc(trace->n_accesses + 1, sizeof *copy->accesses);
    copy->strings = malloc(string_bytes);
    if (!copy->ops || !copy->storages || !copy->accesses || !copy->strings) {
        pz_trace_free(copy);
        return NULL;
    }
    memcpy(copy->ops, trace->ops, trace->n_ops * sizeof *copy->ops);
    memcpy(copy->storages, trace->storages, trace->n_storages * sizeof *copy->storages);
    memcpy(copy->strings, trace->strings, string_bytes);
    for (size_t k = 0; k < trace->n_accesses; k++)
        copy->accesses[k] = (pzi_access){trace->accesses[k].storage, PZI_NONE};
    copy->model = copy->strings + (trace->model - trace->strings);
    for (size_t i = 0; i < trace->n_ops; i++)
        copy->ops[i].name = copy->strings + (trace->ops[i].name - trace->strings);
    return copy;
}

/* Numbers ----------------------------------------------------------------------------------------
 */

/* Sets *number to a value that may be any; false if it is too large for a trace. */
static bool set(uint64_t *number, double value, double most)
{
    if (!(value <= most))
        return false;
    *number = value > 0 ? (uint64_t)round(value) : 0;
    return true;
}

static bool set_op(pzi_op *op, double flops, double bytes, double float_bytes)
{
    op->duration_ns = PZI_NONE;
    return set(&op->flops, flops, (double)PZI_MAX_FLOPS) &&
           set(&op->bytes, bytes, (double)PZI_MAX_BYTES) &&
           set(&op->float_bytes, fmin(float_bytes, bytes), (double)PZI_MAX_BYTES);
}

static bool check_total(const pz_trace *trace)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < trace->n_storages; s++)
        bytes += trace->storages[s].bytes;
    return bytes <= PZI_MAX_ALL_BYTES;
}

/* From one trace --------------------------------------------------------------------------------
 */

/* Marks the storages whose size follows the batch size; to be freed. */
static uint8_t *find_growing(const pz_trace *trace)
{
    uint8_t *grows = calloc(trace->n_storages + 1, sizeof *grows);
    if (!grows)
        return NULL;
    for (size_t s = 0; s < trace->n_storages; s++)
        grows[s] = trace->storages[s].kind == PZI_INPUT;
    for (size_t i = 0; i < trace->n_ops; i++) {
        const pzi_op *op = &trace->ops[i];
        bool follows = false;
        for (uint32_t k = op->reads; k < op->reads_end; k++)
            follows = follows || grows[trace->accesses[k].storage];
        for (uint32_t k = op->writes; follows && k < op->writes_end; k++)
            grows[trace->accesses[k].storage] = 1;
    }
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        grows[s] = grows[s] && !pzi_persistent(storage->kind) && storage->bytes % trace->batch == 0;
    }
    return grows;
}

/* An operator moves what does not grow as before, as far as it moves that at all. */
static bool scale_op(pz_trace *trace, const uint8_t *grows, size_t i, double factor)
{
    pzi_op *op = &trace->ops[i];
    double fixed = 0, fixed_floats = 0;
    bool follows = false;
    for (uint32_t k = op->reads; k < op->writes_end; k++) {
        const int32_t s = trace->accesses[k].storage;
        const pzi_storage *storage = &trace->storages[s];
        follows = follows || grows[s];
        fixed += grows[s] ? 0 : (double)storage->bytes;
        fixed_floats += grows[s] || !storage->float32 ? 0 : (double)storage->bytes;
    }
    if (!follows)
        return true;
    const double bytes = (double)op->bytes, floats = (double)op->float_bytes;
    fixed = fmin(fixed, bytes);
    fixed_floats = fmin(fmin(fixed_floats, fixed), floats);
    return set_op(op, (double)op->flops * factor, fixed + (bytes - fixed) * factor,
                  fixed_floats + (floats - fixed_floats) * factor);
}

static pz_status scale_one(pz_trace *trace, uint64_t batch)
{
    uint8_t *grows = find_growing(trace);
    if (!grows)
        return PZ_ERR_MEMORY;
    const double factor = (double)batch / (double)trace->batch;
    bool ok = true;
    for (size_t i = 0; ok && i < trace->n_ops; i++)
        ok = scale_op(trace, grows, i, factor);
    for (size_t s = 0; ok && s < trace->n_storages; s++) {
        const uint64_t sample_bytes = trace->storages[s].bytes / trace->batch;
        if (grows[s])
            ok = set(&trace->storages[s].bytes, (double)sample_bytes * (double)batch,
                     (double)PZI_MAX_BYTES);
    }
    free(grows);
    return ok ? PZ_OK : PZ_ERR_MEANING;
}

/* From two traces -------------------------------------------------------------------------------
 */

static bool same_op(const pz_trace *a, const pz_trace *b, size_t i)
{
    const pzi_op *x = &a->ops[i], *y = &b->ops[i];
    return strcmp(x->name, y->name) == 0 && x->view == y->view && x->reads == y->reads &&
           x->reads_end == y->reads_end && x->writes_end == y->writes_end;
}

static bool same_storage(const pzi_storage *x, const pzi_storage *y)
{
    return x->kind == y->kind && x->op == y->op && x->slot == y->slot &&
           strcmp(x->dtype, y->dtype) == 0;
}

static pz_status check_pair(const pz_trace *a, const pz_trace *b, pz_diag *diag)
{
    bool same = strcmp(a->model, b->model) == 0 && a->n_ops == b->n_ops &&
                a->n_forward == b->n_forward && a->n_storages == b->n_storages &&
                a->n_accesses == b->n_accesses;
    for (size_t i = 0; same && i < a->n_ops; i++)
        same = same_op(a, b, i);
    for (size_t k = 0; same && k < a->n_accesses; k++)
        same = a->accesses[k].storage == b->accesses[k].storage;
    for (size_t s = 0; same && s < a->n_storages; s++)
        same = same_storage(&a->storages[s], &b->storages[s]);
    if (!same)
        return pzi_fail(diag, PZ_ERR_MISMATCH,
                        "the traces of batch %llu and %llu have not the same operators and "
                        "storages",
                        (unsigned long long)a->batch, (unsigned long long)b->batch);
    if (a->batch == b->batch)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "both traces are of batch %llu",
                        (unsigned long long)a->batch);
    return PZ_OK;
}

/* The line through both. */
static double at(uint64_t a, uint64_t b, double share)
{
    return (double)a + ((double)b - (double)a) * share;
}

static pz_status interpolate(pz_trace *trace, const pz_trace *other, uint64_t batch)
{
    const double share =
        ((double)batch - (double)trace->batch) / ((double)other->batch - (double)trace->batch);
    bool ok = true;
    for (size_t i = 0; ok && i < trace->n_ops; i++) {
        const pzi_op *a = &trace->ops[i], *b = &other->ops[i];
        ok = set_op(&trace->ops[i], at(a->flops, b->flops, share), at(a->bytes, b->bytes, share),
                    at(a->float_bytes, b->float_bytes, share));
    }
    for (size_t s = 0; ok && s < trace->n_storages; s++)
        ok = set(&trace->storages[s].bytes,
                 at(trace->storages[s].bytes, other->storages[s].bytes, share),
                 (double)PZI_MAX_BYTES);
    return ok ? PZ_OK : PZ_ERR_MEANING;
}

pz_status pz_trace_scale(const pz_trace *trace, const pz_trace *other, uint64_t batch,
                         pz_trace **scaled, pz_diag *diag)
{
    if (batch == 0 || batch > PZI_MAX_COUNT)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "a batch size is 1 to 2^30");
    pz_status status = other ? check_pair(trace, other, diag) : PZ_OK;
    if (status != PZ_OK)
        return status;
    pz_trace *copy = copy_trace(trace);
    if (!copy)
        return pzi_no_memory(diag);
    status = other ? interpolate(copy, other, batch) : scale_one(copy, batch);
    if (status == PZ_ERR_MEMORY)
        pzi_no_memory(diag);
    else if (status != PZ_OK || !check_total(copy))
        status = pzi_fail(diag, PZ_ERR_MEANING, "its storages or operators would be too large");
    copy->batch = batch;
    if (status == PZ_OK)
        status = pzi_flow_derive(copy, diag);
    if (status == PZ_OK)
        *scaled = copy;
    else
        pz_trace_free(copy);
    return status;
}
