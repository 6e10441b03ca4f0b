/* Chunks of format 2: whole ones go to the inner loops where they lie, what is shorter by way of a
 * padded copy. */
#include "codec/chunk2.h"

#include <string.h>

#include "codec/payload.h"

/* Symbols of a chunk; the last one may be cut. */
static unsigned symbols_of(pz_mode mode, size_t raw_bytes)
{
    const unsigned bytes = mode.width_bits / 8;

    return (unsigned)((raw_bytes + bytes - 1) / bytes);
}

/* The chunk as whole symbols, zeros behind them: where it lies, or in `copy` of PZ_CHUNK_BYTES. */
static const uint8_t *padded(const uint8_t *raw, size_t raw_bytes, uint8_t *copy)
{
    if (raw_bytes == PZ_CHUNK_BYTES)
        return raw;
    memcpy(copy, raw, raw_bytes);
    memset(copy + raw_bytes, 0, PZ_CHUNK_BYTES - raw_bytes);
    return copy;
}

size_t pzi_chunk2_encode(const struct pzi_width2_ops *ops, pz_mode mode, const uint8_t *raw,
                         size_t raw_bytes, uint8_t *dst, size_t dst_bytes)
{
    uint8_t scratch[PZI_CHUNK2_ROOM], copy[PZ_CHUNK_BYTES];
    uint8_t *const to = dst_bytes >= PZI_CHUNK2_ROOM ? dst : scratch;
    const size_t coded_bytes =
        ops->encode(mode, padded(raw, raw_bytes, copy), symbols_of(mode, raw_bytes), to);

    return pzi_payload_put(raw, raw_bytes, to, coded_bytes, dst, dst_bytes);
}

void pzi_chunk2_measure(const struct pzi_width2_ops *ops, pz_mode mode, const uint8_t *raw,
                        size_t raw_bytes, pz_stats *stats)
{
    uint8_t copy[PZ_CHUNK_BYTES];
    pz_encoding encoding;
    const size_t coded_bytes =
        ops->measure(mode, padded(raw, raw_bytes, copy), symbols_of(mode, raw_bytes), &encoding);

    stats->blocks[encoding] += (raw_bytes + PZ_BLOCK_BYTES - 1) / PZ_BLOCK_BYTES;
    stats->payload_bits += 8 * coded_bytes;
    pzi_payload_count(raw_bytes, coded_bytes, stats);
}

/* Decodes into whole symbols, of which the bytes behind raw_bytes must be zero. */
static pz_status decode_short(const struct pzi_width2_ops *ops, pz_mode mode,
                              struct pzi_reader2 *from, uint8_t *raw, size_t raw_bytes)
{
    const unsigned n = symbols_of(mode, raw_bytes);
    const size_t symbol_bytes = (size_t)n * (mode.width_bits / 8);
    uint8_t copy[PZ_CHUNK_BYTES];
    const pz_status status = ops->decode(mode, from, copy, n);

    if (status != PZ_OK)
        return status;
    for (size_t i = raw_bytes; i < symbol_bytes; i++)
        if (copy[i] != 0)
            return PZ_ERR_PADDING;
    memcpy(raw, copy, raw_bytes);
    return PZ_OK;
}

pz_status pzi_chunk2_decode(const struct pzi_width2_ops *ops, pz_mode mode, const uint8_t *coded,
                            size_t coded_bytes, size_t readable_bytes, uint8_t *raw,
                            size_t raw_bytes, pz_where *where)
{
    uint8_t copy[PZ_CHUNK_BYTES + PZI_READER2_SLACK];
    struct pzi_reader2 from;
    pz_status status;

    if (coded_bytes == raw_bytes) {
        memcpy(raw, coded, raw_bytes);
        return PZ_OK;
    }
    coded = pzi_payload_readable(coded, coded_bytes, readable_bytes, PZI_READER2_SLACK, copy);
    from = (struct pzi_reader2){coded, coded + coded_bytes};
    if (raw_bytes == PZ_CHUNK_BYTES)
        status = ops->decode(mode, &from, raw, symbols_of(mode, raw_bytes));
    else
        status = decode_short(ops, mode, &from, raw, raw_bytes);
    if (status == PZ_OK && from.next != from.end)
        status = PZ_ERR_CHUNK_END;
    where->block = 0;
    where->bit = (uint32_t)(8 * (from.next - coded));
    return status;
}
