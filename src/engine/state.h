/* What an engine is made of: tensors, the two pipes that they go through, and what the files of the
 * engine call of one another.  One lock per engine guards everything here that threads share; it is
 * open while a segment is coded or moved. */
#ifndef PZI_ENGINE_STATE_H
#define PZI_ENGINE_STATE_H

#include <pthread.h>

#include "engine/tier.h"
#include "planezip/engine.h"

enum { PZI_SLOTS = 4 }; /* segments on their way between the two threads of a pipe */

/* A transfer, which is part of its tensor. */
enum pzi_job_state {
    PZI_IDLE = 0,
    PZI_WAITING, /* for room in the queue */
    PZI_QUEUED,
    PZI_RUNNING,
    PZI_ENDING /* its status is final, and options.done is being called */
};

struct pzi_job {
    struct pzi_job *next; /* in its list */
    struct pz_swap *swap;
    enum pzi_job_state state;
    pz_status status;
    int64_t queued_ns; /* when it came into the queue */
};

struct pzi_jobs {
    struct pzi_job *first, *last;
};

struct pz_swap {
    pz_engine *engine;
    struct pz_swap *previous, *next; /* of the engine */
    const uint8_t *data;             /* of the caller, until it is out */
    uint8_t *to;                     /* of the caller, while it comes in */
    double ratio;                    /* predicted; 0: not known */
    pz_mode mode;                    /* of the codec */
    bool is_measured;                /* and nothing else */
    bool is_orphan;                  /* host: freed by the caller, and under way */
    unsigned tickets[PZ_DIRECTIONS]; /* host: segments under way */
    pz_direction last;               /* of the transfers that were asked for */
    struct pzi_job jobs[PZ_DIRECTIONS];
    struct pzi_place place;
    pz_swap_stats stats;
    struct pzi_segment segments[];
};

/* Bytes per time, of late; a rate of 0 is not known yet. */
struct pzi_rate {
    double bytes, ns;
};

/* So many bytes make half of what a measured rate remembers. */
#define PZI_RATE_BYTES 256e6

static inline void pzi_add_rate(struct pzi_rate *rate, double bytes, double ns)
{
    rate->bytes += bytes;
    rate->ns += ns;
    if (rate->bytes > PZI_RATE_BYTES) {
        rate->bytes /= 2;
        rate->ns /= 2;
    }
}

static inline double pzi_bps(const struct pzi_rate *rate)
{
    return rate->ns > 0 ? rate->bytes * 1e9 / rate->ns : 0;
}

/* A segment on its way.  After the last one of a job comes a slot without one. */
struct pzi_slot {
    struct pzi_job *job;
    size_t segment;
    bool is_end;
    uint8_t *buffer;
    int64_t ready_ns; /* when the link could have begun with it */
};

typedef pz_status pzi_step(struct pz_swap *swap, size_t segment, uint8_t *buffer);

/* One direction.  Its first thread takes the jobs from the queue and does the first step of each
 * segment, its second thread the second step; without a second one the first does both. */
struct pzi_pipe {
    pz_engine *engine;
    pz_direction direction;
    pzi_step *steps[2];
    struct pzi_jobs queue, waiting; /* for room in the queue */
    uint64_t limit_bytes;           /* of the queue */

    bool is_staged;
    struct pzi_slot slots[PZI_SLOTS];
    uint64_t produced, consumed; /* slots; number n is slots[n % PZI_SLOTS] */
    bool has_ended;              /* no slot will come any more */
    int64_t awake_ns;            /* since when the first thread has not waited */
    int64_t link_free_ns;        /* when the emulated link has moved what it was given */

    pthread_cond_t for_first, for_second; /* something may have come for the thread */
    pthread_cond_t stop_pacing;
    pthread_t threads[2];
    unsigned started;
    struct pzi_rate code, move;
    pz_direction_stats stats;
};

struct pz_engine {
    pz_engine_options options; /* directory and codec apart */
    char codec[32];
    size_t slot_bytes;
    long process; /* that made it */
    struct pzi_tier *tier;
    struct pzi_host *host; /* host: the tier, else NULL, and so is staging */
    pz_pool *staging;      /* of buffers for slots */
    int event;             /* or -1 */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job has ended, or there may be room in a queue */
    bool is_stopping;
    struct pz_swap *swaps;
    uint64_t swap_count;
    uint64_t under_way; /* jobs in queues, running or ending */
    uint64_t left_out;  /* tensors for which the codec was too slow */
    struct pzi_pipe pipes[PZ_DIRECTIONS];
};

static inline bool pzi_is_idle(const struct pz_swap *swap)
{
    return swap->jobs[PZ_OUT].state == PZI_IDLE && swap->jobs[PZ_IN].state == PZI_IDLE;
}

/* Whether a transfer may begin beside those under way: one that is larger than the queue alone. */
static inline bool pzi_has_room(const struct pzi_pipe *pipe, uint64_t bytes)
{
    const uint64_t used = pipe->stats.queue_bytes;

    return used == 0 || (used <= pipe->limit_bytes && bytes <= pipe->limit_bytes - used);
}

/* Raw bytes of a segment. */
static inline size_t pzi_segment_raw(const struct pz_swap *swap, size_t segment)
{
    const size_t most = swap->engine->options.segment_bytes;
    const size_t left = (size_t)swap->stats.raw_bytes - segment * most;

    return left < most ? left : most;
}

/* ---- code.c: what is done with a segment, and with which tensors ---- */

pzi_step pzi_encode, pzi_put, pzi_get, pzi_decode;

/* Equation 2, for both ways together: whether the tensor goes without the codec.  A codec that
 * looked too slow is tried again from time to time, so each tensor is to be asked about once.  With
 * the lock. */
bool pzi_decide_bypass(struct pz_swap *swap);

/* ---- engine.c ---- */

/* Frees a tensor that is idle, with the lock. */
void pzi_forget(struct pz_swap *swap);

/* ---- pipe.c: all with the lock, but start and stop ---- */

int64_t pzi_now_ns(void);

/* Accounts for a job that ends, and lets go of what is not needed after it. */
void pzi_settle(struct pzi_pipe *pipe, struct pzi_job *job);

/* Starts the threads; the rest of *pipe is as pz_engine_new() makes it.  PZ_ERR_MEMORY. */
pz_status pzi_pipe_start(struct pzi_pipe *pipe);

/* Waits for the threads to end; before that is_stopping is set, and all jobs are cancelled. */
void pzi_pipe_stop(struct pzi_pipe *pipe);

/* Puts an idle job into the queue.  Without `wait` PZ_ERR_BUSY if there is no room;
 * PZ_ERR_CANCELLED if it was cancelled while it waited, or the engine stops.  The job is as before
 * then. */
pz_status pzi_submit(struct pzi_pipe *pipe, struct pzi_job *job, bool wait);

/* Ends a job that is in the queue; one that runs or waits for room stops, and is not waited for. */
void pzi_cancel(struct pzi_pipe *pipe, struct pzi_job *job);

#endif
