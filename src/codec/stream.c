/* Tensor streams (docs/format.md, "Tensor stream"): all headers, then all payloads.  Checks what
 * the caller gave; below this file arguments are right. */
#include "base/le.h"
#include "codec/chunk.h"
#include "codec/format.h"
#include "codec/isa.h"
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

/* What encoder and size model need of a mode; NULL if they cannot be had or the input is none. */
static const struct pzi_width_ops *ops_for(pz_mode mode, const void *raw, size_t raw_bytes)
{
    size_t bound_bytes;

    if ((mode.encodings & ~PZI_ALL_ENCODINGS) != 0 || (raw == NULL && raw_bytes != 0) ||
        pz_stream_bound(raw_bytes, &bound_bytes) != PZ_OK)
        return NULL;
    return pzi_active_ops(mode.width_bits);
}

pz_status pz_stream_encode(pz_mode mode, const void *raw, size_t raw_bytes, void *dst,
                           size_t dst_bytes, size_t *coded_bytes)
{
    const struct pzi_width_ops *const ops = ops_for(mode, raw, raw_bytes);
    const size_t headers_bytes = (size_t)(PZI_HEADER_BYTES * pz_stream_chunks(raw_bytes));
    uint8_t *const stream = dst;
    size_t end = headers_bytes;

    if (ops == NULL || coded_bytes == NULL || (dst == NULL && dst_bytes != 0))
        return PZ_ERR_ARGUMENT;
    if (dst_bytes < headers_bytes)
        return PZ_ERR_SPACE;
    for (size_t from = 0, header = 0; from < raw_bytes;
         from += PZ_CHUNK_BYTES, header += PZI_HEADER_BYTES) {
        const size_t payload_bytes =
            pzi_chunk_encode(ops, mode.encodings, (const uint8_t *)raw + from,
                             chunk_bytes(raw_bytes, from), stream + end, dst_bytes - end);

        if (payload_bytes == 0)
            return PZ_ERR_SPACE;
        pzi_store_le16(stream + header, (uint16_t)payload_bytes);
        end += payload_bytes;
    }
    *coded_bytes = end;
    return PZ_OK;
}

pz_status pz_stream_measure(pz_mode mode, const void *raw, size_t raw_bytes, pz_stats *stats)
{
    const struct pzi_width_ops *const ops = ops_for(mode, raw, raw_bytes);

    if (ops == NULL || stats == NULL)
        return PZ_ERR_ARGUMENT;
    *stats = (pz_stats){.raw_bytes = raw_bytes};
    for (size_t from = 0; from < raw_bytes; from += PZ_CHUNK_BYTES)
        pzi_chunk_measure(ops, mode.encodings, (const uint8_t *)raw + from,
                          chunk_bytes(raw_bytes, from), stats);
    return PZ_OK;
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

/* Of a stream whose headers are right. */
static pz_status decode_payloads(const struct pzi_width_ops *ops, const uint8_t *coded,
                                 size_t coded_bytes, uint8_t *raw, size_t raw_bytes,
                                 pz_where *where)
{
    const uint8_t *header = coded;
    const uint8_t *payload = coded + PZI_HEADER_BYTES * (size_t)pz_stream_chunks(raw_bytes);

    for (size_t from = 0; from < raw_bytes; from += PZ_CHUNK_BYTES) {
        const size_t payload_bytes = pzi_load_le16(header);
        pz_where inside;
        const pz_status status =
            pzi_chunk_decode(ops, payload, payload_bytes, (size_t)(coded + coded_bytes - payload),
                             raw + from, chunk_bytes(raw_bytes, from), &inside);

        if (status != PZ_OK) {
            *where = (pz_where){from / PZ_CHUNK_BYTES, inside.block, inside.bit};
            return status;
        }
        header += PZI_HEADER_BYTES;
        payload += payload_bytes;
    }
    return PZ_OK;
}

pz_status pz_stream_decode(pz_mode mode, const void *coded, size_t coded_bytes, void *raw,
                           size_t raw_bytes, pz_where *where)
{
    const struct pzi_width_ops *const ops = pzi_active_ops(mode.width_bits);
    pz_where unwanted;
    pz_status status;

    if (where == NULL)
        where = &unwanted;
    if (ops == NULL || (coded == NULL && coded_bytes != 0) || (raw == NULL && raw_bytes != 0))
        return PZ_ERR_ARGUMENT;
    status = check_stream(coded, coded_bytes, raw_bytes, NULL, where);
    if (status != PZ_OK || raw_bytes == 0)
        return status;
    return decode_payloads(ops, coded, coded_bytes, raw, raw_bytes, where);
}
