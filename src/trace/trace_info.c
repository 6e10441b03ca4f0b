/* What a caller may ask of a trace. */
#include "trace/trace.h"

static size_t count_views(const pz_trace *trace)
{
    size_t n = 0;
    for (size_t i = 0; i < trace->n_ops; i++)
        n += trace->ops[i].view;
    return n;
}

static uint64_t saved_bytes(const pz_trace *trace, pz_precision precision)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < trace->n_saved; i++)
        bytes += pzi_storage_bytes(&trace->storages[trace->saved[i].storage], precision);
    return bytes;
}

void pz_trace_get_info(const pz_trace *trace, pz_trace_info *info)
{
    *info = (pz_trace_info){
        .model = trace->model,
        .optimizer = trace->adamw ? "adamw" : "sgd",
        .batch = trace->batch,
        .parameters = trace->parameters,
        .ops = trace->n_ops,
        .forward_ops = trace->n_forward,
        .view_ops = count_views(trace),
        .storages = trace->n_storages,
        .saved = trace->n_saved,
        .saved_bytes = {saved_bytes(trace, PZ_FP32), saved_bytes(trace, PZ_BF16)},
        .peak_bytes = {trace->peak_bytes[PZ_FP32], trace->peak_bytes[PZ_BF16]},
        .peak_op = {trace->peak_op[PZ_FP32], trace->peak_op[PZ_BF16]},
        .digest = trace->digest,
    };
}

static uint64_t kind_bytes(const pz_trace *trace, pzi_kind kind)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < trace->n_storages; s++)
        bytes += trace->storages[s].kind == kind ? trace->storages[s].bytes : 0;
    return bytes;
}

void pz_trace_get_memory(const pz_trace *trace, pz_trace_memory *memory)
{
    *memory = (pz_trace_memory){
        .parameter_bytes = kind_bytes(trace, PZI_PARAMETER),
        .buffer_bytes = kind_bytes(trace, PZI_BUFFER),
        .gradient_bytes = kind_bytes(trace, PZI_PARAMETER_GRADIENT),
        .optimizer_bytes = 4 * trace->parameters * (trace->adamw ? 2 : 1),
    };
}

const char *pz_trace_op_name(const pz_trace *trace, size_t op)
{
    return op < trace->n_ops ? trace->ops[op].name : NULL;
}

pz_status pz_trace_get_saved(const pz_trace *trace, size_t index, pz_saved *saved)
{
    if (index >= trace->n_saved)
        return PZ_ERR_ARGUMENT;
    const pzi_saved *s = &trace->saved[index];
    const pzi_storage *storage = &trace->storages[s->storage];
    *saved = (pz_saved){
        .storage = (size_t)storage->id,
        .op = storage->op,
        .slot = storage->slot,
        .op_name = s->ready_op < 0 ? "input" : trace->ops[s->ready_op].name,
        .dtype = storage->dtype,
        .bytes = {pzi_storage_bytes(storage, PZ_FP32), pzi_storage_bytes(storage, PZ_BF16)},
        .ready_op = s->ready_op,
        .last_forward_use = s->last_forward_use,
        .first_backward_use = s->first_backward_use,
        .last_use = s->last_use,
    };
    return PZ_OK;
}
