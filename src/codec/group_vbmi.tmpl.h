/* Template, parameter PZ_W: how group_avx512.tmpl.h moves bytes of symbols, with VBMI: any way in
 * one step. */

/* Where byte i comes from if of each symbol only `count` bytes are left, from number `first` on.
 * What is beyond the register begins again at its front. */
#define PZ_KEPT(i, first, count) ((i) / (count)*PZ_SB + (first) + (i) % (count))
#define PZ_TOP(i) PZ_KEPT(i, PZ_SB - PZ_EB, PZ_EB)
#define PZ_RECORD(i) PZ_KEPT(i, 0, PZ_RB)
/* And where it comes from if these are to be symbols again. */
#define PZ_SPREAD(i) ((i) / PZ_SB * PZ_RB + (i) % PZ_SB)
#define PZ_TABLE(f) PZI_TABLE_32(f, 0), PZI_TABLE_32(f, 32)

PZI_INLINE __m512i PZ_CAT(tops)(__m512i v)
{
    static const uint8_t from[64] = {PZ_TABLE(PZ_TOP)};

    return _mm512_permutexvar_epi8(_mm512_loadu_si512(from), v);
}

#if PZ_RB != 0

PZI_INLINE __m512i PZ_CAT(records)(__m512i v)
{
    static const uint8_t from[64] = {PZ_TABLE(PZ_RECORD)};

    return _mm512_permutexvar_epi8(_mm512_loadu_si512(from), v);
}

PZI_INLINE __m512i PZ_CAT(values)(__m512i records)
{
    static const uint8_t from[64] = {PZ_TABLE(PZ_SPREAD)};
    const uint64_t kept = UINT64_MAX / ((1u << PZ_SB) - 1) * ((1u << PZ_RB) - 1);

    return _mm512_maskz_permutexvar_epi8(kept, _mm512_loadu_si512(from), records);
}

#endif

#undef PZ_KEPT
#undef PZ_TOP
#undef PZ_RECORD
#undef PZ_SPREAD
#undef PZ_TABLE
