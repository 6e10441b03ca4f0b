/* What follows from a trace: the value behind every read and write, saved tensors, lifetimes, the
 * peak without eviction, and the digest.  A value is a storage at a version, so that replays see
 * in-place operators (paper, section IV, "Tensor capture"). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/diag.h"
#include "trace/trace.h"

static pz_status contradiction(pz_diag *diag, const char *list, size_t index, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s[%zu]", list, index);
    return pzi_fail_at(diag, PZ_ERR_MEANING, path, "%s", text);
}

/* Versions ------------------------------------------------------------------------------------- */

static int32_t add_value(pz_trace *trace, int32_t storage, int32_t op, int32_t previous)
{
    const int32_t value = (int32_t)trace->n_values++;
    trace->values[value] = (pzi_value){storage, op, previous, PZI_NONE, value, PZI_NONE};
    if (previous != PZI_NONE)
        trace->values[previous].next = value;
    return value;
}

static void number_inputs(pz_trace *trace, int32_t *current)
{
    for (size_t s = 0; s < trace->n_storages; s++) {
        current[s] = PZI_NONE;
        if (trace->storages[s].kind == PZI_INPUT)
            current[s] = add_value(trace, (int32_t)s, PZI_NONE, PZI_NONE);
    }
}

static pz_status number_reads(pz_trace *trace, size_t i, const int32_t *current, pz_diag *diag)
{
    const pzi_op *op = &trace->ops[i];
    for (uint32_t k = op->reads; k < op->reads_end; k++) {
        pzi_access *access = &trace->accesses[k];
        const pzi_storage *storage = &trace->storages[access->storage];
        if (storage->kind == PZI_PARAMETER_GRADIENT && storage->op > (int32_t)i)
            return contradiction(diag, "ops", i, "reads a storage before it is produced");
        if (pzi_persistent(storage->kind))
            continue;
        access->value = current[access->storage];
        /* An operator may list what it produces among its reads (a fresh output that it fills). */
        if (access->value == PZI_NONE && storage->op != (int32_t)i)
            return contradiction(diag, "ops", i, "reads a storage before it is produced");
    }
    return PZ_OK;
}

static pz_status number_writes(pz_trace *trace, size_t i, int32_t *current, pz_diag *diag)
{
    const pzi_op *op = &trace->ops[i];
    for (uint32_t k = op->writes; k < op->writes_end; k++) {
        pzi_access *access = &trace->accesses[k];
        const pzi_storage *storage = &trace->storages[access->storage];
        if (storage->op > (int32_t)i)
            return contradiction(diag, "ops", i,
                                 "writes a storage before the operator that "
                                 "is said to produce it");
        if (pzi_persistent(storage->kind))
            continue;
        const int32_t previous = current[access->storage];
        if (previous != PZI_NONE && trace->values[previous].op == (int32_t)i)
            return contradiction(diag, "ops", i, "writes one storage twice");
        access->value = add_value(trace, access->storage, (int32_t)i, previous);
        current[access->storage] = access->value;
    }
    return PZ_OK;
}

static pz_status number_values(pz_trace *trace, int32_t *current, pz_diag *diag)
{
    number_inputs(trace, current);
    pz_status status = PZ_OK;
    for (size_t i = 0; status == PZ_OK && i < trace->n_ops; i++) {
        status = number_reads(trace, i, current, diag);
        if (status == PZ_OK)
            status = number_writes(trace, i, current, diag);
        if (i + 1 == trace->n_forward)
            for (size_t s = 0; s < trace->n_storages; s++)
                trace->storages[s].final_value = current[s];
    }
    return status;
}

/* The producer that a storage names must write it, in the slot that it names. */
static pz_status check_producers(const pz_trace *trace, pz_diag *diag)
{
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        if (storage->op < 0)
            continue;
        const pzi_op *op = &trace->ops[storage->op];
        const uint32_t slots = op->writes_end - op->writes;
        if ((uint32_t)storage->slot >= slots ||
            trace->accesses[op->writes + (uint32_t)storage->slot].storage != (int32_t)s)
            return contradiction(diag, "storages", s,
                                 "op and slot do not name an output that is this storage");
    }
    return PZ_OK;
}

static bool same_layout(const pz_trace *trace, int32_t a, int32_t b)
{
    const pzi_storage *x = &trace->storages[trace->values[a].storage];
    const pzi_storage *y = &trace->storages[trace->values[b].storage];
    return x->bytes == y->bytes && x->float32 == y->float32;
}

/* Frameworks clone a tensor before an operator overwrites it, when the backward pass needs the old
 * value.  The clone is then what is left of that value: a replay that needs it takes the clone if
 * it is there, and makes the clone without copying if it is not. */
static void find_clones(pz_trace *trace)
{
    for (size_t i = 0; i < trace->n_forward; i++) {
        const pzi_op *op = &trace->ops[i];
        if (op->reads_end != op->reads + 1 || op->writes_end != op->writes + 1 ||
            strncmp(op->name, "aten.clone", strlen("aten.clone")) != 0)
            continue;
        const int32_t original = trace->accesses[op->reads].value;
        const int32_t copy = trace->accesses[op->writes].value;
        if (original == PZI_NONE || copy == PZI_NONE || original == copy ||
            trace->values[original].next == PZI_NONE || trace->values[original].twin != PZI_NONE ||
            trace->values[original].same_as != original || !same_layout(trace, original, copy))
            continue;
        trace->values[copy].same_as = original;
        trace->values[original].twin = copy;
    }
}

/* Saved tensors -------------------------------------------------------------------------------- */

static bool may_be_saved(const pz_trace *trace, const pzi_storage *storage)
{
    return storage->kind == PZI_INPUT ||
           (storage->kind == PZI_ACTIVATION && storage->op < (int32_t)trace->n_forward);
}

/* Last operator that touches each storage, and a mark on those that the backward pass reads. */
static void find_uses(pz_trace *trace)
{
    for (size_t s = 0; s < trace->n_storages; s++) {
        trace->storages[s].saved = PZI_NONE;
        trace->storages[s].last_use = PZI_NONE;
    }
    for (size_t i = 0; i < trace->n_ops; i++) {
        const pzi_op *op = &trace->ops[i];
        for (uint32_t k = op->reads; k < op->writes_end; k++) {
            pzi_storage *storage = &trace->storages[trace->accesses[k].storage];
            storage->last_use = (int32_t)i;
            if (i >= trace->n_forward && k < op->reads_end && may_be_saved(trace, storage))
                storage->saved = 0;
        }
    }
}

static pz_status list_saved(pz_trace *trace, pz_diag *diag)
{
    for (size_t s = 0; s < trace->n_storages; s++)
        if (trace->storages[s].saved != PZI_NONE)
            trace->storages[s].saved = (int32_t)trace->n_saved++;
    trace->saved = calloc(trace->n_saved + 1, sizeof *trace->saved);
    if (!trace->saved)
        return pzi_no_memory(diag);
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        if (storage->saved == PZI_NONE)
            continue;
        trace->saved[storage->saved] = (pzi_saved){
            .storage = (int32_t)s,
            .value = storage->final_value,
            .ready_op = trace->values[storage->final_value].op,
            .last_forward_use = storage->op,
            .first_backward_use = PZI_NONE,
            .last_use = storage->last_use,
        };
    }
    return PZ_OK;
}

static void date_saved(pz_trace *trace)
{
    for (size_t i = 0; i < trace->n_ops; i++) {
        const pzi_op *op = &trace->ops[i];
        for (uint32_t k = op->reads; k < op->writes_end; k++) {
            const int32_t index = trace->storages[trace->accesses[k].storage].saved;
            if (index == PZI_NONE)
                continue;
            pzi_saved *saved = &trace->saved[index];
            if (i < trace->n_forward)
                saved->last_forward_use = (int32_t)i;
            else if (saved->first_backward_use == PZI_NONE)
                saved->first_backward_use = (int32_t)i;
        }
    }
}

/* Peak and digest ------------------------------------------------------------------------------ */

static void find_peak(pz_trace *trace, pz_precision precision, int64_t *change)
{
    memset(change, 0, (trace->n_ops + 1) * sizeof *change);
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        if (pzi_persistent(storage->kind) || storage->last_use == PZI_NONE)
            continue;
        const int64_t bytes = (int64_t)pzi_storage_bytes(storage, precision);
        change[storage->op < 0 ? 0 : storage->op] += bytes;
        change[storage->last_use + 1] -= bytes;
    }
    int64_t live = 0;
    for (size_t i = 0; i < trace->n_ops; i++) {
        live += change[i];
        if ((uint64_t)live > trace->peak_bytes[precision]) {
            trace->peak_bytes[precision] = (uint64_t)live;
            trace->peak_op[precision] = i;
        }
    }
}

static uint64_t mix(uint64_t seed, const void *data, size_t bytes)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

/* Numbers, not bytes of structs: the digest must not depend on padding or byte order. */
static uint64_t mix_numbers(uint64_t seed, const uint64_t *numbers, size_t n)
{
    unsigned char bytes[8 * 8];
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < 8; b++)
            bytes[8 * i + b] = (unsigned char)(numbers[i] >> (8 * b));
    return mix(seed, bytes, 8 * n);
}

static uint64_t digest(const pz_trace *trace)
{
    const uint64_t head[] = {trace->n_ops, trace->n_forward, trace->n_storages, trace->parameters,
                             trace->adamw};
    uint64_t h = mix_numbers(0, head, 5);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const pzi_op *op = &trace->ops[i];
        const uint64_t fields[] = {op->free_of_cost,
                                   op->flops,
                                   op->bytes,
                                   op->float_bytes,
                                   op->reads_end - op->reads,
                                   op->writes_end - op->writes};
        h = mix(mix_numbers(h, fields, 6), op->name, strlen(op->name));
        for (uint32_t k = op->reads; k < op->writes_end; k++) {
            const uint64_t storage = (uint64_t)trace->accesses[k].storage;
            h = mix_numbers(h, &storage, 1);
        }
    }
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        const uint64_t fields[] = {(uint64_t)storage->id, storage->bytes, storage->kind,
                                   storage->float32, (uint64_t)storage->op};
        h = mix_numbers(h, fields, 5);
    }
    return h;
}

pz_status pzi_flow_derive(pz_trace *trace, pz_diag *diag)
{
    if (trace->n_forward == 0)
        return contradiction(diag, "ops", 0, "is backward, and there is no forward operator");
    trace->values = calloc(trace->n_accesses + trace->n_storages + 1, sizeof *trace->values);
    int32_t *current = calloc(trace->n_storages + 1, sizeof *current);
    int64_t *change = calloc(trace->n_ops + 1, sizeof *change);
    pz_status status = trace->values && current && change ? PZ_OK : pzi_no_memory(diag);
    if (status == PZ_OK)
        status = number_values(trace, current, diag);
    if (status == PZ_OK)
        status = check_producers(trace, diag);
    if (status == PZ_OK) {
        find_clones(trace);
        find_uses(trace);
        status = list_saved(trace, diag);
    }
    if (status == PZ_OK) {
        date_saved(trace);
        find_peak(trace, PZ_FP32, change);
        find_peak(trace, PZ_BF16, change);
        trace->digest = digest(trace);
    }
    free(current);
    free(change);
    return status;
}
