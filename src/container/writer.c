/* Writing a container front to back: docs/container.md, "Order".  Holds one segment, coded and, if
 * the caller's pieces are smaller, raw; and the index. */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "codec/format.h"
#include "container/index.h"
#include "container/record.h"
#include "container/segment.h"

enum phase { PHASE_NEW, PHASE_BETWEEN, PHASE_TENSOR, PHASE_DONE };

struct pz_writer {
    pz_writer_options options;
    pz_status failed; /* of an earlier call; all later ones return it */
    enum phase phase;
    uint64_t at; /* bytes written */
    struct pzi_index index;
    struct pzi_bytes body; /* of the record at hand */
    struct pzi_bytes raw;  /* the beginning of a segment */
    /* The tensor at hand.  Of the view only what TEND needs is kept. */
    struct pzi_tensor tensor;
    uint64_t expected_bytes; /* PZ_UNKNOWN if the length was not known */
};

pz_status pz_writer_new(const pz_writer_options *options, pz_writer **writer)
{
    const uint64_t segment_bytes = options != NULL ? options->segment_bytes : 0;
    pz_writer *made;

    if (options == NULL || writer == NULL || options->size != sizeof *options ||
        options->write == NULL || segment_bytes % PZ_CHUNK_BYTES != 0 ||
        segment_bytes > PZ_SEGMENT_MAX_BYTES)
        return PZ_ERR_ARGUMENT;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return PZ_ERR_MEMORY;
    made->options = *options;
    if (segment_bytes == 0)
        made->options.segment_bytes = PZ_SEGMENT_BYTES;
    *writer = made;
    return PZ_OK;
}

void pz_writer_free(pz_writer *writer)
{
    if (writer == NULL)
        return;
    pzi_index_release(&writer->index);
    pzi_bytes_release(&writer->body);
    pzi_bytes_release(&writer->raw);
    pzi_tensor_release(&writer->tensor);
    free(writer);
}

/* Remembers a failure; for "return note(writer, status)". */
static pz_status note(pz_writer *writer, pz_status status)
{
    if (writer->failed == PZ_OK)
        writer->failed = status;
    return status;
}

static pz_status write_all(pz_writer *writer, const uint8_t *data, size_t bytes)
{
    while (bytes > 0) {
        size_t done = 0;
        const pz_status status = writer->options.write(writer->options.user, data, bytes, &done);

        if (status != PZ_OK)
            return status;
        if (done == 0 || done > bytes)
            return PZ_ERR_IO;
        data += done;
        bytes -= done;
        writer->at += done;
    }
    return PZ_OK;
}

/* Writes a record with body->bytes of body. */
static pz_status write_record(pz_writer *writer, struct pzi_head head, const struct pzi_bytes *body)
{
    uint8_t stored[PZI_HEAD_BYTES];
    pz_status status;

    head.body_bytes = body->bytes;
    if (head.kind != PZI_SEGM)
        head.check = XXH3_64bits(body->data, body->bytes);
    pzi_head_store(&head, stored);
    status = write_all(writer, stored, sizeof stored);
    return status == PZ_OK ? write_all(writer, body->data, body->bytes) : status;
}

/* The header of the file, before the first record. */
static pz_status start(pz_writer *writer)
{
    uint8_t header[PZI_FILE_HEADER_BYTES];

    if (writer->phase != PHASE_NEW)
        return PZ_OK;
    writer->phase = PHASE_BETWEEN;
    pzi_file_header_store(header);
    return write_all(writer, header, sizeof header);
}

static bool metadata_is_valid(const pz_metadata *entries, size_t count)
{
    if ((entries == NULL && count != 0) || count > UINT32_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        if (entries[i].key == NULL || entries[i].key[0] == '\0' ||
            strlen(entries[i].key) > UINT32_MAX ||
            (entries[i].value == NULL && entries[i].value_bytes != 0))
            return false;
    return true;
}

pz_status pz_writer_metadata(pz_writer *writer, const pz_metadata *metadata, size_t count)
{
    pz_status status;

    if (writer == NULL || writer->phase != PHASE_NEW || !metadata_is_valid(metadata, count))
        return PZ_ERR_ARGUMENT;
    if (writer->failed != PZ_OK)
        return writer->failed;
    writer->body.bytes = 0;
    if (!pzi_bytes_append_u64(&writer->body, count) ||
        !pzi_metadata_store(metadata, count, &writer->body))
        return note(writer, PZ_ERR_MEMORY);
    if (writer->body.bytes > PZI_BODY_MAX_BYTES)
        return PZ_ERR_ARGUMENT;
    status = start(writer);
    if (status == PZ_OK)
        status = write_record(writer, (struct pzi_head){.kind = PZI_META}, &writer->body);
    return note(writer, status);
}

/* ---- A tensor ---- */

static bool tensor_is_valid(const pz_tensor *tensor)
{
    return tensor->size == sizeof *tensor && tensor->name != NULL &&
           strlen(tensor->name) <= UINT32_MAX && pz_dtype_bits(tensor->dtype) != 0 &&
           pzi_mode_is_valid(tensor->mode) && (tensor->shape != NULL || tensor->rank == 0) &&
           metadata_is_valid(tensor->metadata, tensor->metadata_count);
}

/* Serialises TENS; what is kept of the tensor is read from there, so that it is what a reader will
 * see. */
static pz_status begin_tensor(pz_writer *writer, const pz_tensor *tensor)
{
    pz_tensor *const view = &writer->tensor.view;
    pz_status status;

    writer->body.bytes = 0;
    if (!pzi_tens_store(tensor, writer->options.segment_bytes, &writer->body))
        return PZ_ERR_MEMORY;
    if (writer->body.bytes > PZI_BODY_MAX_BYTES)
        return PZ_ERR_ARGUMENT;
    status = pzi_tens_load(writer->body.data, writer->body.bytes, "", &writer->tensor, NULL);
    if (status != PZ_OK)
        return status == PZ_ERR_MEMORY ? status : PZ_ERR_ARGUMENT;
    writer->expected_bytes = view->raw_bytes;
    view->raw_bytes = view->stream_bytes = view->segments = view->chunks = view->raw_chunks = 0;
    memset(view->blocks, 0, sizeof view->blocks);
    writer->raw.bytes = 0;
    return PZ_OK;
}

pz_status pz_writer_begin(pz_writer *writer, const pz_tensor *tensor)
{
    struct pzi_head head = {.kind = PZI_TENS};
    pz_status status;

    if (writer == NULL || tensor == NULL || writer->phase > PHASE_BETWEEN ||
        !tensor_is_valid(tensor) || writer->index.tensors >= UINT32_MAX)
        return PZ_ERR_ARGUMENT;
    if (writer->failed != PZ_OK)
        return writer->failed;
    status = begin_tensor(writer, tensor);
    if (status == PZ_ERR_ARGUMENT)
        return status; /* nothing was written: the caller may go on */
    if (status == PZ_OK)
        status = start(writer);
    if (status == PZ_OK &&
        !pzi_index_tensor(&writer->index, writer->at, writer->body.data, writer->body.bytes))
        status = PZ_ERR_MEMORY;
    head.tensor = (uint32_t)writer->index.tensors;
    if (status == PZ_OK)
        status = write_record(writer, head, &writer->body);
    writer->phase = PHASE_TENSOR;
    return note(writer, status);
}

static void count_segment(pz_tensor *view, const pz_stats *stats)
{
    view->raw_bytes += stats->raw_bytes;
    view->stream_bytes += stats->coded_bytes;
    view->segments++;
    view->chunks += stats->chunks;
    view->raw_chunks += stats->raw_chunks;
    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        view->blocks[i] += stats->blocks[i];
}

static pz_status write_segment(pz_writer *writer, const void *raw, size_t raw_bytes)
{
    struct pzi_head head = {.kind = PZI_SEGM,
                            .tensor = (uint32_t)writer->index.tensors,
                            .segment = writer->tensor.view.segments,
                            .raw_bytes = raw_bytes};
    struct pzi_place place = {.at = writer->at};
    pz_stats stats;
    pz_status status = pzi_segment_encode(writer->options.threads, writer->tensor.view.mode, raw,
                                          raw_bytes, &writer->body, &stats, &head.check);

    if (status != PZ_OK)
        return status;
    place.stream_bytes = stats.coded_bytes;
    place.check = head.check;
    if (!pzi_index_segment(&writer->index, &place))
        return PZ_ERR_MEMORY;
    count_segment(&writer->tensor.view, &stats);
    return write_record(writer, head, &writer->body);
}

/* Adds to the segment that has begun; *used bytes of what was given. */
static pz_status fill_segment(pz_writer *writer, const uint8_t *data, size_t bytes, size_t *used)
{
    const size_t segment_bytes = (size_t)writer->options.segment_bytes;
    const size_t room = segment_bytes - writer->raw.bytes;
    pz_status status = PZ_OK;

    *used = bytes < room ? bytes : room;
    if (!pzi_bytes_append(&writer->raw, data, *used))
        return PZ_ERR_MEMORY;
    if (writer->raw.bytes == segment_bytes) {
        status = write_segment(writer, writer->raw.data, segment_bytes);
        writer->raw.bytes = 0;
    }
    return status;
}

pz_status pz_writer_data(pz_writer *writer, const void *data, size_t bytes)
{
    const uint8_t *next = data;
    pz_status status = PZ_OK;

    if (writer == NULL || writer->phase != PHASE_TENSOR || (data == NULL && bytes != 0))
        return PZ_ERR_ARGUMENT;
    if (writer->failed != PZ_OK)
        return writer->failed;
    if (bytes > writer->expected_bytes - writer->tensor.view.raw_bytes - writer->raw.bytes)
        return PZ_ERR_ARGUMENT;
    while (bytes > 0 && status == PZ_OK) {
        const size_t segment_bytes = (size_t)writer->options.segment_bytes;
        size_t used = segment_bytes;

        /* Whole segments are taken from where they are. */
        if (writer->raw.bytes == 0 && bytes >= segment_bytes)
            status = write_segment(writer, next, segment_bytes);
        else
            status = fill_segment(writer, next, bytes, &used);
        next += used;
        bytes -= used;
    }
    return note(writer, status);
}

static pz_status end_tensor(pz_writer *writer)
{
    const struct pzi_head head = {.kind = PZI_TEND, .tensor = (uint32_t)writer->index.tensors};
    uint8_t tend[PZI_TEND_BYTES];
    pz_status status = PZ_OK;

    if (writer->raw.bytes != 0)
        status = write_segment(writer, writer->raw.data, writer->raw.bytes);
    if (status != PZ_OK)
        return status;
    pzi_tend_store(&writer->tensor.view, tend);
    writer->body.bytes = 0;
    if (!pzi_bytes_append(&writer->body, tend, sizeof tend) ||
        !pzi_index_tensor_end(&writer->index, tend))
        return PZ_ERR_MEMORY;
    return write_record(writer, head, &writer->body);
}

pz_status pz_writer_end(pz_writer *writer)
{
    const pz_tensor *view;
    uint64_t raw_bytes, length;

    if (writer == NULL || writer->phase != PHASE_TENSOR)
        return PZ_ERR_ARGUMENT;
    if (writer->failed != PZ_OK)
        return writer->failed;
    view = &writer->tensor.view;
    raw_bytes = view->raw_bytes + writer->raw.bytes;
    if (writer->expected_bytes != PZ_UNKNOWN
            ? raw_bytes != writer->expected_bytes
            : pzi_first_dimension(view->dtype, view->rank, view->shape, raw_bytes, &length) !=
                  PZ_OK)
        return PZ_ERR_ARGUMENT;
    note(writer, end_tensor(writer));
    pzi_tensor_release(&writer->tensor);
    writer->phase = PHASE_BETWEEN;
    return writer->failed;
}

pz_status pz_writer_finish(pz_writer *writer)
{
    uint8_t footer[PZI_FOOTER_BYTES];
    uint64_t index_at;
    pz_status status;

    if (writer == NULL || writer->phase > PHASE_BETWEEN)
        return PZ_ERR_ARGUMENT;
    if (writer->failed != PZ_OK)
        return writer->failed;
    status = start(writer);
    index_at = writer->at;
    if (status == PZ_OK && !pzi_index_finish(&writer->index))
        status = PZ_ERR_MEMORY;
    if (status == PZ_OK)
        status = write_record(writer, (struct pzi_head){.kind = PZI_INDX}, &writer->index.body);
    pzi_footer_store(index_at, writer->at + sizeof footer, footer);
    if (status == PZ_OK)
        status = write_all(writer, footer, sizeof footer);
    writer->phase = PHASE_DONE;
    return note(writer, status);
}
