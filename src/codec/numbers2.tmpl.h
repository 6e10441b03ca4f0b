/* Template, parameter PZ_W: modes I and D of format 2 (docs/format2.md, "Modes I and D").  The
 * numbers of a block are cut in planes, which cut2.tmpl.h has made; all here is integer code on
 * plane words. */

enum { PZ_CAT(plane_bytes) = PZ_N / 8, PZ_CAT(pieces) = PZ_N <= 64 ? 1 : PZ_N / 64 };

/* ---- Encoder -------------------------------------------------------------------------------- */

/* What is read off the blocks in order, and written after them. */
PZ_TAIL2
{
    struct pzi_levels2 levels;
    PZ_SYMBOL escapes[PZ_CHUNK_BYTES * 8 / PZ_W];
    unsigned count;
    PZ_SYMBOL seen; /* all escapes, ORed */
};

static inline void PZ_CAT(put_quotients)(const PZ_NUMBERS *z, unsigned k,
                                         const PZ_PLANE at_least[7], PZ_TAIL2 *tail)
{
    PZ_PLANE escapes = at_least[6];

    for (unsigned l = 1; l < PZI_LEVELS2; l++)
        for (unsigned i = 0; i < PZ_CAT(pieces); i++)
            pzi_levels_put(&tail->levels, l, PZ_P(piece)(at_least[l + 1], i),
                           PZ_P(piece)(at_least[l], i));
    for (; !PZ_P(is_zero)(escapes); escapes = PZ_P(rest)(escapes)) {
        const PZ_SYMBOL q = (PZ_SYMBOL)(PZ_LOAD(z->symbols, PZ_P(lowest)(escapes)) >> k);

        tail->escapes[tail->count++] = q;
        tail->seen |= q;
    }
}

/* Writes the planes of a block; returns where they end.  All planes are moved, as a loop over what
 * is needed would be slower: up to a block is overwritten behind them. */
static inline uint8_t *PZ_CAT(put_numbers)(const PZ_NUMBERS *z, PZ_CUT2 cut, PZ_TAIL2 *tail,
                                           uint8_t *to)
{
    PZ_PLANE at_least[7];

    for (unsigned j = 0; j < PZ_W; j++)
        PZ_CAT(put_piece)(z->plane[j], to + j * PZ_CAT(plane_bytes));
    to += cut.k * PZ_CAT(plane_bytes);
    if (cut.exact)
        return to;
    PZ_CAT(quotients)(z, &cut, at_least);
    to = PZ_CAT(put_piece)(at_least[1], to);
    PZ_CAT(put_quotients)(z, cut.k, at_least, tail);
    return to;
}

static inline unsigned PZ_CAT(escape_width)(PZ_SYMBOL seen)
{
    return seen == 0 ? 1 : 64 - PZI_CLZ64(seen);
}

static inline uint8_t *PZ_CAT(put_tail)(PZ_TAIL2 *tail, unsigned width, uint8_t *to)
{
    struct pzi_bit_writer writer;

    to = pzi_levels_finish(&tail->levels, to);
    if (tail->count == 0)
        return to;
    pzi_writer_init(&writer, to);
    for (unsigned i = 0; i < tail->count; i++)
        pzi_put(&writer, tail->escapes[i], width);
    pzi_writer_finish(&writer);
    return writer.next;
}

/* Whether one header serves all blocks. */
static inline bool PZ_CAT(are_equal)(const uint8_t *headers, unsigned nb)
{
    return memcmp(headers, headers + 1, nb - 1) == 0;
}

/* Byte 0, without Z, and the headers. */
static inline uint8_t *PZ_CAT(put_number_headers)(const uint8_t *headers, unsigned nb,
                                                  unsigned width, bool differences, uint8_t *to)
{
    const bool is_one = PZ_CAT(are_equal)(headers, nb);
    const unsigned count = is_one ? 1 : nb;

    *to++ = (uint8_t)((differences ? PZI_MODE2_D : PZI_MODE2_I) | (width - 1) << 2 | is_one << 7);
    memcpy(to, headers, count);
    return to + count;
}

static inline size_t PZ_CAT(encode_numbers)(unsigned e, bool differences, const uint8_t *raw,
                                            unsigned n, uint8_t *to)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    uint8_t headers[PZ_CHUNK_BLOCKS], planes[PZ_CHUNK_BYTES + PZ_CHUNK_BLOCKS * 16], *end = planes;
    uint8_t *const begin = to;
    PZ_TAIL2 tail;
    unsigned width;

    tail.count = 0;
    tail.seen = 0;
    pzi_levels_init(&tail.levels);
    for (unsigned b = 0; b < nb; b++) {
        PZ_CUT2 cut;
        PZ_NUMBERS z;

        PZ_CAT(number_planes)(raw, n, b, e, differences, &z);
        cut = PZ_CAT(cut_of)(&z);
        headers[b] = (uint8_t)(cut.k | cut.exact << 7);
        end = PZ_CAT(put_numbers)(&z, cut, &tail, end);
    }
    width = PZ_CAT(escape_width)(tail.seen);
    to = PZ_CAT(put_number_headers)(headers, nb, width, differences, to);
    if (differences) {
        memcpy(to, raw, PZ_W / 8);
        to += PZ_W / 8;
    }
    memcpy(to, planes, (size_t)(end - planes));
    return (size_t)(PZ_CAT(put_tail)(&tail, width, to + (end - planes)) - begin);
}

/* Mode D with Z = 1: the masks come between byte 0 and what else the coded symbols have.  So their
 * byte 0 is first written over the last byte of the masks. */
static inline size_t PZ_CAT(encode_packed)(unsigned e, const PZ_LAYOUT *layout, const uint8_t *raw,
                                           unsigned n, uint8_t *to)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    uint8_t front[PZ_CHUNK_BYTES + PZI_GROUP * 8];
    const uint8_t *const symbols = PZ_CAT(coded_symbols)(layout, raw, nb, front);
    uint8_t *const numbers = PZ_CAT(put_masks)(layout, nb, to + 1) - 1;
    const uint8_t last = numbers[0];
    const size_t bytes = PZ_CAT(encode_numbers)(e, true, symbols, layout->c, numbers);

    to[0] = numbers[0] | 1 << 6;
    numbers[0] = last;
    return (size_t)(numbers - to) + bytes;
}

/* ---- Size model ----------------------------------------------------------------------------- */

static inline size_t PZ_CAT(measure_numbers)(unsigned e, bool differences, const uint8_t *raw,
                                             unsigned n)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    uint8_t headers[PZ_CHUNK_BLOCKS];
    size_t bytes = 1 + (differences ? PZ_W / 8 : 0);
    unsigned bits[PZI_LEVELS2] = {0}, escapes = 0;
    PZ_SYMBOL seen = 0;

    for (unsigned b = 0; b < nb; b++) {
        PZ_PLANE at_least[7], left;
        PZ_CUT2 cut;
        PZ_NUMBERS z;

        PZ_CAT(number_planes)(raw, n, b, e, differences, &z);
        cut = PZ_CAT(cut_of)(&z);
        headers[b] = (uint8_t)(cut.k | cut.exact << 7);
        bytes += (cut.k + !cut.exact) * PZ_CAT(plane_bytes);
        if (cut.exact)
            continue;
        PZ_CAT(quotients)(&z, &cut, at_least);
        for (unsigned l = 1; l < PZI_LEVELS2; l++)
            bits[l] += PZ_P(count)(at_least[l]);
        escapes += PZ_P(count)(at_least[6]);
        for (left = at_least[6]; !PZ_P(is_zero)(left); left = PZ_P(rest)(left))
            seen |= (PZ_SYMBOL)(PZ_LOAD(z.symbols, PZ_P(lowest)(left)) >> cut.k);
    }
    for (unsigned l = 1; l < PZI_LEVELS2; l++)
        bytes += pzi_plane_bytes(bits[l]);
    bytes += PZ_CAT(are_equal)(headers, nb) ? 1 : nb;
    return bytes + pzi_plane_bytes((size_t)escapes * PZ_CAT(escape_width)(seen));
}

static inline size_t PZ_CAT(measure_packed)(unsigned e, const PZ_LAYOUT *layout, const uint8_t *raw,
                                            unsigned n)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    uint8_t front[PZ_CHUNK_BYTES + PZI_GROUP * 8];
    const uint8_t *const symbols = PZ_CAT(coded_symbols)(layout, raw, nb, front);

    return PZ_CAT(mask_bytes)(layout, nb) + PZ_CAT(measure_numbers)(e, true, symbols, layout->c);
}

/* ---- Decoder -------------------------------------------------------------------------------- */

/* Where the planes of a block lie, and its quotients as far as they are known. */
PZ_QUOTA
{
    const uint8_t *planes;
    unsigned k;
    PZ_PLANE at_least[7];
};

/* With one header for all blocks it is there, and has to be valid, also if there is no block. */
static inline pz_status PZ_CAT(take_number_headers)(struct pzi_reader2 *from, bool is_one,
                                                    unsigned nb, PZ_QUOTA *block, bool *exact)
{
    const unsigned count = is_one ? 1 : nb;

    if (from->end - from->next < (int)count)
        return PZ_ERR_CHUNK_END;
    for (unsigned b = 0; b < nb || b < count; b++) {
        const uint8_t header = from->next[is_one ? 0 : b];

        block[b].k = header & 0x7f;
        exact[b] = header >> 7;
        if (block[b].k > (exact[b] ? PZ_W : PZ_W - 1u))
            return PZ_ERR_RANGE;
    }
    from->next += count;
    return PZ_OK;
}

/* The planes of a block, of which those bits are zero that belong to no symbol. */
static inline pz_status PZ_CAT(take_planes)(struct pzi_reader2 *from, bool exact, PZ_PLANE existing,
                                            PZ_QUOTA *block)
{
    const unsigned planes = block->k + !exact;
    PZ_PLANE seen = PZ_P(of)(0, 0);

    if (from->end - from->next < (int)planes * PZ_CAT(plane_bytes))
        return PZ_ERR_CHUNK_END;
    block->planes = from->next;
    block->at_least[1] = PZ_P(of)(0, 0);
    if (!exact)
        block->at_least[1] = PZ_CAT(take_piece)(from->next + block->k * PZ_CAT(plane_bytes));
    if (!PZ_P(equal)(existing, PZ_P(below)(PZ_N)))
        for (unsigned j = 0; j < planes; j++)
            seen = PZ_P(or)(seen, PZ_CAT(take_piece)(from->next + j * PZ_CAT(plane_bytes)));
    if (!PZ_P(is_zero)(PZ_P(without)(seen, existing)))
        return PZ_ERR_PADDING;
    from->next += planes * PZ_CAT(plane_bytes);
    return PZ_OK;
}

static inline PZ_PLANE PZ_CAT(deposit_next)(struct pzi_plane_reader *reader, PZ_PLANE mask)
{
    const uint64_t lo = pzi_plane_deposit(reader, PZ_P(piece)(mask, 0));

    return PZ_P(of)(lo, PZ_CAT(pieces) == 1 ? 0 : pzi_plane_deposit(reader, PZ_P(piece)(mask, 1)));
}

static inline pz_status PZ_CAT(take_quotients)(struct pzi_reader2 *from, unsigned nb,
                                               PZ_QUOTA *block)
{
    pz_status status = PZ_OK;

    for (unsigned l = 1; status == PZ_OK && l < PZI_LEVELS2; l++) {
        struct pzi_plane_reader reader = {from->next, 0};

        for (unsigned b = 0; b < nb; b++)
            block[b].at_least[l + 1] = PZ_CAT(deposit_next)(&reader, block[b].at_least[l]);
        status = pzi_take_plane(from, reader.bits);
    }
    return status;
}

/* The planes of z, from those of a block and from its quotients below 6; an escape counts as 0.
 * Always moves as much as there can be, as a loop over what there is would be slower: so what
 * follows the planes is overwritten, up to PZ_W + 3 more.  PZ_ERR_RANGE if a quotient does not fit
 * the symbol. */
static inline pz_status PZ_CAT(restore_planes)(const PZ_QUOTA *block, PZ_PLANE *z)
{
    const PZ_PLANE *const a = block->at_least;
    const PZ_PLANE four = PZ_P(without)(a[4], a[6]), two = PZ_P(without)(a[2], a[4]);
    const PZ_PLANE odd = PZ_P(or)(PZ_P(without)(a[1], a[2]),
                                  PZ_P(or)(PZ_P(without)(a[3], a[4]), PZ_P(without)(a[5], a[6])));

    if ((block->k + 1 >= PZ_W && !PZ_P(is_zero)(two)) ||
        (block->k + 2 >= PZ_W && !PZ_P(is_zero)(four)))
        return PZ_ERR_RANGE;
    for (unsigned j = 0; j < PZ_W; j++)
        z[j] = PZ_CAT(take_piece)(block->planes + j * PZ_CAT(plane_bytes));
    z += block->k;
    z[0] = odd;
    z[1] = two;
    z[2] = four;
    memset(z + 3, 0, PZ_BLOCK_BYTES);
    return PZ_OK;
}

/* Adds the escaped quotients of a block to its numbers. */
static inline pz_status PZ_CAT(take_escapes)(struct pzi_bit_reader *from, unsigned width,
                                             const PZ_QUOTA *block, uint8_t *z)
{
    PZ_PLANE escapes = block->at_least[6];

    if (pzi_left(from) < PZ_P(count)(escapes) * (size_t)width)
        return PZ_ERR_CHUNK_END;
    for (; !PZ_P(is_zero)(escapes); escapes = PZ_P(rest)(escapes)) {
        const unsigned i = PZ_P(lowest)(escapes);
        const uint64_t q = pzi_get(from, width);

        if (block->k > 0 && q >> (PZ_W - block->k) != 0)
            return PZ_ERR_RANGE;
        PZ_STORE(z, i, (PZ_SYMBOL)(PZ_LOAD(z, i) | q << block->k));
    }
    return PZ_OK;
}

/* What is left after the escapes: less than a byte, and zero. */
static inline pz_status PZ_CAT(finish_escapes)(struct pzi_reader2 *from,
                                               const struct pzi_bit_reader *bits)
{
    struct pzi_reader2 end = *from;
    const pz_status status = pzi_take_plane(&end, bits->position);

    if (status == PZ_OK)
        *from = end;
    return status;
}

static inline pz_status PZ_CAT(restore)(struct pzi_reader2 *from, unsigned nb, unsigned width,
                                        const PZ_QUOTA *block, unsigned e, bool differences,
                                        PZ_SYMBOL before, uint8_t *raw)
{
    PZ_PLANE planes[PZ_CHUNK_BLOCKS * PZ_W + PZ_W + 3];
    struct pzi_bit_reader escapes;
    pz_status status = PZ_OK;

    pzi_reader_init(&escapes, from->next, (size_t)(from->end - from->next));
    for (unsigned b = 0; status == PZ_OK && b < nb; b++)
        status = PZ_CAT(restore_planes)(&block[b], planes + b * PZ_W);
    /* A loop of its own, as loads of what has just been stored in smaller pieces are slow. */
    for (unsigned b = 0; status == PZ_OK && b < nb; b++, raw += PZ_BLOCK_BYTES) {
        PZ_CAT(unplanes)(planes + b * PZ_W, raw);
        status = PZ_CAT(take_escapes)(&escapes, width, &block[b], raw);
        if (differences)
            before = PZ_CAT(unfold)(before, e != 0, raw);
    }
    return status == PZ_OK ? PZ_CAT(finish_escapes)(from, &escapes) : status;
}

/* Behind byte 0 and the masks: c symbols to whole blocks. */
static inline pz_status PZ_CAT(take_numbers)(unsigned e, unsigned flags, struct pzi_reader2 *from,
                                             unsigned c, uint8_t *to)
{
    const bool differences = (flags & 3) == PZI_MODE2_D;
    const unsigned width = (flags >> 2 & 15) + 1, nb = (c + PZ_N - 1) / PZ_N;
    PZ_QUOTA block[PZ_CHUNK_BLOCKS];
    bool exact[PZ_CHUNK_BLOCKS];
    PZ_SYMBOL before = 0;
    pz_status status = PZ_CAT(take_number_headers)(from, flags >> 7, nb, block, exact);

    if (status == PZ_OK && differences) {
        if (from->end - from->next < PZ_W / 8)
            return PZ_ERR_CHUNK_END;
        before = PZ_LOAD(from->next, 0);
        from->next += PZ_W / 8;
    }
    for (unsigned b = 0; status == PZ_OK && b < nb; b++)
        status = PZ_CAT(take_planes)(from, exact[b], PZ_CAT(existing)(c, b), &block[b]);
    if (status == PZ_OK)
        status = PZ_CAT(take_quotients)(from, nb, block);
    if (status == PZ_OK)
        status = PZ_CAT(restore)(from, nb, width, block, e, differences, before, to);
    return status;
}

static inline pz_status PZ_CAT(decode_packed)(unsigned e, unsigned flags, struct pzi_reader2 *from,
                                              uint8_t *raw, unsigned n)
{
    PZ_LAYOUT layout;
    uint8_t front[PZ_CHUNK_BYTES + PZ_BLOCK_BYTES];
    pz_status status = PZ_CAT(take_masks)(from, n, &layout);

    if (status == PZ_OK)
        status = PZ_CAT(take_numbers)(e, flags, from, layout.c, front);
    if (status != PZ_OK)
        return status;
    PZ_CAT(put_back)(&layout, front, n, raw);
    return PZ_OK;
}

static inline pz_status PZ_CAT(decode_numbers)(unsigned e, struct pzi_reader2 *from, uint8_t *raw,
                                               unsigned n)
{
    const unsigned flags = *from->next++;

    if ((flags >> 2 & 15) >= PZ_W)
        return PZ_ERR_RANGE;
    return flags >> 6 & 1 ? PZ_CAT(decode_packed)(e, flags, from, raw, n)
                          : PZ_CAT(take_numbers)(e, flags, from, n, raw);
}
