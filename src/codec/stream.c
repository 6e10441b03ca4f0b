/* Tensor streams (docs/format.md and docs/format2.md, "Tensor stream"): all headers, then all
 * payloads.  Checks what the caller gave; below this file arguments are right. */
#include "codec/stream.h"
#include "base/le.h"
#include "codec/chunk.h"
#include "codec/chunk2.h"
#include "codec/format.h"
#include "planezip/planezip.h"

uint64_t pz_stream_chunks(size_t raw_bytes)
{
    return raw_bytes / PZ_CHUNK_BYTES + (raw_bytes % PZ_CHUNK_BYTES != 0);
}

pz_status pz_stream_bound(size_t raw_bytes, size_t *bound_bytes)
{
    const uint64_t headers_bytes = PZI_HEADER_BYTES * pz_stream_chunks(raw_bytes);

    if (bound_bytes == NULL || headers_bytes > SIZE_MAX - raw_bytes)
        return PZ_ERR_ARGUMENT;
    *bound_bytes = raw_bytes + (size_t)headers_bytes;
    return PZ_OK;
}

/* Input bytes of the chunk that begins at byte `from`. */
static size_t chunk_bytes(size_t raw_bytes, size_t from)
{
    return raw_bytes - from < PZ_CHUNK_BYTES ? raw_bytes - from : PZ_CHUNK_BYTES;
}

pz_status pzi_tensor_of(pz_mode mode, const void *raw, size_t raw_bytes, struct pzi_tensor *tensor)
{
    size_t bound_bytes;

    if (!pzi_mode_is_valid(mode) || (raw == NULL && raw_bytes != 0) ||
        pz_stream_bound(raw_bytes, &bound_bytes) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    *tensor = (struct pzi_tensor){mode, raw, raw_bytes};
    return PZ_OK;
}

/* The payload of one chunk, see pzi_chunk_encode(). */
static size_t encode_chunk(pz_mode mode, const uint8_t *raw, size_t raw_bytes, uint8_t *dst,
                           size_t dst_bytes)
{
    if (mode.format == PZ_FORMAT_2)
        return pzi_chunk2_encode(pzi_active_ops2(mode.width_bits), mode, raw, raw_bytes, dst,
                                 dst_bytes);
    return pzi_chunk_encode(pzi_active_ops(mode.width_bits), mode.encodings, raw, raw_bytes, dst,
                            dst_bytes);
}

static void measure_chunk(pz_mode mode, const uint8_t *raw, size_t raw_bytes, pz_stats *stats)
{
    if (mode.format == PZ_FORMAT_2)
        pzi_chunk2_measure(pzi_active_ops2(mode.width_bits), mode, raw, raw_bytes, stats);
    else
        pzi_chunk_measure(pzi_active_ops(mode.width_bits), mode.encodings, raw, raw_bytes, stats);
}

static pz_status decode_chunk(pz_mode mode, const uint8_t *coded, size_t coded_bytes,
                              size_t readable_bytes, uint8_t *raw, size_t raw_bytes,
                              pz_where *where)
{
    if (mode.format == PZ_FORMAT_2)
        return pzi_chunk2_decode(pzi_active_ops2(mode.width_bits), mode, coded, coded_bytes,
                                 readable_bytes, raw, raw_bytes, where);
    return pzi_chunk_decode(pzi_active_ops(mode.width_bits), coded, coded_bytes, readable_bytes,
                            raw, raw_bytes, where);
}

pz_status pzi_encode_chunks(const struct pzi_tensor *tensor, uint64_t first, uint64_t end,
                            uint8_t *headers, uint8_t *dst, size_t dst_bytes, size_t *payload_bytes)
{
    size_t position = 0;

    for (uint64_t chunk = first; chunk < end; chunk++) {
        const size_t from = (size_t)chunk * PZ_CHUNK_BYTES;
        const size_t bytes =
            encode_chunk(tensor->mode, tensor->raw + from, chunk_bytes(tensor->raw_bytes, from),
                         dst + position, dst_bytes - position);

        if (bytes == 0)
            return PZ_ERR_SPACE;
        pzi_store_le16(headers + PZI_HEADER_BYTES * (size_t)chunk, (uint16_t)bytes);
        position += bytes;
    }
    *payload_bytes = position;
    return PZ_OK;
}

pz_status pz_stream_encode(pz_mode mode, const void *raw, size_t raw_bytes, void *dst,
                           size_t dst_bytes, size_t *coded_bytes)
{
    return pz_stream_encode_on(NULL, mode, raw, raw_bytes, dst, dst_bytes, coded_bytes);
}

void pzi_measure_chunks(const struct pzi_tensor *tensor, uint64_t first, uint64_t end,
                        pz_stats *stats)
{
    for (uint64_t chunk = first; chunk < end; chunk++) {
        const size_t from = (size_t)chunk * PZ_CHUNK_BYTES;

        measure_chunk(tensor->mode, tensor->raw + from, chunk_bytes(tensor->raw_bytes, from),
                      stats);
    }
}

pz_status pz_stream_measure(pz_mode mode, const void *raw, size_t raw_bytes, pz_stats *stats)
{
    return pz_stream_measure_on(NULL, mode, raw, raw_bytes, stats);
}

/* Walks over the headers.  position is where the payloads begin, then where the next one does. */
struct headers {
    const uint8_t *coded;
    size_t coded_bytes;
    size_t raw_bytes;
    uint64_t chunk;
    size_t position;
};

/* The payload size of the chunk at hand, checked; the walk goes on to the next chunk. */
static pz_status next_header(struct headers *headers, size_t *payload_bytes)
{
    const size_t from = (size_t)headers->chunk * PZ_CHUNK_BYTES;
    const uint8_t *const header = headers->coded + PZI_HEADER_BYTES * (size_t)headers->chunk;

    *payload_bytes = pzi_load_le16(header);
    if (*payload_bytes > chunk_bytes(headers->raw_bytes, from))
        return PZ_ERR_CHUNK_SIZE;
    if (*payload_bytes > headers->coded_bytes - headers->position)
        return PZ_ERR_TRUNCATED;
    headers->chunk++;
    headers->position += *payload_bytes;
    return PZ_OK;
}

/* Before the first header.  An error is located by headers->chunk. */
static pz_status begin_headers(struct headers *headers, const void *coded, size_t coded_bytes,
                               size_t raw_bytes)
{
    const uint64_t headers_bytes = PZI_HEADER_BYTES * pz_stream_chunks(raw_bytes);

    *headers = (struct headers){coded, coded_bytes, raw_bytes, 0, (size_t)headers_bytes};
    if (coded_bytes >= headers_bytes)
        return PZ_OK;
    headers->chunk = coded_bytes / PZI_HEADER_BYTES;
    return PZ_ERR_TRUNCATED;
}

static pz_status check_headers(struct headers *headers, uint64_t *offsets)
{
    const uint64_t chunks = pz_stream_chunks(headers->raw_bytes);
    size_t payload_bytes;
    pz_status status;

    while (headers->chunk < chunks) {
        if (offsets != NULL)
            offsets[headers->chunk] = headers->position;
        status = next_header(headers, &payload_bytes);
        if (status != PZ_OK)
            return status;
    }
    if (offsets != NULL)
        offsets[chunks] = headers->position;
    return headers->position == headers->coded_bytes ? PZ_OK : PZ_ERR_TRAILING;
}

static pz_status check_stream(const void *coded, size_t coded_bytes, size_t raw_bytes,
                              uint64_t *offsets, pz_where *where)
{
    struct headers headers;
    pz_status status = begin_headers(&headers, coded, coded_bytes, raw_bytes);

    if (status == PZ_OK)
        status = check_headers(&headers, offsets);
    if (status != PZ_OK)
        *where = (pz_where){headers.chunk, 0, 0};
    return status;
}

pz_status pz_stream_index(const void *coded, size_t coded_bytes, size_t raw_bytes,
                          uint64_t *offsets, pz_where *where)
{
    pz_where unwanted;

    if (offsets == NULL || (coded == NULL && coded_bytes != 0))
        return PZ_ERR_ARGUMENT;
    return check_stream(coded, coded_bytes, raw_bytes, offsets, where != NULL ? where : &unwanted);
}

pz_status pzi_coded_of(pz_mode mode, const void *coded, size_t coded_bytes, const void *raw,
                       size_t raw_bytes, struct pzi_coded *stream, pz_where *where)
{
    *stream = (struct pzi_coded){mode, coded, coded_bytes, raw_bytes};
    if (!pzi_symbols_are_valid(mode) || (coded == NULL && coded_bytes != 0) ||
        (raw == NULL && raw_bytes != 0))
        return PZ_ERR_ARGUMENT;
    return check_stream(coded, coded_bytes, raw_bytes, NULL, where);
}

static size_t payload_bytes_of(const struct pzi_coded *stream, uint64_t chunk)
{
    return pzi_load_le16(stream->coded + PZI_HEADER_BYTES * (size_t)chunk);
}

size_t pzi_skip_chunks(const struct pzi_coded *stream, uint64_t first, uint64_t end,
                       size_t position)
{
    for (uint64_t chunk = first; chunk < end; chunk++)
        position += payload_bytes_of(stream, chunk);
    return position;
}

pz_status pzi_decode_chunks(const struct pzi_coded *stream, uint64_t first, uint64_t end,
                            size_t position, uint8_t *raw, pz_where *where)
{
    for (uint64_t chunk = first; chunk < end; chunk++) {
        const size_t raw_bytes = chunk_bytes(stream->raw_bytes, (size_t)chunk * PZ_CHUNK_BYTES);
        const size_t payload_bytes = payload_bytes_of(stream, chunk);
        pz_where inside;
        const pz_status status =
            decode_chunk(stream->mode, stream->coded + position, payload_bytes,
                         stream->coded_bytes - position, raw, raw_bytes, &inside);

        if (status != PZ_OK) {
            *where = (pz_where){chunk, inside.block, inside.bit};
            return status;
        }
        position += payload_bytes;
        raw += raw_bytes;
    }
    return PZ_OK;
}

pz_status pz_stream_decode(pz_mode mode, const void *coded, size_t coded_bytes, void *raw,
                           size_t raw_bytes, pz_where *where)
{
    return pz_stream_decode_on(NULL, mode, coded, coded_bytes, raw, raw_bytes, where);
}

pz_status pz_stream_decode_chunks(pz_mode mode, const void *coded, size_t coded_bytes,
                                  size_t raw_bytes, const uint64_t *offsets, uint64_t first,
                                  uint64_t count, void *raw, pz_where *where)
{
    const struct pzi_coded stream = {mode, coded, coded_bytes, raw_bytes};
    const uint64_t chunks = pz_stream_chunks(raw_bytes);
    pz_where unwanted;

    if (!pzi_symbols_are_valid(mode) || first > chunks || count > chunks - first)
        return PZ_ERR_ARGUMENT;
    if (count == 0)
        return PZ_OK;
    if (coded == NULL || raw == NULL || offsets == NULL || coded_bytes < PZI_HEADER_BYTES * chunks)
        return PZ_ERR_ARGUMENT;
    /* So that offsets of another stream do no harm. */
    for (uint64_t chunk = first; chunk < first + count; chunk++)
        if (offsets[chunk] > coded_bytes || offsets[chunk + 1] > coded_bytes ||
            offsets[chunk + 1] - offsets[chunk] != payload_bytes_of(&stream, chunk) ||
            payload_bytes_of(&stream, chunk) >
                chunk_bytes(raw_bytes, (size_t)chunk * PZ_CHUNK_BYTES))
            return PZ_ERR_ARGUMENT;
    return pzi_decode_chunks(&stream, first, first + count, (size_t)offsets[first], raw,
                             where != NULL ? where : &unwanted);
}
