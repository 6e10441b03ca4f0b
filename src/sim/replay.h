/* The replay of one dropped tensor: which operators rebuild its value, what they read from memory,
 * how long they take and how much memory they need on the way.  Works on values (storage, version),
 * so that in-place operators and clones come out right; through values that are not saved and
 * through dropped tensors that are not back yet. */
#ifndef PZI_SIM_REPLAY_H
#define PZI_SIM_REPLAY_H

#include "sim/work.h"

#define PZI_NEVER INT32_MAX

/* What is in memory when a replay runs.  A tensor that is not dropped is there.  A dropped one is
 * there if it came back at an earlier operator, or at the same one in an earlier replay. */
typedef struct pzi_residency {
    const uint8_t *dropped; /* per saved tensor */
    const int32_t *back;    /* operator before which a dropped tensor is rebuilt, or PZI_NEVER */
    pz_replay mode; /* but for PZ_REPLAY_FREE, a dropped tensor rebuilt on the way is kept (back is
                       then exact) */
} pzi_residency;

/* What a step of a replay does with the memory of a value. */
typedef struct pzi_move {
    size_t step;   /* position in ops */
    int32_t value; /* whose memory is taken before the step, or freed after it */
    int32_t from;  /* the value whose memory it takes over in place, or PZI_NONE */
    bool frees;
} pzi_move;

/* One replay.  Arrays belong to the builder and hold until its next build. */
typedef struct pzi_replay {
    int32_t *ops; /* in trace order */
    size_t n_ops;
    uint64_t *alloc_bytes; /* per operator: taken before it runs */
    uint64_t *free_bytes;  /* given back after it */
    int64_t *step_ns;      /* how long it takes */
    int32_t *sources;      /* storages read from memory */
    size_t n_sources;
    int32_t *kept; /* saved tensors left in memory, the target among them */
    size_t n_kept;
    int64_t ns;
    uint64_t peak_bytes; /* above what is in memory already, the target included */
    pzi_move *moves;     /* in order of the steps, if the builder was asked for them, else NULL */
    size_t n_moves;
} pzi_replay;

/* Scratch space for builds; used by one thread at a time. */
typedef struct pzi_replayer {
    const pzi_work *work;
    pzi_replay replay;
    int32_t *stack;
    uint32_t *value_mark, *op_mark, *source_mark; /* == stamp: seen in this build */
    int32_t *last_reader;                         /* per value: position in replay.ops */
    uint32_t stamp;
} pzi_replayer;

pz_status pzi_replayer_new(const pzi_work *work, pzi_replayer *replayer);
void pzi_replayer_free(pzi_replayer *replayer);

/* From now on replays tell the moves of values.  PZ_ERR_MEMORY. */
pz_status pzi_replayer_tell_moves(pzi_replayer *replayer);

/* Builds the replay of saved tensor target before operator op.  NULL if it cannot be recomputed: an
 * input, or a value that depends on an input that has been overwritten. */
const pzi_replay *pzi_replay_build(pzi_replayer *replayer, const pzi_residency *residency,
                                   size_t target, int32_t op);

/* Replays before the same operator run in this order, so that sources come before what reads them.
 */
static inline bool pzi_replays_before(const pz_trace *trace, int32_t a, int32_t b)
{
    const int32_t ready_a = trace->saved[a].ready_op, ready_b = trace->saved[b].ready_op;
    return ready_a != ready_b ? ready_a < ready_b : a < b;
}

#endif
