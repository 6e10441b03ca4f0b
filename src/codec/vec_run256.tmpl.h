/* Template, parameter PZ_W, 16 or 32: vec_run.tmpl.h in AVX2.
 *
 * A code is as long as a plane, if p = N - 1, or one bit longer, if p = N.  So code i of a register
 * begins in field i of the stream, at bit `shift`; its low bits fill the field up, and the others
 * are those at the bottom of the next field. */

#if PZ_W == 16
#define PZ_FIELDS(op) _mm256_##op##_epi64
#define PZ_REPEAT(field) _mm256_set1_epi64x((long long)(field))
#elif PZ_W == 32
#define PZ_FIELDS(op) _mm256_##op##_epi32
#define PZ_REPEAT(field) _mm256_set1_epi32((int)(field))
#endif
#define PZ_FIELD_COUNT (256 / PZ_N)

/* A run that is worth it. */
#define PZ_MIN_RUN 3

/* How much later than in the field before a code begins. */
PZI_INLINE __m256i PZ_CAT(lag)(unsigned p)
{
    if (p < PZ_N)
        return _mm256_setzero_si256();
#if PZ_W == 16
    return _mm256_setr_epi64x(0, 1, 2, 3);
#else
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
#endif
}

/* The last field first. */
PZI_INLINE __m256i PZ_CAT(reverse)(__m256i v)
{
#if PZ_W == 16
    return _mm256_permute4x64_epi64(v, 0x1b);
#else
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
#endif
}

/* Every field moves up by one, the last to the front. */
PZI_INLINE __m256i PZ_CAT(rotate)(__m256i v)
{
#if PZ_W == 16
    return _mm256_permute4x64_epi64(v, 0x93);
#else
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
#endif
}

PZI_INLINE uint64_t PZ_CAT(first_field)(__m256i v)
{
    const uint64_t low = (uint64_t)_mm_cvtsi128_si64(_mm256_castsi256_si128(v));

    return PZ_N == 64 ? low : (uint32_t)low;
}

PZI_INLINE __m256i PZ_CAT(with_first_field)(__m256i v, uint64_t field)
{
    const __m256i first = _mm256_castsi128_si256(_mm_cvtsi64_si128((long long)field));

    return _mm256_blend_epi32(v, first, PZ_N == 64 ? 3 : 1);
}

/* x of the planes j-1 and below, as many as there are fields. */
PZI_INLINE __m256i PZ_CAT(planes_down_from)(const PZ_PLANE *b, unsigned j)
{
    const PZ_PLANE *const from = b - PZ_FIELD_COUNT + j;

    return PZ_CAT(reverse)(_mm256_xor_si256(_mm256_loadu_si256((const __m256i *)from),
                                            _mm256_loadu_si256((const __m256i *)(from + 1))));
}

/* Puts the codes of all x, of which the last ones may be of no plane: the writer then stands too
 * far. */
PZI_INLINE void PZ_CAT(put_register)(struct pzi_bit_writer *writer, __m256i x, unsigned p)
{
    const __m256i shift = PZ_FIELDS(add)(PZ_REPEAT(writer->held_bits), PZ_CAT(lag)(p));
    const __m256i code = PZ_FIELDS(sub)(PZ_FIELDS(add)(x, x), PZ_REPEAT(-1));
    const __m256i low = PZ_FIELDS(sllv)(code, shift);
    const __m256i high = PZ_FIELDS(srlv)(x, PZ_FIELDS(sub)(PZ_REPEAT(PZ_N - 1), shift));
    const __m256i carried = PZ_CAT(rotate)(high);
    const uint64_t rest = PZ_CAT(first_field)(carried);
    const unsigned rest_bits = writer->held_bits + (p < PZ_N ? 0 : PZ_FIELD_COUNT);

    _mm256_storeu_si256((__m256i *)writer->next,
                        _mm256_or_si256(low, PZ_CAT(with_first_field)(carried, writer->held)));
    pzi_store_le64(writer->next + 32, rest);
    writer->next += 32 + rest_bits / 8;
    writer->held = rest >> (rest_bits & 8);
    writer->held_bits = rest_bits % 8;
}

PZI_INLINE unsigned PZ_CAT(put_run)(struct pzi_bit_writer *writer, const PZ_PLANE *b, unsigned j,
                                    unsigned end, unsigned p)
{
    const unsigned bits = writer->held_bits + (j - end) * (1 + p);
    uint8_t *const begin = writer->next;

    if (p < PZ_N - 1 || j - end < PZ_MIN_RUN)
        return j;
    for (int top = (int)j; top > (int)end; top -= PZ_FIELD_COUNT)
        PZ_CAT(put_register)(writer, PZ_CAT(planes_down_from)(b, (unsigned)top), p);
    writer->next = begin + bits / 8;
    writer->held_bits = bits % 8;
    /* The last bits of the last code are those of its plane. */
    writer->held = PZ_P(xor)(b[end], b[end + 1]) >> 1 >> (p - 1 - bits % 8);
    return end;
}

#undef PZ_FIELDS
#undef PZ_REPEAT
#undef PZ_FIELD_COUNT
#undef PZ_MIN_RUN
