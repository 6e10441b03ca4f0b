/* Parts of a tensor stream (docs/format.md and docs/format2.md, "Tensor stream"), for one thread of
 * several. */
#ifndef PZI_STREAM_H
#define PZI_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "planezip/planezip.h"

/* A whole tensor; its chunks are numbered from 0. */
struct pzi_tensor {
    pz_mode mode;
    const uint8_t *raw;
    size_t raw_bytes;
};

/* Checks mode and input of encoder and size model.  PZ_ERR_ARGUMENT if they are not right. */
pz_status pzi_tensor_of(pz_mode mode, const void *raw, size_t raw_bytes, struct pzi_tensor *tensor);

/* Encodes the chunks first .. end-1: their headers go where they belong in `headers`, those of the
 * whole stream, and their payloads one after the other into dst.  *payload_bytes is the size of
 * the latter.  PZ_ERR_SPACE if dst_bytes do not suffice. */
pz_status pzi_encode_chunks(const struct pzi_tensor *tensor, uint64_t first, uint64_t end,
                            uint8_t *headers, uint8_t *dst, size_t dst_bytes,
                            size_t *payload_bytes);

/* Adds the chunks first .. end-1 to stats, raw_bytes apart. */
void pzi_measure_chunks(const struct pzi_tensor *tensor, uint64_t first, uint64_t end,
                        pz_stats *stats);

/* A stream whose headers and length are right. */
struct pzi_coded {
    pz_mode mode;
    const uint8_t *coded;
    size_t coded_bytes;
    size_t raw_bytes; /* of the whole tensor */
};

/* Checks the arguments, the headers and the stream's length. */
pz_status pzi_coded_of(pz_mode mode, const void *coded, size_t coded_bytes, const void *raw,
                       size_t raw_bytes, struct pzi_coded *stream, pz_where *where);

/* Where the payload behind that of the chunks first .. end-1 begins, if the one of `first` begins
 * at `position`. */
size_t pzi_skip_chunks(const struct pzi_coded *stream, uint64_t first, uint64_t end,
                       size_t position);

/* Decodes the chunks first .. end-1, of which the first one's payload begins at `position`, to raw,
 * which is the place of the first one. */
pz_status pzi_decode_chunks(const struct pzi_coded *stream, uint64_t first, uint64_t end,
                            size_t position, uint8_t *raw, pz_where *where);

#endif
