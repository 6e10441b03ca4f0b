/* Template, parameter PZ_W: the vocabulary of format 2, see group_scalar.tmpl.h, in AVX-512 and
 * BMI2; uses that of vec_avx512.tmpl.h.  compact and spread stand in group_compress.tmpl.h and
 * group_bmi2.tmpl.h.
 *
 * Builds on three moves of bytes, of which there are two forms, group_vbmi.tmpl.h and
 * group_words.tmpl.h:
 *
 *   tops      the top PZ_EB bytes of all symbols of a register, moved together, over and over
 *   records   their lowest PZ_RB bytes, moved together; what follows is arbitrary
 *   values    and back, zeros above them */

/* PZ_LANES works on symbols, PZ_EXPONENTS on exponents, PZ_SHIFT on fields that are not bytes. */
#define PZ_LANES(op, suffix) PZ_PASTE(PZ_PASTE(_mm512_##op, PZ_W), suffix)
#if PZ_W == 8
#define PZ_SHIFT(op) _mm512_##op##_epi16
#else
#define PZ_SHIFT(op) PZ_PASTE(_mm512_##op##_epi, PZ_W)
#endif
#if PZ_W == 64
#define PZ_EXPONENTS(op, suffix) _mm512_##op##16##suffix
#else
#define PZ_EXPONENTS(op, suffix) _mm512_##op##8##suffix
#endif

PZI_INLINE __m512i PZ_CAT(repeat)(PZ_SYMBOL symbol)
{
    return _mm512_set1_epi64((int64_t)(symbol * (UINT64_MAX / (PZ_SYMBOL)-1)));
}

PZI_INLINE PZ_PLANE PZ_CAT(present)(const uint8_t *block)
{
    return PZ_CAT(nonzero)(block, NULL);
}

PZI_INLINE bool PZ_CAT(has_negative)(const uint8_t *block)
{
    const pzi_pair v = pzi_load_pair(block);

    return PZ_LANES(movepi, _mask)(_mm512_or_si512(v.lo, v.hi)) != 0;
}

static inline void PZ_CAT(common_bits)(const uint8_t *blocks, unsigned count, PZ_SYMBOL *any,
                                       PZ_SYMBOL *all)
{
    const __m512i ones = _mm512_set1_epi8(-1);
    __m512i ored = _mm512_setzero_si512(), anded = ones;
    uint64_t any64, all64;

    for (unsigned i = 0; i < count * PZ_BLOCK_BYTES; i += 64) {
        const __m512i v = _mm512_loadu_si512(blocks + i);
        const PZ_CAT(lanes) present = PZ_LANES(test_epi, _mask)(v, v);

        ored = _mm512_or_si512(ored, v);
        anded = _mm512_and_si512(anded, PZ_LANES(mask_mov_epi, )(ones, present, v));
    }
    any64 = (uint64_t)_mm512_reduce_or_epi64(ored);
    all64 = (uint64_t)_mm512_reduce_and_epi64(anded);
    for (unsigned shift = 0; shift < 64; shift += PZ_W) {
        *any |= (PZ_SYMBOL)(any64 >> shift);
        *all &= (PZ_SYMBOL)(all64 >> shift);
    }
}

/* ---- Exponents ---- */

static inline unsigned PZ_CAT(exponent_of)(const uint8_t *from, unsigned i, unsigned e)
{
    return (unsigned)(PZ_LOAD(from, i) >> (PZ_W - 1 - e)) & ((1u << e) - 1);
}

PZI_INLINE __m512i PZ_CAT(repeat_exponent)(unsigned exponent)
{
    return _mm512_set1_epi64((int64_t)(exponent * (UINT64_MAX / (PZ_EXPONENT)-1)));
}

/* Those of a group.  Without the sign, they are the highest bits of a symbol. */
PZI_INLINE void PZ_CAT(exponents)(const uint8_t *from, unsigned e, __m512i x[PZ_EB])
{
    enum { BYTES = 64 / PZ_SB * PZ_EB }; /* of a register of symbols */
    const __m128i below = _mm_cvtsi32_si128((int)(8 * PZ_EB - e));

#pragma GCC unroll 8
    for (unsigned k = 0; k < PZ_SB; k++) {
        const unsigned at = k * BYTES;
        const __m512i v = _mm512_loadu_si512(from + 64 * k);
        const __m512i tops = PZ_CAT(tops)(PZ_LANES(add_epi, )(v, v));

        if (at % 64 == 0)
            x[at / 64] = tops;
        else
            x[at / 64] = _mm512_mask_mov_epi8(x[at / 64], UINT64_MAX << at % 64, tops);
    }
    for (unsigned i = 0; i < PZ_EB && e < 8 * PZ_EB; i++)
        x[i] =
            _mm512_and_si512(_mm512_srl_epi16(x[i], below), PZ_CAT(repeat_exponent)((1u << e) - 1));
}

PZI_INLINE void PZ_CAT(classes)(const uint8_t *from, unsigned e, unsigned base,
                                uint8_t classes[PZI_GROUP])
{
    const unsigned last = (PZ_EXPONENT)-1, above = base + PZI_ESCAPE2;
    const __m512i bases = PZ_CAT(repeat_exponent)(base);
    const __m512i escape = PZ_CAT(repeat_exponent)(PZI_ESCAPE2);
    /* An exponent that is larger than the base must not come round to a class. */
    const __m512i most = PZ_CAT(repeat_exponent)(above < last ? above : last);
    __m512i x[PZ_EB];

    PZ_CAT(exponents)(from, e, x);
    for (unsigned i = 0; i < PZ_EB; i++) {
        x[i] = PZ_EXPONENTS(sub_epi, )(bases, PZ_EXPONENTS(min_epu, )(x[i], most));
        x[i] = PZ_EXPONENTS(min_epu, )(x[i], escape);
    }
#if PZ_W == 64
    x[0] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(x[0])),
                              _mm512_cvtepi16_epi8(x[1]), 1);
#endif
    _mm512_storeu_si512(classes, x[0]);
}

PZI_INLINE unsigned PZ_CAT(largest)(__m512i exponents)
{
#if PZ_W == 64
    return pzi_largest16(exponents);
#else
    return pzi_largest16(_mm512_max_epu16(_mm512_srli_epi16(exponents, 8),
                                          _mm512_and_si512(exponents, _mm512_set1_epi16(0xff))));
#endif
}

PZI_INLINE void PZ_CAT(count_exponents)(const uint8_t *first, size_t step, unsigned blocks,
                                        unsigned e, struct pzi_survey2 *survey)
{
    const unsigned groups = pzi_group_count(blocks * PZ_N);
    const unsigned zeros = groups * PZI_GROUP - survey->symbols;
    uint8_t sample[PZ_CHUNK_BYTES / 4 + PZI_GROUP * PZ_SB];
    __m512i x[PZ_CHUNK_BLOCKS / 4 * PZ_N / PZI_GROUP][PZ_EB], max = _mm512_setzero_si512();

    for (unsigned b = 0; b < blocks; b++)
        pzi_store_pair(sample + b * PZ_BLOCK_BYTES, pzi_load_pair(first + b * step));
    memset(sample + blocks * PZ_BLOCK_BYTES, 0, PZI_GROUP * PZ_SB);
    for (unsigned g = 0; g < groups; g++) {
        PZ_CAT(exponents)(sample + g * PZI_GROUP * PZ_SB, e, x[g]);
        for (unsigned i = 0; i < PZ_EB; i++)
            max = PZ_EXPONENTS(max_epu, )(max, x[g][i]);
    }
    survey->largest = PZ_CAT(largest)(max);
    for (unsigned d = 0; d < PZI_DEPTHS2; d++) {
        /* Below zero it is one that is larger than the largest, so that there is none. */
        const __m512i wanted = PZ_CAT(repeat_exponent)((PZ_EXPONENT)(survey->largest - d));
        unsigned count = 0;

        for (unsigned g = 0; g < groups; g++)
            for (unsigned i = 0; i < PZ_EB; i++)
                count += pzi_count64(PZ_EXPONENTS(cmpeq_epi, _mask)(x[g][i], wanted));
        survey->at_depth[d] = (uint16_t)count;
    }
    if (survey->largest < PZI_DEPTHS2)
        survey->at_depth[survey->largest] = (uint16_t)(survey->at_depth[survey->largest] - zeros);
}

/* ---- Records and planes ---- */

/* The bits of register number k of a group. */
PZI_INLINE PZ_CAT(lanes) PZ_CAT(lanes_of)(uint64_t bits, unsigned k)
{
    return (PZ_CAT(lanes))(bits >> k * (512 / PZ_W) % 64);
}

PZI_INLINE uint64_t PZ_CAT(bit_plane)(const uint8_t *from, unsigned bit)
{
    const __m512i wanted = PZ_CAT(repeat)((PZ_SYMBOL)((PZ_SYMBOL)1 << bit));
    uint64_t plane = 0;

    for (unsigned k = 0; k < PZ_SB; k++)
        plane |= (uint64_t)PZ_LANES(test_epi, _mask)(_mm512_loadu_si512(from + 64 * k), wanted)
                 << k * (512 / PZ_W) % 64;
    return plane;
}

/* Sets a bit that is not set in the symbols of a register that have a 1. */
PZI_INLINE __m512i PZ_CAT(set_bits)(__m512i v, PZ_CAT(lanes) ones, unsigned bit)
{
    return PZ_LANES(mask_add_epi, )(v, ones, v, PZ_CAT(repeat)((PZ_SYMBOL)((PZ_SYMBOL)1 << bit)));
}

#if PZ_W == 8

/* There are none.  The parameters are those of the other widths. */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
PZI_INLINE void put_records_w8(const uint8_t *from, unsigned e, uint64_t first, uint8_t *to)
{
    (void)from, (void)e, (void)first, (void)to;
}

#else

PZI_INLINE void PZ_CAT(put_records)(const uint8_t *from, unsigned e, uint64_t first, uint8_t *to)
{
    const unsigned m = PZ_W - 1 - e;
    const __m512i mantissa = PZ_CAT(repeat)((PZ_SYMBOL)(((PZ_SYMBOL)1 << m) - 1));

#pragma GCC unroll 8
    for (unsigned k = 0; k < PZ_SB; k++) {
        __m512i v = _mm512_loadu_si512(from + 64 * k);

        if ((m + 1) % 8 == 0)
            v = PZ_CAT(set_bits)(_mm512_and_si512(v, mantissa), PZ_CAT(lanes_of)(first, k), m);
        _mm512_storeu_si512(to + k * (64 / PZ_SB * PZ_RB), PZ_CAT(records)(v));
    }
}

#endif

/* Where x = 0, the first bit is the top one of a record. */
PZI_INLINE uint64_t PZ_CAT(record_tops)(const uint8_t *records)
{
#if PZ_W == 16
    return _mm512_movepi8_mask(_mm512_loadu_si512(records));
#elif PZ_W == 32
    uint64_t tops[3];

#pragma GCC unroll 3
    for (unsigned k = 0; k < 3; k++)
        tops[k] = _mm512_movepi8_mask(_mm512_loadu_si512(records + 64 * k));
    return _pext_u64(tops[0], 0x4924924924924924u) | _pext_u64(tops[1], 0x2492492492492492u) << 21 |
           _pext_u64(tops[2], 0x9249249249249249u) << 42;
#else
    (void)records;
    return 0;
#endif
}

/* ---- Whole symbols ---- */

/* Exponents, as many as there are symbols in a register. */
PZI_INLINE __m512i PZ_CAT(load_exponents)(const PZ_EXPONENT *from)
{
#if PZ_W == 8
    return _mm512_loadu_si512(from);
#elif PZ_W == 16
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)from));
#elif PZ_W == 32
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
#else
    return _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(const void *)from));
#endif
}

/* The part of a record that is mantissa, of as many symbols. */
PZI_INLINE __m512i PZ_CAT(load_mantissas)(const uint8_t *records, unsigned m)
{
#if PZ_W == 8
    (void)records, (void)m;
    return _mm512_setzero_si512();
#else
    return _mm512_and_si512(PZ_CAT(values)(_mm512_loadu_si512(records)),
                            PZ_CAT(repeat)((PZ_SYMBOL)(((PZ_SYMBOL)1 << m) - 1)));
#endif
}

PZI_INLINE void PZ_CAT(join)(const PZ_EXPONENT *exponents, const uint8_t *records,
                             const uint64_t *planes, unsigned e, uint8_t *to)
{
    const unsigned m = PZ_W - 1 - e, x = (m + 1) % 8;
    const __m128i shift = _mm_cvtsi32_si128((int)m);

#pragma GCC unroll 8
    for (unsigned k = 0; k < PZ_SB; k++) {
        const unsigned first = k * (512 / PZ_W);
        const __m512i mantissas = PZ_CAT(load_mantissas)(records + first * PZ_RB, m);
        /* Of bytes, too, none reaches the next one. */
        __m512i v = PZ_SHIFT(sll)(PZ_CAT(load_exponents)(exponents + first), shift);

        v = PZ_CAT(set_bits)(_mm512_or_si512(v, mantissas), PZ_CAT(lanes_of)(planes[0], k),
                             PZ_W - 1);
        for (unsigned i = 1; i < x; i++)
            v = PZ_CAT(set_bits)(v, PZ_CAT(lanes_of)(planes[i], k), m - i);
        _mm512_storeu_si512(to + 64 * k, v);
    }
}

/* ---- Differences ---- */

/* `all` minus the symbol for those that are marked: if all bits are set in `all`, its complement;
 * if all but the sign, in symbols with a sign, the symbol with all others turned. */
PZI_INLINE __m512i PZ_CAT(turn)(__m512i v, PZ_CAT(lanes) marks, __m512i all)
{
    return PZ_LANES(mask_sub_epi, )(v, marks, all, v);
}

/* From the order of floating-point numbers to that of integers, and back. */
PZI_INLINE __m512i PZ_CAT(ordered)(__m512i v, bool floats)
{
    const __m512i but_sign = PZ_CAT(repeat)((PZ_SYMBOL)-1 >> 1);

    return floats ? PZ_CAT(turn)(v, PZ_LANES(movepi, _mask)(v), but_sign) : v;
}

PZI_INLINE __m512i PZ_CAT(folded)(__m512i now, __m512i before)
{
    const __m512i d = PZ_LANES(sub_epi, )(now, before);

    return PZ_CAT(turn)(PZ_LANES(add_epi, )(d, d), PZ_LANES(movepi, _mask)(d),
                        _mm512_set1_epi8(-1));
}

PZI_INLINE void PZ_CAT(fold)(const uint8_t *block, PZ_SYMBOL before, bool floats, uint8_t *z)
{
    const __m512i start = PZ_CAT(ordered)(PZ_CAT(repeat)(before), floats);
    pzi_pair now = pzi_load_pair(block), last;

    now = pzi_pair_of(PZ_CAT(ordered)(now.lo, floats), PZ_CAT(ordered)(now.hi, floats));
    last = PZI_MOVE_UP(now, start, PZ_W / 8);
    pzi_store_pair(z,
                   pzi_pair_of(PZ_CAT(folded)(now.lo, last.lo), PZ_CAT(folded)(now.hi, last.hi)));
}

PZI_INLINE __m512i PZ_CAT(unfolded)(__m512i z)
{
    const __m512i low = PZ_CAT(repeat)((PZ_SYMBOL)-1 >> 1);
    const __m512i half = _mm512_and_si512(PZ_SHIFT(srl)(z, _mm_cvtsi32_si128(1)), low);

    return PZ_CAT(turn)(half, PZ_LANES(test_epi, _mask)(z, PZ_CAT(repeat)(1)),
                        _mm512_set1_epi8(-1));
}

PZI_INLINE PZ_SYMBOL PZ_CAT(unfold)(PZ_SYMBOL before, bool floats, uint8_t *block)
{
    const __m512i start = PZ_CAT(ordered)(PZ_CAT(repeat)(before), floats);
    const pzi_pair z = pzi_load_pair(block);
    const pzi_pair sum =
        PZ_CAT(sum_pair)(pzi_pair_of(PZ_CAT(unfolded)(z.lo), PZ_CAT(unfolded)(z.hi)));

    pzi_store_pair(block, pzi_pair_of(PZ_CAT(ordered)(PZ_LANES(add_epi, )(sum.lo, start), floats),
                                      PZ_CAT(ordered)(PZ_LANES(add_epi, )(sum.hi, start), floats)));
    return PZ_LOAD(block, PZ_N - 1);
}

#undef PZ_LANES
#undef PZ_SHIFT
#undef PZ_EXPONENTS
