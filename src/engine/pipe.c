/* One direction of an engine: a queue of jobs and the threads that work it off.  Slots go round
 * between the two threads, so that a segment is coded while another one is moved, and jobs end in
 * the order in which they began. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "engine/state.h"

int64_t pzi_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Lists of jobs --------------------------------------------------------------------------- */

static void add_job(struct pzi_jobs *jobs, struct pzi_job *job)
{
    job->next = NULL;
    if (jobs->first == NULL)
        jobs->first = job;
    else
        jobs->last->next = job;
    jobs->last = job;
}

static void remove_job(struct pzi_jobs *jobs, const struct pzi_job *job)
{
    struct pzi_job **link = &jobs->first, *before = NULL;

    while (*link != job) {
        before = *link;
        link = &(*link)->next;
    }
    *link = job->next;
    if (jobs->last == job)
        jobs->last = before;
}

/* ---- Accounts -------------------------------------------------------------------------------- */

static bool is_move(const struct pzi_pipe *pipe, unsigned step)
{
    return (pipe->direction == PZ_OUT) == (step == 1);
}

/* A segment was moved.  Only the thread that has done it may look at the place's error. */
static void account_move(struct pzi_pipe *pipe, const struct pzi_slot *slot, int64_t ns)
{
    struct pz_swap *const swap = slot->job->swap;

    if (slot->job->status == PZ_OK && !swap->is_measured)
        pzi_add_rate(&pipe->move, swap->segments[slot->segment].bytes, (double)ns);
    pipe->stats.move_ns += ns;
    swap->stats.move_ns[pipe->direction] += ns;
    if (swap->place.system_error != 0)
        swap->stats.system_error = swap->place.system_error;
}

/* Whether the codec had to do with a segment: the encoder tries those that it leaves raw, too. */
static bool is_codec_used(const struct pzi_pipe *pipe, const struct pzi_slot *slot)
{
    const struct pz_swap *const swap = slot->job->swap;

    return pipe->direction == PZ_OUT ? !swap->stats.bypassed && !swap->is_measured
                                     : swap->segments[slot->segment].is_coded;
}

static void account_code(struct pzi_pipe *pipe, const struct pzi_slot *slot, int64_t ns)
{
    struct pz_swap *const swap = slot->job->swap;

    if (slot->job->status == PZ_OK && is_codec_used(pipe, slot))
        pzi_add_rate(&pipe->code, (double)pzi_segment_raw(swap, slot->segment), (double)ns);
    pipe->stats.code_ns += ns;
    swap->stats.code_ns[pipe->direction] += ns;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Waits until the emulated link has moved a segment.  It was free for it since the segment was
 * ready, so that waiting too long once is made up for by the next one. */
static void pace(struct pzi_pipe *pipe, const struct pzi_slot *slot)
{
    const struct pz_swap *const swap = slot->job->swap;
    const double bps = pipe->engine->options.link_bps[pipe->direction];
    const uint64_t bytes = swap->is_measured ? 0 : swap->segments[slot->segment].bytes;

    if (bps == 0)
        return;
    if (pipe->link_free_ns < slot->ready_ns)
        pipe->link_free_ns = slot->ready_ns;
    pipe->link_free_ns += (int64_t)((double)bytes * 1e9 / bps);
    while (slot->job->status == PZ_OK && pzi_now_ns() < pipe->link_free_ns) {
        const struct timespec until = {(time_t)(pipe->link_free_ns / 1000000000),
                                       (long)(pipe->link_free_ns % 1000000000)};

        pthread_cond_timedwait(&pipe->stop_pacing, &pipe->engine->lock, &until);
    }
    if (slot->job->status != PZ_OK) /* what is cancelled leaves the link at once */
        pipe->link_free_ns = pzi_now_ns();
}

/* With the lock, which is open during the step. */
static void run_step(struct pzi_pipe *pipe, struct pzi_slot *slot, unsigned step)
{
    struct pzi_job *const job = slot->job;
    const int64_t start_ns = pzi_now_ns();
    pz_status status;

    if (job->status != PZ_OK)
        return;
    pthread_mutex_unlock(&pipe->engine->lock);
    status = pipe->steps[step](job->swap, slot->segment, slot->buffer);
    pthread_mutex_lock(&pipe->engine->lock);
    if (job->status == PZ_OK)
        job->status = status;
    if (!is_move(pipe, step)) {
        account_code(pipe, slot, pzi_now_ns() - start_ns);
        return;
    }
    if (status == PZ_OK)
        pace(pipe, slot);
    account_move(pipe, slot, pzi_now_ns() - start_ns);
}

/* ---- The end of a job ------------------------------------------------------------------------ */

static uint64_t coded_bytes(const struct pz_swap *swap)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < swap->place.count; i++)
        bytes += swap->segments[i].bytes;
    return bytes;
}

static void settle_out(struct pzi_pipe *pipe, struct pzi_job *job)
{
    struct pz_swap *const swap = job->swap;
    const bool is_stored = job->status == PZ_OK && !swap->is_measured;

    swap->data = NULL;
    if (!is_stored)
        pipe->engine->tier->drop(pipe->engine->tier, &swap->place);
    if (job->status == PZ_OK)
        swap->stats.coded_bytes = coded_bytes(swap);
}

void pzi_settle(struct pzi_pipe *pipe, struct pzi_job *job)
{
    struct pz_swap *const swap = job->swap;

    if (pipe->direction == PZ_OUT)
        settle_out(pipe, job);
    else
        swap->to = NULL;
    pipe->stats.transfers++;
    pipe->stats.cancelled += job->status == PZ_ERR_CANCELLED;
    pipe->stats.failed += job->status != PZ_OK && job->status != PZ_ERR_CANCELLED;
    if (job->status != PZ_OK)
        return;
    swap->stats.swapped_in += pipe->direction == PZ_IN;
    pipe->stats.bypassed += swap->stats.bypassed;
    pipe->stats.raw_bytes += swap->stats.raw_bytes;
    pipe->stats.coded_bytes += swap->stats.coded_bytes;
}

static void signal_event(const pz_engine *engine)
{
    const uint64_t one = 1;

    /* It fails only if the count is full, and then it is readable all the same. */
    if (engine->event >= 0 && write(engine->event, &one, sizeof one) < 0)
        return;
}

/* With the lock, which is open while the caller is told.  The tensor may be gone afterwards. */
static void complete(struct pzi_pipe *pipe, struct pzi_job *job)
{
    pz_engine *const engine = pipe->engine;
    const pz_swap_stats *const stats = &job->swap->stats;

    job->state = PZI_ENDING;
    pzi_settle(pipe, job);
    if (engine->options.done != NULL) {
        pthread_mutex_unlock(&engine->lock);
        engine->options.done(engine->options.user, stats->token, pipe->direction, job->status);
        pthread_mutex_lock(&engine->lock);
    }
    pipe->stats.queue_bytes -= stats->raw_bytes;
    engine->under_way--;
    job->state = PZI_IDLE;
    pthread_cond_broadcast(&engine->changed);
    signal_event(engine);
}

/* The second thread's part of a slot. */
static void consume(struct pzi_pipe *pipe, struct pzi_slot *slot)
{
    if (slot->is_end)
        complete(pipe, slot->job);
    else
        run_step(pipe, slot, 1);
}

/* ---- The first thread ------------------------------------------------------------------------ */

static void wait_first(struct pzi_pipe *pipe, pthread_cond_t *condition)
{
    pthread_cond_wait(condition, &pipe->engine->lock);
    pipe->awake_ns = pzi_now_ns();
}

static struct pzi_slot *free_slot(struct pzi_pipe *pipe, struct pzi_job *job, size_t segment)
{
    struct pzi_slot *slot;

    while (pipe->produced - pipe->consumed == PZI_SLOTS)
        wait_first(pipe, &pipe->for_first);
    slot = &pipe->slots[pipe->produced % PZI_SLOTS];
    slot->job = job;
    slot->segment = segment;
    slot->is_end = segment == job->swap->place.count;
    slot->ready_ns = pipe->awake_ns;
    return slot;
}

static void hand_over(struct pzi_pipe *pipe, struct pzi_slot *slot)
{
    if (pipe->direction == PZ_OUT)
        slot->ready_ns = pzi_now_ns();
    if (!pipe->is_staged) {
        consume(pipe, slot);
        return;
    }
    pipe->produced++;
    pthread_cond_signal(&pipe->for_second);
}

/* What comes in must be out first. */
static void await_out(struct pzi_pipe *pipe, struct pzi_job *job)
{
    const struct pzi_job *const out = &job->swap->jobs[PZ_OUT];

    while (out->state != PZI_IDLE && job->status == PZ_OK)
        wait_first(pipe, &pipe->engine->changed);
    if (job->status == PZ_OK)
        job->status = out->status;
}

static void run_job(struct pzi_pipe *pipe, struct pzi_job *job)
{
    struct pz_swap *const swap = job->swap;
    const size_t count = swap->place.count;

    swap->stats.queued_ns[pipe->direction] += pzi_now_ns() - job->queued_ns;
    if (pipe->direction == PZ_IN)
        await_out(pipe, job);
    else
        swap->stats.bypassed = pzi_decide_bypass(swap);
    for (size_t i = 0; i < count && job->status == PZ_OK; i++) {
        struct pzi_slot *const slot = free_slot(pipe, job, i);

        run_step(pipe, slot, 0);
        if (job->status == PZ_OK)
            hand_over(pipe, slot);
    }
    hand_over(pipe, free_slot(pipe, job, count));
}

/* NULL if the engine stops. */
static struct pzi_job *next_job(struct pzi_pipe *pipe)
{
    struct pzi_job *job;

    while (pipe->queue.first == NULL && !pipe->engine->is_stopping)
        wait_first(pipe, &pipe->for_first);
    job = pipe->queue.first;
    if (job != NULL) {
        remove_job(&pipe->queue, job);
        job->state = PZI_RUNNING;
    }
    return job;
}

static void *first_thread(void *arg)
{
    struct pzi_pipe *const pipe = arg;
    struct pzi_job *job;

    pthread_mutex_lock(&pipe->engine->lock);
    pipe->awake_ns = pzi_now_ns(); /* it may find a job without ever having waited */
    while ((job = next_job(pipe)) != NULL)
        run_job(pipe, job);
    pipe->has_ended = true;
    pthread_cond_signal(&pipe->for_second);
    pthread_mutex_unlock(&pipe->engine->lock);
    return NULL;
}

static void *second_thread(void *arg)
{
    struct pzi_pipe *const pipe = arg;

    pthread_mutex_lock(&pipe->engine->lock);
    while (!pipe->has_ended || pipe->consumed != pipe->produced) {
        if (pipe->consumed == pipe->produced) {
            pthread_cond_wait(&pipe->for_second, &pipe->engine->lock);
            continue;
        }
        consume(pipe, &pipe->slots[pipe->consumed % PZI_SLOTS]);
        pipe->consumed++;
        pthread_cond_signal(&pipe->for_first);
    }
    pthread_mutex_unlock(&pipe->engine->lock);
    return NULL;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

/* Signals are for the threads of the program; and a write past the limit of file sizes fails then
 * instead of ending it. */
pz_status pzi_pipe_start(struct pzi_pipe *pipe)
{
    static void *(*const bodies[])(void *arg) = {first_thread, second_thread};
    const unsigned wanted = pipe->is_staged ? 2 : 1;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pipe->started < wanted &&
           pthread_create(&pipe->threads[pipe->started], NULL, bodies[pipe->started], pipe) == 0)
        pipe->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pipe->started == wanted ? PZ_OK : PZ_ERR_MEMORY;
}

void pzi_pipe_stop(struct pzi_pipe *pipe)
{
    pthread_mutex_lock(&pipe->engine->lock);
    pthread_cond_broadcast(&pipe->for_first);
    pthread_mutex_unlock(&pipe->engine->lock);
    for (unsigned i = 0; i < pipe->started; i++)
        pthread_join(pipe->threads[i], NULL);
    pthread_cond_destroy(&pipe->for_first);
    pthread_cond_destroy(&pipe->for_second);
    pthread_cond_destroy(&pipe->stop_pacing);
}

/* ---- The queue ------------------------------------------------------------------------------- */

/* Callers take turns, so that large tensors are not overtaken for ever. */
static pz_status await_room(struct pzi_pipe *pipe, struct pzi_job *job, bool wait)
{
    const int64_t start_ns = pzi_now_ns();
    const uint64_t bytes = job->swap->stats.raw_bytes;

    if (pipe->waiting.first == NULL && pzi_has_room(pipe, bytes))
        return PZ_OK;
    if (!wait)
        return PZ_ERR_BUSY;
    add_job(&pipe->waiting, job);
    while (job->status == PZ_OK && (pipe->waiting.first != job || !pzi_has_room(pipe, bytes)))
        pthread_cond_wait(&pipe->engine->changed, &pipe->engine->lock);
    remove_job(&pipe->waiting, job);
    pthread_cond_broadcast(&pipe->engine->changed);
    pipe->stats.blocked_ns += pzi_now_ns() - start_ns;
    return job->status;
}

static void append(struct pzi_pipe *pipe, struct pzi_job *job)
{
    add_job(&pipe->queue, job);
    job->state = PZI_QUEUED;
    job->queued_ns = pzi_now_ns();
    pipe->engine->under_way++;
    pipe->stats.queue_bytes += job->swap->stats.raw_bytes;
    if (pipe->stats.queue_bytes > pipe->stats.queue_peak_bytes)
        pipe->stats.queue_peak_bytes = pipe->stats.queue_bytes;
    pthread_cond_signal(&pipe->for_first);
}

pz_status pzi_submit(struct pzi_pipe *pipe, struct pzi_job *job, bool wait)
{
    const pz_status before = job->status;
    pz_status status;

    if (pipe->engine->is_stopping)
        return PZ_ERR_CANCELLED;
    job->state = PZI_WAITING;
    job->status = PZ_OK;
    status = await_room(pipe, job, wait);
    if (status == PZ_OK) {
        append(pipe, job);
    } else {
        job->status = before;
        job->state = PZI_IDLE;
        pthread_cond_broadcast(&pipe->engine->changed);
    }
    return status;
}

void pzi_cancel(struct pzi_pipe *pipe, struct pzi_job *job)
{
    const enum pzi_job_state state = job->state;

    if (state == PZI_IDLE || state == PZI_ENDING || job->status != PZ_OK)
        return;
    job->status = PZ_ERR_CANCELLED;
    if (state == PZI_QUEUED) {
        remove_job(&pipe->queue, job);
        complete(pipe, job);
    }
    pthread_cond_broadcast(&pipe->stop_pacing);
    pthread_cond_broadcast(&pipe->engine->changed);
}
