/* Template, parameter PZ_W: to_planes and from_planes, the transposition of vec_avx512.tmpl.h, with
 * VBMI and GFNI: bytes to matrices, transposition of 8 x 8 bits, bytes to planes. */

/* Matrix h * PZ_PB + g holds byte h of the symbols 8g .. 8g+7, and after the transposition the
 * planes 8h .. 8h+7 of them. */
#define PZ_MATRIX(h, g) (((h)*PZ_PB + (g)) * 8)
#define PZ_H(i) ((i) / 8 / PZ_PB)
#define PZ_G(i) ((i) / 8 % PZ_PB)

/* Where byte i comes from: of matrices from symbols, planes from matrices, and back. */
#define PZ_FROM_SYMBOLS(i) ((8 * PZ_G(i) + 7 - (i) % 8) * PZ_SB + PZ_H(i))
#define PZ_TO_PLANES(i) (PZ_MATRIX((i) / PZ_PB / 8, (i) % PZ_PB) + (i) / PZ_PB % 8)
#define PZ_FROM_PLANES(i) ((8 * PZ_H(i) + 7 - (i) % 8) * PZ_PB + PZ_G(i))
#define PZ_TO_SYMBOLS(i) (PZ_MATRIX((i) % PZ_SB, (i) / PZ_SB / 8) + (i) / PZ_SB % 8)

static inline pzi_pair PZ_CAT(to_planes)(pzi_pair v)
{
    static const uint8_t from[128] = {PZI_TABLE_128(PZ_FROM_SYMBOLS)};
    static const uint8_t to[128] = {PZI_TABLE_128(PZ_TO_PLANES)};

    return pzi_permute(pzi_transpose8(pzi_permute(v, from)), to);
}

static inline pzi_pair PZ_CAT(from_planes)(pzi_pair v)
{
    static const uint8_t from[128] = {PZI_TABLE_128(PZ_FROM_PLANES)};
    static const uint8_t to[128] = {PZI_TABLE_128(PZ_TO_SYMBOLS)};

    return pzi_permute(pzi_transpose8(pzi_permute(v, from)), to);
}

#undef PZ_MATRIX
#undef PZ_H
#undef PZ_G
#undef PZ_FROM_SYMBOLS
#undef PZ_TO_PLANES
#undef PZ_FROM_PLANES
#undef PZ_TO_SYMBOLS
