/* Template, parameter PZ_W: modes I and D of format 2 (docs/format2.md, "Modes I and D"): their
 * cost, and how they are written.  The planes are made by all lanes, block by block; then a lane
 * has a block, and cuts its numbers as the CPU does. */

/* What a lane knows of its block, in warp->block. */
enum { PZ_CAT(cut) = 0 };

/* Counters: all escaped quotients, ORed: two words. */
enum { PZ_CAT(quotients_seen) = 0 };

PZI_FN PZ_SYMBOL PZ_CAT(ordered)(PZ_SYMBOL s, uint32_t e)
{
    return e != 0 && s >> (PZ_W - 1) != 0
               ? (PZ_SYMBOL)(s ^ (PZ_SYMBOL)((PZ_SYMBOL) ~(PZ_SYMBOL)0 >> 1))
               : s;
}

/* z of symbol i; of symbols that do not exist it is 0. */
PZI_FN PZ_SYMBOL PZ_CAT(number)(PZ_LOCAL const PZ_SYMBOL *symbols, uint32_t n, uint32_t e,
                                uint32_t differences, uint32_t i)
{
    const PZ_SYMBOL symbol = symbols[i];
    PZ_SYMBOL d;

    if (!differences || i >= n)
        return symbol;
    d = (PZ_SYMBOL)(PZ_CAT(ordered)(symbol, e) - PZ_CAT(ordered)(symbols[i == 0 ? 0 : i - 1], e));
    return (PZ_SYMBOL)((PZ_SYMBOL)(d << 1) ^ (PZ_SYMBOL)(0 - (d >> (PZ_W - 1))));
}

#if PZ_W == 16
/* The numbers of symbols lane and lane + 32 of block b, which is whole, in mode D: two at a time in
 * a word of which the upper half keeps nothing from the lower one. */
PZI_FN uint32_t PZ_CAT(ordered_pair)(PZ_LOCAL const PZ_SYMBOL *symbols, uint32_t e, uint32_t first,
                                     uint32_t second)
{
    const uint32_t pair = symbols[first] | (uint32_t)symbols[second] << 16;

    return e != 0 ? pair ^ (pair >> 15 & 0x00010001u) * 0x7fff : pair;
}

PZI_FN uint32_t PZ_CAT(pack_differences)(PZ_LOCAL const PZ_SYMBOL *symbols, uint32_t e, uint32_t b,
                                         uint32_t lane)
{
    const uint32_t i = b * PZ_N + lane, tops = 0x80008000u;
    const uint32_t here = PZ_CAT(ordered_pair)(symbols, e, i, i + 32);
    const uint32_t before = PZ_CAT(ordered_pair)(symbols, e, i == 0 ? 0 : i - 1, i + 31);
    const uint32_t d = ((here | tops) - (before & ~tops)) ^ ((here ^ ~before) & tops);

    return (d << 1 & 0xfffefffeu) ^ (d >> 15 & 0x00010001u) * 0xffff;
}
#endif

/* Row `lane` of the matrix of the numbers of block b. */
PZI_FN uint32_t PZ_CAT(pack_numbers)(PZ_LOCAL const PZ_SYMBOL *symbols, uint32_t n, uint32_t e,
                                     uint32_t differences, uint32_t b, uint32_t lane)
{
    uint32_t row = 0;

#if PZ_W == 64
    row = (uint32_t)(PZ_CAT(number)(symbols, n, e, differences, b * PZ_N + lane % 16) >>
                     (lane / 16 * 32));
#else
#if PZ_W == 16
    if (differences && (b + 1) * PZ_N <= n)
        return PZ_CAT(pack_differences)(symbols, e, b, lane);
#endif
    for (uint32_t q = 0; q < 32 / PZ_W; q++)
        row |= (uint32_t)PZ_CAT(number)(symbols, n, e, differences, b * PZ_N + 32 * q + lane)
               << (PZ_W * q);
#endif
    return row;
}

/* Planes of the numbers of some blocks of n symbols. */
PZI_FN void PZ_CAT(number_planes)(PZ_LOCAL PZ_WARP *warp, PZ_LOCAL const PZ_SYMBOL *symbols,
                                  const struct PZ_CAT(sample) * blocks, uint32_t n, uint32_t e,
                                  uint32_t differences)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, row);

    for (uint32_t k = 0; k < blocks->count; k++) {
        const uint32_t b = blocks->first + k * blocks->step;

        for (PZ_EACH_LANE(lanes))
            row[PZ_SLOT] = PZ_CAT(pack_numbers)(symbols, n, e, differences, b, lane);
        pzi_transpose32(lanes, row);
        for (PZ_EACH_LANE(lanes))
            warp->planes.word[b * PZI_BLOCK_WORDS + lane] = row[PZ_SLOT];
    }
    PZ_SYNC(lanes);
}

/* Plane j, also where it is beyond the last. */
PZI_FN PZ_WIDE PZ_CAT(plane_or_zero)(PZ_LOCAL const PZ_WARP *warp, uint32_t b, uint32_t j)
{
    return j < PZ_W ? PZ_CAT(get_plane)(warp, b, j) : PZ_P(of)(0, 0);
}

PZI_FN uint32_t PZ_CAT(bit_length)(PZ_LOCAL const PZ_WARP *warp, uint32_t b)
{
    uint32_t length = PZ_W;

    while (length > 0 && PZ_P(is_zero)(PZ_CAT(get_plane)(warp, b, length - 1)))
        length--;
    return length;
}

/* What numbers cost that are cut at k, but for the N (k + 1) bits that each block has. */
PZI_FN uint32_t PZ_CAT(quotients_cost)(PZ_WIDE q0, PZ_WIDE q1, PZ_WIDE q2, PZ_WIDE high)
{
    const PZ_WIDE four = PZ_P(or)(q2, high);
    const PZ_WIDE five = PZ_P(or)(PZ_P(and)(PZ_P(or)(q0, q1), q2), high);
    const PZ_WIDE six = PZ_P(or)(PZ_P(and)(q1, q2), high);

    return PZ_P(count)(PZ_P(or)(PZ_P(without)(q0, four), five)) +
           2 * PZ_P(count)(PZ_P(without)(q1, four)) + 4 * PZ_P(count)(four) + 12 * PZ_P(count)(six);
}

/* The canonical cut of block b: k, and 128 if it is exact. */
PZI_FN uint32_t PZ_CAT(cut_of)(PZ_LOCAL const PZ_WARP *warp, uint32_t b)
{
    const uint32_t length = PZ_CAT(bit_length)(warp, b), least = length > 12 ? length - 12 : 0;
    PZ_WIDE high = PZ_P(of)(0, 0), q0 = high, q1 = high, q2 = high;
    uint32_t best = length | 128, cost = length * PZ_N;

    for (uint32_t k = length; k-- > least;) {
        uint32_t with_k;

        high = PZ_P(or)(high, q2);
        q2 = q1;
        q1 = q0;
        q0 = PZ_CAT(get_plane)(warp, b, k);
        with_k = PZ_N * (k + 1) + PZ_CAT(quotients_cost)(q0, q1, q2, high);
        if (with_k < cost || (with_k == cost && best < 128)) {
            cost = with_k;
            best = k;
        }
    }
    return best;
}

/* The least cost of block b, of every fourth cut. */
PZI_FN uint32_t PZ_CAT(cost_of_cuts)(PZ_LOCAL const PZ_WARP *warp, uint32_t b, uint32_t first)
{
    const uint32_t length = PZ_CAT(bit_length)(warp, b), least = length > 12 ? length - 12 : 0;
    PZ_WIDE high = PZ_P(of)(0, 0);
    uint32_t cost = length * PZ_N;

    /* Below 0 k is large. */
    for (uint32_t k = length - 1 - first; k < PZ_W && k >= least; k -= 4) {
        const PZ_WIDE q0 = PZ_CAT(get_plane)(warp, b, k);
        const PZ_WIDE q1 = PZ_CAT(plane_or_zero)(warp, b, k + 1);
        const PZ_WIDE q2 = PZ_CAT(plane_or_zero)(warp, b, k + 2);
        uint32_t with_k;

        high = PZ_P(or)(high, PZ_CAT(plane_or_zero)(warp, b, k + 3));
        with_k = PZ_N * (k + 1) + PZ_CAT(quotients_cost)(q0, q1, q2, high);
        cost = with_k < cost ? with_k : cost;
        high = PZ_P(or)(PZ_P(or)(high, q0), PZ_P(or)(q1, q2));
    }
    return cost;
}

/* Cost of mode I or D for the sample, which has at most 8 blocks: four lanes for each. */
PZI_FN uint32_t PZ_CAT(numbers_cost)(PZ_LOCAL PZ_WARP *warp, PZ_LOCAL const PZ_SYMBOL *symbols,
                                     const struct PZ_CAT(sample) * sample, uint32_t n, uint32_t e,
                                     uint32_t differences)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, cost);
    PZ_LANE_VAR(uint32_t, other);

    PZ_CAT(number_planes)(warp, symbols, sample, n, e, differences);
    for (PZ_EACH_LANE(lanes)) {
        cost[PZ_SLOT] = 0;
        if (lane / 4 < sample->count)
            cost[PZ_SLOT] =
                8 + PZ_CAT(cost_of_cuts)(warp, sample->first + lane / 4 * sample->step, lane % 4);
    }
    PZ_SYNC(lanes);
    for (uint32_t step = 1; step < 4; step *= 2) {
        PZ_SHUFFLE(lanes, other, cost, lane ^ step);
        for (PZ_EACH_LANE(lanes))
            cost[PZ_SLOT] = other[PZ_SLOT] < cost[PZ_SLOT] ? other[PZ_SLOT] : cost[PZ_SLOT];
    }
    for (PZ_EACH_LANE(lanes))
        cost[PZ_SLOT] = lane % 4 == 0 ? cost[PZ_SLOT] : 0;
    return pzi_scan(lanes, cost);
}

/* Puts the coded symbols of the sample together in warp->stream, and returns how many there are. */
PZI_FN uint32_t PZ_CAT(pack_sample)(PZ_LOCAL PZ_WARP *warp, const struct PZ_CAT(sample) * sample,
                                    uint32_t *masks)
{
    uint32_t n = 0;

    *masks = 0;
    for (uint32_t k = 0; k < sample->count; k++) {
        const uint32_t b = sample->first + k * sample->step;
        const PZ_WIDE mask = PZ_CAT(coded_of)(warp, b);

        *masks += !PZ_P(is_zero)(mask);
        for (uint32_t i = 0; i < PZ_N; i += 32) {
            const uint32_t coded = (uint32_t)(PZ_P(piece)(mask, i / 64) >> i % 64);

            for (PZ_EACH_LANE(&warp->lanes))
                if (coded >> lane & 1)
                    warp->stream.symbol[n + pzi_count32(coded & (uint32_t)pzi_low_bits(lane))] =
                        warp->chunk.symbol[b * PZ_N + i + lane];
            n += pzi_count32(coded);
        }
    }
    PZ_SYNC(&warp->lanes);
    return n;
}

/* Cost of mode D with Z = 1.  The stream is zero before and after. */
PZI_FN uint32_t PZ_CAT(sparse_cost)(PZ_LOCAL PZ_WARP *warp, const struct PZ_CAT(sample) * sample,
                                    uint32_t e)
{
    struct PZ_CAT(sample) packed;
    uint32_t masks, cost;
    const uint32_t n = PZ_CAT(pack_sample)(warp, sample, &masks);

    packed.first = 0;
    packed.step = 1;
    packed.count = PZ_CAT(blocks_of)(n);
    cost = masks * PZ_N + PZ_CAT(numbers_cost)(warp, warp->stream.symbol, &packed, n, e, 1);
    PZ_CAT(clear)(&warp->lanes, warp->stream.word, PZ_CHUNK_BYTES / 4);
    return cost;
}

/* ---- What is written ------------------------------------------------------------------------ */

/* Symbols of a block whose quotient is at least l = 1 .. 6. */
struct PZ_CAT(quotients) {
    PZ_WIDE least[PZI_LEVELS + 1];
};

/* Those of block b, which is cut at k; of an exact one there are none. */
PZI_FN void PZ_CAT(quotients_of)(PZ_LOCAL const PZ_WARP *warp, uint32_t b, uint32_t k,
                                 struct PZ_CAT(quotients) * quotients)
{
    PZ_WIDE q0 = PZ_P(of)(0, 0), q1 = q0, q2 = q0, high = q0;
    PZ_WIDE *const least = quotients->least;

    if (k < 128) {
        q0 = PZ_CAT(plane_or_zero)(warp, b, k);
        q1 = PZ_CAT(plane_or_zero)(warp, b, k + 1);
        q2 = PZ_CAT(plane_or_zero)(warp, b, k + 2);
        for (uint32_t j = k + 3; j < PZ_W; j++)
            high = PZ_P(or)(high, PZ_CAT(get_plane)(warp, b, j));
    }
    least[4] = PZ_P(or)(q2, high);
    least[3] = PZ_P(or)(PZ_P(and)(q0, q1), least[4]);
    least[2] = PZ_P(or)(q1, least[4]);
    least[1] = PZ_P(or)(q0, least[2]);
    least[5] = PZ_P(or)(PZ_P(and)(PZ_P(or)(q0, q1), q2), high);
    least[6] = PZ_P(or)(PZ_P(and)(q1, q2), high);
}

/* Cuts all blocks.  In before, how many bits of a level the blocks of lanes below have: level l in
 * half l % 2 of word l / 2, with the escapes for level 0; in bits, how many there are in all. */
PZI_FN void PZ_CAT(cut_blocks)(PZ_LOCAL PZ_WARP *warp, uint32_t n, uint32_t e, uint32_t differences,
                               uint32_t bits[PZI_LEVELS], uint32_t before[PZI_LEVELS / 2][PZ_SLOTS])
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;

    PZ_CAT(clear)(lanes, warp->count, PZI_COUNTERS);
    for (PZ_EACH_LANE(lanes)) {
        uint32_t k = 128;
        struct PZ_CAT(quotients) quotients;

        if (lane < PZ_CAT(blocks_of)(n))
            k = PZ_CAT(cut_of)(warp, lane);
        warp->block[PZ_CAT(cut)][lane] = k;
        PZ_CAT(quotients_of)(warp, lane, k, &quotients);
        for (uint32_t l = 0; l < PZI_LEVELS; l += 2)
            before[l / 2][PZ_SLOT] = PZ_P(count)(quotients.least[l == 0 ? PZI_LEVELS : l]) |
                                     PZ_P(count)(quotients.least[l + 1]) << 16;
        for (PZ_WIDE left = quotients.least[PZI_LEVELS]; !PZ_P(is_zero)(left);
             left = PZ_P(rest)(left))
            PZ_CAT(or_symbol)
        (&warp->count[PZ_CAT(quotients_seen)],
         (PZ_SYMBOL)(PZ_CAT(number)(warp->chunk.symbol, n, e, differences,
                                    lane * PZ_N + PZ_P(lowest)(left)) >>
                     k));
    }
    for (uint32_t l = 0; l < PZI_LEVELS; l += 2) {
        const uint32_t both = pzi_scan(lanes, before[l / 2]);

        bits[l] = both & 0xffff;
        bits[l + 1] = both >> 16;
    }
    PZ_SYNC(lanes);
}

/* Whether one header serves all blocks. */
PZI_FN uint32_t PZ_CAT(cuts_are_equal)(PZ_LOCAL PZ_WARP *warp, uint32_t nb)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, differs);
    uint32_t any;

    for (PZ_EACH_LANE(lanes))
        differs[PZ_SLOT] =
            lane < nb && warp->block[PZ_CAT(cut)][lane] != warp->block[PZ_CAT(cut)][0];
    PZ_BALLOT(lanes, any, differs);
    return any == 0;
}

/* The planes of all blocks from byte `at` on; returns where they end.  Writes nothing if they end
 * at `room_bytes` or later; else the quotients of a block are then where its planes were. */
PZI_FN uint32_t PZ_CAT(put_blocks)(PZ_LOCAL PZ_WARP *warp, uint32_t nb, uint32_t at,
                                   uint32_t room_bytes)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, begin);
    uint32_t end;

    for (PZ_EACH_LANE(lanes)) {
        const uint32_t cut = lane < nb ? warp->block[PZ_CAT(cut)][lane] : 128;

        begin[PZ_SLOT] = ((cut & 127) + (cut < 128)) * (PZ_N / 8);
    }
    end = at + pzi_scan(lanes, begin);
    for (PZ_EACH_LANE(lanes)) {
        const uint32_t cut = lane < nb ? warp->block[PZ_CAT(cut)][lane] : 128;
        const uint32_t bit = 8 * (at + begin[PZ_SLOT]);
        struct PZ_CAT(quotients) quotients;

        if (end >= room_bytes)
            continue;
        for (uint32_t j = 0; j < (cut & 127); j++)
            PZ_CAT(put_plane)(warp, bit + j * PZ_N, PZ_CAT(get_plane)(warp, lane, j), PZ_N);
        PZ_CAT(quotients_of)(warp, lane, cut, &quotients);
        if (cut < 128)
            PZ_CAT(put_plane)(warp, bit + cut * PZ_N, quotients.least[1], PZ_N);
        for (uint32_t l = 1; l <= PZI_LEVELS; l++)
            PZ_CAT(keep_quotient)(warp, lane, l, quotients.least[l]);
    }
    return end;
}

/* The bits of `bits` at the ones of `mask`, from bit `at` on. */
PZI_FN void PZ_CAT(put_extract)(PZ_LOCAL PZ_WARP *warp, PZ_WIDE bits, PZ_WIDE mask, uint32_t at)
{
    for (uint32_t i = 0; i < PZ_N; i += 32) {
        const uint32_t word = (uint32_t)(PZ_P(piece)(bits, i / 64) >> i % 64);
        const uint32_t more = (uint32_t)(PZ_P(piece)(mask, i / 64) >> i % 64);

        if (more != 0)
            pzi_put_bits(warp->stream.word, at, pzi_extract32(word, more), 32);
        at += pzi_count32(more);
    }
}

/* Level l, from bit `at` on. */
PZI_FN void PZ_CAT(put_quotients)(PZ_LOCAL PZ_WARP *warp, uint32_t l, uint32_t at,
                                  const uint32_t before[PZ_SLOTS])
{
    for (PZ_EACH_LANE(&warp->lanes))
        PZ_CAT(put_extract)
    (warp, PZ_CAT(quotient_plane)(warp, lane, l + 1), PZ_CAT(quotient_plane)(warp, lane, l),
     at + (before[PZ_SLOT] >> l % 2 * 16 & 0xffff));
}

/* The escaped quotients, `width` bits each, from bit `at` on. */
PZI_FN void PZ_CAT(put_escaped)(PZ_LOCAL PZ_WARP *warp, uint32_t n, uint32_t e,
                                uint32_t differences, uint32_t width, uint32_t at,
                                const uint32_t before[PZ_SLOTS])
{
    for (PZ_EACH_LANE(&warp->lanes)) {
        uint32_t next = at + (before[PZ_SLOT] & 0xffff) * width;

        for (PZ_WIDE left = PZ_CAT(quotient_plane)(warp, lane, PZI_LEVELS); !PZ_P(is_zero)(left);
             left = PZ_P(rest)(left), next += width)
            pzi_put_bits(warp->stream.word, next,
                         (PZ_SYMBOL)(PZ_CAT(number)(warp->chunk.symbol, n, e, differences,
                                                    lane * PZ_N + PZ_P(lowest)(left)) >>
                                     warp->block[PZ_CAT(cut)][lane]),
                         width);
    }
}

/* Byte 0; at byte `at` the headers of the blocks, and the base symbol. */
PZI_FN void PZ_CAT(put_number_header)(PZ_LOCAL PZ_WARP *warp, uint32_t nb, uint32_t flags,
                                      uint32_t at)
{
    const uint32_t count = flags >> 7 ? 1 : nb;

    for (PZ_EACH_LANE(&warp->lanes)) {
        if (lane < count)
            pzi_put_bits(warp->stream.word, 8 * (at + lane), warp->block[PZ_CAT(cut)][lane], 8);
        if (lane != 0)
            continue;
        pzi_put_bits(warp->stream.word, 0, flags, 8);
        if ((flags & 3) == 2)
            pzi_put_bits(warp->stream.word, 8 * (at + count), warp->chunk.symbol[0], PZ_W);
    }
}

/* Bits that each part has, and where the parts begin, in bytes. */
struct PZ_CAT(plan) {
    uint32_t flags; /* byte 0 */
    uint32_t width; /* of an escape */
    uint32_t headers, blocks, level[PZI_LEVELS], escapes, end;
};

PZI_FN void PZ_CAT(plan_numbers)(PZ_LOCAL PZ_WARP *warp, uint32_t nb, uint32_t differences,
                                 uint32_t masks_bytes, const uint32_t bits[PZI_LEVELS],
                                 struct PZ_CAT(plan) * plan)
{
    const PZ_SYMBOL seen = PZ_CAT(ored)(&warp->count[PZ_CAT(quotients_seen)]);
    const uint32_t is_one = PZ_CAT(cuts_are_equal)(warp, nb);

    plan->width = seen == 0 ? 1 : 64 - PZI_CLZ64((uint64_t)seen);
    plan->flags =
        (differences ? 2 : 1) | (plan->width - 1) << 2 | (masks_bytes > 0) << 6 | is_one << 7;
    plan->headers = 1 + masks_bytes;
    plan->blocks = plan->headers + (is_one ? 1 : nb) + (differences ? PZ_W / 8 : 0);
    plan->end = PZ_CAT(put_blocks)(warp, nb, plan->blocks, 0);
    for (uint32_t l = 1; l < PZI_LEVELS; l++) {
        plan->level[l] = plan->end;
        plan->end += pzi_bytes_of_bits(bits[l]);
    }
    plan->escapes = plan->end;
    plan->end += pzi_bytes_of_bits(bits[0] * plan->width);
}

/* Writes the payload of n symbols, which may be the coded ones of `masked` blocks put together, or
 * all if that is 0; but not if it has room_bytes or more.  Returns its size. */
PZI_FN uint32_t PZ_CAT(encode_numbers)(PZ_LOCAL PZ_WARP *warp, uint32_t n, uint32_t e,
                                       uint32_t differences, uint32_t masked, uint32_t room_bytes)
{
    const uint32_t nb = PZ_CAT(blocks_of)(n);
    uint32_t bits[PZI_LEVELS], before[PZI_LEVELS / 2][PZ_SLOTS];
    struct PZ_CAT(sample) all;
    struct PZ_CAT(plan) plan;

    all.first = 0;
    all.step = 1;
    all.count = nb;
    PZ_CAT(number_planes)(warp, warp->chunk.symbol, &all, n, e, differences);
    PZ_CAT(cut_blocks)(warp, n, e, differences, bits, before);
    PZ_CAT(plan_numbers)
    (warp, nb, differences, masked > 0 ? PZ_CAT(masks_bytes)(warp, masked) : 0, bits, &plan);
    if (plan.end >= room_bytes)
        return plan.end;
    if (masked > 0)
        PZ_CAT(put_masks)(warp, masked, 1);
    PZ_CAT(put_number_header)(warp, nb, plan.flags, plan.headers);
    (void)PZ_CAT(put_blocks)(warp, nb, plan.blocks, room_bytes);
    for (uint32_t l = 1; l < PZI_LEVELS; l++)
        PZ_CAT(put_quotients)(warp, l, 8 * plan.level[l], before[l / 2]);
    PZ_CAT(put_escaped)(warp, n, e, differences, plan.width, 8 * plan.escapes, before[0]);
    PZ_SYNC(&warp->lanes);
    return plan.end;
}
