/* Building replays.  See replay.h. */
#include "sim/replay.h"

#include <stdlib.h>
#include <string.h>

pz_status pzi_replayer_new(const pzi_work *work, pzi_replayer *r)
{
    const pz_trace *trace = work->trace;
    *r = (pzi_replayer){
        .work = work,
        .stack = calloc(trace->n_accesses + trace->n_values + 1, sizeof *r->stack),
        .value_mark = calloc(trace->n_values + 1, sizeof *r->value_mark),
        .op_mark = calloc(trace->n_ops + 1, sizeof *r->op_mark),
        .source_mark = calloc(trace->n_storages + 1, sizeof *r->source_mark),
        .last_reader = calloc(trace->n_values + 1, sizeof *r->last_reader),
    };
    pzi_replay *replay = &r->replay;
    replay->ops = calloc(trace->n_ops + 1, sizeof *replay->ops);
    replay->alloc_bytes = calloc(trace->n_ops + 1, sizeof *replay->alloc_bytes);
    replay->free_bytes = calloc(trace->n_ops + 1, sizeof *replay->free_bytes);
    replay->step_ns = calloc(trace->n_ops + 1, sizeof *replay->step_ns);
    replay->sources = calloc(trace->n_storages + 1, sizeof *replay->sources);
    replay->kept = calloc(trace->n_saved + 1, sizeof *replay->kept);
    if (r->stack && r->value_mark && r->op_mark && r->source_mark && r->last_reader &&
        replay->ops && replay->alloc_bytes && replay->free_bytes && replay->step_ns &&
        replay->sources && replay->kept)
        return PZ_OK;
    pzi_replayer_free(r);
    return PZ_ERR_MEMORY;
}

void pzi_replayer_free(pzi_replayer *r)
{
    free(r->stack);
    free(r->value_mark);
    free(r->op_mark);
    free(r->source_mark);
    free(r->last_reader);
    free(r->replay.ops);
    free(r->replay.alloc_bytes);
    free(r->replay.free_bytes);
    free(r->replay.step_ns);
    free(r->replay.sources);
    free(r->replay.kept);
    free(r->replay.moves);
    *r = (pzi_replayer){0};
}

pz_status pzi_replayer_tell_moves(pzi_replayer *r)
{
    /* A value is made once and freed once. */
    if (!r->replay.moves)
        r->replay.moves = calloc(2 * r->work->trace->n_values + 1, sizeof *r->replay.moves);
    return r->replay.moves ? PZ_OK : PZ_ERR_MEMORY;
}

/* What one build carries around. */
struct build {
    pzi_replayer *r;
    const pz_trace *trace;
    const pzi_residency *residency;
    int32_t target, op;
    int32_t target_value;
    bool possible;
};

static bool is_back(const struct build *b, int32_t saved)
{
    const int32_t back = b->residency->back[saved];
    if (back > b->op || b->op > b->trace->saved[saved].last_use)
        return false;
    return back < b->op || b->residency->mode != PZ_REPLAY_FREE ||
           pzi_replays_before(b->trace, saved, b->target);
}

/* True if nothing has overwritten the value when operator op begins. */
static bool still_holds(const pz_trace *trace, int32_t value, int32_t op)
{
    const int32_t next = trace->values[value].next;
    return next == PZI_NONE || trace->values[next].op >= op;
}

/* True if value can be read from memory when the replay runs; *storage is then where. */
static bool in_memory(const struct build *b, int32_t value, int32_t *storage)
{
    const int32_t where = b->trace->values[value].storage;
    const pzi_storage *s = &b->trace->storages[where];
    const bool held = b->residency->mode == PZ_REPLAY_HOLD && b->r->work->holdable[where];
    const bool there = s->saved == PZI_NONE
                           ? s->kind == PZI_INPUT || held
                           : !b->residency->dropped[s->saved] || is_back(b, s->saved);
    *storage = where;
    return there && s->saved != b->target && s->final_value == value &&
           still_holds(b->trace, value, b->op);
}

static void add_source(struct build *b, int32_t storage)
{
    pzi_replayer *r = b->r;
    if (r->source_mark[storage] == r->stamp)
        return;
    r->source_mark[storage] = r->stamp;
    r->replay.sources[r->replay.n_sources++] = storage;
}

/* Pushes what op reads and what it overwrites. */
static size_t push_inputs(struct build *b, const pzi_op *op, size_t depth)
{
    const pz_trace *trace = b->trace;
    for (uint32_t k = op->reads; k < op->reads_end; k++)
        if (trace->accesses[k].value != PZI_NONE)
            b->r->stack[depth++] = trace->accesses[k].value;
    for (uint32_t k = op->writes; k < op->writes_end; k++) {
        const int32_t value = trace->accesses[k].value;
        if (value != PZI_NONE && trace->values[value].previous != PZI_NONE)
            b->r->stack[depth++] = trace->values[value].previous;
    }
    return depth;
}

static size_t add_producer(struct build *b, int32_t value, size_t depth)
{
    pzi_replayer *r = b->r;
    const int32_t op = b->trace->values[value].op;
    if (op == PZI_NONE) {
        b->possible = false;
        return depth;
    }
    if (r->op_mark[op] == r->stamp)
        return depth;
    r->op_mark[op] = r->stamp;
    r->replay.ops[r->replay.n_ops++] = op;
    return push_inputs(b, &b->trace->ops[op], depth);
}

/* Walks back from the target to what is in memory. */
static void collect(struct build *b)
{
    pzi_replayer *r = b->r;
    const pzi_value *values = b->trace->values;
    size_t depth = add_producer(b, b->target_value, 0);
    r->value_mark[b->target_value] = r->stamp;
    while (depth > 0 && b->possible) {
        const int32_t value = values[r->stack[--depth]].same_as;
        if (r->value_mark[value] == r->stamp)
            continue;
        r->value_mark[value] = r->stamp;
        const int32_t twin = values[value].twin;
        int32_t storage;
        if (in_memory(b, value, &storage) || (twin != PZI_NONE && in_memory(b, twin, &storage)))
            add_source(b, storage);
        else
            depth = add_producer(b, value, depth);
    }
}

static int compare_ops(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Chains are short or nearly sorted backwards, so insertion beats qsort on most of them. */
static void sort_ops(int32_t *ops, size_t n)
{
    if (n > 64) {
        qsort(ops, n, sizeof *ops, compare_ops);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        const int32_t op = ops[i];
        size_t k = i;
        for (; k > 0 && ops[k - 1] > op; k--)
            ops[k] = ops[k - 1];
        ops[k] = op;
    }
}

/* Memory on the way ------------------------------------------------------------------------------
 */

/* Marks, per value, the last operator of the replay that reads or overwrites it. */
static void find_last_readers(struct build *b)
{
    const pz_trace *trace = b->trace;
    const pzi_replay *replay = &b->r->replay;
    int32_t *last_reader = b->r->last_reader;
    for (size_t k = 0; k < replay->n_ops; k++) {
        const pzi_op *op = &trace->ops[replay->ops[k]];
        for (uint32_t a = op->writes; a < op->writes_end; a++)
            if (trace->accesses[a].value != PZI_NONE)
                last_reader[trace->accesses[a].value] = PZI_NONE;
        for (uint32_t a = op->reads; a < op->reads_end; a++)
            if (trace->accesses[a].value != PZI_NONE)
                last_reader[trace->values[trace->accesses[a].value].same_as] = (int32_t)k;
        for (uint32_t a = op->writes; a < op->writes_end; a++) {
            const int32_t value = trace->accesses[a].value;
            if (value != PZI_NONE && trace->values[value].previous != PZI_NONE)
                last_reader[trace->values[trace->values[value].previous].same_as] = (int32_t)k;
        }
    }
}

/* The saved tensor that stays in memory with this value after the replay, or PZI_NONE. */
static int32_t stays(const struct build *b, int32_t value)
{
    if (value == b->target_value)
        return b->target;
    if (b->residency->mode == PZ_REPLAY_FREE)
        return PZI_NONE;
    const pz_trace *trace = b->trace;
    const int32_t candidates[] = {value, trace->values[value].twin};
    for (size_t c = 0; c < 2; c++) {
        if (candidates[c] == PZI_NONE)
            continue;
        const pzi_storage *s = &trace->storages[trace->values[candidates[c]].storage];
        if (s->saved != PZI_NONE && s->final_value == candidates[c] &&
            b->residency->dropped[s->saved] && b->op <= trace->saved[s->saved].last_use &&
            !is_back(b, s->saved))
            return s->saved;
    }
    return PZI_NONE;
}

static bool made_here(const struct build *b, int32_t value)
{
    const int32_t op = b->trace->values[value].op;
    return op != PZI_NONE && b->r->op_mark[op] == b->r->stamp;
}

/* An in-place operator takes over the memory of the value that it overwrites, if this replay made
 * that value and nobody needs it any more. */
static bool takes_over(const struct build *b, int32_t value, size_t k)
{
    const int32_t previous = b->trace->values[value].previous;
    if (previous == PZI_NONE)
        return false;
    const int32_t same = b->trace->values[previous].same_as;
    return made_here(b, same) && b->r->last_reader[same] == (int32_t)k &&
           stays(b, same) == PZI_NONE;
}

static uint64_t value_bytes(const struct build *b, int32_t value)
{
    return b->r->work->bytes[b->trace->values[value].storage];
}

/* An in-place operator that may not destroy what it overwrites works on a copy, which costs what
 * the clone cost in the forward pass. */
static int64_t copy_ns(const struct build *b, int32_t value)
{
    const int32_t previous = b->trace->values[value].previous;
    const int32_t twin = previous == PZI_NONE ? PZI_NONE : b->trace->values[previous].twin;
    return twin == PZI_NONE ? 0 : b->r->work->op_ns[b->trace->values[twin].op];
}

static void tell_move(struct build *b, size_t k, int32_t value, int32_t from, bool frees)
{
    pzi_replay *replay = &b->r->replay;
    if (replay->moves)
        replay->moves[replay->n_moves++] = (pzi_move){k, value, from, frees};
}

static void account_writes(struct build *b, const pzi_op *op, size_t k)
{
    pzi_replay *replay = &b->r->replay;
    for (uint32_t a = op->writes; a < op->writes_end; a++) {
        const int32_t value = b->trace->accesses[a].value;
        if (value == PZI_NONE)
            continue;
        if (!takes_over(b, value, k)) {
            replay->alloc_bytes[k] += value_bytes(b, value);
            replay->step_ns[k] += copy_ns(b, value);
            tell_move(b, k, value, PZI_NONE, false);
        } else {
            const int32_t previous = b->trace->values[value].previous;
            tell_move(b, k, value, b->trace->values[previous].same_as, false);
        }
        const int32_t saved = stays(b, value);
        if (saved != PZI_NONE) {
            replay->kept[replay->n_kept++] = saved;
        } else if (b->r->last_reader[value] == PZI_NONE) {
            replay->free_bytes[k] += value_bytes(b, value);
            tell_move(b, k, value, PZI_NONE, true);
        }
    }
}

/* True if operator k overwrites value in place and so keeps its memory. */
static bool overwritten_by(const struct build *b, const pzi_op *op, int32_t value)
{
    for (uint32_t a = op->writes; a < op->writes_end; a++) {
        const int32_t written = b->trace->accesses[a].value;
        if (written == PZI_NONE)
            continue;
        const int32_t previous = b->trace->values[written].previous;
        if (previous != PZI_NONE && b->trace->values[previous].same_as == value)
            return true;
    }
    return false;
}

static void account_reads(struct build *b, const pzi_op *op, size_t k)
{
    pzi_replay *replay = &b->r->replay;
    for (uint32_t a = op->reads; a < op->reads_end; a++) {
        if (b->trace->accesses[a].value == PZI_NONE)
            continue;
        const int32_t value = b->trace->values[b->trace->accesses[a].value].same_as;
        if (b->r->last_reader[value] != (int32_t)k || !made_here(b, value) ||
            stays(b, value) != PZI_NONE || overwritten_by(b, op, value))
            continue;
        replay->free_bytes[k] += value_bytes(b, value);
        tell_move(b, k, value, PZI_NONE, true);
        b->r->last_reader[value] = PZI_NONE; /* an operator may list a storage twice */
    }
}

static void account_memory(struct build *b)
{
    pzi_replay *replay = &b->r->replay;
    uint64_t live = 0;
    find_last_readers(b);
    for (size_t k = 0; k < replay->n_ops; k++) {
        const pzi_op *op = &b->trace->ops[replay->ops[k]];
        replay->alloc_bytes[k] = replay->free_bytes[k] = 0;
        replay->step_ns[k] = b->r->work->op_ns[replay->ops[k]];
        account_writes(b, op, k);
        account_reads(b, op, k);
        live += replay->alloc_bytes[k];
        if (live > replay->peak_bytes)
            replay->peak_bytes = live;
        live -= replay->free_bytes[k];
        replay->ns += replay->step_ns[k];
    }
}

static void next_stamp(pzi_replayer *r)
{
    if (++r->stamp != 0)
        return;
    const pz_trace *trace = r->work->trace;
    memset(r->value_mark, 0, trace->n_values * sizeof *r->value_mark);
    memset(r->op_mark, 0, trace->n_ops * sizeof *r->op_mark);
    memset(r->source_mark, 0, trace->n_storages * sizeof *r->source_mark);
    r->stamp = 1;
}

const pzi_replay *pzi_replay_build(pzi_replayer *r, const pzi_residency *residency, size_t target,
                                   int32_t op)
{
    const pz_trace *trace = r->work->trace;
    const pzi_saved *saved = &trace->saved[target];
    struct build b = {
        .r = r,
        .trace = trace,
        .residency = residency,
        .target = (int32_t)target,
        .op = op,
        .target_value = trace->values[saved->value].same_as,
        .possible = trace->storages[saved->storage].kind != PZI_INPUT,
    };
    if (!b.possible)
        return NULL;
    next_stamp(r);
    pzi_replay *replay = &r->replay;
    replay->n_ops = replay->n_sources = replay->n_kept = replay->n_moves = 0;
    replay->ns = 0;
    replay->peak_bytes = 0;
    collect(&b);
    if (!b.possible)
        return NULL;
    sort_ops(replay->ops, replay->n_ops);
    account_memory(&b);
    return replay;
}
