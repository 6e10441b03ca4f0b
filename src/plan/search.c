/* Threshold accepting with an exponentially distributed threshold, in stages that start from the
 * best plan so far.  See search.h. */
#include "plan/search.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STAGES = 4,
    ROW = 5,         /* longest row of neighbours that is changed at once */
    NEAR = 10,       /* how far away a neighbour to exchange with may be */
    TRIES = 4,       /* to find a tensor with another action */
    CHECK_EVERY = 64 /* evaluations between two looks at price and clock */
};

/* The threshold at the start, as a share of the overhead; most of the search is far below it. */
#define HEAT 0.01
/* Tensors of less than this share of the peak are rarely moved: they are many and weigh nothing. */
#define SMALL 1e-4
/* The price of a byte above the budget at the start, in average costs of a byte saved. */
#define PRICE 2.0
#define PRICE_STEP 1.05
/* The highest price, in those at the start: where no plan within the budget is found it would grow
 * until costs are no integers. */
#define PRICE_MOST 1e6

/* One tensor whose action a move has changed. */
struct change {
    int32_t saved;
    pz_action old;
};

struct search {
    pzi_eval *eval;
    const pz_trace *trace;
    pzi_found *found;
    pz_search_info *info;
    uint64_t random;
    pz_action *actions;
    int32_t *tensors; /* worth a move, in the order of production */
    size_t n_tensors;
    pz_replay mode;
    size_t n_actions;       /* 3, or 4 where something can be compressed in place */
    size_t most_actions;    /* that of the later stages */
    double ns, above_bytes; /* of the plan that the search is at */
    double heat_ns;
    double most_price;
    unsigned n_above; /* evaluations since the last look at which it was above the budget */
    struct change changes[ROW + 1];
    size_t n_changes;
};

/* Random numbers: splitmix64. */
static uint64_t next_random(struct search *s)
{
    uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t random_below(struct search *s, size_t n)
{
    return (size_t)((next_random(s) >> 32) * n >> 32);
}

/* Exponentially distributed with a mean near 1.5, without a library whose last digit differs from
 * machine to machine: the leading zeros of a random number, and a fraction. */
static double random_heat(struct search *s)
{
    const uint64_t random = next_random(s);
    unsigned zeros = 0;
    while (zeros < 50 && !(random >> (63 - zeros) & 1))
        zeros++;
    return zeros + (double)(next_random(s) >> 32) / 4294967296.0;
}

/* Moves -----------------------------------------------------------------------------------------
 */

static bool can_have(const struct search *s, int32_t saved, pz_action action)
{
    const pzi_saved *tensor = &s->trace->saved[saved];
    if (action == PZ_COMPRESS && s->eval->clock.pack_frees[saved] == 0)
        return false;
    return s->eval->work->bytes[tensor->storage] > 0 &&
           (action != PZ_DROP || s->trace->storages[tensor->storage].kind != PZI_INPUT);
}

static void change(struct search *s, int32_t saved, pz_action action)
{
    if (s->actions[saved] == action || !can_have(s, saved, action))
        return;
    s->changes[s->n_changes++] = (struct change){saved, s->actions[saved]};
    s->actions[saved] = action;
}

static void take_back(struct search *s)
{
    while (s->n_changes > 0) {
        const struct change *c = &s->changes[--s->n_changes];
        s->actions[c->saved] = c->old;
    }
}

static pz_action random_action(struct search *s)
{
    return (pz_action)random_below(s, s->n_actions);
}

static int32_t random_tensor(struct search *s)
{
    if (random_below(s, 16) == 0)
        return (int32_t)random_below(s, s->trace->n_saved);
    return s->tensors[random_below(s, s->n_tensors)];
}

/* A tensor that was produced soon before or after the one at a place of the list, or it itself. */
static int32_t neighbour(struct search *s, size_t place)
{
    const size_t first = place > NEAR ? place - NEAR : 0;
    const size_t last = place + NEAR < s->n_tensors ? place + NEAR : s->n_tensors - 1;
    return s->tensors[first + random_below(s, last - first + 1)];
}

/* Two tensors exchange their actions, which are likely to differ.  Half of the time they are
 * neighbours, whose copies have nearly the same windows. */
static void exchange(struct search *s)
{
    const bool near = random_below(s, 2) == 0;
    const size_t place = random_below(s, s->n_tensors);
    const int32_t a = near ? s->tensors[place] : random_tensor(s);
    int32_t b = a;
    for (int k = 0; k <= TRIES && s->actions[b] == s->actions[a]; k++)
        b = near ? neighbour(s, place) : random_tensor(s);
    const pz_action of_a = s->actions[a], of_b = s->actions[b];
    if (!can_have(s, a, of_b) || !can_have(s, b, of_a))
        return;
    change(s, a, of_b);
    change(s, b, of_a);
}

/* Some of the tensors that were produced one after the other get the same action. */
static void change_row(struct search *s)
{
    const size_t first = random_below(s, s->n_tensors), length = 2 + random_below(s, ROW - 1);
    const pz_action action = random_action(s);
    const bool all = random_below(s, 2) == 0;
    for (size_t k = first; k < first + length && k < s->n_tensors; k++)
        if (all || random_below(s, 2) == 0)
            change(s, s->tensors[k], action);
}

static void change_one(struct search *s)
{
    const int32_t saved = random_tensor(s);
    const size_t other = 1 + random_below(s, s->n_actions - 1);
    change(s, saved, (pz_action)(((size_t)s->actions[saved] + other) % s->n_actions));
}

static pz_move make_move(struct search *s)
{
    const size_t dice = random_below(s, 10);
    s->n_changes = 0;
    if (dice < 5) {
        exchange(s);
        return PZ_MOVE_EXCHANGE;
    }
    if (dice < 7) {
        change_row(s);
        return PZ_MOVE_ROW;
    }
    change_one(s);
    return PZ_MOVE_ONE;
}

/* Search ----------------------------------------------------------------------------------------
 */

static double above_budget(const pzi_eval *eval)
{
    return eval->peak_bytes > eval->budget_bytes ? (double)(eval->peak_bytes - eval->budget_bytes)
                                                 : 0;
}

static double cost(const struct search *s)
{
    return s->ns + s->eval->price * s->above_bytes;
}

static void note_best(struct search *s, int64_t ns, pz_move move)
{
    pzi_found *found = s->found;
    s->info->gain_ns[move] += found->ns - ns;
    s->info->moves[move]++;
    found->ns = ns;
    found->replay = s->mode;
    memcpy(found->actions, s->actions, s->trace->n_saved * sizeof *found->actions);
}

/* Looks at one changed plan. */
static void step(struct search *s)
{
    const pz_move move = make_move(s);
    if (s->n_changes == 0)
        return;
    const double limit = cost(s) + s->heat_ns * random_heat(s);
    const int64_t ns = pzi_eval_run(s->eval, s->actions, s->mode, UINT64_MAX, (int64_t)limit);
    const double above_bytes = above_budget(s->eval);
    s->info->evaluations++;
    if (ns == INT64_MAX || (double)ns + s->eval->price * above_bytes > limit) {
        take_back(s);
        return;
    }
    s->info->accepted++;
    s->ns = (double)ns;
    s->above_bytes = above_bytes;
    if (above_bytes <= 0 && ns < s->found->ns)
        note_best(s, ns, move);
}

/* Half of the plans that the search is at should be within the budget. */
static void adapt_price(struct search *s)
{
    if (s->n_above > CHECK_EVERY * 3 / 4 && s->eval->price < s->most_price)
        s->eval->price *= PRICE_STEP;
    else if (s->n_above < CHECK_EVERY / 4)
        s->eval->price /= PRICE_STEP;
    s->n_above = 0;
}

/* Back to the best plan, in the mode of the search. */
static void start_stage(struct search *s)
{
    memcpy(s->actions, s->found->actions, s->trace->n_saved * sizeof *s->actions);
    const int64_t ns = pzi_eval_run(s->eval, s->actions, s->mode, UINT64_MAX, INT64_MAX);
    s->ns = ns == INT64_MAX ? (double)s->found->ns * 2 : (double)ns;
    s->above_bytes = above_budget(s->eval);
    if (ns < s->found->ns && s->above_bytes <= 0)
        note_best(s, ns, PZ_MOVE_ONE);
}

static double now_s(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How much of the search is over, 0 to 1. */
static double progress(const pzi_search_limits *limits, uint64_t tried, double start_s)
{
    if (limits->seconds > 0)
        return (now_s() - start_s) / limits->seconds;
    return (double)tried / (double)limits->evaluations;
}

static void run_search(struct search *s, const pzi_search_limits *limits, double overhead_ns)
{
    const double start_s = limits->seconds > 0 ? now_s() : 0;
    int stage = -1;
    for (uint64_t tried = 0; !s->eval->rebuild.no_memory; tried += CHECK_EVERY) {
        const double done = progress(limits, tried, start_s);
        if (done >= 1)
            return;
        if ((int)(done * STAGES) != stage) {
            stage = (int)(done * STAGES);
            /* Compression in place moves little at a time: it comes last. */
            s->n_actions = stage == 0 ? PZ_COMPRESS : s->most_actions;
            start_stage(s);
        }
        const double rest = (1 - done) * (1 - done);
        s->heat_ns = HEAT * overhead_ns * rest * rest;
        for (int k = 0; k < CHECK_EVERY; k++) {
            step(s);
            s->n_above += s->above_bytes > 0;
        }
        adapt_price(s);
    }
}

/* All tensors if none is large, which no trace of a model has. */
static void list_tensors(struct search *s, double small_bytes)
{
    const pzi_work *work = s->eval->work;
    for (int all = 0; all < 2 && s->n_tensors == 0; all++)
        for (size_t k = 0; k < s->trace->n_saved; k++) {
            const int32_t saved = work->by_ready[k];
            if (all || (double)pzi_saved_bytes(work, (size_t)saved) >= small_bytes)
                s->tensors[s->n_tensors++] = saved;
        }
}

pz_status pzi_search(pzi_eval *eval, const pzi_search_limits *limits, pzi_found *found,
                     pz_search_info *info)
{
    const pzi_work *work = eval->work;
    const pz_trace *trace = work->trace;
    const int64_t unlimited_ns = work->start_ns[trace->n_ops] + work->optimizer_ns;
    const double peak = (double)trace->peak_bytes[work->platform->precision];
    struct search s = {
        .eval = eval,
        .trace = trace,
        .found = found,
        .info = info,
        .random = limits->seed,
        .mode = limits->mode,
        .most_actions = PZ_COMPRESS,
    };
    for (size_t i = 0; i < trace->n_saved; i++)
        if (eval->clock.pack_frees[i] > 0)
            s.most_actions = PZ_ACTIONS;
    const double overhead_ns = (double)(found->ns - unlimited_ns);
    if (overhead_ns <= 0 || trace->n_saved == 0 || peak <= (double)eval->budget_bytes)
        return PZ_OK;
    eval->price = PRICE * overhead_ns / (peak - (double)eval->budget_bytes);
    s.most_price = PRICE_MOST * eval->price;
    s.actions = calloc(trace->n_saved, sizeof *s.actions);
    s.tensors = calloc(trace->n_saved, sizeof *s.tensors);
    const bool ready = s.actions && s.tensors;
    if (ready) {
        list_tensors(&s, SMALL * peak);
        run_search(&s, limits, overhead_ns);
    }
    eval->price = 0;
    free(s.actions);
    free(s.tensors);
    return ready && !eval->rebuild.no_memory ? PZ_OK : PZ_ERR_MEMORY;
}
