/* Template, parameter PZ_W: compact and spread, see group_scalar.tmpl.h, by the compressing and
 * expanding instructions of AVX-512, as in vec_compress.tmpl.h. */

#define PZ_LANES(op) PZ_PASTE(_mm512_##op##_epi, PZ_W)

enum { PZ_CAT(per_register) = 512 / PZ_W };

/* The marks of a register's symbols, from number i on. */
static inline PZ_CAT(lanes) PZ_CAT(marks_at)(PZ_PLANE mask, unsigned i)
{
    return (PZ_CAT(lanes))(PZ_P(piece)(mask, i / 64) >> i % 64);
}

static inline void PZ_CAT(compact)(const uint8_t *block, PZ_PLANE mask, uint8_t *to)
{
    for (unsigned i = 0; i < PZ_N; i += PZ_CAT(per_register)) {
        const PZ_CAT(lanes) marks = PZ_CAT(marks_at)(mask, i);
        const __m512i v = _mm512_loadu_si512(block + i * PZ_SB);

        _mm512_storeu_si512(to, PZ_LANES(maskz_compress)(marks, v));
        to += pzi_count64(marks) * PZ_SB;
    }
}

static inline void PZ_CAT(spread)(const uint8_t *from, PZ_PLANE mask, uint8_t *block)
{
    for (unsigned i = 0; i < PZ_N; i += PZ_CAT(per_register)) {
        const PZ_CAT(lanes) marks = PZ_CAT(marks_at)(mask, i);
        const __m512i v = _mm512_loadu_si512(from);

        _mm512_storeu_si512(block + i * PZ_SB, PZ_LANES(maskz_expand)(marks, v));
        from += pzi_count64(marks) * PZ_SB;
    }
}

#undef PZ_LANES
