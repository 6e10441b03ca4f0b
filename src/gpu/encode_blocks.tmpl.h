/* Template, parameter PZ_W: writes the blocks of format 1 (docs/format.md, "Block", "PLANES" and
 * "Canonical choices").  A lane has a block of the chunk; the planes of all blocks are made
 * beforehand.  The prefix code is that of the CPU, codec/planecode.h. */

/* What a lane knows of its block, in warp->block: its encoding. */
enum { PZ_CAT(tag) = 0 };

/* Which planes get which code, as sets of planes: codec/marks.tmpl.h. */
struct PZ_CAT(kinds) {
    PZ_SET some;  /* x_j is not zero */
    PZ_SET brief; /* of these: x_j is all ones, or b_j is zero */
    PZ_SET place; /* of these: x_j has a single one or two at neighbouring positions */
};

PZI_FN void PZ_CAT(no_kinds)(struct PZ_CAT(kinds) * kinds)
{
    kinds->some = kinds->brief = kinds->place = PZ_M(of)(0, 0);
}

/* Sorts plane j, given x_j and b_j. */
PZI_FN void PZ_CAT(sort)(struct PZ_CAT(kinds) * kinds, uint32_t j, PZ_WIDE x, PZ_WIDE b,
                         PZ_WIDE all)
{
    const PZ_SET plane = PZ_M(at)(j);
    uint32_t shape;

    if (PZ_P(is_zero)(x))
        return;
    shape = PZ_P(shape)(x, b, all);
    kinds->some = PZ_M(or)(kinds->some, plane);
    if (shape & (PZI_SHAPE_ONES | PZI_SHAPE_RESET))
        kinds->brief = PZ_M(or)(kinds->brief, plane);
    if (shape & (PZI_SHAPE_ONE | PZI_SHAPE_ADJACENT))
        kinds->place = PZ_M(or)(kinds->place, plane);
}

/* Bits of PLANES, for P planes of p bits. */
PZI_FN uint32_t PZ_CAT(kinds_cost)(const struct PZ_CAT(kinds) * kinds, uint32_t P, uint32_t p)
{
    const PZ_SET zeros = PZ_M(without)(PZ_M(below)(P), kinds->some);
    const PZ_SET pairs = PZ_M(and)(zeros, PZ_M(down)(zeros));
    const uint32_t runs = PZ_M(count)(PZ_M(without)(zeros, PZ_M(down)(zeros)));
    const uint32_t long_runs = PZ_M(count)(PZ_M(without)(pairs, PZ_M(down)(pairs)));

    return pzi_run_cost(1, 0) * (runs - long_runs) +
           pzi_run_cost(2, pzi_run_bits(PZ_W)) * long_runs + PZ_M(count)(kinds->some) * (1 + p) -
           PZ_M(count)(kinds->brief) * pzi_brief_saves(p) -
           PZ_M(count)(PZ_M(without)(kinds->place, kinds->brief)) *
               pzi_place_saves(p, pzi_position_bits(p));
}

/* The planes of the symbols at the positions of `all`, which may have gaps. */
PZI_FN void PZ_CAT(sort_symbols)(PZ_LOCAL const PZ_WARP *warp, uint32_t b, PZ_WIDE all,
                                 struct PZ_CAT(kinds) * kinds)
{
    PZ_WIDE above = PZ_P(of)(0, 0);

    PZ_CAT(no_kinds)(kinds);
    for (uint32_t j = PZ_W; j-- > 0;) {
        const PZ_WIDE plane = PZ_CAT(get_plane)(warp, b, j);

        PZ_CAT(sort)(kinds, j, PZ_P(xor)(plane, above), plane, all);
        above = plane;
    }
}

/* The planes of the deltas, from the lowest up.  If `keep`, they take the place of those of the
 * symbols.  Returns plane w, the signs. */
PZI_FN PZ_WIDE PZ_CAT(sort_deltas)(PZ_LOCAL PZ_WARP *warp, uint32_t b, uint32_t keep,
                                   struct PZ_CAT(kinds) * kinds)
{
    const PZ_WIDE all = PZ_P(below)(PZ_N - 1);
    PZ_WIDE borrow = PZ_P(of)(0, 0), before = borrow;

    PZ_CAT(no_kinds)(kinds);
    for (uint32_t j = 0; j < PZ_W; j++) {
        const PZ_WIDE plane = PZ_CAT(get_plane)(warp, b, j);
        const PZ_WIDE from = PZ_P(and)(plane, all), to = PZ_P(down)(plane);
        const PZ_WIDE delta = PZ_P(xor)(PZ_P(xor)(to, from), borrow);

        borrow = PZ_P(borrow)(to, from, borrow);
        if (j > 0)
            PZ_CAT(sort)(kinds, j - 1, PZ_P(xor)(before, delta), before, all);
        if (keep)
            PZ_CAT(set_plane)(warp, b, j, delta);
        before = delta;
    }
    PZ_CAT(sort)(kinds, PZ_W - 1, PZ_P(xor)(before, borrow), before, all);
    PZ_CAT(sort)(kinds, PZ_W, borrow, borrow, all);
    return borrow;
}

/* Symbols of block b that are not zero. */
PZI_FN PZ_WIDE PZ_CAT(nonzero)(PZ_LOCAL const PZ_WARP *warp, uint32_t b)
{
    PZ_WIDE any = PZ_P(of)(0, 0);

    for (uint32_t j = 0; j < PZ_W; j++)
        any = PZ_P(or)(any, PZ_CAT(get_plane)(warp, b, j));
    return any;
}

/* ---- Size model ----------------------------------------------------------------------------- */

/* Bits of block b in one encoding, without the tag. */
PZI_FN uint32_t PZ_CAT(block_cost)(PZ_LOCAL PZ_WARP *warp, uint32_t b, uint32_t tag,
                                   PZ_WIDE nonzero)
{
    const uint32_t n = PZ_P(count)(nonzero);
    struct PZ_CAT(kinds) kinds;

    switch (tag) {
    case PZ_RAW:
        return PZI_BLOCK_BITS;
    case PZ_ZVC:
        return PZ_N + n * PZ_W;
    case PZ_BX:
        PZ_CAT(sort_symbols)(warp, b, PZ_P(below)(PZ_N), &kinds);
        return PZ_CAT(kinds_cost)(&kinds, PZ_W, PZ_N);
    case PZ_DBX:
        (void)PZ_CAT(sort_deltas)(warp, b, 0, &kinds);
        return PZ_W + PZ_CAT(kinds_cost)(&kinds, PZ_W + 1, PZ_N - 1);
    default:
        if (n == 0)
            return PZ_N;
        PZ_CAT(sort_symbols)(warp, b, nonzero, &kinds);
        return PZ_N + PZ_CAT(kinds_cost)(&kinds, PZ_W, n);
    }
}

/* The canonical encoding of block b; *bits is its size with the tag. */
PZI_FN uint32_t PZ_CAT(choose_encoding)(PZ_LOCAL PZ_WARP *warp, uint32_t b, uint32_t encodings,
                                        uint32_t *bits)
{
    const PZ_WIDE nonzero = PZ_CAT(nonzero)(warp, b);
    uint32_t best = PZ_RAW, least = PZI_BLOCK_BITS;

    for (uint32_t tag = PZ_RAW + 1; tag < PZI_TAGS; tag++) {
        uint32_t cost;

        if (!(encodings >> tag & 1))
            continue;
        cost = PZ_CAT(block_cost)(warp, b, tag, nonzero);
        if (cost < least) {
            least = cost;
            best = tag;
        }
    }
    *bits = PZI_TAG_BITS + least;
    return best;
}

/* ---- What is written ------------------------------------------------------------------------ */

/* The bits of a plane at the ones of the mask, moved together. */
PZI_FN PZ_WIDE PZ_CAT(extract)(PZ_WIDE plane, PZ_WIDE mask)
{
    uint64_t piece[2] = {0, 0};
    uint32_t at = 0;

    for (uint32_t i = 0; i < PZ_N; i += 32) {
        const uint32_t more = (uint32_t)(PZ_P(piece)(mask, i / 64) >> i % 64);
        const uint64_t bits = pzi_extract32((uint32_t)(PZ_P(piece)(plane, i / 64) >> i % 64), more);

        piece[at / 64] |= bits << at % 64;
        if (at / 64 == 0 && at % 64 > 32)
            piece[1] |= bits >> (64 - at % 64);
        at += pzi_count32(more);
    }
    return PZ_P(of)(piece[0], piece[1]);
}

/* Where a lane writes. */
struct PZ_CAT(pen) {
    PZ_LOCAL PZ_WARP *warp;
    uint32_t at; /* bit of the payload */
};

PZI_FN void PZ_CAT(write)(struct PZ_CAT(pen) * pen, uint64_t value, uint32_t bits)
{
    pzi_put_bits(pen->warp->stream.word, pen->at, value, bits);
    pen->at += bits;
}

PZI_FN void PZ_CAT(write_plane)(struct PZ_CAT(pen) * pen, PZ_WIDE plane, uint32_t p)
{
    PZ_CAT(put_plane)(pen->warp, pen->at, plane, p);
    pen->at += p;
}

/* A plane that is not zero, moved together. */
PZI_FN void PZ_CAT(write_coded)(struct PZ_CAT(pen) * pen, PZ_WIDE x, uint32_t is_brief,
                                uint32_t is_place, uint32_t p)
{
    pzi_code code = pzi_code_of(PZI_CODE_VERBATIM, 1);

    if (is_brief)
        code = pzi_brief_code(PZ_P(equal)(x, PZ_P(below)(p)));
    else if (is_place)
        code = pzi_place_code(PZ_P(is_zero)(PZ_P(rest)(x)), PZ_P(lowest)(x), pzi_position_bits(p));
    PZ_CAT(write)(pen, code.bits, code.length);
    if (!is_brief && !is_place)
        PZ_CAT(write_plane)(pen, x, p);
}

/* Plane j of block b, or the one above all planes, at the positions of `all` moved together. */
PZI_FN PZ_WIDE PZ_CAT(plane_at)(PZ_LOCAL const PZ_WARP *warp, uint32_t b, uint32_t j, PZ_WIDE signs,
                                PZ_WIDE all, uint32_t gaps)
{
    const PZ_WIDE plane = j < PZ_W ? PZ_CAT(get_plane)(warp, b, j) : signs;

    return gaps ? PZ_CAT(extract)(plane, all) : plane;
}

/* PLANES: P of them, of which the kinds are known. */
PZI_FN void PZ_CAT(write_planes)(struct PZ_CAT(pen) * pen, uint32_t b, PZ_WIDE signs, PZ_WIDE all,
                                 uint32_t gaps, const struct PZ_CAT(kinds) * kinds, uint32_t P)
{
    const uint32_t p = PZ_P(count)(all);
    PZ_WIDE above = PZ_P(of)(0, 0);
    uint32_t zeros = 0;

    for (uint32_t j = P; j-- > 0;) {
        PZ_WIDE plane;

        if (!PZ_M(has)(kinds->some, j)) {
            zeros++;
            continue;
        }
        if (zeros > 0) {
            const pzi_code run = pzi_run_code(zeros, pzi_run_bits(PZ_W));

            PZ_CAT(write)(pen, run.bits, run.length);
            zeros = 0;
        }
        plane = PZ_CAT(plane_at)(pen->warp, b, j, signs, all, gaps);
        PZ_CAT(write_coded)
        (pen, PZ_P(xor)(plane, above), p >= PZI_MIN_BRIEF && PZ_M(has)(kinds->brief, j),
         p >= PZI_MIN_PLACE && PZ_M(has)(kinds->place, j), p);
        above = plane;
    }
    if (zeros > 0) {
        const pzi_code run = pzi_run_code(zeros, pzi_run_bits(PZ_W));

        PZ_CAT(write)(pen, run.bits, run.length);
    }
}

PZI_FN void PZ_CAT(write_symbols)(struct PZ_CAT(pen) * pen, uint32_t b, PZ_WIDE which)
{
    for (; !PZ_P(is_zero)(which); which = PZ_P(rest)(which))
        PZ_CAT(write)(pen, pen->warp->chunk.symbol[b * PZ_N + PZ_P(lowest)(which)], PZ_W);
}

PZI_FN void PZ_CAT(write_block)(struct PZ_CAT(pen) * pen, uint32_t b, uint32_t tag)
{
    const PZ_WIDE none = PZ_P(of)(0, 0), every = PZ_P(below)(PZ_N);
    const PZ_WIDE nonzero = PZ_CAT(nonzero)(pen->warp, b);
    struct PZ_CAT(kinds) kinds;

    PZ_CAT(write)(pen, tag, PZI_TAG_BITS);
    if (tag == PZ_RAW) {
        PZ_CAT(write_symbols)(pen, b, every);
    } else if (tag == PZ_BX) {
        PZ_CAT(sort_symbols)(pen->warp, b, every, &kinds);
        PZ_CAT(write_planes)(pen, b, none, every, 0, &kinds, PZ_W);
    } else if (tag == PZ_DBX) {
        const PZ_WIDE signs = PZ_CAT(sort_deltas)(pen->warp, b, 1, &kinds);

        PZ_CAT(write)(pen, pen->warp->chunk.symbol[b * PZ_N], PZ_W);
        PZ_CAT(write_planes)(pen, b, signs, PZ_P(below)(PZ_N - 1), 0, &kinds, PZ_W + 1);
    } else {
        PZ_CAT(write_plane)(pen, nonzero, PZ_N);
        if (tag == PZ_ZVC) {
            PZ_CAT(write_symbols)(pen, b, nonzero);
        } else if (!PZ_P(is_zero)(nonzero)) {
            PZ_CAT(sort_symbols)(pen->warp, b, nonzero, &kinds);
            PZ_CAT(write_planes)(pen, b, none, nonzero, 1, &kinds, PZ_W);
        }
    }
}

/* Writes the payload of `nb` blocks unless it has room_bytes or more; returns its size. */
PZI_FN uint32_t PZ_CAT(encode_blocks)(PZ_LOCAL PZ_WARP *warp, uint32_t encodings, uint32_t nb,
                                      uint32_t room_bytes)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, begin);
    uint32_t bytes;

    for (uint32_t b = 0; b < nb; b++)
        PZ_CAT(to_planes)(warp, b);
    PZ_SYNC(lanes);
    for (PZ_EACH_LANE(lanes)) {
        begin[PZ_SLOT] = 0;
        if (lane < nb)
            warp->block[PZ_CAT(tag)][lane] =
                PZ_CAT(choose_encoding)(warp, lane, encodings, &begin[PZ_SLOT]);
    }
    bytes = pzi_bytes_of_bits(pzi_scan(lanes, begin));
    if (bytes >= room_bytes)
        return bytes;
    for (PZ_EACH_LANE(lanes)) {
        struct PZ_CAT(pen) pen;

        if (lane >= nb)
            continue;
        pen.warp = warp;
        pen.at = begin[PZ_SLOT];
        PZ_CAT(write_block)(&pen, lane, warp->block[PZ_CAT(tag)][lane]);
    }
    PZ_SYNC(lanes);
    return bytes;
}
