/* The model of PyTorch's allocator: by hand, at random, and under plans of random traces. */
#include "sim/allocator.h"

#include <stdlib.h>

#include "sim/sim.h"
#include "support/test.h"
#include "tests/sim/tracegen.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* Takes a block and compares its size and what is reserved then. */
static int32_t take(pzi_allocator *a, uint64_t bytes, uint64_t block_bytes, uint64_t reserved_bytes)
{
    int32_t block = -1;

    CHECK_EQ_I64(pzi_allocator_take(a, bytes, &block), PZ_OK);
    if (block < 0)
        return block;
    CHECK_EQ_U64(a->blocks[block].bytes, block_bytes);
    CHECK_EQ_U64(a->segment_bytes, reserved_bytes);
    return block;
}

TEST(sizes)
{
    pzi_allocator a;

    pzi_allocator_init(&a, UINT64_MAX);
    take(&a, 1, 512, 2 * MIB);
    take(&a, 513, 1024, 2 * MIB);
    take(&a, MIB, MIB, 2 * MIB);                        /* what is left of 2 MiB is enough */
    take(&a, MIB, MIB, 4 * MIB);                        /* now it is not */
    take(&a, MIB + 1, MIB + 512, 24 * MIB);             /* large, in a segment of 20 MiB */
    take(&a, 10 * MIB - 512, 10 * MIB - 512, 24 * MIB); /* and so is this */
    take(&a, 10 * MIB, 10 * MIB, 34 * MIB);             /* a segment of its own */
    take(&a, 10 * MIB + 1, 10 * MIB + 512, 46 * MIB);   /* of 12 MiB, of which a rest remains */
    take(&a, 12 * MIB - 512 * KIB, 12 * MIB, 58 * MIB); /* but not one of less than 1 MiB */
    CHECK_EQ_U64(a.taken_bytes, 512 + 1024 + 2 * MIB + MIB + 512 + 10 * MIB - 512 + 10 * MIB +
                                    10 * MIB + 512 + 12 * MIB);
    pzi_allocator_free(&a);
}

TEST(best_fit_and_joining)
{
    pzi_allocator a;

    pzi_allocator_init(&a, UINT64_MAX);
    const int32_t first = take(&a, 4 * MIB, 4 * MIB, 20 * MIB);
    const int32_t second = take(&a, 3 * MIB, 3 * MIB, 20 * MIB);
    const int32_t third = take(&a, 6 * MIB, 6 * MIB, 20 * MIB);
    const int32_t fourth = take(&a, 7 * MIB, 7 * MIB, 20 * MIB);
    CHECK_EQ_U64(pzi_allocator_largest_free(&a), 0);
    CHECK_EQ_I64(pzi_allocator_give(&a, first), PZ_OK);
    CHECK_EQ_I64(pzi_allocator_give(&a, third), PZ_OK);
    CHECK_EQ_U64(pzi_allocator_largest_free(&a), 6 * MIB);
    /* 4 MiB lies in the gap of 4 MiB, not in the first or largest one; 5 MiB in that of 6. */
    CHECK_EQ_I64(take(&a, 4 * MIB - 512 * KIB, 4 * MIB, 20 * MIB), first);
    CHECK_EQ_I64(pzi_allocator_give(&a, first), PZ_OK);
    CHECK_EQ_I64(pzi_allocator_give(&a, second), PZ_OK);
    CHECK_EQ_U64(pzi_allocator_largest_free(&a), 13 * MIB);
    take(&a, 13 * MIB, 13 * MIB, 20 * MIB);
    CHECK_EQ_I64(pzi_allocator_give(&a, fourth), PZ_OK);
    CHECK_EQ_U64(pzi_allocator_largest_free(&a), 7 * MIB);
    pzi_allocator_free(&a);
}

/* Half of all memory is free, and no two neighbours of it. */
TEST(fragmentation)
{
    enum { BLOCKS = 20 };
    pzi_allocator a;
    int32_t blocks[BLOCKS], more = -1;

    pzi_allocator_init(&a, 40 * MIB);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = take(&a, 2 * MIB, 2 * MIB, (i < 10 ? 20 : 40) * MIB);
    CHECK_EQ_I64(pzi_allocator_take(&a, 2 * MIB, &more), PZ_ERR_INFEASIBLE);
    for (int i = 0; i < BLOCKS; i += 2)
        CHECK_EQ_I64(pzi_allocator_give(&a, blocks[i]), PZ_OK);
    CHECK_EQ_U64(a.taken_bytes, 20 * MIB);
    CHECK_EQ_U64(pzi_allocator_largest_free(&a), 2 * MIB);
    CHECK_EQ_I64(pzi_allocator_take(&a, 3 * MIB, &more), PZ_ERR_INFEASIBLE);
    CHECK_EQ_I64(pzi_allocator_take(&a, 512, &more), PZ_ERR_INFEASIBLE); /* of the other kind */
    /* A segment that is free goes back to the device and makes room for others. */
    for (int i = 1; i < BLOCKS / 2; i += 2)
        CHECK_EQ_I64(pzi_allocator_give(&a, blocks[i]), PZ_OK);
    CHECK_EQ_U64(pzi_allocator_largest_free(&a), 20 * MIB);
    take(&a, 512, 512, 22 * MIB);
    take(&a, 18 * MIB, 18 * MIB, 40 * MIB);
    CHECK_EQ_I64(pzi_allocator_take(&a, 3 * MIB, &more), PZ_ERR_INFEASIBLE);
    pzi_allocator_free(&a);
}

/* At random ------------------------------------------------------------------------------------ */

/* Blocks follow one another without a gap, no two free ones are neighbours, the free ones are those
 * in the lists, in their order, and all of them together are the segments. */
static void check_blocks(const pzi_allocator *a, const uint8_t *gone)
{
    uint64_t all = 0, taken = 0;
    size_t n_free = 0;

    for (size_t i = 0; i < a->n_blocks; i++) {
        const pzi_piece *block = &a->blocks[i];
        if (gone[i])
            continue;
        all += block->bytes;
        taken += block->taken ? block->bytes : 0;
        n_free += !block->taken;
        if (block->next < 0)
            continue;
        const pzi_piece *next = &a->blocks[block->next];
        CHECK_EQ_U64(next->address, block->address + block->bytes);
        CHECK_EQ_I64(next->previous, i);
        CHECK(block->taken || next->taken);
    }
    CHECK_EQ_U64(all, a->segment_bytes);
    CHECK_EQ_U64(taken, a->taken_bytes);
    CHECK_EQ_U64(n_free, a->free[0].n + a->free[1].n);
    for (int pool = 0; pool < 2; pool++)
        for (size_t i = 1; i < a->free[pool].n; i++) {
            const pzi_piece *x = &a->blocks[a->free[pool].blocks[i - 1]];
            const pzi_piece *y = &a->blocks[a->free[pool].blocks[i]];
            CHECK(x->bytes < y->bytes || (x->bytes == y->bytes && x->address < y->address));
        }
}

static uint64_t random_bytes(struct rng *rng)
{
    const uint64_t most[] = {2 * KIB, MIB, 12 * MIB, 40 * MIB};

    return 1 + rng_below(rng, most[rng_below(rng, 4)]);
}

TEST(any_sequence)
{
    enum { HELD = 60, STEPS = 6000 };
    pzi_allocator a;
    int32_t held[HELD];
    size_t n = 0, failed = 0;
    struct rng rng = {7};

    pzi_allocator_init(&a, 256 * MIB);
    for (int step = 0; step < STEPS; step++) {
        if (n < HELD && !rng_one_in(&rng, 3)) {
            const pz_status status = pzi_allocator_take(&a, random_bytes(&rng), &held[n]);
            CHECK(status == PZ_OK || status == PZ_ERR_INFEASIBLE);
            failed += status != PZ_OK;
            n += status == PZ_OK;
        } else if (n > 0) {
            const size_t i = (size_t)rng_below(&rng, n);
            CHECK_EQ_I64(pzi_allocator_give(&a, held[i]), PZ_OK);
            held[i] = held[--n];
        }
        CHECK(a.segment_bytes <= 256 * MIB);
        uint8_t *gone = calloc(a.n_blocks + 1, 1);
        for (size_t i = 0; i < a.unused.n; i++)
            gone[a.unused.blocks[i]] = 1;
        if (step % 20 == 0)
            check_blocks(&a, gone);
        free(gone);
    }
    CHECK(failed > 100 && failed < STEPS / 2);
    pzi_allocator_free(&a);
}

/* Under plans ---------------------------------------------------------------------------------- */

/* Sizes of whole blocks, none of them large, so that no block is larger than what lies in it. */
static void make_whole(pz_trace *trace)
{
    for (size_t s = 0; s < trace->n_storages; s++) {
        pzi_storage *storage = &trace->storages[s];
        storage->bytes = (storage->bytes < 1000 ? storage->bytes : 1000) * KIB;
    }
}

static void random_plan(struct rng *rng, const pz_trace *trace, pz_compress compress, pz_plan *plan)
{
    pz_plan_set_replay(plan, rng_one_in(rng, 2) ? PZ_REPLAY_KEEP : PZ_REPLAY_FREE);
    for (size_t i = 0; i < trace->n_saved; i++) {
        const unsigned actions = compress == PZ_COMPRESS_NONE ? PZ_COMPRESS : PZ_ACTIONS;
        const pz_action action = (pz_action)rng_below(rng, actions);
        const bool input = trace->storages[trace->saved[i].storage].kind == PZI_INPUT;
        const int64_t point = (int64_t)rng_below(rng, trace->n_ops);
        pz_plan_set(plan, i, action == PZ_DROP && input ? PZ_KEEP : action, point);
    }
}

/* The blocks are what the simulator counts, at its peak, and none is left at the end. */
static void check_plan(const pz_setup *setup, const pz_plan *plan, size_t *runs, size_t *replays)
{
    pzi_work work;
    pzi_replayer replayer;
    pzi_ledger ledger;
    pz_report report;
    pz_fragmentation seen, asked;

    CHECK_EQ_I64(pzi_work_new(setup->trace, setup->platform, &work, NULL), PZ_OK);
    CHECK_EQ_I64(pzi_replayer_new(&work, &replayer), PZ_OK);
    CHECK_EQ_I64(pzi_replayer_tell_moves(&replayer), PZ_OK);
    CHECK_EQ_I64(pzi_ledger_new(&work, setup->budget_bytes, &seen, &ledger), PZ_OK);
    const pz_status status =
        pzi_simulate_blocks(&work, &replayer, setup, plan, &report, &ledger, NULL);
    if (status == PZ_OK) {
        ++*runs;
        *replays += report.replayed_ops;
        CHECK_EQ_U64(seen.allocated_bytes, report.peak_bytes);
        CHECK_EQ_U64(ledger.allocator.taken_bytes, 0);
        CHECK(seen.reserved_bytes >= seen.allocated_bytes && seen.failed_op == -1);
        CHECK(seen.idle_bytes >= seen.largest_free_bytes);
        CHECK_EQ_I64(pz_simulate_allocator(setup, plan, INT64_MAX, &asked, NULL), PZ_OK);
        CHECK_EQ_U64(asked.reserved_bytes, seen.reserved_bytes);
    } else {
        CHECK_EQ_I64(status, PZ_ERR_INFEASIBLE);
    }
    pzi_ledger_free(&ledger);
    pzi_replayer_free(&replayer);
    pzi_work_free(&work);
}

TEST(plans_of_random_traces)
{
    size_t runs = 0, replays = 0;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct rng rng = {seed};
        pz_plan *plan = NULL;
        TEST_CONTEXT("seed %" PRIu64, seed);
        pz_trace *trace = tracegen_make(&rng, 2 + (int)(seed % 25));
        if (!CHECK(trace != NULL))
            return;
        make_whole(trace);
        const pz_platform platform = tracegen_platform(&rng);
        double *ratios = tracegen_ratios(&rng, trace->n_saved);
        pz_setup setup = {.size = sizeof setup,
                          .trace = trace,
                          .platform = &platform,
                          .predicted = ratios,
                          .budget_bytes = INT64_MAX,
                          .compress = platform.engine_bps > 0 ? (pz_compress)(seed % 3) : 0,
                          .slot_bytes = 512};
        CHECK_EQ_I64(pz_plan_new(trace, &plan), PZ_OK);
        for (int k = 0; k < 4; k++) {
            random_plan(&rng, trace, setup.compress, plan);
            check_plan(&setup, plan, &runs, &replays);
        }
        pz_plan_free(plan);
        pz_trace_free(trace);
        free(ratios);
    }
    CHECK(runs > 1000 && replays > 3000);
}

/* With the budget as limit, what has no room is told, and memory that is enough then is not. */
TEST(a_limit)
{
    pz_trace *trace = NULL;
    pz_platform platform;
    pz_plan *plan;
    pz_fragmentation loose, tight;

    CHECK_EQ_I64(pz_trace_read(PZ_DATA_DIR "/traces/densenet121.json", &trace, NULL), PZ_OK);
    CHECK_EQ_I64(pz_platform_named("A", &platform), PZ_OK);
    CHECK_EQ_I64(pz_plan_new(trace, &plan), PZ_OK);
    const uint64_t peak = trace->peak_bytes[PZ_FP32];
    const pz_setup setup = {
        .size = sizeof setup, .trace = trace, .platform = &platform, .budget_bytes = peak};
    CHECK_EQ_I64(pz_simulate_allocator(&setup, plan, INT64_MAX, &loose, NULL), PZ_OK);
    CHECK_EQ_I64(loose.failed_op, -1);
    CHECK(loose.reserved_bytes > loose.allocated_bytes && loose.allocated_bytes >= peak);
    CHECK_EQ_I64(pz_simulate_allocator(&setup, plan, peak, &tight, NULL), PZ_OK);
    CHECK(tight.failed_op >= 0 && (size_t)tight.failed_op < trace->n_ops);
    CHECK(tight.failed_bytes > tight.failed_largest_bytes);
    CHECK(tight.reserved_bytes > peak);
    CHECK_EQ_I64(pz_simulate_allocator(&setup, plan, loose.reserved_bytes, &tight, NULL), PZ_OK);
    CHECK_EQ_I64(tight.failed_op, -1);
    CHECK(tight.reserved_bytes <= loose.reserved_bytes);
    pz_plan_free(plan);
    pz_trace_free(trace);
}
