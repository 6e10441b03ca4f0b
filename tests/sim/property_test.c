/* Properties of simulator and planner over random small traces. */
#include <math.h>
#include <stdlib.h>

#include "plan/evict.h"
#include "plan/planner.h"
#include "sim/schedule.h"
#include "sim/sim.h"
#include "support/test.h"
#include "tests/sim/tracegen.h"

/* One random trace, platform and ratios. */
struct world {
    struct rng rng;
    pz_trace *trace;
    pz_trace_info info;
    pz_platform platform;
    double *predicted, *actual;
    pz_setup setup;
};

static bool world_new(struct world *w, uint64_t seed, int forward_ops)
{
    *w = (struct world){.rng = {seed}};
    TEST_CONTEXT("seed %" PRIu64, seed);
    w->trace = tracegen_make(&w->rng, forward_ops);
    if (!CHECK(w->trace != NULL))
        return false;
    pz_trace_get_info(w->trace, &w->info);
    w->platform = tracegen_platform(&w->rng);
    w->predicted = tracegen_ratios(&w->rng, w->info.saved);
    w->actual = tracegen_ratios(&w->rng, w->info.saved);
    w->setup = (pz_setup){.size = sizeof w->setup,
                          .trace = w->trace,
                          .platform = &w->platform,
                          .predicted = w->predicted,
                          .budget_bytes = w->info.peak_bytes[w->platform.precision],
                          .search_evaluations = 500};
    return true;
}

static void world_free(struct world *w)
{
    pz_trace_free(w->trace);
    free(w->predicted);
    free(w->actual);
}

/* What must hold of every run ------------------------------------------------------------------ */

static bool same_report(const pz_report *a, const pz_report *b)
{
    return a->total_ns == b->total_ns && a->replay_ns == b->replay_ns &&
           a->stall_memory_ns == b->stall_memory_ns &&
           a->stall_prefetch_ns == b->stall_prefetch_ns && a->codec_ns == b->codec_ns &&
           a->d2h_busy_ns == b->d2h_busy_ns && a->h2d_busy_ns == b->h2d_busy_ns &&
           a->d2h_wire_bytes == b->d2h_wire_bytes && a->peak_bytes == b->peak_bytes &&
           a->peak_ns == b->peak_ns && a->replayed_ops == b->replayed_ops;
}

static void check_report(const struct world *w, const pz_setup *setup, const pz_report *r)
{
    CHECK_EQ_I64(r->total_ns, r->compute_ns + r->optimizer_ns + r->replay_ns + r->stall_memory_ns +
                                  r->stall_prefetch_ns + r->codec_ns);
    CHECK(r->peak_bytes <= setup->budget_bytes);
    CHECK_EQ_U64(r->kept + r->swapped + r->dropped + r->compressed, w->info.saved);
    CHECK_EQ_I64(r->unlimited_ns, r->compute_ns + r->optimizer_ns);
    CHECK(r->d2h_wire_bytes <= r->swapped_bytes && r->h2d_wire_bytes <= r->swapped_bytes);
}

/* The lanes run one thing at a time; a tensor comes back after it has left, and leaves after it was
 * made. */
static void check_events(const struct world *w, const pz_timeline *timeline)
{
    int64_t lane_end[PZ_LANES] = {0}, *made = calloc(w->info.ops + 1, sizeof *made);
    int64_t *left = calloc(w->info.saved + 1, sizeof *left);
    pz_event e;

    for (size_t i = 0; pz_timeline_event(timeline, i, &e) == PZ_OK; i++) {
        CHECK(e.begin_ns >= lane_end[e.lane] && e.end_ns >= e.begin_ns);
        lane_end[e.lane] = e.end_ns;
        if (strcmp(e.kind, "op") == 0)
            made[e.op + 1] = e.end_ns;
        if (strcmp(e.kind, "swap-out") == 0 || strcmp(e.kind, "compress") == 0) {
            CHECK(e.begin_ns >= made[e.op + 1]);
            left[e.tensor] = e.end_ns;
        }
        if (strcmp(e.kind, "prefetch") == 0 || strcmp(e.kind, "restore") == 0) {
            CHECK(left[e.tensor] > 0 || e.raw_bytes == 0);
            CHECK(e.begin_ns >= left[e.tensor]);
        }
    }
    free(made);
    free(left);
}

/* The samples of the timeline never exceed the budget, end at nothing and reach the peak. */
static void check_samples(const pz_timeline *timeline, const pz_setup *setup, const pz_report *r)
{
    uint64_t highest = 0;

    for (size_t i = 0; i < timeline->n_samples; i++)
        if (timeline->samples[i].live_bytes > highest)
            highest = timeline->samples[i].live_bytes;
    CHECK_EQ_U64(highest, r->peak_bytes);
    CHECK(highest <= setup->budget_bytes);
    if (timeline->n_samples > 0)
        CHECK_EQ_U64(timeline->samples[timeline->n_samples - 1].live_bytes, 0);
}

static void check_peak_set(const pz_timeline *timeline, const pz_report *r)
{
    uint64_t bytes, sum = 0, last = UINT64_MAX;
    size_t storage;

    for (size_t i = 0; pz_timeline_peak(timeline, i, &storage, &bytes) == PZ_OK; i++) {
        CHECK(bytes > 0 && bytes <= last);
        last = bytes;
        sum += bytes;
    }
    CHECK(sum <= r->peak_bytes);
    if (r->replayed_ops == 0)
        CHECK_EQ_U64(sum, r->peak_bytes);
}

static pz_status run_and_check(const struct world *w, const pz_setup *setup, const pz_plan *plan,
                               pz_report *report)
{
    pz_timeline *timeline = NULL;
    pz_report again;
    pz_diag diag;
    const pz_status status = pz_simulate(setup, plan, report, &timeline, &diag);

    if (status != PZ_OK) {
        CHECK_EQ_I64(pz_simulate(setup, plan, &again, NULL, NULL), status);
        return status;
    }
    check_report(w, setup, report);
    check_events(w, timeline);
    check_samples(timeline, setup, report);
    check_peak_set(timeline, report);
    pz_timeline_free(timeline);
    CHECK_EQ_I64(pz_simulate(setup, plan, &again, NULL, NULL), PZ_OK);
    CHECK(same_report(report, &again));
    return status;
}

/* Any plan ------------------------------------------------------------------------------------- */

static bool can_be_dropped(const int64_t *recompute_ns, size_t i)
{
    return recompute_ns[i] != INT64_MAX;
}

static void random_plan(struct world *w, const int64_t *recompute_ns, pz_plan *plan)
{
    pz_plan_set_replay(plan, (pz_replay)rng_below(&w->rng, PZ_REPLAYS));
    const unsigned actions = w->setup.compress == PZ_COMPRESS_NONE ? PZ_COMPRESS : PZ_ACTIONS;
    for (size_t i = 0; i < w->info.saved; i++) {
        pz_action action = (pz_action)rng_below(&w->rng, actions);
        if (action == PZ_DROP && !can_be_dropped(recompute_ns, i))
            action = PZ_KEEP;
        pz_plan_set(plan, i, action, (int64_t)rng_below(&w->rng, w->info.ops));
    }
}

/* With enough memory every plan runs: no operator misses a value, whatever is dropped and swapped.
 * With less it runs within the budget or is refused. */
TEST(any_plan_runs_with_enough_memory)
{
    for (uint64_t seed = 1; seed <= TEST_CASES(1500); seed++) {
        struct world w;
        pz_plan *plan;
        pz_report report;
        if (!world_new(&w, seed, 2 + (int)(seed % 25)))
            return;
        if (w.platform.engine_bps > 0)
            w.setup.compress = (pz_compress)(seed % 3); /* none, spare or second */
        w.setup.slot_bytes = 16;
        int64_t *costs = calloc(2 * w.info.saved + 1, sizeof *costs);
        int64_t *recompute_ns = costs + w.info.saved;
        CHECK_EQ_I64(pz_trace_costs(w.trace, &w.platform, costs, recompute_ns, NULL), PZ_OK);
        CHECK_EQ_I64(pz_plan_new(w.trace, &plan), PZ_OK);
        for (int k = 0; k < 4; k++) {
            random_plan(&w, recompute_ns, plan);
            w.setup.budget_bytes = INT64_MAX;
            w.setup.actual = rng_one_in(&w.rng, 2) ? w.actual : NULL;
            const pz_status status = run_and_check(&w, &w.setup, plan, &report);
            /* A drop may be possible alone, and not once its sources are dropped. */
            CHECK(status == PZ_OK || status == PZ_ERR_INFEASIBLE);
            if (status != PZ_OK)
                continue;
            w.setup.budget_bytes = report.peak_bytes * (50 + rng_below(&w.rng, 50)) / 100;
            const pz_status tight = run_and_check(&w, &w.setup, plan, &report);
            CHECK(tight == PZ_OK || tight == PZ_ERR_INFEASIBLE);
        }
        pz_plan_free(plan);
        free(costs);
        world_free(&w);
    }
}

/* Policies ------------------------------------------------------------------------------------- */

static void check_policy(struct world *w, const char *policy)
{
    pz_plan *plan = NULL, *second = NULL;
    pz_report report, run, again;
    const pz_status status = pz_plan_make(&w->setup, policy, &plan, &report, NULL);

    CHECK(status == PZ_OK || status == PZ_ERR_INFEASIBLE);
    if (status != PZ_OK)
        return;
    /* On a platform with a software codec a plan may do without. */
    pz_setup setup = w->setup;
    pz_plan_info info;
    pz_plan_get_info(plan, &info);
    if (strcmp(info.codec, "none") == 0)
        setup.predicted = setup.actual = NULL;
    CHECK_EQ_I64(run_and_check(w, &setup, plan, &run), PZ_OK);
    CHECK(same_report(&report, &run));
    CHECK_EQ_I64(pz_plan_make(&w->setup, policy, &second, &again, NULL), PZ_OK);
    CHECK(same_report(&report, &again));
    for (size_t i = 0; i < w->info.saved; i++) {
        CHECK_EQ_I64(pz_plan_action(plan, i), pz_plan_action(second, i));
        CHECK_EQ_I64(pz_plan_prefetch(plan, i), pz_plan_prefetch(second, i));
    }
    if (w->setup.budget_bytes >= w->info.peak_bytes[w->platform.precision]) {
        CHECK_EQ_U64(report.kept, w->info.saved);
        CHECK_EQ_I64(report.total_ns, report.unlimited_ns);
    }
    pz_plan_free(plan);
    pz_plan_free(second);
}

static bool without_ratios(const pz_policy *policy)
{
    return strcmp(policy->codec, "none") == 0;
}

TEST(policies_keep_the_budget)
{
    static const unsigned percents[] = {100, 90, 75, 60, 45};

    for (uint64_t seed = 1; seed <= TEST_CASES(250); seed++) {
        struct world w;
        pz_policy policy;
        if (!world_new(&w, seed, 3 + (int)(seed % 25)))
            return;
        const uint64_t peak = w.setup.budget_bytes;
        for (size_t i = 0; pz_policy_at(i, &policy) == PZ_OK; i++) {
            w.setup.predicted = without_ratios(&policy) ? NULL : w.predicted;
            w.setup.actual = seed % 2 && !without_ratios(&policy) ? w.actual : NULL;
            w.setup.budget_bytes = peak * percents[rng_below(&w.rng, 5)] / 100;
            TEST_CONTEXT("seed %" PRIu64 ", %s", seed, policy.name);
            check_policy(&w, policy.name);
        }
        world_free(&w);
    }
}

static int64_t time_of(const struct world *w, const char *policy)
{
    pz_plan *plan = NULL;
    pz_report report;

    if (pz_plan_make(&w->setup, policy, &plan, &report, NULL) != PZ_OK)
        return INT64_MAX;
    pz_plan_free(plan);
    return report.total_ns;
}

/* Both are among the candidates of the portfolio, under the same predictions. */
TEST(portfolio_is_never_worse_than_its_members)
{
    for (uint64_t seed = 1; seed <= TEST_CASES(300); seed++) {
        struct world w;
        if (!world_new(&w, seed, 3 + (int)(seed % 20)))
            return;
        w.setup.budget_bytes = w.setup.budget_bytes * (40 + rng_below(&w.rng, 60)) / 100;
        const int64_t best = time_of(&w, "planezip");
        CHECK(best <= time_of(&w, "recomp"));
        CHECK(best <= time_of(&w, "dte+codec"));
        world_free(&w);
    }
}

/* Where the codec takes compute time, the plans without it are candidates too. */
TEST(a_software_codec_is_never_worse_than_none)
{
    unsigned without = 0;

    for (uint64_t seed = 1; seed <= TEST_CASES(300); seed++) {
        struct world w;
        if (!world_new(&w, seed, 3 + (int)(seed % 20)))
            return;
        w.platform.engine_bps = 0;
        w.platform.software_bps = 1.7 * w.platform.d2h_bps;
        w.platform.software_share = (double)(1 + rng_below(&w.rng, 100)) / 100;
        w.setup.budget_bytes = w.setup.budget_bytes * (40 + rng_below(&w.rng, 60)) / 100;
        const int64_t best = time_of(&w, "planezip");
        w.setup.predicted = w.setup.actual = NULL;
        CHECK(best <= time_of(&w, "bw"));
        without += best == time_of(&w, "bw");
        world_free(&w);
    }
    CHECK(without > 0 && without < TEST_CASES(300));
}

static bool same_plan(const pz_plan *a, const pz_plan *b)
{
    for (size_t i = 0; i < pz_plan_size(a); i++)
        if (pz_plan_action(a, i) != pz_plan_action(b, i) ||
            pz_plan_prefetch(a, i) != pz_plan_prefetch(b, i))
            return false;
    return true;
}

/* The planner does not know the actual ratios: it makes the plan that it would make anyway, unless
 * that one does not run with them. */
TEST(plans_follow_the_predictions)
{
    unsigned compared = 0;

    for (uint64_t seed = 1; seed <= TEST_CASES(400); seed++) {
        struct world w;
        pz_plan *blind = NULL, *plan = NULL;
        pz_report report;
        if (!world_new(&w, seed, 3 + (int)(seed % 25)))
            return;
        w.setup.budget_bytes = w.setup.budget_bytes * (50 + rng_below(&w.rng, 50)) / 100;
        if (pz_plan_make(&w.setup, "planezip", &blind, &report, NULL) == PZ_OK) {
            w.setup.actual = w.actual;
            if (pz_simulate(&w.setup, blind, &report, NULL, NULL) == PZ_OK) {
                CHECK_EQ_I64(pz_plan_make(&w.setup, "planezip", &plan, &report, NULL), PZ_OK);
                CHECK(same_plan(plan, blind));
                compared++;
            }
        }
        pz_plan_free(blind);
        pz_plan_free(plan);
        world_free(&w);
    }
    CHECK(compared > TEST_CASES(200));
}

/* A plan for a little less is a plan for more: what overflows is planned again for 2 % less, 14
 * times. */
TEST(plans_for_less_are_tried_as_well)
{
    unsigned feasible = 0;

    for (uint64_t seed = 1; seed <= TEST_CASES(500); seed++) {
        struct world w;
        if (!world_new(&w, seed, 3 + (int)(seed % 25)))
            return;
        const uint64_t budget = w.setup.budget_bytes * (50 + rng_below(&w.rng, 50)) / 100;
        w.setup.predicted = NULL;
        for (int k = 14; k >= 0; k--) {
            w.setup.budget_bytes = (uint64_t)((double)budget * (1 - 0.02 * k));
            if (time_of(&w, "dte") == INT64_MAX)
                continue;
            w.setup.budget_bytes = budget;
            CHECK(time_of(&w, "dte") < INT64_MAX);
            feasible++;
            break;
        }
        world_free(&w);
    }
    CHECK(feasible > TEST_CASES(100));
}

TEST(engine_as_fast_as_the_link_does_nothing)
{
    for (uint64_t seed = 1; seed <= TEST_CASES(200); seed++) {
        struct world w;
        pz_plan *plan = NULL;
        pz_report report, raw;
        if (!world_new(&w, seed, 3 + (int)(seed % 20)))
            return;
        w.platform.gpus_per_link = 1;
        w.platform.h2d_bps = w.platform.engine_bps = w.platform.d2h_bps;
        w.setup.budget_bytes = w.setup.budget_bytes * (40 + rng_below(&w.rng, 60)) / 100;
        if (pz_plan_make(&w.setup, "planezip", &plan, &report, NULL) == PZ_OK) {
            CHECK_EQ_U64(report.d2h_wire_bytes, report.swapped_bytes);
            CHECK_EQ_U64(report.h2d_wire_bytes, report.swapped_bytes);
            w.setup.predicted = NULL;
            CHECK_EQ_I64(pz_simulate(&w.setup, plan, &raw, NULL, NULL), PZ_OK);
            CHECK(same_report(&report, &raw));
            CHECK_EQ_I64(time_of(&w, "planezip"), report.total_ns);
            pz_plan_free(plan);
        }
        world_free(&w);
    }
}

TEST(least_budget_is_feasible)
{
    for (uint64_t seed = 1; seed <= TEST_CASES(120); seed++) {
        struct world w;
        pz_policy policy;
        if (!world_new(&w, seed, 3 + (int)(seed % 20)))
            return;
        for (size_t i = 0; pz_policy_at(i, &policy) == PZ_OK; i++) {
            pz_plan *plan = NULL;
            pz_report report;
            w.setup.predicted = without_ratios(&policy) ? NULL : w.predicted;
            TEST_CONTEXT("seed %" PRIu64 ", %s", seed, policy.name);
            CHECK_EQ_I64(pz_plan_least_budget(&w.setup, policy.name, &w.setup.budget_bytes, NULL),
                         PZ_OK);
            CHECK(w.setup.budget_bytes <= w.info.peak_bytes[w.platform.precision]);
            CHECK_EQ_I64(pz_plan_make(&w.setup, policy.name, &plan, &report, NULL), PZ_OK);
            pz_plan_free(plan);
        }
        world_free(&w);
    }
}

/* The memory profile of a draft, computed once more ----------------------------------------------
 */

/* First slot in which a storage takes memory. */
static size_t first_slot(const pz_trace *trace, size_t s)
{
    return trace->storages[s].op < 0 ? 0 : 2 * (size_t)trace->storages[s].op + 1;
}

/* True if the storage is in memory in the slot, as the schedule has it; a rebuilt tensor is counted
 * among its replay in the slot of the replay. */
static bool lives(const pzi_schedule *schedule, const pz_plan *plan, size_t s, size_t slot)
{
    const pz_trace *trace = schedule->work->trace;
    const int32_t saved = trace->storages[s].saved;

    if (schedule->end[s] < 0 || slot < first_slot(trace, s) ||
        slot > 2 * (size_t)schedule->end[s] + 1)
        return false;
    if (saved < 0 || pz_plan_action(plan, (size_t)saved) == PZ_KEEP)
        return true;
    const size_t gone = (size_t)(2 * (int64_t)trace->saved[saved].last_forward_use + 2);
    const size_t back = 2 * (size_t)schedule->need[saved];
    if (pz_plan_action(plan, (size_t)saved) == PZ_SWAP)
        return slot < gone || slot >= back;
    return slot < gone || slot > 2 * (size_t)trace->saved[saved].first_backward_use;
}

/* Highest memory of the replays before op, above what lives there. */
static int64_t replays_before(pzi_schedule *schedule, pzi_replayer *replayer, int32_t op)
{
    int64_t live = 0, peak = 0;

    for (size_t r = 0; r < schedule->n_runs; r++) {
        if (schedule->runs[r].op != op)
            continue;
        const pzi_replay *replay = pzi_schedule_replay(schedule, replayer, r);
        for (size_t k = 0; k < replay->n_ops; k++) {
            live += (int64_t)replay->alloc_bytes[k];
            peak = live > peak ? live : peak;
            live -= (int64_t)replay->free_bytes[k];
        }
    }
    return peak;
}

static int64_t naive_slot(pzi_schedule *schedule, pzi_replayer *replayer, const pz_plan *plan,
                          size_t slot)
{
    const pz_trace *trace = schedule->work->trace;
    int64_t bytes = slot % 2 == 0 ? replays_before(schedule, replayer, (int32_t)(slot / 2)) : 0;

    for (size_t s = 0; s < trace->n_storages; s++)
        if (schedule->work->bytes[s] > 0 && lives(schedule, plan, s, slot))
            bytes += (int64_t)schedule->work->bytes[s];
    return bytes;
}

/* Replays that read the storage from memory. */
static int32_t count_readers(pzi_schedule *schedule, pzi_replayer *replayer, int32_t storage)
{
    int32_t n = 0;

    for (size_t r = 0; r < schedule->n_runs; r++) {
        const pzi_replay *replay = pzi_schedule_replay(schedule, replayer, r);
        for (size_t k = 0; k < replay->n_sources; k++)
            n += replay->sources[k] == storage;
    }
    return n;
}

static bool profile_agrees(pzi_planner *p, pz_plan *plan)
{
    const pz_trace *trace = p->work->trace;
    pzi_schedule schedule;
    bool same = true;

    for (size_t i = 0; i < trace->n_saved; i++)
        pz_plan_set(plan, i, p->action[i], trace->saved[i].first_backward_use);
    if (!CHECK_EQ_I64(pzi_schedule_new(p->work, &p->replayer, plan, &schedule, NULL), PZ_OK))
        return false;
    for (size_t slot = 0; slot < 2 * trace->n_ops && same; slot++)
        same = CHECK_EQ_I64(pzi_range_max_get(&p->profile, slot, slot),
                            naive_slot(&schedule, &p->replayer, plan, slot));
    for (size_t i = 0; i < trace->n_saved && same; i++)
        same = CHECK_EQ_I64(p->need[i], schedule.need[i]) &&
               CHECK_EQ_I64(p->readers[i],
                            count_readers(&schedule, &p->replayer, trace->saved[i].storage));
    pzi_schedule_free(&schedule);
    return same;
}

/* Random drops and swaps, each accepted or refused by a random limit. */
static void change_draft(struct world *w, pzi_planner *p, pz_plan *plan)
{
    for (int k = 0; k < 12 && w->info.saved > 0; k++) {
        const int32_t saved = (int32_t)rng_below(&w->rng, w->info.saved);
        if (p->action[saved] != PZ_KEEP)
            continue;
        p->limit_bytes = w->setup.budget_bytes * (30 + rng_below(&w->rng, 100)) / 100;
        if (rng_one_in(&w->rng, 3))
            pzi_draft_swap(p, saved);
        else if (pzi_draft_chain(p, saved)->possible)
            pzi_draft_drop(p, saved);
        if (!profile_agrees(p, plan))
            return;
    }
}

TEST(profile_of_a_draft_is_that_of_its_schedule)
{
    for (uint64_t seed = 1; seed <= TEST_CASES(1000); seed++) {
        struct world w;
        pzi_work work;
        pzi_planner planner;
        pz_plan *plan;
        if (!world_new(&w, seed, 2 + (int)(seed % 25)))
            return;
        CHECK_EQ_I64(pzi_work_new(w.trace, &w.platform, &work, NULL), PZ_OK);
        CHECK_EQ_I64(pzi_planner_new(&work, &planner), PZ_OK);
        CHECK_EQ_I64(pz_plan_new(w.trace, &plan), PZ_OK);
        for (int k = 0; k < 2; k++) {
            pzi_draft_start(&planner, w.setup.budget_bytes);
            change_draft(&w, &planner, plan);
        }
        pz_plan_free(plan);
        pzi_planner_free(&planner);
        pzi_work_free(&work);
        world_free(&w);
    }
}

/* Time of the clones of the trace: what a replay saves at most when a clone that it would have to
 * copy is dropped as well. */
static int64_t clones_ns(const pzi_work *work)
{
    int64_t ns = 0;

    for (size_t i = 0; i < work->trace->n_ops; i++)
        if (strncmp(work->trace->ops[i].name, "aten.clone", strlen("aten.clone")) == 0)
            ns += work->op_ns[i];
    return ns;
}

/* A replay only grows while its sources are dropped, but for copies. */
TEST(stale_chains_are_lower_bounds)
{
    for (uint64_t seed = 1; seed <= TEST_CASES(500); seed++) {
        struct world w;
        pzi_work work;
        pzi_planner p;
        if (!world_new(&w, seed, 2 + (int)(seed % 25)))
            return;
        CHECK_EQ_I64(pzi_work_new(w.trace, &w.platform, &work, NULL), PZ_OK);
        CHECK_EQ_I64(pzi_planner_new(&work, &p), PZ_OK);
        pzi_draft_start(&p, UINT64_C(1) << 60);
        for (int k = 0; k < 8 && w.info.saved > 0; k++) {
            const int32_t saved = (int32_t)rng_below(&w.rng, w.info.saved);
            if (p.action[saved] == PZ_KEEP && pzi_draft_chain(&p, saved)->possible)
                pzi_draft_drop(&p, saved);
            for (size_t i = 0; i < w.info.saved; i++) {
                const pzi_chain before = p.chains[i];
                if (p.action[i] == PZ_KEEP && before.possible && before.stale)
                    CHECK(!pzi_draft_chain(&p, (int32_t)i)->possible ||
                          p.chains[i].ns + clones_ns(&work) >= before.ns);
            }
        }
        pzi_planner_free(&p);
        pzi_work_free(&work);
        world_free(&w);
    }
}

/* Every plan of a tiny trace ---------------------------------------------------------------------
 */

struct search {
    const struct world *w;
    pzi_work work;
    pzi_replayer replayer;
    pz_plan *plan;
    const int64_t *recompute_ns;
    int64_t best_ns;
    unsigned long runs;
};

static void try_plan(struct search *s)
{
    pz_report report;

    s->runs++;
    if (pzi_simulate(&s->work, &s->replayer, &s->w->setup, s->plan, &report, NULL, NULL) != PZ_OK)
        return;
    if (report.peak_bytes > s->w->setup.budget_bytes)
        CHECK(report.peak_bytes <= s->w->setup.budget_bytes);
    if (report.total_ns < s->best_ns)
        s->best_ns = report.total_ns;
}

static void try_from(struct search *s, size_t i)
{
    if (i == s->w->info.saved) {
        try_plan(s);
        return;
    }
    pz_saved saved;
    pz_trace_get_saved(s->w->trace, i, &saved);
    pz_plan_set(s->plan, i, PZ_KEEP, 0);
    try_from(s, i + 1);
    if (s->recompute_ns[i] != INT64_MAX) {
        pz_plan_set(s->plan, i, PZ_DROP, 0);
        try_from(s, i + 1);
    }
    for (int64_t op = saved.last_forward_use + 1; op <= saved.first_backward_use; op++) {
        pz_plan_set(s->plan, i, PZ_SWAP, op);
        try_from(s, i + 1);
    }
}

static void compare_policies(struct search *s)
{
    pz_policy policy;

    for (size_t i = 0; pz_policy_at(i, &policy) == PZ_OK; i++) {
        if (without_ratios(&policy))
            continue;
        TEST_CONTEXT("%s, optimum %" PRId64, policy.name, s->best_ns);
        CHECK(time_of(s->w, policy.name) >= s->best_ns);
    }
}

static double plans_of(const struct world *w)
{
    double plans = 1;
    pz_saved saved;

    for (size_t i = 0; pz_trace_get_saved(w->trace, i, &saved) == PZ_OK; i++)
        plans *= (double)(2 + saved.first_backward_use - saved.last_forward_use);
    return plans;
}

TEST(no_policy_beats_the_best_plan)
{
    unsigned searched = 0;

    for (uint64_t seed = 1; searched < TEST_CASES(40); seed++) {
        struct search s = {.best_ns = INT64_MAX};
        struct world w;
        if (!world_new(&w, seed, 2 + (int)(seed % 4)))
            return;
        if (w.info.saved >= 2 && w.info.saved <= 6 && plans_of(&w) <= 4e4) {
            int64_t costs[12];
            /* The search runs every plan with the codec; one in software may be left out. */
            w.platform.software_bps = 0;
            w.setup.budget_bytes = w.setup.budget_bytes * (50 + rng_below(&w.rng, 50)) / 100;
            s.w = &w;
            s.recompute_ns = costs + w.info.saved;
            CHECK_EQ_I64(pz_trace_costs(w.trace, &w.platform, costs, costs + w.info.saved, NULL),
                         PZ_OK);
            CHECK_EQ_I64(pzi_work_new(w.trace, &w.platform, &s.work, NULL), PZ_OK);
            CHECK_EQ_I64(pzi_replayer_new(&s.work, &s.replayer), PZ_OK);
            CHECK_EQ_I64(pz_plan_new(w.trace, &s.plan), PZ_OK);
            try_from(&s, 0);
            compare_policies(&s);
            searched += s.best_ns < INT64_MAX;
            pz_plan_free(s.plan);
            pzi_replayer_free(&s.replayer);
            pzi_work_free(&s.work);
        }
        world_free(&w);
    }
}
