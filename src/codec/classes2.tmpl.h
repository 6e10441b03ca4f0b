/* Template, parameter PZ_W: mode E of format 2 (docs/format2.md, "Mode E").  Works on groups of 64
 * coded symbols, which lie one after the other, and on words of 64 bits for what they have of each
 * plane.  The vocabulary (see group_scalar.tmpl.h) looks at symbols; here are none. */

/* What the header tells, or is to tell. */
struct PZ_CAT(layout) {
    unsigned e, m, B, x;
    bool has_zeros, has_signs; /* Z, S */
    struct pzi_window2 window;
    PZ_PLANE coded[PZ_CHUNK_BLOCKS]; /* if has_zeros */
    unsigned c;
};

static inline struct PZ_CAT(layout) PZ_CAT(layout_of)(unsigned e)
{
    const unsigned m = PZ_W - 1 - e, B = (m + 1) / 8;

    return (struct PZ_CAT(layout)){.e = e, .m = m, .B = B, .x = m + 1 - 8 * B};
}

/* ---- Encoder -------------------------------------------------------------------------------- */

static inline struct PZ_CAT(layout)
    PZ_CAT(look2)(unsigned e, const uint8_t *raw, unsigned n, const struct pzi_window2 *window)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    struct PZ_CAT(layout) layout = PZ_CAT(layout_of)(e);

    layout.window = *window;
    for (unsigned b = 0; b < nb; b++) {
        const uint8_t *const from = raw + b * PZ_BLOCK_BYTES;

        layout.coded[b] = PZ_CAT(present)(from);
        layout.c += PZ_P(count)(layout.coded[b]);
        layout.has_signs |= PZ_CAT(has_negative)(from);
    }
    layout.has_zeros = layout.c < n;
    return layout;
}

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

static inline uint8_t *PZ_CAT(put_masks)(const struct PZ_CAT(layout) * layout, unsigned nb,
                                         uint8_t *to)
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

static inline uint8_t *PZ_CAT(put_header)(const struct PZ_CAT(layout) * layout, unsigned nb,
                                          uint8_t *to)
{
    *to++ = (uint8_t)(layout->has_zeros << 2 | layout->has_signs << 3 | layout->window.code << 4);
    *to++ = (uint8_t)layout->window.base;
    if (layout->e > 8)
        *to++ = (uint8_t)(layout->window.base >> 8);
    return layout->has_zeros ? PZ_CAT(put_masks)(layout, nb, to) : to;
}

/* The coded symbols one after the other: where they lie, or in `front`, zeros behind them. */
static inline const uint8_t *PZ_CAT(coded_symbols)(const struct PZ_CAT(layout) * layout,
                                                   const uint8_t *raw, unsigned nb, uint8_t *front)
{
    uint8_t *to = front;

    if (!layout->has_zeros)
        return raw;
    for (unsigned b = 0; b < nb; b++) {
        PZ_CAT(compact)(raw + b * PZ_BLOCK_BYTES, layout->coded[b], to);
        to += PZ_P(count)(layout->coded[b]) * (PZ_W / 8);
    }
    memset(to, 0, PZI_GROUP * (PZ_W / 8));
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

/* Records, planes, signs: all that has its place without the codewords but the first bits. */
static inline uint8_t *PZ_CAT(put_values)(const struct PZ_CAT(layout) * layout,
                                          const uint8_t *symbols, const uint64_t *first,
                                          uint8_t *to)
{
    const unsigned c = layout->c;

    for (unsigned g = 0; layout->B != 0 && g < pzi_group_count(c); g++)
        PZ_CAT(put_records)
        (symbols + g * PZI_GROUP * (PZ_W / 8), layout->e, first[g], to + g * PZI_GROUP * layout->B);
    to += c * layout->B;
    if (layout->x > 0)
        to = PZ_CAT(put_words)(first, c, to);
    for (unsigned i = 1; i < layout->x; i++)
        to = PZ_CAT(put_bit_plane)(symbols, c, layout->m - i, to);
    return layout->has_signs ? PZ_CAT(put_bit_plane)(symbols, c, PZ_W - 1, to) : to;
}

static inline size_t PZ_CAT(encode_exponents)(unsigned e, const struct pzi_window2 *window,
                                              const uint8_t *raw, unsigned n, uint8_t *to)
{
    const struct PZ_CAT(layout) layout = PZ_CAT(look2)(e, raw, n, window);
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    uint8_t front[PZ_CHUNK_BYTES + PZI_GROUP * 8], escapes[PZ_CHUNK_BYTES];
    uint8_t *const begin = to, *escapes_end = escapes;
    const uint8_t *const symbols = PZ_CAT(coded_symbols)(&layout, raw, nb, front);
    uint64_t first[PZI_GROUPS];
    struct pzi_levels2 levels;

    pzi_levels_init(&levels);
    for (unsigned g = 0; g < pzi_group_count(layout.c); g++) {
        const uint8_t *const from = symbols + g * PZI_GROUP * (PZ_W / 8);
        const uint64_t all = pzi_group_of(layout.c, g);
        uint8_t classes[PZI_GROUP];
        struct pzi_words2 words;

        PZ_CAT(classes)(from, e, window->base, classes);
        pzi_words_of(classes, &pzi_codes2[window->code], &words);
        first[g] = words.bit[0] & all;
        for (unsigned l = 1; l < PZI_LEVELS2; l++)
            pzi_levels_put(&levels, l, words.bit[l], words.more[l] & all);
        escapes_end = PZ_CAT(put_escapes)(from, e, words.escape & all, escapes_end);
    }
    to = PZ_CAT(put_header)(&layout, nb, to);
    to = PZ_CAT(put_values)(&layout, symbols, first, to);
    to = pzi_levels_finish(&levels, to);
    memcpy(to, escapes, (size_t)(escapes_end - escapes));
    return (size_t)(to - begin) + (size_t)(escapes_end - escapes);
}

/* The coded symbols of a group of the chunk. */
static inline uint64_t PZ_CAT(coded_of_group)(const struct PZ_CAT(layout) * layout, unsigned g)
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

/* Looks at all symbols where they lie, zero ones included, and does not count those. */
static inline size_t PZ_CAT(measure_exponents)(unsigned e, const struct pzi_window2 *window,
                                               const uint8_t *raw, unsigned n)
{
    const struct PZ_CAT(layout) layout = PZ_CAT(look2)(e, raw, n, window);
    const unsigned nb = (n + PZ_N - 1) / PZ_N, c = layout.c;
    unsigned bits[PZI_LEVELS2] = {0}, escapes = 0, masks = 0;
    size_t bytes = 2 + (e > 8) + c * layout.B + (layout.x + layout.has_signs) * pzi_plane_bytes(c);

    for (unsigned b = 0; b < nb; b++)
        masks += !PZ_P(is_zero)(layout.coded[b]);
    bytes += layout.has_zeros ? 4 + masks * (PZ_N / 8) : 0;
    for (unsigned g = 0; g < pzi_group_count(n); g++) {
        const uint8_t *const from = raw + g * PZI_GROUP * (PZ_W / 8);
        const uint64_t coded = PZ_CAT(coded_of_group)(&layout, g) & pzi_group_of(n, g);
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
                                          struct PZ_CAT(layout) * layout, unsigned b)
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

static inline pz_status PZ_CAT(take_masks)(struct pzi_reader2 *from, unsigned n,
                                           struct PZ_CAT(layout) * layout)
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

static inline pz_status PZ_CAT(take_header)(struct pzi_reader2 *from, unsigned n,
                                            struct PZ_CAT(layout) * layout)
{
    const unsigned base_bytes = layout->e > 8 ? 2 : 1, flags = from->next[0];

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
    return layout->has_zeros ? PZ_CAT(take_masks)(from, n, layout) : PZ_OK;
}

/* Where the parts of a payload lie that have a known place, and the code bits by level and group,
 * as far as they are known. */
struct PZ_CAT(parts) {
    const uint8_t *records;
    const uint8_t *plane[PZ_W == 64 ? 5 : 4]; /* x of them */
    const uint8_t *signs;
    uint64_t bit[PZI_LEVELS2][PZ_CHUNK_BYTES * 8 / PZ_W / PZI_GROUP];
};

static inline pz_status PZ_CAT(take_values)(struct pzi_reader2 *from,
                                            const struct PZ_CAT(layout) * layout,
                                            struct PZ_CAT(parts) * parts)
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

static inline void PZ_CAT(take_first_bits)(const struct PZ_CAT(layout) * layout,
                                           struct PZ_CAT(parts) * parts)
{
    for (unsigned g = 0; g < pzi_group_count(layout->c); g++)
        parts->bit[0][g] = layout->x > 0
                               ? pzi_load_le64(parts->plane[0] + 8 * g)
                               : PZ_CAT(record_tops)(parts->records + g * PZI_GROUP * layout->B);
}

/* The symbols of all groups whose codewords are longer than l: those that are at least T_l, bit by
 * bit from the last one known. */
static inline void PZ_CAT(longer)(const struct PZ_CAT(parts) * parts, unsigned l, unsigned limit,
                                  uint64_t *more)
{
    enum { GROUPS = PZ_CHUNK_BYTES * 8 / PZ_W / PZI_GROUP };

    const bool none = limit == 1u << PZI_CODE2_BITS;

    memset(more, none ? 0 : 0xff, GROUPS * sizeof *more);
    for (unsigned i = none ? 0 : l; i-- > 0;) {
        const uint64_t may_be_zero = limit >> (5 - i) & 1 ? 0 : UINT64_MAX;

        for (unsigned g = 0; g < GROUPS; g++) {
            const uint64_t bit = parts->bit[i][g];

            more[g] = (bit & more[g]) | ((bit | more[g]) & may_be_zero);
        }
    }
}

static inline pz_status PZ_CAT(take_levels)(struct pzi_reader2 *from,
                                            const struct PZ_CAT(layout) * layout,
                                            struct PZ_CAT(parts) * parts)
{
    const uint8_t *const limits = pzi_codes2[layout->window.code].limit;
    uint64_t more[PZ_CHUNK_BYTES * 8 / PZ_W / PZI_GROUP];
    pz_status status = PZ_OK;

    for (unsigned l = 1; status == PZ_OK && l < PZI_LEVELS2; l++) {
        struct pzi_plane_reader reader = {from->next, 0};

        PZ_CAT(longer)(parts, l, limits[l], more);
        for (unsigned g = 0; g < pzi_group_count(layout->c); g++)
            parts->bit[l][g] = pzi_plane_deposit(&reader, more[g] & pzi_group_of(layout->c, g));
        status = pzi_take_plane(from, reader.bits);
    }
    return status;
}

/* The exponents of a group.  An error leaves the reader at the escapes. */
static inline pz_status PZ_CAT(take_exponents)(const struct PZ_CAT(layout) * layout,
                                               struct pzi_reader2 *from, const uint8_t *classes,
                                               uint64_t escapes, uint64_t all,
                                               PZ_EXPONENT *exponents)
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

static inline pz_status PZ_CAT(take_group)(const struct PZ_CAT(layout) * layout,
                                           const struct PZ_CAT(parts) * parts, unsigned g,
                                           struct pzi_reader2 *escapes, uint8_t *to)
{
    const uint64_t all = pzi_group_of(layout->c, g);
    uint64_t words[PZI_LEVELS2], planes[6] = {0};
    uint8_t classes[PZI_GROUP];
    PZ_EXPONENT exponents[PZI_GROUP];
    uint64_t is_escape;
    pz_status status;

    for (unsigned l = 0; l < PZI_LEVELS2; l++)
        words[l] = parts->bit[l][g];
    is_escape = pzi_classes_of(words, &pzi_codes2[layout->window.code], classes);
    status = PZ_CAT(take_exponents)(layout, escapes, classes, is_escape, all, exponents);
    if (status != PZ_OK)
        return status;
    for (unsigned i = 1; i < layout->x; i++)
        planes[i] = pzi_load_le64(parts->plane[i] + 8 * g);
    planes[0] = layout->has_signs ? pzi_load_le64(parts->signs + 8 * g) : 0;
    PZ_CAT(join)(exponents, parts->records + g * PZI_GROUP * layout->B, planes, layout->e, to);
    return PZ_OK;
}

static inline void PZ_CAT(put_back)(const struct PZ_CAT(layout) * layout, const uint8_t *front,
                                    unsigned nb, uint8_t *raw)
{
    for (unsigned b = 0; b < nb; b++) {
        PZ_CAT(spread)(front, layout->coded[b], raw + b * PZ_BLOCK_BYTES);
        front += PZ_P(count)(layout->coded[b]) * (PZ_W / 8);
    }
}

static inline pz_status PZ_CAT(decode_exponents)(unsigned e, struct pzi_reader2 *from, uint8_t *raw,
                                                 unsigned n)
{
    struct PZ_CAT(layout) layout = PZ_CAT(layout_of)(e);
    uint8_t front[PZ_CHUNK_BYTES + PZI_READER2_SLACK];
    struct PZ_CAT(parts) parts;
    struct pzi_reader2 escapes;
    pz_status status = PZ_CAT(take_header)(from, n, &layout);

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
        PZ_CAT(put_back)(&layout, front, (n + PZ_N - 1) / PZ_N, raw);
    return PZ_OK;
}
