/* Template, parameter PZ_W: writes modes E and C of format 2 (docs/format2.md, "Mode E and mode
 * C").  A lane has a symbol of a row of 32 to find its codeword, and then a whole row, whose bytes
 * it turns into planes. */

/* Words of a row of planes, made from bytes: code bits last to first, escapes, signs. */
enum { PZ_CAT(first_bit) = 5, PZ_CAT(escape_word) = 6, PZ_CAT(sign_word) = 7 };

/* Counters: bits of level l, which are 1 to 5, escapes, and the byte where level l begins; level 0
 * stands for the escapes. */
enum { PZ_CAT(level_bits) = 0, PZ_CAT(escapes) = 6, PZ_CAT(level_at) = 8 };

/* Moves the coded symbols together, zeros behind them up to a whole row and block. */
PZI_FN void PZ_CAT(compact)(PZ_LOCAL PZ_WARP *warp, uint32_t rows)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(PZ_SYMBOL, symbol);
    uint32_t begin = 0, end;

    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t coded = warp->coded[row];

        for (PZ_EACH_LANE(lanes))
            symbol[PZ_SLOT] = warp->chunk.symbol[row * 32 + lane];
        PZ_SYNC(lanes);
        for (PZ_EACH_LANE(lanes))
            if (coded >> lane & 1)
                warp->chunk.symbol[begin + pzi_count32(coded & (uint32_t)pzi_low_bits(lane))] =
                    symbol[PZ_SLOT];
        begin += pzi_count32(coded);
        PZ_SYNC(lanes);
    }
    end = begin + 128 < PZ_CAT(symbols) ? begin + 128 : PZ_CAT(symbols);
    for (PZ_EACH_LANE(lanes))
        for (uint32_t i = begin + lane; i < end; i += PZ_LANES)
            warp->chunk.symbol[i] = 0;
    PZ_SYNC(lanes);
}

/* The codeword, escape and sign of each symbol, a byte each. */
PZI_FN void PZ_CAT(put_codewords)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape)
{
    PZ_LOCAL const uint8_t *const word_of = (PZ_LOCAL const uint8_t *)warp->code;

    for (uint32_t row = 0; row * 32 < shape->c; row++)
        for (PZ_EACH_LANE(&warp->lanes)) {
            const PZ_SYMBOL symbol = warp->chunk.symbol[row * 32 + lane];
            const uint32_t class_ = shape->base - PZ_CAT(exponent_in)(symbol, shape->e);
            const uint32_t word = word_of[class_ < PZI_ESCAPE ? class_ : PZI_ESCAPE];

            warp->planes.byte[row * 4 * PZI_ROW_WORDS + lane] =
                (uint8_t)(word | (uint32_t)(symbol >> (PZ_W - 1)) << 7);
        }
    PZ_SYNC(&warp->lanes);
}

/* Of a row, the symbols whose codewords are longer than l. */
PZI_FN uint32_t PZ_CAT(longer)(PZ_LOCAL const uint32_t *planes, uint32_t l, uint32_t limit)
{
    uint32_t more = 0xffffffffu;

    if (limit >= 1u << 6)
        return 0;
    for (uint32_t i = l; i-- > 0;)
        more = limit >> (5 - i) & 1 ? planes[5 - i] & more : planes[5 - i] | more;
    return more;
}

PZI_FN uint32_t PZ_CAT(limit_of)(PZ_LOCAL const PZ_WARP *warp, uint32_t l)
{
    return ((PZ_LOCAL const uint8_t *)warp->code)[PZI_CODE_LIMIT + l];
}

/* Turns the bytes into planes, and counts what the levels have. */
PZI_FN void PZ_CAT(count_levels)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape)
{
    PZ_CAT(clear)(&warp->lanes, warp->count, PZI_COUNTERS);
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t row = lane; row * 32 < shape->c; row += PZ_LANES) {
            PZ_LOCAL uint32_t *const planes = warp->planes.word + row * PZI_ROW_WORDS;
            const uint32_t valid = pzi_row_of(shape->c, row);

            pzi_planes_of_bytes(planes);
            for (uint32_t l = 1; l < PZI_LEVELS; l++)
                PZ_ADD32(&warp->count[PZ_CAT(level_bits) + l],
                         pzi_count32(valid & PZ_CAT(longer)(planes, l, PZ_CAT(limit_of)(warp, l))));
            for (uint32_t j = 0; j < 8; j++)
                planes[j] &= valid;
            PZ_ADD32(&warp->count[PZ_CAT(escapes)], pzi_count32(planes[PZ_CAT(escape_word)]));
        }
    PZ_SYNC(&warp->lanes);
}

/* Where each part begins, from byte `next` on; returns where all ends. */
PZI_FN uint32_t PZ_CAT(place_levels)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t next)
{
    uint32_t at[PZI_LEVELS];

    for (uint32_t l = 1; l < PZI_LEVELS; l++) {
        at[l] = next;
        next += pzi_bytes_of_bits(warp->count[PZ_CAT(level_bits) + l]);
    }
    at[0] = next;
    next += warp->count[PZ_CAT(escapes)] * (shape->e > 8 ? 2 : 1);
    for (PZ_EACH_LANE(&warp->lanes))
        if (lane == 0)
            for (uint32_t l = 0; l < PZI_LEVELS; l++)
                warp->count[PZ_CAT(level_at) + l] = at[l];
    PZ_SYNC(&warp->lanes);
    return next;
}

/* Byte 0 up to the constant bits. */
PZI_FN uint32_t PZ_CAT(header_bytes)(const PZ_SHAPE *shape)
{
    return 1 + (shape->e > 8 ? 2 : 1) + (shape->t > 0 ? 1 + pzi_bytes_of_bits(shape->t) : 0);
}

PZI_FN void PZ_CAT(put_header)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape)
{
    const uint32_t flags =
        (shape->t > 0 ? 3 : 0) | shape->has_zeros << 2 | shape->has_signs << 3 | shape->code << 4;
    const uint32_t at = shape->e > 8 ? 24 : 16;

    if (PZ_IS_FIRST(&warp->lanes)) {
        pzi_put_bits(warp->stream.word, 0, flags | shape->base << 8, 24);
        if (shape->t > 0) {
            pzi_put_bits(warp->stream.word, at, shape->t, 8);
            pzi_put_bits(warp->stream.word, at + 8, shape->fixed, 64);
        }
    }
}

PZI_FN uint32_t PZ_CAT(masks_bytes)(PZ_LOCAL PZ_WARP *warp, uint32_t nb)
{
    uint32_t masks = 0;

    for (uint32_t b = 0; b < nb; b++)
        masks += !PZ_P(is_zero)(PZ_CAT(coded_of)(warp, b));
    return 4 + masks * (PZ_N / 8);
}

/* The map at byte `at`, and the masks behind it. */
PZI_FN void PZ_CAT(put_masks)(PZ_LOCAL PZ_WARP *warp, uint32_t nb, uint32_t at)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, has_mask);
    uint32_t map;

    for (PZ_EACH_LANE(lanes))
        has_mask[PZ_SLOT] = lane < nb && !PZ_P(is_zero)(PZ_CAT(coded_of)(warp, lane));
    PZ_BALLOT(lanes, map, has_mask);
    for (PZ_EACH_LANE(lanes)) {
        const uint32_t rank = pzi_count32(map & (uint32_t)pzi_low_bits(lane));

        if (lane == 0)
            pzi_put_bits(warp->stream.word, 8 * at, map, 32);
        if (has_mask[PZ_SLOT])
            PZ_CAT(put_plane)(warp, 8 * (at + 4) + rank * PZ_N, PZ_CAT(coded_of)(warp, lane), PZ_N);
    }
}

/* Records, a byte at a time, where nothing has been written yet. */
PZI_FN void PZ_CAT(put_records)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t at)
{
    const uint32_t rest = shape->m - shape->t;

    for (uint32_t row = 0; row * 32 < shape->c; row++) {
        const uint32_t first = warp->planes.word[row * PZI_ROW_WORDS + PZ_CAT(first_bit)];

        for (PZ_EACH_LANE(&warp->lanes)) {
            const uint32_t i = row * 32 + lane;
            const uint64_t value =
                ((uint64_t)warp->chunk.symbol[i] >> shape->t & pzi_low_bits(rest)) |
                (uint64_t)(first >> lane & 1) << rest;

            for (uint32_t k = 0; i < shape->c && k < shape->B; k++)
                warp->stream.byte[at + i * shape->B + k] = (uint8_t)(value >> (8 * k));
        }
    }
    PZ_SYNC(&warp->lanes);
}

/* The plane of bit number `bit` of the symbols, at byte `at`. */
PZI_FN void PZ_CAT(put_bit_plane)(PZ_LOCAL PZ_WARP *warp, uint32_t c, uint32_t bit, uint32_t at)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, test);

    for (uint32_t row = 0; row * 32 < c; row++) {
        uint32_t plane;

        for (PZ_EACH_LANE(lanes))
            test[PZ_SLOT] = (uint32_t)(warp->chunk.symbol[row * 32 + lane] >> bit) & 1;
        PZ_BALLOT(lanes, plane, test);
        if (PZ_IS_FIRST(lanes))
            pzi_put_bits(warp->stream.word, 8 * at + 32 * row, plane & pzi_row_of(c, row), 32);
    }
}

/* A word of each row's planes, at byte `at`. */
PZI_FN void PZ_CAT(put_words)(PZ_LOCAL PZ_WARP *warp, uint32_t c, uint32_t word, uint32_t at)
{
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t row = lane; row * 32 < c; row += PZ_LANES)
            pzi_put_bits(warp->stream.word, 8 * at + 32 * row,
                         warp->planes.word[row * PZI_ROW_WORDS + word], 32);
}

/* The x planes and the signs. */
PZI_FN void PZ_CAT(put_value_planes)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t at)
{
    const uint32_t plane_bytes = pzi_bytes_of_bits(shape->c);

    if (shape->x > 0)
        PZ_CAT(put_words)(warp, shape->c, PZ_CAT(first_bit), at);
    for (uint32_t i = 1; i < shape->x; i++)
        PZ_CAT(put_bit_plane)(warp, shape->c, shape->m - i, at + i * plane_bytes);
    if (shape->has_signs)
        PZ_CAT(put_words)(warp, shape->c, PZ_CAT(sign_word), at + shape->x * plane_bytes);
}

/* Level l: a lane puts what its rows have behind what those before have. */
PZI_FN void PZ_CAT(put_level)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t l)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    const uint32_t limit = PZ_CAT(limit_of)(warp, l);
    uint32_t at = 8 * warp->count[PZ_CAT(level_at) + l];
    PZ_LANE_VAR(uint32_t, more);
    PZ_LANE_VAR(uint32_t, before);

    for (uint32_t first = 0; first * 32 < shape->c; first += PZ_LANES) {
        for (PZ_EACH_LANE(lanes)) {
            const uint32_t row = first + lane, valid = pzi_row_of(shape->c, row);

            more[PZ_SLOT] =
                valid == 0
                    ? 0
                    : valid & PZ_CAT(longer)(warp->planes.word + row * PZI_ROW_WORDS, l, limit);
            before[PZ_SLOT] = pzi_count32(more[PZ_SLOT]);
        }
        const uint32_t bits = pzi_scan(lanes, before);

        for (PZ_EACH_LANE(lanes))
            if (more[PZ_SLOT] != 0)
                pzi_put_bits(
                    warp->stream.word, at + before[PZ_SLOT],
                    pzi_extract32(warp->planes.word[(first + lane) * PZI_ROW_WORDS + 5 - l],
                                  more[PZ_SLOT]),
                    32);
        at += bits;
    }
}

PZI_FN void PZ_CAT(put_escapes)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    const uint32_t bits = shape->e > 8 ? 16 : 8;
    uint32_t at = 8 * warp->count[PZ_CAT(level_at)];
    PZ_LANE_VAR(uint32_t, before);

    for (uint32_t first = 0; first * 32 < shape->c; first += PZ_LANES) {
        for (PZ_EACH_LANE(lanes)) {
            const uint32_t row = first + lane;

            before[PZ_SLOT] =
                row * 32 < shape->c
                    ? pzi_count32(warp->planes.word[row * PZI_ROW_WORDS + PZ_CAT(escape_word)])
                    : 0;
        }
        const uint32_t escapes = pzi_scan(lanes, before);

        for (PZ_EACH_LANE(lanes)) {
            const uint32_t row = first + lane;
            uint32_t next = at + before[PZ_SLOT] * bits;

            if (row * 32 >= shape->c)
                continue;
            for (uint32_t left = warp->planes.word[row * PZI_ROW_WORDS + PZ_CAT(escape_word)];
                 left != 0; left &= left - 1, next += bits)
                pzi_put_bits(
                    warp->stream.word, next,
                    PZ_CAT(exponent_in)(warp->chunk.symbol[row * 32 + PZI_CTZ64((uint64_t)left)],
                                        shape->e),
                    bits);
        }
        at += escapes * bits;
    }
}

/* Writes the payload unless it has room_bytes or more; returns its size. */
PZI_FN uint32_t PZ_CAT(encode_classes)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                       const PZ_SHAPE *shape, uint32_t n, uint32_t room_bytes)
{
    const uint32_t nb = PZ_CAT(blocks_of)(n), masks_at = PZ_CAT(header_bytes)(shape);
    uint32_t at = masks_at, records_at, end;

    PZ_CAT(load)
    (&warp->lanes, tables + shape->code * PZI_CODE_BYTES, PZI_CODE_BYTES, warp->code,
     PZI_CODE_BYTES / 4);
    if (shape->has_zeros) {
        at += PZ_CAT(masks_bytes)(warp, nb);
        PZ_CAT(compact)(warp, PZ_CAT(rows_of)(n));
    }
    PZ_CAT(put_codewords)(warp, shape);
    PZ_CAT(count_levels)(warp, shape);
    records_at = at;
    at += shape->c * shape->B + (shape->x + shape->has_signs) * pzi_bytes_of_bits(shape->c);
    end = PZ_CAT(place_levels)(warp, shape, at);
    if (end >= room_bytes)
        return end;
    PZ_CAT(put_records)(warp, shape, records_at);
    PZ_CAT(put_header)(warp, shape);
    if (shape->has_zeros)
        PZ_CAT(put_masks)(warp, nb, masks_at);
    PZ_CAT(put_value_planes)(warp, shape, records_at + shape->c * shape->B);
    for (uint32_t l = 1; l < PZI_LEVELS; l++)
        PZ_CAT(put_level)(warp, shape, l);
    PZ_CAT(put_escapes)(warp, shape);
    PZ_SYNC(&warp->lanes);
    return end;
}
