/* Template, parameter PZ_W: reads modes I and D of format 2 (docs/format2.md, "Modes I and D").  A
 * lane has a block; its planes go to warp->planes, all lanes turn them into numbers, and in mode D
 * a sum over the chunk makes symbols of these. */

/* What a lane knows of its block, in warp->block: its header, and where its planes begin. */
enum { PZ_CAT(header) = 0, PZ_CAT(planes_at) = 1 };

/* With one header for all blocks it is there, and has to be valid, also if there is no block. */
PZI_FN uint32_t PZ_CAT(take_number_headers)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                                            uint32_t nb, uint32_t is_one)
{
    const uint32_t count = is_one ? 1 : nb;

    if (end - *next < count)
        return PZ_ERR_CHUNK_END;
    for (PZ_EACH_LANE(&warp->lanes)) {
        const uint32_t header = warp->stream.byte[*next + (is_one || lane >= nb ? 0 : lane)];

        warp->block[PZ_CAT(header)][lane] = lane < nb ? header : 128;
        if ((lane < nb || lane < count) && (header & 127) > PZ_W - (header < 128))
            PZ_CAT(blame)(warp, lane, PZ_ERR_RANGE);
    }
    *next += count;
    return PZ_CAT(settle)(warp);
}

/* Whether a bit of a plane of block b is set at which there is no symbol. */
PZI_FN uint32_t PZ_CAT(is_overfull)(PZ_LOCAL const PZ_WARP *warp, uint32_t n, uint32_t b,
                                    uint32_t at, uint32_t planes)
{
    PZ_WIDE seen = PZ_P(of)(0, 0);

    if (planes == 0 || n >= (b + 1) * PZ_N)
        return 0;
    for (uint32_t j = 0; j < planes; j++)
        seen = PZ_P(or)(seen, PZ_CAT(take_plane)(warp, 8 * at + j * PZ_N));
    return !PZ_P(is_zero)(PZ_P(without)(seen, PZ_CAT(existing)(n, b)));
}

/* Where the planes of each block are, and that they are there. */
PZI_FN uint32_t PZ_CAT(take_blocks)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                                    uint32_t n)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, begin);
    uint32_t bytes;

    for (PZ_EACH_LANE(lanes)) {
        const uint32_t header = warp->block[PZ_CAT(header)][lane];

        begin[PZ_SLOT] = ((header & 127) + (header < 128)) * (PZ_N / 8);
    }
    bytes = pzi_scan(lanes, begin);
    for (PZ_EACH_LANE(lanes)) {
        const uint32_t header = warp->block[PZ_CAT(header)][lane];
        const uint32_t planes = (header & 127) + (header < 128), at = *next + begin[PZ_SLOT];

        warp->block[PZ_CAT(planes_at)][lane] = at;
        if (at + planes * (PZ_N / 8) > end)
            PZ_CAT(blame)(warp, lane, PZ_ERR_CHUNK_END);
        else if (PZ_CAT(is_overfull)(warp, n, lane, at, lane < PZ_CAT(blocks_of)(n) ? planes : 0))
            PZ_CAT(blame)(warp, lane, PZ_ERR_PADDING);
    }
    *next += bytes;
    return PZ_CAT(settle)(warp);
}

PZI_FN void PZ_CAT(take_first_quotients)(PZ_LOCAL PZ_WARP *warp)
{
    for (PZ_EACH_LANE(&warp->lanes)) {
        const uint32_t k = warp->block[PZ_CAT(header)][lane];
        const uint32_t at = 8 * warp->block[PZ_CAT(planes_at)][lane] + k * PZ_N;
        PZ_LOCAL uint32_t *const to = PZ_CAT(quotient)(warp, lane, 1);

        for (uint32_t i = 0; i < PZ_N; i += 32)
            to[i / 32] = k < 128 ? pzi_bits32(warp->stream.word, at + i) &
                                       (uint32_t)pzi_low_bits(PZ_N < 32 ? PZ_N : 32)
                                 : 0;
    }
}

/* Level l: which quotients are more than l. */
PZI_FN uint32_t PZ_CAT(take_quotients)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end,
                                       uint32_t l)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, before);
    uint32_t bits;

    for (PZ_EACH_LANE(lanes))
        before[PZ_SLOT] = PZ_P(count)(PZ_CAT(quotient_plane)(warp, lane, l));
    bits = pzi_scan(lanes, before);
    if (pzi_bytes_of_bits(bits) > end - *next)
        return PZ_ERR_CHUNK_END;
    for (PZ_EACH_LANE(lanes)) {
        PZ_LOCAL const uint32_t *const mask = PZ_CAT(quotient)(warp, lane, l);
        PZ_LOCAL uint32_t *const to = PZ_CAT(quotient)(warp, lane, l + 1);
        uint32_t at = 8 * *next + before[PZ_SLOT];

        for (uint32_t i = 0; i < PZ_N; i += 32) {
            to[i / 32] = mask[i / 32] == 0
                             ? 0
                             : pzi_deposit32(pzi_bits32(warp->stream.word, at), mask[i / 32]);
            at += pzi_count32(mask[i / 32]);
        }
    }
    return PZ_CAT(skip_plane)(warp, next, end, bits);
}

/* The planes of block b, in place of its quotients, of which the escapes stay in `escapes` and
 * count as 0. */
PZI_FN void PZ_CAT(restore_block)(PZ_LOCAL PZ_WARP *warp, uint32_t b, PZ_WIDE *escapes)
{
    const uint32_t k = warp->block[PZ_CAT(header)][b] & 127;
    const uint32_t at = 8 * warp->block[PZ_CAT(planes_at)][b];
    PZ_WIDE a[7], four, two, odd;

    for (uint32_t l = 1; l <= PZI_LEVELS; l++)
        a[l] = PZ_CAT(quotient_plane)(warp, b, l);
    four = PZ_P(without)(a[4], a[6]);
    two = PZ_P(without)(a[2], a[4]);
    odd = PZ_P(or)(PZ_P(without)(a[1], a[2]),
                   PZ_P(or)(PZ_P(without)(a[3], a[4]), PZ_P(without)(a[5], a[6])));
    if ((k + 1 >= PZ_W && !PZ_P(is_zero)(two)) || (k + 2 >= PZ_W && !PZ_P(is_zero)(four)))
        PZ_CAT(blame)(warp, b, PZ_ERR_RANGE);
    *escapes = a[6];
    for (uint32_t j = 0; j < PZ_W; j++) {
        PZ_WIDE plane = PZ_P(of)(0, 0);

        if (j < k)
            plane = PZ_CAT(take_plane)(warp, at + j * PZ_N);
        else if (j - k < 3)
            plane = j == k ? odd : j == k + 1 ? two : four;
        PZ_CAT(set_plane)(warp, b, j, plane);
    }
}

/* Adds the escaped quotients of a block, which begin at bit `at`, to its numbers. */
PZI_FN void PZ_CAT(add_escapes)(PZ_LOCAL PZ_WARP *warp, uint32_t b, PZ_WIDE escapes, uint32_t width,
                                uint32_t at, uint32_t end)
{
    const uint32_t k = warp->block[PZ_CAT(header)][b];

    if (at + PZ_P(count)(escapes) * width > 8 * end) {
        PZ_CAT(blame)(warp, b, PZ_ERR_CHUNK_END);
        return;
    }
    for (; !PZ_P(is_zero)(escapes); escapes = PZ_P(rest)(escapes), at += width) {
        const uint64_t q = pzi_bits32(warp->stream.word, at) & pzi_low_bits(width);

        if (k > 0 && q >> (PZ_W - k) != 0)
            PZ_CAT(blame)(warp, b, PZ_ERR_RANGE);
        else
            warp->chunk.symbol[b * PZ_N + PZ_P(lowest)(escapes)] |= (PZ_SYMBOL)(q << k);
    }
}

/* The numbers of all blocks; the payload has to end with the escapes. */
PZI_FN uint32_t PZ_CAT(restore)(PZ_LOCAL PZ_WARP *warp, uint32_t *next, uint32_t end, uint32_t nb,
                                uint32_t width)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(PZ_WIDE, escapes);
    PZ_LANE_VAR(uint32_t, before);
    uint32_t count, status;

    for (PZ_EACH_LANE(lanes)) {
        escapes[PZ_SLOT] = PZ_P(of)(0, 0);
        if (lane < nb)
            PZ_CAT(restore_block)(warp, lane, &escapes[PZ_SLOT]);
        before[PZ_SLOT] = PZ_P(count)(escapes[PZ_SLOT]);
    }
    count = pzi_scan(lanes, before);
    status = PZ_CAT(settle)(warp);
    if (status != PZ_OK)
        return status;
    for (uint32_t b = 0; b < nb; b++)
        PZ_CAT(from_planes)(warp, b);
    PZ_SYNC(lanes);
    for (PZ_EACH_LANE(lanes))
        if (!PZ_P(is_zero)(escapes[PZ_SLOT]))
            PZ_CAT(add_escapes)
    (warp, lane, escapes[PZ_SLOT], width, 8 * *next + before[PZ_SLOT] * width, end);
    status = PZ_CAT(settle)(warp);
    return status == PZ_OK ? PZ_CAT(skip_plane)(warp, next, end, count * width) : status;
}

/* Symbols that a lane adds up by itself, and what sums of w bits are made in. */
enum { PZ_CAT(run) = PZ_W == 8 ? 8 : 128 / PZ_W };

#if PZ_W == 64
#define PZ_SUM uint64_t
#define PZ_SCAN pzi_scan64
#else
#define PZ_SUM uint32_t
#define PZ_SCAN pzi_scan
#endif

struct PZ_CAT(sums) {
    PZ_SUM of[PZ_CAT(run)];
};

/* Symbols from the z of their differences. */
PZI_FN void PZ_CAT(unfold)(PZ_LOCAL PZ_WARP *warp, PZ_SYMBOL base, uint32_t e, uint32_t n)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(struct PZ_CAT(sums), sums);
    PZ_LANE_VAR(PZ_SUM, below);
    PZ_SUM last = PZ_CAT(ordered)(base, e);

    for (uint32_t first = 0; first < n; first += PZ_LANES * PZ_CAT(run)) {
        PZ_SUM total;

        for (PZ_EACH_LANE(lanes)) {
            below[PZ_SLOT] = 0;
            for (uint32_t k = 0; k < PZ_CAT(run); k++) {
                const PZ_SUM z = warp->chunk.symbol[first + lane * PZ_CAT(run) + k];

                below[PZ_SLOT] += (z >> 1) ^ (0 - (z & 1));
                sums[PZ_SLOT].of[k] = below[PZ_SLOT];
            }
        }
        total = PZ_SCAN(lanes, below);
        for (PZ_EACH_LANE(lanes))
            for (uint32_t k = 0; k < PZ_CAT(run); k++)
                warp->chunk.symbol[first + lane * PZ_CAT(run) + k] =
                    PZ_CAT(ordered)((PZ_SYMBOL)(last + below[PZ_SLOT] + sums[PZ_SLOT].of[k]), e);
        last += total;
    }
    PZ_SYNC(lanes);
}

#undef PZ_SUM
#undef PZ_SCAN

/* Behind byte 0 and the masks: n symbols. */
PZI_FN uint32_t PZ_CAT(take_numbers)(PZ_LOCAL PZ_WARP *warp, uint32_t flags, uint32_t e,
                                     uint32_t *next, uint32_t end, uint32_t n)
{
    const uint32_t nb = PZ_CAT(blocks_of)(n), width = (flags >> 2 & 15) + 1;
    const uint32_t differences = (flags & 3) == 2;
    PZ_SYMBOL base = 0;
    uint32_t status = PZ_CAT(take_number_headers)(warp, next, end, nb, flags >> 7);

    if (status == PZ_OK && differences) {
        if (end - *next < PZ_W / 8)
            return PZ_ERR_CHUNK_END;
        base = (PZ_SYMBOL)pzi_bits64(warp->stream.word, 8 * *next);
        *next += PZ_W / 8;
    }
    if (status == PZ_OK)
        status = PZ_CAT(take_blocks)(warp, next, end, n);
    if (status != PZ_OK)
        return status;
    PZ_CAT(take_first_quotients)(warp);
    for (uint32_t l = 1; status == PZ_OK && l < PZI_LEVELS; l++)
        status = PZ_CAT(take_quotients)(warp, next, end, l);
    if (status == PZ_OK)
        status = PZ_CAT(restore)(warp, next, end, nb, width);
    if (status == PZ_OK && differences)
        PZ_CAT(unfold)(warp, base, e, n);
    return status;
}

PZI_FN uint32_t PZ_CAT(decode_numbers)(PZ_LOCAL PZ_WARP *warp, uint32_t e, uint32_t *next,
                                       uint32_t end, uint32_t n)
{
    const uint32_t flags = warp->stream.byte[*next], has_masks = flags >> 6 & 1;
    PZ_SHAPE shape;
    uint32_t status = PZ_OK;

    *next += 1;
    if ((flags >> 2 & 15) >= PZ_W)
        return PZ_ERR_RANGE;
    shape.c = n;
    if (has_masks)
        status = PZ_CAT(take_masks)(warp, next, end, n, &shape);
    if (status == PZ_OK)
        status = PZ_CAT(take_numbers)(warp, flags, e, next, end, shape.c);
    if (status == PZ_OK && has_masks)
        PZ_CAT(spread)(warp, shape.c);
    return status;
}
