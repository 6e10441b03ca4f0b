/* Template, parameter PZ_W: the vocabulary of block.tmpl.h, see vec_scalar.tmpl.h, in AVX-512.
 * Builds on to_planes and from_planes, for which there are vec_gfni.tmpl.h and vec_words.tmpl.h;
 * gather and scatter stand in vec_compress.tmpl.h and vec_bmi2.tmpl.h. */

/* PZ_LANES works on symbols, PZ_FIELDS on planes, which have N bits. */
#if PZ_W == 8
#define PZ_LANES(op, suffix) _mm512_##op##8##suffix
#elif PZ_W == 16
#define PZ_LANES(op, suffix) _mm512_##op##16##suffix
#define PZ_FIELDS(op, suffix) _mm512_##op##64##suffix
#elif PZ_W == 32
#define PZ_LANES(op, suffix) _mm512_##op##32##suffix
#define PZ_FIELDS(op, suffix) _mm512_##op##32##suffix
#elif PZ_W == 64
#define PZ_LANES(op, suffix) _mm512_##op##64##suffix
#define PZ_FIELDS(op, suffix) _mm512_##op##16##suffix
#endif

PZI_INLINE void PZ_CAT(planes)(const uint8_t *bytes, PZ_PLANE *b)
{
    pzi_store_pair(b, PZ_CAT(to_planes)(pzi_load_pair(bytes)));
}

PZI_INLINE void PZ_CAT(unplanes)(const PZ_PLANE *b, uint8_t *bytes)
{
    pzi_store_pair(bytes, PZ_CAT(from_planes)(pzi_load_pair(b)));
}

/* ---- Symbols -------------------------------------------------------------------------------- */

/* One bit for each symbol of the two halves. */
PZI_INLINE PZ_PLANE PZ_CAT(plane_of)(uint64_t lo, uint64_t hi)
{
#if PZ_W == 8
    return pzi_p128_of(lo, hi);
#else
    return (PZ_PLANE)(lo | hi << (PZ_N / 2));
#endif
}

PZI_INLINE PZ_PLANE PZ_CAT(nonzero)(const uint8_t *bytes, const PZ_PLANE *b)
{
    const pzi_pair v = pzi_load_pair(bytes);

    (void)b;
    return PZ_CAT(plane_of)(PZ_LANES(test_epi, _mask)(v.lo, v.lo),
                            PZ_LANES(test_epi, _mask)(v.hi, v.hi));
}

/* Where a is less than b. */
PZI_INLINE PZ_PLANE PZ_CAT(less)(pzi_pair a, pzi_pair b)
{
    const PZ_PLANE others = PZ_CAT(plane_of)(PZ_LANES(cmple_epu, _mask)(b.lo, a.lo),
                                             PZ_LANES(cmple_epu, _mask)(b.hi, a.hi));

    return PZ_P(without)(PZ_P(below)(PZ_N), others);
}

PZI_INLINE void PZ_CAT(delta_planes)(const uint8_t *bytes, const PZ_PLANE *b, PZ_PLANE *d)
{
    const uint64_t but_last = UINT64_MAX >> PZ_SB;
    const pzi_pair from = pzi_load_pair(bytes);
    const pzi_pair to = PZI_MOVE_DOWN(from, _mm512_setzero_si512(), PZ_SB);
    pzi_pair delta;

    (void)b;
    delta.lo = PZ_LANES(sub_epi, )(to.lo, from.lo);
    delta.hi = _mm512_maskz_mov_epi8(but_last, PZ_LANES(sub_epi, )(to.hi, from.hi));
    d[PZ_W] = PZ_P(and)(PZ_CAT(less)(to, from), PZ_P(below)(PZ_N - 1));
    pzi_store_pair(d, PZ_CAT(to_planes)(delta));
}

/* The last symbol of each lane of 128 bits, in all places of it. */
PZI_INLINE __m512i PZ_CAT(last)(__m512i v)
{
#if PZ_W == 8
    return _mm512_shuffle_epi8(v, _mm512_set1_epi8(15));
#elif PZ_W == 16
    return _mm512_shuffle_epi8(v, _mm512_set1_epi16(0x0f0e));
#elif PZ_W == 32
    return _mm512_shuffle_epi8(v, _mm512_set1_epi32(0x0f0e0d0c));
#elif PZ_W == 64
    return _mm512_unpackhi_epi64(v, v);
#endif
}

/* Prefix sums over the symbols of one register. */
PZI_INLINE __m512i PZ_CAT(sum_up)(__m512i v)
{
#if PZ_W <= 8
    v = PZ_LANES(add_epi, )(v, _mm512_bslli_epi128(v, 1));
#endif
#if PZ_W <= 16
    v = PZ_LANES(add_epi, )(v, _mm512_bslli_epi128(v, 2));
#endif
#if PZ_W <= 32
    v = PZ_LANES(add_epi, )(v, _mm512_bslli_epi128(v, 4));
#endif
    v = PZ_LANES(add_epi, )(v, _mm512_bslli_epi128(v, 8));
    v = PZ_LANES(add_epi, )(v, pzi_lanes_up_1(PZ_CAT(last)(v)));
    return PZ_LANES(add_epi, )(v, pzi_lanes_up_2(PZ_CAT(last)(v)));
}

/* And over those of both. */
PZI_INLINE pzi_pair PZ_CAT(sum_pair)(pzi_pair v)
{
    const __m512i lo = PZ_CAT(sum_up)(v.lo);
    const __m512i total = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), PZ_CAT(last)(lo));

    return pzi_pair_of(lo, PZ_LANES(add_epi, )(PZ_CAT(sum_up)(v.hi), total));
}

PZI_INLINE PZ_PLANE PZ_CAT(undelta)(PZ_SYMBOL base, const PZ_PLANE *d, uint8_t *bytes)
{
    const __m512i first = _mm512_set1_epi64((int64_t)((uint64_t)base << (64 - PZ_W)));
    const pzi_pair from = PZ_CAT(from_planes)(pzi_load_pair(d));
    const pzi_pair delta = PZI_MOVE_UP(from, first, PZ_SB), sum = PZ_CAT(sum_pair)(delta);

    pzi_store_pair(bytes, sum);
    return PZ_P(down)(PZ_CAT(less)(sum, delta));
}

/* ---- Planes --------------------------------------------------------------------------------- */

#if PZ_W == 8

PZI_INLINE void mark_w8(const plane_w8 *b, unsigned P, plane_w8 all, bool gaps, marks_w8 *marks)
{
    (void)gaps;
    mark_plain_w8(b, P, all, marks);
}

#else

/* The fields of x that are neither 1 nor 11 at some position, but for zeros between; with gaps, as
 * in pzi_p64_shape(). */
PZI_INLINE __m512i PZ_CAT(not_place)(__m512i x, __m512i all, bool gaps)
{
    const __m512i ones = _mm512_set1_epi8(-1);
    const __m512i low = _mm512_and_si512(x, PZ_FIELDS(sub_epi, )(_mm512_setzero_si512(), x));
    const __m512i rest = _mm512_xor_si512(x, low);

    if (gaps) {
        const __m512i third = _mm512_and_si512(rest, PZ_FIELDS(add_epi, )(rest, ones));
        const __m512i filled = _mm512_or_si512(x, _mm512_xor_si512(all, ones));

        return _mm512_or_si512(third, _mm512_and_si512(PZ_FIELDS(add_epi, )(filled, low), x));
    }
    return _mm512_andnot_si512(PZ_FIELDS(add_epi, )(low, low), rest);
}

/* Sorts the planes of one register, given those above each, into bits from 0 up. */
PZI_INLINE void PZ_CAT(mark_half)(__m512i b, __m512i above, __m512i all, bool gaps, uint64_t *some,
                                  uint64_t *many, uint64_t *spread)
{
    const __m512i x = _mm512_xor_si512(b, above), holes = _mm512_xor_si512(x, all);
    const __m512i no_place = PZ_CAT(not_place)(x, all, gaps);

    *some = PZ_FIELDS(test_epi, _mask)(x, x);
    *many = PZ_FIELDS(test_epi, _mask)(holes, holes) & PZ_FIELDS(test_epi, _mask)(b, b);
    *spread = PZ_FIELDS(test_epi, _mask)(no_place, no_place);
}

PZI_INLINE __m512i PZ_CAT(fields)(PZ_PLANE plane)
{
    return _mm512_set1_epi64((int64_t)(plane * (UINT64_MAX / (PZ_PLANE) ~(PZ_PLANE)0)));
}

PZI_INLINE void PZ_CAT(mark)(const PZ_PLANE *b, unsigned P, PZ_PLANE all, bool gaps,
                             PZ_MARKS *marks)
{
    const __m512i present = PZ_CAT(fields)(all);
    const __m512i top = _mm512_set1_epi64((long long)b[PZ_W]);
    const pzi_pair planes = pzi_load_pair(b);
    const pzi_pair above = PZI_MOVE_DOWN(planes, top, PZ_PB);
    uint64_t some[2], many[2], spread[2];

    PZ_CAT(mark_half)(planes.lo, above.lo, present, gaps, &some[0], &many[0], &spread[0]);
    PZ_CAT(mark_half)(planes.hi, above.hi, present, gaps, &some[1], &many[1], &spread[1]);
    marks->some = PZ_M(of)(some[0] | some[1] << (PZ_W / 2), 0);
    marks->brief = PZ_M(without)(marks->some, PZ_M(of)(many[0] | many[1] << (PZ_W / 2), 0));
    marks->place = PZ_M(without)(marks->some, PZ_M(of)(spread[0] | spread[1] << (PZ_W / 2), 0));
    if (P > PZ_W)
        PZ_CAT(mark_plane)(marks, PZ_M(at)(PZ_W), b[PZ_W], b[PZ_W], all);
}

#endif

#undef PZ_LANES
#undef PZ_FIELDS
