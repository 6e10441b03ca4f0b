/* Template, parameter PZ_W: the vocabulary of format 2, see group_scalar.tmpl.h, in AVX2 and BMI2;
 * uses that of vec_avx2.tmpl.h.  Symbols of 64 bits, whose exponents are no bytes, take plain C. */
#if PZ_W == 64

#include "codec/group_scalar.tmpl.h"

#else

#if PZ_W == 8
#define PZ_LANES(op) _mm256_##op##_epi8
#elif PZ_W == 16
#define PZ_LANES(op) _mm256_##op##_epi16
#elif PZ_W == 32
#define PZ_LANES(op) _mm256_##op##_epi32
#endif

static inline PZ_PLANE PZ_CAT(present)(const uint8_t *block)
{
    return PZ_CAT(nonzero)(block, NULL);
}

static inline bool PZ_CAT(has_negative)(const uint8_t *block)
{
    const pzi_quad q = pzi_load_quad(block);
    const __m256i seen =
        _mm256_or_si256(_mm256_or_si256(q.v[0], q.v[1]), _mm256_or_si256(q.v[2], q.v[3]));

    return !_mm256_testz_si256(seen, PZ_CAT(repeat)((PZ_SYMBOL)((PZ_SYMBOL)1 << (PZ_W - 1))));
}

static inline void PZ_CAT(common_bits)(const uint8_t *blocks, unsigned count, PZ_SYMBOL *any,
                                       PZ_SYMBOL *all)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i ored[4] = {zero, zero, zero, zero}, anded[4];
    uint64_t words[8];

    for (unsigned k = 0; k < 4; k++)
        anded[k] = _mm256_set1_epi8(-1);
    for (unsigned b = 0; b < count; b++) {
        const pzi_quad q = pzi_load_quad(blocks + b * PZ_BLOCK_BYTES);

#pragma GCC unroll 4
        for (unsigned k = 0; k < 4; k++) {
            const __m256i absent = PZ_LANES(cmpeq)(q.v[k], zero);

            ored[k] = _mm256_or_si256(ored[k], q.v[k]);
            anded[k] = _mm256_and_si256(anded[k], _mm256_or_si256(q.v[k], absent));
        }
    }
    for (unsigned k = 1; k < 4; k++) {
        ored[0] = _mm256_or_si256(ored[0], ored[k]);
        anded[0] = _mm256_and_si256(anded[0], anded[k]);
    }
    _mm256_storeu_si256((__m256i *)(void *)words, ored[0]);
    _mm256_storeu_si256((__m256i *)(void *)(words + 4), anded[0]);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned shift = 0; shift < 64; shift += PZ_W) {
            *any |= (PZ_SYMBOL)(words[i] >> shift);
            *all &= (PZ_SYMBOL)(words[4 + i] >> shift);
        }
}

#if PZ_W == 32

/* ---- Moving symbols: as many as a register holds at a time ---- */

/* All ones in byte i if bit i of the eight is set. */
static inline uint64_t bytes_of_bits_w32(unsigned bits)
{
    return _pdep_u64(bits, 0x0101010101010101) * 0xff;
}

static inline __m256i widened_w32(uint64_t bytes)
{
    return _mm256_cvtepi8_epi32(_mm_cvtsi64_si128((long long)bytes));
}

static inline void compact_w32(const uint8_t *block, uint32_t mask, uint8_t *to)
{
    const __m256i *const v = (const __m256i *)(const void *)block;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const unsigned bits = mask >> (8 * k) & 0xff;
        const uint64_t from = _pext_u64(0x0706050403020100, bytes_of_bits_w32(bits));

        _mm256_storeu_si256(
            (__m256i *)(void *)to,
            _mm256_permutevar8x32_epi32(_mm256_loadu_si256(v + k), widened_w32(from)));
        to += 4 * pzi_count64(bits);
    }
}

static inline void spread_w32(const uint8_t *from, uint32_t mask, uint8_t *block)
{
    __m256i *const v = (__m256i *)(void *)block;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const unsigned bits = mask >> (8 * k) & 0xff;
        const uint64_t bytes = bytes_of_bits_w32(bits);
        const __m256i symbols =
            _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(const void *)from),
                                        widened_w32(_pdep_u64(0x0706050403020100, bytes)));

        _mm256_storeu_si256(v + k, _mm256_and_si256(symbols, widened_w32(bytes)));
        from += 4 * pzi_count64(bits);
    }
}

#else

#include "codec/group_bmi2.tmpl.h"

#endif

/* ---- Exponents ---- */

static inline unsigned PZ_CAT(exponent_of)(const uint8_t *from, unsigned i, unsigned e)
{
    return (unsigned)(PZ_LOAD(from, i) >> (PZ_W - 1 - e)) & ((1u << e) - 1);
}

/* As bytes, of 32 symbols. */
PZI_INLINE __m256i PZ_CAT(exponents32)(const uint8_t *from, unsigned e)
{
    const __m256i *const v = (const __m256i *)(const void *)from;
    const __m128i m = _mm_cvtsi32_si128((int)(PZ_W - 1 - e));
    const __m256i mask = PZ_CAT(repeat)((PZ_SYMBOL)((1u << e) - 1));
    __m256i x[PZ_W / 8];

#pragma GCC unroll 4
    for (unsigned k = 0; k < PZ_W / 8; k++) {
        const __m256i symbols = _mm256_loadu_si256(v + k);

#if PZ_W == 32
        x[k] = _mm256_and_si256(_mm256_srl_epi32(symbols, m), mask);
#else
        x[k] = _mm256_and_si256(_mm256_srl_epi16(symbols, m), mask);
#endif
    }
#if PZ_W == 8
    return x[0];
#elif PZ_W == 16
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(x[0], x[1]), 0xd8);
#else
    return _mm256_permutevar8x32_epi32(
        _mm256_packus_epi16(_mm256_packus_epi32(x[0], x[1]), _mm256_packus_epi32(x[2], x[3])),
        _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
#endif
}

PZI_INLINE void PZ_CAT(classes)(const uint8_t *from, unsigned e, unsigned base,
                                uint8_t classes[PZI_GROUP])
{
    const unsigned above = base + PZI_ESCAPE2;
    const __m256i bases = _mm256_set1_epi8((char)base), escape = _mm256_set1_epi8(PZI_ESCAPE2);
    /* An exponent that is larger than the base must not come round to a class. */
    const __m256i most = _mm256_set1_epi8((char)(above < 255 ? above : 255));

#pragma GCC unroll 2
    for (unsigned i = 0; i < 2; i++) {
        const __m256i exponents =
            _mm256_min_epu8(PZ_CAT(exponents32)(from + i * 4 * PZ_W, e), most);

        _mm256_storeu_si256((__m256i *)(void *)classes + i,
                            _mm256_min_epu8(_mm256_sub_epi8(bases, exponents), escape));
    }
}

static inline unsigned PZ_CAT(sum_of_bytes)(__m256i v)
{
    const __m256i sums = _mm256_sad_epu8(v, _mm256_setzero_si256());
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));

    return (unsigned)(_mm_cvtsi128_si32(two) + _mm_extract_epi32(two, 2));
}

static inline unsigned PZ_CAT(largest_byte)(__m256i v)
{
    __m128i max = _mm_max_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    max = _mm_max_epu8(max, _mm_srli_epi16(max, 8));
    max = _mm_minpos_epu16(
        _mm_xor_si128(_mm_and_si128(max, _mm_set1_epi16(0xff)), _mm_set1_epi16(0xff)));
    return 0xff ^ ((unsigned)_mm_cvtsi128_si32(max) & 0xff);
}

static inline void PZ_CAT(count_exponents)(const uint8_t *first, size_t step, unsigned blocks,
                                           unsigned e, struct pzi_survey2 *survey)
{
    __m256i exponents[PZ_CHUNK_BLOCKS / 4 * PZ_N / 32], max = _mm256_setzero_si256();
    const unsigned zeros = blocks * PZ_N - survey->symbols;
    unsigned count = 0;

    /* Zero symbols have the smallest exponent, which changes no maximum. */
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned i = 0; i < PZ_N / 32; i++) {
            exponents[count] = PZ_CAT(exponents32)(first + b * step + i * 4 * PZ_W, e);
            max = _mm256_max_epu8(max, exponents[count++]);
        }
    survey->largest = PZ_CAT(largest_byte)(max);
    for (unsigned d = 0; d < PZI_DEPTHS2; d++) {
        const __m256i wanted = _mm256_set1_epi8((char)(survey->largest - d));
        __m256i found = _mm256_setzero_si256();

        for (unsigned i = 0; i < count; i++)
            found = _mm256_sub_epi8(found, _mm256_cmpeq_epi8(exponents[i], wanted));
        survey->at_depth[d] = d <= survey->largest ? (uint16_t)PZ_CAT(sum_of_bytes)(found) : 0;
    }
    if (survey->largest < PZI_DEPTHS2)
        survey->at_depth[survey->largest] = (uint16_t)(survey->at_depth[survey->largest] - zeros);
}

/* ---- Records and planes ---- */

static inline uint64_t PZ_CAT(bit_plane)(const uint8_t *from, unsigned bit)
{
    const __m256i *const v = (const __m256i *)(const void *)from;
    const __m128i up = _mm_cvtsi32_si128((int)(PZ_W - 1 - bit));

#if PZ_W == 8
    return pzi_tops64(_mm256_sll_epi16(_mm256_loadu_si256(v), up),
                      _mm256_sll_epi16(_mm256_loadu_si256(v + 1), up));
#elif PZ_W == 16
    pzi_quad q = pzi_load_quad(v);

    for (unsigned k = 0; k < 4; k++)
        q.v[k] = _mm256_sll_epi16(q.v[k], up);
    return PZ_CAT(tops)(&q);
#else
    uint64_t plane = 0;

    for (unsigned half = 0; half < 2; half++) {
        pzi_quad q = pzi_load_quad(v + 4 * half);

        for (unsigned k = 0; k < 4; k++)
            q.v[k] = _mm256_sll_epi32(q.v[k], up);
        plane |= (uint64_t)PZ_CAT(tops)(&q) << (32 * half);
    }
    return plane;
#endif
}

/* The bits of as many symbols as a register holds, each at the place of `each`, a single bit. */
static inline __m256i PZ_CAT(place_bits)(uint64_t bits, PZ_SYMBOL each)
{
#if PZ_W == 8
    const __m256i ones = pzi_spread_bits((uint32_t)bits);
#elif PZ_W == 16
    const __m256i own = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                          8192, 16384, (short)32768);
    const __m256i ones =
        _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16((short)bits), own), own);
#else
    const __m256i own = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i ones =
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), own), own);
#endif

    return _mm256_and_si256(ones, PZ_CAT(repeat)(each));
}

#if PZ_W == 8

/* There are none.  The parameters are those of the other widths. */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
static inline void put_records_w8(const uint8_t *from, unsigned e, uint64_t first, uint8_t *to)
{
    (void)from, (void)e, (void)first, (void)to;
}

static inline uint64_t record_tops_w8(const uint8_t *records)
{
    (void)records;
    return 0;
}

#elif PZ_W == 16

/* The first bits are part of a record if it has as many bits as the mantissa and they. */
static inline void put_records_w16(const uint8_t *from, unsigned e, uint64_t first, uint8_t *to)
{
    const __m256i mantissa = _mm256_set1_epi16(e == 8 ? 0x7f : 0xff);
    const pzi_quad q = pzi_load_quad(from);

#pragma GCC unroll 2
    for (unsigned half = 0; half < 2; half++) {
        const __m256i bytes = _mm256_packus_epi16(_mm256_and_si256(q.v[2 * half], mantissa),
                                                  _mm256_and_si256(q.v[2 * half + 1], mantissa));
        __m256i records = _mm256_permute4x64_epi64(bytes, 0xd8);

        if (e == 8)
            records = _mm256_or_si256(
                records, _mm256_and_si256(pzi_spread_bits((uint32_t)(first >> (32 * half))),
                                          _mm256_set1_epi8((char)0x80)));
        _mm256_storeu_si256((__m256i *)(void *)to + half, records);
    }
}

static inline uint64_t record_tops_w16(const uint8_t *records)
{
    const __m256i *const v = (const __m256i *)(const void *)records;

    return pzi_tops64(_mm256_loadu_si256(v), _mm256_loadu_si256(v + 1));
}

#else

static inline void put_records_w32(const uint8_t *from, unsigned e, uint64_t first, uint8_t *to)
{
    const __m256i *const v = (const __m256i *)(const void *)from;
    const __m256i mantissa = _mm256_set1_epi32(0x7fffff);
    const __m256i three = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));

    (void)e;
    for (unsigned k = 0; k < 8; k++, to += 24) {
        const __m256i values =
            _mm256_or_si256(_mm256_and_si256(_mm256_loadu_si256(v + k), mantissa),
                            place_bits_w32(first >> (8 * k), 0x800000));
        const __m256i records = _mm256_shuffle_epi8(values, three);

        _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(records));
        _mm_storeu_si128((__m128i *)(void *)(to + 12), _mm256_extracti128_si256(records, 1));
    }
}

/* The top bits of 192 bytes; every third byte is the last one of a record. */
static inline uint64_t record_tops_w32(const uint8_t *records)
{
    const __m256i *const v = (const __m256i *)(const void *)records;
    uint64_t tops[3];

#pragma GCC unroll 3
    for (unsigned k = 0; k < 3; k++)
        tops[k] = pzi_tops64(_mm256_loadu_si256(v + 2 * k), _mm256_loadu_si256(v + 2 * k + 1));
    return _pext_u64(tops[0], 0x4924924924924924u) | _pext_u64(tops[1], 0x2492492492492492u) << 21 |
           _pext_u64(tops[2], 0x9249249249249249u) << 42;
}

#endif

/* ---- Whole symbols ---- */

/* Value bits of as many symbols as a register holds, from number i of the group on. */
static inline __m256i PZ_CAT(record_values)(const uint8_t *records, unsigned i)
{
#if PZ_W == 8
    (void)records, (void)i;
    return _mm256_setzero_si256();
#elif PZ_W == 16
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(records + i)));
#else
    const __m256i four = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
    const __m128i *const low = (const __m128i *)(const void *)(records + 3 * i);
    const __m128i *const high = (const __m128i *)(const void *)(records + 3 * i + 12);

    return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)),
                                                       _mm_loadu_si128(high), 1),
                               four);
#endif
}

static inline __m256i PZ_CAT(wide_exponents)(const uint8_t *exponents, __m128i m)
{
#if PZ_W == 8
    /* The exponent is below 2^e, so that nothing reaches the next byte but the sign's place. */
    return _mm256_sll_epi16(_mm256_loadu_si256((const __m256i *)(const void *)exponents), m);
#elif PZ_W == 16
    return _mm256_sll_epi16(
        _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)exponents)), m);
#else
    return _mm256_sll_epi32(
        _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)exponents)), m);
#endif
}

PZI_INLINE void PZ_CAT(join)(const PZ_EXPONENT *exponents, const uint8_t *records,
                             const uint64_t *planes, unsigned e, uint8_t *to)
{
    enum { LANES = 256 / PZ_W };
    const unsigned m = PZ_W - 1 - e, x = (m + 1) % 8;
    const __m256i mantissa = PZ_CAT(repeat)((PZ_SYMBOL)(((PZ_SYMBOL)1 << m) - 1));
    const __m128i shift = _mm_cvtsi32_si128((int)m);

#pragma GCC unroll 8
    for (unsigned i = 0; i < PZI_GROUP; i += LANES) {
        __m256i v = _mm256_and_si256(PZ_CAT(record_values)(records, i), mantissa);

        v = _mm256_or_si256(v, PZ_CAT(wide_exponents)(exponents + i, shift));
        v = _mm256_or_si256(
            v, PZ_CAT(place_bits)(planes[0] >> i, (PZ_SYMBOL)((PZ_SYMBOL)1 << (PZ_W - 1))));
        for (unsigned k = 1; k < x; k++)
            v = _mm256_or_si256(
                v, PZ_CAT(place_bits)(planes[k] >> i, (PZ_SYMBOL)((PZ_SYMBOL)1 << (m - k))));
        _mm256_storeu_si256((__m256i *)(void *)(to + i * (PZ_W / 8)), v);
    }
}

/* ---- Differences ---- */

/* Ones in the lanes that are negative. */
static inline __m256i PZ_CAT(signs)(__m256i v)
{
    return PZ_LANES(cmpgt)(_mm256_setzero_si256(), v);
}

/* The bits that the order of floating-point numbers, as integers, turns where the sign is set. */
static inline __m256i PZ_CAT(turned)(bool floats)
{
    return PZ_CAT(repeat)((PZ_SYMBOL)(floats ? (PZ_SYMBOL)-1 >> 1 : 0));
}

static inline __m256i PZ_CAT(ordered)(__m256i v, __m256i turned)
{
    return _mm256_xor_si256(v, _mm256_and_si256(PZ_CAT(signs)(v), turned));
}

static inline void PZ_CAT(fold)(const uint8_t *block, PZ_SYMBOL before, bool floats, uint8_t *z)
{
    const __m256i turned = PZ_CAT(turned)(floats);
    pzi_quad now = pzi_load_quad(block), last;

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        now.v[k] = PZ_CAT(ordered)(now.v[k], turned);
    last = PZ_CAT(shift_up)(&now, PZ_CAT(ordered)(PZ_CAT(repeat)(before), turned));
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m256i d = PZ_LANES(sub)(now.v[k], last.v[k]);

        now.v[k] = _mm256_xor_si256(PZ_LANES(add)(d, d), PZ_CAT(signs)(d));
    }
    pzi_store_quad(z, &now);
}

static inline PZ_SYMBOL PZ_CAT(unfold)(PZ_SYMBOL before, bool floats, uint8_t *block)
{
    const __m256i turned = PZ_CAT(turned)(floats);
    const __m256i one = PZ_CAT(repeat)(1), zero = _mm256_setzero_si256();
    const __m256i start = PZ_CAT(ordered)(PZ_CAT(repeat)(before), turned);
    pzi_quad q = pzi_load_quad(block);

#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m256i odd = PZ_LANES(sub)(zero, _mm256_and_si256(q.v[k], one));
#if PZ_W == 8
        const __m256i half = _mm256_and_si256(_mm256_srli_epi16(q.v[k], 1), _mm256_set1_epi8(0x7f));
#else
        const __m256i half = PZ_LANES(srli)(q.v[k], 1);
#endif

        q.v[k] = _mm256_xor_si256(half, odd);
    }
    PZ_CAT(sum_up)(&q);
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++)
        q.v[k] = PZ_CAT(ordered)(PZ_LANES(add)(q.v[k], start), turned);
    pzi_store_quad(block, &q);
    return PZ_LOAD(block, PZ_N - 1);
}

#undef PZ_LANES

#endif
