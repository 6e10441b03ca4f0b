/* Replays: which operators rebuild a value, what they read, how long they take and what they need.
 * A second, independent way to find the operators is compared on random traces. */
#include "sim/replay.h"

#include <stdlib.h>

#include "support/test.h"
#include "tests/sim/tracegen.h"

struct lab {
    pz_trace *trace;
    pz_platform platform;
    pzi_work work;
    pzi_replayer replayer;
    uint8_t *dropped;
    int32_t *back;
    struct rng rng;
};

static bool lab_new(struct lab *lab, uint64_t seed, int forward_ops)
{
    *lab = (struct lab){.rng = {seed}};
    TEST_CONTEXT("seed %" PRIu64, seed);
    lab->trace = tracegen_make(&lab->rng, forward_ops);
    if (!CHECK(lab->trace != NULL))
        return false;
    lab->platform = tracegen_platform(&lab->rng);
    CHECK_EQ_I64(pzi_work_new(lab->trace, &lab->platform, &lab->work, NULL), PZ_OK);
    CHECK_EQ_I64(pzi_replayer_new(&lab->work, &lab->replayer), PZ_OK);
    lab->dropped = calloc(lab->trace->n_saved + 1, sizeof *lab->dropped);
    lab->back = calloc(lab->trace->n_saved + 1, sizeof *lab->back);
    for (size_t i = 0; i < lab->trace->n_saved; i++) {
        lab->dropped[i] = (uint8_t)rng_below(&lab->rng, 2);
        lab->back[i] = lab->trace->saved[i].first_backward_use;
    }
    return true;
}

static void lab_free(struct lab *lab)
{
    free(lab->dropped);
    free(lab->back);
    pzi_replayer_free(&lab->replayer);
    pzi_work_free(&lab->work);
    pz_trace_free(lab->trace);
}

/* The same question, asked recursively and value by value -------------------------------------- */

struct oracle {
    const struct lab *lab;
    int32_t target, op;
    bool *op_needed, *source, *seen, possible;
};

static bool is_back_at(const struct oracle *o, int32_t saved)
{
    const pz_trace *trace = o->lab->trace;
    const int32_t back = o->lab->back[saved];

    if (o->op > trace->saved[saved].last_use || back > o->op)
        return false;
    return back < o->op || pzi_replays_before(trace, saved, o->target);
}

/* True if the storage of the value is in memory at op with just that value in it. */
static bool there(const struct oracle *o, int32_t value)
{
    const pz_trace *trace = o->lab->trace;
    const int32_t s = trace->values[value].storage, saved = trace->storages[s].saved;

    for (int32_t later = trace->values[value].next; later >= 0; later = trace->values[later].next)
        if (trace->values[later].op < o->op)
            return false;
    if (saved < 0)
        return trace->storages[s].kind == PZI_INPUT;
    return saved != o->target && (!o->lab->dropped[saved] || is_back_at(o, saved));
}

static void need_value(struct oracle *o, int32_t value);

static void need_op(struct oracle *o, int32_t op)
{
    const pz_trace *trace = o->lab->trace;

    if (op < 0) {
        o->possible = false;
        return;
    }
    if (o->op_needed[op])
        return;
    o->op_needed[op] = true;
    for (uint32_t k = trace->ops[op].reads; k < trace->ops[op].reads_end; k++)
        if (trace->accesses[k].value >= 0)
            need_value(o, trace->accesses[k].value);
    for (uint32_t k = trace->ops[op].writes; k < trace->ops[op].writes_end; k++) {
        const int32_t value = trace->accesses[k].value;
        if (value >= 0 && trace->values[value].previous >= 0)
            need_value(o, trace->values[value].previous);
    }
}

static void need_value(struct oracle *o, int32_t value)
{
    const pz_trace *trace = o->lab->trace;
    const int32_t original = trace->values[value].same_as, twin = trace->values[original].twin;

    if (o->seen[original])
        return;
    o->seen[original] = true;
    if (there(o, original))
        o->source[trace->values[original].storage] = true;
    else if (twin >= 0 && there(o, twin))
        o->source[trace->values[twin].storage] = true;
    else
        need_op(o, trace->values[original].op);
}

static void check_operators(const struct lab *lab, const struct oracle *o, const pzi_replay *replay)
{
    size_t n_ops = 0, n_sources = 0;

    for (size_t i = 0; i < lab->trace->n_ops; i++)
        n_ops += o->op_needed[i];
    for (size_t s = 0; s < lab->trace->n_storages; s++)
        n_sources += o->source[s];
    CHECK_EQ_U64(replay->n_ops, n_ops);
    CHECK_EQ_U64(replay->n_sources, n_sources);
    for (size_t k = 0; k < replay->n_ops; k++) {
        CHECK(o->op_needed[replay->ops[k]]);
        CHECK(k == 0 || replay->ops[k - 1] < replay->ops[k]);
    }
    for (size_t k = 0; k < replay->n_sources; k++)
        CHECK(o->source[replay->sources[k]]);
}

/* Memory comes out even: what stays is the target. */
static void check_memory(const struct lab *lab, int32_t target, const pzi_replay *replay)
{
    int64_t live = 0, peak = 0, ns = 0;

    for (size_t k = 0; k < replay->n_ops; k++) {
        live += (int64_t)replay->alloc_bytes[k];
        peak = live > peak ? live : peak;
        live -= (int64_t)replay->free_bytes[k];
        CHECK(live >= 0);
        CHECK(replay->step_ns[k] >= lab->work.op_ns[replay->ops[k]]);
        ns += replay->step_ns[k];
    }
    CHECK_EQ_I64(live, pzi_saved_bytes(&lab->work, (size_t)target));
    CHECK_EQ_I64(peak, replay->peak_bytes);
    CHECK_EQ_I64(ns, replay->ns);
    CHECK_EQ_U64(replay->n_kept, 1);
    CHECK_EQ_I64(replay->kept[0], target);
}

static void check_target(struct lab *lab, int32_t target)
{
    const pz_trace *trace = lab->trace;
    const pzi_residency residency = {lab->dropped, lab->back, false};
    struct oracle o = {.lab = lab, .target = target, .possible = true};

    o.op = trace->saved[target].first_backward_use;
    o.op_needed = calloc(trace->n_ops, sizeof *o.op_needed);
    o.source = calloc(trace->n_storages + 1, sizeof *o.source);
    o.seen = calloc(trace->n_values + 1, sizeof *o.seen);
    const int32_t value = trace->values[trace->saved[target].value].same_as;
    o.seen[value] = true;
    if (trace->storages[trace->saved[target].storage].kind == PZI_INPUT)
        o.possible = false;
    else
        need_op(&o, trace->values[value].op);
    const pzi_replay *replay = pzi_replay_build(&lab->replayer, &residency, (size_t)target, o.op);
    CHECK((replay != NULL) == o.possible);
    if (replay && o.possible) {
        check_operators(lab, &o, replay);
        check_memory(lab, target, replay);
    }
    free(o.op_needed);
    free(o.source);
    free(o.seen);
}

TEST(against_a_recursive_search)
{
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct lab lab;
        if (!lab_new(&lab, seed, 2 + (int)(seed % 30)))
            return;
        for (size_t i = 0; i < lab.trace->n_saved; i++)
            check_target(&lab, (int32_t)i);
        lab_free(&lab);
    }
}

/* After 2^32 builds the marks are cleared, not mistaken for those of the first build. */
TEST(stamps_wrap_around)
{
    struct lab lab;

    if (!lab_new(&lab, 4, 20))
        return;
    lab.replayer.stamp = UINT32_MAX - 3;
    for (int k = 0; k < 8; k++)
        for (size_t i = 0; i < lab.trace->n_saved; i++)
            check_target(&lab, (int32_t)i);
    lab_free(&lab);
}

/* pz_trace_costs: every other saved tensor is there. */
TEST(costs)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct lab lab;
        if (!lab_new(&lab, seed, 2 + (int)(seed % 20)))
            return;
        const size_t n = lab.trace->n_saved;
        int64_t *swap_ns = calloc(2 * n + 1, sizeof *swap_ns), *recompute_ns = swap_ns + n;
        CHECK_EQ_I64(pz_trace_costs(lab.trace, &lab.platform, swap_ns, recompute_ns, NULL), PZ_OK);
        memset(lab.dropped, 0, n);
        for (size_t i = 0; i < n; i++) {
            const pzi_residency residency = {lab.dropped, lab.back, false};
            const pzi_replay *replay = pzi_replay_build(&lab.replayer, &residency, i,
                                                        lab.trace->saved[i].first_backward_use);
            CHECK_EQ_I64(recompute_ns[i], replay ? replay->ns : INT64_MAX);
            CHECK_EQ_I64(swap_ns[i], pz_platform_transfer_ns(&lab.platform,
                                                             pzi_saved_bytes(&lab.work, i), 1, 1));
        }
        free(swap_ns);
        lab_free(&lab);
    }
}
