/* Template, parameter PZ_W: how group_avx512.tmpl.h moves bytes of symbols, without VBMI: in each
 * lane of 128 bits, and from lane to lane by words of 32 bits. */

/* Byte i of a lane if of each symbol only `count` bytes are left, from number `first` on; then word
 * i of a register if of each lane only those words are left that are filled so.  What is beyond the
 * lane or the register begins again at its front. */
#define PZ_KEPT(i, first, count) (((i) / (count)*PZ_SB + (first) + (i) % (count)) % 16)
#define PZ_FILLED(i, count) ((i) / (4 * (count) / PZ_SB) % 4 * 4 + (i) % (4 * (count) / PZ_SB))
#define PZ_TOP(i) PZ_KEPT(i, PZ_SB - PZ_EB, PZ_EB)
#define PZ_TOP_WORD(i) PZ_FILLED(i, PZ_EB)
#define PZ_RECORD(i) PZ_KEPT(i, 0, PZ_RB)
#define PZ_RECORD_WORD(i) PZ_FILLED(i, PZ_RB)
/* And back: word i of a register, then byte i of a lane, 128 for zero. */
#define PZ_SPREAD_WORD(i) ((i) / 4 * (4 * PZ_RB / PZ_SB) + (i) % 4)
#define PZ_SPREAD(i) ((i) % PZ_SB < PZ_RB ? (i) / PZ_SB * PZ_RB + (i) % PZ_SB : 128)
#define PZ_TABLE(f) PZI_TABLE_8(f, 0), PZI_TABLE_8(f, 8)

#if PZ_W == 8

PZI_INLINE __m512i tops_w8(__m512i v)
{
    return v;
}

#else

PZI_INLINE __m512i PZ_CAT(tops)(__m512i v)
{
    static const uint8_t bytes[16] = {PZ_TABLE(PZ_TOP)};
    static const uint32_t words[16] = {PZ_TABLE(PZ_TOP_WORD)};

    v = _mm512_shuffle_epi8(v, pzi_table16(bytes));
    return _mm512_permutexvar_epi32(_mm512_loadu_si512(words), v);
}

PZI_INLINE __m512i PZ_CAT(records)(__m512i v)
{
    static const uint8_t bytes[16] = {PZ_TABLE(PZ_RECORD)};
    static const uint32_t words[16] = {PZ_TABLE(PZ_RECORD_WORD)};

    v = _mm512_shuffle_epi8(v, pzi_table16(bytes));
    return _mm512_permutexvar_epi32(_mm512_loadu_si512(words), v);
}

PZI_INLINE __m512i PZ_CAT(values)(__m512i records)
{
    static const uint32_t words[16] = {PZ_TABLE(PZ_SPREAD_WORD)};
    static const uint8_t bytes[16] = {PZ_TABLE(PZ_SPREAD)};
    const __m512i lanes = _mm512_permutexvar_epi32(_mm512_loadu_si512(words), records);

    return _mm512_shuffle_epi8(lanes, pzi_table16(bytes));
}

#endif

#undef PZ_KEPT
#undef PZ_FILLED
#undef PZ_TOP
#undef PZ_TOP_WORD
#undef PZ_RECORD
#undef PZ_RECORD_WORD
#undef PZ_SPREAD_WORD
#undef PZ_SPREAD
#undef PZ_TABLE
