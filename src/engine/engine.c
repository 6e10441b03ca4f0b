/* Engines and the tensors that they swap: arguments, what is made and freed, and waiting.  What
 * happens in between is in pipe.c. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

#include "base/diag.h"
#include "engine/host.h"
#include "engine/state.h"

/* A disk takes twice as long for segments as small as those in memory. */
enum {
    SEGMENT_BYTES = 1 << 18,
    DISK_SEGMENT_BYTES = 1 << 20,
    HOST_SEGMENT_BYTES = 1 << 24,
    SEGMENT_MAX_BYTES = 1 << 30,
    PAGE = 4096
};
static const uint64_t queue_bytes = UINT64_C(1) << 26, host_queue_bytes = UINT64_C(1) << 30;

static bool is_child(const pz_engine *engine)
{
    return engine->process != (long)getpid();
}

/* ---- Making an engine ------------------------------------------------------------------------ */

static bool is_rate(double bps)
{
    return bps == 0 || (bps >= 1 && bps <= 1e18);
}

static bool is_host_right(const pz_engine_options *options)
{
    return options->gpu != NULL && options->threads == NULL && !options->event &&
           options->done == NULL && options->link_bps[PZ_OUT] == 0 && options->link_bps[PZ_IN] == 0;
}

static bool is_tier_right(const pz_engine_options *options)
{
    const bool has_pool = options->pool != NULL && options->directory == NULL;

    switch (options->tier) {
    case PZ_TIER_MEMORY:
        return has_pool && options->gpu == NULL;
    case PZ_TIER_DISK:
        return options->pool == NULL && options->directory != NULL && options->gpu == NULL;
    case PZ_TIER_HOST:
        return has_pool && is_host_right(options);
    }
    return false;
}

static bool are_right(const pz_engine_options *options)
{
    pz_mode mode;

    return options->size == sizeof *options && is_tier_right(options) &&
           options->bypass <= PZ_BYPASS_ALWAYS && is_rate(options->codec_bps) &&
           is_rate(options->link_bps[PZ_OUT]) && is_rate(options->link_bps[PZ_IN]) &&
           options->segment_bytes % PZ_CHUNK_BYTES == 0 &&
           options->segment_bytes < SEGMENT_MAX_BYTES &&
           (options->codec == NULL || pz_mode_named(options->codec, 8, &mode) == PZ_OK);
}

/* The options with their defaults filled in. */
static void set_options(pz_engine *engine, const pz_engine_options *options)
{
    pz_engine_options *const own = &engine->options;
    size_t bound = 0;

    *own = *options;
    snprintf(engine->codec, sizeof engine->codec, "%s",
             options->codec != NULL ? options->codec : "planezip2");
    own->codec = NULL;
    own->directory = NULL;
    if (own->segment_bytes == 0)
        own->segment_bytes = own->tier == PZ_TIER_DISK   ? DISK_SEGMENT_BYTES
                             : own->tier == PZ_TIER_HOST ? HOST_SEGMENT_BYTES
                                                         : SEGMENT_BYTES;
    (void)pz_stream_bound(own->segment_bytes, &bound);
    engine->slot_bytes = (bound + PAGE - 1) / PAGE * PAGE;
    for (unsigned i = 0; i < PZ_DIRECTIONS; i++)
        if (own->queue_bytes[i] == 0)
            own->queue_bytes[i] = own->tier == PZ_TIER_HOST ? host_queue_bytes : queue_bytes;
}

static void init_pipe(pz_engine *engine, pz_direction direction)
{
    static pzi_step *const steps[PZ_DIRECTIONS][2] = {{pzi_encode, pzi_put}, {pzi_get, pzi_decode}};
    struct pzi_pipe *const pipe = &engine->pipes[direction];
    pthread_condattr_t monotonic;

    pipe->engine = engine;
    pipe->direction = direction;
    memcpy(pipe->steps, steps[direction], sizeof pipe->steps);
    pipe->limit_bytes = engine->options.queue_bytes[direction];
    pipe->stats.link_bps = engine->options.link_bps[direction];
    pipe->is_staged = engine->options.tier == PZ_TIER_DISK || pipe->stats.link_bps != 0;
    pthread_cond_init(&pipe->for_first, NULL);
    pthread_cond_init(&pipe->for_second, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pipe->stop_pacing, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Buffers for the slots: one is enough for a pipe with one thread. */
static pz_status make_staging(pz_engine *engine)
{
    const size_t counts[] = {engine->pipes[PZ_OUT].is_staged ? PZI_SLOTS : 1,
                             engine->pipes[PZ_IN].is_staged ? PZI_SLOTS : 1};
    const uint64_t bytes = (counts[PZ_OUT] + counts[PZ_IN]) * (uint64_t)engine->slot_bytes;
    const pz_pool_options options = {.size = sizeof options,
                                     .budget_bytes = bytes,
                                     .chunk_bytes = engine->slot_bytes,
                                     .mapping_bytes = bytes};
    pz_status status = pz_pool_new(&options, &engine->staging);

    for (unsigned i = 0; i < PZ_DIRECTIONS; i++) {
        for (size_t k = 0; k < counts[i] && status == PZ_OK; k++) {
            void *buffer = NULL;

            status = pz_pool_take(engine->staging, &buffer);
            engine->pipes[i].slots[k].buffer = buffer;
        }
    }
    return status;
}

static pz_status open_tier(pz_engine *engine, const pz_engine_options *options, pz_diag *diag)
{
    int system_error = 0;
    char text[128] = "";
    pz_status status;

    if (options->tier == PZ_TIER_MEMORY)
        return pzi_tier_memory(options->pool, &engine->tier);
    status = pzi_tier_disk(options->directory, options->disk_bytes, engine->slot_bytes,
                           options->cached, &engine->tier, &system_error);
    if (status != PZ_ERR_IO)
        return status;
    if (strerror_r(system_error, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", system_error);
    return pzi_fail_at(diag, status, options->directory, "no file can be made there: %s", text);
}

static pz_status open_event(pz_engine *engine)
{
#ifdef __linux__
    if (engine->options.event)
        engine->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
#endif
    return engine->options.event && engine->event < 0 ? PZ_ERR_IO : PZ_OK;
}

static pz_status start_host(pz_engine *engine, pz_diag *diag)
{
    const pz_status status = pzi_host_open(engine, &engine->host, diag);

    if (status == PZ_OK)
        engine->tier = &engine->host->tier;
    return status;
}

static pz_status start_pipes(pz_engine *engine, const pz_engine_options *options, pz_diag *diag)
{
    pz_status status = open_event(engine);

    if (status != PZ_OK)
        return pzi_fail(diag, status, "there is no eventfd");
    status = make_staging(engine);
    if (status == PZ_OK)
        status = open_tier(engine, options, diag);
    for (unsigned i = 0; i < PZ_DIRECTIONS && status == PZ_OK; i++)
        status = pzi_pipe_start(&engine->pipes[i]);
    return status == PZ_ERR_MEMORY ? pzi_no_memory(diag) : status;
}

pz_status pz_engine_new(const pz_engine_options *options, pz_engine **engine, pz_diag *diag)
{
    pz_engine *made;
    pz_status status;

    if (options == NULL || engine == NULL || !are_right(options))
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "options of an engine are missing or out of range");
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return pzi_no_memory(diag);
    set_options(made, options);
    made->process = (long)getpid();
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    init_pipe(made, PZ_OUT);
    init_pipe(made, PZ_IN);
    made->event = -1;
    status =
        options->tier == PZ_TIER_HOST ? start_host(made, diag) : start_pipes(made, options, diag);
    if (status == PZ_OK)
        *engine = made;
    else
        pz_engine_free(made);
    return status;
}

/* ---- Freeing an engine ----------------------------------------------------------------------- */

/* Coming in first, as that may wait for going out. */
static void cancel_both(pz_swap *swap)
{
    pzi_cancel(&swap->engine->pipes[PZ_IN], &swap->jobs[PZ_IN]);
    pzi_cancel(&swap->engine->pipes[PZ_OUT], &swap->jobs[PZ_OUT]);
}

static void stop(pz_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->is_stopping = true;
    if (engine->host != NULL)
        pzi_host_await_all(engine->host);
    for (pz_swap *swap = engine->swaps; swap != NULL; swap = swap->next)
        cancel_both(swap);
    pthread_mutex_unlock(&engine->lock);
    pzi_pipe_stop(&engine->pipes[PZ_OUT]);
    pzi_pipe_stop(&engine->pipes[PZ_IN]);
    pthread_mutex_destroy(&engine->lock);
    pthread_cond_destroy(&engine->changed);
}

static void free_swaps(pz_engine *engine)
{
    while (engine->swaps != NULL) {
        pz_swap *const swap = engine->swaps;

        engine->swaps = swap->next;
        engine->tier->drop(engine->tier, &swap->place);
        free(swap);
    }
}

static void free_staging(pz_engine *engine)
{
    for (unsigned i = 0; i < PZ_DIRECTIONS; i++)
        for (size_t k = 0; k < PZI_SLOTS; k++)
            if (engine->pipes[i].slots[k].buffer != NULL)
                (void)pz_pool_give(engine->staging, engine->pipes[i].slots[k].buffer);
    (void)pz_pool_free(engine->staging);
}

/* A child has none of the threads, and the list of tensors may have been changed just then. */
void pz_engine_free(pz_engine *engine)
{
    if (engine == NULL)
        return;
    if (!is_child(engine)) {
        stop(engine);
        free_swaps(engine);
    }
    if (engine->tier != NULL)
        engine->tier->close(engine->tier);
    if (engine->event >= 0)
        close(engine->event);
    free_staging(engine);
    free(engine);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static pz_swap *make_swap(pz_engine *engine, const pz_swap_options *options, size_t count)
{
    pz_swap *const swap = calloc(1, sizeof *swap + count * sizeof swap->segments[0]);

    if (swap == NULL)
        return NULL;
    swap->engine = engine;
    swap->data = options->data;
    swap->ratio = options->ratio;
    swap->is_measured = options->measure;
    swap->stats.size = sizeof swap->stats;
    swap->stats.token = options->token;
    swap->stats.raw_bytes = options->bytes;
    swap->jobs[PZ_OUT].swap = swap->jobs[PZ_IN].swap = swap;
    swap->place.count = count;
    swap->place.segments = swap->segments;
    for (size_t i = 0; i < count; i++)
        swap->segments[i].at = PZI_NOWHERE;
    return swap;
}

static void link_swap(pz_swap *swap)
{
    pz_engine *const engine = swap->engine;

    swap->next = engine->swaps;
    if (swap->next != NULL)
        swap->next->previous = swap;
    engine->swaps = swap;
    engine->swap_count++;
}

static void unlink_swap(pz_swap *swap)
{
    pz_engine *const engine = swap->engine;

    if (swap->previous != NULL)
        swap->previous->next = swap->next;
    else
        engine->swaps = swap->next;
    if (swap->next != NULL)
        swap->next->previous = swap->previous;
    engine->swap_count--;
}

pz_status pz_swap_out(pz_engine *engine, const pz_swap_options *options, bool wait, pz_swap **swap)
{
    pz_mode mode;
    pz_swap *made;
    size_t segment;
    pz_status status;

    if (engine == NULL || is_child(engine) || options == NULL || options->size != sizeof *options ||
        swap == NULL || (options->data == NULL && options->bytes != 0) || !(options->ratio >= 0) ||
        (options->stream != NULL && engine->host == NULL) ||
        pz_mode_of(engine->codec, PZ_PROFILE_NATIVE, options->dtype, &mode) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    segment = engine->options.segment_bytes;
    made = make_swap(engine, options, options->bytes / segment + (options->bytes % segment != 0));
    if (made == NULL)
        return PZ_ERR_MEMORY;
    made->mode = mode;
    pthread_mutex_lock(&engine->lock);
    link_swap(made);
    status = engine->host != NULL ? pzi_host_out(made, options->stream, wait)
                                  : pzi_submit(&engine->pipes[PZ_OUT], &made->jobs[PZ_OUT], wait);
    if (status != PZ_OK)
        unlink_swap(made);
    pthread_mutex_unlock(&engine->lock);
    if (status == PZ_OK)
        *swap = made;
    else
        free(made);
    return status;
}

/* Whether it can come in now. */
static pz_status is_ready(const pz_swap *swap, const void *to)
{
    if (swap->is_measured || (to == NULL && swap->stats.raw_bytes != 0))
        return PZ_ERR_ARGUMENT;
    if (swap->jobs[PZ_IN].state != PZI_IDLE)
        return PZ_ERR_BUSY;
    return swap->jobs[PZ_OUT].state == PZI_IDLE ? swap->jobs[PZ_OUT].status : PZ_OK;
}

static pz_status swap_in_on_device(pz_swap *swap, void *to, void *stream, bool wait)
{
    pz_status status;

    if (swap->is_measured || (to == NULL && swap->stats.raw_bytes != 0))
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&swap->engine->lock);
    status = pzi_host_in(swap, to, stream, wait);
    pthread_mutex_unlock(&swap->engine->lock);
    return status;
}

pz_status pz_swap_in_on(pz_swap *swap, void *to, void *stream, bool wait)
{
    if (swap == NULL || is_child(swap->engine) || swap->engine->host == NULL)
        return PZ_ERR_ARGUMENT;
    return swap_in_on_device(swap, to, stream, wait);
}

pz_status pz_swap_join(pz_swap *swap, void *stream)
{
    pz_status status;

    if (swap == NULL || is_child(swap->engine) || swap->engine->host == NULL)
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&swap->engine->lock);
    status = pzi_host_join(swap, stream);
    pthread_mutex_unlock(&swap->engine->lock);
    return status;
}

pz_status pz_swap_in(pz_swap *swap, void *to, bool wait)
{
    pz_engine *engine;
    pz_status status;

    if (swap == NULL || is_child(swap->engine))
        return PZ_ERR_ARGUMENT;
    engine = swap->engine;
    if (engine->host != NULL)
        return swap_in_on_device(swap, to, NULL, wait);
    pthread_mutex_lock(&engine->lock);
    status = is_ready(swap, to);
    if (status == PZ_OK)
        status = pzi_submit(&engine->pipes[PZ_IN], &swap->jobs[PZ_IN], wait);
    if (status == PZ_OK) {
        swap->to = to; /* nothing reads it before the lock is open */
        swap->last = PZ_IN;
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

/* Waits with the lock; the status of the last transfer. */
static pz_status await(const pz_swap *swap)
{
    if (swap->engine->host != NULL)
        pzi_host_await(swap);
    while (!pzi_is_idle(swap))
        pthread_cond_wait(&swap->engine->changed, &swap->engine->lock);
    return swap->jobs[swap->last].status;
}

pz_status pz_swap_wait(pz_swap *swap)
{
    pz_status status;

    if (swap == NULL || is_child(swap->engine))
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&swap->engine->lock);
    status = await(swap);
    pthread_mutex_unlock(&swap->engine->lock);
    return status;
}

bool pz_swap_done(pz_swap *swap)
{
    bool done;

    if (swap == NULL || is_child(swap->engine))
        return true;
    pthread_mutex_lock(&swap->engine->lock);
    if (swap->engine->host != NULL)
        pzi_host_settle(swap->engine->host);
    done = pzi_is_idle(swap);
    pthread_mutex_unlock(&swap->engine->lock);
    return done;
}

pz_status pz_swap_cancel(pz_swap *swap)
{
    pz_status status;

    if (swap == NULL || is_child(swap->engine))
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&swap->engine->lock);
    if (swap->engine->host == NULL)
        cancel_both(swap);
    status = await(swap);
    pthread_mutex_unlock(&swap->engine->lock);
    return status;
}

void pzi_forget(pz_swap *swap)
{
    struct pzi_tier *const tier = swap->engine->tier;

    unlink_swap(swap);
    tier->drop(tier, &swap->place);
    free(swap);
}

/* In a child nothing can be done: see pz_engine_free(). */
void pz_swap_free(pz_swap *swap)
{
    pz_engine *engine;

    if (swap == NULL || is_child(swap->engine))
        return;
    engine = swap->engine;
    pthread_mutex_lock(&engine->lock);
    if (engine->host != NULL) {
        pzi_host_settle(engine->host);
        swap->is_orphan = !pzi_is_idle(swap);
    } else {
        cancel_both(swap);
        (void)await(swap);
    }
    if (!swap->is_orphan)
        pzi_forget(swap);
    pthread_mutex_unlock(&engine->lock);
}

/* ---- Waiting for all, statistics ------------------------------------------------------------- */

int pz_engine_event(const pz_engine *engine)
{
    return engine != NULL ? engine->event : -1;
}

pz_status pz_engine_wait(pz_engine *engine)
{
    if (engine == NULL || is_child(engine))
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&engine->lock);
    if (engine->host != NULL)
        pzi_host_await_all(engine->host);
    while (engine->under_way != 0)
        pthread_cond_wait(&engine->changed, &engine->lock);
    pthread_mutex_unlock(&engine->lock);
    return PZ_OK;
}

pz_status pz_swap_get_stats(pz_swap *swap, pz_swap_stats *stats)
{
    if (swap == NULL || is_child(swap->engine) || stats == NULL || stats->size != sizeof *stats)
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&swap->engine->lock);
    if (swap->engine->host != NULL)
        pzi_host_settle(swap->engine->host);
    *stats = swap->stats;
    pthread_mutex_unlock(&swap->engine->lock);
    return PZ_OK;
}

static void tell_direction(const struct pzi_pipe *pipe, pz_direction_stats *stats)
{
    *stats = pipe->stats;
    stats->coded_bps = pzi_bps(&pipe->code);
    stats->moved_bps = pzi_bps(&pipe->move);
}

pz_status pz_engine_get_stats(pz_engine *engine, pz_engine_stats *stats)
{
    pz_pool_stats staging = {.size = sizeof staging};

    if (engine == NULL || is_child(engine) || stats == NULL || stats->size != sizeof *stats)
        return PZ_ERR_ARGUMENT;
    (void)pz_pool_get_stats(engine->staging, &staging);
    stats->staging_bytes = staging.mapped_bytes;
    pthread_mutex_lock(&engine->lock);
    if (engine->host != NULL)
        pzi_host_settle(engine->host);
    engine->tier->tell(engine->tier, stats);
    stats->swaps = engine->swap_count;
    for (unsigned i = 0; i < PZ_DIRECTIONS; i++)
        tell_direction(&engine->pipes[i], &stats->directions[i]);
    pthread_mutex_unlock(&engine->lock);
    return PZ_OK;
}
