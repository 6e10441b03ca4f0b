/* Template, parameter PZ_W: the vocabulary of block.tmpl.h, see vec_scalar.tmpl.h, in AVX2.
 * gather and scatter stand in vec_bmi2.tmpl.h. */

/* PZ_LANES(op) works on symbols, PZ_FIELDS(op) on planes, which have N bits. */
#if PZ_W == 8
#define PZ_LANES(op) _mm256_##op##_epi8
#elif PZ_W == 16
#define PZ_LANES(op) _mm256_##op##_epi16
#define PZ_FIELDS(op) _mm256_##op##_epi64
#elif PZ_W == 32
#define PZ_LANES(op) _mm256_##op##_epi32
#define PZ_FIELDS(op) _mm256_##op##_epi32
#elif PZ_W == 64
#define PZ_LANES(op) _mm256_##op##_epi64
#define PZ_FIELDS(op) _mm256_##op##_epi16
#endif

/* ---- Transposition: r | l | b | c as in vec_avx2.h ------------------------------------------- */

#if PZ_W == 8

PZI_INLINE void to_planes_w8(pzi_quad *q)
{
    /* i6 i5 | i4 | i3 i2 i1 i0 | j2 j1 j0 */
    PZI_UNPACK8(q, 0);
    PZI_UNPACK8(q, 0);
    PZI_UNPACK8(q, 1);
    /* i1 i2 | i4 | i0 i5 i3 i6 | j2 j1 j0 */
    pzi_core(q);
    /* i4 j0 | j1 | j2 i5 i3 i6 | i2 i1 i0 */
    PZI_SWAP_B3(q, 1);
    PZI_SWAP_LANE(q, 0);
    /* j2 j1 | j0 | i4 i5 i3 i6 | i2 i1 i0 */
    PZI_REORDER(q, 0, 2, 3, 1);
}

PZI_INLINE void from_planes_w8(pzi_quad *q)
{
    PZI_REORDER(q, 1, 2, 0, 3);
    PZI_SWAP_LANE(q, 0);
    PZI_SWAP_B3(q, 1);
    /* i4 j0 | j1 | j2 i5 i3 i6 | i2 i1 i0 */
    pzi_core_back(q);
    /* i1 i2 | i4 | i0 i5 i3 i6 | j2 j1 j0 */
    PZI_REORDER(q, 3, 0, 2, 1);
    /* i1 i2 | i4 | i0 i6 i5 i3 | j2 j1 j0 */
    PZI_PACK32(q, 1);
    /* i6 i2 | i4 | i1 i0 i5 i3 | j2 j1 j0 */
    PZI_REORDER(q, 1, 3, 2, 0);
    PZI_SWAP_B3(q, 0);
    /* i6 i5 | i4 | i2 i1 i0 i3 | j2 j1 j0 */
    PZI_REORDER(q, 0, 3, 2, 1);
}

#elif PZ_W == 16

PZI_INLINE void to_planes_w16(pzi_quad *q)
{
    /* i5 i4 | i3 | i2 i1 i0 j3 | j2 j1 j0 */
    PZI_UNPACK16(q, 0);
    PZI_UNPACK16(q, 1);
    /* i1 i2 | i3 | i0 i4 i5 j3 | j2 j1 j0 */
    pzi_core(q);
    /* i3 j0 | j1 | j2 i4 i5 j3 | i2 i1 i0 */
    PZI_REORDER(q, 0, 3, 1, 2);
    PZI_UNPACK8(q, 1);
    /* j3 j0 | j1 | j2 i5 i4 i3 | i2 i1 i0 */
    PZI_SWAP_B3(q, 0);
}

PZI_INLINE void from_planes_w16(pzi_quad *q)
{
    PZI_SWAP_B3(q, 0);
    /* j3 j0 | j1 | j2 i5 i4 i3 | i2 i1 i0 */
    PZI_REORDER(q, 0, 3, 2, 1);
    PZI_UNPACK32(q, 1);
    /* i3 j0 | j1 | j2 j3 i5 i4 | i2 i1 i0 */
    pzi_core_back(q);
    /* i1 i2 | i3 | i0 j3 i5 i4 | j2 j1 j0 */
    PZI_REORDER(q, 3, 1, 0, 2);
    PZI_PACK32(q, 1);
    /* i5 i2 | i3 | i1 i0 i4 j3 | j2 j1 j0 */
    PZI_REORDER(q, 3, 1, 2, 0);
    PZI_PACK32(q, 0);
}

#elif PZ_W == 32

PZI_INLINE void to_planes_w32(pzi_quad *q)
{
    /* i4 i3 | i2 | i1 i0 j4 j3 | j2 j1 j0 */
    PZI_SWAP_LANE(q, 0);
    PZI_UNPACK32(q, 1);
    /* i1 i2 | i3 | i0 i4 j4 j3 | j2 j1 j0 */
    pzi_core(q);
    /* i3 j0 | j1 | j2 i4 j4 j3 | i2 i1 i0 */
    PZI_REORDER(q, 1, 0, 3, 2);
    PZI_UNPACK8(q, 1);
    PZI_UNPACK32(q, 0);
    /* j4 j3 | j1 | j2 j0 i4 i3 | i2 i1 i0 */
    pzi_permute32(q, _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7));
}

PZI_INLINE void from_planes_w32(pzi_quad *q)
{
    pzi_permute32(q, _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7));
    PZI_PACK32(q, 0);
    /* j4 j0 | j1 | j3 j2 i4 i3 | i2 i1 i0 */
    PZI_REORDER(q, 0, 2, 3, 1);
    PZI_UNPACK32(q, 1);
    /* i3 j0 | j1 | j2 j4 j3 i4 | i2 i1 i0 */
    pzi_core_back(q);
    /* i1 i2 | i3 | i0 j4 j3 i4 | j2 j1 j0 */
    PZI_REORDER(q, 3, 0, 2, 1);
    PZI_PACK32(q, 1);
    PZI_SWAP_LANE(q, 0);
}

#elif PZ_W == 64

PZI_INLINE void to_planes_w64(pzi_quad *q)
{
    /* i3 i2 | i1 | i0 j5 j4 j3 | j2 j1 j0 */
    PZI_SWAP_LANE(q, 1);
    pzi_core(q);
    /* i3 j0 | j1 | j2 j5 j4 j3 | i2 i1 i0 */
    PZI_REORDER(q, 2, 1, 0, 3);
    PZI_UNPACK8(q, 1);
    PZI_UNPACK16(q, 0);
    /* j5 j4 | j1 | j3 j2 j0 i3 | i2 i1 i0 */
    pzi_permute32(q, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

PZI_INLINE void from_planes_w64(pzi_quad *q)
{
    pzi_permute32(q, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    /* j5 j4 | j1 | j3 j2 j0 i3 | i2 i1 i0 */
    PZI_REORDER(q, 1, 0, 2, 3);
    PZI_SWAP_B3(q, 0);
    /* j5 j0 | j1 | j4 i3 j2 j3 | i2 i1 i0 */
    PZI_REORDER(q, 2, 1, 3, 0);
    PZI_UNPACK32(q, 1);
    /* i3 j0 | j1 | j2 j5 j4 j3 | i2 i1 i0 */
    pzi_core_back(q);
    PZI_SWAP_LANE(q, 1);
}

#endif

PZI_INLINE void PZ_CAT(planes)(const uint8_t *bytes, PZ_PLANE *b)
{
    pzi_quad q = pzi_load_quad(bytes);

    PZ_CAT(to_planes)(&q);
    pzi_store_quad(b, &q);
}

PZI_INLINE void PZ_CAT(unplanes)(const PZ_PLANE *b, uint8_t *bytes)
{
    pzi_quad q = pzi_load_quad(b);

    PZ_CAT(from_planes)(&q);
    pzi_store_quad(bytes, &q);
}

/* ---- Symbols -------------------------------------------------------------------------------- */

/* The highest bit of every symbol. */
#if PZ_W == 8

PZI_INLINE plane_w8 tops_w8(const pzi_quad *q)
{
    const uint32_t m0 = (uint32_t)_mm256_movemask_epi8(q->v[0]);
    const uint32_t m1 = (uint32_t)_mm256_movemask_epi8(q->v[1]);
    const uint32_t m2 = (uint32_t)_mm256_movemask_epi8(q->v[2]);
    const uint32_t m3 = (uint32_t)_mm256_movemask_epi8(q->v[3]);

    return pzi_p128_of(m0 | (uint64_t)m1 << 32, m2 | (uint64_t)m3 << 32);
}

#elif PZ_W == 16

/* Of 32 symbols; saturation keeps the sign. */
PZI_INLINE uint32_t tops_of_pair_w16(__m256i a, __m256i b)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8));
}

PZI_INLINE plane_w16 tops_w16(const pzi_quad *q)
{
    return tops_of_pair_w16(q->v[0], q->v[1]) | (uint64_t)tops_of_pair_w16(q->v[2], q->v[3]) << 32;
}

#elif PZ_W == 32

PZI_INLINE plane_w32 tops_w32(const pzi_quad *q)
{
    uint32_t tops = 0;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        tops |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(q->v[k])) << (8 * k);
    return tops;
}

#elif PZ_W == 64

PZI_INLINE plane_w64 tops_w64(const pzi_quad *q)
{
    uint32_t tops = 0;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        tops |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(q->v[k])) << (4 * k);
    return (plane_w64)tops;
}

#endif

PZI_INLINE PZ_PLANE PZ_CAT(nonzero)(const uint8_t *bytes, const PZ_PLANE *b)
{
    pzi_quad q = pzi_load_quad(bytes);

    (void)b;
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        q.v[k] = PZ_LANES(cmpeq)(q.v[k], _mm256_setzero_si256());
    return PZ_P(without)(PZ_P(below)(PZ_N), PZ_CAT(tops)(&q));
}

/* Every symbol moves up by one place; the first becomes the last of `first`. */
PZI_INLINE pzi_quad PZ_CAT(shift_up)(const pzi_quad *q, __m256i first)
{
    pzi_quad to;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m256i before = k > 0 ? q->v[k - 1] : first;

        to.v[k] = _mm256_alignr_epi8(q->v[k], _mm256_permute2x128_si256(before, q->v[k], 0x21),
                                     16 - PZ_W / 8);
    }
    return to;
}

/* The last symbol of each lane, in all places of it. */
PZI_INLINE __m256i PZ_CAT(last)(__m256i v)
{
#if PZ_W == 8
    return _mm256_shuffle_epi8(v, _mm256_set1_epi8(15));
#elif PZ_W == 16
    return _mm256_shuffle_epi8(v, _mm256_set1_epi16(0x0f0e));
#elif PZ_W == 32
    return _mm256_shuffle_epi32(v, 0xff);
#elif PZ_W == 64
    return _mm256_unpackhi_epi64(v, v);
#endif
}

/* The symbol in all places. */
PZI_INLINE __m256i PZ_CAT(repeat)(PZ_SYMBOL symbol)
{
#if PZ_W == 64
    return _mm256_set1_epi64x((long long)symbol);
#else
    return PZ_LANES(set1)(symbol);
#endif
}

PZI_INLINE void PZ_CAT(delta_planes)(const uint8_t *bytes, const PZ_PLANE *b, PZ_PLANE *d)
{
    const PZ_PLANE all = PZ_P(below)(PZ_N - 1);
    const pzi_quad from = pzi_load_quad(bytes);
    const pzi_quad to = {{
        _mm256_loadu_si256((const __m256i *)(bytes + PZ_W / 8)),
        _mm256_loadu_si256((const __m256i *)(bytes + PZ_W / 8 + 32)),
        _mm256_loadu_si256((const __m256i *)(bytes + PZ_W / 8 + 64)),
        PZI_FOLLOW(from.v[3], _mm256_setzero_si256(), PZ_W / 8),
    }};
    pzi_quad delta, borrow;

    (void)b;
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m256i a = to.v[k], s = from.v[k], difference = PZ_LANES(sub)(a, s);

        /* As pzi_p64_borrow(), of the highest bit: (s & ~a) | (difference & ~(a ^ s)). */
        delta.v[k] = difference;
        borrow.v[k] = _mm256_or_si256(_mm256_andnot_si256(a, s),
                                      _mm256_andnot_si256(_mm256_xor_si256(a, s), difference));
    }
    delta.v[3] = _mm256_and_si256(
        delta.v[3], _mm256_setr_epi64x(-1, -1, -1, (long long)(UINT64_MAX >> 1 >> (PZ_W - 1))));
    d[PZ_W] = PZ_P(and)(PZ_CAT(tops)(&borrow), all);
    PZ_CAT(to_planes)(&delta);
    pzi_store_quad(d, &delta);
}

/* Prefix sums over the symbols. */
PZI_INLINE void PZ_CAT(sum_up)(pzi_quad *q)
{
    __m256i total = _mm256_setzero_si256();

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        __m256i v = q->v[k];

#if PZ_W <= 8
        v = PZ_LANES(add)(v, _mm256_slli_si256(v, 1));
#endif
#if PZ_W <= 16
        v = PZ_LANES(add)(v, _mm256_slli_si256(v, 2));
#endif
#if PZ_W <= 32
        v = PZ_LANES(add)(v, _mm256_slli_si256(v, 4));
#endif
        v = PZ_LANES(add)(v, _mm256_slli_si256(v, 8));
        v = PZ_LANES(add)(v, PZ_CAT(last)(_mm256_permute2x128_si256(v, v, 0x08)));
        v = PZ_LANES(add)(v, total);
        total = PZ_CAT(last)(_mm256_permute4x64_epi64(v, 0xff));
        q->v[k] = v;
    }
}

PZI_INLINE PZ_PLANE PZ_CAT(undelta)(PZ_SYMBOL base, const PZ_PLANE *d, uint8_t *bytes)
{
    pzi_quad delta = pzi_load_quad(d), sum, carry;

    PZ_CAT(from_planes)(&delta);
    delta = PZ_CAT(shift_up)(&delta, PZ_CAT(repeat)(base));
    sum = delta;
    PZ_CAT(sum_up)(&sum);
    pzi_store_quad(bytes, &sum);
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m256i s = sum.v[k], a = delta.v[k], before = PZ_LANES(sub)(s, a);

        carry.v[k] = _mm256_or_si256(_mm256_and_si256(before, a),
                                     _mm256_andnot_si256(s, _mm256_or_si256(before, a)));
    }
    return PZ_P(down)(PZ_CAT(tops)(&carry));
}

/* ---- Planes --------------------------------------------------------------------------------- */

#if PZ_W == 8

PZI_INLINE void mark_w8(const plane_w8 *b, unsigned P, plane_w8 all, bool gaps, marks_w8 *marks)
{
    (void)gaps;
    mark_plain_w8(b, P, all, marks);
}

#else

/* Bit j is set if field j, of ones or zeros, is ones. */
PZI_INLINE uint64_t PZ_CAT(collect)(__m256i a, __m256i b, __m256i c, __m256i d)
{
#if PZ_W == 64
    const __m256i low = _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8);
    const __m256i high = _mm256_permute4x64_epi64(_mm256_packs_epi16(c, d), 0xd8);

    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
#else
    const __m256i all = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const uint32_t bits = (uint32_t)_mm256_movemask_epi8(_mm256_permutevar8x32_epi32(all, order));

    return PZ_W == 16 ? _pext_u32(bits, 0x55555555) : bits;
#endif
}

PZI_INLINE PZ_SET PZ_CAT(collect_quad)(const pzi_quad *q)
{
    return PZ_M(of)(PZ_CAT(collect)(q->v[0], q->v[1], q->v[2], q->v[3]), 0);
}

PZI_INLINE __m256i PZ_CAT(fields)(PZ_PLANE plane)
{
#if PZ_W == 16
    return _mm256_set1_epi64x((long long)plane);
#elif PZ_W == 32
    return _mm256_set1_epi32((int)plane);
#else
    return _mm256_set1_epi16((short)plane);
#endif
}

/* The fields of x that are neither 1 nor 11 at some position, but for zeros between; with gaps, as
 * in pzi_p64_shape(). */
PZI_INLINE __m256i PZ_CAT(not_place)(__m256i x, __m256i present, bool gaps)
{
    const __m256i ones = _mm256_set1_epi8(-1);
    const __m256i low = _mm256_and_si256(x, PZ_FIELDS(sub)(_mm256_setzero_si256(), x));
    const __m256i rest = _mm256_xor_si256(x, low);

    if (gaps) {
        const __m256i third = _mm256_and_si256(rest, PZ_FIELDS(add)(rest, ones));
        const __m256i filled = _mm256_or_si256(x, _mm256_xor_si256(present, ones));

        return _mm256_or_si256(third, _mm256_and_si256(PZ_FIELDS(add)(filled, low), x));
    }
    return _mm256_andnot_si256(PZ_FIELDS(add)(low, low), rest);
}

/* As mark_plain, but for a sign plane all at once. */
PZI_INLINE void PZ_CAT(mark)(const PZ_PLANE *b, unsigned P, PZ_PLANE all, bool gaps,
                             PZ_MARKS *marks)
{
    const __m256i zero = _mm256_setzero_si256(), present = PZ_CAT(fields)(all);
    const pzi_quad planes = pzi_load_quad(b);
    const pzi_quad above =
        pzi_shift_down(&planes, _mm256_setr_epi64x((long long)b[PZ_W], 0, 0, 0), PZ_N / 8);
    pzi_quad none, brief, place;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m256i x = _mm256_xor_si256(planes.v[k], above.v[k]);

        none.v[k] = PZ_FIELDS(cmpeq)(x, zero);
        brief.v[k] =
            _mm256_or_si256(PZ_FIELDS(cmpeq)(x, present), PZ_FIELDS(cmpeq)(planes.v[k], zero));
        place.v[k] = PZ_FIELDS(cmpeq)(PZ_CAT(not_place)(x, present, gaps), zero);
    }
    marks->some = PZ_M(without)(PZ_M(below)(PZ_W), PZ_CAT(collect_quad)(&none));
    marks->brief = PZ_M(and)(marks->some, PZ_CAT(collect_quad)(&brief));
    marks->place = PZ_M(and)(marks->some, PZ_CAT(collect_quad)(&place));
    if (P > PZ_W)
        PZ_CAT(mark_plane)(marks, PZ_M(at)(PZ_W), b[PZ_W], b[PZ_W], all);
}

#endif

#undef PZ_LANES
#undef PZ_FIELDS
