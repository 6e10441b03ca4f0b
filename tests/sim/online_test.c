/* Online policies: by hand, and what must hold of every run. */
#include <planezip/plan.h>
#include <stdlib.h>

#include "support/test.h"
#include "tests/sim/tracegen.h"

static const char *const policies[] = {"online-dtr", "online-dte", "online-dte+codec"};
enum { POLICIES = 3 };

/* x -> a (100 ns) -> b (10 ns) -> c (10 ns) and back; every storage has 100 bytes, so that after
 * the forward pass one of four has to go for the first gradient. */
/* clang-format off */
/* What the three gradients read; more operators and storages. */
#define CHAIN(GC, GB, GA, OPS, STORAGES) \
    "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"chain\",\"batch\":1," \
    "\"optimizer\":\"sgd\",\"parameters\":0,\"ops\":[" \
    "{\"name\":\"a\",\"phase\":\"forward\",\"view\":false,\"reads\":[0],\"writes\":[1]," \
    "\"flops\":100,\"bytes\":0,\"float_bytes\":0}," \
    "{\"name\":\"b\",\"phase\":\"forward\",\"view\":false,\"reads\":[1],\"writes\":[2]," \
    "\"flops\":10,\"bytes\":0,\"float_bytes\":0}," \
    "{\"name\":\"c\",\"phase\":\"forward\",\"view\":false,\"reads\":[2],\"writes\":[3]," \
    "\"flops\":10,\"bytes\":0,\"float_bytes\":0}," \
    "{\"name\":\"gc\",\"phase\":\"backward\",\"view\":false,\"reads\":[" GC "],\"writes\":[4]," \
    "\"flops\":10,\"bytes\":0,\"float_bytes\":0}," \
    "{\"name\":\"gb\",\"phase\":\"backward\",\"view\":false,\"reads\":[" GB "],\"writes\":[5]," \
    "\"flops\":10,\"bytes\":0,\"float_bytes\":0}," \
    "{\"name\":\"ga\",\"phase\":\"backward\",\"view\":false,\"reads\":[" GA "],\"writes\":[6]," \
    "\"flops\":10,\"bytes\":0,\"float_bytes\":0}" OPS "],\"storages\":[" \
    "{\"id\":0,\"bytes\":100,\"dtype\":\"int8\",\"kind\":\"input\",\"op\":-1,\"slot\":0}," \
    "{\"id\":1,\"bytes\":100,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":0,\"slot\":0}," \
    "{\"id\":2,\"bytes\":100,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":1,\"slot\":0}," \
    "{\"id\":3,\"bytes\":100,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":2,\"slot\":0}," \
    "{\"id\":4,\"bytes\":100,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":3,\"slot\":0}," \
    "{\"id\":5,\"bytes\":100,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":4,\"slot\":0}," \
    "{\"id\":6,\"bytes\":100,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":5,\"slot\":0}" \
    STORAGES "]}"
/* clang-format on */

static const char chain[] = CHAIN("3", "2,4", "0,1,5", "", "");

/* A nanosecond per FLOP, ten bytes per nanosecond to the host and back, an engine of 30. */
static const pz_platform by_hand = {
    .name = "hand",
    .math_flops = 1e9,
    .math_fraction = 1,
    .memory_bps = 1e9,
    .memory_fraction = 1,
    .d2h_bps = 1e10,
    .h2d_bps = 1e10,
    .gpus_per_link = 1,
    .engine_bps = 3e10,
};

static pz_status run(const pz_setup *setup, const char *policy, pz_report *report, pz_plan **plan)
{
    pz_diag diag = {0};
    const pz_status status = pz_plan_make(setup, policy, plan, report, &diag);

    CHECK(status == PZ_OK || (status == PZ_ERR_INFEASIBLE && diag.text[0] != '\0'));
    return status;
}

/* At 120 ns x is stale since 100 ns, a since 110 ns and b since 120 ns (1 is added to each).
 * Computed again, a costs 100 / 11, less than 10 / 1 for b.  A copy of x costs 10 / 21, one of a 10
 * / 11, and 5 / 11 if it is compressed. */
TEST(a_chain)
{
    static const int64_t replay_ns[] = {100, 0, 0}, copy_ns[] = {0, 10, 5};
    static const pz_action actions[] = {PZ_DROP, PZ_SWAP, PZ_SWAP};
    static const size_t tensors[] = {1, 0, 1};
    const double ratios[] = {1, 2, 2, 2};
    pz_trace *trace = NULL;

    CHECK_EQ_I64(pz_trace_parse(chain, strlen(chain), &trace, NULL), PZ_OK);
    for (int p = 0; p < POLICIES; p++) {
        pz_report r;
        pz_plan *plan = NULL;
        const pz_setup setup = {.size = sizeof setup,
                                .trace = trace,
                                .platform = &by_hand,
                                .predicted = p == 2 ? ratios : NULL,
                                .budget_bytes = 400};
        TEST_CONTEXT("%s", policies[p]);
        if (!CHECK(run(&setup, policies[p], &r, &plan) == PZ_OK))
            continue;
        CHECK_EQ_I64(r.unlimited_ns, 150);
        CHECK_EQ_I64(r.replay_ns, replay_ns[p]);
        CHECK_EQ_I64(r.stall_memory_ns, copy_ns[p]);
        CHECK_EQ_I64(r.stall_prefetch_ns, copy_ns[p]);
        CHECK_EQ_I64(r.total_ns, 150 + replay_ns[p] + 2 * copy_ns[p]);
        CHECK_EQ_U64(r.peak_bytes, 400);
        CHECK_EQ_U64(r.kept, 3);
        CHECK_EQ_I64(pz_plan_action(plan, tensors[p]), actions[p]);
        pz_plan_free(plan);
    }
    pz_trace_free(trace);
}

/* The last operator touches four storages, and so does the first gradient. */
TEST(a_chain_in_less_memory)
{
    pz_trace *trace = NULL;
    pz_report r;
    pz_plan *plan = NULL;
    uint64_t least = 0;

    CHECK_EQ_I64(pz_trace_parse(chain, strlen(chain), &trace, NULL), PZ_OK);
    const pz_setup setup = {
        .size = sizeof setup, .trace = trace, .platform = &by_hand, .budget_bytes = 399};
    for (int p = 0; p < POLICIES; p++) {
        CHECK_EQ_I64(run(&setup, policies[p], &r, &plan), PZ_ERR_INFEASIBLE);
        CHECK_EQ_I64(pz_plan_least_budget(&setup, policies[p], &least, NULL), PZ_OK);
        CHECK_EQ_U64(least, 400);
    }
    pz_trace_free(trace);
}

/* Runs one of the chains above by DTR within 400 bytes. */
static void run_dtr(const char *text, pz_report *r)
{
    pz_trace *trace = NULL;
    pz_plan *plan = NULL;

    if (!CHECK(pz_trace_parse(text, strlen(text), &trace, NULL) == PZ_OK))
        return;
    const pz_setup setup = {
        .size = sizeof setup, .trace = trace, .platform = &by_hand, .budget_bytes = 400};
    CHECK_EQ_I64(run(&setup, "online-dtr", r, &plan), PZ_OK);
    pz_plan_free(plan);
    pz_trace_free(trace);
}

/* x is used last by gb, while a is dropped, whose replay reads it.  With a back nothing needs x any
 * more, so that 300 bytes are free for the operator after ga. */
TEST(an_input_goes_when_no_replay_needs_it)
{
    static const char more[] = CHAIN(
        "3", "0,2,4", "1,5",
        ",{\"name\":\"end\",\"phase\":\"backward\",\"view\":false,\"reads\":[6],\"writes\":[7],"
        "\"flops\":10,\"bytes\":0,\"float_bytes\":0}",
        ",{\"id\":7,\"bytes\":300,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":6,"
        "\"slot\":0}");
    pz_report r = {0};

    run_dtr(more, &r);
    CHECK_EQ_I64(r.replay_ns, 100);
    CHECK_EQ_U64(r.peak_bytes, 400);
}

/* gc reads a as well, 256 times, so that b goes for its output, and a for that of gb. */
TEST(what_an_operator_reads_stays)
{
#define FOUR(TEXT) TEXT TEXT TEXT TEXT
    static const char often[] = CHAIN(FOUR(FOUR(FOUR(FOUR("1,")))) "3", "2,4", "0,1,5", "", "");
    pz_report r = {0};

    run_dtr(often, &r);
    CHECK_EQ_I64(r.replay_ns, 10 + 100);
    CHECK_EQ_U64(r.peak_bytes, 400);
}

/* x alone is 100 bytes. */
TEST(no_room_for_the_inputs)
{
    pz_trace *trace = NULL;
    pz_report r;
    pz_plan *plan = NULL;
    pz_diag diag = {0};

    CHECK_EQ_I64(pz_trace_parse(chain, strlen(chain), &trace, NULL), PZ_OK);
    const pz_setup setup = {
        .size = sizeof setup, .trace = trace, .platform = &by_hand, .budget_bytes = 99};
    CHECK_EQ_I64(pz_plan_make(&setup, "online-dtr", &plan, &r, &diag), PZ_ERR_INFEASIBLE);
    CHECK_STR(diag.text, "the inputs alone take 100 bytes of a budget of 99; raise the budget");
    pz_trace_free(trace);
}

static void check_report(const pz_setup *setup, const char *policy, const pz_report *r, size_t n)
{
    CHECK_EQ_I64(r->total_ns, r->compute_ns + r->optimizer_ns + r->replay_ns + r->stall_memory_ns +
                                  r->stall_prefetch_ns + r->codec_ns);
    CHECK_EQ_I64(r->unlimited_ns, r->compute_ns + r->optimizer_ns);
    CHECK(r->peak_bytes <= setup->budget_bytes);
    CHECK_EQ_U64(r->kept + r->swapped + r->dropped, n);
    CHECK(r->d2h_wire_bytes <= r->swapped_bytes);
    if (strcmp(policy, "online-dtr") == 0)
        CHECK(r->swapped == 0 && r->d2h_busy_ns == 0 && r->h2d_busy_ns == 0);
}

static void check_budget(const pz_setup *setup, const char *policy, size_t n, size_t *evicting)
{
    pz_report r, again;
    pz_plan *plan = NULL, *same = NULL;

    if (run(setup, policy, &r, &plan) != PZ_OK)
        return;
    check_report(setup, policy, &r, n);
    *evicting += r.kept < n;
    CHECK_EQ_I64(run(setup, policy, &again, &same), PZ_OK);
    CHECK(again.total_ns == r.total_ns && again.peak_bytes == r.peak_bytes);
    pz_plan_free(plan);
    pz_plan_free(same);
}

TEST(any_trace)
{
    size_t evicting[POLICIES] = {0};

    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct rng rng = {seed};
        pz_trace_info info;
        pz_trace *trace = tracegen_make(&rng, 2 + (int)(seed % 25));
        if (!CHECK(trace != NULL))
            return;
        pz_trace_get_info(trace, &info);
        const pz_platform platform = tracegen_platform(&rng);
        double *ratios = tracegen_ratios(&rng, info.saved);
        const uint64_t peak = info.peak_bytes[platform.precision];
        for (int p = 0; p < POLICIES; p++) {
            pz_setup setup = {.size = sizeof setup,
                              .trace = trace,
                              .platform = &platform,
                              .predicted = p == 2 ? ratios : NULL,
                              .budget_bytes = peak};
            pz_report r;
            pz_plan *plan = NULL;
            TEST_CONTEXT("seed %" PRIu64 ", %s", seed, policies[p]);
            CHECK_EQ_I64(run(&setup, policies[p], &r, &plan), PZ_OK);
            CHECK(r.total_ns == r.unlimited_ns && r.peak_bytes == peak && r.kept == info.saved);
            pz_plan_free(plan);
            for (unsigned percent = 95; percent >= 45; percent -= 10) {
                setup.budget_bytes = peak * percent / 100;
                check_budget(&setup, policies[p], info.saved, &evicting[p]);
            }
        }
        free(ratios);
        pz_trace_free(trace);
    }
    for (int p = 0; p < POLICIES; p++)
        CHECK(evicting[p] > 300);
}

/* Real models: without a plan it costs about what DTR's heuristic with a plan costs. */
TEST(bundled_traces)
{
    static const char *const files[] = {PZ_DATA_DIR "/traces/resnet50.json",
                                        PZ_DATA_DIR "/traces/gpt2.json"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        pz_trace *trace = NULL;
        pz_platform platform;
        pz_report r, planned;
        pz_plan *plan = NULL;
        uint64_t least = 0;
        TEST_CONTEXT("%s", files[i]);
        CHECK_EQ_I64(pz_trace_read(files[i], &trace, NULL), PZ_OK);
        CHECK_EQ_I64(pz_platform_named("A", &platform), PZ_OK);
        pz_trace_info info;
        pz_trace_get_info(trace, &info);
        const pz_setup setup = {.size = sizeof setup,
                                .trace = trace,
                                .platform = &platform,
                                .replay = PZ_REPLAY_KEEP,
                                .budget_bytes = info.peak_bytes[PZ_FP32] / 2};
        CHECK_EQ_I64(run(&setup, "online-dtr", &r, &plan), PZ_OK);
        pz_plan_free(plan);
        CHECK_EQ_I64(run(&setup, "recomp", &planned, &plan), PZ_OK);
        pz_plan_free(plan);
        CHECK(r.overhead > 0.8 * planned.overhead && r.overhead < 1.25 * planned.overhead);
        CHECK_EQ_I64(pz_plan_least_budget(&setup, "online-dtr", &least, NULL), PZ_OK);
        CHECK(least > 0 && least < setup.budget_bytes);
        pz_trace_free(trace);
    }
}

TEST(names)
{
    pz_policy policy;

    for (int p = 0; p < POLICIES; p++) {
        CHECK(pz_policy_is_online(policies[p]));
        CHECK_EQ_I64(pz_policy_named(policies[p], &policy), PZ_OK);
        CHECK_STR(policy.name, policies[p]);
    }
    CHECK(!pz_policy_is_online("best") && !pz_policy_is_online("online"));
    CHECK_EQ_I64(pz_policy_named("online", &policy), PZ_ERR_ARGUMENT);
}
