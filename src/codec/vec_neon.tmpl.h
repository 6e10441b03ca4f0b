/* Template, parameter PZ_W: the vocabulary of block.tmpl.h, see vec_scalar.tmpl.h, in NEON.
 * gather and scatter stand in vec_move.tmpl.h. */

/* An operation on two registers of symbols; on registers of planes, which have N bits. */
#define PZ_LANES_OP(op, bits, lanes, a, b) ((uint8x16_t)v##op##q_u##bits((lanes)(a), (lanes)(b)))
#if PZ_W == 8
#define PZ_LANES(op, a, b) PZ_LANES_OP(op, 8, uint8x16_t, a, b)
#elif PZ_W == 16
#define PZ_LANES(op, a, b) PZ_LANES_OP(op, 16, uint16x8_t, a, b)
#define PZ_FIELDS(op, a, b) PZ_LANES_OP(op, 64, uint64x2_t, a, b)
#elif PZ_W == 32
#define PZ_LANES(op, a, b) PZ_LANES_OP(op, 32, uint32x4_t, a, b)
#define PZ_FIELDS(op, a, b) PZ_LANES_OP(op, 32, uint32x4_t, a, b)
#elif PZ_W == 64
#define PZ_LANES(op, a, b) PZ_LANES_OP(op, 64, uint64x2_t, a, b)
#define PZ_FIELDS(op, a, b) PZ_LANES_OP(op, 16, uint16x8_t, a, b)
#endif

/* Bytes of a symbol and of a plane. */
#define PZ_SB (PZ_W / 8)
#define PZ_PB (PZ_N / 8)

/* ---- Transposition: r | b | c as in vec_neon.h ----------------------------------------------- */

#if PZ_W == 8

PZI_INLINE void to_planes_w8(pzi_octet *q)
{
    /* i6 i5 i4 | i3 i2 i1 i0 | j2 j1 j0 */
    pzi_unzip(q, 0);
    pzi_unzip(q, 1);
    pzi_unzip(q, 2);
    /* i2 i1 i0 | i6 i5 i4 i3 | j2 j1 j0 */
    pzi_swap_c0(q, 0);
    pzi_swap_c1(q, 1);
    pzi_swap_c2(q, 2);
}

PZI_INLINE void from_planes_w8(pzi_octet *q)
{
    pzi_swap_c2(q, 2);
    pzi_swap_c1(q, 1);
    pzi_swap_c0(q, 0);
    pzi_zip(q, 2);
    pzi_zip(q, 1);
    pzi_zip(q, 0);
}

#elif PZ_W == 16

PZI_INLINE void to_planes_w16(pzi_octet *q)
{
    /* i5 i4 i3 | i2 i1 i0 j3 | j2 j1 j0 */
    pzi_swap_b3(q, 2);
    pzi_swap_b2(q, 1);
    pzi_swap_b1(q, 0);
    /* i2 i1 i0 | i5 i4 i3 j3 | j2 j1 j0 */
    pzi_swap_c0(q, 0);
    pzi_swap_c1(q, 1);
    pzi_swap_c2(q, 2);
    /* j2 j1 j0 | i5 i4 i3 j3 | i2 i1 i0 */
    pzi_unzip(q, 0);
    /* j2 j1 j3 | j0 i5 i4 i3 | i2 i1 i0 */
    pzi_rename(q, 0, 2, 1);
}

PZI_INLINE void from_planes_w16(pzi_octet *q)
{
    pzi_rename(q, 1, 0, 2);
    pzi_zip(q, 0);
    pzi_swap_c2(q, 2);
    pzi_swap_c1(q, 1);
    pzi_swap_c0(q, 0);
    pzi_swap_b1(q, 0);
    pzi_swap_b2(q, 1);
    pzi_swap_b3(q, 2);
}

#elif PZ_W == 32

PZI_INLINE void to_planes_w32(pzi_octet *q)
{
    /* i4 i3 i2 | i1 i0 j4 j3 | j2 j1 j0 */
    pzi_swap_b3(q, 2);
    pzi_swap_b2(q, 1);
    /* i1 i0 i2 | i4 i3 j4 j3 | j2 j1 j0 */
    pzi_swap_c0(q, 1);
    pzi_swap_c1(q, 2);
    pzi_swap_c2(q, 0);
    /* j1 j0 j2 | i4 i3 j4 j3 | i2 i1 i0 */
    pzi_unzip(q, 1);
    pzi_unzip(q, 2);
    /* j4 j3 j2 | j1 j0 i4 i3 | i2 i1 i0 */
}

PZI_INLINE void from_planes_w32(pzi_octet *q)
{
    pzi_zip(q, 2);
    pzi_zip(q, 1);
    pzi_swap_c2(q, 0);
    pzi_swap_c1(q, 2);
    pzi_swap_c0(q, 1);
    pzi_swap_b2(q, 1);
    pzi_swap_b3(q, 2);
}

#elif PZ_W == 64

PZI_INLINE void to_planes_w64(pzi_octet *q)
{
    /* i3 i2 i1 | i0 j5 j4 j3 | j2 j1 j0 */
    pzi_swap_b3(q, 2);
    /* i0 i2 i1 | i3 j5 j4 j3 | j2 j1 j0 */
    pzi_swap_c0(q, 2);
    pzi_swap_c1(q, 0);
    pzi_swap_c2(q, 1);
    /* j0 j2 j1 | i3 j5 j4 j3 | i2 i1 i0 */
    pzi_unzip(q, 2);
    pzi_unzip(q, 0);
    pzi_unzip(q, 1);
    /* j3 j5 j4 | j2 j1 j0 i3 | i2 i1 i0 */
    pzi_rename(q, 1, 0, 2);
}

PZI_INLINE void from_planes_w64(pzi_octet *q)
{
    pzi_rename(q, 0, 2, 1);
    pzi_zip(q, 1);
    pzi_zip(q, 0);
    pzi_zip(q, 2);
    pzi_swap_c2(q, 1);
    pzi_swap_c1(q, 0);
    pzi_swap_c0(q, 2);
    pzi_swap_b3(q, 2);
}

#endif

PZI_INLINE void PZ_CAT(planes)(const uint8_t *bytes, PZ_PLANE *b)
{
    pzi_octet q = pzi_load_octet(bytes);

    PZ_CAT(to_planes)(&q);
    pzi_store_octet(b, &q);
}

PZI_INLINE void PZ_CAT(unplanes)(const PZ_PLANE *b, uint8_t *bytes)
{
    pzi_octet q = pzi_load_octet(b);

    PZ_CAT(from_planes)(&q);
    pzi_store_octet(bytes, &q);
}

/* ---- Symbols -------------------------------------------------------------------------------- */

/* Bit i for lane i, of zeros or ones, of a register for each 16 bytes of symbols. */
PZI_INLINE PZ_PLANE PZ_CAT(plane_of)(const pzi_octet *lanes)
{
    const uint64x2_t bits = pzi_bits_of_lanes(*lanes, PZ_W);

#if PZ_W == 8
    return pzi_p128_of(vgetq_lane_u64(bits, 0), vgetq_lane_u64(bits, 1));
#else
    return (PZ_PLANE)vgetq_lane_u64(bits, 0);
#endif
}

PZI_INLINE PZ_PLANE PZ_CAT(nonzero)(const uint8_t *bytes, const PZ_PLANE *b)
{
    pzi_octet q = pzi_load_octet(bytes);

    (void)b;
#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; k++)
        q.v[k] = PZ_LANES(tst, q.v[k], q.v[k]);
    return PZ_CAT(plane_of)(&q);
}

PZI_INLINE void PZ_CAT(delta_planes)(const uint8_t *bytes, const PZ_PLANE *b, PZ_PLANE *d)
{
    const uint8x16_t zero = vdupq_n_u8(0);
    const pzi_octet from = pzi_load_octet(bytes);
    pzi_octet delta, less;

    (void)b;
#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; k++) {
        const uint8x16_t to = vextq_u8(from.v[k], k < 7 ? from.v[k + 1] : zero, PZ_SB);

        delta.v[k] = PZ_LANES(sub, to, from.v[k]);
        less.v[k] = PZ_LANES(clt, to, from.v[k]);
    }
    /* There is no delta after the last symbol. */
    delta.v[7] = vextq_u8(vextq_u8(zero, delta.v[7], 16 - PZ_SB), zero, PZ_SB);
    d[PZ_W] = PZ_P(and)(PZ_CAT(plane_of)(&less), PZ_P(below)(PZ_N - 1));
    PZ_CAT(to_planes)(&delta);
    pzi_store_octet(d, &delta);
}

/* The last symbol in all places. */
PZI_INLINE uint8x16_t PZ_CAT(last)(uint8x16_t v)
{
#if PZ_W == 8
    return vdupq_laneq_u8(v, 15);
#elif PZ_W == 16
    return (uint8x16_t)vdupq_laneq_u16((uint16x8_t)v, 7);
#elif PZ_W == 32
    return (uint8x16_t)vdupq_laneq_u32((uint32x4_t)v, 3);
#elif PZ_W == 64
    return (uint8x16_t)vdupq_laneq_u64((uint64x2_t)v, 1);
#endif
}

/* The symbol in all places. */
PZI_INLINE uint8x16_t PZ_CAT(repeat)(PZ_SYMBOL symbol)
{
#if PZ_W == 8
    return vdupq_n_u8(symbol);
#elif PZ_W == 16
    return (uint8x16_t)vdupq_n_u16(symbol);
#elif PZ_W == 32
    return (uint8x16_t)vdupq_n_u32(symbol);
#elif PZ_W == 64
    return (uint8x16_t)vdupq_n_u64(symbol);
#endif
}

/* Prefix sums over the symbols of one register. */
PZI_INLINE uint8x16_t PZ_CAT(sum_up)(uint8x16_t v)
{
    const uint8x16_t zero = vdupq_n_u8(0);

#if PZ_W <= 8
    v = PZ_LANES(add, v, vextq_u8(zero, v, 15));
#endif
#if PZ_W <= 16
    v = PZ_LANES(add, v, vextq_u8(zero, v, 14));
#endif
#if PZ_W <= 32
    v = PZ_LANES(add, v, vextq_u8(zero, v, 12));
#endif
    return PZ_LANES(add, v, vextq_u8(zero, v, 8));
}

PZI_INLINE PZ_PLANE PZ_CAT(undelta)(PZ_SYMBOL base, const PZ_PLANE *d, uint8_t *bytes)
{
    const uint8x16_t first = PZ_CAT(repeat)(base);
    uint8x16_t total = vdupq_n_u8(0);
    pzi_octet delta = pzi_load_octet(d), sum, less;

    PZ_CAT(from_planes)(&delta);
#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; k++) {
        const uint8x16_t before = k > 0 ? delta.v[k - 1] : first;
        const uint8x16_t added = vextq_u8(before, delta.v[k], 16 - PZ_SB);

        sum.v[k] = PZ_LANES(add, PZ_CAT(sum_up)(added), total);
        less.v[k] = PZ_LANES(clt, sum.v[k], added);
        total = PZ_CAT(last)(sum.v[k]);
    }
    pzi_store_octet(bytes, &sum);
    return PZ_P(down)(PZ_CAT(plane_of)(&less));
}

/* ---- Planes --------------------------------------------------------------------------------- */

#if PZ_W == 8

PZI_INLINE void mark_w8(const plane_w8 *b, unsigned P, plane_w8 all, bool gaps, marks_w8 *marks)
{
    (void)gaps;
    mark_plain_w8(b, P, all, marks);
}

#else

/* Bit j for plane j, whose field is zeros or ones. */
PZI_INLINE PZ_SET PZ_CAT(set_of)(const pzi_octet *fields)
{
    const uint64_t bits = vgetq_lane_u64(pzi_bits_of_lanes(*fields, PZ_N), 0);

    return PZ_M(and)(PZ_M(of)(bits, 0), PZ_M(below)(PZ_W));
}

PZI_INLINE uint8x16_t PZ_CAT(fields)(PZ_PLANE plane)
{
#if PZ_W == 16
    return (uint8x16_t)vdupq_n_u64(plane);
#elif PZ_W == 32
    return (uint8x16_t)vdupq_n_u32(plane);
#else
    return (uint8x16_t)vdupq_n_u16(plane);
#endif
}

/* The fields of x that are neither 1 nor 11 at some position, but for zeros between; with gaps, as
 * in pzi_p64_shape(). */
PZI_INLINE uint8x16_t PZ_CAT(not_place)(uint8x16_t x, uint8x16_t present, bool gaps)
{
    const uint8x16_t low = vandq_u8(x, PZ_FIELDS(sub, vdupq_n_u8(0), x)), rest = veorq_u8(x, low);

    if (gaps) {
        const uint8x16_t third = vandq_u8(rest, PZ_FIELDS(add, rest, vdupq_n_u8(0xff)));

        return vorrq_u8(third, vandq_u8(PZ_FIELDS(add, vornq_u8(x, present), low), x));
    }
    return vbicq_u8(rest, PZ_FIELDS(add, low, low));
}

/* As mark_plain, but for a sign plane all at once. */
PZI_INLINE void PZ_CAT(mark)(const PZ_PLANE *b, unsigned P, PZ_PLANE all, bool gaps,
                             PZ_MARKS *marks)
{
    const uint8x16_t zero = vdupq_n_u8(0), present = PZ_CAT(fields)(all);
    const uint8x16_t top = PZ_CAT(fields)(b[PZ_W]);
    const pzi_octet planes = pzi_load_octet(b);
    pzi_octet some, brief, place;

#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; k++) {
        const uint8x16_t above = vextq_u8(planes.v[k], k < 7 ? planes.v[k + 1] : top, PZ_PB);
        const uint8x16_t x = veorq_u8(planes.v[k], above);

        some.v[k] = PZ_FIELDS(tst, x, x);
        brief.v[k] = vorrq_u8(PZ_FIELDS(ceq, x, present), PZ_FIELDS(ceq, planes.v[k], zero));
        place.v[k] = PZ_FIELDS(ceq, PZ_CAT(not_place)(x, present, gaps), zero);
    }
    marks->some = PZ_CAT(set_of)(&some);
    marks->brief = PZ_M(and)(marks->some, PZ_CAT(set_of)(&brief));
    marks->place = PZ_M(and)(marks->some, PZ_CAT(set_of)(&place));
    if (P > PZ_W)
        PZ_CAT(mark_plane)(marks, PZ_M(at)(PZ_W), b[PZ_W], b[PZ_W], all);
}

#endif

#undef PZ_LANES_OP
#undef PZ_LANES
#undef PZ_FIELDS
#undef PZ_SB
#undef PZ_PB
