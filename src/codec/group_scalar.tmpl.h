/* Template, parameter PZ_W: the vocabulary of format 2 (choose2, classes2 and numbers2.tmpl.h) in
 * plain C.  An instruction set has its own file of this form, or takes this one.  Blocks are 128
 * bytes, groups 64 symbols that may cross blocks.
 *
 *   present          bit i is set if symbol i of a block is not zero
 *   has_negative     whether the top bit of a symbol of a block is set
 *   common_bits      ORs all symbols of blocks to *any, ANDs those that are not zero to *all
 *   compact          the marked symbols of a block, moved together
 *   spread           and back, zeros between them.  Both may pass the end of what they write or
 *                    read by a block
 *   count_exponents  fills survey->largest and at_depth from the coded symbols of some blocks,
 *                    `step` bytes from one to the next, of which the survey knows the number
 *   exponent_of      of symbol i
 *   classes          of a group, relative to base
 *   put_records      of a group; first are its first code bits
 *   record_tops      the top bits of a group's records, where x = 0
 *   bit_plane        the bits number `bit` of a group
 *   join             a group from exponents, records, signs (planes[0]), and the planes from 1 on
 *   fold             the z of the differences in a block, of floats or integers
 *   unfold           and back, in place; returns the last symbol */

/* 8 bytes of symbols at a time; as many results as they have top bits. */
static inline unsigned PZ_CAT(collect_tops)(uint64_t x)
{
#if PZ_W == 8
    return (unsigned)((x >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56);
#elif PZ_W == 16
    return (unsigned)((x >> 15 & 0x0001000100010001u) * 0x0001000200040008u >> 48) & 15;
#elif PZ_W == 32
    return (unsigned)(x >> 31 & 1) | (unsigned)(x >> 62 & 2);
#else
    return (unsigned)(x >> 63);
#endif
}

/* And back: 8 bytes of symbols that have the lowest bits of `bits` as top bits, else zeros. */
static inline uint64_t PZ_CAT(spread_tops)(uint64_t bits)
{
#if PZ_W == 8
    const uint64_t apart = (bits & 0xff) * 0x0101010101010101u & 0x8040201008040201u;

    return (apart + 0x7f7f7f7f7f7f7f7fu) & 0x8080808080808080u;
#elif PZ_W == 16
    return (bits & 15) * 0x1000200040008000u & 0x8000800080008000u;
#elif PZ_W == 32
    return (bits & 1) << 31 | (bits & 2) << 62;
#else
    return bits << 63;
#endif
}

static inline PZ_PLANE PZ_CAT(present)(const uint8_t *block)
{
    const uint64_t low = UINT64_MAX / ((PZ_SYMBOL)-1) * ((PZ_SYMBOL)-1 >> 1);
    uint64_t words[2] = {0, 0};

    for (unsigned i = 0; i < PZ_BLOCK_BYTES; i += 8) {
        const uint64_t x = pzi_load_le64(block + i);
        const unsigned at = i * 8 / PZ_W;

        words[at / 64] |= (uint64_t)PZ_CAT(collect_tops)(((x & low) + low) | x) << (at % 64);
    }
    return PZ_P(of)(words[0], words[1]);
}

static inline bool PZ_CAT(has_negative)(const uint8_t *block)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < PZ_BLOCK_BYTES; i += 8)
        seen |= pzi_load_le64(block + i);
    return PZ_CAT(collect_tops)(seen) != 0;
}

/* Ones in the lanes that are zero. */
static inline uint64_t PZ_CAT(zero_lanes)(uint64_t x)
{
    const uint64_t lowest = UINT64_MAX / ((PZ_SYMBOL)-1), low = lowest * ((PZ_SYMBOL)-1 >> 1);

    return (~(((x & low) + low) | x) >> (PZ_W - 1) & lowest) * (PZ_SYMBOL)-1;
}

static inline void PZ_CAT(common_bits)(const uint8_t *blocks, unsigned count, PZ_SYMBOL *any,
                                       PZ_SYMBOL *all)
{
    uint64_t ored = 0, anded = UINT64_MAX;

    for (unsigned i = 0; i < count * PZ_BLOCK_BYTES; i += 8) {
        const uint64_t x = pzi_load_le64(blocks + i);

        ored |= x;
        anded &= x | PZ_CAT(zero_lanes)(x);
    }
    for (unsigned shift = 0; shift < 64; shift += PZ_W) {
        *any |= (PZ_SYMBOL)(ored >> shift);
        *all &= (PZ_SYMBOL)(anded >> shift);
    }
}

static inline void PZ_CAT(compact)(const uint8_t *block, PZ_PLANE mask, uint8_t *to)
{
    for (; !PZ_P(is_zero)(mask); mask = PZ_P(rest)(mask), to += PZ_W / 8)
        PZ_STORE(to, 0, PZ_LOAD(block, PZ_P(lowest)(mask)));
}

static inline void PZ_CAT(spread)(const uint8_t *from, PZ_PLANE mask, uint8_t *block)
{
    memset(block, 0, PZ_BLOCK_BYTES);
    for (; !PZ_P(is_zero)(mask); mask = PZ_P(rest)(mask), from += PZ_W / 8)
        PZ_STORE(block, PZ_P(lowest)(mask), PZ_LOAD(from, 0));
}

static inline unsigned PZ_CAT(exponent_of)(const uint8_t *from, unsigned i, unsigned e)
{
    return (unsigned)(PZ_LOAD(from, i) >> (PZ_W - 1 - e)) & ((1u << e) - 1);
}

PZI_INLINE void PZ_CAT(count_exponents)(const uint8_t *first, size_t step, unsigned blocks,
                                        unsigned e, struct pzi_survey2 *survey)
{
    PZ_EXPONENT exponents[PZ_CHUNK_BLOCKS / 4 * PZ_N], largest = 0;
    unsigned at_depth[PZI_DEPTHS2 + 1] = {0};
    const unsigned zeros = blocks * PZ_N - survey->symbols;

    /* Zero symbols have the smallest exponent, which changes no maximum. */
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned i = 0; i < PZ_N; i++) {
            const unsigned exponent = PZ_CAT(exponent_of)(first + b * step, i, e);

            exponents[b * PZ_N + i] = (PZ_EXPONENT)exponent;
            largest = exponent > largest ? (PZ_EXPONENT)exponent : largest;
        }
    for (unsigned i = 0; i < blocks * PZ_N; i++) {
        const unsigned depth = (unsigned)largest - exponents[i];

        at_depth[depth < PZI_DEPTHS2 ? depth : PZI_DEPTHS2]++;
    }
    if (largest < PZI_DEPTHS2)
        at_depth[largest] -= zeros;
    for (unsigned d = 0; d < PZI_DEPTHS2; d++)
        survey->at_depth[d] = (uint16_t)at_depth[d];
    survey->largest = largest;
}

PZI_INLINE void PZ_CAT(classes)(const uint8_t *from, unsigned e, unsigned base,
                                uint8_t classes[PZI_GROUP])
{
    for (unsigned i = 0; i < PZI_GROUP; i++) {
        const unsigned class = base - PZ_CAT(exponent_of)(from, i, e);

        classes[i] = class < PZI_ESCAPE2 ? (uint8_t) class : PZI_ESCAPE2;
    }
}

PZI_INLINE void PZ_CAT(put_records)(const uint8_t *from, unsigned e, uint64_t first, uint8_t *to)
{
    const unsigned m = PZ_W - 1 - e, B = (m + 1) / 8;

    for (unsigned i = 0; i < PZI_GROUP; i++) {
        const PZ_SYMBOL mantissa = PZ_LOAD(from, i) & (PZ_SYMBOL)(((PZ_SYMBOL)1 << m) - 1);
        const uint64_t value = mantissa | (first >> i & 1) << m;

        for (unsigned k = 0; k < B; k++)
            *to++ = (uint8_t)(value >> (8 * k));
    }
}

/* Where x = 0, a record has as many bytes as a symbol without sign, exponent and the first bit. */
static inline uint64_t PZ_CAT(record_tops)(const uint8_t *records)
{
    enum { B = PZ_W == 32 ? 3 : 1 };
    uint64_t tops = 0;

    for (unsigned i = 0; i < PZI_GROUP; i++)
        tops |= (uint64_t)(records[B * i + B - 1] >> 7) << i;
    return tops;
}

static inline uint64_t PZ_CAT(bit_plane)(const uint8_t *from, unsigned bit)
{
    uint64_t plane = 0;

    for (unsigned i = 0; i < PZI_GROUP; i += 64 / PZ_W, from += 8)
        plane |= (uint64_t)PZ_CAT(collect_tops)(pzi_load_le64(from) << (PZ_W - 1 - bit)) << i;
    return plane;
}

PZI_INLINE void PZ_CAT(join)(const PZ_EXPONENT *exponents, const uint8_t *records,
                             const uint64_t *planes, unsigned e, uint8_t *to)
{
    const unsigned m = PZ_W - 1 - e, B = (m + 1) / 8, x = m + 1 - 8 * B;
    uint64_t signs = planes[0];

    for (unsigned i = 0; i < PZI_GROUP; i++) {
        uint64_t value = 0;

        for (unsigned k = 0; k < B; k++)
            value |= (uint64_t)*records++ << (8 * k);
        value &= ((uint64_t)1 << m) - 1;
        for (unsigned k = 1; k < x; k++)
            value |= (planes[k] >> i & 1) << (m - k);
        PZ_STORE(to, i, (PZ_SYMBOL)(value | (uint64_t)exponents[i] << m));
    }
    for (uint8_t *at = to; signs != 0; at += 8, signs = signs >> (64 / PZ_W - 1) >> 1)
        pzi_store_le64(at, pzi_load_le64(at) | PZ_CAT(spread_tops)(signs));
}

/* The bits that the order of floating-point numbers, as integers, turns where the sign is set. */
static inline PZ_SYMBOL PZ_CAT(turned)(bool floats)
{
    return floats ? (PZ_SYMBOL)-1 >> 1 : 0;
}

/* Its own inverse. */
static inline PZ_SYMBOL PZ_CAT(ordered)(PZ_SYMBOL s, PZ_SYMBOL turned)
{
    const PZ_SYMBOL negative = (PZ_SYMBOL)(0 - (s >> (PZ_W - 1)));

    return (PZ_SYMBOL)(s ^ (negative & turned));
}

static inline void PZ_CAT(fold)(const uint8_t *block, PZ_SYMBOL before, bool floats, uint8_t *z)
{
    const PZ_SYMBOL turned = PZ_CAT(turned)(floats);
    PZ_SYMBOL last = PZ_CAT(ordered)(before, turned);

    for (unsigned i = 0; i < PZ_N; i++) {
        const PZ_SYMBOL now = PZ_CAT(ordered)(PZ_LOAD(block, i), turned);
        const PZ_SYMBOL d = (PZ_SYMBOL)(now - last);

        PZ_STORE(z, i, (PZ_SYMBOL)((PZ_SYMBOL)(d << 1) ^ (PZ_SYMBOL)(0 - (d >> (PZ_W - 1)))));
        last = now;
    }
}

static inline PZ_SYMBOL PZ_CAT(unfold)(PZ_SYMBOL before, bool floats, uint8_t *block)
{
    const PZ_SYMBOL turned = PZ_CAT(turned)(floats);
    PZ_SYMBOL last = PZ_CAT(ordered)(before, turned);

    for (unsigned i = 0; i < PZ_N; i++) {
        const PZ_SYMBOL z = PZ_LOAD(block, i);

        last = (PZ_SYMBOL)(last + (PZ_SYMBOL)((z >> 1) ^ (PZ_SYMBOL)(0 - (z & 1))));
        PZ_STORE(block, i, PZ_CAT(ordered)(last, turned));
    }
    return PZ_CAT(ordered)(last, turned);
}
