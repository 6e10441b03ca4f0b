/* Template, parameter PZ_W: the vocabulary of block.tmpl.h in plain C.  An instruction set has its
 * own file of this form.  Blocks and symbols are passed as 128 bytes, little-endian; planes as
 * plane words, plane j at index j.
 *
 *   planes        the planes of the symbols of a block
 *   nonzero       bit i is set if symbol i is not zero
 *   delta_planes  the w + 1 planes of the N - 1 deltas; plane w is the sign
 *   mark          sorts the planes by their codes, see marks.tmpl.h; `gaps`, a constant, tells
 * whether there may be gaps in `all` gather        the planes of the marked symbols, moved together
 *   unplanes      the inverse of planes
 *   undelta       the symbols, from the first one and the planes of the deltas
 *   scatter       the inverse of gather and planes; symbols that are not marked are zero
 *
 * gather and scatter stand in vec_move.tmpl.h, put_run in vec_run.tmpl.h. */

/* Field c of row k (vec_scalar.h) holds, after the transposition, the bits of 16 symbols in plane
 * k: so b[j] is put together from the words by the reverse of the order of loading. */
#if PZ_W == 8

PZI_INLINE void load_rows_w8(const uint8_t *bytes, uint64_t rows[16])
{
    for (unsigned k = 0; k < 16; k++) {
        rows[k] = 0;
        for (unsigned c = 0; c < 4; c++)
            rows[k] |= (uint64_t)(bytes[16 * c + k] | bytes[64 + 16 * c + k] << 8) << (16 * c);
    }
}

PZI_INLINE void store_rows_w8(const uint64_t rows[16], uint8_t *bytes)
{
    for (unsigned k = 0; k < 16; k++) {
        for (unsigned c = 0; c < 4; c++) {
            bytes[16 * c + k] = (uint8_t)(rows[k] >> (16 * c));
            bytes[64 + 16 * c + k] = (uint8_t)(rows[k] >> (16 * c + 8));
        }
    }
}

PZI_INLINE void planes_from_rows_w8(const uint64_t rows[16], plane_w8 *b)
{
    for (unsigned j = 0; j < 8; j++)
        b[j] = pzi_p128_of(rows[j], rows[8 + j]);
}

PZI_INLINE void rows_from_planes_w8(const plane_w8 *b, uint64_t rows[16])
{
    for (unsigned j = 0; j < 8; j++) {
        rows[j] = b[j].lo;
        rows[8 + j] = b[j].hi;
    }
}

#elif PZ_W == 16

PZI_INLINE void load_rows_w16(const uint8_t *bytes, uint64_t rows[16])
{
    for (unsigned k = 0; k < 16; k++)
        rows[k] = PZ_LOAD(bytes, k) | (uint64_t)PZ_LOAD(bytes, 16 + k) << 16 |
                  (uint64_t)PZ_LOAD(bytes, 32 + k) << 32 | (uint64_t)PZ_LOAD(bytes, 48 + k) << 48;
}

PZI_INLINE void store_rows_w16(const uint64_t rows[16], uint8_t *bytes)
{
    for (unsigned k = 0; k < 16; k++)
        for (unsigned c = 0; c < 4; c++)
            PZ_STORE(bytes, 16 * c + k, (uint16_t)(rows[k] >> (16 * c)));
}

PZI_INLINE void planes_from_rows_w16(const uint64_t rows[16], plane_w16 *b)
{
    for (unsigned j = 0; j < 16; j++)
        b[j] = rows[j];
}

PZI_INLINE void rows_from_planes_w16(const plane_w16 *b, uint64_t rows[16])
{
    for (unsigned j = 0; j < 16; j++)
        rows[j] = b[j];
}

#elif PZ_W == 32

/* The fields of row k: low halves of symbols k and 16 + k, then their high halves. */
PZI_INLINE void load_rows_w32(const uint8_t *bytes, uint64_t rows[16])
{
    for (unsigned k = 0; k < 16; k++) {
        const uint32_t lower = PZ_LOAD(bytes, k), upper = PZ_LOAD(bytes, 16 + k);

        rows[k] = (lower & 0xffff) | (uint64_t)(upper & 0xffff) << 16 |
                  (uint64_t)(lower >> 16) << 32 | (uint64_t)(upper >> 16) << 48;
    }
}

PZI_INLINE void store_rows_w32(const uint64_t rows[16], uint8_t *bytes)
{
    for (unsigned k = 0; k < 16; k++) {
        const uint32_t low = (uint32_t)rows[k], high = (uint32_t)(rows[k] >> 32);

        PZ_STORE(bytes, k, (low & 0xffff) | high << 16);
        PZ_STORE(bytes, 16 + k, low >> 16 | (high & 0xffff0000u));
    }
}

PZI_INLINE void planes_from_rows_w32(const uint64_t rows[16], plane_w32 *b)
{
    for (unsigned j = 0; j < 16; j++) {
        b[j] = (uint32_t)rows[j];
        b[16 + j] = (uint32_t)(rows[j] >> 32);
    }
}

PZI_INLINE void rows_from_planes_w32(const plane_w32 *b, uint64_t rows[16])
{
    for (unsigned j = 0; j < 16; j++)
        rows[j] = b[j] | (uint64_t)b[16 + j] << 32;
}

#elif PZ_W == 64

PZI_INLINE void load_rows_w64(const uint8_t *bytes, uint64_t rows[16])
{
    for (unsigned k = 0; k < 16; k++)
        rows[k] = PZ_LOAD(bytes, k);
}

PZI_INLINE void store_rows_w64(const uint64_t rows[16], uint8_t *bytes)
{
    for (unsigned k = 0; k < 16; k++)
        PZ_STORE(bytes, k, rows[k]);
}

PZI_INLINE void planes_from_rows_w64(const uint64_t rows[16], plane_w64 *b)
{
    for (unsigned j = 0; j < 64; j++)
        b[j] = (uint16_t)(rows[j % 16] >> (j / 16 * 16));
}

PZI_INLINE void rows_from_planes_w64(const plane_w64 *b, uint64_t rows[16])
{
    for (unsigned j = 0; j < 16; j++)
        rows[j] = b[j] | (uint64_t)b[16 + j] << 16 | (uint64_t)b[32 + j] << 32 |
                  (uint64_t)b[48 + j] << 48;
}

#endif

PZI_INLINE void PZ_CAT(planes)(const uint8_t *bytes, PZ_PLANE *b)
{
    uint64_t rows[16];

    PZ_CAT(load_rows)(bytes, rows);
    pzi_transpose(rows);
    PZ_CAT(planes_from_rows)(rows, b);
}

PZI_INLINE void PZ_CAT(unplanes)(const PZ_PLANE *b, uint8_t *bytes)
{
    uint64_t rows[16];

    PZ_CAT(rows_from_planes)(b, rows);
    pzi_transpose(rows);
    PZ_CAT(store_rows)(rows, bytes);
}

PZI_INLINE PZ_PLANE PZ_CAT(nonzero)(const uint8_t *bytes, const PZ_PLANE *b)
{
    PZ_PLANE any = b[0];

    (void)bytes;
#pragma GCC unroll 8
    for (unsigned j = 1; j < PZ_W; j++)
        any = PZ_P(or)(any, b[j]);
    return any;
}

/* Bit-sliced: all N - 1 subtractions at once, one bit position after another.  The last borrow is
 * bit w of the difference, its sign. */
PZI_INLINE void PZ_CAT(delta_planes)(const uint8_t *bytes, const PZ_PLANE *b, PZ_PLANE *d)
{
    const PZ_PLANE all = PZ_P(below)(PZ_N - 1);
    PZ_PLANE borrow = PZ_P(of)(0, 0);

    (void)bytes;
#pragma GCC unroll 4
    for (unsigned j = 0; j < PZ_W; j++) {
        const PZ_PLANE from = PZ_P(and)(b[j], all), to = PZ_P(down)(b[j]);

        d[j] = PZ_P(xor)(PZ_P(xor)(to, from), borrow);
        borrow = PZ_P(borrow)(to, from, borrow);
    }
    d[PZ_W] = borrow;
}

PZI_INLINE void PZ_CAT(mark)(const PZ_PLANE *b, unsigned P, PZ_PLANE all, bool gaps,
                             PZ_MARKS *marks)
{
    (void)gaps;
    PZ_CAT(mark_plain)(b, P, all, marks);
}

/* Returns the plane of carries: bit i is set if symbol i + delta i passes 2^w. */
PZI_INLINE PZ_PLANE PZ_CAT(undelta)(PZ_SYMBOL base, const PZ_PLANE *d, uint8_t *bytes)
{
    uint8_t deltas[PZ_BLOCK_BYTES];
    uint64_t carries[2] = {0, 0};
    PZ_SYMBOL symbol = base;

    PZ_CAT(unplanes)(d, deltas);
    PZ_STORE(bytes, 0, base);
    for (unsigned i = 0; i < PZ_N - 1; i++) {
        const PZ_SYMBOL next = (PZ_SYMBOL)(symbol + PZ_LOAD(deltas, i));

        carries[i / 64] |= (uint64_t)(next < symbol) << (i % 64);
        PZ_STORE(bytes, i + 1, next);
        symbol = next;
    }
    return PZ_P(of)(carries[0], carries[1]);
}
