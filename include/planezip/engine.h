/* PlaneZip: tensors that leave the memory where they are computed with, and come back: a pool of
 * chunks of one size, and an engine that compresses and moves tensors while the program goes on.
 *
 * Pools and engines may be used by any number of threads at once.  After fork() a child may free
 * what it has inherited, and nothing else; memory of tensors that were swapped out then stays with
 * it until it ends.  Times are nanoseconds, rates bytes per second.  Options begin with their own
 * size; a field that is 0 or NULL stands for its default.  So do statistics, whose size the caller
 * sets. */
#ifndef PLANEZIP_ENGINE_H
#define PLANEZIP_ENGINE_H

#include <planezip/gpu.h>
#include <planezip/planezip.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Pool -------------------------------------------------------------------------------------
 *
 * Chunks of one size, carved from a few large mappings, so that there is no fragmentation: as long
 * as less than the budget is taken, there is a chunk.  Mappings are made when they are needed, and
 * all of them together never exceed the budget. */

typedef struct pz_pool pz_pool;

typedef struct pz_pool_options {
    size_t size;            /* sizeof(pz_pool_options) */
    uint64_t budget_bytes;  /* of which whole chunks are used */
    size_t chunk_bytes;     /* a multiple of 4096; 0: 65536 */
    uint64_t mapping_bytes; /* 0: 64 MiB, or a sixteenth of the budget if that is more */
    bool all_at_once;       /* map, and pin, the whole budget in pz_pool_new() */

    /* Makes a new mapping one that a device reads and writes at full speed; NULL: there is no
     * device.  If it fails, this mapping and all later ones are pageable, and `warn` is told so
     * once; with pinned_only there is no chunk then.  Neither may call the pool. */
    pz_status (*pin)(void *user, void *memory, size_t bytes);
    void (*unpin)(void *user, void *memory, size_t bytes);
    bool pinned_only;

    /* Is told, in one line, what went wrong and what to do: at the first mapping that could not be
     * pinned, at the first that could not be made, and about chunks that are out when the pool is
     * to be freed.  Must not call the pool. */
    void (*warn)(void *user, const char *text);
    void *user;
} pz_pool_options;

/* PZ_ERR_ARGUMENT for a budget of less than a chunk or sizes that are not right; PZ_ERR_MEMORY,
 * also if all_at_once is not possible. */
PZ_API pz_status pz_pool_new(const pz_pool_options *options, pz_pool **pool);

/* PZ_ERR_BUSY if chunks are out: the pool is left as it is then.  NULL is fine. */
PZ_API pz_status pz_pool_free(pz_pool *pool);

/* A chunk of chunk_bytes, aligned to 4096; its content is undefined.  PZ_ERR_FULL if the budget is
 * used up, PZ_ERR_MEMORY if the system has no memory, or none that can be pinned. */
PZ_API pz_status pz_pool_take(pz_pool *pool, void **chunk);

/* PZ_ERR_ARGUMENT if it is no chunk of the pool that is out. */
PZ_API pz_status pz_pool_give(pz_pool *pool, void *chunk);

/* Gives mappings back to the system of which no chunk is out. */
PZ_API void pz_pool_trim(pz_pool *pool);

typedef struct pz_pool_stats {
    size_t size; /* sizeof(pz_pool_stats) */
    size_t chunk_bytes;
    uint64_t budget_bytes; /* of whole chunks */
    uint64_t mapped_bytes;
    uint64_t pinned_bytes;
    uint64_t used_bytes; /* by chunks that are out */
    uint64_t peak_bytes; /* the most that was out at a time */
    uint64_t mappings;
    uint64_t taken;   /* chunks since the pool was made */
    uint64_t refused; /* of those that there was none for */
} pz_pool_stats;

PZ_API pz_status pz_pool_get_stats(pz_pool *pool, pz_pool_stats *stats);

/* ---- Engine -----------------------------------------------------------------------------------
 *
 * Swaps tensors out to a tier and in again, on threads of its own.  Each direction is a queue:
 * transfers begin, and those that are not cancelled end, in the order in which they were asked
 * for.  A transfer is cut into segments, which are coded by one thread of the direction while
 * another one moves those before.
 *
 * The host tier is for tensors in the memory of a device, which codes them and moves what they
 * become; the engine puts the work into streams of its own and has no threads.  Memory passes
 * between them and the caller's streams in the order of these, and nobody waits:
 * - pz_swap_out() and pz_swap_in_on() are told in which stream the tensor is made, or the last use
 *   of its new memory is, and start behind what is in there by then;
 * - after pz_swap_join() a stream may write to the memory that was swapped out, or read what was
 *   swapped in.  Until it is joined that memory is the engine's, also if the tensor is freed.
 * Where a call waits all the same it waits for the device, and others of the engine wait with it:
 * for room in the queue or the pool, for a tensor to be out, or in, that is to come in (without
 * `wait` PZ_ERR_BUSY), in pz_swap_wait(), pz_swap_cancel() and pz_engine_wait(), and for every
 * tensor that goes to chunks that are not pinned.  That a transfer cannot begin, as there is no
 * room in the pool or the driver fails, is told by the call itself.  What has ended is noticed when
 * the next call is made; until then a tensor that was freed counts in statistics. */

typedef struct pz_engine pz_engine;

typedef enum pz_direction { PZ_OUT = 0, PZ_IN = 1, PZ_DIRECTIONS = 2 } pz_direction;

typedef enum pz_tier {
    PZ_TIER_MEMORY = 1, /* chunks of a pool */
    PZ_TIER_DISK = 2,   /* a file without a name, which is gone when the engine or process is */
    PZ_TIER_HOST = 3    /* chunks of a pool, for tensors of a device */
} pz_tier;

/* When tensors are moved without the codec. */
typedef enum pz_bypass {
    PZ_BYPASS_AUTO = 0,  /* if the codec would not shorten the transfer: Equation 2 of the paper */
    PZ_BYPASS_NEVER = 1, /* segments that would grow are stored raw all the same */
    PZ_BYPASS_ALWAYS = 2
} pz_bypass;

typedef struct pz_engine_options {
    size_t size; /* sizeof(pz_engine_options) */
    pz_tier tier;
    pz_pool *pool;         /* memory, host: outlives the engine; disk: NULL */
    const char *directory; /* disk */
    uint64_t disk_bytes;   /* disk: the largest size of the file; 0: no limit */
    bool cached;           /* disk: through the page cache, also where O_DIRECT would work */
    const char *codec;     /* as pz_mode_named(); NULL: "planezip2" */
    pz_bypass bypass;
    double codec_bps;               /* for Equation 2; 0: as measured, else 1 to 1e18 */
    double link_bps[PZ_DIRECTIONS]; /* emulates a link of this rate, 1 to 1e18; 0: there is none */

    /* Raw bytes of the transfers of a direction that may be under way at once; 0: 64 MiB, for a
     * host 1 GiB.  A tensor that is larger is under way alone. */
    uint64_t queue_bytes[PZ_DIRECTIONS];

    /* A multiple of 4096 below 2^30; 0: 262144, for a disk 1048576, for a host 16777216.  A host
     * tier takes four times as much memory of the device, six if the pool is not pinned. */
    size_t segment_bytes;
    pz_threads *threads; /* that code a segment, outliving the engine; NULL: one each direction */
    bool event;          /* pz_engine_event() is wanted */

    /* Called when a transfer has ended, by a thread of the engine or one that cancels.  Until it
     * returns the transfer counts as under way, and so do those behind it.  It may swap, without
     * waiting, and must not wait for, cancel or free anything of the engine.  It may come before
     * pz_swap_out() has returned and *swap is set. */
    void (*done)(void *user, uint64_t token, pz_direction direction, pz_status status);
    void *user;

    /* Host, which has no threads, event, done and link_bps: the device, which outlives the engine,
     * and how many warps may be coding or gathering at once, for room beside other work; 0: no
     * limit.  Its pool should pin, by pz_gpu_pin(). */
    pz_gpu *gpu;
    unsigned groups;
} pz_engine_options;

/* PZ_ERR_ARGUMENT, PZ_ERR_MEMORY, PZ_ERR_IO (the file; diag, which may be NULL, says why). */
PZ_API pz_status pz_engine_new(const pz_engine_options *options, pz_engine **engine, pz_diag *diag);

/* Cancels what is under way and frees everything, also every pz_swap of the engine.  Not while
 * another call uses it, but those of options.done: they are PZ_ERR_CANCELLED from then on.  NULL is
 * fine. */
PZ_API void pz_engine_free(pz_engine *engine);

/* An eventfd that each transfer that ends counts up, for poll() and the like; it is read by the
 * caller and closed by pz_engine_free().  -1 if options.event was not set. */
PZ_API int pz_engine_event(const pz_engine *engine);

/* Waits until nothing is under way. */
PZ_API pz_status pz_engine_wait(pz_engine *engine);

/* A tensor that is, or is going to be, in the tier.  It belongs to the caller, who frees it. */
typedef struct pz_swap pz_swap;

typedef struct pz_swap_options {
    size_t size; /* sizeof(pz_swap_options) */
    const void *data;
    size_t bytes;
    pz_dtype dtype;
    uint64_t token; /* the caller's, for options.done and statistics */

    /* Predicted, for PZ_BYPASS_AUTO.  0: not known: the codec is left out only if it is slower than
     * the link. */
    double ratio;
    bool measure; /* nothing is stored: the transfer only tells coded_bytes */
    void *stream; /* host: of the device, in which the data is made; NULL is its default one */
} pz_swap_options;

/* Begins to swap a tensor out.  Its data must stay and must not change until the transfer has
 * ended.  While there is no room in the queue the call waits, or without `wait` it is PZ_ERR_BUSY.
 * The transfer may end with
 * - PZ_OK: the tensor is in the tier until it is freed;
 * - PZ_ERR_FULL, PZ_ERR_MEMORY, PZ_ERR_IO, PZ_ERR_CANCELLED: nothing of it is there, the caller's
 *   data is still the tensor. */
PZ_API pz_status pz_swap_out(pz_engine *engine, const pz_swap_options *options, bool wait,
                             pz_swap **swap);

/* Begins to swap it in: to `to`, which has room for its bytes and must stay until the transfer has
 * ended.  That is a prefetch if it is asked for early.  The tensor stays in the tier, so it may be
 * swapped in any number of times, one after the other; PZ_ERR_BUSY while it is, or without `wait`
 * if there is no room in the queue.  If it is on its way out, that is waited for.  The transfer may
 * end with the status of swapping out, PZ_ERR_IO, PZ_ERR_TRUNCATED, PZ_ERR_CHECK (other bytes came
 * back than were written) or PZ_ERR_CANCELLED; what is at `to` is undefined then.  If swapping out
 * has failed, the call itself returns with what. */
PZ_API pz_status pz_swap_in(pz_swap *swap, void *to, bool wait);

/* The same for the host tier, where `to` is memory of the device that is free once all is done that
 * is in a stream by now; pz_swap_in() means the default one. */
PZ_API pz_status pz_swap_in_on(pz_swap *swap, void *to, void *stream, bool wait);

/* Host tier: makes a stream wait for the last transfer that was asked for: until the memory that
 * was swapped out is free, or that which was swapped in is there.  The status of the transfer as
 * far as that is known: to be sure that what came in is right takes pz_swap_wait(). */
PZ_API pz_status pz_swap_join(pz_swap *swap, void *stream);

/* Waits for the transfers of a tensor; the status of the last one that was asked for. */
PZ_API pz_status pz_swap_wait(pz_swap *swap);

/* True if no transfer of it is under way. */
PZ_API bool pz_swap_done(pz_swap *swap);

/* Cancels the transfers of a tensor that are under way, and waits for those that have begun to
 * stop, which takes no longer than a segment does.  The status of the last one, as after
 * pz_swap_wait().  A pz_swap_in() of another thread that waits for room in the queue returns
 * PZ_ERR_CANCELLED, and is as if it had not been called.  A device does not stop: host transfers
 * are waited for. */
PZ_API pz_status pz_swap_cancel(pz_swap *swap);

/* Cancels, and gives the tensor's place in the tier free.  The caller's memory is its own again
 * after the call.  NULL is fine.  Host: the place is free once transfers have ended, for which the
 * call does not wait; the caller's memory is to be joined before. */
PZ_API void pz_swap_free(pz_swap *swap);

/* Of one tensor.  Times are sums over its transfers: waiting in the queue, coding, moving. */
typedef struct pz_swap_stats {
    size_t size; /* sizeof(pz_swap_stats) */
    uint64_t token;
    uint64_t raw_bytes;
    uint64_t coded_bytes; /* 0 before it is out */
    bool bypassed;        /* moved without the codec */
    int32_t system_error; /* errno of the last PZ_ERR_IO or PZ_ERR_FULL of the disk, or 0 */
    uint64_t swapped_in;  /* how many times */
    int64_t queued_ns[PZ_DIRECTIONS];
    int64_t code_ns[PZ_DIRECTIONS];
    int64_t move_ns[PZ_DIRECTIONS]; /* with the emulated link */
} pz_swap_stats;

PZ_API pz_status pz_swap_get_stats(pz_swap *swap, pz_swap_stats *stats);

/* Of one direction. */
typedef struct pz_direction_stats {
    uint64_t transfers; /* that have ended, those that follow included */
    uint64_t failed;
    uint64_t cancelled;
    uint64_t bypassed;
    uint64_t raw_bytes;   /* of transfers that ended well */
    uint64_t coded_bytes; /* and what was moved for them */
    uint64_t queue_bytes; /* raw bytes under way */
    uint64_t queue_peak_bytes;
    int64_t code_ns;
    int64_t move_ns;    /* with the emulated link */
    int64_t blocked_ns; /* that callers waited for room in the queue */
    double link_bps;    /* of the emulated link; 0: there is none */

    /* As measured of late: raw bytes that the codec coded, and bytes moved, with the emulated link;
     * 0: none yet. */
    double coded_bps;
    double moved_bps;
} pz_direction_stats;

typedef struct pz_engine_stats {
    size_t size; /* sizeof(pz_engine_stats) */
    pz_direction_stats directions[PZ_DIRECTIONS];
    uint64_t swaps;         /* that have not been freed */
    uint64_t staging_bytes; /* memory for segments on their way, besides pool and queues */
    uint64_t disk_bytes;    /* size of the file */
    bool is_direct;         /* past the page cache */
} pz_engine_stats;

PZ_API pz_status pz_engine_get_stats(pz_engine *engine, pz_engine_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
