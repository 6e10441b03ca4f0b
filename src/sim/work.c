/* A trace on a platform (paper, section IV, "Simulator"): an operator takes the launch overhead
 * plus the larger of its math and its memory time. */
#include "sim/work.h"

#include <math.h>
#include <stdlib.h>

#include "base/diag.h"

/* Bytes that the optimizer step moves per parameter, all in FP32: weight and gradient read, weight
 * written, and momentum (SGD) or both moments (AdamW) read and written. */
static double optimizer_bytes(const pz_trace *trace)
{
    return 4.0 * (double)trace->parameters * (trace->adamw ? 7 : 5);
}

static double duration_ns(const pzi_op *op, const pz_platform *platform)
{
    if (op->free_of_cost)
        return 0;
    double bytes = (double)op->bytes;
    if (platform->precision == PZ_BF16)
        bytes -= (double)op->float_bytes / 2;
    const double math = (double)op->flops / (platform->math_flops * platform->math_fraction);
    const double memory = bytes / (platform->memory_bps * platform->memory_fraction);
    return (double)platform->launch_ns + round(fmax(math, memory) * 1e9);
}

static double optimizer_ns(const pz_trace *trace, const pz_platform *platform)
{
    return round(optimizer_bytes(trace) / (platform->memory_bps * platform->memory_fraction) * 1e9);
}

/* Whatever the plan, an iteration replays no operator more often than there are saved tensors, and
 * copies each of them twice.  That must be a number of nanoseconds that can be added up. */
#define MAX_ITERATION_NS 1e18

static bool can_be_counted(const pz_trace *trace, const pz_platform *platform)
{
    const double link_bps = fmin(platform->d2h_bps, platform->h2d_bps) / platform->gpus_per_link;
    double ns = optimizer_ns(trace, platform);
    for (size_t i = 0; i < trace->n_ops; i++)
        ns += duration_ns(&trace->ops[i], platform) * (1 + (double)trace->n_saved);
    for (size_t i = 0; i < trace->n_saved; i++) {
        const pzi_storage *storage = &trace->storages[trace->saved[i].storage];
        const double bytes = (double)pzi_storage_bytes(storage, platform->precision);
        ns += 2 * ((double)platform->transfer_ns + bytes / link_bps * 1e9);
    }
    return ns <= MAX_ITERATION_NS;
}

static int compare_keys(const void *a, const void *b)
{
    const pzi_key *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return (x->saved > y->saved) - (x->saved < y->saved);
}

void pzi_sort_keys(pzi_key *keys, size_t n)
{
    qsort(keys, n, sizeof *keys, compare_keys);
}

/* Sorts the saved tensors by ready_op (by_use: by first backward use, then ready_op). */
static pz_status sort_saved(const pz_trace *trace, bool by_use, int32_t *order)
{
    pzi_key *keys = calloc(trace->n_saved + 1, sizeof *keys);
    if (!keys)
        return PZ_ERR_MEMORY;
    for (size_t i = 0; i < trace->n_saved; i++) {
        const pzi_saved *s = &trace->saved[i];
        keys[i] = (pzi_key){by_use ? s->first_backward_use : s->ready_op, s->ready_op, (int32_t)i};
    }
    pzi_sort_keys(keys, trace->n_saved);
    for (size_t i = 0; i < trace->n_saved; i++)
        order[i] = keys[i].saved;
    free(keys);
    return PZ_OK;
}

static bool makes_saved(const pz_trace *trace, const pzi_op *op)
{
    for (uint32_t k = op->writes; k < op->writes_end; k++)
        if (trace->storages[trace->accesses[k].storage].saved != PZI_NONE)
            return true;
    return false;
}

/* Whether it is of the forward pass alone, and the memory of its value is not used again. */
static bool is_passing(const pz_trace *trace, const pzi_access *access)
{
    const pzi_storage *storage = &trace->storages[access->storage];
    return access->value != PZI_NONE && storage->kind == PZI_ACTIVATION &&
           storage->saved == PZI_NONE && storage->final_value == access->value;
}

/* Forward operators that read it and make something that is saved: two at least. */
static void find_holdable(pzi_work *work)
{
    const pz_trace *trace = work->trace;
    for (size_t i = 0; i < trace->n_forward; i++) {
        const pzi_op *op = &trace->ops[i];
        const bool counts = makes_saved(trace, op);
        for (uint32_t k = op->reads; counts && k < op->reads_end; k++) {
            const pzi_access *access = &trace->accesses[k];
            if (is_passing(trace, access) && work->holdable[access->storage] < 2)
                work->holdable[access->storage]++;
        }
    }
    for (size_t s = 0; s < trace->n_storages; s++)
        work->holdable[s] = work->holdable[s] == 2;
}

/* Adds to the operators first .. end - 1. */
static void add_range(int64_t *change, int32_t first, int32_t end, int64_t bytes)
{
    change[first] += bytes;
    change[end] -= bytes;
}

/* Memory that every plan takes, whatever its actions, replays and prefetches: the inputs at the
 * start, and at each operator what is live but the saved tensors that are idle, as no more can be
 * out. */
static pz_status find_least(pzi_work *work)
{
    const pz_trace *trace = work->trace;
    int64_t *change = calloc(trace->n_ops + 1, sizeof *change), live = 0, least = 0;
    if (!change)
        return PZ_ERR_MEMORY;
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        const int64_t bytes = (int64_t)work->bytes[s];
        if (bytes == 0)
            continue;
        least += storage->op < 0 ? bytes : 0;
        add_range(change, storage->op < 0 ? 0 : storage->op, storage->last_use + 1, bytes);
    }
    for (size_t i = 0; i < trace->n_saved; i++)
        add_range(change, trace->saved[i].last_forward_use + 1, trace->saved[i].first_backward_use,
                  -(int64_t)pzi_saved_bytes(work, i));
    for (size_t i = 0; i < trace->n_ops; i++) {
        live += change[i];
        least = live > least ? live : least;
    }
    free(change);
    work->least_bytes = (uint64_t)least;
    return PZ_OK;
}

static void fill(pzi_work *work)
{
    const pz_trace *trace = work->trace;
    const pz_platform *platform = work->platform;
    for (size_t i = 0; i < trace->n_ops; i++) {
        work->op_ns[i] = (int64_t)duration_ns(&trace->ops[i], platform);
        work->start_ns[i + 1] = work->start_ns[i] + work->op_ns[i];
    }
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        if (!pzi_persistent(storage->kind) && storage->last_use != PZI_NONE)
            work->bytes[s] = pzi_storage_bytes(storage, platform->precision);
    }
    work->forward_ns = work->start_ns[trace->n_forward];
    work->backward_ns = work->start_ns[trace->n_ops] - work->forward_ns;
    work->optimizer_ns = (int64_t)optimizer_ns(trace, platform);
}

pz_status pzi_work_new(const pz_trace *trace, const pz_platform *platform, pzi_work *work,
                       pz_diag *diag)
{
    const pz_status status = pz_platform_check(platform, diag);
    if (status != PZ_OK)
        return status;
    if (!can_be_counted(trace, platform))
        return pzi_fail(diag, PZ_ERR_MEANING,
                        "an iteration of the trace could take more than 30 years on the platform");
    *work = (pzi_work){
        .trace = trace,
        .platform = platform,
        .op_ns = calloc(trace->n_ops, sizeof *work->op_ns),
        .start_ns = calloc(trace->n_ops + 1, sizeof *work->start_ns),
        .bytes = calloc(trace->n_storages + 1, sizeof *work->bytes),
        .by_ready = calloc(trace->n_saved + 1, sizeof *work->by_ready),
        .by_use = calloc(trace->n_saved + 1, sizeof *work->by_use),
        .holdable = calloc(trace->n_storages + 1, sizeof *work->holdable),
    };
    if (!work->holdable || !work->op_ns || !work->start_ns || !work->bytes || !work->by_ready ||
        !work->by_use || sort_saved(trace, false, work->by_ready) != PZ_OK ||
        sort_saved(trace, true, work->by_use) != PZ_OK) {
        pzi_work_free(work);
        return pzi_no_memory(diag);
    }
    fill(work);
    find_holdable(work);
    if (find_least(work) == PZ_OK)
        return PZ_OK;
    pzi_work_free(work);
    return pzi_no_memory(diag);
}

void pzi_work_free(pzi_work *work)
{
    free(work->op_ns);
    free(work->start_ns);
    free(work->bytes);
    free(work->by_ready);
    free(work->by_use);
    free(work->holdable);
    *work = (pzi_work){0};
}

uint64_t pzi_wire_bytes(const pzi_work *work, size_t saved, double ratio, bool to_host)
{
    const uint64_t bytes = pzi_saved_bytes(work, saved);
    const int64_t raw_ns = pz_platform_transfer_ns(work->platform, bytes, 1.0, to_host);
    const int64_t ns = pz_platform_transfer_ns(work->platform, bytes, ratio, to_host);
    return ns < raw_ns ? (uint64_t)((double)bytes / ratio) : bytes;
}

uint64_t pzi_output_bytes(const pzi_work *work, int32_t op)
{
    const pz_trace *trace = work->trace;
    const pzi_op *o = &trace->ops[op];
    uint64_t bytes = 0;
    for (uint32_t k = o->writes; k < o->writes_end; k++) {
        const pzi_access *access = &trace->accesses[k];
        if (access->value != PZI_NONE && trace->values[access->value].previous == PZI_NONE)
            bytes += work->bytes[access->storage];
    }
    return bytes;
}

/* Time that the slower direction of the link takes for all saved tensors, without set-ups. */
static double link_ns(const pzi_work *work, const double *ratios)
{
    const pz_platform *platform = work->platform;
    double out_ns = 0, in_ns = 0;
    for (size_t i = 0; i < work->trace->n_saved; i++) {
        const uint64_t bytes = pzi_saved_bytes(work, i);
        const double ratio = ratios ? ratios[i] : 1.0;
        out_ns +=
            (double)(pz_platform_transfer_ns(platform, bytes, ratio, 1) - platform->transfer_ns);
        in_ns +=
            (double)(pz_platform_transfer_ns(platform, bytes, ratio, 0) - platform->transfer_ns);
    }
    return fmax(out_ns, in_ns);
}

pz_status pz_trace_times(const pz_trace *trace, const pz_platform *platform, const double *ratios,
                         pz_times *times, pz_diag *diag)
{
    pzi_work work;
    const pz_status status = pzi_work_new(trace, platform, &work, diag);
    if (status != PZ_OK)
        return status;
    const double window_ns = fmin((double)work.forward_ns, (double)work.backward_ns);
    const double all_ns = link_ns(&work, ratios);
    *times = (pz_times){work.forward_ns, work.backward_ns, work.optimizer_ns,
                        all_ns > 0 ? window_ns / all_ns : 0};
    pzi_work_free(&work);
    return PZ_OK;
}
