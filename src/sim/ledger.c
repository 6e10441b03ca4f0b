/* Blocks of storages and of what replays build.  See ledger.h. */
#include "sim/ledger.h"

#include <stdlib.h>

static int32_t *no_blocks(size_t n)
{
    int32_t *blocks = calloc(n + 1, sizeof *blocks);
    for (size_t i = 0; blocks && i < n; i++)
        blocks[i] = PZI_NONE;
    return blocks;
}

pz_status pzi_ledger_new(const pzi_work *work, uint64_t limit_bytes, pz_fragmentation *report,
                         pzi_ledger *l)
{
    const pz_trace *trace = work->trace;
    *report = (pz_fragmentation){.failed_op = -1};
    *l = (pzi_ledger){
        .work = work,
        .storages = no_blocks(trace->n_storages),
        .packed = no_blocks(trace->n_saved),
        .values = no_blocks(trace->n_values),
        .report = report,
    };
    pzi_allocator_init(&l->allocator, limit_bytes);
    if (l->storages && l->packed && l->values)
        return PZ_OK;
    pzi_ledger_free(l);
    return PZ_ERR_MEMORY;
}

void pzi_ledger_free(pzi_ledger *l)
{
    pzi_allocator_free(&l->allocator);
    free(l->storages);
    free(l->packed);
    free(l->values);
    *l = (pzi_ledger){0};
}

static void note_failure(pzi_ledger *l, uint64_t bytes)
{
    pz_fragmentation *report = l->report;
    report->failed_op = l->op;
    report->failed_bytes = bytes;
    report->failed_free_bytes = l->allocator.segment_bytes - l->allocator.taken_bytes;
    report->failed_largest_bytes = pzi_allocator_largest_free(&l->allocator);
    l->allocator.limit_bytes = UINT64_MAX;
}

static void note_marks(pzi_ledger *l)
{
    pz_fragmentation *report = l->report;
    const pzi_allocator *a = &l->allocator;
    if (a->taken_bytes > report->allocated_bytes)
        report->allocated_bytes = a->taken_bytes;
    if (a->segment_bytes <= report->reserved_bytes)
        return;
    report->reserved_bytes = a->segment_bytes;
    report->idle_bytes = a->segment_bytes - a->taken_bytes;
    report->largest_free_bytes = pzi_allocator_largest_free(a);
}

/* Without memory the allocator is not what it should be, and is left alone. */
static void take(pzi_ledger *l, uint64_t bytes, int32_t *block)
{
    if (bytes == 0 || l->no_memory)
        return;
    pz_status status = pzi_allocator_take(&l->allocator, bytes, block);
    if (status == PZ_ERR_INFEASIBLE) {
        note_failure(l, bytes);
        status = pzi_allocator_take(&l->allocator, bytes, block);
    }
    if (status != PZ_OK) {
        *block = PZI_NONE;
        l->no_memory = true;
        return;
    }
    note_marks(l);
}

static void give(pzi_ledger *l, int32_t *block)
{
    if (*block != PZI_NONE && !l->no_memory && pzi_allocator_give(&l->allocator, *block) != PZ_OK)
        l->no_memory = true;
    *block = PZI_NONE;
}

void pzi_ledger_take(pzi_ledger *l, int32_t op, int32_t storage)
{
    if (!l)
        return;
    l->op = op;
    take(l, l->work->bytes[storage], &l->storages[storage]);
}

void pzi_ledger_give(pzi_ledger *l, int32_t storage)
{
    if (l)
        give(l, &l->storages[storage]);
}

void pzi_ledger_leave(pzi_ledger *l, int32_t op, int32_t saved, uint64_t packed_bytes)
{
    if (!l)
        return;
    l->op = op;
    give(l, &l->storages[l->work->trace->saved[saved].storage]);
    take(l, packed_bytes, &l->packed[saved]);
}

void pzi_ledger_return(pzi_ledger *l, int32_t op, int32_t saved)
{
    if (!l)
        return;
    give(l, &l->packed[saved]);
    pzi_ledger_take(l, op, l->work->trace->saved[saved].storage);
}

void pzi_ledger_before(pzi_ledger *l, int32_t op, const pzi_replay *replay, size_t k)
{
    if (!l)
        return;
    l->op = op;
    l->move = k == 0 ? 0 : l->move;
    for (size_t i = l->move; i < replay->n_moves && replay->moves[i].step == k; i++) {
        const pzi_move *move = &replay->moves[i];
        if (move->frees)
            continue;
        if (move->from == PZI_NONE) {
            take(l, l->work->bytes[l->work->trace->values[move->value].storage],
                 &l->values[move->value]);
            continue;
        }
        l->values[move->value] = l->values[move->from];
        l->values[move->from] = PZI_NONE;
    }
}

void pzi_ledger_after(pzi_ledger *l, const pzi_replay *replay, size_t k)
{
    if (!l)
        return;
    for (; l->move < replay->n_moves && replay->moves[l->move].step == k; l->move++)
        if (replay->moves[l->move].frees)
            give(l, &l->values[replay->moves[l->move].value]);
}

void pzi_ledger_keep(pzi_ledger *l, const pzi_replay *replay)
{
    if (!l)
        return;
    const pz_trace *trace = l->work->trace;
    for (size_t i = 0; i < replay->n_kept; i++) {
        const pzi_saved *saved = &trace->saved[replay->kept[i]];
        int32_t *made = &l->values[trace->values[saved->value].same_as];
        l->storages[saved->storage] = *made;
        *made = PZI_NONE;
    }
}
