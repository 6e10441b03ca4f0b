/* The search's view of plans against the simulator's, and the policy that searches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/search.h"
#include "sim/sim.h"
#include "support/test.h"
#include "tests/sim/tracegen.h"

/* A random trace on a random platform, and what evaluates its plans. */
struct lab {
    struct rng rng;
    pz_trace *trace;
    pz_trace_info info;
    pz_platform platform;
    double *ratios;
    pz_setup setup;
    pzi_work work;
    pzi_replayer replayer;
    pzi_copies copies;
    pzi_eval eval;
    pz_action *actions;
    pz_plan *plan;
};

/* In half of the labs something can compress in device memory. */
static void choose_compression(struct lab *lab)
{
    const bool shared = rng_one_in(&lab->rng, 2);
    if (rng_one_in(&lab->rng, 2))
        return;
    if (lab->platform.engine_bps > 0)
        lab->setup.compress = shared ? PZ_COMPRESS_SPARE : PZ_COMPRESS_SECOND;
    else if (lab->platform.software_bps > 0)
        lab->setup.compress = PZ_COMPRESS_SOFTWARE;
    lab->setup.slot_bytes = 1 + rng_below(&lab->rng, 64);
}

static bool lab_new(struct lab *lab, uint64_t seed, int forward_ops)
{
    *lab = (struct lab){.rng = {seed}};
    TEST_CONTEXT("seed %" PRIu64, seed);
    lab->trace = tracegen_make(&lab->rng, forward_ops);
    if (!CHECK(lab->trace != NULL))
        return false;
    pz_trace_get_info(lab->trace, &lab->info);
    lab->platform = tracegen_platform(&lab->rng);
    lab->ratios = tracegen_ratios(&lab->rng, lab->info.saved);
    lab->setup = (pz_setup){.size = sizeof lab->setup,
                            .trace = lab->trace,
                            .platform = &lab->platform,
                            .predicted = lab->ratios,
                            .budget_bytes = lab->info.peak_bytes[lab->platform.precision]};
    lab->actions = calloc(lab->info.saved + 1, sizeof *lab->actions);
    choose_compression(lab);
    return CHECK_EQ_I64(pzi_work_new(lab->trace, &lab->platform, &lab->work, NULL), PZ_OK) &&
           CHECK_EQ_I64(pzi_replayer_new(&lab->work, &lab->replayer), PZ_OK) &&
           CHECK_EQ_I64(pzi_copies_new(&lab->work, lab->ratios, &lab->copies), PZ_OK) &&
           CHECK_EQ_I64(pzi_eval_new(&lab->work, &lab->setup, &lab->copies, &lab->eval), PZ_OK) &&
           CHECK_EQ_I64(pz_plan_new(lab->trace, &lab->plan), PZ_OK);
}

static void lab_free(struct lab *lab)
{
    pz_plan_free(lab->plan);
    pzi_eval_free(&lab->eval);
    pzi_copies_free(&lab->copies);
    pzi_replayer_free(&lab->replayer);
    pzi_work_free(&lab->work);
    pz_trace_free(lab->trace);
    free(lab->ratios);
    free(lab->actions);
}

static bool is_input(const struct lab *lab, size_t i)
{
    return lab->trace->storages[lab->trace->saved[i].storage].kind == PZI_INPUT;
}

static void change_action(struct lab *lab)
{
    const size_t i = (size_t)rng_below(&lab->rng, lab->info.saved);
    pz_action action = (pz_action)rng_below(&lab->rng, 4);
    if ((action == PZ_DROP && is_input(lab, i)) ||
        (action == PZ_COMPRESS && lab->setup.compress == PZ_COMPRESS_NONE))
        action = PZ_SWAP;
    lab->actions[i] = action;
}

/* What the simulator says of the plan that the evaluation has written. */
static int64_t simulated_ns(struct lab *lab, uint64_t budget_bytes)
{
    pz_setup setup = lab->setup;
    pz_report report;
    setup.budget_bytes = budget_bytes;
    pzi_eval_write(&lab->eval, lab->actions, lab->plan);
    const pz_status status =
        pzi_simulate(&lab->work, &lab->replayer, &setup, lab->plan, &report, NULL, NULL);
    CHECK(status == PZ_OK || status == PZ_ERR_INFEASIBLE);
    return status == PZ_OK ? report.total_ns : INT64_MAX;
}

struct counts {
    unsigned ran, needless; /* plans; those that would run with less memory than their profile */
    unsigned held;          /* those in which something not saved stays for a replay */
};

static bool holds_something(const pzi_eval *eval)
{
    for (size_t k = 0; k < eval->rebuild.n_extended; k++)
        if (eval->work->holdable[eval->rebuild.extended[k]])
            return true;
    return false;
}

/* One changed plan: the time is the simulator's. */
static void check_plan(struct lab *lab, struct counts *counts)
{
    pzi_eval *eval = &lab->eval;
    const pz_replay mode = (pz_replay)rng_below(&lab->rng, PZ_REPLAYS);
    const int64_t ns = pzi_eval_run(eval, lab->actions, mode, UINT64_MAX, INT64_MAX);
    if (ns == INT64_MAX)
        return;
    const uint64_t peak = eval->peak_bytes;
    const uint64_t budget = peak > eval->budget_bytes ? peak : eval->budget_bytes;
    CHECK_EQ_I64(simulated_ns(lab, budget), ns);
    counts->needless += peak > 0 && simulated_ns(lab, peak - 1) < INT64_MAX;
    CHECK_EQ_I64(pzi_eval_run(eval, lab->actions, mode, UINT64_MAX, ns), ns);
    CHECK_EQ_I64(pzi_eval_run(eval, lab->actions, mode, UINT64_MAX, ns - 1), INT64_MAX);
    if (peak > 0)
        CHECK_EQ_I64(pzi_eval_run(eval, lab->actions, mode, peak - 1, INT64_MAX), INT64_MAX);
    counts->ran++;
    counts->held += holds_something(eval);
}

TEST(an_evaluation_agrees_with_the_simulator)
{
    struct counts counts = {0};

    for (uint64_t seed = 1; seed <= TEST_CASES(700); seed++) {
        struct lab lab;
        if (!lab_new(&lab, seed, 2 + (int)(seed % 30)))
            return;
        lab.eval.budget_bytes = lab.setup.budget_bytes * (30 + rng_below(&lab.rng, 80)) / 100;
        for (int k = 0; k < 30 && lab.info.saved > 0; k++) {
            change_action(&lab);
            check_plan(&lab, &counts);
        }
        lab_free(&lab);
    }
    CHECK(counts.ran > TEST_CASES(12000));
    CHECK(counts.held > TEST_CASES(500));
    /* The profile has all that an operator reads back before the replays before it. */
    CHECK(counts.needless < counts.ran / 500);
}

/* Every plan of a tiny trace ---------------------------------------------------------------------
 */

static void try_plan(struct lab *lab, int64_t *best_ns)
{
    pz_report report;
    for (int mode = 0; mode <= PZ_REPLAY_KEEP || mode <= (int)lab->setup.replay; mode++) {
        lab->plan->replay = (pz_replay)mode;
        const pz_status status =
            pzi_simulate(&lab->work, &lab->replayer, &lab->setup, lab->plan, &report, NULL, NULL);
        if (status == PZ_OK && report.total_ns < *best_ns)
            *best_ns = report.total_ns;
    }
}

static void try_from(struct lab *lab, size_t i, int64_t *best_ns)
{
    if (i == lab->info.saved) {
        try_plan(lab, best_ns);
        return;
    }
    const pzi_saved *saved = &lab->trace->saved[i];
    for (int action = PZ_KEEP; action <= PZ_DROP; action += PZ_DROP - PZ_KEEP) {
        if (action == PZ_DROP && is_input(lab, i))
            continue;
        lab->plan->steps[i] = (pzi_step){(pz_action)action, PZI_NONE};
        try_from(lab, i + 1, best_ns);
    }
    const bool compress = lab->setup.compress != PZ_COMPRESS_NONE;
    for (int32_t op = saved->last_forward_use + 1; op <= saved->first_backward_use; op++)
        for (int k = 0; k < 1 + compress; k++) {
            lab->plan->steps[i] = (pzi_step){k ? PZ_COMPRESS : PZ_SWAP, op};
            try_from(lab, i + 1, best_ns);
        }
}

static double plans_of(const struct lab *lab)
{
    double plans = 1;
    for (size_t i = 0; i < lab->info.saved; i++)
        plans *= 2 + (lab->setup.compress == PZ_COMPRESS_NONE ? 1 : 2) *
                         (lab->trace->saved[i].first_backward_use -
                          lab->trace->saved[i].last_forward_use);
    return plans;
}

/* Whether any plan of the lab, in any mode, runs within the budget. */
static bool any_runs(struct lab *lab, uint64_t budget_bytes)
{
    int64_t best_ns = INT64_MAX;
    lab->setup.budget_bytes = budget_bytes;
    lab->setup.replay = PZ_REPLAY_HOLD;
    try_from(lab, 0, &best_ns);
    return best_ns < INT64_MAX;
}

/* Planning fails for less, and says so of no budget for which it finds a plan. */
static void check_least(struct lab *lab, const char *policy)
{
    pz_plan *plan = NULL;
    pz_report report;
    uint64_t least_bytes = 0;
    CHECK_EQ_I64(pz_plan_least_budget(&lab->setup, policy, &least_bytes, NULL), PZ_OK);
    CHECK(least_bytes >= lab->work.least_bytes);
    lab->setup.budget_bytes = lab->work.least_bytes - 1;
    CHECK_EQ_I64(pz_plan_make(&lab->setup, policy, &plan, &report, NULL), PZ_ERR_INFEASIBLE);
    lab->setup.budget_bytes = least_bytes;
    CHECK_EQ_I64(pz_plan_make(&lab->setup, policy, &plan, &report, NULL), PZ_OK);
    pz_plan_free(plan);
}

/* The memory that every plan takes, which ends searches: there is no plan below it, and nearly
 * always one that needs no more. */
TEST(no_plan_runs_in_less_than_all_take)
{
    unsigned tried = 0, reached = 0;

    for (uint64_t seed = 1; tried < TEST_CASES(150); seed++) {
        struct lab lab;
        if (!lab_new(&lab, seed, 1 + (int)(seed % 5)))
            return;
        const uint64_t least = lab.work.least_bytes;
        if (lab.info.saved >= 1 && plans_of(&lab) <= 1000 && least > 1) {
            CHECK(!any_runs(&lab, least - 1));
            CHECK(!any_runs(&lab, rng_below(&lab.rng, least)));
            check_least(&lab, tried % 2 ? "best" : "planezip");
            reached += any_runs(&lab, least);
            tried++;
        }
        lab_free(&lab);
    }
    TEST_CONTEXT("%u of %u", reached, tried);
    CHECK(reached > tried * 9 / 10);
}

/* A bound is never above what is possible, and there is one wherever there is a plan. */
static void check_bound(struct lab *lab, int64_t best_ns)
{
    pz_bound bound = {0};
    const pz_status status = pz_plan_bound(&lab->setup, &bound, NULL);
    if (!pz_plan_bound_available()) {
        CHECK_EQ_I64(status, PZ_ERR_ARGUMENT);
        return;
    }
    if (best_ns == INT64_MAX)
        return;
    CHECK_EQ_I64(status, PZ_OK);
    CHECK(bound.total_ns <= best_ns && bound.overhead >= 0);
}

/* With the prefetch points that the planner chooses, nearly always no other plan is faster. */
TEST(best_finds_the_optimum_of_tiny_traces)
{
    unsigned searched = 0, found = 0;
    const unsigned wanted =
        getenv("PZ_TINY_TRACES") ? (unsigned)atoi(getenv("PZ_TINY_TRACES")) : TEST_CASES(150);

    for (uint64_t seed = 1; searched < wanted; seed++) {
        struct lab lab;
        if (!lab_new(&lab, seed, 2 + (int)(seed % 4)))
            return;
        lab.platform.software_bps = 0; /* all plans are run with the codec */
        lab.setup.replay = rng_one_in(&lab.rng, 3) ? PZ_REPLAY_HOLD : PZ_REPLAY_FREE;
        if (lab.platform.engine_bps <= 0)
            lab.setup.compress = PZ_COMPRESS_NONE;
        lab.setup.budget_bytes = lab.setup.budget_bytes * (50 + rng_below(&lab.rng, 50)) / 100;
        if (lab.info.saved >= 2 && plans_of(&lab) <= 1e4) {
            int64_t best_ns = INT64_MAX;
            pz_plan *plan = NULL;
            pz_report report = {0};
            try_from(&lab, 0, &best_ns);
            const pz_status status = pz_plan_make(&lab.setup, "best", &plan, &report, NULL);
            searched += best_ns < INT64_MAX;
            check_bound(&lab, best_ns);
            CHECK(status == PZ_OK || status == PZ_ERR_INFEASIBLE);
            if (status == PZ_OK) {
                CHECK(report.total_ns >= best_ns && report.peak_bytes <= lab.setup.budget_bytes);
                found += report.total_ns == best_ns;
            }
            pz_plan_free(plan);
        }
        lab_free(&lab);
    }
    TEST_CONTEXT("%u of %u", found, searched);
    CHECK(searched >= wanted);
    CHECK(found >= searched * 95 / 100);
}

/* Plans accepted by a search for what cannot be: a budget in which nothing runs. */
static uint64_t accepted_in_vain(struct lab *lab, uint64_t evaluations)
{
    const pzi_work *work = &lab->work;
    const int64_t unlimited_ns = work->start_ns[lab->info.ops] + work->optimizer_ns;
    const pzi_search_limits limits = {.evaluations = evaluations, .mode = PZ_REPLAY_KEEP};
    pzi_found found = {.actions = lab->actions, .ns = 2 * unlimited_ns};
    pz_search_info info = {0};
    lab->eval.budget_bytes = work->least_bytes / 2;
    CHECK_EQ_I64(pzi_search(&lab->eval, &limits, &found, &info), PZ_OK);
    CHECK(found.ns == 2 * unlimited_ns && lab->eval.price == 0);
    return info.accepted;
}

/* The price of bytes above the budget rises as long as no plan is within it.  It must not leave the
 * range in which costs can be compared, or nothing would be accepted any more. */
TEST(prices_end_somewhere)
{
    struct lab lab;
    if (!lab_new(&lab, 3, 20))
        return;
    const uint64_t some = accepted_in_vain(&lab, 60000), more = accepted_in_vain(&lab, 240000);
    TEST_CONTEXT("%" PRIu64 ", then %" PRIu64, some, more);
    CHECK(some > 0 && more > 2 * some);
    lab_free(&lab);
}

/* The five models of the paper -------------------------------------------------------------------
 */

enum { MODELS = 5 };
static const char *const models[MODELS] = {"resnet50", "densenet121", "efficientnet_b0", "vit_b_16",
                                           "gpt2"};

struct model {
    pz_trace *trace;
    pz_platform platform;
    double *ratios;
    pz_setup setup;
};

/* With the paper's ratios, on platform A or B, at a share of the peak. */
static bool model_new(struct model *m, const char *name, const char *platform, unsigned percent)
{
    char path[512];
    pz_predictor *table = NULL;
    pz_trace_info info;

    *m = (struct model){0};
    TEST_CONTEXT("%s on %s at %u %%", name, platform, percent);
    snprintf(path, sizeof path, "%s/traces/%s.json", PZ_DATA_DIR, name);
    if (!CHECK_EQ_I64(pz_trace_read(path, &m->trace, NULL), PZ_OK))
        return false;
    snprintf(path, sizeof path, "%s/ratios/paper_%s.json", PZ_DATA_DIR, name);
    if (!CHECK_EQ_I64(pz_predictor_read(path, &table, NULL), PZ_OK))
        return false;
    pz_trace_get_info(m->trace, &info);
    CHECK_EQ_I64(pz_platform_named(platform, &m->platform), PZ_OK);
    m->ratios = calloc(info.saved, sizeof *m->ratios);
    CHECK_EQ_I64(pz_predictor_fill(table, m->trace, "planezip", m->platform.precision, PZ_BY_TENSOR,
                                   m->ratios),
                 PZ_OK);
    pz_predictor_free(table);
    m->setup = (pz_setup){.size = sizeof m->setup,
                          .trace = m->trace,
                          .platform = &m->platform,
                          .predicted = m->ratios,
                          .budget_bytes = info.peak_bytes[m->platform.precision] / 100 * percent,
                          .search_evaluations = 3000};
    return true;
}

static void model_free(struct model *m)
{
    pz_trace_free(m->trace);
    free(m->ratios);
}

static double overhead_of(const struct model *m, const char *policy)
{
    pz_plan *plan = NULL;
    pz_report report = {0};

    if (pz_plan_make(&m->setup, policy, &plan, &report, NULL) != PZ_OK)
        return INFINITY;
    CHECK(report.peak_bytes <= m->setup.budget_bytes);
    pz_plan_free(plan);
    return report.overhead;
}

/* What a prototype reached and proved, in % of the five models' mean: less than a tenth of a point
 * below its bounds, and a short search close to its plans. */
TEST(bounds_and_plans_of_the_models)
{
    static const struct {
        const char *platform;
        unsigned percent;
        double bound, plan;
    } points[] = {
        {"A", 50, 2.54, 2.9}, {"B", 50, 6.06, 7.5}, {"A", 30, 6.02, 8.7}, {"B", 30, 11.76, 15.5}};

    for (size_t k = 0; k < TEST_CASES(sizeof points / sizeof points[0]); k++) {
        double bounds = 0, plans = 0;
        for (int i = 0; i < MODELS; i++) {
            struct model m;
            pz_bound bound = {0};
            if (!model_new(&m, models[i], points[k].platform, points[k].percent))
                return;
            const double plan = overhead_of(&m, "best");
            plans += 100 * plan / MODELS;
            if (pz_plan_bound_available()) {
                CHECK_EQ_I64(pz_plan_bound(&m.setup, &bound, NULL), PZ_OK);
                CHECK(bound.overhead <= plan);
            }
            bounds += 100 * bound.overhead / MODELS;
            model_free(&m);
        }
        TEST_CONTEXT("%s at %u %%: plans %.2f, bounds %.2f", points[k].platform, points[k].percent,
                     plans, bounds);
        CHECK(plans <= points[k].plan);
        CHECK(!pz_plan_bound_available() || bounds >= points[k].bound - 0.1);
    }
}

/* The layers of DenseNet read what all layers before them made, which is not saved: without holding
 * it, a replay of one runs most of the block again (docs/simulator.md). */
TEST(holding_is_what_densenet_needs)
{
    struct model m;
    pz_bound bound = {0};

    if (!model_new(&m, "densenet121", "A", 30))
        return;
    const double kept = overhead_of(&m, "best");
    m.setup.replay = PZ_REPLAY_HOLD;
    const double held = overhead_of(&m, "best");
    TEST_CONTEXT("%.4f kept, %.4f held", kept, held);
    CHECK(held < 0.08 && held < kept - 0.05);
    if (pz_plan_bound_available()) {
        CHECK_EQ_I64(pz_plan_bound(&m.setup, &bound, NULL), PZ_OK);
        CHECK(bound.overhead <= held && bound.overhead > 0.04);
    }
    model_free(&m);
}

static void check_best(const struct model *model)
{
    struct model m = *model;
    pz_policy policy;

    m.setup.search_evaluations = 200;
    m.setup.replay = PZ_REPLAY_FREE;
    const double best = overhead_of(&m, "best");
    CHECK(best < INFINITY);
    for (size_t p = 0; pz_policy_at(p, &policy) == PZ_OK; p++)
        for (int mode = 0; mode <= PZ_REPLAY_KEEP && strcmp(policy.name, "best") != 0; mode++) {
            m.setup.replay = (pz_replay)mode;
            CHECK(best <= overhead_of(&m, policy.name));
        }
}

/* At three budgets; with PZ_ALL_BUDGETS set, at the seven of the paper. */
TEST(nothing_beats_best)
{
    const unsigned step = getenv("PZ_ALL_BUDGETS") ? 10 : TEST_SANITIZED ? 60 : 30;

    for (int i = 0; i < MODELS; i++)
        for (unsigned percent = 30; percent <= 90; percent += step)
            for (int p = 0; p < 2; p++) {
                struct model m;
                if (!model_new(&m, models[i], p ? "A" : "B", percent))
                    return;
                check_best(&m);
                model_free(&m);
            }
}

/* Planning again ---------------------------------------------------------------------------------
 */

/* A plan that fits as predicted overflows where compression in device memory frees less: then it is
 * made again for less. */
TEST(less_freed_than_predicted)
{
    unsigned overflown = 0, planned = 0;

    for (uint64_t seed = 1; seed <= TEST_CASES(900); seed++) {
        struct lab lab;
        pz_plan *plan = NULL;
        pz_report report;
        if (!lab_new(&lab, seed, 6 + (int)(seed % 10)))
            return;
        lab.platform.engine_bps = 1e12;
        lab.setup.compress = PZ_COMPRESS_SECOND;
        lab.setup.slot_bytes = 1;
        lab.setup.search_evaluations = 300;
        lab.setup.budget_bytes = lab.setup.budget_bytes * 7 / 10;
        double *actual = calloc(lab.info.saved + 1, sizeof *actual);
        for (size_t i = 0; i < lab.info.saved; i++)
            actual[i] = 1 + (lab.ratios[i] - 1) * 0.9;
        if (pz_plan_make(&lab.setup, "best", &plan, &report, NULL) == PZ_OK) {
            lab.setup.actual = actual;
            if (pz_simulate(&lab.setup, plan, &report, NULL, NULL) == PZ_ERR_INFEASIBLE) {
                pz_plan_free(plan);
                plan = NULL;
                overflown++;
                planned += pz_plan_make(&lab.setup, "best", &plan, &report, NULL) == PZ_OK;
                CHECK(!plan || report.peak_bytes <= lab.setup.budget_bytes);
            }
        }
        pz_plan_free(plan);
        free(actual);
        lab_free(&lab);
    }
    TEST_CONTEXT("%u overflown, %u planned again", overflown, planned);
    CHECK(overflown >= TEST_CASES(10) && planned >= overflown / 2);
}
