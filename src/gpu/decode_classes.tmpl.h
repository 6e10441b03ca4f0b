/* Template, parameter PZ_W: reads modes E and C of format 2 (docs/format2.md, "Mode E and mode C"),
 * and refuses what "What a decoder rejects" lists, in the order in which the CPU looks at it.  The
 * payload lies in warp->stream; `next` and `end` are bytes of it. */

/* What lanes know of codewords, in warp->block: their exponents. */
enum { PZ_CAT(exponents) = 0 };

/* A word for each row that a lane has. */
struct PZ_CAT(masks) {
    uint32_t row[PZ_CAT(lane_rows)];
};

/* Where the parts lie that have a known place. */
struct PZ_CAT(parts) {
    uint32_t records, planes, signs;
};

/* Mode C: t and the constant bits. */
PZI_FN uint32_t PZ_CAT(take_constant)(PZ_LOCAL const PZ_WARP *warp, uint32_t *next, uint32_t end,
                                      PZ_SHAPE *shape)
{
    const uint32_t t = warp->stream.byte[*next];

    if (*next == end)
        return PZ_ERR_CHUNK_END;
    if (t == 0 || t > shape->m)
        return PZ_ERR_RANGE;
    *next += 1;
    PZ_CAT(set_constant)
    (shape, t, (PZ_SYMBOL)(pzi_bits64(warp->stream.word, 8 * *next) & pzi_low_bits(t)));
    return PZ_CAT(skip_plane)(warp, next, end, t);
}

/* The masks, a lane each; sets c. */
PZI_FN uint32_t PZ_CAT(take_masks)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end, uint32_t n,
                                   PZ_SHAPE *shape)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    const uint32_t nb = PZ_CAT(blocks_of)(n);
    const uint32_t map = pzi_bits32(warp->stream.word, 8 * *next), masks_at = *next + 4;
    uint32_t status;

    if (end - *next < 4)
        return PZ_ERR_CHUNK_END;
    if (nb < 32 && map >> nb != 0)
        return PZ_ERR_MASK;
    PZ_CAT(clear)(lanes, warp->coded, PZ_CAT(rows));
    for (PZ_EACH_LANE(lanes)) {
        const uint32_t at = masks_at + pzi_count32(map & (uint32_t)pzi_low_bits(lane)) * (PZ_N / 8);
        PZ_WIDE mask;

        if (!(map >> lane & 1))
            continue;
        if (at + PZ_N / 8 > end) {
            PZ_CAT(blame)(warp, lane, PZ_ERR_CHUNK_END);
            continue;
        }
        mask = PZ_CAT(take_plane)(warp, 8 * at);
        if (PZ_P(is_zero)(mask) || !PZ_P(is_zero)(PZ_P(without)(mask, PZ_CAT(existing)(n, lane))))
            PZ_CAT(blame)(warp, lane, PZ_ERR_MASK);
        for (uint32_t i = 0; i < PZ_N; i += 32)
            PZ_OR32(&warp->coded[(lane * PZ_N + i) / 32],
                    (uint32_t)(PZ_P(piece)(mask, i / 64) >> i % 64) << (lane * PZ_N % 32));
    }
    status = PZ_CAT(settle)(warp);
    *next = masks_at + pzi_count32(map) * (PZ_N / 8);
    shape->c = 0;
    for (uint32_t row = 0; row < PZ_CAT(rows); row++)
        shape->c += pzi_count32(warp->coded[row]);
    return status;
}

PZI_FN uint32_t PZ_CAT(take_header)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                                    uint32_t n, PZ_SHAPE *shape)
{
    const uint32_t base_bytes = shape->e > 8 ? 2 : 1, flags = warp->stream.byte[*next];
    uint32_t status = PZ_OK;

    if (end - *next < 1 + base_bytes)
        return PZ_ERR_CHUNK_END;
    shape->has_zeros = flags >> 2 & 1;
    shape->has_signs = flags >> 3 & 1;
    shape->code = flags >> 4;
    shape->base = pzi_bits32(warp->stream.word, 8 * *next + 8) & (base_bytes == 2 ? 0xffff : 0xff);
    shape->c = n;
    if (shape->base >> shape->e != 0)
        return PZ_ERR_RANGE;
    *next += 1 + base_bytes;
    if ((flags & 3) == 3)
        status = PZ_CAT(take_constant)(warp, next, end, shape);
    return status == PZ_OK && shape->has_zeros ? PZ_CAT(take_masks)(warp, next, end, n, shape)
                                               : status;
}

PZI_FN uint32_t PZ_CAT(take_values)(PZ_LOCAL const PZ_WARP *warp, uint32_t *next, uint32_t end,
                                    const PZ_SHAPE *shape, struct PZ_CAT(parts) * parts)
{
    uint32_t status = PZ_OK;

    if (end - *next < shape->c * shape->B)
        return PZ_ERR_CHUNK_END;
    parts->records = *next;
    *next += shape->c * shape->B;
    parts->planes = *next;
    for (uint32_t i = 0; status == PZ_OK && i < shape->x; i++)
        status = PZ_CAT(skip_plane)(warp, next, end, shape->c);
    parts->signs = *next;
    return status == PZ_OK && shape->has_signs ? PZ_CAT(skip_plane)(warp, next, end, shape->c)
                                               : status;
}

/* ---- Classes -------------------------------------------------------------------------------- */

/* Code bit 1 of a row whose records have a byte: its top bit. */
PZI_FN uint32_t PZ_CAT(tops_of_bytes)(PZ_LOCAL const PZ_WARP *warp, uint32_t at)
{
    PZ_LOCAL const uint32_t *const word = warp->stream.word + at / 4;
    const uint32_t shift = at % 4 * 8;
    uint32_t tops = 0, low = word[0];

    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t high = word[i + 1];

        /* The four top bits move to the top. */
        tops =
            tops >> 4 | ((pzi_between(low, high, shift) & 0x80808080u) * 0x00204081u & 0xf0000000u);
        low = high;
    }
    return tops;
}

/* The same where they have more, or end within a byte. */
PZI_FN uint32_t PZ_CAT(tops_of_records)(PZ_LOCAL const PZ_WARP *warp, const PZ_SHAPE *shape,
                                        const struct PZ_CAT(parts) * parts, uint32_t row)
{
    uint32_t tops = 0;

    if (shape->x > 0)
        return pzi_bits32(warp->stream.word, 8 * parts->planes + 32 * row);
    if (shape->B == 1)
        return PZ_CAT(tops_of_bytes)(warp, parts->records + 32 * row);
    for (uint32_t i = row * 32; i < row * 32 + 32 && i < shape->c; i++)
        tops |= (uint32_t)(warp->stream.byte[parts->records + (i + 1) * shape->B - 1] >> 7)
                << i % 32;
    return tops;
}

/* Code bit 1 of each row, and the signs; the other planes of the row are still zero. */
PZI_FN void PZ_CAT(take_first_bits)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape,
                                    const struct PZ_CAT(parts) * parts)
{
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++) {
            const uint32_t row = PZ_CAT(first_row)(lane) + k, valid = pzi_row_of(shape->c, row);
            PZ_LOCAL uint32_t *const planes = warp->planes.word + row * PZI_ROW_WORDS;

            if (row >= PZ_CAT(rows))
                continue;
            for (uint32_t j = 0; j < PZI_ROW_WORDS; j++)
                planes[j] = 0;
            if (valid == 0)
                continue;
            planes[PZ_CAT(first_bit)] = valid & PZ_CAT(tops_of_records)(warp, shape, parts, row);
            if (shape->has_signs)
                planes[PZ_CAT(sign_word)] =
                    valid & pzi_bits32(warp->stream.word, 8 * parts->signs + 32 * row);
        }
    PZ_SYNC(&warp->lanes);
}

/* Level l; a lane takes what belongs to its rows.  Which symbols that are stands for a while where
 * their bits will. */
PZI_FN uint32_t PZ_CAT(take_level)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                                   const PZ_SHAPE *shape, uint32_t l)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    const uint32_t limit = PZ_CAT(limit_of)(warp, l);
    PZ_LANE_VAR(uint32_t, before);
    uint32_t bits;

    if (limit >= 1u << 6)
        return PZ_OK;
    for (PZ_EACH_LANE(lanes)) {
        before[PZ_SLOT] = 0;
        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++) {
            const uint32_t row = PZ_CAT(first_row)(lane) + k, valid = pzi_row_of(shape->c, row);
            PZ_LOCAL uint32_t *const planes = warp->planes.word + row * PZI_ROW_WORDS;

            if (valid == 0)
                continue;
            planes[5 - l] = valid & PZ_CAT(longer)(planes, l, limit);
            before[PZ_SLOT] += pzi_count32(planes[5 - l]);
        }
    }
    bits = pzi_scan(lanes, before);
    if (pzi_bytes_of_bits(bits) > end - *next)
        return PZ_ERR_CHUNK_END;
    for (PZ_EACH_LANE(lanes)) {
        uint32_t at = 8 * *next + before[PZ_SLOT];

        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++) {
            const uint32_t row = PZ_CAT(first_row)(lane) + k;
            PZ_LOCAL uint32_t *const plane = warp->planes.word + row * PZI_ROW_WORDS + 5 - l;
            const uint32_t more = row * 32 < shape->c ? *plane : 0;

            if (more == 0)
                continue;
            *plane = pzi_deposit32(pzi_bits32(warp->stream.word, at), more);
            at += pzi_count32(more);
        }
    }
    PZ_SYNC(lanes);
    return PZ_CAT(skip_plane)(warp, next, end, bits);
}

/* The symbols of a row whose codeword is `word`. */
PZI_FN uint32_t PZ_CAT(equal_to)(PZ_LOCAL const uint32_t *planes, uint32_t word)
{
    uint32_t equal = 0xffffffffu;

    for (uint32_t j = 0; j < 6; j++)
        equal &= planes[j] ^ ((word >> j & 1) - 1);
    return equal;
}

/* Turns the planes into codewords, a byte each, and notes which are escapes. */
PZI_FN void PZ_CAT(take_codewords)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape,
                                   struct PZ_CAT(masks) * escapes)
{
    const uint32_t escape = ((PZ_LOCAL const uint8_t *)warp->code)[PZI_ESCAPE];

    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++) {
            const uint32_t row = PZ_CAT(first_row)(lane) + k, valid = pzi_row_of(shape->c, row);
            PZ_LOCAL uint32_t *const planes = warp->planes.word + row * PZI_ROW_WORDS;

            escapes[PZ_SLOT].row[k] = 0;
            if (valid == 0)
                continue;
            escapes[PZ_SLOT].row[k] = valid & PZ_CAT(equal_to)(planes, escape);
            pzi_bytes_of_planes(planes);
        }
    PZ_SYNC(&warp->lanes);
}

/* Blames classes that are greater than the base. */
PZI_FN void PZ_CAT(check_classes)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape)
{
    PZ_LOCAL const uint8_t *const class_of = (PZ_LOCAL const uint8_t *)warp->code + PZI_CODE_CLASS;

    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = lane; i < shape->c; i += PZ_LANES) {
            const uint32_t byte = warp->planes.byte[i / 32 * 4 * PZI_ROW_WORDS + i % 32];
            const uint32_t class_ = class_of[byte & 0x3f];

            if (class_ != PZI_ESCAPE && class_ > shape->base)
                PZ_CAT(blame)(warp, i / 64 * 3, PZ_ERR_RANGE);
        }
}

/* ---- Symbols -------------------------------------------------------------------------------- */

/* Exponents by codeword, two a word; that of an escape is 0 as yet. */
PZI_FN void PZ_CAT(make_exponents)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape)
{
    PZ_LOCAL const uint8_t *const class_of = (PZ_LOCAL const uint8_t *)warp->code + PZI_CODE_CLASS;

    for (PZ_EACH_LANE(&warp->lanes)) {
        const uint32_t low = class_of[2 * lane], high = class_of[2 * lane + 1];

        warp->block[PZ_CAT(exponents)][lane] =
            (low == PZI_ESCAPE ? 0 : (shape->base - low) & 0xffff) |
            (high == PZI_ESCAPE ? 0 : (shape->base - high) << 16);
    }
    PZ_SYNC(&warp->lanes);
}

PZI_FN uint32_t PZ_CAT(exponent_of)(PZ_LOCAL const PZ_WARP *warp, uint32_t byte)
{
    return ((PZ_LOCAL const uint16_t *)warp->block[PZ_CAT(exponents)])[byte & 0x3f];
}

/* The mantissa of coded symbol i, and what is constant. */
PZI_FN uint64_t PZ_CAT(mantissa)(PZ_LOCAL const PZ_WARP *warp, const PZ_SHAPE *shape,
                                 const struct PZ_CAT(parts) * parts, uint32_t i)
{
    const uint32_t rest = shape->m - shape->t, plane_bits = 8 * pzi_bytes_of_bits(shape->c);
    uint64_t value = 0;

    for (uint32_t k = 0; k < shape->B; k++)
        value |= (uint64_t)warp->stream.byte[parts->records + i * shape->B + k] << (8 * k);
    value &= pzi_low_bits(rest);
    for (uint32_t k = 1; k < shape->x; k++) {
        const uint32_t bit = 8 * parts->planes + k * plane_bits + i;

        value |= (uint64_t)(warp->stream.byte[bit / 8] >> bit % 8 & 1) << (rest - k);
    }
    return value << shape->t | shape->fixed;
}

/* Puts the symbols together, but for the exponents of escapes. */
PZI_FN void PZ_CAT(join)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape,
                         const struct PZ_CAT(parts) * parts)
{
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = lane; i < shape->c; i += PZ_LANES) {
            const uint32_t byte = warp->planes.byte[i / 32 * 4 * PZI_ROW_WORDS + i % 32];

            warp->chunk.symbol[i] =
                (PZ_SYMBOL)(PZ_CAT(mantissa)(warp, shape, parts, i) |
                            (uint64_t)PZ_CAT(exponent_of)(warp, byte) << shape->m |
                            (uint64_t)(byte >> 7) << (PZ_W - 1));
        }
    PZ_SYNC(&warp->lanes);
}

#if PZ_W == 16
/* The same for bfloat16 without constant bits, four symbols at a time.  What is behind the last
 * symbol may become anything. */
PZI_FN void PZ_CAT(join_bfloats)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape,
                                 const struct PZ_CAT(parts) * parts)
{
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = 4 * lane; i < shape->c; i += 4 * PZ_LANES) {
            const uint32_t words = warp->planes.word[i / 32 * PZI_ROW_WORDS + i % 32 / 4];
            const uint32_t record = pzi_bits32(warp->stream.word, 8 * (parts->records + i));
            uint32_t exponents = 0, low, high;

            for (uint32_t k = 0; k < 4; k++)
                exponents |= PZ_CAT(exponent_of)(warp, words >> (8 * k)) << (8 * k);
            low = (exponents << 7 & 0x80808080u) | (record & 0x7f7f7f7fu);
            high = (words & 0x80808080u) | (exponents >> 1 & 0x7f7f7f7fu);
            warp->chunk.word[i / 2] = pzi_bytes_of(low, high, 0x5140);
            warp->chunk.word[i / 2 + 1] = pzi_bytes_of(low, high, 0x7362);
        }
    PZ_SYNC(&warp->lanes);
}
#endif

/* The exponents of a row's escapes, from byte `at` on; parts of a group of 64 symbols are looked at
 * in this order: its classes, its escapes, their values. */
PZI_FN void PZ_CAT(take_escapes_of)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t row,
                                    uint32_t escapes, uint32_t at, uint32_t end)
{
    const uint32_t bytes = shape->e > 8 ? 2 : 1;

    for (; escapes != 0; escapes &= escapes - 1, at += bytes) {
        const uint32_t i = row * 32 + PZI_CTZ64((uint64_t)escapes);
        uint32_t exponent;

        if (at + bytes > end) {
            PZ_CAT(blame)(warp, row / 2 * 3 + 1, PZ_ERR_CHUNK_END);
            return;
        }
        exponent = warp->stream.byte[at] | (bytes == 2 ? warp->stream.byte[at + 1] << 8 : 0);
        if (exponent >> shape->e != 0)
            PZ_CAT(blame)(warp, row / 2 * 3 + 2, PZ_ERR_RANGE);
        warp->chunk.symbol[i] |= (PZ_SYMBOL)((uint64_t)exponent << shape->m);
    }
}

PZI_FN void PZ_CAT(take_escapes)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                                 const PZ_SHAPE *shape, const struct PZ_CAT(masks) * escapes)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    const uint32_t bytes = shape->e > 8 ? 2 : 1;
    PZ_LANE_VAR(uint32_t, before);
    uint32_t count;

    for (PZ_EACH_LANE(lanes)) {
        before[PZ_SLOT] = 0;
        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++)
            before[PZ_SLOT] += pzi_count32(escapes[PZ_SLOT].row[k]);
    }
    count = pzi_scan(lanes, before);
    for (PZ_EACH_LANE(lanes))
        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++) {
            const uint32_t more = escapes[PZ_SLOT].row[k];

            PZ_CAT(take_escapes_of)
            (warp, shape, PZ_CAT(first_row)(lane) + k, more, *next + before[PZ_SLOT] * bytes, end);
            before[PZ_SLOT] += pzi_count32(more);
        }
    *next += count * bytes;
}

/* The symbols of all rows, once their planes are there. */
PZI_FN uint32_t PZ_CAT(take_symbols)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                                     const PZ_SHAPE *shape, const struct PZ_CAT(parts) * parts)
{
    PZ_LANE_VAR(struct PZ_CAT(masks), escapes);

    PZ_CAT(take_codewords)(warp, shape, escapes);
    if (shape->base + 1 < PZI_ESCAPE)
        PZ_CAT(check_classes)(warp, shape);
    PZ_CAT(make_exponents)(warp, shape);
#if PZ_W == 16
    if (PZ_CAT(are_bfloats)(shape))
        PZ_CAT(join_bfloats)(warp, shape, parts);
    else
        PZ_CAT(join)(warp, shape, parts);
#else
    PZ_CAT(join)(warp, shape, parts);
#endif
    PZ_CAT(take_escapes)(warp, next, end, shape, escapes);
    return PZ_CAT(settle)(warp);
}

/* Moves the coded symbols to their places, zeros between them: from the last row to the first, as
 * none moves down. */
PZI_FN void PZ_CAT(spread)(PZ_LOCAL PZ_WARP *warp, uint32_t c)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(PZ_SYMBOL, symbol);

    for (uint32_t row = PZ_CAT(rows); row-- > 0;) {
        const uint32_t coded = warp->coded[row];

        c -= pzi_count32(coded);
        for (PZ_EACH_LANE(lanes)) {
            const uint32_t from = c + pzi_count32(coded & (uint32_t)pzi_low_bits(lane));

            symbol[PZ_SLOT] = coded >> lane & 1 ? warp->chunk.symbol[from] : 0;
        }
        PZ_SYNC(lanes);
        for (PZ_EACH_LANE(lanes))
            warp->chunk.symbol[row * 32 + lane] = symbol[PZ_SLOT];
        PZ_SYNC(lanes);
    }
}

PZI_FN uint32_t PZ_CAT(decode_classes)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                       uint32_t e, uint32_t *next, uint32_t end, uint32_t n)
{
    struct PZ_CAT(parts) parts;
    PZ_SHAPE shape;
    uint32_t status;

    shape.e = e;
    shape.m = PZ_W - 1 - e;
    PZ_CAT(set_constant)(&shape, 0, 0);
    status = PZ_CAT(take_header)(warp, next, end, n, &shape);
    if (status == PZ_OK)
        status = PZ_CAT(take_values)(warp, next, end, &shape, &parts);
    if (status != PZ_OK)
        return status;
    PZ_CAT(load)
    (&warp->lanes, tables + shape.code * PZI_CODE_BYTES, PZI_CODE_BYTES, warp->code,
     PZI_CODE_BYTES / 4);
    PZ_CAT(take_first_bits)(warp, &shape, &parts);
    for (uint32_t l = 1; status == PZ_OK && l < PZI_LEVELS; l++)
        status = PZ_CAT(take_level)(warp, next, end, &shape, l);
    if (status != PZ_OK)
        return status;
    status = PZ_CAT(take_symbols)(warp, next, end, &shape, &parts);
    if (status == PZ_OK && shape.has_zeros)
        PZ_CAT(spread)(warp, shape.c);
    return status;
}
