/* Chunks: whole blocks go to the inner loops as they are, a short last block by way of a padded
 * copy. */
#include "codec/chunk.h"

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "codec/format.h"
#include "codec/payload.h"

/* A chunk as blocks: `whole` blocks, and tail_bytes in one more unless they are 0. */
struct cut {
    unsigned whole;
    size_t whole_bytes;
    size_t tail_bytes;
};

static struct cut cut_of(size_t raw_bytes)
{
    struct cut cut = {(unsigned)(raw_bytes / PZ_BLOCK_BYTES), 0, raw_bytes % PZ_BLOCK_BYTES};

    cut.whole_bytes = raw_bytes - cut.tail_bytes;
    return cut;
}

/* What 32 blocks can take, as none is larger than RAW with its tag. */
enum { MAX_CODED_BITS = PZ_CHUNK_BLOCKS * (PZI_TAG_BITS + PZI_BLOCK_BITS) };
enum { ENCODER_ROOM = (MAX_CODED_BITS + 7) / 8 + PZI_BITS_SLACK };

static size_t encode_all(const struct pzi_width_ops *ops, uint32_t encodings, const uint8_t *raw,
                         size_t raw_bytes, uint8_t *to)
{
    const struct cut cut = cut_of(raw_bytes);
    uint8_t tail[PZ_BLOCK_BYTES] = {0};
    struct pzi_bit_writer writer;

    pzi_writer_init(&writer, to);
    ops->encode(encodings, raw, cut.whole, &writer);
    if (cut.tail_bytes != 0) {
        memcpy(tail, raw + cut.whole_bytes, cut.tail_bytes);
        ops->encode(encodings, tail, 1, &writer);
    }
    pzi_writer_finish(&writer);
    return (size_t)(writer.next - to);
}

size_t pzi_chunk_encode(const struct pzi_width_ops *ops, uint32_t encodings, const uint8_t *raw,
                        size_t raw_bytes, uint8_t *dst, size_t dst_bytes)
{
    uint8_t scratch[ENCODER_ROOM], *const to = dst_bytes >= ENCODER_ROOM ? dst : scratch;
    const size_t coded_bytes = encode_all(ops, encodings, raw, raw_bytes, to);

    return pzi_payload_put(raw, raw_bytes, to, coded_bytes, dst, dst_bytes);
}

void pzi_chunk_measure(const struct pzi_width_ops *ops, uint32_t encodings, const uint8_t *raw,
                       size_t raw_bytes, pz_stats *stats)
{
    const struct cut cut = cut_of(raw_bytes);
    const uint64_t bits_before = stats->payload_bits;
    uint8_t tail[PZ_BLOCK_BYTES] = {0};

    ops->measure(encodings, raw, cut.whole, stats);
    if (cut.tail_bytes != 0) {
        memcpy(tail, raw + cut.whole_bytes, cut.tail_bytes);
        ops->measure(encodings, tail, 1, stats);
    }
    pzi_payload_count(raw_bytes, (stats->payload_bits - bits_before + 7) / 8, stats);
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    uint8_t seen = 0;

    for (size_t i = 0; i < count; i++)
        seen |= bytes[i];
    return seen == 0;
}

static pz_status decode_tail(const struct pzi_width_ops *ops, struct pzi_bit_reader *reader,
                             uint8_t *raw, size_t tail_bytes)
{
    uint8_t tail[PZ_BLOCK_BYTES];
    unsigned done;
    const pz_status status = ops->decode(reader, tail, 1, &done);

    if (status != PZ_OK)
        return status;
    memcpy(raw, tail, tail_bytes);
    return is_zero(tail + tail_bytes, PZ_BLOCK_BYTES - tail_bytes) ? PZ_OK : PZ_ERR_PADDING;
}

/* After the last block: less than a byte is left, and it is zero. */
static pz_status check_end(const struct pzi_bit_reader *reader)
{
    const size_t left = pzi_left(reader);

    if (left >= 8)
        return PZ_ERR_CHUNK_END;
    return (pzi_peek(reader) & ((1u << left) - 1)) == 0 ? PZ_OK : PZ_ERR_PADDING;
}

static pz_status decode_all(const struct pzi_width_ops *ops, struct pzi_bit_reader *reader,
                            uint8_t *raw, size_t raw_bytes, unsigned *done)
{
    const struct cut cut = cut_of(raw_bytes);
    pz_status status = ops->decode(reader, raw, cut.whole, done);

    if (status == PZ_OK && cut.tail_bytes != 0) {
        status = decode_tail(ops, reader, raw + cut.whole_bytes, cut.tail_bytes);
        *done += status == PZ_OK;
    }
    return status == PZ_OK ? check_end(reader) : status;
}

pz_status pzi_chunk_decode(const struct pzi_width_ops *ops, const uint8_t *coded,
                           size_t coded_bytes, size_t readable_bytes, uint8_t *raw,
                           size_t raw_bytes, pz_where *where)
{
    uint8_t copy[PZ_CHUNK_BYTES + PZI_BITS_SLACK];
    struct pzi_bit_reader reader;
    unsigned done = 0;
    pz_status status;

    if (coded_bytes == raw_bytes) {
        memcpy(raw, coded, raw_bytes);
        return PZ_OK;
    }
    coded = pzi_payload_readable(coded, coded_bytes, readable_bytes, PZI_BITS_SLACK, copy);
    pzi_reader_init(&reader, coded, coded_bytes);
    status = decode_all(ops, &reader, raw, raw_bytes, &done);
    where->block = done;
    where->bit = (uint32_t)reader.position;
    return status;
}
