/* The replays of whole plans, one plan after another.  A replay depends on the plan only through
 * what is in memory when it runs, so each is built once for each such situation and looked up
 * again: plans that differ little share nearly all of them. */
#ifndef PZI_PLAN_REBUILD_H
#define PZI_PLAN_REBUILD_H

#include "sim/replay.h"

/* One operator of a replay. */
typedef struct pzi_rebuild_step {
    uint64_t alloc_bytes, free_bytes; /* before it, after it */
    int64_t ns;
} pzi_rebuild_step;

/* How a tensor is rebuilt in one situation. */
typedef struct pzi_recipe {
    int64_t ns;
    uint64_t peak_bytes, kept_bytes; /* highest on the way; left in memory */
    pzi_rebuild_step *steps;
    int32_t *sources; /* storages read from memory */
    int32_t *kept;    /* saved tensors left in memory */
    int32_t *deps;    /* the situation: 2 * saved tensor + (1 if it is in memory) */
    size_t n_steps, n_sources, n_kept, n_deps;
    size_t bytes; /* that the recipe itself takes */
} pzi_recipe;

/* One replay of a plan. */
typedef struct pzi_rebuilt {
    int32_t target, op;
    const pzi_recipe *recipe;
} pzi_rebuilt;

enum { PZI_RECIPES = 4 }; /* situations remembered per tensor */

typedef struct pzi_rebuild {
    const pzi_work *work;
    pzi_replayer replayer;
    pz_replay mode;
    uint8_t *dropped;
    int32_t *back;     /* per saved tensor: operator before which it is rebuilt */
    int32_t *need;     /* per saved tensor: operator before which it must be in memory */
    int32_t *end;      /* per storage: operator after which it is freed for good */
    int32_t *extended; /* storages whose end is later than their last use */
    size_t n_extended;
    pzi_rebuilt *runs; /* in order of execution */
    size_t n_runs;
    int64_t ns;           /* of all replays */
    pzi_recipe **recipes; /* PZI_RECIPES per saved tensor, the last used first; NULL if none */
    size_t recipe_bytes;
    int32_t *first_use; /* per saved tensor, as need without replays */
    uint32_t *mark;     /* per saved tensor: == stamp if listed already */
    uint32_t stamp;
    int32_t *deps; /* scratch */
    bool no_memory;
} pzi_rebuild;

pz_status pzi_rebuild_new(const pzi_work *work, pzi_rebuild *rebuild);
void pzi_rebuild_free(pzi_rebuild *rebuild);

/* Finds the replays of a plan with these actions, and what they ask of other tensors.  Recipes hold
 * until the next call.  False if a dropped tensor cannot be rebuilt, or memory is out. */
bool pzi_rebuild_plan(pzi_rebuild *rebuild, const pz_action *actions, pz_replay mode);

#endif
