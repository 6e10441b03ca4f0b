/* Planning: arguments, policies by name, stage 1 against a plain computation, eviction by hand. */
#include <math.h>
#include <stdlib.h>

#include "plan/evict.h"
#include "plan/planner.h"
#include "plan/swaps.h"
#include "support/test.h"
#include "tests/sim/scene.h"
#include "tests/sim/tracegen.h"

/* Arguments ------------------------------------------------------------------------------------ */

TEST(policies)
{
    static const char *const names[] = {"recomp", "swap",     "dte",    "dte+codec",
                                        "bw",     "bw+codec", "bw+zvc", "planezip"};
    pz_policy policy;

    CHECK(pz_policy_count() >= 8);
    CHECK_EQ_I64(pz_policy_at(pz_policy_count(), &policy), PZ_ERR_ARGUMENT);
    for (size_t i = 0; i < 8; i++) {
        CHECK_EQ_I64(pz_policy_named(names[i], &policy), PZ_OK);
        CHECK_STR(policy.name, names[i]);
        CHECK(policy.summary[0] != '\0');
    }
    CHECK_STR(policy.codec, "planezip");
    CHECK_EQ_I64(pz_policy_named("PLANEZIP", &policy), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_policy_named("", &policy), PZ_ERR_ARGUMENT);
}

static pz_status make(const pz_setup *setup, const char *policy, pz_diag *diag)
{
    pz_plan *plan = NULL;
    pz_report report;
    *diag = (pz_diag){0};
    const pz_status status = pz_plan_make(setup, policy, &plan, &report, diag);
    pz_plan_free(plan);
    return status;
}

TEST(setups)
{
    struct rng rng = {1};
    pz_platform platform, slow;
    pz_diag diag;
    pz_trace *trace = tracegen_make(&rng, 10);
    double ratios[TRACEGEN_STORAGES];

    CHECK_EQ_I64(pz_platform_named("A", &platform), PZ_OK);
    for (int i = 0; i < TRACEGEN_STORAGES; i++)
        ratios[i] = 1.5;
    const pz_setup good = {.size = sizeof good,
                           .trace = trace,
                           .platform = &platform,
                           .predicted = ratios,
                           .budget_bytes = 1 << 20};
    pz_setup setup = good;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_OK);
    CHECK_EQ_I64(make(&setup, "nonsense", &diag), PZ_ERR_ARGUMENT);
    CHECK(strstr(diag.text, "nonsense") != NULL);
    setup.size = 0;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_ERR_ARGUMENT);
    setup = good;
    setup.trace = NULL;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_ERR_ARGUMENT);
    setup = good;
    setup.platform = NULL;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_ERR_ARGUMENT);
    setup = good;
    setup.budget_bytes = UINT64_C(1) << 63;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_ERR_ARGUMENT);
    setup.budget_bytes = INT64_MAX;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_OK);
    setup.budget_bytes = 0;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_ERR_INFEASIBLE);
    CHECK(strstr(diag.text, "planezip") != NULL);
    static const double bad[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        ratios[2] = bad[i];
        setup = good;
        CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_ERR_ARGUMENT);
        setup.predicted = NULL;
        setup.actual = ratios;
        CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_ERR_ARGUMENT);
    }
    ratios[2] = 1e-9; /* below 1: the transfer goes uncompressed */
    setup = good;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_OK);
    slow = platform;
    slow.launch_ns = -1;
    setup.platform = &slow;
    CHECK_EQ_I64(make(&setup, "planezip", &diag), PZ_ERR_MEANING);
    pz_trace_free(trace);
}

/* 2^60 operations on a platform of 1000 a second: times would overflow. */
TEST(times_that_cannot_be_counted)
{
    static const char text[] =
        "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"m\",\"batch\":1,\"optimizer\":"
        "\"sgd\",\"parameters\":0,\"ops\":[{\"name\":\"f\",\"phase\":\"forward\",\"view\":false,"
        "\"reads\":[],\"writes\":[],\"flops\":1152921504606846976,\"bytes\":0,\"float_bytes\":0}],"
        "\"storages\":[]}";
    pz_trace *trace = NULL;
    pz_platform platform;
    pz_times times;
    pz_diag diag;

    CHECK_EQ_I64(pz_trace_parse(text, strlen(text), &trace, NULL), PZ_OK);
    CHECK_EQ_I64(pz_platform_named("A", &platform), PZ_OK);
    const pz_setup setup = {
        .size = sizeof setup, .trace = trace, .platform = &platform, .budget_bytes = 1};
    CHECK_EQ_I64(make(&setup, "bw", &diag), PZ_OK);
    platform.math_flops = 1e6;
    platform.math_fraction = 1e-3;
    CHECK_EQ_I64(pz_platform_check(&platform, NULL), PZ_OK);
    CHECK_EQ_I64(make(&setup, "bw", &diag), PZ_ERR_MEANING);
    CHECK_EQ_I64(pz_trace_times(trace, &platform, NULL, &times, NULL), PZ_ERR_MEANING);
    pz_trace_free(trace);
}

TEST(plans_say_what_they_are)
{
    struct rng rng = {1};
    pz_platform platform;
    pz_trace *trace = tracegen_make(&rng, 20);
    pz_trace_info about;
    pz_plan_info info;
    pz_plan *plan = NULL;
    pz_report report;

    CHECK_EQ_I64(pz_platform_named("B", &platform), PZ_OK);
    pz_trace_get_info(trace, &about);
    double *ratios = tracegen_ratios(&rng, about.saved);
    pz_setup setup = {.size = sizeof setup,
                      .trace = trace,
                      .platform = &platform,
                      .predicted = ratios,
                      .budget_bytes = about.peak_bytes[PZ_BF16] * 9 / 10};
    CHECK_EQ_I64(pz_plan_make(&setup, "bw+codec", &plan, &report, NULL), PZ_OK);
    pz_plan_get_info(plan, &info);
    CHECK_STR(info.policy, "bw+codec");
    CHECK_STR(info.codec, "planezip");
    CHECK_STR(info.platform, "B");
    CHECK(info.candidate[0] != '\0');
    CHECK_EQ_U64(info.budget_bytes, setup.budget_bytes);
    CHECK_EQ_U64(info.digest, about.digest);
    CHECK(info.predicted_overhead == report.overhead);
    CHECK_EQ_I64(pz_plan_replay(plan), PZ_REPLAY_FREE);
    pz_plan_free(plan);
    /* Nothing to evict: all candidates are the same, and the first one is named. */
    setup.budget_bytes = about.peak_bytes[PZ_BF16];
    CHECK_EQ_I64(pz_plan_make(&setup, "planezip", &plan, &report, NULL), PZ_OK);
    pz_plan_get_info(plan, &info);
    CHECK_STR(info.candidate, "Cr/x, eta 1");
    CHECK_EQ_I64(report.overhead > 0, 0);
    pz_plan_free(plan);
    free(ratios);
    pz_trace_free(trace);
}

/* Stage 1 ---------------------------------------------------------------------------------------
 */

struct lab {
    struct rng rng;
    pz_trace *trace;
    pz_platform platform;
    double *ratios;
    pz_setup setup;
    pzi_work work;
    pzi_planner planner;
    pzi_copies copies;
};

static bool lab_new(struct lab *lab, uint64_t seed, int forward_ops)
{
    *lab = (struct lab){.rng = {seed}};
    TEST_CONTEXT("seed %" PRIu64, seed);
    lab->trace = tracegen_make(&lab->rng, forward_ops);
    if (!CHECK(lab->trace != NULL))
        return false;
    lab->platform = tracegen_platform(&lab->rng);
    lab->ratios = tracegen_ratios(&lab->rng, lab->trace->n_saved);
    lab->setup = (pz_setup){.size = sizeof lab->setup,
                            .trace = lab->trace,
                            .platform = &lab->platform,
                            .predicted = lab->ratios};
    return CHECK_EQ_I64(pzi_work_new(lab->trace, &lab->platform, &lab->work, NULL), PZ_OK) &&
           CHECK_EQ_I64(pzi_planner_new(&lab->work, &lab->planner), PZ_OK) &&
           CHECK_EQ_I64(pzi_copies_new(&lab->work, lab->ratios, &lab->copies), PZ_OK);
}

static void lab_free(struct lab *lab)
{
    pzi_copies_free(&lab->copies);
    pzi_planner_free(&lab->planner);
    pzi_work_free(&lab->work);
    free(lab->ratios);
    pz_trace_free(lab->trace);
}

/* End of the D2H queue if exactly the swaps of action run, in order of ready time. */
static int64_t d2h_end(const struct lab *lab, const pz_action *action)
{
    int64_t end = 0;

    for (size_t k = 0; k < lab->trace->n_saved; k++) {
        const int32_t i = lab->work.by_ready[k];
        if (action[i] != PZ_SWAP)
            continue;
        const int64_t ready = pzi_ready_ns(&lab->work, (size_t)i);
        end = (end > ready ? end : ready) + lab->copies.out_ns[i];
    }
    return end;
}

/* True if the H2D queue, begun with the backward pass, brings everything in time. */
static bool h2d_in_time(const struct lab *lab, const pz_action *action)
{
    int64_t end = lab->work.forward_ns;

    for (size_t k = 0; k < lab->trace->n_saved; k++) {
        const int32_t i = lab->work.by_use[k];
        if (action[i] != PZ_SWAP)
            continue;
        end += lab->copies.in_ns[i];
        if (end > lab->work.start_ns[lab->trace->saved[i].first_backward_use])
            return false;
    }
    return true;
}

static double rank_of(const struct lab *lab, pzi_ranking ranking, size_t i)
{
    const double bytes = (double)pzi_saved_bytes(&lab->work, i);
    const double x = (double)(lab->copies.out_ns[i] > lab->copies.in_ns[i] ? lab->copies.out_ns[i]
                                                                           : lab->copies.in_ns[i]);
    const pzi_chain *chain = &lab->planner.empty_chains[i];
    const uint64_t size = pzi_saved_bytes(&lab->work, i);
    const double avoided = chain->possible
                               ? (double)chain->ns
                               : (double)pz_platform_transfer_ns(&lab->platform, size, 1.0, 0);

    return ranking == PZI_RECOMPUTE_PER_COPY ? avoided / x
           : ranking == PZI_MEMORY_PER_COPY  ? bytes / x
                                             : avoided / bytes;
}

/* The best tensor that has not been looked at; ties to the lower index. */
static int32_t next_candidate(const struct lab *lab, pzi_ranking ranking, bool *looked_at)
{
    int32_t best = -1;

    for (size_t i = 0; i < lab->trace->n_saved; i++)
        if (!looked_at[i] && pzi_saved_bytes(&lab->work, i) > 0 &&
            lab->copies.out_ns[i] + lab->copies.in_ns[i] > 0 &&
            (best < 0 || rank_of(lab, ranking, i) > rank_of(lab, ranking, (size_t)best)))
            best = (int32_t)i;
    if (best >= 0)
        looked_at[best] = true;
    return best;
}

/* Memory at every operator under the swaps alone: no replays, prefetch when needed. */
static int64_t peak_with_swaps(const struct lab *lab, const pz_action *action)
{
    const pz_trace *trace = lab->trace;
    int64_t peak = 0;

    for (int32_t op = 0; op < (int32_t)trace->n_ops; op++) {
        int64_t live = 0;
        for (size_t s = 0; s < trace->n_storages; s++) {
            const pzi_storage *storage = &trace->storages[s];
            const pzi_saved *saved = storage->saved < 0 ? NULL : &trace->saved[storage->saved];
            const bool away = saved && action[storage->saved] == PZ_SWAP &&
                              op > saved->last_forward_use && op < saved->first_backward_use;
            if (!away && op >= storage->op && op <= storage->last_use)
                live += (int64_t)lab->work.bytes[s];
        }
        peak = live > peak ? live : peak;
    }
    return peak;
}

static bool fits_windows(const struct lab *lab, int32_t i)
{
    const pzi_saved *saved = &lab->trace->saved[i];

    return lab->copies.out_ns[i] <= lab->work.forward_ns - pzi_ready_ns(&lab->work, (size_t)i) &&
           lab->copies.in_ns[i] <=
               lab->work.start_ns[saved->first_backward_use] - lab->work.forward_ns;
}

/* Lines 1 to 7 of Algorithm 1, queues simulated for every candidate. */
static void plain_stage_1(const struct lab *lab, pzi_ranking ranking, double eta, uint64_t limit,
                          pz_action *action)
{
    const int64_t shorter =
        lab->work.forward_ns < lab->work.backward_ns ? lab->work.forward_ns : lab->work.backward_ns;
    bool *looked_at = calloc(lab->trace->n_saved + 1, sizeof *looked_at);
    int64_t used = 0;

    while (peak_with_swaps(lab, action) > (int64_t)limit) {
        const int32_t i = next_candidate(lab, ranking, looked_at);
        if (i < 0)
            break;
        const int64_t x = lab->copies.out_ns[i] > lab->copies.in_ns[i] ? lab->copies.out_ns[i]
                                                                       : lab->copies.in_ns[i];
        if (used + x > (int64_t)(eta * (double)shorter) || !fits_windows(lab, i))
            continue;
        action[i] = PZ_SWAP;
        if (d2h_end(lab, action) <= lab->work.forward_ns && h2d_in_time(lab, action))
            used += x;
        else
            action[i] = PZ_KEEP;
    }
    free(looked_at);
}

TEST(stage_1_against_plain_queues)
{
    static const double etas[] = {1, 0.75, 0.5, 0.25};
    unsigned swaps = 0;

    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct lab lab;
        if (!lab_new(&lab, seed, 3 + (int)(seed % 30)))
            return;
        const pzi_ranking ranking = (pzi_ranking)(seed % 3);
        const double eta = etas[rng_below(&lab.rng, 4)];
        const uint64_t limit = (uint64_t)pzi_range_max_all(&lab.planner.empty_profile) *
                               rng_below(&lab.rng, 100) / 100;
        pz_action *action = calloc(lab.trace->n_saved + 1, sizeof *action);
        plain_stage_1(&lab, ranking, eta, limit, action);
        pzi_draft_start(&lab.planner, limit);
        pzi_admit_swaps(&lab.planner, &lab.copies, ranking, eta);
        for (size_t i = 0; i < lab.trace->n_saved; i++) {
            CHECK_EQ_I64(lab.planner.action[i], action[i]);
            swaps += action[i] == PZ_SWAP;
        }
        free(action);
        lab_free(&lab);
    }
    CHECK(swaps > 500);
}

/* The queue out may end exactly with the forward pass, and the budget may be used up exactly: 10
 * bytes take 200, so x (from 0) and b (final at 200) fill the 400 of the pass.  a would take 2000.
 */
TEST(stage_1_up_to_the_deadline)
{
    struct scene scene;
    pzi_work work;
    pzi_planner planner;
    pzi_copies copies;

    if (!CHECK(scene_read(&scene, PZ_SOURCE_DIR "/tests/sim/schedules", "keep_all.txt")))
        return;
    scene.platform.d2h_bps = 0.05e9;
    CHECK_EQ_I64(pzi_work_new(scene.trace, &scene.platform, &work, NULL), PZ_OK);
    CHECK_EQ_I64(pzi_planner_new(&work, &planner), PZ_OK);
    CHECK_EQ_I64(pzi_copies_new(&work, NULL, &copies), PZ_OK);
    CHECK_EQ_I64(work.forward_ns, 400);
    pzi_draft_start(&planner, 0);
    pzi_admit_swaps(&planner, &copies, PZI_MEMORY_PER_COPY, 1);
    CHECK_EQ_I64(planner.action[scene_saved(&scene, "x")], PZ_SWAP);
    CHECK_EQ_I64(planner.action[scene_saved(&scene, "b")], PZ_SWAP);
    CHECK_EQ_I64(planner.action[scene_saved(&scene, "a")], PZ_KEEP);
    pzi_draft_start(&planner, 0);
    pzi_admit_swaps(&planner, &copies, PZI_MEMORY_PER_COPY, 0.75);
    CHECK_EQ_I64(planner.action[scene_saved(&scene, "b")], PZ_KEEP);
    pzi_copies_free(&copies);
    pzi_planner_free(&planner);
    pzi_work_free(&work);
    scene_free(&scene);
}

/* Prefetch points: earliest operator from which the profile, with all tensors that are needed
 * earlier already placed, stays within the limit. */
static bool fits_from(const int64_t *profile, int32_t point, int32_t need, int64_t bytes,
                      int64_t limit)
{
    for (size_t slot = pzi_slot_before(point); slot < pzi_slot_before(need); slot++)
        if (profile[slot] + bytes > limit)
            return false;
    return true;
}

static void place_one(const struct lab *lab, const pz_plan *plan, int32_t i, int64_t *profile)
{
    const int64_t bytes = (int64_t)pzi_saved_bytes(&lab->work, (size_t)i);
    const int32_t need = lab->planner.need[i];
    int32_t point = need;

    while (point > lab->trace->saved[i].last_forward_use + 1 &&
           fits_from(profile, point - 1, need, bytes, (int64_t)lab->planner.limit_bytes))
        point--;
    CHECK_EQ_I64(pz_plan_prefetch(plan, (size_t)i), point);
    for (size_t slot = pzi_slot_before(point); slot < pzi_slot_before(need); slot++)
        profile[slot] += bytes;
}

TEST(prefetch_points)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct lab lab;
        pz_plan *plan;
        if (!lab_new(&lab, seed, 3 + (int)(seed % 30)))
            return;
        const size_t slots = 2 * lab.trace->n_ops;
        int64_t *profile = calloc(slots, sizeof *profile);
        CHECK_EQ_I64(pz_plan_new(lab.trace, &plan), PZ_OK);
        pzi_draft_start(&lab.planner,
                        (uint64_t)pzi_range_max_all(&lab.planner.empty_profile) * 3 / 4);
        pzi_admit_swaps(&lab.planner, &lab.copies, PZI_MEMORY_PER_COPY, 1);
        if (pzi_evict(&lab.planner, seed % 2 ? PZI_SWAP_LARGEST : PZI_COST_MODEL, &lab.copies)) {
            for (size_t slot = 0; slot < slots; slot++)
                profile[slot] = pzi_range_max_get(&lab.planner.profile, slot, slot);
            pzi_draft_finish(&lab.planner, plan);
            /* In order of need, ties by index. */
            for (int32_t op = 0; op < (int32_t)lab.trace->n_ops; op++)
                for (size_t i = 0; i < lab.trace->n_saved; i++)
                    if (pz_plan_action(plan, i) == PZ_SWAP && lab.planner.need[i] == op)
                        place_one(&lab, plan, (int32_t)i, profile);
            for (size_t slot = 0; slot < slots; slot++)
                CHECK(profile[slot] <= (int64_t)lab.planner.limit_bytes);
        }
        free(profile);
        pz_plan_free(plan);
        lab_free(&lab);
    }
}

/* Eviction ---------------------------------------------------------------------------------------
 */

/* Score of a kept tensor as the rules define it; INFINITY if it cannot be evicted at the slot. */
static double plain_score(struct lab *lab, pzi_rule rule, size_t slot, int32_t i)
{
    pzi_planner *p = &lab->planner;
    const pzi_saved *saved = &lab->trace->saved[i];
    const double bytes = (double)pzi_saved_bytes(&lab->work, (size_t)i);

    if (p->action[i] != PZ_KEEP || bytes == 0 ||
        (int64_t)slot < 2 * ((int64_t)saved->last_forward_use + 1) ||
        slot >= 2 * (size_t)p->need[i])
        return INFINITY;
    const double idle =
        (double)(lab->work.start_ns[p->need[i]] - lab->work.start_ns[saved->last_forward_use + 1]) /
        1e9;
    if (idle <= 0)
        return INFINITY;
    if (rule == PZI_SWAP_LARGEST)
        return -bytes * idle;
    const pzi_chain *chain = pzi_draft_chain(p, i);
    double cost = chain->possible ? (double)chain->ns * (1.0 + p->readers[i]) : INFINITY;
    if (rule == PZI_COST_MODEL && (double)lab->copies.out_ns[i] < cost)
        cost = (double)lab->copies.out_ns[i];
    return cost / (bytes * idle);
}

/* The whole loop, every chain computed afresh; drops that lift a slot above the limit are refused
 * by pzi_draft_drop itself.  Returns false if a step leads nowhere. */
static bool plain_evict(struct lab *lab, pzi_rule rule)
{
    pzi_planner *p = &lab->planner;
    bool *refused = calloc(lab->trace->n_saved + 1, sizeof *refused);
    bool fits = true;

    while (fits && pzi_draft_peak(p) > p->limit_bytes) {
        const size_t slot = pzi_range_max_where(&p->profile);
        int32_t best = -1;
        double best_score = INFINITY;
        for (size_t i = 0; i < lab->trace->n_saved; i++) {
            const double score = refused[i] ? INFINITY : plain_score(lab, rule, slot, (int32_t)i);
            if (score < best_score) {
                best = (int32_t)i;
                best_score = score;
            }
        }
        fits = best >= 0;
        if (!fits)
            break;
        const pzi_chain *chain = &p->chains[best];
        const bool swap = rule == PZI_SWAP_LARGEST ||
                          (rule == PZI_COST_MODEL &&
                           (!chain->possible || (double)lab->copies.out_ns[best] <
                                                    (double)chain->ns * (1.0 + p->readers[best])));
        if (swap)
            pzi_draft_swap(p, best);
        if (swap || pzi_draft_drop(p, best))
            memset(refused, 0, lab->trace->n_saved * sizeof *refused);
        else
            refused[best] = true;
    }
    free(refused);
    return fits;
}

/* The trees and lists of the planner choose what a loop over all tensors chooses.  Costs are exact
 * there and not always here (a copy of a clone may become unnecessary), so traces with clones only
 * have to end within the limit. */
static bool has_clones(const pz_trace *trace)
{
    for (size_t i = 0; i < trace->n_ops; i++)
        if (strncmp(trace->ops[i].name, "aten.clone", strlen("aten.clone")) == 0)
            return true;
    return false;
}

TEST(eviction_against_a_plain_loop)
{
    unsigned evicted = 0;

    for (uint64_t seed = 1; seed <= 900; seed++) {
        struct lab lab;
        if (!lab_new(&lab, seed, 3 + (int)(seed % 25)))
            return;
        const pzi_rule rule = (pzi_rule)(seed % 3);
        const uint64_t limit = (uint64_t)pzi_range_max_all(&lab.planner.empty_profile) *
                               (50 + rng_below(&lab.rng, 50)) / 100;
        const size_t n = lab.trace->n_saved;
        pz_action *action = calloc(n + 1, sizeof *action);
        pzi_draft_start(&lab.planner, limit);
        const bool plain = plain_evict(&lab, rule);
        for (size_t i = 0; i < n; i++)
            action[i] = lab.planner.action[i];
        pzi_draft_start(&lab.planner, limit);
        const bool fits = pzi_evict(&lab.planner, rule, &lab.copies);
        CHECK(!fits || pzi_draft_peak(&lab.planner) <= limit);
        if (!has_clones(lab.trace)) {
            CHECK_EQ_I64(fits, plain);
            for (size_t i = 0; i < n; i++) {
                CHECK_EQ_I64(lab.planner.action[i], action[i]);
                evicted += action[i] != PZ_KEEP;
            }
        }
        free(action);
        lab_free(&lab);
    }
    CHECK(evicted > 300);
}

static int64_t *profile_of(const pzi_planner *p, size_t slots)
{
    int64_t *profile = calloc(slots, sizeof *profile);

    for (size_t slot = 0; slot < slots; slot++)
        profile[slot] = pzi_range_max_get(&p->profile, slot, slot);
    return profile;
}

/* Slots that are above the limit and were not. */
static size_t count_lifted(const int64_t *before, const int64_t *after, size_t slots, int64_t limit)
{
    size_t n = 0;

    for (size_t slot = 0; slot < slots; slot++)
        n += after[slot] > limit && before[slot] <= limit;
    return n;
}

/* Drops one tensor with a random limit; true if it was accepted. */
static bool check_drop(struct lab *lab, int32_t saved)
{
    pzi_planner *p = &lab->planner;
    const size_t slots = 2 * lab->trace->n_ops;
    const size_t replay = pzi_slot_before(lab->trace->saved[saved].first_backward_use);
    int64_t *before = profile_of(p, slots), *after, *anyway;
    const int64_t limit = before[rng_below(&lab->rng, slots)] + (int64_t)rng_below(&lab->rng, 100);

    p->limit_bytes = (uint64_t)limit;
    const bool accepted = pzi_draft_drop(p, saved);
    after = profile_of(p, slots);
    if (accepted) {
        CHECK(after[replay] <= limit || before[replay] > limit);
    } else {
        CHECK_MEM(after, before, slots * sizeof *after);
        p->limit_bytes = UINT64_C(1) << 60;
        CHECK(pzi_draft_drop(p, saved));
        anyway = profile_of(p, slots);
        CHECK(count_lifted(before, anyway, slots, limit) > 0);
        free(anyway);
    }
    free(before);
    free(after);
    return accepted;
}

/* A drop is refused if, and for no other reason, a slot goes above the limit that was not. */
TEST(drops_respect_the_limit)
{
    unsigned accepted = 0, tried = 0;

    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct lab lab;
        if (!lab_new(&lab, seed, 3 + (int)(seed % 25)))
            return;
        pzi_draft_start(&lab.planner, 0);
        for (int k = 0; k < 8 && lab.trace->n_saved > 0; k++) {
            const int32_t saved = (int32_t)rng_below(&lab.rng, lab.trace->n_saved);
            if (lab.planner.action[saved] != PZ_KEEP ||
                !pzi_draft_chain(&lab.planner, saved)->possible)
                continue;
            accepted += check_drop(&lab, saved);
            tried++;
        }
        lab_free(&lab);
    }
    CHECK(accepted > 300 && tried - accepted > 300);
}

/* An input that only the backward pass reads is idle from the very start, and can leave. */
TEST(input_unused_in_the_forward_pass)
{
    struct scene scene;
    pz_plan *plan = NULL;
    pz_report report;

    if (!CHECK(scene_read(&scene, PZ_SOURCE_DIR "/tests/sim/schedules",
                          "input_unused_in_forward.txt")))
        return;
    scene.setup.budget_bytes = 210;
    CHECK_EQ_I64(pz_plan_make(&scene.setup, "swap", &plan, &report, NULL), PZ_OK);
    CHECK_EQ_I64(pz_plan_action(plan, (size_t)scene_saved(&scene, "l")), PZ_SWAP);
    CHECK_EQ_U64(report.swapped, 1);
    pz_plan_free(plan);
    scene_free(&scene);
}
