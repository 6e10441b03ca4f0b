/* Template, parameter PZ_W: writes modes E and C of format 2 (docs/format2.md, "Mode E and mode
 * C").  A lane has a symbol of a row of 32 to find its codeword, and then a whole row, whose bytes
 * it turns into planes. */

/* Words of a row of planes, made from bytes: code bits last to first, escapes, signs. */
enum { PZ_CAT(first_bit) = 5, PZ_CAT(escape_word) = 6, PZ_CAT(sign_word) = 7 };

/* Codewords by exponent, where all that is written before has been read: in warp->block. */
enum { PZ_CAT(codewords) = 0 };

/* Where the levels of a chunk begin, in bytes; level 0 stands for the escapes. */
struct PZ_CAT(levels) {
    uint32_t at[PZI_LEVELS];
};

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

#if PZ_W == 16
PZI_FN void PZ_CAT(make_codewords)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape)
{
    PZ_LOCAL const uint8_t *const word_of = (PZ_LOCAL const uint8_t *)warp->code;
    PZ_LOCAL uint32_t *const words = warp->block[PZ_CAT(codewords)];

    for (PZ_EACH_LANE(&warp->lanes))
        words[lane] = words[PZ_LANES + lane] = word_of[PZI_ESCAPE] * 0x01010101u;
    PZ_SYNC(&warp->lanes);
    for (PZ_EACH_LANE(&warp->lanes))
        if (lane < PZI_ESCAPE && lane <= shape->base)
            ((PZ_LOCAL uint8_t *)words)[shape->base - lane] = word_of[lane];
    PZ_SYNC(&warp->lanes);
}

/* What put_codewords() and put_records() do, for bfloat16 without constant bits, four symbols at a
 * time.  Records begin at an even byte. */
PZI_FN void PZ_CAT(put_bfloats)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t at)
{
    PZ_LOCAL const uint8_t *const word_of =
        (PZ_LOCAL const uint8_t *)warp->block[PZ_CAT(codewords)];

    PZ_CAT(make_codewords)(warp, shape);
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = 4 * lane; i < shape->c; i += 4 * PZ_LANES) {
            const uint32_t first = warp->chunk.word[i / 2], second = warp->chunk.word[i / 2 + 1];
            const uint32_t low = pzi_bytes_of(first, second, 0x6420);
            const uint32_t high = pzi_bytes_of(first, second, 0x7531);
            const uint32_t exponents = (high << 1 & 0xfefefefeu) | (low >> 7 & 0x01010101u);
            uint32_t words = 0, record;

            for (uint32_t k = 0; k < 4; k++)
                words |= (uint32_t)word_of[exponents >> (8 * k) & 0xff] << (8 * k);
            warp->planes.word[i / 32 * PZI_ROW_WORDS + i % 32 / 4] = words | (high & 0x80808080u);
            record = (low & 0x7f7f7f7fu) | (words << 2 & 0x80808080u);
            if (shape->c - i < 4)
                record &= (uint32_t)pzi_low_bits(8 * (shape->c - i));
            warp->stream.half_word[(at + i) / 2] = (uint16_t)record;
            warp->stream.half_word[(at + i) / 2 + 1] = (uint16_t)(record >> 16);
        }
    PZ_SYNC(&warp->lanes);
}
#endif

/* Turns the bytes of rows into planes, with zeros for symbols that do not exist. */
PZI_FN void PZ_CAT(make_planes)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape)
{
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++) {
            const uint32_t row = PZ_CAT(first_row)(lane) + k, valid = pzi_row_of(shape->c, row);
            PZ_LOCAL uint32_t *const planes = warp->planes.word + row * PZI_ROW_WORDS;

            if (valid == 0)
                continue;
            pzi_planes_of_bytes(planes);
            for (uint32_t j = 0; valid != 0xffffffffu && j < 8; j++)
                planes[j] &= valid;
        }
    PZ_SYNC(&warp->lanes);
}

/* Of a row, the symbols that have a bit in level l, or escapes for level 0. */
PZI_FN uint32_t PZ_CAT(bits_of)(PZ_LOCAL const PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t row,
                                uint32_t l)
{
    PZ_LOCAL const uint32_t *const planes = warp->planes.word + row * PZI_ROW_WORDS;
    const uint32_t valid = pzi_row_of(shape->c, row);

    if (valid == 0)
        return 0;
    return l == 0 ? planes[PZ_CAT(escape_word)]
                  : valid & PZ_CAT(longer)(planes, l, PZ_CAT(limit_of)(warp, l));
}

/* Where each part begins, from byte `next` on; returns where all ends.  In before, how many bits of
 * a level the rows of lanes below have: level l in half l % 2 of word l / 2. */
PZI_FN uint32_t PZ_CAT(place_levels)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t next,
                                     struct PZ_CAT(levels) * levels,
                                     uint32_t before[PZI_LEVELS / 2][PZ_SLOTS])
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    uint32_t bits[PZI_LEVELS];

    for (PZ_EACH_LANE(lanes))
        for (uint32_t l = 0; l < PZI_LEVELS; l++) {
            uint32_t count = 0;

            for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++)
                count += pzi_count32(PZ_CAT(bits_of)(warp, shape, PZ_CAT(first_row)(lane) + k, l));
            before[l / 2][PZ_SLOT] = l % 2 == 0 ? count : before[l / 2][PZ_SLOT] | count << 16;
        }
    for (uint32_t l = 0; l < PZI_LEVELS; l += 2) {
        const uint32_t both = pzi_scan(lanes, before[l / 2]);

        bits[l] = both & 0xffff;
        bits[l + 1] = both >> 16;
    }
    for (uint32_t l = 1; l < PZI_LEVELS; l++) {
        levels->at[l] = next;
        next += pzi_bytes_of_bits(bits[l]);
    }
    levels->at[0] = next;
    return next + bits[0] * (shape->e > 8 ? 2 : 1);
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

/* The blocks that have a mask. */
PZI_FN uint32_t PZ_CAT(masks_map)(PZ_LOCAL PZ_WARP *warp, uint32_t nb)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, has_mask);
    uint32_t map;

    for (PZ_EACH_LANE(lanes))
        has_mask[PZ_SLOT] = lane < nb && !PZ_P(is_zero)(PZ_CAT(coded_of)(warp, lane));
    PZ_BALLOT(lanes, map, has_mask);
    return map;
}

PZI_FN uint32_t PZ_CAT(masks_bytes)(PZ_LOCAL PZ_WARP *warp, uint32_t nb)
{
    return 4 + pzi_count32(PZ_CAT(masks_map)(warp, nb)) * (PZ_N / 8);
}

/* The map at byte `at`, and the masks behind it. */
PZI_FN void PZ_CAT(put_masks)(PZ_LOCAL PZ_WARP *warp, uint32_t nb, uint32_t at)
{
    const uint32_t map = PZ_CAT(masks_map)(warp, nb);

    for (PZ_EACH_LANE(&warp->lanes)) {
        const uint32_t rank = pzi_count32(map & (uint32_t)pzi_low_bits(lane));

        if (lane == 0)
            pzi_put_bits(warp->stream.word, 8 * at, map, 32);
        if (map >> lane & 1)
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
PZI_FN void PZ_CAT(put_level)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t l,
                              uint32_t at, const uint32_t before[PZ_SLOTS])
{
    for (PZ_EACH_LANE(&warp->lanes)) {
        uint32_t next = 8 * at + (before[PZ_SLOT] >> l % 2 * 16 & 0xffff);

        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++) {
            const uint32_t row = PZ_CAT(first_row)(lane) + k;
            const uint32_t more = PZ_CAT(bits_of)(warp, shape, row, l);

            if (more == 0)
                continue;
            pzi_put_bits(warp->stream.word, next,
                         pzi_extract32(warp->planes.word[row * PZI_ROW_WORDS + 5 - l], more), 32);
            next += pzi_count32(more);
        }
    }
}

PZI_FN void PZ_CAT(put_escapes)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t at,
                                const uint32_t before[PZ_SLOTS])
{
    const uint32_t bits = shape->e > 8 ? 16 : 8;

    for (PZ_EACH_LANE(&warp->lanes)) {
        uint32_t next = 8 * at + (before[PZ_SLOT] & 0xffff) * bits;

        for (uint32_t k = 0; k < PZ_CAT(lane_rows); k++) {
            const uint32_t row = PZ_CAT(first_row)(lane) + k;

            for (uint32_t left = PZ_CAT(bits_of)(warp, shape, row, 0); left != 0;
                 left &= left - 1, next += bits)
                pzi_put_bits(
                    warp->stream.word, next,
                    PZ_CAT(exponent_in)(warp->chunk.symbol[row * 32 + PZI_CTZ64((uint64_t)left)],
                                        shape->e),
                    bits);
        }
    }
}

PZI_FN void PZ_CAT(put_levels)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape,
                               const struct PZ_CAT(levels) * levels,
                               uint32_t before[PZI_LEVELS / 2][PZ_SLOTS])
{
    for (uint32_t l = 1; l < PZI_LEVELS; l++)
        if (PZ_CAT(limit_of)(warp, l) < 1u << 6)
            PZ_CAT(put_level)(warp, shape, l, levels->at[l], before[l / 2]);
    PZ_CAT(put_escapes)(warp, shape, levels->at[0], before[0]);
}

/* Whether symbols are bfloat16 without constant bits, for which there is a shorter way. */
PZI_FN uint32_t PZ_CAT(are_bfloats)(const PZ_SHAPE *shape)
{
    return PZ_W == 16 && shape->e == 8 && shape->t == 0;
}

/* The codewords of all symbols in warp->planes, as planes, and their records in the payload. */
PZI_FN void PZ_CAT(put_symbols)(PZ_LOCAL PZ_WARP *warp, const PZ_SHAPE *shape, uint32_t records_at)
{
#if PZ_W == 16
    if (PZ_CAT(are_bfloats)(shape)) {
        PZ_CAT(put_bfloats)(warp, shape, records_at);
        PZ_CAT(make_planes)(warp, shape);
        return;
    }
#endif
    PZ_CAT(put_codewords)(warp, shape);
    PZ_CAT(make_planes)(warp, shape);
    PZ_CAT(put_records)(warp, shape, records_at);
}

/* Writes the payload, into zeros, unless it has room_bytes or more; returns its size. */
PZI_FN uint32_t PZ_CAT(encode_classes)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                       const PZ_SHAPE *shape, uint32_t n, uint32_t room_bytes)
{
    const uint32_t nb = PZ_CAT(blocks_of)(n), masks_at = PZ_CAT(header_bytes)(shape);
    uint32_t records_at = masks_at, planes_at, end;
    uint32_t before[PZI_LEVELS / 2][PZ_SLOTS];
    struct PZ_CAT(levels) levels;

    PZ_CAT(load)
    (&warp->lanes, tables + shape->code * PZI_CODE_BYTES, PZI_CODE_BYTES, warp->code,
     PZI_CODE_BYTES / 4);
    if (shape->has_zeros) {
        records_at += PZ_CAT(masks_bytes)(warp, nb);
        PZ_CAT(compact)(warp, PZ_CAT(rows_of)(n));
    }
    planes_at = records_at + shape->c * shape->B;
    PZ_CAT(put_symbols)(warp, shape, records_at);
    end = PZ_CAT(place_levels)(
        warp, shape, planes_at + (shape->x + shape->has_signs) * pzi_bytes_of_bits(shape->c),
        &levels, before);
    if (end >= room_bytes)
        return end;
    PZ_CAT(put_header)(warp, shape);
    if (shape->has_zeros)
        PZ_CAT(put_masks)(warp, nb, masks_at);
    PZ_CAT(put_value_planes)(warp, shape, planes_at);
    PZ_CAT(put_levels)(warp, shape, &levels, before);
    PZ_SYNC(&warp->lanes);
    return end;
}
