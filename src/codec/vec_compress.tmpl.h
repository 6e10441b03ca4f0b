/* Template, parameter PZ_W: gather and scatter, the part of the vocabulary of block.tmpl.h that
 * vec_move.tmpl.h has in plain C, by the compressing and expanding instructions of AVX-512: F has
 * them for w = 32 and 64, VBMI2 for w = 8 and 16. */

#if PZ_W == 8
#define PZ_LANES(op) _mm512_##op##_epi8
#define PZ_LANE char
#define PZ_LANE_MASK uint64_t
#define PZ_COUNT PZI_COUNT_32(0), PZI_COUNT_32(32)
#elif PZ_W == 16
#define PZ_LANES(op) _mm512_##op##_epi16
#define PZ_LANE short
#define PZ_LANE_MASK uint32_t
#define PZ_COUNT PZI_COUNT_32(0)
#elif PZ_W == 32
#define PZ_LANES(op) _mm512_##op##_epi32
#define PZ_LANE int
#define PZ_LANE_MASK uint16_t
#define PZ_COUNT PZI_COUNT_8(0), PZI_COUNT_8(8)
#elif PZ_W == 64
#define PZ_LANES(op) _mm512_##op##_epi64
#define PZ_LANE long long
#define PZ_LANE_MASK uint8_t
#define PZ_COUNT PZI_COUNT_8(0)
#endif

/* The marks of the symbols in one register, 0 or 1. */
static inline PZ_LANE_MASK PZ_CAT(half)(PZ_PLANE mask, unsigned index)
{
#if PZ_W == 8
    return pzi_p128_piece(mask, index);
#else
    return (PZ_LANE_MASK)(mask >> index * (PZ_N / 2));
#endif
}

/* 0, 1, .. for the symbols of a register, each plus `add`. */
static inline __m512i PZ_CAT(count_from)(int add)
{
    static const PZ_SYMBOL count[] = {PZ_COUNT};

    return PZ_LANES(add)(_mm512_loadu_si512(count), PZ_LANES(set1)((PZ_LANE)add));
}

static inline void PZ_CAT(gather)(const uint8_t *bytes, const PZ_PLANE *b, PZ_PLANE mask,
                                  PZ_PLANE *z)
{
    const PZ_LANE_MASK low = PZ_CAT(half)(mask, 0), high = PZ_CAT(half)(mask, 1);
    const pzi_pair v = pzi_load_pair(bytes);
    const __m512i lo = PZ_LANES(maskz_compress)(low, v.lo);
    /* Those of the high half, rotated to where those of the low half end. */
    const __m512i from = PZ_CAT(count_from)(-(int)pzi_count64(low));
    const __m512i hi = PZ_LANES(permutexvar)(from, PZ_LANES(maskz_compress)(high, v.hi));
    const PZ_LANE_MASK before = PZ_PASTE(PZ_PASTE(_mm512_movepi, PZ_W), _mask)(from);

    (void)b;
    pzi_store_pair(z, PZ_CAT(to_planes)(pzi_pair_of(PZ_LANES(mask_mov)(hi, before, lo),
                                                    PZ_LANES(maskz_mov)(before, hi))));
}

static inline void PZ_CAT(scatter)(const PZ_PLANE *z, PZ_PLANE mask, uint8_t *bytes)
{
    const PZ_LANE_MASK low = PZ_CAT(half)(mask, 0), high = PZ_CAT(half)(mask, 1);
    const pzi_pair v = PZ_CAT(from_planes)(pzi_load_pair(z));
    const __m512i from = PZ_CAT(count_from)((int)pzi_count64(low));
    const __m512i next = PZ_LANES(permutex2var)(v.lo, from, v.hi);

    pzi_store_pair(
        bytes, pzi_pair_of(PZ_LANES(maskz_expand)(low, v.lo), PZ_LANES(maskz_expand)(high, next)));
}

#undef PZ_LANES
#undef PZ_LANE
#undef PZ_LANE_MASK
#undef PZ_COUNT
