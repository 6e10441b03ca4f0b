/* Memory runs out at every single allocation of reading, planning, simulating and writing: the
 * answer is PZ_ERR_MEMORY, never a crash, a leak or half a result.  The program is linked with
 * --wrap, so that the library's allocations come here; jansson is told where to ask. */
#include <jansson.h>
#include <planezip/plan.h>
#include <stdlib.h>

#include "support/test.h"
#include "tests/sim/tracegen.h"

/* Allocations that still succeed; below 0: all do.  What fails after them: one, or all. */
static long left = -1;
static bool all_later;
static long failures, json_failures;
/* The parser of jansson writes past its buffer if that cannot grow and a later allocation succeeds,
 * so a single failure is not for it. */
static bool spare_json;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool fails(void)
{
    if (left < 0)
        return false;
    if (left > 0) {
        left--;
        return false;
    }
    left = all_later ? 0 : -1;
    failures++;
    return true;
}

static void *json_malloc(size_t bytes)
{
    const long before = failures;
    void *block = spare_json ? __real_malloc(bytes) : __wrap_malloc(bytes);

    json_failures += failures - before;
    return block;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

static struct tracegen text; /* of the trace at hand */
static pz_platform platform;
static int evicting; /* states whose budget asks for evictions */

/* One step: 0 is the status of what it does with what is there. */
struct state {
    pz_trace *trace;
    pz_plan *plan;
    pz_timeline *timeline;
    pz_predictor *predictor;
    char *json;
    double *ratios;
    pz_setup setup;
};

typedef pz_status step(struct state *s);

static pz_status parse_trace(struct state *s)
{
    return pz_trace_parse(text.text, text.bytes, &s->trace, NULL);
}

static pz_status make_plan(struct state *s)
{
    pz_report report;
    return pz_plan_make(&s->setup, "planezip", &s->plan, &report, NULL);
}

static pz_status make_cost_plan(struct state *s)
{
    pz_report report;
    return pz_plan_make(&s->setup, "dte", &s->plan, &report, NULL);
}

/* A search over more than the portfolio, which also compresses tensors in device memory. */
static pz_status make_best_plan(struct state *s)
{
    pz_setup setup = s->setup;
    pz_report report;

    setup.replay = PZ_REPLAY_HOLD;
    setup.search_evaluations = 60;
    setup.compress = PZ_COMPRESS_SPARE;
    return pz_plan_make(&setup, "best", &s->plan, &report, NULL);
}

static pz_status run_online(struct state *s)
{
    pz_report report;
    return pz_plan_make(&s->setup, "online-dte", &s->plan, &report, NULL);
}

static pz_status bound(struct state *s)
{
    pz_setup setup = s->setup;
    pz_bound out;

    setup.replay = PZ_REPLAY_HOLD;
    return pz_plan_bound_available() ? pz_plan_bound(&setup, &out, NULL) : PZ_OK;
}

static pz_status simulate(struct state *s)
{
    pz_report report;
    return pz_simulate(&s->setup, s->plan, &report, &s->timeline, NULL);
}

static pz_status blocks(struct state *s)
{
    pz_fragmentation out;
    return pz_simulate_allocator(&s->setup, s->plan, INT64_MAX, &out, NULL);
}

static pz_status scale(struct state *s)
{
    pz_trace *scaled;
    const pz_status status = pz_trace_scale(s->trace, NULL, 3, &scaled, NULL);

    if (status == PZ_OK)
        pz_trace_free(scaled);
    return status;
}

static pz_status least_budget(struct state *s)
{
    uint64_t budget;
    return pz_plan_least_budget(&s->setup, "planezip", &budget, NULL);
}

static pz_status costs(struct state *s)
{
    int64_t swap_ns[TRACEGEN_STORAGES], recompute_ns[TRACEGEN_STORAGES];
    return pz_trace_costs(s->trace, &platform, swap_ns, recompute_ns, NULL);
}

static pz_status times(struct state *s)
{
    pz_times out;
    return pz_trace_times(s->trace, &platform, s->ratios, &out, NULL);
}

static pz_status write_plan(struct state *s)
{
    return pz_plan_json(s->trace, s->plan, &s->json);
}

static pz_status read_plan(struct state *s)
{
    return pz_plan_parse(s->trace, s->json, strlen(s->json), &s->plan, NULL);
}

static pz_status write_timeline(struct state *s)
{
    return pz_timeline_json(s->timeline, &s->json);
}

static pz_status write_platform(struct state *s)
{
    return pz_platform_json(&platform, &s->json);
}

static pz_status read_platform(struct state *s)
{
    pz_platform out;
    return pz_platform_parse(s->json, strlen(s->json), &out, NULL);
}

static pz_status update_predictor(struct state *s)
{
    pz_status status = pz_predictor_new("m", &s->predictor);
    for (int i = 0; status == PZ_OK && i < 70; i++)
        status = pz_predictor_update(s->predictor, 70 - i, i % 3, i % 2 ? "planezip" : "zvc",
                                     PZ_BF16, 100, 50, 1);
    return status;
}

static pz_status write_predictor(struct state *s)
{
    return pz_predictor_json(s->predictor, &s->json);
}

static pz_status read_predictor(struct state *s)
{
    return pz_predictor_parse(s->json, strlen(s->json), &s->predictor, NULL);
}

static pz_status fill_by_operator(struct state *s)
{
    return pz_predictor_fill(s->predictor, s->trace, "zvc", PZ_BF16, PZ_BY_OPERATOR, s->ratios);
}

/* What a step is to make must not be there before. */
static void drop_result(struct state *s, step *what)
{
    if (what == parse_trace) {
        pz_trace_free(s->trace);
        s->trace = NULL;
    }
    if (what == make_plan || what == make_cost_plan || what == make_best_plan ||
        what == run_online || what == read_plan) {
        pz_plan_free(s->plan);
        s->plan = NULL;
    }
    if (what == simulate) {
        pz_timeline_free(s->timeline);
        s->timeline = NULL;
    }
    if (what == update_predictor || what == read_predictor) {
        pz_predictor_free(s->predictor);
        s->predictor = NULL;
    }
    if (what == write_plan || what == write_timeline || what == write_platform ||
        what == write_predictor) {
        pz_text_free(s->json);
        s->json = NULL;
    }
}

/* jansson takes a failure inside a token for a wrong token. */
static bool tells_of_memory(pz_status status)
{
    return status == PZ_ERR_MEMORY || (json_failures > 0 && status == PZ_ERR_SYNTAX);
}

/* Fails the first allocation of the step, then the second ..., until it succeeds untouched. */
static void fail_each_time(struct state *s, step *what, const char *name)
{
    for (long n = 0; n < 100000; n++) {
        drop_result(s, what);
        failures = json_failures = 0;
        left = n;
        const pz_status status = what(s);
        left = -1;
        TEST_CONTEXT("%s, allocation %ld, %s", name, n, all_later ? "no more" : "once");
        if (failures == 0) {
            CHECK_EQ_I64(status, PZ_OK);
            return;
        }
        if (!CHECK(tells_of_memory(status)))
            CHECK_STR(pz_status_name(status), "PZ_ERR_MEMORY");
        if (status == PZ_OK)
            drop_result(s, what);
    }
}

static bool parses(step *what)
{
    return what == parse_trace || what == read_plan || what == read_platform ||
           what == read_predictor;
}

static void fail_each(struct state *s, step *what, const char *name)
{
    all_later = false;
    spare_json = parses(what);
    fail_each_time(s, what, name);
    spare_json = false;
    all_later = true;
    fail_each_time(s, what, name);
}

static void start(struct state *s, uint64_t seed, int forward_ops)
{
    struct rng rng = {seed};
    pz_trace_info info;

    json_set_alloc_funcs(json_malloc, free);
    tracegen_text(&text, &rng, forward_ops);
    *s = (struct state){.setup = {.size = sizeof s->setup, .platform = &platform}};
    CHECK_EQ_I64(parse_trace(s), PZ_OK);
    platform = tracegen_platform(&rng);
    pz_trace_get_info(s->trace, &info);
    s->ratios = tracegen_ratios(&rng, info.saved);
    s->setup.trace = s->trace;
    s->setup.predicted = s->ratios;
    CHECK_EQ_I64(pz_plan_least_budget(&s->setup, "dte", &s->setup.budget_bytes, NULL), PZ_OK);
    evicting += s->setup.budget_bytes < info.peak_bytes[platform.precision];
}

static void finish(struct state *s)
{
    pz_trace_free(s->trace);
    pz_plan_free(s->plan);
    pz_timeline_free(s->timeline);
    pz_predictor_free(s->predictor);
    pz_text_free(s->json);
    free(s->ratios);
    json_set_alloc_funcs(malloc, free);
}

TEST(reading_a_trace)
{
    struct state s;

    start(&s, 3, 6);
    fail_each(&s, parse_trace, "parse");
    finish(&s);
}

TEST(planning_and_simulating)
{
    evicting = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct state s;
        start(&s, seed, 12);
        const uint64_t budget = s.setup.budget_bytes;
        CHECK_EQ_I64(pz_plan_least_budget(&s.setup, "online-dte", &s.setup.budget_bytes, NULL),
                     PZ_OK);
        fail_each(&s, run_online, "online");
        s.setup.budget_bytes = budget;
        fail_each(&s, make_cost_plan, "dte");
        fail_each(&s, make_plan, "planezip");
        fail_each(&s, simulate, "simulate");
        fail_each(&s, blocks, "blocks");
        fail_each(&s, scale, "scale");
        fail_each(&s, bound, "bound");
        fail_each(&s, least_budget, "least budget");
        fail_each(&s, costs, "costs");
        fail_each(&s, times, "times");
        finish(&s);
    }
    CHECK(evicting >= 2);
}

TEST(searching)
{
    struct state s;

    start(&s, 2, 6);
    CHECK_EQ_I64(pz_platform_named("A", &platform), PZ_OK);
    CHECK_EQ_I64(pz_plan_least_budget(&s.setup, "dte", &s.setup.budget_bytes, NULL), PZ_OK);
    fail_each(&s, make_best_plan, "best");
    finish(&s);
}

TEST(writing_and_reading)
{
    struct state s;

    start(&s, 1, 8);
    CHECK_EQ_I64(make_plan(&s), PZ_OK);
    CHECK_EQ_I64(simulate(&s), PZ_OK);
    fail_each(&s, write_timeline, "timeline");
    fail_each(&s, write_plan, "plan");
    fail_each(&s, read_plan, "plan, reading");
    fail_each(&s, write_platform, "platform");
    fail_each(&s, read_platform, "platform, reading");
    fail_each(&s, update_predictor, "update");
    fail_each(&s, write_predictor, "ratios");
    fail_each(&s, read_predictor, "ratios, reading");
    fail_each(&s, fill_by_operator, "fill");
    finish(&s);
}
