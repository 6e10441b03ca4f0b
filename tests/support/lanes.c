/* The device kernels as plain C, see lanes.h. */
#include "support/lanes.h"

#include <stdio.h>
#include <string.h>

/* The group at work. */
static _Thread_local struct {
    uint64_t id, count;
    uint32_t flip;
} group;

/* Local memory holds anything at first; every struct there begins with struct pzi_lanes, and that
 * with `flip`. */
static void begin_local(void *memory, size_t bytes)
{
    memset(memory, 0xa5, bytes);
    memcpy(memory, &group.flip, sizeof group.flip);
}

#define PZ_GROUP_ID group.id
#define PZ_GROUP_COUNT group.count
#define PZ_LOCAL_STRUCT(type, name) \
    type name;                      \
    begin_local(&(name), sizeof(name))

#include "codec/width.h"
#include "gpu/ibp_learn.h"
#include "gpu/ibp_pack.h"
#include "gpu/ibp_unpack.h"
#include "gpu/place_kernels.h"
#include "gpu/tables.h"

#define PZ_W 8
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 16
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 32
#include "gpu/kernels.tmpl.h"
#undef PZ_W
#define PZ_W 64
#include "gpu/kernels.tmpl.h"
#undef PZ_W

/* ---- Kernels by name ------------------------------------------------------------------------ */

#define READ(type, i) (*(type const *)a[i])
#define BYTES(i) READ(uint8_t *, i)
#define U32S(i) READ(uint32_t *, i)
#define U64S(i) READ(uint64_t *, i)
#define U32(i) READ(uint32_t, i)
#define U64(i) READ(uint64_t, i)

#define CODEC(w)                                                                                \
    static void encode_w##w(void *const *a)                                                     \
    {                                                                                           \
        pz_encode_w##w(BYTES(0), U32(1), U32(2), U32(3), BYTES(4), U64(5), BYTES(6),            \
                       READ(uint16_t *, 7));                                                    \
    }                                                                                           \
    static void decode_w##w(void *const *a)                                                     \
    {                                                                                           \
        pz_decode_w##w(BYTES(0), U32(1), U32(2), BYTES(3), U64S(4), BYTES(5), U64(6), U64S(7)); \
    }

CODEC(8)
CODEC(16)
CODEC(32)
CODEC(64)

static void tiles(void *const *a)
{
    pz_tiles(BYTES(0), U64(1), U64S(2));
}

static void tops(void *const *a)
{
    pz_tops(U64(0), U32(1), U64(2), U64S(3), U64S(4), U64S(5));
}

static void offsets(void *const *a)
{
    pz_offsets(BYTES(0), U64(1), U64(2), U64S(3), U64S(4), U64S(5));
}

static void gather(void *const *a)
{
    pz_gather(BYTES(0), BYTES(1), U64(2), U64S(3), U64S(4), BYTES(5));
}

static void gather_pieces(void *const *a)
{
    pz_gather_pieces(BYTES(0), BYTES(1), U64(2), U64S(3), U64S(4), U64S(5), U64(6));
}

static void finish(void *const *a)
{
    pz_finish(U64S(0), U64S(1));
}

static void ibp_begin(void *const *a)
{
    pz_ibp_begin(U64S(0));
}

static void ibp_unpack(void *const *a)
{
    pz_ibp_unpack_rows(U32S(0), U32(1), BYTES(2), BYTES(3), U64(4), U64(5), U64S(6), U64(7), U64(8),
                       BYTES(9), U64S(10));
}

static void ibp_pack(void *const *a)
{
    pz_ibp_pack_rows(U32S(0), BYTES(1), U64(2), U64(3), BYTES(4), U64(5), BYTES(6));
}

static void ibp_clear(void *const *a)
{
    pz_ibp_clear(U32S(0), U64(1));
}

static void ibp_ones(void *const *a)
{
    pz_ibp_ones(BYTES(0), U32(1), U64(2), U64(3), U32S(4));
}

static void ibp_levels(void *const *a)
{
    pz_ibp_levels(BYTES(0), U32(1), U64(2), U64(3), U32(4), U32(5), U32S(6), U32S(7));
}

static void ibp_choose(void *const *a)
{
    pz_ibp_choose(U32(0), U64(1), U32(2), U32S(3), U32S(4), U64S(5), BYTES(6));
}

static const struct {
    const char *name;
    void (*run)(void *const *arguments);
} kernels[] = {
    {"pz_encode_w8", encode_w8},
    {"pz_encode_w16", encode_w16},
    {"pz_encode_w32", encode_w32},
    {"pz_encode_w64", encode_w64},
    {"pz_decode_w8", decode_w8},
    {"pz_decode_w16", decode_w16},
    {"pz_decode_w32", decode_w32},
    {"pz_decode_w64", decode_w64},
    {"pz_tiles", tiles},
    {"pz_tops", tops},
    {"pz_offsets", offsets},
    {"pz_gather", gather},
    {"pz_finish", finish},
    {"pz_gather_pieces", gather_pieces},
    {"pz_ibp_begin", ibp_begin},
    {"pz_ibp_unpack_rows", ibp_unpack},
    {"pz_ibp_pack_rows", ibp_pack},
    {"pz_ibp_clear", ibp_clear},
    {"pz_ibp_ones", ibp_ones},
    {"pz_ibp_levels", ibp_levels},
    {"pz_ibp_choose", ibp_choose},
};

bool lanes_launch(enum lanes_order order, const char *kernel, unsigned groups,
                  void *const *arguments)
{
    size_t k = 0;

    while (k < sizeof kernels / sizeof *kernels && strcmp(kernels[k].name, kernel) != 0)
        k++;
    if (k == sizeof kernels / sizeof *kernels)
        return false;
    group.flip = order == LANES_BACKWARDS ? PZ_LANES - 1 : 0;
    group.count = groups;
    for (unsigned i = 0; i < groups; i++) {
        group.id = order == LANES_BACKWARDS ? groups - 1 - i : i;
        kernels[k].run(arguments);
    }
    return true;
}

/* ---- Chunks --------------------------------------------------------------------------------- */

static void launch_codec(enum lanes_order order, const char *verb, pz_mode mode,
                         void *const *arguments)
{
    char name[32];

    snprintf(name, sizeof name, "pz_%s_w%u", verb, mode.width_bits);
    lanes_launch(order, name, 1, arguments);
}

size_t lanes_encode_chunk(enum lanes_order order, pz_mode mode, const uint8_t *raw,
                          size_t raw_bytes, uint8_t *to)
{
    uint8_t tables[PZI_TABLES_BYTES], *tables_at = tables;
    uint64_t bytes = raw_bytes;
    uint16_t size = 0, *size_at = &size;
    void *const arguments[] = {&tables_at, &mode.format, &mode.encodings, &mode.exponent_bits, &raw,
                               &bytes,     &to,          &size_at};

    pzi_gpu_tables(tables);
    launch_codec(order, "encode", mode, arguments);
    return size;
}

pz_status lanes_decode_chunk(enum lanes_order order, pz_mode mode, const uint8_t *coded,
                             size_t coded_bytes, uint8_t *raw, size_t raw_bytes)
{
    uint8_t tables[PZI_TABLES_BYTES], *tables_at = tables;
    uint64_t range[2] = {0, coded_bytes}, *range_at = range, bytes = raw_bytes;
    uint64_t state[PZI_STATE_WORDS] = {UINT64_MAX, UINT64_MAX, 0}, *state_at = state;
    void *const arguments[] = {
        &tables_at, &mode.format, &mode.exponent_bits, &coded, &range_at, &raw, &bytes, &state_at};

    pzi_gpu_tables(tables);
    launch_codec(order, "decode", mode, arguments);
    return state[PZI_STATE_CHUNKS] == UINT64_MAX ? PZ_OK
                                                 : (pz_status)(state[PZI_STATE_CHUNKS] & 0xff);
}
