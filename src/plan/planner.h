/* Planning: what does not depend on the plan is prepared once (planner), and one plan in the making
 * is a draft: actions, the memory profile that they give, and the replays that they need. */
#ifndef PZI_PLAN_PLANNER_H
#define PZI_PLAN_PLANNER_H

#include "plan/range_max.h"
#include "plan/scores.h"
#include "sim/replay.h"
#include "trace/plan.h"

/* A list of int32_t that grows. */
typedef struct pzi_list {
    int32_t *items;
    size_t n, room;
} pzi_list;

/* What replaying a tensor costs, with the tensors dropped so far: its chain. */
typedef struct pzi_chain {
    int64_t ns;
    uint64_t peak_bytes;
    bool possible;
    bool stale;       /* a source has been dropped since: ns is what it cost until then */
    pzi_list sources; /* storages that the replay reads from memory */
} pzi_chain;

/* Memory is looked at in slots: slot 2i is the time of the replays before operator i, slot 2i + 1
 * the operator itself. */
static inline size_t pzi_slot_before(int32_t op)
{
    return 2 * (size_t)op;
}

static inline size_t pzi_slot_of(int32_t op)
{
    return 2 * (size_t)op + 1;
}

/* Why a drop was rejected: it would lift these slots, whose maximum is value, above the limit.  An
 * empty range if the tensor cannot be recomputed. */
typedef struct pzi_block {
    size_t first, last;
    int64_t value;
    bool holds; /* nothing that the drop depends on has been touched since */
} pzi_block;

/* A change of the draft that can be taken back: an addition to the profile or a new number. */
typedef struct pzi_change {
    size_t first, last; /* slots */
    int64_t delta;
    bool above;    /* scratch: the range is above the limit after all changes */
    int32_t *cell; /* not NULL: the number that was changed, and what it was */
    int32_t old;
    int32_t owner; /* saved tensor that the number belongs to, or PZI_NONE */
} pzi_change;

typedef struct pzi_planner {
    const pzi_work *work;
    pzi_replayer replayer;
    pzi_range_max empty_profile; /* nothing evicted */
    pzi_chain *empty_chains;     /* nothing dropped */
    int32_t *use_position;       /* per saved tensor: its place in work->by_use */
    int32_t *ready_position;     /* and in work->by_ready */

    /* The draft. */
    uint64_t limit_bytes; /* target of the profile: M, or less after an overflow */
    pz_action *action;
    uint8_t *dropped;
    int32_t *back; /* operator before which a dropped tensor is rebuilt: its first backward use */
    int32_t *need; /* earliest operator that needs the tensor in memory, replays included */
    int32_t *end;  /* per storage: last operator that needs it in memory */
    int32_t *readers; /* number of present replays that read the tensor */
    pzi_chain *chains;
    pzi_list *users;       /* per saved tensor: tensors whose chain may have it as a source */
    int64_t *replay_bytes; /* per operator: peak of the replays before it */
    pzi_range_max profile;
    pzi_range_max d2h_ends, h2d_late; /* deadlines of stage 1, see swaps.c */
    pzi_change *journal;
    size_t n_journal, room_journal;
    pzi_chain *trials; /* new chains of the dropped tensors that a drop affects */
    int32_t *affected;
    size_t n_affected, room_affected;
    int32_t *trial_of; /* per saved tensor: its new chain in trials, or PZI_NONE */
    pzi_scores scores; /* of the kept tensors, see evict.c */
    pzi_list touched;  /* tensors whose score may have changed */
    uint8_t *rejected; /* per saved tensor: out of the running for now, see evict.c */
    pzi_list rejects;
    pzi_block *blocks; /* per saved tensor: what its last rejected drop ran into */
    pzi_block block;   /* of the last rejected drop */
    bool no_memory;
} pzi_planner;

pz_status pzi_planner_new(const pzi_work *work, pzi_planner *planner);
void pzi_planner_free(pzi_planner *planner);

/* Starts a new draft that keeps everything and has to fit limit_bytes. */
void pzi_draft_start(pzi_planner *planner, uint64_t limit_bytes);

/* Peak of the draft's profile. */
static inline uint64_t pzi_draft_peak(const pzi_planner *planner)
{
    return (uint64_t)pzi_range_max_all(&planner->profile);
}

/* Appends to a list; sets no_memory if that fails. */
void pzi_list_push(pzi_planner *planner, pzi_list *list, int32_t item);

/* Notes that the score of a tensor, or what dropping it does, may have changed. */
static inline void pzi_draft_touch(pzi_planner *planner, int32_t saved)
{
    planner->blocks[saved].holds = false;
    pzi_list_push(planner, &planner->touched, saved);
}

/* The replay of a tensor with what is dropped now; NULL if it cannot be recomputed. */
const pzi_replay *pzi_draft_replay(pzi_planner *planner, int32_t saved);
void pzi_chain_store(pzi_planner *planner, pzi_chain *chain, const pzi_replay *replay);

/* The up-to-date chain of a tensor that is not dropped, for its first backward use. */
const pzi_chain *pzi_draft_chain(pzi_planner *planner, int32_t saved);

/* Swaps a kept tensor: it leaves after its last forward use and is back when it is needed. */
void pzi_draft_swap(pzi_planner *planner, int32_t saved);

/* Drops a kept tensor unless that lifts a slot above the limit that was not above it; true if it
 * was dropped.  If it was not, planner->block says why. */
bool pzi_draft_drop(pzi_planner *planner, int32_t saved);

/* Chooses prefetch points (Algorithm 1, line 12) and writes the draft into plan. */
void pzi_draft_finish(pzi_planner *planner, pz_plan *plan);

#endif
