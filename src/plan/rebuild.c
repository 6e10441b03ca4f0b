/* Looking up and building the replays of plans.  See rebuild.h; the rules are those of
 * sim/schedule.c. */
#include "plan/rebuild.h"

#include <stdlib.h>
#include <string.h>

/* Recipes are forgotten when they take more than this. */
#define RECIPES_MAX_BYTES ((size_t)256 << 20)

pz_status pzi_rebuild_new(const pzi_work *work, pzi_rebuild *r)
{
    const pz_trace *trace = work->trace;
    const size_t n = trace->n_saved + 1;
    *r = (pzi_rebuild){
        .work = work,
        .dropped = calloc(n, sizeof *r->dropped),
        .back = calloc(n, sizeof *r->back),
        .need = calloc(n, sizeof *r->need),
        .end = calloc(trace->n_storages + 1, sizeof *r->end),
        .extended = calloc(trace->n_storages + 1, sizeof *r->extended),
        .runs = calloc(n, sizeof *r->runs),
        .recipes = calloc(n * PZI_RECIPES, sizeof(pzi_recipe *)),
        .first_use = calloc(n, sizeof *r->first_use),
        .mark = calloc(n, sizeof *r->mark),
        .deps = calloc(n, sizeof *r->deps),
    };
    if (!r->dropped || !r->back || !r->need || !r->end || !r->extended || !r->runs || !r->recipes ||
        !r->first_use || !r->mark || !r->deps || pzi_replayer_new(work, &r->replayer) != PZ_OK) {
        pzi_rebuild_free(r);
        return PZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < trace->n_saved; i++)
        r->first_use[i] = trace->saved[i].first_backward_use;
    for (size_t s = 0; s < trace->n_storages; s++)
        r->end[s] = trace->storages[s].last_use;
    return PZ_OK;
}

static void forget_recipes(pzi_rebuild *r)
{
    const size_t n = r->work ? r->work->trace->n_saved * PZI_RECIPES : 0;
    for (size_t k = 0; r->recipes && k < n; k++) {
        free(r->recipes[k]);
        r->recipes[k] = NULL;
    }
    r->recipe_bytes = 0;
}

void pzi_rebuild_free(pzi_rebuild *r)
{
    forget_recipes(r);
    if (r->replayer.work)
        pzi_replayer_free(&r->replayer);
    free(r->dropped);
    free(r->back);
    free(r->need);
    free(r->end);
    free(r->extended);
    free(r->runs);
    free(r->recipes);
    free(r->first_use);
    free(r->mark);
    free(r->deps);
    *r = (pzi_rebuild){0};
}

/* Whether a replay of target before op finds a saved tensor in memory, as in sim/replay.c. */
static bool is_there(const pzi_rebuild *r, int32_t saved, int32_t target, int32_t op)
{
    if (!r->dropped[saved])
        return true;
    const int32_t back = r->back[saved];
    if (back > op || op > r->work->trace->saved[saved].last_use)
        return false;
    return back < op || r->mode != PZ_REPLAY_FREE ||
           pzi_replays_before(r->work->trace, saved, target);
}

static bool applies(const pzi_rebuild *r, const pzi_recipe *recipe, int32_t target, int32_t op)
{
    for (size_t i = 0; i < recipe->n_deps; i++)
        if (is_there(r, recipe->deps[i] / 2, target, op) != (recipe->deps[i] % 2))
            return false;
    return true;
}

/* Building --------------------------------------------------------------------------------------
 */

static void depend_on_value(pzi_rebuild *r, int32_t value, int32_t target, int32_t op, size_t *n)
{
    const pz_trace *trace = r->work->trace;
    const int32_t saved =
        value == PZI_NONE ? PZI_NONE : trace->storages[trace->values[value].storage].saved;
    if (saved == PZI_NONE || saved == target || r->mark[saved] == r->stamp)
        return;
    r->mark[saved] = r->stamp;
    r->deps[(*n)++] = 2 * saved + is_there(r, saved, target, op);
}

/* All saved tensors that the builder has looked at: those behind the accesses of the operators. */
static size_t list_deps(pzi_rebuild *r, const pzi_replay *replay, int32_t target, int32_t op)
{
    const pz_trace *trace = r->work->trace;
    size_t n = 0;
    r->stamp++;
    for (size_t k = 0; k < replay->n_ops; k++) {
        const pzi_op *o = &trace->ops[replay->ops[k]];
        for (uint32_t a = o->reads; a < o->writes_end; a++) {
            const int32_t value = trace->accesses[a].value;
            if (value == PZI_NONE)
                continue;
            const int32_t same = trace->values[value].same_as;
            depend_on_value(r, value, target, op, &n);
            depend_on_value(r, same, target, op, &n);
            depend_on_value(r, trace->values[same].twin, target, op, &n);
        }
    }
    return n;
}

static size_t recipe_size(const pzi_replay *replay, size_t n_deps)
{
    return sizeof(pzi_recipe) + replay->n_ops * sizeof(pzi_rebuild_step) +
           (replay->n_sources + replay->n_kept + n_deps) * sizeof(int32_t);
}

static void fill_recipe(const pzi_rebuild *r, const pzi_replay *replay, size_t n_deps,
                        pzi_recipe *recipe)
{
    pzi_rebuild_step *steps = (pzi_rebuild_step *)(recipe + 1);
    int32_t *sources = (int32_t *)(steps + replay->n_ops);
    int32_t *kept = sources + replay->n_sources, *deps = kept + replay->n_kept;
    *recipe = (pzi_recipe){
        .ns = replay->ns,
        .peak_bytes = replay->peak_bytes,
        .steps = steps,
        .sources = sources,
        .kept = kept,
        .deps = deps,
        .n_steps = replay->n_ops,
        .n_sources = replay->n_sources,
        .n_kept = replay->n_kept,
        .n_deps = n_deps,
        .bytes = recipe_size(replay, n_deps),
    };
    for (size_t k = 0; k < replay->n_ops; k++)
        steps[k] =
            (pzi_rebuild_step){replay->alloc_bytes[k], replay->free_bytes[k], replay->step_ns[k]};
    memcpy(sources, replay->sources, replay->n_sources * sizeof *sources);
    memcpy(kept, replay->kept, replay->n_kept * sizeof *kept);
    memcpy(deps, r->deps, n_deps * sizeof *deps);
    for (size_t k = 0; k < replay->n_kept; k++)
        recipe->kept_bytes += pzi_saved_bytes(r->work, (size_t)kept[k]);
}

/* NULL if the tensor cannot be rebuilt, which is not remembered: it is rare. */
static pzi_recipe *build_recipe(pzi_rebuild *r, int32_t target, int32_t op)
{
    const pzi_residency residency = {r->dropped, r->back, r->mode};
    const pzi_replay *replay = pzi_replay_build(&r->replayer, &residency, (size_t)target, op);
    if (!replay)
        return NULL;
    const size_t n_deps = list_deps(r, replay, target, op);
    pzi_recipe *recipe = malloc(recipe_size(replay, n_deps));
    if (recipe) {
        fill_recipe(r, replay, n_deps, recipe);
        r->recipe_bytes += recipe->bytes;
    } else {
        r->no_memory = true;
    }
    return recipe;
}

/* The recipe for the situation, moved to the front of what is remembered of the tensor. */
static const pzi_recipe *find_recipe(pzi_rebuild *r, int32_t target, int32_t op)
{
    pzi_recipe **known = r->recipes + (size_t)target * PZI_RECIPES;
    size_t k = 0;
    while (k < PZI_RECIPES && known[k] && !applies(r, known[k], target, op))
        k++;
    pzi_recipe *found = k < PZI_RECIPES ? known[k] : NULL;
    if (!found) {
        found = build_recipe(r, target, op);
        if (!found)
            return NULL;
        k = k < PZI_RECIPES ? k : PZI_RECIPES - 1;
        r->recipe_bytes -= known[k] ? known[k]->bytes : 0;
        free(known[k]);
    }
    memmove(known + 1, known, k * sizeof(pzi_recipe *));
    known[0] = found;
    return found;
}

/* Plans -----------------------------------------------------------------------------------------
 */

static void start(pzi_rebuild *r, const pz_action *actions, pz_replay mode)
{
    const pz_trace *trace = r->work->trace;
    if (mode != r->mode || r->recipe_bytes > RECIPES_MAX_BYTES)
        forget_recipes(r);
    r->mode = mode;
    r->ns = 0;
    r->n_runs = 0;
    for (size_t k = 0; k < r->n_extended; k++)
        r->end[r->extended[k]] = trace->storages[r->extended[k]].last_use;
    r->n_extended = 0;
    memcpy(r->need, r->first_use, trace->n_saved * sizeof *r->need);
    memcpy(r->back, r->first_use, trace->n_saved * sizeof *r->back);
    for (size_t i = 0; i < trace->n_saved; i++) {
        r->dropped[i] = actions[i] == PZ_DROP;
        if (mode != PZ_REPLAY_FREE)
            r->back[i] = PZI_NEVER;
    }
}

/* A source must be in memory when the replay runs: it may be needed earlier and live longer. */
static void use_sources(pzi_rebuild *r, const pzi_recipe *recipe, int32_t op)
{
    const pz_trace *trace = r->work->trace;
    for (size_t k = 0; k < recipe->n_sources; k++) {
        const int32_t storage = recipe->sources[k];
        const int32_t saved = trace->storages[storage].saved;
        if (r->end[storage] < op) {
            if (r->end[storage] == trace->storages[storage].last_use)
                r->extended[r->n_extended++] = storage;
            r->end[storage] = op;
        }
        if (saved != PZI_NONE && r->need[saved] > op)
            r->need[saved] = op;
    }
}

static bool add_run(pzi_rebuild *r, int32_t target)
{
    const int32_t op = r->first_use[target];
    const pzi_recipe *recipe = find_recipe(r, target, op);
    if (!recipe)
        return false;
    r->runs[r->n_runs++] = (pzi_rebuilt){target, op, recipe};
    r->ns += recipe->ns;
    for (size_t i = 0; r->mode != PZ_REPLAY_FREE && i < recipe->n_kept; i++)
        r->back[recipe->kept[i]] = op;
    use_sources(r, recipe, op);
    return true;
}

bool pzi_rebuild_plan(pzi_rebuild *r, const pz_action *actions, pz_replay mode)
{
    const pz_trace *trace = r->work->trace;
    start(r, actions, mode);
    for (size_t k = 0; k < trace->n_saved; k++) {
        const int32_t target = r->work->by_use[k];
        if (!r->dropped[target] ||
            (mode != PZ_REPLAY_FREE && r->back[target] <= r->first_use[target]))
            continue;
        if (!add_run(r, target))
            return false;
    }
    return true;
}
