/* Template, parameter PZ_W: a chunk of either format by a warp, from and to global memory: raw, if
 * coding would not make it smaller.  Includes all that it is made of.  With PZ_FORMAT the kernels
 * are for that format alone, and take half the time to compile. */
#ifdef PZ_FORMAT
#define PZ_IS_FORMAT_1(format) ((void)(format), PZ_FORMAT == 1)
#else
#define PZ_IS_FORMAT_1(format) ((format) == 1)
#endif

#include "gpu/warp.tmpl.h"

#include "gpu/look.tmpl.h"

#include "gpu/encode_classes.tmpl.h"

#include "gpu/encode_numbers.tmpl.h"

#include "gpu/encode_blocks.tmpl.h"

#include "gpu/decode_classes.tmpl.h"

#include "gpu/decode_numbers.tmpl.h"

#include "gpu/decode_blocks.tmpl.h"

/* Symbols of a chunk; the last one may be cut. */
PZI_FN uint32_t PZ_CAT(symbols_of)(uint32_t raw_bytes)
{
    return (8 * raw_bytes + PZ_W - 1) / PZ_W;
}

PZI_FN void PZ_CAT(begin_look)(PZ_LOCAL PZ_WARP *warp)
{
    PZ_CAT(clear)(&warp->lanes, warp->count, PZI_COUNTERS);
    if (PZ_IS_FIRST(&warp->lanes))
        warp->count[PZ_CAT(best)] = PZI_NO_FAULT;
    PZ_SYNC(&warp->lanes);
}

/* Format 2 of symbols with e > 0. */
PZI_FN uint32_t PZ_CAT(encode_floats)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                      uint32_t tries_differences, uint32_t e, uint32_t raw_bytes)
{
    const uint32_t n = PZ_CAT(symbols_of)(raw_bytes);
    const struct PZ_CAT(sample) sample = PZ_CAT(sample_of)(n);
    uint32_t cost, takes_differences = 0;
    PZ_SHAPE shape;

    shape.e = e;
    shape.m = PZ_W - 1 - e;
    PZ_CAT(begin_look)(warp);
    PZ_CAT(look)(warp, n, &shape);
    cost = PZ_CAT(exponents_cost)(warp, tables, &sample, &shape);
    if (tries_differences) {
        const uint32_t other = PZ_CAT(numbers_cost)(warp, warp->chunk.symbol, &sample, n, e, 1);

        takes_differences = other < cost;
        cost = takes_differences ? other : cost;
        if (shape.has_zeros && PZ_CAT(sparse_cost)(warp, &sample, e) < cost) {
            PZ_CAT(compact)(warp, PZ_CAT(rows_of)(n));
            return PZ_CAT(encode_numbers)(warp, shape.c, e, 1, PZ_CAT(blocks_of)(n), raw_bytes);
        }
    }
    if (takes_differences)
        return PZ_CAT(encode_numbers)(warp, n, e, 1, 0, raw_bytes);
    return PZ_CAT(encode_classes)(warp, tables, &shape, n, raw_bytes);
}

PZI_FN uint32_t PZ_CAT(encode_integers)(PZ_LOCAL PZ_WARP *warp, uint32_t tries_differences,
                                        uint32_t raw_bytes)
{
    const uint32_t n = PZ_CAT(symbols_of)(raw_bytes);
    const struct PZ_CAT(sample) sample = PZ_CAT(sample_of)(n);
    uint32_t differences = 0;

    if (tries_differences) {
        const uint32_t cost = PZ_CAT(numbers_cost)(warp, warp->chunk.symbol, &sample, n, 0, 0);

        differences = PZ_CAT(numbers_cost)(warp, warp->chunk.symbol, &sample, n, 0, 1) < cost;
    }
    return PZ_CAT(encode_numbers)(warp, n, 0, differences, 0, raw_bytes);
}

/* Writes the payload of a chunk of raw_bytes, 1 to 4096, to `to`, which has room for as many, and
 * returns its size. */
PZI_FN uint32_t PZ_CAT(encode_chunk)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                     uint32_t format, uint32_t encodings, uint32_t e,
                                     PZ_GLOBAL const uint8_t *raw, uint32_t raw_bytes,
                                     PZ_GLOBAL uint8_t *to)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    const uint32_t nb = (raw_bytes + PZ_BLOCK_BYTES - 1) / PZ_BLOCK_BYTES;
    const uint32_t tries_differences = encodings >> PZ_DIFFERENCES & 1;
    uint32_t bytes;

    PZ_CAT(load_chunk)(warp, raw, raw_bytes);
    PZ_CAT(clear_stream)(warp);
    if (PZ_IS_FORMAT_1(format))
        bytes = PZ_CAT(encode_blocks)(warp, encodings, nb, raw_bytes);
    else if (e != 0)
        bytes = PZ_CAT(encode_floats)(warp, tables, tries_differences, e, raw_bytes);
    else
        bytes = PZ_CAT(encode_integers)(warp, tries_differences, raw_bytes);
    if (bytes < raw_bytes) {
        PZ_CAT(store)(lanes, warp->stream.quad, bytes, to);
        return bytes;
    }
    PZ_CAT(load_chunk)(warp, raw, raw_bytes);
    PZ_CAT(store)(lanes, warp->chunk.quad, raw_bytes, to);
    return raw_bytes;
}

/* The bytes behind raw_bytes in the last symbol must be zero, and all of the payload read. */
PZI_FN uint32_t PZ_CAT(check_symbols)(PZ_LOCAL PZ_WARP *warp, uint32_t next, uint32_t end,
                                      uint32_t raw_bytes)
{
    const uint32_t symbol_bytes = PZ_CAT(symbols_of)(raw_bytes) * (PZ_W / 8);

    PZ_SYNC(&warp->lanes);
    for (uint32_t i = raw_bytes; i < symbol_bytes; i++)
        if (warp->chunk.byte[i] != 0)
            return PZ_ERR_PADDING;
    return next == end ? PZ_OK : PZ_ERR_CHUNK_END;
}

PZI_FN uint32_t PZ_CAT(decode_payload2)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                        uint32_t e, uint32_t begin, uint32_t end,
                                        uint32_t raw_bytes)
{
    const uint32_t mode = warp->stream.byte[begin] & 3, n = PZ_CAT(symbols_of)(raw_bytes);
    uint32_t next = begin, status;

    if (begin == end)
        return PZ_ERR_CHUNK_END;
    if (mode == 1 || mode == 2)
        status = PZ_CAT(decode_numbers)(warp, e, &next, end, n);
    else if (e == 0)
        return PZ_ERR_MODE;
    else
        status = PZ_CAT(decode_classes)(warp, tables, e, &next, end, n);
    return status == PZ_OK ? PZ_CAT(check_symbols)(warp, next, end, raw_bytes) : status;
}

/* A chunk that is stored raw. */
PZI_FN uint32_t PZ_CAT(take_raw)(PZ_LOCAL PZ_WARP *warp, uint32_t begin, uint32_t raw_bytes)
{
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = lane; 4 * i < raw_bytes; i += PZ_LANES)
            warp->chunk.word[i] = pzi_bits32(warp->stream.word, 8 * begin + 32 * i);
    PZ_SYNC(&warp->lanes);
    return PZ_OK;
}

/* Reads a payload of coded_bytes <= raw_bytes.  Returns the status, and writes nothing unless it is
 * PZ_OK. */
PZI_FN uint32_t PZ_CAT(decode_chunk)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                     uint32_t format, uint32_t e, PZ_GLOBAL const uint8_t *coded,
                                     uint32_t coded_bytes, PZ_GLOBAL uint8_t *raw,
                                     uint32_t raw_bytes)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    uint32_t begin, status;

    if (PZ_IS_FIRST(lanes))
        warp->fault = PZI_NO_FAULT;
    begin = PZ_CAT(load_payload)(warp, coded, coded_bytes);
    if (coded_bytes == raw_bytes)
        status = PZ_CAT(take_raw)(warp, begin, raw_bytes);
    else
        status =
            PZ_IS_FORMAT_1(format)
                ? PZ_CAT(decode_blocks)(warp, begin, begin + coded_bytes, raw_bytes)
                : PZ_CAT(decode_payload2)(warp, tables, e, begin, begin + coded_bytes, raw_bytes);
    if (status == PZ_OK)
        PZ_CAT(store)(lanes, warp->chunk.quad, raw_bytes, raw);
    PZ_SYNC(lanes);
    return status;
}

#undef PZ_IS_FORMAT_1
#undef PZ_WARP
#undef PZ_SHAPE
