/* Segments: see segment.h. */
#include "container/segment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "base/diag.h"
#include "base/le.h"

enum { SHOWN_NAME = 60, CHUNK_HEADER_BYTES = 2 };

uint64_t pzi_segment_pages(uint64_t raw_bytes)
{
    return raw_bytes > PZ_PAGE_BYTES ? (raw_bytes + PZ_PAGE_BYTES - 1) / PZ_PAGE_BYTES : 0;
}

size_t pzi_page_bytes(uint64_t raw_bytes, uint64_t page)
{
    const uint64_t left = raw_bytes - page * PZ_PAGE_BYTES;

    return left < PZ_PAGE_BYTES ? (size_t)left : PZ_PAGE_BYTES;
}

static uint64_t page_check(const uint8_t *raw, uint64_t raw_bytes, uint64_t page)
{
    return XXH3_64bits(raw + page * PZ_PAGE_BYTES, pzi_page_bytes(raw_bytes, page));
}

pz_status pzi_segment_encode(pz_threads *threads, pz_mode mode, const void *raw, size_t raw_bytes,
                             struct pzi_bytes *body, pz_stats *stats, uint64_t *check)
{
    const uint64_t pages = pzi_segment_pages(raw_bytes);
    size_t bound_bytes;
    pz_status status = pz_stream_bound(raw_bytes, &bound_bytes);

    body->bytes = 0;
    if (status != PZ_OK)
        return status;
    if (!pzi_bytes_reserve(body, bound_bytes + pages * PZI_PAGE_CHECK_BYTES))
        return PZ_ERR_MEMORY;
    status = pz_stream_encode_on(threads, mode, raw, raw_bytes, body->data, body->capacity,
                                 &body->bytes);
    if (status == PZ_OK)
        status = pz_stream_measure_on(threads, mode, raw, raw_bytes, stats);
    for (uint64_t page = 0; page < pages && status == PZ_OK; page++)
        if (!pzi_bytes_append_u64(body, page_check(raw, raw_bytes, page)))
            status = PZ_ERR_MEMORY;
    *check = XXH3_64bits(raw, raw_bytes);
    return status;
}

void pzi_segment_place(const struct pzi_segment *segment, char text[PZI_PLACE_TEXT])
{
    const bool cut = strlen(segment->tensor) > SHOWN_NAME;

    snprintf(text, PZI_PLACE_TEXT, "tensor '%.*s%s', segment %" PRIu64, SHOWN_NAME, segment->tensor,
             cut ? "..." : "", segment->number);
}

/* A stream that is none; chunks of `where` count from first_chunk. */
static pz_status fail_stream(const struct pzi_segment *segment, uint64_t first_chunk,
                             pz_status status, const pz_where *where, pz_diag *diag)
{
    char place[PZI_PLACE_TEXT], path[2 * PZI_PLACE_TEXT];

    pzi_segment_place(segment, place);
    snprintf(path, sizeof path, "%s, chunk %" PRIu64 ", block %" PRIu32 ", bit %" PRIu32, place,
             first_chunk + where->chunk, where->block, where->bit);
    return pzi_fail_at(diag, status, path, "the stream is damaged: %s", pz_status_text(status));
}

static pz_status fail_page(const struct pzi_segment *segment, uint64_t page, const char *what,
                           pz_diag *diag)
{
    const uint64_t first = page * PZI_PAGE_CHUNKS;
    const uint64_t chunks = pz_stream_chunks(pzi_page_bytes(segment->raw_bytes, page));
    char place[PZI_PLACE_TEXT], path[2 * PZI_PLACE_TEXT];

    pzi_segment_place(segment, place);
    snprintf(path, sizeof path, "%s, chunks %" PRIu64 " to %" PRIu64, place, first,
             first + chunks - 1);
    return pzi_fail_at(diag, PZ_ERR_CHECK, path, "%s", what);
}

/* The first page whose check differs, or the number of pages. */
static uint64_t first_bad_page(const struct pzi_segment *segment, const uint8_t *checks,
                               const uint8_t *raw)
{
    const uint64_t pages = pzi_segment_pages(segment->raw_bytes);
    uint64_t page = 0;

    while (page < pages && pzi_load_le64(checks + page * PZI_PAGE_CHECK_BYTES) ==
                               page_check(raw, segment->raw_bytes, page))
        page++;
    return page;
}

static pz_status check_raw(const struct pzi_segment *segment, const uint8_t *page_checks,
                           bool check_pages, const uint8_t *raw, pz_diag *diag)
{
    const bool whole = XXH3_64bits(raw, (size_t)segment->raw_bytes) == segment->check;
    const uint64_t pages = pzi_segment_pages(segment->raw_bytes);
    char path[PZI_PLACE_TEXT];
    uint64_t bad;

    if (whole && !check_pages)
        return PZ_OK;
    bad = first_bad_page(segment, page_checks, raw);
    if (!whole && bad < pages)
        return fail_page(segment, bad, "the checksum of the data does not match", diag);
    pzi_segment_place(segment, path);
    if (!whole)
        return pzi_fail_at(diag, PZ_ERR_CHECK, path, "the checksum of the data does not match");
    if (bad < pages)
        return fail_page(segment, bad,
                         "the checksum of the page is damaged, though the data is whole", diag);
    return PZ_OK;
}

pz_status pzi_segment_decode(const struct pzi_segment *segment, const uint8_t *body,
                             bool check_pages, void *raw, pz_diag *diag)
{
    pz_where where = {0};
    const pz_status status =
        pz_stream_decode_on(segment->threads, segment->mode, body, (size_t)segment->stream_bytes,
                            raw, (size_t)segment->raw_bytes, &where);

    if (status != PZ_OK)
        return fail_stream(segment, 0, status, &where, diag);
    return check_raw(segment, body + segment->stream_bytes, check_pages, raw, diag);
}

pz_status pzi_page_decode(const struct pzi_segment *segment, uint64_t page, const uint8_t *stream,
                          size_t stream_bytes, uint64_t check, void *raw, size_t raw_bytes,
                          pz_diag *diag)
{
    pz_where where = {0};
    const pz_status status =
        pz_stream_decode(segment->mode, stream, stream_bytes, raw, raw_bytes, &where);

    if (status != PZ_OK)
        return fail_stream(segment, page * PZI_PAGE_CHUNKS, status, &where, diag);
    if (XXH3_64bits(raw, raw_bytes) != check)
        return fail_page(segment, page, "the checksum of the data does not match", diag);
    return PZ_OK;
}

/* ---- Pages of a stream ---- */

void pzi_page_headers(const struct pzi_segment *segment, uint64_t page, size_t *begin, size_t *end)
{
    const uint64_t first = page * PZI_PAGE_CHUNKS;

    *begin = (size_t)(CHUNK_HEADER_BYTES * first);
    *end = *begin + (size_t)(CHUNK_HEADER_BYTES *
                             pz_stream_chunks(pzi_page_bytes(segment->raw_bytes, page)));
}

pz_status pzi_page_payloads(const struct pzi_segment *segment, uint64_t page,
                            const uint8_t *headers, uint64_t *from, uint64_t *bytes)
{
    uint64_t at = CHUNK_HEADER_BYTES * pz_stream_chunks((size_t)segment->raw_bytes);
    size_t begin, end;

    pzi_page_headers(segment, page, &begin, &end);
    *from = at;
    for (size_t header = 0; header < end; header += CHUNK_HEADER_BYTES) {
        if (header == begin)
            *from = at;
        at += pzi_load_le16(headers + header);
        if (at > segment->stream_bytes)
            return PZ_ERR_TRUNCATED;
    }
    *bytes = at - *from;
    return PZ_OK;
}

/* A page that has a check; false if it is damaged.  PZ_ERR_MEMORY comes back through status. */
static bool salvage_page(const struct pzi_segment *segment, uint64_t page, const uint8_t *body,
                         struct pzi_bytes *scratch, uint8_t *raw, pz_status *status)
{
    const uint64_t check =
        pzi_load_le64(body + segment->stream_bytes + page * PZI_PAGE_CHECK_BYTES);
    uint64_t from, bytes;
    size_t begin, end;

    if (pzi_page_payloads(segment, page, body, &from, &bytes) != PZ_OK)
        return false;
    pzi_page_headers(segment, page, &begin, &end);
    scratch->bytes = 0;
    if (!pzi_bytes_append(scratch, body + begin, end - begin) ||
        !pzi_bytes_append(scratch, body + from, (size_t)bytes)) {
        *status = PZ_ERR_MEMORY;
        return false;
    }
    return pzi_page_decode(segment, page, scratch->data, scratch->bytes, check, raw,
                           pzi_page_bytes(segment->raw_bytes, page), NULL) == PZ_OK;
}

pz_status pzi_segment_salvage(const struct pzi_segment *segment, const uint8_t *body,
                              struct pzi_bytes *scratch, uint8_t *raw, uint64_t *lost_bytes)
{
    const uint64_t pages = pzi_segment_pages(segment->raw_bytes);
    pz_status status = PZ_OK;

    *lost_bytes = 0;
    if (pages == 0) {
        memset(raw, 0, (size_t)segment->raw_bytes);
        *lost_bytes = segment->raw_bytes;
    }
    for (uint64_t page = 0; page < pages && status == PZ_OK; page++) {
        uint8_t *const to = raw + page * PZ_PAGE_BYTES;
        const size_t bytes = pzi_page_bytes(segment->raw_bytes, page);

        if (salvage_page(segment, page, body, scratch, to, &status))
            continue;
        memset(to, 0, bytes);
        *lost_bytes += bytes;
    }
    return status;
}
