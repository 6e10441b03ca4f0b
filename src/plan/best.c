/* Policy "best".  See best.h. */
#include "plan/best.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/search.h"

/* An evaluation takes the longer the more operators there are, and from thousands of saved tensors
 * on with these, too, as each changes the profile of a pass: this makes it about a second, and some
 * for very long traces. */
#define DEFAULT_OPERATORS UINT64_C(150000000)
#define FEW_SAVED 1000
#define DEFAULT_MOST UINT64_C(200000)
/* Where counting the plans of a trace ends. */
#define MAX_PLANS UINT64_C(1000000)

/* What a start is worth, and where it came from. */
struct starts {
    pzi_planning *planning;
    pzi_found found;
    const pzi_candidate *candidate; /* NULL: none fits */
    bool raw, plain;
    bool any; /* the first that fits is enough */
};

/* Evaluates the planner's draft in one mode. */
static bool take_if_better(struct starts *s, const pzi_candidate *candidate, bool raw,
                           pz_replay mode)
{
    pzi_eval *eval = &s->planning->eval;
    const pz_action *actions = s->planning->planner.action;
    const int64_t ns = pzi_eval_run(eval, actions, mode, eval->budget_bytes, INT64_MAX);
    if (ns < s->found.ns) {
        s->found.ns = ns;
        s->found.replay = mode;
        s->candidate = candidate;
        s->raw = raw;
        s->plain = s->planning->plain;
        memcpy(s->found.actions, actions, eval->work->trace->n_saved * sizeof *actions);
    }
    return ns < INT64_MAX;
}

/* One candidate in all modes that are asked for, with a tighter target until it runs in each. */
static void try_start(struct starts *s, const pzi_candidate *candidate, bool raw)
{
    pzi_candidate line = *candidate;
    bool fits[PZ_REPLAYS] = {false, false, s->planning->planned.replay != PZ_REPLAY_HOLD};
    if (s->any && s->candidate)
        return;
    line.uncompressed = line.uncompressed || raw;
    for (int step = 0; step <= PZI_REPLANS && !(fits[0] && fits[1] && fits[2]); step++) {
        if (!pzi_candidate_draft(s->planning, &line,
                                 pzi_tightened(s->planning->eval.budget_bytes, step)))
            return;
        for (int mode = 0; mode < PZ_REPLAYS; mode++)
            if (!fits[mode])
                fits[mode] = take_if_better(s, candidate, raw, (pz_replay)mode);
    }
}

/* The candidates of all other policies. */
static void try_starts(struct starts *s)
{
    for (size_t i = 0; i < PZI_PORTFOLIO; i++)
        try_start(s, &pzi_portfolio[i], false);
    for (size_t i = 0; i < PZI_WITHOUT_COMPRESSION; i++)
        try_start(s, &pzi_portfolio[i], true);
    try_start(s, &pzi_swap_largest, false);
}

/* A codec in software takes compute time for every transfer, so a plan may be faster without it. */
static void find_start(struct starts *s)
{
    const pz_platform *platform = s->planning->planner.work->platform;
    try_starts(s);
    if (platform->engine_bps <= 0 && platform->software_bps > 0) {
        pzi_planning_set_plain(s->planning, true);
        try_starts(s);
    }
    pzi_planning_set_plain(s->planning, s->plain);
}

/* Number of plans without prefetch points, or something above MAX_PLANS. */
static uint64_t count_plans(const pzi_work *work, unsigned actions)
{
    uint64_t plans = 1;
    for (size_t i = 0; i < work->trace->n_saved && plans <= MAX_PLANS; i++)
        plans *= actions;
    return plans;
}

static void set_actions(const pzi_work *work, uint64_t number, unsigned n, pz_action *actions)
{
    const pz_trace *trace = work->trace;
    for (size_t i = 0; i < trace->n_saved; i++) {
        actions[i] = (pz_action)(number % n);
        if (actions[i] == PZ_DROP && trace->storages[trace->saved[i].storage].kind == PZI_INPUT)
            actions[i] = PZ_KEEP;
        number /= n;
    }
}

/* Looks at all plans, in the modes before n_modes. */
static pz_status try_all(struct starts *s, uint64_t plans, unsigned n_actions, int n_modes,
                         pz_search_info *info)
{
    pzi_eval *eval = &s->planning->eval;
    const size_t n = eval->work->trace->n_saved;
    pz_action *actions = calloc(n + 1, sizeof *actions);
    if (!actions)
        return PZ_ERR_MEMORY;
    for (int mode = 0; mode < n_modes; mode++)
        for (uint64_t k = 0; k < plans; k++) {
            set_actions(eval->work, k, n_actions, actions);
            const int64_t ns =
                pzi_eval_run(eval, actions, (pz_replay)mode, eval->budget_bytes, s->found.ns - 1);
            info->evaluations++;
            if (ns >= s->found.ns)
                continue;
            info->gain_ns[PZ_MOVE_ONE] += s->found.ns - ns;
            info->moves[PZ_MOVE_ONE]++;
            s->found.ns = ns;
            s->found.replay = (pz_replay)mode;
            memcpy(s->found.actions, actions, n * sizeof *actions);
        }
    free(actions);
    return PZ_OK;
}

static uint64_t default_evaluations(const pz_trace *trace)
{
    const uint64_t operators = DEFAULT_OPERATORS / trace->n_ops + 1;
    const uint64_t evaluations =
        trace->n_saved > FEW_SAVED ? operators * FEW_SAVED / trace->n_saved + 1 : operators;
    return evaluations < DEFAULT_MOST ? evaluations : DEFAULT_MOST;
}

/* If there are so few plans that the evaluations are enough for all, there is nothing to search. */
static pz_status improve(struct starts *s, pz_search_info *info)
{
    const pzi_work *work = s->planning->planner.work;
    const pz_setup *setup = &s->planning->planned;
    const unsigned n_actions = setup->compress == PZ_COMPRESS_NONE ? PZ_COMPRESS : PZ_ACTIONS;
    const uint64_t plans = count_plans(work, n_actions);
    const bool hold = setup->replay == PZ_REPLAY_HOLD;
    const int n_modes = hold ? PZ_REPLAYS : PZ_REPLAY_HOLD;
    pzi_search_limits limits = {setup->search_evaluations, setup->search_seconds,
                                setup->search_seed, hold ? PZ_REPLAY_HOLD : PZ_REPLAY_KEEP};
    if (limits.evaluations == 0)
        limits.evaluations = default_evaluations(work->trace);
    if ((uint64_t)n_modes * plans <= limits.evaluations)
        return try_all(s, plans, n_actions, n_modes, info);
    return pzi_search(&s->planning->eval, &limits, &s->found, info);
}

/* Evaluates the result once more, which leaves its prefetch points to be written. */
static void write_plan(struct starts *s, const pz_search_info *search, pz_plan *plan)
{
    pzi_planning *p = s->planning;
    const pzi_work *work = p->planner.work;
    const double unlimited_ns = (double)(work->start_ns[work->trace->n_ops] + work->optimizer_ns);
    pzi_eval_run(&p->eval, s->found.actions, s->found.replay, p->eval.budget_bytes, INT64_MAX);
    pzi_eval_write(&p->eval, s->found.actions, plan);
    plan->info.search = *search;
    plan->info.predicted_overhead = unlimited_ns > 0 ? (double)s->found.ns / unlimited_ns - 1 : 0;
    snprintf(plan->info.candidate, sizeof plan->info.candidate, "%s%s%s",
             s->raw ? "uncompressed " : "", s->candidate->name,
             search->accepted + search->moves[PZ_MOVE_ONE] > 0 ? " + search" : "");
    if (s->plain)
        snprintf(plan->info.codec, sizeof plan->info.codec, "none");
}

static pz_status no_memory(const pzi_planning *p)
{
    return p->planner.no_memory || p->eval.rebuild.no_memory ? PZ_ERR_MEMORY : PZ_OK;
}

pz_status pzi_best_plan(pzi_planning *p, int step, pz_plan *plan)
{
    struct starts s = {.planning = p, .found.ns = INT64_MAX};
    pz_search_info search = {0};
    s.found.actions = calloc(plan->n + 1, sizeof *s.found.actions);
    pz_status status = s.found.actions ? PZ_OK : PZ_ERR_MEMORY;
    p->eval.budget_bytes = pzi_tightened(p->planned.budget_bytes, step);
    if (status == PZ_OK) {
        find_start(&s);
        status = no_memory(p);
    }
    if (status == PZ_OK && !s.candidate)
        status = PZ_ERR_INFEASIBLE;
    if (status == PZ_OK) {
        const pzi_work *work = p->planner.work;
        search.start_overhead =
            (double)s.found.ns / (double)(work->start_ns[work->trace->n_ops] + work->optimizer_ns) -
            1;
        status = improve(&s, &search);
    }
    if (status == PZ_OK) {
        write_plan(&s, &search, plan);
        status = no_memory(p);
    }
    pzi_planning_set_plain(p, false);
    free(s.found.actions);
    return status;
}

pz_status pzi_best_fits(pzi_planning *p, uint64_t budget_bytes)
{
    pz_action *actions = calloc(p->trial->n + 1, sizeof *actions);
    struct starts s = {.planning = p, .found = {.actions = actions, .ns = INT64_MAX}, .any = true};
    if (!actions)
        return PZ_ERR_MEMORY;
    p->eval.budget_bytes = budget_bytes;
    find_start(&s);
    free(actions);
    const pz_status status = no_memory(p);
    if (status != PZ_OK)
        return status;
    return s.candidate ? PZ_OK : PZ_ERR_INFEASIBLE;
}
