/* Template, parameter PZ_W: modes E and C of format 2 (docs/format2.md, "Mode E and mode C").
 * Works on groups of 64 coded symbols, which lie one after the other, and on words of 64 bits for
 * what they have of each plane.  The vocabulary (see group_scalar.tmpl.h) looks at symbols; here
 * are none. */

/* ---- Encoder -------------------------------------------------------------------------------- */

static inline uint8_t *PZ_CAT(put_piece)(PZ_PLANE plane, uint8_t *to)
{
#if PZ_W == 8
    pzi_store_le64(to, plane.lo);
    pzi_store_le64(to + 8, plane.hi);
#else
    PZ_LE(store)(to, plane);
#endif
    return to + PZ_N / 8;
}

static inline uint8_t *PZ_CAT(put_masks)(const PZ_LAYOUT *layout, unsigned nb, uint8_t *to)
{
    uint8_t *next = to + 4;
    uint32_t map = 0;

    for (unsigned b = 0; b < nb; b++) {
        if (PZ_P(is_zero)(layout->coded[b]))
            continue;
        map |= UINT32_C(1) << b;
        next = PZ_CAT(put_piece)(layout->coded[b], next);
    }
    pzi_store_le32(to, map);
    return next;
}

static inline uint8_t *PZ_CAT(put_header)(const PZ_LAYOUT *layout, unsigned nb, uint8_t *to)
{
    *to++ = (uint8_t)((layout->t > 0 ? PZI_MODE2_C : PZI_MODE2_E) | layout->has_zeros << 2 |
                      layout->has_signs << 3 | layout->window.code << 4);
    *to++ = (uint8_t)layout->window.base;
    if (layout->e > 8)
        *to++ = (uint8_t)(layout->window.base >> 8);
    if (layout->t > 0) {
        *to++ = (uint8_t)layout->t;
        pzi_store_le64(to, layout->constant);
        to += pzi_plane_bytes(layout->t);
    }
    return layout->has_zeros ? PZ_CAT(put_masks)(layout, nb, to) : to;
}

/* The coded symbols one after the other: where they lie, or in `front`, zeros behind them up to a
 * whole group and block. */
static inline const uint8_t *PZ_CAT(coded_symbols)(const PZ_LAYOUT *layout, const uint8_t *raw,
                                                   unsigned nb, uint8_t *front)
{
    uint8_t *to = front;

    if (!layout->has_zeros)
        return raw;
    for (unsigned b = 0; b < nb; b++) {
        PZ_CAT(compact)(raw + b * PZ_BLOCK_BYTES, layout->coded[b], to);
        to += PZ_P(count)(layout->coded[b]) * (PZ_W / 8);
    }
    memset(to, 0, PZ_W == 8 ? PZ_BLOCK_BYTES : PZI_GROUP * (PZ_W / 8));
    return front;
}

static inline uint8_t *PZ_CAT(put_escapes)(const uint8_t *from, unsigned e, uint64_t escapes,
                                           uint8_t *to)
{
    for (; escapes != 0; escapes = pzi_p64_rest(escapes)) {
        const unsigned exponent = PZ_CAT(exponent_of)(from, pzi_p64_lowest(escapes), e);

        *to++ = (uint8_t)exponent;
        if (e > 8)
            *to++ = (uint8_t)(exponent >> 8);
    }
    return to;
}

/* The planes of bit number `bit`; each store may pass the end of the plane, which what follows
 * overwrites. */
static inline uint8_t *PZ_CAT(put_bit_plane)(const uint8_t *symbols, unsigned c, unsigned bit,
                                             uint8_t *to)
{
    for (unsigned g = 0; g < pzi_group_count(c); g++)
        pzi_store_le64(to + 8 * g, PZ_CAT(bit_plane)(symbols + g * PZI_GROUP * (PZ_W / 8), bit) &
                                       pzi_group_of(c, g));
    return to + pzi_plane_bytes(c);
}

static inline uint8_t *PZ_CAT(put_words)(const uint64_t *words, unsigned c, uint8_t *to)
{
    for (unsigned g = 0; g < pzi_group_count(c); g++)
        pzi_store_le64(to + 8 * g, words[g]);
    return to + pzi_plane_bytes(c);
}

/* As put_records, without the lowest t bits. */
static inline void PZ_CAT(put_short_records)(const PZ_LAYOUT *layout, const uint8_t *from,
                                             uint64_t first, uint8_t *to)
{
    for (unsigned i = 0; i < PZI_GROUP; i++) {
        const PZ_SYMBOL mantissa = PZ_LOAD(from, i) & (PZ_SYMBOL)(((PZ_SYMBOL)1 << layout->m) - 1);
        const uint64_t value = mantissa >> layout->t | (first >> i & 1) << (layout->m - layout->t);

        for (unsigned k = 0; k < layout->B; k++)
            *to++ = (uint8_t)(value >> (8 * k));
    }
}

/* Records, planes, signs: all that has its place without the codewords but the first bits. */
PZI_INLINE uint8_t *PZ_CAT(put_values)(const PZ_LAYOUT *layout, const uint8_t *symbols,
                                       const uint64_t *first, uint8_t *to)
{
    const unsigned c = layout->c;

    for (unsigned g = 0; layout->B != 0 && g < pzi_group_count(c); g++) {
        const uint8_t *const from = symbols + g * PZI_GROUP * (PZ_W / 8);
        uint8_t *const records = to + g * PZI_GROUP * layout->B;

        if (layout->t > 0)
            PZ_CAT(put_short_records)(layout, from, first[g], records);
        else
            PZ_CAT(put_records)(from, layout->e, first[g], records);
    }
    to += c * layout->B;
    if (layout->x > 0)
        to = PZ_CAT(put_words)(first, c, to);
    for (unsigned i = 1; i < layout->x; i++)
        to = PZ_CAT(put_bit_plane)(symbols, c, layout->m - i, to);
    return layout->has_signs ? PZ_CAT(put_bit_plane)(symbols, c, PZ_W - 1, to) : to;
}

PZI_INLINE size_t PZ_CAT(encode_exponents)(unsigned e, const PZ_LAYOUT *layout, const uint8_t *raw,
                                           unsigned n, uint8_t *to)
{
    const struct pzi_window2 *const window = &layout->window;
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    uint8_t front[PZ_CHUNK_BYTES + PZI_GROUP * 8], escapes[PZ_CHUNK_BYTES];
    uint8_t *const begin = to, *escapes_end = escapes;
    const uint8_t *const symbols = PZ_CAT(coded_symbols)(layout, raw, nb, front);
    uint64_t first[PZI_GROUPS];
    struct pzi_levels2 levels;

    pzi_levels_init(&levels);
    for (unsigned g = 0; g < pzi_group_count(layout->c); g++) {
        const uint8_t *const from = symbols + g * PZI_GROUP * (PZ_W / 8);
        const uint64_t all = pzi_group_of(layout->c, g);
        uint8_t classes[PZI_GROUP];
        struct pzi_words2 words;

        PZ_CAT(classes)(from, e, window->base, classes);
        pzi_words_of(classes, &pzi_codes2[window->code], &words);
        first[g] = words.bit[0] & all;
        for (unsigned l = 1; l < PZI_LEVELS2; l++)
            pzi_levels_put(&levels, l, words.bit[l], words.more[l] & all);
        escapes_end = PZ_CAT(put_escapes)(from, e, words.escape & all, escapes_end);
    }
    to = PZ_CAT(put_header)(layout, nb, to);
    to = PZ_CAT(put_values)(layout, symbols, first, to);
    to = pzi_levels_finish(&levels, to);
    memcpy(to, escapes, (size_t)(escapes_end - escapes));
    return (size_t)(to - begin) + (size_t)(escapes_end - escapes);
}

/* The coded symbols of a group of the chunk. */
static inline uint64_t PZ_CAT(coded_of_group)(const PZ_LAYOUT *layout, unsigned g)
{
#if PZ_W == 8
    return pzi_p128_piece(layout->coded[g / 2], g % 2);
#else
    enum { BLOCKS = PZI_GROUP / PZ_N };
    uint64_t word = 0;

    for (unsigned i = 0; i < BLOCKS; i++)
        word |= (uint64_t)layout->coded[g * BLOCKS + i] << (i * PZ_N % 64);
    return word;
#endif
}

/* ---- Size model ----------------------------------------------------------------------------- */

static inline size_t PZ_CAT(mask_bytes)(const PZ_LAYOUT *layout, unsigned nb)
{
    size_t bytes = 4;

    for (unsigned b = 0; b < nb; b++)
        bytes += PZ_P(is_zero)(layout->coded[b]) ? 0 : PZ_N / 8;
    return bytes;
}

/* Looks at all symbols where they lie, zero ones included, and does not count those. */
PZI_INLINE size_t PZ_CAT(measure_exponents)(unsigned e, const PZ_LAYOUT *layout, const uint8_t *raw,
                                            unsigned n)
{
    const struct pzi_window2 *const window = &layout->window;
    const unsigned nb = (n + PZ_N - 1) / PZ_N, c = layout->c;
    unsigned bits[PZI_LEVELS2] = {0}, escapes = 0;
    size_t bytes =
        2 + (e > 8) + c * layout->B + (layout->x + layout->has_signs) * pzi_plane_bytes(c);

    bytes += layout->t > 0 ? 1 + pzi_plane_bytes(layout->t) : 0;
    bytes += layout->has_zeros ? PZ_CAT(mask_bytes)(layout, nb) : 0;
    for (unsigned g = 0; g < pzi_group_count(n); g++) {
        const uint8_t *const from = raw + g * PZI_GROUP * (PZ_W / 8);
        const uint64_t coded =
            (layout->has_zeros ? PZ_CAT(coded_of_group)(layout, g) : UINT64_MAX) &
            pzi_group_of(n, g);
        uint8_t classes[PZI_GROUP];
        struct pzi_words2 words;

        PZ_CAT(classes)(from, e, window->base, classes);
        pzi_words_of(classes, &pzi_codes2[window->code], &words);
        for (unsigned l = 1; l < PZI_LEVELS2; l++)
            bits[l] += pzi_count64(words.more[l] & coded);
        escapes += pzi_count64(words.escape & coded);
    }
    for (unsigned l = 1; l < PZI_LEVELS2; l++)
        bytes += pzi_plane_bytes(bits[l]);
    return bytes + escapes * (e > 8 ? 2 : 1);
}

/* ---- Decoder -------------------------------------------------------------------------------- */

static inline PZ_PLANE PZ_CAT(take_piece)(const uint8_t *from)
{
#if PZ_W == 8
    return pzi_p128_of(pzi_load_le64(from), pzi_load_le64(from + 8));
#else
    return PZ_LE(load)(from);
#endif
}

static inline pz_status PZ_CAT(take_mask)(struct pzi_reader2 *from, PZ_PLANE existing,
                                          PZ_LAYOUT *layout, unsigned b)
{
    const PZ_PLANE mask = PZ_CAT(take_piece)(from->next);

    if (from->end - from->next < PZ_N / 8)
        return PZ_ERR_CHUNK_END;
    if (PZ_P(is_zero)(mask) || !PZ_P(is_zero)(PZ_P(without)(mask, existing)))
        return PZ_ERR_MASK;
    layout->coded[b] = mask;
    layout->c += PZ_P(count)(mask);
    from->next += PZ_N / 8;
    return PZ_OK;
}

static inline pz_status PZ_CAT(take_masks)(struct pzi_reader2 *from, unsigned n, PZ_LAYOUT *layout)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    const uint32_t map = pzi_load_le32(from->next);

    if (from->end - from->next < 4)
        return PZ_ERR_CHUNK_END;
    if ((uint64_t)map >> nb != 0)
        return PZ_ERR_MASK;
    from->next += 4;
    layout->c = 0;
    for (unsigned b = 0; b < nb; b++) {
        pz_status status = PZ_OK;

        layout->coded[b] = PZ_P(of)(0, 0);
        if (map >> b & 1)
            status = PZ_CAT(take_mask)(from, PZ_CAT(existing)(n, b), layout, b);
        if (status != PZ_OK)
            return status;
    }
    return PZ_OK;
}

/* Mode C: t and the constant bits. */
static inline pz_status PZ_CAT(take_constant)(struct pzi_reader2 *from, PZ_LAYOUT *layout)
{
    const uint8_t *const at = from->next;
    const uint64_t bits = pzi_load_le64(at + 1);
    const unsigned t = at[0];
    pz_status status;

    if (from->next == from->end)
        return PZ_ERR_CHUNK_END;
    if (t == 0 || t > layout->m)
        return PZ_ERR_RANGE;
    from->next++;
    status = pzi_take_plane(from, t);
    PZ_CAT(set_constant)(layout, t, (PZ_SYMBOL)(bits & pzi_ones64(t)));
    return status;
}

static inline pz_status PZ_CAT(take_header)(struct pzi_reader2 *from, unsigned n, PZ_LAYOUT *layout)
{
    const unsigned base_bytes = layout->e > 8 ? 2 : 1, flags = from->next[0];
    pz_status status = PZ_OK;

    if (from->end - from->next < 1 + (int)base_bytes)
        return PZ_ERR_CHUNK_END;
    layout->has_zeros = flags >> 2 & 1;
    layout->has_signs = flags >> 3 & 1;
    layout->window.code = flags >> 4;
    layout->window.base = base_bytes == 1 ? from->next[1] : pzi_load_le16(from->next + 1);
    layout->c = n;
    if (layout->window.base >> layout->e != 0)
        return PZ_ERR_RANGE;
    from->next += 1 + base_bytes;
    if ((flags & 3) == PZI_MODE2_C)
        status = PZ_CAT(take_constant)(from, layout);
    return status == PZ_OK && layout->has_zeros ? PZ_CAT(take_masks)(from, n, layout) : status;
}

/* Where the parts of a payload lie that have a known place, and the code bits by level and group,
 * as far as they are known. */
PZ_PARTS
{
    const uint8_t *records;
    const uint8_t *plane[7]; /* x of them */
    const uint8_t *signs;
    uint64_t bit[PZI_LEVELS2][PZ_CHUNK_BYTES * 8 / PZ_W / PZI_GROUP];
};

static inline pz_status PZ_CAT(take_values)(struct pzi_reader2 *from, const PZ_LAYOUT *layout,
                                            PZ_PARTS *parts)
{
    pz_status status = PZ_OK;

    if ((size_t)(from->end - from->next) < (size_t)layout->c * layout->B)
        return PZ_ERR_CHUNK_END;
    parts->records = from->next;
    from->next += layout->c * layout->B;
    for (unsigned i = 0; status == PZ_OK && i < layout->x; i++) {
        parts->plane[i] = from->next;
        status = pzi_take_plane(from, layout->c);
    }
    parts->signs = from->next;
    return status == PZ_OK && layout->has_signs ? pzi_take_plane(from, layout->c) : status;
}

/* As record_tops, in mode C. */
static inline uint64_t PZ_CAT(short_record_tops)(const uint8_t *records, unsigned B)
{
    uint64_t tops = 0;

    for (unsigned i = 0; i < PZI_GROUP; i++)
        tops |= (uint64_t)(records[B * i + B - 1] >> 7) << i;
    return tops;
}

static inline void PZ_CAT(take_first_bits)(const PZ_LAYOUT *layout, PZ_PARTS *parts)
{
    for (unsigned g = 0; g < pzi_group_count(layout->c); g++) {
        const uint8_t *const records = parts->records + g * PZI_GROUP * layout->B;

        if (layout->x > 0)
            parts->bit[0][g] = pzi_load_le64(parts->plane[0] + 8 * g);
        else
            parts->bit[0][g] = layout->t > 0 ? PZ_CAT(short_record_tops)(records, layout->B)
                                             : PZ_CAT(record_tops)(records);
    }
}

/* The symbols of all groups whose codewords are longer than l: those that are at least T_l, bit by
 * bit from the last one known. */
static inline void PZ_CAT(longer)(const PZ_PARTS *parts, unsigned l, unsigned limit, uint64_t *more)
{
    enum { GROUPS = PZ_CHUNK_BYTES * 8 / PZ_W / PZI_GROUP };
    uint64_t may_be_zero = limit >> (6 - l) & 1 ? 0 : UINT64_MAX;

    for (unsigned g = 0; g < GROUPS; g++)
        more[g] = parts->bit[l - 1][g] | may_be_zero;
    for (unsigned i = l - 1; i-- > 0;) {
        may_be_zero = limit >> (5 - i) & 1 ? 0 : UINT64_MAX;
        for (unsigned g = 0; g < GROUPS; g++) {
            const uint64_t bit = parts->bit[i][g];

            more[g] = (bit & more[g]) | ((bit | more[g]) & may_be_zero);
        }
    }
}

static inline pz_status PZ_CAT(take_levels)(struct pzi_reader2 *from, const PZ_LAYOUT *layout,
                                            PZ_PARTS *parts)
{
    const uint8_t *const limits = pzi_codes2[layout->window.code].limit;
    const unsigned groups = pzi_group_count(layout->c);
    uint64_t more[PZ_CHUNK_BYTES * 8 / PZ_W / PZI_GROUP];
    pz_status status = PZ_OK;

    for (unsigned l = 1; status == PZ_OK && l < PZI_LEVELS2; l++) {
        struct pzi_plane_reader reader = {from->next, 0};

        if (limits[l] == 1u << PZI_CODE2_BITS) {
            memset(parts->bit[l], 0, sizeof parts->bit[l]);
            continue;
        }
        PZ_CAT(longer)(parts, l, limits[l], more);
        if (groups > 0)
            more[groups - 1] &= pzi_group_of(layout->c, groups - 1);
        for (unsigned g = 0; g < groups; g++)
            parts->bit[l][g] = pzi_plane_deposit(&reader, more[g]);
        status = pzi_take_plane(from, reader.bits);
    }
    return status;
}

/* The exponents of a group.  An error leaves the reader at the escapes. */
static inline pz_status PZ_CAT(take_exponents)(const PZ_LAYOUT *layout, struct pzi_reader2 *from,
                                               const uint8_t *classes, uint64_t escapes,
                                               uint64_t all, PZ_EXPONENT *exponents)
{
    const unsigned base = layout->window.base, bytes = layout->e > 8 ? 2 : 1;
    unsigned high = 0;

    for (unsigned i = 0; i < PZI_GROUP; i++)
        exponents[i] = (PZ_EXPONENT)(base - classes[i]);
    if (base < PZI_ESCAPE2 - 1)
        for (uint64_t left = all & ~escapes; left != 0; left = pzi_p64_rest(left))
            if (classes[pzi_p64_lowest(left)] > base)
                return PZ_ERR_RANGE;
    escapes &= all;
    if ((size_t)(from->end - from->next) < pzi_count64(escapes) * bytes)
        return PZ_ERR_CHUNK_END;
    for (; escapes != 0; escapes = pzi_p64_rest(escapes), from->next += bytes) {
        const unsigned exponent = bytes == 1 ? from->next[0] : pzi_load_le16(from->next);

        exponents[pzi_p64_lowest(escapes)] = (PZ_EXPONENT)exponent;
        high |= exponent;
    }
    return high >> layout->e != 0 ? PZ_ERR_RANGE : PZ_OK;
}

/* As join, and the lowest t bits. */
static inline void PZ_CAT(join_short)(const PZ_LAYOUT *layout, const PZ_EXPONENT *exponents,
                                      const uint8_t *records, const uint64_t *planes, uint8_t *to)
{
    const unsigned left = layout->m - layout->t;

    for (unsigned i = 0; i < PZI_GROUP; i++) {
        uint64_t value = 0;

        for (unsigned k = 0; k < layout->B; k++)
            value |= (uint64_t)*records++ << (8 * k);
        value &= ((uint64_t)1 << left) - 1;
        for (unsigned k = 1; k < layout->x; k++)
            value |= (planes[k] >> i & 1) << (left - k);
        PZ_STORE(to, i,
                 (PZ_SYMBOL)(value << layout->t | layout->constant |
                             (uint64_t)exponents[i] << layout->m |
                             (planes[0] >> i & 1) << (PZ_W - 1)));
    }
}

PZI_INLINE pz_status PZ_CAT(take_group)(const PZ_LAYOUT *layout, const PZ_PARTS *parts, unsigned g,
                                        struct pzi_reader2 *escapes, uint8_t *to)
{
    const uint64_t all = pzi_group_of(layout->c, g);
    const uint8_t *const records = parts->records + g * PZI_GROUP * layout->B;
    uint64_t planes[7];
    uint8_t classes[PZI_GROUP];
    PZ_EXPONENT exponents[PZI_GROUP];
    uint64_t is_escape;
    pz_status status;

    is_escape = pzi_classes_of(&parts->bit[0][g], PZ_CHUNK_BYTES * 8 / PZ_W / PZI_GROUP,
                               &pzi_codes2[layout->window.code], classes);
    status = PZ_CAT(take_exponents)(layout, escapes, classes, is_escape, all, exponents);
    if (status != PZ_OK)
        return status;
    for (unsigned i = 1; i < layout->x; i++)
        planes[i] = pzi_load_le64(parts->plane[i] + 8 * g);
    planes[0] = layout->has_signs ? pzi_load_le64(parts->signs + 8 * g) : 0;
    if (layout->t > 0)
        PZ_CAT(join_short)(layout, exponents, records, planes, to);
    else
        PZ_CAT(join)(exponents, records, planes, layout->e, to);
    return PZ_OK;
}

/* The coded symbols to their places.  Behind them `front` has a block, which spread may read. */
static inline void PZ_CAT(put_back)(const PZ_LAYOUT *layout, uint8_t *front, unsigned n,
                                    uint8_t *raw)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;

    memset(front + layout->c * (PZ_W / 8), 0, PZ_BLOCK_BYTES);
    for (unsigned b = 0; b < nb; b++) {
        PZ_CAT(spread)(front, layout->coded[b], raw + b * PZ_BLOCK_BYTES);
        front += PZ_P(count)(layout->coded[b]) * (PZ_W / 8);
    }
}

PZI_INLINE pz_status PZ_CAT(decode_exponents)(unsigned e, struct pzi_reader2 *from, uint8_t *raw,
                                              unsigned n)
{
    PZ_LAYOUT layout;
    uint8_t front[PZ_CHUNK_BYTES + PZ_BLOCK_BYTES];
    PZ_PARTS parts;
    struct pzi_reader2 escapes;
    pz_status status;

    layout.e = e;
    layout.m = PZ_W - 1 - e;
    PZ_CAT(set_constant)(&layout, 0, 0);
    status = PZ_CAT(take_header)(from, n, &layout);
    if (status == PZ_OK)
        status = PZ_CAT(take_values)(from, &layout, &parts);
    if (status != PZ_OK)
        return status;
    PZ_CAT(take_first_bits)(&layout, &parts);
    status = PZ_CAT(take_levels)(from, &layout, &parts);
    escapes = *from;
    for (unsigned g = 0; status == PZ_OK && g < pzi_group_count(layout.c); g++)
        status = PZ_CAT(take_group)(&layout, &parts, g, &escapes,
                                    (layout.has_zeros ? front : raw) + g * PZI_GROUP * (PZ_W / 8));
    if (status != PZ_OK)
        return status;
    *from = escapes;
    if (layout.has_zeros)
        PZ_CAT(put_back)(&layout, front, n, raw);
    return PZ_OK;
}
