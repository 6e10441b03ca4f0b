/* Reading a container front to back, as from a pipe: docs/container.md, "Order".  Checks every byte
 * and builds the index anew, to compare it with the one at the end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "base/diag.h"
#include "container/reader.h"
#include "container/segment.h"

/* Remembers the error that ends the scan, with its message. */
static pz_status end_scan(pz_reader *reader, pz_status status, const pz_diag *diag)
{
    reader->failed = status;
    reader->failure = *diag;
    return status;
}

static pz_status fail_record(const pz_reader *reader, pz_diag *diag, const char *what)
{
    char path[128];

    pzi_reader_place(reader, reader->head_at, path);
    return pzi_fail_at(diag, PZ_ERR_MEANING, path, "%s", what);
}

static pz_status peek_head(pz_reader *reader, pz_diag *diag)
{
    pz_status status = PZ_OK;

    if (!reader->has_head)
        status = pzi_reader_head(reader, diag);
    reader->has_head = status == PZ_OK;
    return status;
}

/* All records but SEGM have no segment and no raw bytes. */
static bool is_plain(const struct pzi_head *head, uint64_t tensor)
{
    return head->tensor == tensor && head->segment == 0 && head->raw_bytes == 0;
}

/* ---- Between tensors ---- */

static pz_status begin_tensor(pz_reader *reader, pz_diag *diag)
{
    char path[64];
    pz_status status;

    if (!is_plain(&reader->head, reader->seen.tensors))
        return fail_record(reader, diag, "the tensor has another number than its place");
    reader->tensor_at = reader->head_at;
    reader->has_head = false;
    status = pzi_reader_body(reader, diag);
    if (status != PZ_OK)
        return status;
    snprintf(path, sizeof path, "tensor %" PRIu64 ", record at byte %" PRIu64, reader->seen.tensors,
             reader->head_at);
    status = pzi_tens_load(reader->body.data, reader->body.bytes, path, &reader->tensor, diag);
    if (status != PZ_OK)
        return status;
    if (!pzi_index_tensor(&reader->seen, reader->tensor_at, reader->body.data, reader->body.bytes))
        return pzi_no_memory(diag);
    reader->segments = reader->raw_bytes = reader->stream_bytes = 0;
    reader->inside = true;
    return PZ_OK;
}

/* The index must be the one that the records make.  It is compared as it comes. */
static pz_status compare_index(pz_reader *reader, pz_diag *diag)
{
    const struct pzi_head *const head = &reader->head;
    pz_status status;

    if (!is_plain(head, 0))
        return fail_record(reader, diag, "unused fields of the index are not zero");
    if (!pzi_index_finish(&reader->seen))
        return pzi_no_memory(diag);
    if (head->body_bytes != reader->seen.body.bytes)
        return fail_record(reader, diag, "the index does not match the records");
    status = pzi_reader_body(reader, diag);
    if (status == PZ_OK &&
        memcmp(reader->body.data, reader->seen.body.data, reader->seen.body.bytes) != 0)
        status = fail_record(reader, diag, "the index does not match the records");
    return status;
}

static pz_status check_footer(pz_reader *reader, uint64_t index_at, pz_diag *diag)
{
    uint8_t footer[PZI_FOOTER_BYTES + 1] = {0};
    uint64_t told_index, told_bytes;
    size_t got;
    pz_status status = pzi_source_take(&reader->source, footer, sizeof footer, &got);

    if (status != PZ_OK)
        return pzi_fail_at(diag, status, "footer", "%s", pz_status_text(status));
    status = pzi_footer_load(footer, &told_index, &told_bytes, diag);
    if (status != PZ_OK && got >= PZI_FOOTER_BYTES)
        return pzi_fail_at(diag, PZ_ERR_CHECK, "footer", "it is damaged");
    if (status != PZ_OK)
        return status;
    if (got > PZI_FOOTER_BYTES)
        return pzi_fail_at(diag, PZ_ERR_TRAILING, "footer", "there are bytes behind it");
    if (told_index != index_at || told_bytes != reader->source.at)
        return pzi_fail_at(diag, PZ_ERR_MEANING, "footer",
                           "it tells another place of the index or another size of the file");
    return PZ_OK;
}

static pz_status finish(pz_reader *reader, pz_diag *diag)
{
    const uint64_t index_at = reader->head_at;
    pz_status status = compare_index(reader, diag);

    if (status == PZ_OK)
        status = check_footer(reader, index_at, diag);
    reader->done = status == PZ_OK;
    return status;
}

static pz_status go_on(pz_reader *reader, pz_diag *diag)
{
    pz_status status = peek_head(reader, diag);

    if (status != PZ_OK)
        return status;
    pzi_tensor_release(&reader->tensor);
    if (reader->head.kind == PZI_TENS)
        return begin_tensor(reader, diag);
    if (reader->head.kind == PZI_INDX)
        return finish(reader, diag);
    return fail_record(reader, diag, "neither a tensor nor the index begins here");
}

/* ---- Within a tensor ---- */

/* Raw bytes of the next segment; 0 at the end of a tensor whose size is known, and the size of a
 * whole segment if it is not. */
static uint64_t next_raw_bytes(const pz_reader *reader)
{
    const uint64_t all = reader->tensor.view.raw_bytes;
    const uint64_t left = all - reader->raw_bytes; /* of an unknown size this is huge, too */

    return left < reader->tensor.segment_bytes ? left : reader->tensor.segment_bytes;
}

/* Whether the head is that of the segment that must come. */
static bool head_is_next_segment(const pz_reader *reader)
{
    const struct pzi_head *const head = &reader->head;
    const bool is_open = reader->tensor.view.raw_bytes == PZ_UNKNOWN;
    const uint64_t raw_bytes = next_raw_bytes(reader);

    return head->tensor == reader->seen.tensors && head->segment == reader->segments &&
           head->raw_bytes != 0 &&
           (is_open ? head->raw_bytes <= raw_bytes &&
                          reader->raw_bytes % reader->tensor.segment_bytes == 0
                    : head->raw_bytes == raw_bytes);
}

/* The size of the stream; false if the body cannot hold one. */
static bool stream_size(const struct pzi_head *head, uint64_t *stream_bytes)
{
    const uint64_t pages = pzi_segment_pages(head->raw_bytes) * PZI_PAGE_CHECK_BYTES;
    const uint64_t chunks = pz_stream_chunks((size_t)head->raw_bytes);

    *stream_bytes = head->body_bytes - pages;
    return head->body_bytes >= pages + 2 * chunks && *stream_bytes <= head->raw_bytes + 2 * chunks;
}

/* Takes the body of a segment; what the index tells about it is noted. */
static pz_status take_segment(pz_reader *reader, uint64_t *stream_bytes, pz_diag *diag)
{
    struct pzi_place place = {.at = reader->head_at, .check = reader->head.check};
    pz_status status;

    if (!head_is_next_segment(reader))
        return fail_record(reader, diag, "another segment must stand here");
    if (!stream_size(&reader->head, stream_bytes))
        return fail_record(reader, diag, "the sizes of the segment contradict one another");
    reader->has_head = false;
    status = pzi_reader_body(reader, diag);
    if (status != PZ_OK)
        return status;
    place.stream_bytes = *stream_bytes;
    if (!pzi_index_segment(&reader->seen, &place))
        return pzi_no_memory(diag);
    reader->segments++;
    reader->raw_bytes += reader->head.raw_bytes;
    reader->stream_bytes += *stream_bytes;
    return PZ_OK;
}

static pz_status end_tensor(pz_reader *reader, pz_diag *diag)
{
    pz_tensor *const view = &reader->tensor.view;
    pz_status status;
    char path[128];

    if (!is_plain(&reader->head, reader->seen.tensors) || reader->head.body_bytes != PZI_TEND_BYTES)
        return fail_record(reader, diag, "the end of another tensor stands here");
    reader->has_head = false;
    status = pzi_reader_body(reader, diag);
    if (status != PZ_OK)
        return status;
    pzi_reader_place(reader, reader->head_at, path);
    status = pzi_tend_load(reader->body.data, path, &reader->tensor, diag);
    if (status != PZ_OK)
        return status;
    if (view->raw_bytes != reader->raw_bytes || view->stream_bytes != reader->stream_bytes)
        return fail_record(reader, diag, "the end of the tensor does not match its segments");
    if (!pzi_index_tensor_end(&reader->seen, reader->body.data))
        return pzi_no_memory(diag);
    view->stored_bytes = reader->source.at - reader->tensor_at;
    reader->inside = false;
    return PZ_OK;
}

/* Goes over one record of the tensor: *stream_bytes of a segment, or 0 at the end. */
static pz_status step(pz_reader *reader, uint64_t *stream_bytes, pz_diag *diag)
{
    pz_status status = peek_head(reader, diag);

    *stream_bytes = 0;
    if (status != PZ_OK)
        return status;
    if (reader->head.kind == PZI_SEGM)
        return take_segment(reader, stream_bytes, diag);
    if (reader->head.kind == PZI_TEND)
        return end_tensor(reader, diag);
    return fail_record(reader, diag, "neither a segment nor the end of the tensor stands here");
}

/* Whether a call is in order, and the error that it returns if not. */
static pz_status check_call(const pz_reader *reader, bool valid, pz_diag *diag)
{
    if (reader == NULL || !valid || reader->options.read == NULL)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "%s", pz_status_text(PZ_ERR_ARGUMENT));
    if (reader->failed != PZ_OK && diag != NULL)
        *diag = reader->failure;
    return reader->failed;
}

pz_status pz_reader_next(pz_reader *reader, const pz_tensor **tensor, pz_diag *diag)
{
    pz_status status = check_call(reader, tensor != NULL, diag);
    uint64_t stream_bytes;
    pz_diag own = {0};

    if (status != PZ_OK)
        return status;
    while (status == PZ_OK && reader->inside)
        status = step(reader, &stream_bytes, &own);
    if (status == PZ_OK && !reader->done)
        status = go_on(reader, &own);
    if (status != PZ_OK) {
        if (diag != NULL)
            *diag = own;
        return end_scan(reader, status, &own);
    }
    *tensor = reader->done ? NULL : &reader->tensor.view;
    return PZ_OK;
}

/* Decodes the segment that was taken; if it is damaged, what is whole of it. */
static pz_status decode_segment(pz_reader *reader, uint64_t stream_bytes, pz_diag *diag)
{
    const struct pzi_segment segment = {.threads = reader->options.threads,
                                        .mode = reader->tensor.view.mode,
                                        .tensor = reader->tensor.name,
                                        .number = reader->segments - 1,
                                        .raw_bytes = reader->head.raw_bytes,
                                        .stream_bytes = stream_bytes,
                                        .check = reader->head.check};
    const pz_status status = pzi_segment_decode(
        &segment, reader->body.data, reader->options.check_pages, reader->raw.data, diag);

    reader->lost_bytes = 0;
    if (status != PZ_OK && pzi_segment_salvage(&segment, reader->body.data, &reader->page,
                                               reader->raw.data, &reader->lost_bytes) != PZ_OK)
        return pzi_no_memory(diag);
    return status;
}

pz_status pz_reader_segment(pz_reader *reader, const void **raw, size_t *bytes, pz_diag *diag)
{
    pz_status status = check_call(reader, raw != NULL && bytes != NULL, diag);
    uint64_t stream_bytes = 0;
    pz_diag own = {0};

    if (bytes != NULL)
        *bytes = 0;
    if (status != PZ_OK || !reader->inside)
        return status;
    status = step(reader, &stream_bytes, &own);
    reader->raw.bytes = 0;
    /* The stream has two bytes for every 4096 of these, so a wrong size cannot take much more. */
    if (status == PZ_OK && stream_bytes != 0 &&
        !pzi_bytes_reserve(&reader->raw, reader->head.raw_bytes))
        status = pzi_no_memory(&own);
    if (status != PZ_OK) {
        if (diag != NULL)
            *diag = own;
        return end_scan(reader, status, &own);
    }
    if (stream_bytes == 0)
        return PZ_OK;
    status = decode_segment(reader, stream_bytes, &own);
    if (status != PZ_OK && diag != NULL)
        *diag = own;
    if (status == PZ_ERR_MEMORY)
        return end_scan(reader, status, &own);
    *bytes = (size_t)reader->head.raw_bytes;
    *raw = reader->raw.data;
    return status;
}

uint64_t pz_reader_lost(const pz_reader *reader)
{
    return reader->lost_bytes;
}
