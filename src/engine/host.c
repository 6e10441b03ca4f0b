/* The host tier: transfers between a device and the host's memory, as a small state machine.  A
 * transfer is begun by its call, which puts all of its segments into the device's streams, and over
 * when somebody has found that the last of them is; in between nobody does anything for it. */
#include <stdlib.h>

#include "engine/host.h"

typedef pz_status send_segment(struct pzi_host *host, struct pzi_ticket *ticket,
                               struct pzi_lane *lane);

static struct pzi_host *host_of(const struct pz_swap *swap)
{
    return swap->engine->host;
}

/* ---- The end of a segment -------------------------------------------------------------------- */

/* To a rate, and what it took in nanoseconds; nothing if one of the marks was not made. */
static int64_t account(const struct pzi_host *host, void *begin, void *end, uint64_t bytes,
                       struct pzi_rate *rate)
{
    double seconds = 0;

    if (begin == NULL || end == NULL || bytes == 0 ||
        pz_gpu_elapsed(host->gpu, begin, end, &seconds) != PZ_OK)
        return 0;
    pzi_add_rate(rate, (double)bytes, seconds * 1e9);
    return (int64_t)(seconds * 1e9);
}

static void account_segment(const struct pzi_host *host, const struct pzi_ticket *ticket,
                            pz_direction direction)
{
    struct pz_swap *const swap = ticket->swap;
    struct pzi_pipe *const pipe = &swap->engine->pipes[direction];
    const struct pzi_segment *const segment = &swap->segments[ticket->segment];
    void *const middle = segment->is_coded ? ticket->marks[PZI_MIDDLE] : NULL;
    void *const begin = ticket->marks[PZI_BEGIN], *const end = ticket->marks[PZI_END];
    const uint64_t raw_bytes = pzi_segment_raw(swap, ticket->segment);
    const uint64_t moved_bytes = swap->is_measured ? 0 : segment->bytes;
    int64_t code_ns = 0, move_ns;

    if (middle == NULL) {
        move_ns = account(host, begin, end, moved_bytes, &pipe->move);
    } else if (direction == PZ_OUT) {
        code_ns = account(host, begin, middle, raw_bytes, &pipe->code);
        move_ns = account(host, middle, end, moved_bytes, &pipe->move);
    } else {
        move_ns = account(host, begin, middle, moved_bytes, &pipe->move);
        code_ns = account(host, middle, end, raw_bytes, &pipe->code);
    }
    pipe->stats.code_ns += code_ns;
    pipe->stats.move_ns += move_ns;
    swap->stats.code_ns[direction] += code_ns;
    swap->stats.move_ns[direction] += move_ns;
}

/* What the device has found; a stream that it refuses has been damaged. */
static pz_status status_of(struct pzi_host *host, const struct pzi_ticket *ticket,
                           pz_direction direction)
{
    struct pz_swap *const swap = ticket->swap;
    struct pzi_segment *const segment = &swap->segments[ticket->segment];

    if (!segment->is_coded)
        return PZ_OK;
    if (pz_gpu_result_of(ticket->result, NULL) != PZ_OK)
        return direction == PZ_IN ? PZ_ERR_CHECK : PZ_ERR_IO;
    if (direction == PZ_OUT) {
        const uint64_t bytes = ticket->result->coded_bytes;

        segment->bytes =
            swap->is_measured && bytes > segment->bytes ? segment->bytes : (uint32_t)bytes;
        if (!swap->is_measured)
            pzi_host_trim(host, swap, ticket->segment);
    }
    return PZ_OK;
}

static void free_marks(const struct pzi_host *host, struct pzi_ticket *ticket)
{
    for (unsigned i = 0; i < PZI_MARKS; i++) {
        pz_gpu_mark_free(host->gpu, ticket->marks[i]);
        ticket->marks[i] = NULL;
    }
}

/* A transfer that is not being begun any more, and has no segment under way. */
static void complete(struct pz_swap *swap, pz_direction direction)
{
    struct pzi_job *const job = &swap->jobs[direction];

    if (job->state != PZI_RUNNING || swap->tickets[direction] != 0)
        return;
    pzi_settle(&swap->engine->pipes[direction], job);
    swap->engine->pipes[direction].stats.queue_bytes -= swap->stats.raw_bytes;
    swap->engine->under_way--;
    job->state = PZI_IDLE;
    if (swap->is_orphan && pzi_is_idle(swap))
        pzi_forget(swap);
}

/* The oldest ticket of a direction; false if the device is not that far. */
static bool end_ticket(struct pzi_host *host, pz_direction direction, bool wait)
{
    struct pzi_way *const way = &host->ways[direction];
    struct pzi_ticket *const ticket = &way->tickets[way->ended % PZI_TICKETS];
    struct pz_swap *const swap = ticket->swap;
    pz_status status = wait ? pz_gpu_await(host->gpu, ticket->marks[PZI_END])
                            : pz_gpu_reached(host->gpu, ticket->marks[PZI_END]);

    if (status == PZ_ERR_BUSY)
        return false;
    if (status != PZ_OK) /* whatever it is, nothing may be at work on the chunks afterwards */
        (void)pz_gpu_wait(host->gpu, pzi_lane_of(way, way->ended)->stream);
    if (status == PZ_OK)
        status = status_of(host, ticket, direction);
    if (status == PZ_OK)
        account_segment(host, ticket, direction);
    if (swap->jobs[direction].status == PZ_OK)
        swap->jobs[direction].status = status;
    free_marks(host, ticket);
    way->ended++;
    swap->tickets[direction]--;
    complete(swap, direction);
    return true;
}

static bool is_empty(const struct pzi_way *way)
{
    return way->ended == way->begun;
}

void pzi_host_settle(struct pzi_host *host)
{
    for (unsigned i = 0; i < PZ_DIRECTIONS; i++)
        while (!is_empty(&host->ways[i]) && end_ticket(host, (pz_direction)i, false))
            continue;
}

void pzi_host_await(const struct pz_swap *swap)
{
    struct pzi_host *const host = host_of(swap);

    for (unsigned i = 0; i < PZ_DIRECTIONS; i++)
        while (swap->tickets[i] != 0)
            (void)end_ticket(host, (pz_direction)i, true);
}

void pzi_host_await_all(struct pzi_host *host)
{
    for (unsigned i = 0; i < PZ_DIRECTIONS; i++)
        while (!is_empty(&host->ways[i]))
            (void)end_ticket(host, (pz_direction)i, true);
}

/* ---- The beginning of a transfer ------------------------------------------------------------- */

/* Room in the queue, and the transfer before it of the same tensor over. */
static pz_status await_room(const struct pz_swap *swap, pz_direction direction, bool wait)
{
    struct pzi_host *const host = host_of(swap);
    struct pzi_pipe *const pipe = &swap->engine->pipes[direction];
    int64_t start_ns;

    pzi_host_settle(host);
    if (!wait)
        return pzi_is_idle(swap) && pzi_has_room(pipe, swap->stats.raw_bytes) ? PZ_OK : PZ_ERR_BUSY;
    start_ns = pzi_now_ns();
    pzi_host_await(swap);
    while (!pzi_has_room(pipe, swap->stats.raw_bytes))
        (void)end_ticket(host, direction, true);
    pipe->stats.blocked_ns += pzi_now_ns() - start_ns;
    return PZ_OK;
}

/* Waits for the oldest segment under way, those that go out first; false if there is none. */
static bool end_one(struct pzi_host *host)
{
    for (unsigned i = 0; i < PZ_DIRECTIONS; i++)
        if (!is_empty(&host->ways[i]))
            return end_ticket(host, (pz_direction)i, true);
    return false;
}

/* Chunks for the most that a segment can become, as its size is known only when it is coded.  Those
 * before it give back what they did not need, and tensors that are freed while they come in all
 * that they have. */
static pz_status reserve(struct pzi_host *host, struct pz_swap *swap, size_t segment)
{
    size_t bytes = pzi_segment_raw(swap, segment);
    pz_status status;

    if (!swap->stats.bypassed)
        (void)pz_stream_bound(bytes, &bytes);
    status = pzi_host_reserve(host, swap, segment, bytes);
    while ((status == PZ_ERR_FULL || status == PZ_ERR_MEMORY) && end_one(host))
        status = pzi_host_reserve(host, swap, segment, bytes);
    return status;
}

static pz_status send(struct pzi_host *host, struct pzi_ticket *ticket, struct pzi_lane *lane)
{
    const pz_status status =
        ticket->swap->is_measured ? PZ_OK : reserve(host, ticket->swap, ticket->segment);

    return status == PZ_OK ? pzi_host_send(host, ticket, lane) : status;
}

/* A segment, behind the caller's mark.  What a lane was given of one that could not be begun is
 * over when this returns. */
static pz_status begin_segment(struct pz_swap *swap, pz_direction direction, size_t segment,
                               void *ready, send_segment *put)
{
    struct pzi_host *const host = host_of(swap);
    struct pzi_way *const way = &host->ways[direction];
    struct pzi_lane *const lane = pzi_lane_of(way, way->begun);
    struct pzi_ticket *ticket;
    pz_status status;

    if (way->begun - way->ended == PZI_TICKETS)
        (void)end_ticket(host, direction, true);
    ticket = &way->tickets[way->begun % PZI_TICKETS];
    ticket->swap = swap;
    ticket->segment = segment;
    status = pz_gpu_follow(host->gpu, lane->stream, ready);
    if (status == PZ_OK)
        status = put(host, ticket, lane);
    if (status == PZ_OK) {
        way->begun++;
        swap->tickets[direction]++;
    } else {
        (void)pz_gpu_wait(host->gpu, lane->stream);
        free_marks(host, ticket);
    }
    return status;
}

static pz_status begin_segments(struct pz_swap *swap, pz_direction direction, void *stream)
{
    struct pzi_host *const host = host_of(swap);
    void *ready = NULL;
    pz_status status = pz_gpu_mark(host->gpu, stream, &ready);

    for (size_t i = 0; i < swap->place.count && status == PZ_OK; i++)
        status =
            begin_segment(swap, direction, i, ready, direction == PZ_OUT ? send : pzi_host_fetch);
    pz_gpu_mark_free(host->gpu, ready);
    return status;
}

/* A transfer that cannot be begun as a whole has not been. */
static pz_status begin(struct pz_swap *swap, pz_direction direction, void *stream)
{
    struct pzi_job *const job = &swap->jobs[direction];
    struct pzi_pipe *const pipe = &swap->engine->pipes[direction];
    const pz_status before = job->status;
    pz_status status;

    job->state = PZI_QUEUED;
    job->status = PZ_OK;
    status = begin_segments(swap, direction, stream);
    if (status != PZ_OK) {
        pzi_host_await(swap);
        job->state = PZI_IDLE;
        job->status = before;
        return status;
    }
    pipe->stats.queue_bytes += swap->stats.raw_bytes;
    if (pipe->stats.queue_bytes > pipe->stats.queue_peak_bytes)
        pipe->stats.queue_peak_bytes = pipe->stats.queue_bytes;
    swap->engine->under_way++;
    job->state = PZI_RUNNING;
    complete(swap, direction);
    return PZ_OK;
}

pz_status pzi_host_out(struct pz_swap *swap, void *stream, bool wait)
{
    struct pzi_host *const host = host_of(swap);
    const size_t pieces = swap->place.count * host->pieces_max;
    pz_status status = await_room(swap, PZ_OUT, wait);

    if (status != PZ_OK)
        return status;
    swap->stats.bypassed = pzi_decide_bypass(swap);
    if (pieces != 0 && !swap->is_measured) {
        swap->place.chunks = calloc(pieces, sizeof swap->place.chunks[0]);
        if (swap->place.chunks == NULL)
            return PZ_ERR_MEMORY;
    }
    status = begin(swap, PZ_OUT, stream);
    if (status != PZ_OK)
        host->tier.drop(&host->tier, &swap->place);
    return status;
}

pz_status pzi_host_in(struct pz_swap *swap, void *to, void *stream, bool wait)
{
    pz_status status = await_room(swap, PZ_IN, wait);

    if (status == PZ_OK)
        status = swap->jobs[PZ_OUT].status;
    if (status != PZ_OK)
        return status;
    swap->to = to;
    status = begin(swap, PZ_IN, stream);
    if (status == PZ_OK)
        swap->last = PZ_IN;
    return status;
}

/* ---- Joining --------------------------------------------------------------------------------- */

/* What the caller's memory is needed for: going out until it is coded, if it is. */
static void *needed_until(const struct pzi_ticket *ticket, pz_direction direction)
{
    return direction == PZ_OUT && ticket->swap->segments[ticket->segment].is_coded
               ? ticket->marks[PZI_MIDDLE]
               : ticket->marks[PZI_END];
}

pz_status pzi_host_join(const struct pz_swap *swap, void *stream)
{
    struct pzi_host *const host = host_of(swap);
    struct pzi_way *const way = &host->ways[swap->last];
    pz_status status = PZ_OK;

    pzi_host_settle(host);
    for (uint64_t i = way->ended; i < way->begun && status == PZ_OK; i++) {
        const struct pzi_ticket *const ticket = &way->tickets[i % PZI_TICKETS];

        if (ticket->swap == swap)
            status = pz_gpu_follow(host->gpu, stream, needed_until(ticket, swap->last));
    }
    return status == PZ_OK ? swap->jobs[swap->last].status : status;
}
