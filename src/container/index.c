/* The index: see index.h. */
#include "container/index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/le.h"
#include "container/segment.h"

enum { COUNT_BYTES = 8, PLACE_BYTES = 24, ENTRY_BYTES = 16 + PZI_TENS_BYTES + PZI_TEND_BYTES };

/* ---- Building ---- */

/* Room for the count, which is known last. */
static bool begin(struct pzi_index *index)
{
    return index->body.bytes != 0 || pzi_bytes_append_u64(&index->body, 0);
}

bool pzi_index_tensor(struct pzi_index *index, uint64_t at, const uint8_t *tens, size_t tens_bytes)
{
    index->places.bytes = 0;
    return begin(index) && pzi_bytes_append_u64(&index->body, at) &&
           pzi_bytes_append_u64(&index->body, tens_bytes) &&
           pzi_bytes_append(&index->body, tens, tens_bytes);
}

bool pzi_index_segment(struct pzi_index *index, const struct pzi_place *place)
{
    return pzi_bytes_append_u64(&index->places, place->at) &&
           pzi_bytes_append_u64(&index->places, place->stream_bytes) &&
           pzi_bytes_append_u64(&index->places, place->check);
}

bool pzi_index_tensor_end(struct pzi_index *index, const uint8_t tend[PZI_TEND_BYTES])
{
    index->tensors++;
    return pzi_bytes_append(&index->body, tend, PZI_TEND_BYTES) &&
           pzi_bytes_append(&index->body, index->places.data, index->places.bytes);
}

bool pzi_index_finish(struct pzi_index *index)
{
    if (!begin(index))
        return false;
    pzi_store_le64(index->body.data, index->tensors);
    return true;
}

void pzi_index_release(struct pzi_index *index)
{
    pzi_bytes_release(&index->body);
    pzi_bytes_release(&index->places);
}

/* ---- Reading ---- */

/* The walk over the index and, in thought, over the records that it tells. */
struct walk {
    struct pzi_cursor from;
    uint64_t at; /* where the next record must begin; PZ_UNKNOWN before the first */
    uint64_t index_at;
    char path[64];
    pz_diag *diag;
};

static pz_status fail_walk(const struct walk *walk, const char *what)
{
    return pzi_fail_at(walk->diag, PZ_ERR_MEANING, walk->path, "%s", what);
}

/* Steps over a record that the index says is at `at`. */
static bool step(struct walk *walk, uint64_t at, uint64_t body_bytes)
{
    if (walk->at == PZ_UNKNOWN && at >= PZI_FILE_HEADER_BYTES && at < walk->index_at)
        walk->at = at;
    if (at != walk->at || walk->index_at - at < PZI_HEAD_BYTES ||
        walk->index_at - at - PZI_HEAD_BYTES < body_bytes)
        return false;
    walk->at += PZI_HEAD_BYTES + body_bytes;
    return true;
}

static uint64_t segment_raw_bytes(const struct pzi_tensor *tensor, uint64_t number)
{
    const uint64_t left = tensor->view.raw_bytes - number * tensor->segment_bytes;

    return left < tensor->segment_bytes ? left : tensor->segment_bytes;
}

static pz_status load_places(struct walk *walk, struct pzi_tensor *tensor)
{
    const uint64_t count = tensor->view.segments;
    uint64_t stream_bytes = 0;

    if (count > walk->from.left / PLACE_BYTES)
        return fail_walk(walk, "it is too short for the segments");
    tensor->places = malloc(sizeof *tensor->places * ((size_t)count + 1));
    if (tensor->places == NULL)
        return pzi_no_memory(walk->diag);
    for (uint64_t i = 0; i < count; i++) {
        struct pzi_place *const place = &tensor->places[i];
        const uint64_t raw_bytes = segment_raw_bytes(tensor, i);

        place->at = pzi_take_u64(&walk->from);
        place->stream_bytes = pzi_take_u64(&walk->from);
        place->check = pzi_take_u64(&walk->from);
        /* A stream is never longer than this, so the sum below cannot overflow. */
        if (place->stream_bytes > raw_bytes + 2 * pz_stream_chunks((size_t)raw_bytes) ||
            !step(walk, place->at,
                  place->stream_bytes + PZI_PAGE_CHECK_BYTES * pzi_segment_pages(raw_bytes)))
            return fail_walk(walk, "a segment is not where the segment before ends");
        stream_bytes += place->stream_bytes;
    }
    if (stream_bytes != tensor->view.stream_bytes)
        return fail_walk(walk, "sizes of segments do not add up to that of the tensor");
    return PZ_OK;
}

static pz_status load_tensor(struct walk *walk, struct pzi_tensor *tensor)
{
    const uint64_t at = pzi_take_u64(&walk->from), tens_bytes = pzi_take_u64(&walk->from);
    const uint8_t *const tens = pzi_take(&walk->from, tens_bytes);
    const uint8_t *const tend = pzi_take(&walk->from, PZI_TEND_BYTES);
    pz_status status;

    if (walk->from.failed)
        return fail_walk(walk, "it ends within the tensor");
    if (!step(walk, at, tens_bytes))
        return fail_walk(walk, "the tensor is not where the tensor before ends");
    status = pzi_tens_load(tens, (size_t)tens_bytes, walk->path, tensor, walk->diag);
    if (status == PZ_OK)
        status = pzi_tend_load(tend, walk->path, tensor, walk->diag);
    if (status == PZ_OK)
        status = load_places(walk, tensor);
    if (status == PZ_OK && !step(walk, walk->at, PZI_TEND_BYTES))
        status = fail_walk(walk, "the end of the tensor overlaps the index");
    tensor->view.stored_bytes = walk->at - at;
    return status;
}

static pz_status load_tensors(struct walk *walk, struct pzi_tensor *tensors, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        pz_status status;

        snprintf(walk->path, sizeof walk->path, "index, tensor %" PRIu64, i);
        status = load_tensor(walk, &tensors[i]);
        if (status != PZ_OK)
            return status;
    }
    snprintf(walk->path, sizeof walk->path, "index");
    if (walk->from.left != 0)
        return fail_walk(walk, "it goes on after its last tensor");
    if (count != 0 && walk->at != walk->index_at)
        return fail_walk(walk, "there are bytes between the last tensor and the index");
    return PZ_OK;
}

pz_status pzi_index_load(const uint8_t *body, size_t bytes, uint64_t index_at,
                         struct pzi_tensor **tensors, uint64_t *count, pz_diag *diag)
{
    struct walk walk = {
        .from = {body, bytes, false}, .at = PZ_UNKNOWN, .index_at = index_at, .diag = diag};
    pz_status status;

    snprintf(walk.path, sizeof walk.path, "index");
    *count = pzi_take_u64(&walk.from);
    if (walk.from.failed || *count > walk.from.left / ENTRY_BYTES)
        return fail_walk(&walk, "it is too short for its tensors");
    *tensors = calloc((size_t)*count + 1, sizeof **tensors);
    if (*tensors == NULL)
        return pzi_no_memory(diag);
    status = load_tensors(&walk, *tensors, *count);
    if (status != PZ_OK)
        pzi_index_free_tensors(*tensors, *count);
    return status;
}

void pzi_index_free_tensors(struct pzi_tensor *tensors, uint64_t count)
{
    for (uint64_t i = 0; tensors != NULL && i < count; i++)
        pzi_tensor_release(&tensors[i]);
    free(tensors);
}
