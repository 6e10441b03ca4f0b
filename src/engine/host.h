/* The host tier: tensors of a device, coded by it, in chunks of a pool of the host's memory.  It
 * has no threads: transfers are work in streams of the device, put there by whoever asks for them,
 * and what has ended is found by looking at marks.  All calls are with the engine's lock. */
#ifndef PZI_ENGINE_HOST_H
#define PZI_ENGINE_HOST_H

#include "engine/state.h"
#include "planezip/gpu.h"

enum { PZI_LANES = 2, PZI_TICKETS = 64 };

/* A stream, and memory of the device for one segment at a time, which is used in its order. */
struct pzi_lane {
    void *stream;
    void *workspace; /* of the codec */
    void *stage;     /* a coded segment; going out NULL until there is a chunk that is not pinned */
};

enum pzi_mark { PZI_BEGIN, PZI_MIDDLE, PZI_END, PZI_MARKS };

/* A segment on its way.  The middle is between codec and link.  Result and pieces are in pinned
 * memory. */
struct pzi_ticket {
    struct pz_swap *swap;
    size_t segment;
    void *marks[PZI_MARKS];
    pz_gpu_result *result;
    uint64_t *pieces; /* addresses of the segment's chunks */
};

/* A direction: its tickets go round, and number n uses lane n % PZI_LANES. */
struct pzi_way {
    struct pzi_lane lanes[PZI_LANES];
    struct pzi_ticket tickets[PZI_TICKETS];
    uint64_t begun, ended;
};

struct pzi_host {
    struct pzi_tier tier; /* drop, tell and close only */
    pz_engine *engine;
    pz_gpu *gpu;
    pz_pool *pool;
    size_t chunk_bytes;
    size_t pieces_max; /* chunks that a segment can take */
    size_t workspace_bytes[PZ_DIRECTIONS];
    void *pinned; /* of the tickets */
    uint64_t device_bytes;
    struct pzi_way ways[PZ_DIRECTIONS];
};

static inline struct pzi_lane *pzi_lane_of(struct pzi_way *way, uint64_t number)
{
    return &way->lanes[number % PZI_LANES];
}

/* ---- host_work.c: a segment, and what belongs to the device ---- */

/* Room for the engine's segments; PZ_ERR_MEMORY, PZ_ERR_IO. */
pz_status pzi_host_open(pz_engine *engine, struct pzi_host **host, pz_diag *diag);

/* Takes chunks for a segment that codes to no more than so many bytes; those that there were stay
 * the segment's if it fails.  PZ_ERR_FULL, PZ_ERR_MEMORY. */
pz_status pzi_host_reserve(struct pzi_host *host, struct pz_swap *swap, size_t segment,
                           size_t bytes);

/* Gives back those behind its bytes. */
void pzi_host_trim(struct pzi_host *host, struct pz_swap *swap, size_t segment);

/* Puts a segment into a lane; its ticket has all but marks. */
pz_status pzi_host_send(struct pzi_host *host, struct pzi_ticket *ticket, struct pzi_lane *lane);
pz_status pzi_host_fetch(struct pzi_host *host, struct pzi_ticket *ticket, struct pzi_lane *lane);

/* ---- host.c: transfers, as the functions of planezip/engine.h ---- */

pz_status pzi_host_out(struct pz_swap *swap, void *stream, bool wait);
pz_status pzi_host_in(struct pz_swap *swap, void *to, void *stream, bool wait);
pz_status pzi_host_join(const struct pz_swap *swap, void *stream);

/* Notes what has ended. */
void pzi_host_settle(struct pzi_host *host);

/* Waits until the transfers of a tensor, or all, have ended. */
void pzi_host_await(const struct pz_swap *swap);
void pzi_host_await_all(struct pzi_host *host);

#endif
