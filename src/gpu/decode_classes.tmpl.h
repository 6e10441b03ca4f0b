/* Template, parameter PZ_W: reads modes E and C of format 2 (docs/format2.md, "Mode E and mode C"),
 * and refuses what "What a decoder rejects" lists, in the order in which the CPU looks at it.  The
 * payload lies in warp->stream; `next` and `end` are bytes of it. */

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
    const uint32_t base_bytes = shape->e > 8 ? 2 : 1, flags = warp->stream.byte[0];
    uint32_t status = PZ_OK;

    if (end < 1 + base_bytes)
        return PZ_ERR_CHUNK_END;
    shape->has_zeros = flags >> 2 & 1;
    shape->has_signs = flags >> 3 & 1;
    shape->code = flags >> 4;
    shape->base = warp->stream.byte[1] | (base_bytes == 2 ? warp->stream.byte[2] << 8 : 0);
    shape->c = n;
    if (shape->base >> shape->e != 0)
        return PZ_ERR_RANGE;
    *next = 1 + base_bytes;
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

/* Code bit 1 of each row, and the signs; the other planes of the row are still zero. */
PZI_FN void PZ_CAT(take_first_bits)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape,
                                    const struct PZ_CAT(parts) * parts)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, top);

    PZ_CAT(clear)(lanes, warp->planes.word, PZ_CAT(rows) * PZI_ROW_WORDS);
    for (uint32_t row = 0; shape->x == 0 && row * 32 < shape->c; row++) {
        uint32_t tops;

        for (PZ_EACH_LANE(lanes)) {
            const uint32_t i = row * 32 + lane;

            top[PZ_SLOT] =
                i < shape->c && warp->stream.byte[parts->records + (i + 1) * shape->B - 1] >> 7;
        }
        PZ_BALLOT(lanes, tops, top);
        if (PZ_IS_FIRST(lanes))
            warp->planes.word[row * PZI_ROW_WORDS + PZ_CAT(first_bit)] = tops;
    }
    for (PZ_EACH_LANE(lanes))
        for (uint32_t row = lane; row * 32 < shape->c; row += PZ_LANES) {
            PZ_LOCAL uint32_t *const planes = warp->planes.word + row * PZI_ROW_WORDS;
            const uint32_t valid = pzi_row_of(shape->c, row);

            if (shape->x > 0)
                planes[PZ_CAT(first_bit)] =
                    valid & pzi_bits32(warp->stream.word, 8 * parts->planes + 32 * row);
            if (shape->has_signs)
                planes[PZ_CAT(sign_word)] =
                    valid & pzi_bits32(warp->stream.word, 8 * parts->signs + 32 * row);
        }
    PZ_SYNC(lanes);
}

/* Level l; a lane takes what belongs to its rows. */
PZI_FN uint32_t PZ_CAT(take_level)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                                   const PZ_SHAPE *shape, uint32_t l)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    const uint32_t limit = PZ_CAT(limit_of)(warp, l);
    uint32_t bits = 0;
    PZ_LANE_VAR(uint32_t, more);
    PZ_LANE_VAR(uint32_t, before);

    if (limit >= 1u << 6)
        return PZ_OK;
    for (uint32_t first = 0; first * 32 < shape->c; first += PZ_LANES) {
        for (PZ_EACH_LANE(lanes)) {
            const uint32_t row = first + lane, valid = pzi_row_of(shape->c, row);

            more[PZ_SLOT] =
                valid == 0
                    ? 0
                    : valid & PZ_CAT(longer)(warp->planes.word + row * PZI_ROW_WORDS, l, limit);
            before[PZ_SLOT] = pzi_count32(more[PZ_SLOT]);
        }
        const uint32_t total = pzi_scan(lanes, before);

        /* The end is looked at in good time, not to read far behind it. */
        if (pzi_bytes_of_bits(bits + total) > end - *next)
            return PZ_ERR_CHUNK_END;
        for (PZ_EACH_LANE(lanes))
            if (more[PZ_SLOT] != 0)
                warp->planes.word[(first + lane) * PZI_ROW_WORDS + 5 - l] =
                    pzi_deposit32(pzi_bits32(warp->stream.word, 8 * *next + bits + before[PZ_SLOT]),
                                  more[PZ_SLOT]);
        bits += total;
    }
    PZ_SYNC(lanes);
    return PZ_CAT(skip_plane)(warp, next, end, bits);
}

/* A bit for each escape of a row, where the planes are already codewords, and nothing for symbols
 * that do not exist. */
PZI_FN uint32_t PZ_CAT(escapes_of)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t row)
{
    PZ_LOCAL const uint8_t *const class_of = (PZ_LOCAL const uint8_t *)warp->code + PZI_CODE_CLASS;
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, is_escape);
    uint32_t escapes;

    for (PZ_EACH_LANE(lanes)) {
        const uint32_t word = warp->planes.byte[row * 4 * PZI_ROW_WORDS + lane] & 0x3f;
        const uint32_t class_ = class_of[word];

        is_escape[PZ_SLOT] = class_ == PZI_ESCAPE && row * 32 + lane < shape->c;
        if (class_ != PZI_ESCAPE && class_ > shape->base && row * 32 + lane < shape->c)
            PZ_CAT(blame)(warp, row / 2 * 3, PZ_ERR_RANGE);
    }
    PZ_BALLOT(lanes, escapes, is_escape);
    return escapes;
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

/* The exponent of an escape, number `rank` of those from byte `at` on. */
PZI_FN uint32_t PZ_CAT(escaped)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t at,
                                uint32_t rank, uint32_t end, uint32_t row)
{
    const uint32_t bytes = shape->e > 8 ? 2 : 1, from = at + rank * bytes;
    uint32_t exponent;

    /* Parts of a group of 64 symbols, in this order: its classes, its escapes, their values. */
    if (from + bytes > end) {
        PZ_CAT(blame)(warp, row / 2 * 3 + 1, PZ_ERR_CHUNK_END);
        return 0;
    }
    exponent = warp->stream.byte[from] | (bytes == 2 ? warp->stream.byte[from + 1] << 8 : 0);
    if (exponent >> shape->e != 0)
        PZ_CAT(blame)(warp, row / 2 * 3 + 2, PZ_ERR_RANGE);
    return exponent;
}

/* Puts the symbols of all rows together, one after the other. */
PZI_FN uint32_t PZ_CAT(join)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                             const PZ_SHAPE *shape, const struct PZ_CAT(parts) * parts)
{
    PZ_LOCAL const uint8_t *const class_of = (PZ_LOCAL const uint8_t *)warp->code + PZI_CODE_CLASS;
    uint32_t rank = 0;

    for (uint32_t row = 0; row * 32 < shape->c; row++) {
        const uint32_t escapes = PZ_CAT(escapes_of)(warp, shape, row);

        for (PZ_EACH_LANE(&warp->lanes)) {
            const uint32_t i = row * 32 + lane;
            const uint32_t byte = warp->planes.byte[row * 4 * PZI_ROW_WORDS + lane];
            uint32_t exponent = shape->base - class_of[byte & 0x3f];

            if (escapes >> lane & 1)
                exponent = PZ_CAT(escaped)(
                    warp, shape, *next, rank + pzi_count32(escapes & (uint32_t)pzi_low_bits(lane)),
                    end, row);
            if (i < shape->c)
                warp->chunk.symbol[i] = (PZ_SYMBOL)(PZ_CAT(mantissa)(warp, shape, parts, i) |
                                                    (uint64_t)exponent << shape->m |
                                                    (uint64_t)(byte >> 7) << (PZ_W - 1));
        }
        rank += pzi_count32(escapes);
    }
    *next += rank * (shape->e > 8 ? 2 : 1);
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
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t row = lane; row * 32 < shape.c; row += PZ_LANES)
            pzi_bytes_of_planes(warp->planes.word + row * PZI_ROW_WORDS);
    PZ_SYNC(&warp->lanes);
    status = PZ_CAT(join)(warp, next, end, &shape, &parts);
    if (status == PZ_OK && shape.has_zeros)
        PZ_CAT(spread)(warp, shape.c);
    return status;
}
