/* The host tier's work on the device: lanes and tickets, chunks of a segment, and what is put into
 * a stream to send a segment out or to fetch it. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "engine/host.h"

enum { TICKET_STEP = 64 };

/* ---- Chunks of a segment --------------------------------------------------------------------- */

static uint8_t **chunks_of(const struct pzi_host *host, const struct pz_swap *swap, size_t segment)
{
    return swap->place.chunks + segment * host->pieces_max;
}

static size_t pieces_for(const struct pzi_host *host, size_t bytes)
{
    return bytes / host->chunk_bytes + (bytes % host->chunk_bytes != 0);
}

pz_status pzi_host_reserve(struct pzi_host *host, struct pz_swap *swap, size_t segment,
                           size_t bytes)
{
    uint8_t **const chunks = chunks_of(host, swap, segment);
    pz_status status = PZ_OK;

    for (size_t i = 0; i < pieces_for(host, bytes) && status == PZ_OK; i++) {
        void *chunk = chunks[i];

        if (chunk == NULL)
            status = pz_pool_take(host->pool, &chunk);
        chunks[i] = chunk;
    }
    return status;
}

static void give(const struct pzi_host *host, uint8_t **chunks, size_t from)
{
    for (size_t i = host->pieces_max; i-- > from;) {
        if (chunks[i] != NULL)
            (void)pz_pool_give(host->pool, chunks[i]);
        chunks[i] = NULL;
    }
}

void pzi_host_trim(struct pzi_host *host, struct pz_swap *swap, size_t segment)
{
    give(host, chunks_of(host, swap, segment), pieces_for(host, swap->segments[segment].bytes));
}

static void drop(struct pzi_tier *tier, struct pzi_place *place)
{
    const struct pzi_host *const host = (const struct pzi_host *)tier;

    for (size_t i = 0; i < place->count && place->chunks != NULL; i++)
        give(host, place->chunks + i * host->pieces_max, 0);
    free(place->chunks);
    place->chunks = NULL;
}

/* ---- Segments -------------------------------------------------------------------------------- */

static pz_status mark(struct pzi_host *host, struct pzi_ticket *ticket, enum pzi_mark which,
                      const struct pzi_lane *lane)
{
    return pz_gpu_mark(host->gpu, lane->stream, &ticket->marks[which]);
}

/* Copies between the device and the chunks of a segment; chunks that stand together go as one. */
static pz_status copy_chunks(struct pzi_host *host, const struct pzi_ticket *ticket,
                             const struct pzi_lane *lane, uint8_t *device, pz_direction direction)
{
    uint8_t *const *const chunks = chunks_of(host, ticket->swap, ticket->segment);
    const size_t bytes = ticket->swap->segments[ticket->segment].bytes;
    pz_status status = PZ_OK;

    for (size_t at = 0, part; at < bytes && status == PZ_OK; at += part) {
        uint8_t *const chunk = chunks[at / host->chunk_bytes];

        part = host->chunk_bytes;
        while (at + part < bytes && chunks[(at + part) / host->chunk_bytes] == chunk + part)
            part += host->chunk_bytes;
        part = part < bytes - at ? part : bytes - at;
        status = direction == PZ_OUT
                     ? pz_gpu_copy(host->gpu, lane->stream, chunk, device + at, part)
                     : pz_gpu_copy(host->gpu, lane->stream, device + at, chunk, part);
    }
    return status;
}

static pz_gpu_job job_of(const struct pzi_host *host, const struct pzi_ticket *ticket,
                         const struct pzi_lane *lane, pz_direction direction)
{
    return (pz_gpu_job){.size = sizeof(pz_gpu_job),
                        .stream = lane->stream,
                        .workspace = lane->workspace,
                        .workspace_bytes = host->workspace_bytes[direction],
                        .result = ticket->result,
                        .groups = host->engine->options.groups};
}

/* Until the device has written another one. */
static void clear_result(pz_gpu_result *result)
{
    *result = (pz_gpu_result){.faults = {PZ_ERR_IO, PZ_ERR_IO}};
}

static bool is_pinned(const struct pzi_host *host)
{
    pz_pool_stats stats = {.size = sizeof stats};

    return pz_pool_get_stats(host->pool, &stats) == PZ_OK &&
           stats.pinned_bytes == stats.mapped_bytes;
}

static pz_status stage_of(struct pzi_host *host, struct pzi_lane *lane)
{
    const size_t bytes = host->engine->slot_bytes;

    if (lane->stage != NULL)
        return PZ_OK;
    host->device_bytes += bytes;
    return pz_gpu_alloc(host->gpu, PZ_GPU_DEVICE, bytes, &lane->stage);
}

/* Where kernels cannot write to the chunks, the size is waited for, and the copy is the driver's.
 */
static pz_status gather_staged(struct pzi_host *host, const struct pzi_ticket *ticket,
                               struct pzi_lane *lane, const pz_gpu_job *job)
{
    struct pzi_segment *const segment = &ticket->swap->segments[ticket->segment];
    const size_t raw_bytes = pzi_segment_raw(ticket->swap, ticket->segment);
    pz_status status = stage_of(host, lane);

    if (status == PZ_OK)
        status = pz_gpu_gather(host->gpu, job, raw_bytes, lane->stage);
    if (status == PZ_OK)
        status = pz_gpu_wait(host->gpu, lane->stream);
    if (status == PZ_OK)
        status = pz_gpu_result_of(ticket->result, NULL);
    if (status != PZ_OK)
        return status;
    segment->bytes = (uint32_t)ticket->result->coded_bytes;
    return copy_chunks(host, ticket, lane, lane->stage, PZ_OUT);
}

static pz_status gather(struct pzi_host *host, const struct pzi_ticket *ticket,
                        struct pzi_lane *lane, const pz_gpu_job *job)
{
    uint8_t *const *const chunks = chunks_of(host, ticket->swap, ticket->segment);

    if (!is_pinned(host))
        return gather_staged(host, ticket, lane, job);
    for (size_t i = 0; i < host->pieces_max; i++)
        ticket->pieces[i] = (uintptr_t)chunks[i];
    return pz_gpu_gather_pieces(host->gpu, job, pzi_segment_raw(ticket->swap, ticket->segment),
                                ticket->pieces, host->chunk_bytes);
}

static pz_status encode(struct pzi_host *host, struct pzi_ticket *ticket, struct pzi_lane *lane,
                        const uint8_t *from)
{
    const struct pz_swap *const swap = ticket->swap;
    const pz_gpu_job job = job_of(host, ticket, lane, PZ_OUT);
    pz_status status;

    clear_result(ticket->result);
    status = pz_gpu_encode(host->gpu, &job, swap->mode, from,
                           pzi_segment_raw(swap, ticket->segment), SIZE_MAX);
    if (status == PZ_OK)
        status = mark(host, ticket, PZI_MIDDLE, lane);
    if (status == PZ_OK && !swap->is_measured)
        status = gather(host, ticket, lane, &job);
    return status;
}

pz_status pzi_host_send(struct pzi_host *host, struct pzi_ticket *ticket, struct pzi_lane *lane)
{
    struct pz_swap *const swap = ticket->swap;
    struct pzi_segment *const segment = &swap->segments[ticket->segment];
    uint8_t *const from =
        (uint8_t *)swap->data + ticket->segment * host->engine->options.segment_bytes;
    pz_status status = mark(host, ticket, PZI_BEGIN, lane);

    segment->is_coded = !swap->stats.bypassed;
    segment->bytes = (uint32_t)pzi_segment_raw(swap, ticket->segment);
    if (status == PZ_OK)
        status = segment->is_coded ? encode(host, ticket, lane, from)
                                   : copy_chunks(host, ticket, lane, from, PZ_OUT);
    return status == PZ_OK ? mark(host, ticket, PZI_END, lane) : status;
}

static pz_status decode(struct pzi_host *host, struct pzi_ticket *ticket,
                        const struct pzi_lane *lane, uint8_t *to)
{
    const struct pz_swap *const swap = ticket->swap;
    const pz_gpu_job job = job_of(host, ticket, lane, PZ_IN);
    pz_status status = copy_chunks(host, ticket, lane, lane->stage, PZ_IN);

    clear_result(ticket->result);
    if (status == PZ_OK)
        status = mark(host, ticket, PZI_MIDDLE, lane);
    if (status == PZ_OK)
        status = pz_gpu_decompress(host->gpu, &job, swap->mode, lane->stage,
                                   swap->segments[ticket->segment].bytes, to,
                                   pzi_segment_raw(swap, ticket->segment));
    return status;
}

pz_status pzi_host_fetch(struct pzi_host *host, struct pzi_ticket *ticket, struct pzi_lane *lane)
{
    struct pz_swap *const swap = ticket->swap;
    uint8_t *const to = swap->to + ticket->segment * host->engine->options.segment_bytes;
    pz_status status = mark(host, ticket, PZI_BEGIN, lane);

    if (status == PZ_OK)
        status = swap->segments[ticket->segment].is_coded
                     ? decode(host, ticket, lane, to)
                     : copy_chunks(host, ticket, lane, to, PZ_IN);
    return status == PZ_OK ? mark(host, ticket, PZI_END, lane) : status;
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static void tell(struct pzi_tier *tier, pz_engine_stats *stats)
{
    stats->disk_bytes = 0;
    stats->is_direct = false;
    stats->staging_bytes = ((const struct pzi_host *)tier)->device_bytes;
}

static void free_lane(const struct pzi_host *host, const struct pzi_lane *lane)
{
    pz_gpu_stream_free(host->gpu, lane->stream);
    pz_gpu_free(host->gpu, PZ_GPU_DEVICE, lane->workspace);
    pz_gpu_free(host->gpu, PZ_GPU_DEVICE, lane->stage);
}

/* A child has none of the parent's device. */
static void close_host(struct pzi_tier *tier)
{
    struct pzi_host *const host = (struct pzi_host *)tier;

    if (host->engine->process == (long)getpid()) {
        for (unsigned i = 0; i < PZ_DIRECTIONS; i++)
            for (unsigned k = 0; k < PZI_LANES; k++)
                free_lane(host, &host->ways[i].lanes[k]);
        pz_gpu_free(host->gpu, PZ_GPU_PINNED, host->pinned);
    }
    free(host);
}

static pz_status open_lane(struct pzi_host *host, struct pzi_lane *lane, pz_direction direction)
{
    const size_t bytes = host->workspace_bytes[direction];
    pz_status status = pz_gpu_stream_new(host->gpu, &lane->stream);

    if (status == PZ_OK)
        status = pz_gpu_alloc(host->gpu, PZ_GPU_DEVICE, bytes, &lane->workspace);
    if (status == PZ_OK && direction == PZ_IN)
        status = stage_of(host, lane);
    host->device_bytes += bytes;
    return status;
}

static pz_status open_tickets(struct pzi_host *host)
{
    const size_t used = sizeof(pz_gpu_result) + host->pieces_max * sizeof(uint64_t);
    const size_t bytes = (used + TICKET_STEP - 1) / TICKET_STEP * TICKET_STEP;
    const pz_status status = pz_gpu_alloc(
        host->gpu, PZ_GPU_PINNED, (size_t)PZ_DIRECTIONS * PZI_TICKETS * bytes, &host->pinned);

    for (size_t i = 0; i < (size_t)PZ_DIRECTIONS * PZI_TICKETS && status == PZ_OK; i++) {
        struct pzi_ticket *const ticket = &host->ways[i / PZI_TICKETS].tickets[i % PZI_TICKETS];

        ticket->result = (pz_gpu_result *)((uint8_t *)host->pinned + i * bytes);
        ticket->pieces = (uint64_t *)(ticket->result + 1);
    }
    return status;
}

static pz_status open_all(struct pzi_host *host)
{
    const size_t segment = host->engine->options.segment_bytes;
    pz_status status = PZ_OK;

    for (unsigned i = 0; i < PZ_DIRECTIONS && status == PZ_OK; i++) {
        status = pz_gpu_workspace_bytes(segment, i == PZ_IN, &host->workspace_bytes[i]);
        for (unsigned k = 0; k < PZI_LANES && status == PZ_OK; k++)
            status = open_lane(host, &host->ways[i].lanes[k], (pz_direction)i);
    }
    return status == PZ_OK ? open_tickets(host) : status;
}

pz_status pzi_host_open(pz_engine *engine, struct pzi_host **host, pz_diag *diag)
{
    pz_pool_stats stats = {.size = sizeof stats};
    struct pzi_host *made;
    pz_status status;

    if (pz_pool_get_stats(engine->options.pool, &stats) != PZ_OK)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "the pool is none of this process");
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return pzi_no_memory(diag);
    made->tier = (struct pzi_tier){.drop = drop, .tell = tell, .close = close_host};
    made->engine = engine;
    made->gpu = engine->options.gpu;
    made->pool = engine->options.pool;
    made->chunk_bytes = stats.chunk_bytes;
    made->pieces_max = pieces_for(made, engine->slot_bytes);
    status = open_all(made);
    if (status == PZ_OK) {
        *host = made;
        return PZ_OK;
    }
    close_host(&made->tier);
    if (status != PZ_ERR_MEMORY)
        return pzi_fail(diag, status, "the device's driver fails");
    return pzi_fail(diag, status,
                    "the device has not enough memory of its own or pinned memory: "
                    "%u times segment_bytes; make that smaller",
                    2u * PZI_LANES);
}
