/* A segment: its stream and the checks of its pages, docs/container.md, "SEGM". */
#ifndef PZI_CONTAINER_SEGMENT_H
#define PZI_CONTAINER_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "container/bytes.h"
#include "planezip/planezip.h"

enum { PZI_PAGE_CHECK_BYTES = 8, PZI_PAGE_CHUNKS = PZ_PAGE_BYTES / PZ_CHUNK_BYTES };

/* Pages that have a check of their own in a segment of raw_bytes. */
uint64_t pzi_segment_pages(uint64_t raw_bytes);

/* Codes raw_bytes (at most PZ_SEGMENT_MAX_BYTES) with threads, which may be NULL, into *body, which
 * is overwritten, and counts what was written.  PZ_ERR_MEMORY. */
pz_status pzi_segment_encode(pz_threads *threads, pz_mode mode, const void *raw, size_t raw_bytes,
                             struct pzi_bytes *body, pz_stats *stats, uint64_t *check);

/* What to decode, and the place that messages name. */
struct pzi_segment {
    pz_threads *threads; /* may be NULL */
    pz_mode mode;
    const char *tensor;
    uint64_t number;
    uint64_t raw_bytes;
    uint64_t stream_bytes;
    uint64_t check;
};

/* Decodes a body into raw and compares the check, and those of the pages if check_pages. */
pz_status pzi_segment_decode(const struct pzi_segment *segment, const uint8_t *body,
                             bool check_pages, void *raw, pz_diag *diag);

/* Decodes one page from a stream of its chunks alone and compares its check. */
pz_status pzi_page_decode(const struct pzi_segment *segment, uint64_t page, const uint8_t *stream,
                          size_t stream_bytes, uint64_t check, void *raw, size_t raw_bytes,
                          pz_diag *diag);

/* Where the payloads of a page lie within the stream, by the headers of all chunks up to its end.
 * PZ_ERR_TRUNCATED if the headers tell more bytes than the stream has. */
pz_status pzi_page_payloads(const struct pzi_segment *segment, uint64_t page,
                            const uint8_t *headers, uint64_t *from, uint64_t *bytes);

/* Bytes of the headers of all chunks before a page and, `end`, up to its end. */
void pzi_page_headers(const struct pzi_segment *segment, uint64_t page, size_t *begin, size_t *end);

/* Raw bytes of a page. */
size_t pzi_page_bytes(uint64_t raw_bytes, uint64_t page);

/* Decodes those pages of a damaged body whose checks match, and clears the others: *lost_bytes of
 * them.  scratch is for the streams of pages. */
pz_status pzi_segment_salvage(const struct pzi_segment *segment, const uint8_t *body,
                              struct pzi_bytes *scratch, uint8_t *raw, uint64_t *lost_bytes);

/* "tensor 'name', segment 3", the name cut if need be. */
enum { PZI_PLACE_TEXT = 128 };
void pzi_segment_place(const struct pzi_segment *segment, char text[PZI_PLACE_TEXT]);

#endif
