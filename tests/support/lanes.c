/* The device kernels as plain C, see lanes.h. */
#include "support/lanes.h"

#include "codec/code2.h"
#include "codec/width.h"
#include "gpu/words.h"

#define PZ_W 8
#include "gpu/chunk.tmpl.h"
#undef PZ_W
#define PZ_W 16
#include "gpu/chunk.tmpl.h"
#undef PZ_W
#define PZ_W 32
#include "gpu/chunk.tmpl.h"
#undef PZ_W
#define PZ_W 64
#include "gpu/chunk.tmpl.h"
#undef PZ_W

const uint8_t *lanes_tables(void)
{
    static uint8_t bytes[PZI_TABLES_BYTES];

    _Static_assert(sizeof(struct pzi_code2) == PZI_CODE_BYTES, "a code has no gaps");
    memcpy(bytes, pzi_codes2, sizeof pzi_codes2);
    for (unsigned c = 0; c < PZI_CLASSES2; c++)
        for (unsigned j = 0; j < PZI_CODES2; j++)
            bytes[sizeof pzi_codes2 + c * PZI_CODES2 + j] = (uint8_t)pzi_lengths2[c][j];
    return bytes;
}

#define ENCODE(w)                                                                              \
    static size_t encode_w##w(uint32_t flip, pz_mode mode, const uint8_t *raw, size_t bytes,   \
                              uint8_t *to)                                                     \
    {                                                                                          \
        struct warp_w##w warp;                                                                 \
                                                                                               \
        memset(&warp, 0xa5, sizeof warp); /* as local memory, which holds anything at first */ \
        warp.lanes.flip = flip;                                                                \
        return encode_chunk_w##w(&warp, lanes_tables(), mode.format, mode.encodings,           \
                                 mode.exponent_bits, raw, (uint32_t)bytes, to);                \
    }
#define DECODE(w)                                                                                  \
    static pz_status decode_w##w(uint32_t flip, pz_mode mode, const uint8_t *coded,                \
                                 size_t coded_bytes, uint8_t *raw, size_t raw_bytes)               \
    {                                                                                              \
        struct warp_w##w warp;                                                                     \
                                                                                                   \
        memset(&warp, 0xa5, sizeof warp);                                                          \
        warp.lanes.flip = flip;                                                                    \
        return (pz_status)decode_chunk_w##w(&warp, lanes_tables(), mode.format,                    \
                                            mode.exponent_bits, coded, (uint32_t)coded_bytes, raw, \
                                            (uint32_t)raw_bytes);                                  \
    }

ENCODE(8)
ENCODE(16)
ENCODE(32)
ENCODE(64)
DECODE(8)
DECODE(16)
DECODE(32)
DECODE(64)

static uint32_t flip_of(enum lanes_order order)
{
    return order == LANES_BACKWARDS ? PZ_LANES - 1 : 0;
}

size_t lanes_encode_chunk(enum lanes_order order, pz_mode mode, const uint8_t *raw,
                          size_t raw_bytes, uint8_t *to)
{
    switch (mode.width_bits) {
    case 8:
        return encode_w8(flip_of(order), mode, raw, raw_bytes, to);
    case 16:
        return encode_w16(flip_of(order), mode, raw, raw_bytes, to);
    case 32:
        return encode_w32(flip_of(order), mode, raw, raw_bytes, to);
    default:
        return encode_w64(flip_of(order), mode, raw, raw_bytes, to);
    }
}

pz_status lanes_decode_chunk(enum lanes_order order, pz_mode mode, const uint8_t *coded,
                             size_t coded_bytes, uint8_t *raw, size_t raw_bytes)
{
    switch (mode.width_bits) {
    case 8:
        return decode_w8(flip_of(order), mode, coded, coded_bytes, raw, raw_bytes);
    case 16:
        return decode_w16(flip_of(order), mode, coded, coded_bytes, raw, raw_bytes);
    case 32:
        return decode_w32(flip_of(order), mode, coded, coded_bytes, raw, raw_bytes);
    default:
        return decode_w64(flip_of(order), mode, coded, coded_bytes, raw, raw_bytes);
    }
}
