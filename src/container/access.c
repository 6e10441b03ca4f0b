/* Reading a container at random: the index, and pages of segments.  docs/container.md, "INDX" and
 * "SEGM". */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "base/le.h"
#include "container/reader.h"
#include "container/segment.h"

/* ---- The index ---- */

static pz_status load_footer(pz_reader *reader, uint64_t *index_at, pz_diag *diag)
{
    const uint64_t file_bytes = reader->options.file_bytes;
    uint8_t footer[PZI_FOOTER_BYTES] = {0};
    uint64_t told_bytes;
    size_t got;
    pz_status status;

    if (file_bytes >= PZI_FOOTER_BYTES)
        reader->source.at = file_bytes - PZI_FOOTER_BYTES;
    status = pzi_source_take(&reader->source, footer, sizeof footer, &got);
    if (status != PZ_OK)
        return pzi_fail_at(diag, status, "footer", "%s", pz_status_text(status));
    status = pzi_footer_load(footer, index_at, &told_bytes, diag);
    if (status != PZ_OK)
        return status;
    if (told_bytes != file_bytes || *index_at < PZI_FILE_HEADER_BYTES ||
        *index_at > file_bytes - PZI_FOOTER_BYTES)
        return pzi_fail_at(diag, PZ_ERR_MEANING, "footer",
                           "it tells a size of %" PRIu64 " bytes, the file has %" PRIu64,
                           told_bytes, file_bytes);
    return PZ_OK;
}

pz_status pzi_reader_index(pz_reader *reader, pz_diag *diag)
{
    const struct pzi_head *const head = &reader->head;
    uint64_t index_at;
    pz_status status = load_footer(reader, &index_at, diag);

    if (status != PZ_OK)
        return status;
    reader->has_head = false;
    reader->source.at = index_at;
    status = pzi_reader_head(reader, diag);
    if (status != PZ_OK)
        return status;
    if (head->kind != PZI_INDX || head->tensor != 0 || head->segment != 0 || head->raw_bytes != 0 ||
        head->body_bytes != reader->options.file_bytes - PZI_FOOTER_BYTES - reader->source.at)
        return pzi_fail_at(diag, PZ_ERR_MEANING, "index",
                           "no index stands where the footer tells it");
    status = pzi_reader_body(reader, diag);
    if (status == PZ_OK)
        status = pzi_index_load(reader->body.data, reader->body.bytes, index_at, &reader->tensors,
                                &reader->count, diag);
    if (status != PZ_OK) {
        reader->tensors = NULL;
        reader->count = 0;
    }
    return status;
}

uint64_t pz_reader_count(const pz_reader *reader)
{
    return reader->count;
}

const pz_tensor *pz_reader_tensor(const pz_reader *reader, uint64_t index)
{
    return index < reader->count ? &reader->tensors[index].view : NULL;
}

uint64_t pz_reader_find(const pz_reader *reader, const char *name)
{
    for (uint64_t i = 0; i < reader->count; i++)
        if (strcmp(reader->tensors[i].name, name) == 0)
            return i;
    return PZ_UNKNOWN;
}

/* ---- Bytes ---- */

/* A part of a segment that is wanted, and where it goes. */
struct part {
    struct pzi_segment segment;
    uint64_t body_at;
    uint64_t from; /* within the segment */
    size_t bytes;
    uint8_t *to;
};

static pz_status fail_part(const struct part *part, pz_status status, const char *what,
                           pz_diag *diag)
{
    char path[PZI_PLACE_TEXT];

    pzi_segment_place(&part->segment, path);
    return pzi_fail_at(diag, status, path, "%s", what);
}

/* Appends bytes of the segment's body to reader->body. */
static pz_status take(pz_reader *reader, const struct part *part, uint64_t from, uint64_t bytes,
                      pz_diag *diag)
{
    pz_status status;

    reader->source.at = part->body_at + from;
    status = pzi_source_append(&reader->source, bytes, &reader->body);
    return status == PZ_OK ? PZ_OK : fail_part(part, status, pz_status_text(status), diag);
}

/* The head of the segment must say what the index does. */
static pz_status check_head(pz_reader *reader, const struct part *part, uint32_t tensor,
                            pz_diag *diag)
{
    const struct pzi_head *const head = &reader->head;
    const struct pzi_segment *const segment = &part->segment;
    const uint64_t pages = pzi_segment_pages(segment->raw_bytes);
    pz_status status;

    reader->source.at = part->body_at - PZI_HEAD_BYTES;
    status = pzi_reader_head(reader, NULL);
    if (status != PZ_OK)
        return fail_part(part, status, "the head of its record cannot be read or is damaged", diag);
    if (head->kind != PZI_SEGM || head->tensor != tensor || head->segment != segment->number ||
        head->raw_bytes != segment->raw_bytes || head->check != segment->check ||
        head->body_bytes != segment->stream_bytes + pages * PZI_PAGE_CHECK_BYTES)
        return fail_part(part, PZ_ERR_MEANING, "its record contradicts the index", diag);
    return PZ_OK;
}

static pz_status read_whole(pz_reader *reader, const struct part *part, uint8_t *to, pz_diag *diag)
{
    const uint64_t pages = pzi_segment_pages(part->segment.raw_bytes);
    pz_status status;

    reader->body.bytes = 0;
    status = take(reader, part, 0, part->segment.stream_bytes + pages * PZI_PAGE_CHECK_BYTES, diag);
    if (status != PZ_OK)
        return status;
    return pzi_segment_decode(&part->segment, reader->body.data, false, to, diag);
}

/* One page into `raw`.  Its stream and its check are put together behind the headers before it. */
static pz_status read_page(pz_reader *reader, const struct part *part, uint64_t page, uint8_t *raw,
                           pz_diag *diag)
{
    const struct pzi_segment *const segment = &part->segment;
    uint64_t from = 0, bytes = 0;
    size_t begin, end, stream_bytes;
    pz_status status;

    pzi_page_headers(segment, page, &begin, &end);
    reader->body.bytes = 0;
    status = take(reader, part, 0, end, diag);
    if (status != PZ_OK)
        return status;
    status = pzi_page_payloads(segment, page, reader->body.data, &from, &bytes);
    if (status != PZ_OK)
        return fail_part(part, status,
                         "the stream is damaged: its headers tell more bytes than "
                         "it has",
                         diag);
    status = take(reader, part, from, bytes, diag);
    stream_bytes = reader->body.bytes - begin;
    if (status == PZ_OK)
        status = take(reader, part, segment->stream_bytes + page * PZI_PAGE_CHECK_BYTES,
                      PZI_PAGE_CHECK_BYTES, diag);
    if (status != PZ_OK)
        return status;
    return pzi_page_decode(segment, page, reader->body.data + begin, stream_bytes,
                           pzi_load_le64(reader->body.data + begin + stream_bytes), raw,
                           pzi_page_bytes(segment->raw_bytes, page), diag);
}

/* The bytes that are wanted of one page. */
static pz_status read_from_page(pz_reader *reader, const struct part *part, uint64_t page,
                                pz_diag *diag)
{
    const uint64_t begin = page * PZ_PAGE_BYTES, end = begin + PZ_PAGE_BYTES;
    const uint64_t part_end = part->from + part->bytes;
    const uint64_t from = part->from > begin ? part->from : begin;
    const uint64_t to = part_end < end ? part_end : end;
    pz_status status;

    reader->raw.bytes = 0;
    if (!pzi_bytes_reserve(&reader->raw, PZ_PAGE_BYTES))
        return pzi_no_memory(diag);
    if (pzi_segment_pages(part->segment.raw_bytes) == 0)
        status = read_whole(reader, part, reader->raw.data, diag);
    else
        status = read_page(reader, part, page, reader->raw.data, diag);
    if (status == PZ_OK)
        memcpy(part->to + (from - part->from), reader->raw.data + (from - begin),
               (size_t)(to - from));
    return status;
}

static pz_status read_part(pz_reader *reader, const struct part *part, uint32_t tensor,
                           pz_diag *diag)
{
    const uint64_t last = (part->from + part->bytes - 1) / PZ_PAGE_BYTES;
    pz_status status = PZ_OK;

    if (!reader->options.trust_index)
        status = check_head(reader, part, tensor, diag);
    if (status == PZ_OK && part->bytes == part->segment.raw_bytes)
        return read_whole(reader, part, part->to, diag);
    for (uint64_t page = part->from / PZ_PAGE_BYTES; page <= last && status == PZ_OK; page++)
        status = read_from_page(reader, part, page, diag);
    return status;
}

/* The part of bytes [from, from + bytes) of the tensor that lies in the first one's segment. */
static struct part first_part(const pz_reader *reader, const struct pzi_tensor *tensor,
                              uint64_t from, size_t bytes)
{
    const uint64_t number = from / tensor->segment_bytes;
    const uint64_t begin = number * tensor->segment_bytes, left = tensor->view.raw_bytes - begin;
    const struct pzi_place *const place = &tensor->places[number];
    struct part part = {.body_at = place->at + PZI_HEAD_BYTES, .from = from - begin};
    uint64_t room;

    part.segment = (struct pzi_segment){
        .threads = reader->options.threads,
        .mode = tensor->view.mode,
        .tensor = tensor->name,
        .number = number,
        .raw_bytes = left < tensor->segment_bytes ? left : tensor->segment_bytes,
        .stream_bytes = place->stream_bytes,
        .check = place->check};
    room = part.segment.raw_bytes - part.from;
    part.bytes = bytes < room ? bytes : (size_t)room;
    return part;
}

pz_status pz_reader_read(pz_reader *reader, uint64_t index, uint64_t from, size_t bytes, void *to,
                         pz_diag *diag)
{
    const struct pzi_tensor *tensor;
    uint8_t *next = to;

    if (reader == NULL || index >= reader->count || (to == NULL && bytes != 0) ||
        from > reader->tensors[index].view.raw_bytes ||
        bytes > reader->tensors[index].view.raw_bytes - from)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "%s", pz_status_text(PZ_ERR_ARGUMENT));
    tensor = &reader->tensors[index];
    while (bytes > 0) {
        struct part part = first_part(reader, tensor, from, bytes);
        pz_status status;

        part.to = next;
        status = read_part(reader, &part, (uint32_t)index, diag);
        if (status != PZ_OK)
            return status;
        from += part.bytes;
        next += part.bytes;
        bytes -= part.bytes;
    }
    return PZ_OK;
}
