/* Template, parameter PZ_W: what an encoder of format 2 finds out about a chunk before it writes
 * (docs/format2.md, "Canonical choices"): coded symbols, constant bits, the window of the exponents
 * and the cost of the modes. */

/* What the header of modes E and C tells, or is to tell. */
PZ_SHAPE
{
    uint32_t e, m;
    uint32_t t;         /* lowest bits of the mantissa that are fixed; 0 in mode E */
    PZ_SYMBOL fixed;    /* these bits */
    uint32_t B, x;      /* of a mantissa of m - t bits */
    uint32_t has_zeros; /* Z: zero symbols are not coded */
    uint32_t has_signs; /* S */
    uint32_t base, code;
    uint32_t c;
};

PZI_FN void PZ_CAT(set_constant)(PZ_SHAPE *shape, uint32_t t, PZ_SYMBOL fixed)
{
    shape->t = t;
    shape->fixed = fixed;
    shape->B = (shape->m - t + 1) / 8;
    shape->x = (shape->m - t + 1) % 8;
}

PZI_FN uint32_t PZ_CAT(exponent_in)(PZ_SYMBOL symbol, uint32_t e)
{
    return (uint32_t)(symbol >> (PZ_W - 1 - e)) & ((1u << e) - 1);
}

/* Counters of the look at a chunk. */
enum {
    PZ_CAT(any) = 0,     /* all symbols, ORed: two words */
    PZ_CAT(not_all) = 2, /* those that are not zero, complemented and ORed */
    PZ_CAT(largest) = 4, /* exponent of the sample */
    PZ_CAT(sampled) = 5,
    PZ_CAT(negative) = 6,
    PZ_CAT(best) = 7,
    PZ_CAT(depth) = 8 /* PZI_DEPTHS of them */
};

PZI_FN void PZ_CAT(or_symbol)(PZ_LOCAL uint32_t *words, PZ_SYMBOL symbol)
{
    PZ_OR32(&words[0], (uint32_t)symbol);
#if PZ_W == 64
    PZ_OR32(&words[1], (uint32_t)(symbol >> 32));
#endif
}

PZI_FN PZ_SYMBOL PZ_CAT(ored)(PZ_LOCAL const uint32_t *words)
{
    return (PZ_SYMBOL)(words[0] | (uint64_t)words[1] << 32);
}

/* Whether one of the symbols of a quad is zero. */
PZI_FN uint32_t PZ_CAT(has_zero)(pzi_quad q)
{
#if PZ_W == 64
    return (q.x | q.y) == 0 || (q.z | q.w) == 0;
#else
    const uint32_t tops = 0xffffffffu / (uint32_t)((PZ_SYMBOL) ~(PZ_SYMBOL)0) << (PZ_W - 1);
    const uint32_t rest = ~tops; /* adding them carries to the top bit of what is not zero */

    return (((((q.x & rest) + rest) | q.x) & (((q.y & rest) + rest) | q.y) &
             (((q.z & rest) + rest) | q.z) & (((q.w & rest) + rest) | q.w)) &
            tops) != tops;
#endif
}

/* ORs of words to those of the symbols in them. */
PZI_FN PZ_SYMBOL PZ_CAT(fold)(pzi_quad q)
{
#if PZ_W == 64
    return (q.x | q.z) | (uint64_t)(q.y | q.w) << 32;
#else
    uint32_t word = q.x | q.y | q.z | q.w;

    for (uint32_t shift = PZ_W; shift < 32; shift *= 2)
        word |= word >> shift;
    return (PZ_SYMBOL)word;
#endif
}

/* ORs all symbols, and their complements if none of a whole chunk is zero; returns whether that is
 * so. */
PZI_FN uint32_t PZ_CAT(glance)(PZ_LOCAL PZ_WARP *warp)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(PZ_SYMBOL, not_all);
    PZ_LANE_VAR(uint32_t, is_zero);
    uint32_t zeros;

    for (PZ_EACH_LANE(lanes)) {
        pzi_quad any = warp->chunk.quad[lane], not_any = any;

        not_any.x = ~any.x, not_any.y = ~any.y, not_any.z = ~any.z, not_any.w = ~any.w;
        is_zero[PZ_SLOT] = PZ_CAT(has_zero)(any);
        for (uint32_t i = PZ_LANES + lane; i < PZ_CHUNK_BYTES / 16; i += PZ_LANES) {
            const pzi_quad q = warp->chunk.quad[i];

            any.x |= q.x, any.y |= q.y, any.z |= q.z, any.w |= q.w;
            not_any.x |= ~q.x, not_any.y |= ~q.y, not_any.z |= ~q.z, not_any.w |= ~q.w;
            is_zero[PZ_SLOT] |= PZ_CAT(has_zero)(q);
        }
        not_all[PZ_SLOT] = PZ_CAT(fold)(not_any);
        PZ_CAT(or_symbol)(&warp->count[PZ_CAT(any)], PZ_CAT(fold)(any));
    }
    PZ_BALLOT(lanes, zeros, is_zero);
    for (PZ_EACH_LANE(lanes))
        if (zeros == 0)
            PZ_CAT(or_symbol)(&warp->count[PZ_CAT(not_all)], not_all[PZ_SLOT]);
    PZ_SYNC(lanes);
    return zeros == 0;
}

/* Notes which symbols are not zero; returns how many. */
PZI_FN uint32_t PZ_CAT(survey)(PZ_LOCAL PZ_WARP *warp, uint32_t n)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(PZ_SYMBOL, not_all);
    PZ_LANE_VAR(PZ_SYMBOL, symbol);
    uint32_t count = 0, present;

    if (PZ_CAT(glance)(warp))
        return n;
    for (PZ_EACH_LANE(lanes))
        not_all[PZ_SLOT] = 0;
    for (uint32_t row = 0; row < PZ_CAT(rows_of)(n); row++) {
        for (PZ_EACH_LANE(lanes)) {
            const PZ_SYMBOL s = warp->chunk.symbol[row * 32 + lane];

            symbol[PZ_SLOT] = s;
            not_all[PZ_SLOT] |= s == 0 ? 0 : (PZ_SYMBOL)~s;
        }
        PZ_BALLOT(lanes, present, symbol);
        count += pzi_count32(present);
        if (PZ_IS_FIRST(lanes))
            warp->coded[row] = present;
    }
    for (PZ_EACH_LANE(lanes))
        PZ_CAT(or_symbol)(&warp->count[PZ_CAT(not_all)], not_all[PZ_SLOT]);
    PZ_SYNC(lanes);
    return count;
}

/* All that modes E and C need to know of the chunk, but for the window. */
PZI_FN void PZ_CAT(look)(PZ_LOCAL PZ_WARP *warp, uint32_t n, PZ_SHAPE *shape)
{
    const uint32_t rows = PZ_CAT(rows_of)(n);
    const uint32_t c = PZ_CAT(survey)(warp, n);
    const PZ_SYMBOL any = PZ_CAT(ored)(&warp->count[PZ_CAT(any)]);
    const PZ_SYMBOL all = (PZ_SYMBOL)~PZ_CAT(ored)(&warp->count[PZ_CAT(not_all)]);
    uint64_t differing;
    uint32_t t;

    shape->has_signs = (uint32_t)(any >> (PZ_W - 1));
    shape->has_zeros = (n - c) * (shape->m + 16) > n;
    shape->c = shape->has_zeros ? c : n;
    differing = shape->has_zeros || c == n ? (PZ_SYMBOL)(any ^ all) : any;
    t = PZI_CTZ64(differing | (uint64_t)1 << shape->m);
    if (shape->c * t < 64)
        t = 0;
    PZ_CAT(set_constant)(shape, t, (PZ_SYMBOL)(any & (PZ_SYMBOL)pzi_low_bits(t)));
    if (shape->has_zeros)
        return;
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t row = lane; row < rows; row += PZ_LANES)
            warp->coded[row] = pzi_row_of(n, row);
    PZ_SYNC(&warp->lanes);
}

/* ---- The sample ----------------------------------------------------------------------------- */

/* `count` blocks, from number `first` on every step-th one. */
struct PZ_CAT(sample) {
    uint32_t first, step, count;
};

PZI_FN struct PZ_CAT(sample) PZ_CAT(sample_of)(uint32_t n)
{
    const uint32_t nb = PZ_CAT(blocks_of)(n);
    struct PZ_CAT(sample) sample;

    sample.first = nb < 4 ? 0 : 3;
    sample.step = nb < 4 ? 1 : 4;
    sample.count = nb < 4 ? nb : nb / 4;
    return sample;
}

/* Word `lane` of a block of the sample, or 0 if there is no exponent in it: with symbols of 64 bits
 * it is in every second word. */
PZI_FN uint32_t PZ_CAT(sampled_word)(PZ_LOCAL const PZ_WARP *warp, uint32_t b, uint32_t lane)
{
    return PZ_W < 64 || lane % 2 == 1 ? warp->chunk.word[b * 32 + lane] : 0;
}

enum {
    PZ_CAT(word_symbols) = PZ_W < 64 ? 32 / PZ_W : 1,
    PZ_CAT(word_bits) = 32 / PZ_CAT(word_symbols)
};

/* The largest exponent of the sample, how many are coded, whether one is negative.  Zero symbols
 * change neither the first nor the last. */
PZI_FN void PZ_CAT(look_at_sample)(PZ_LOCAL PZ_WARP *warp, const struct PZ_CAT(sample) * sample,
                                   uint32_t e)
{
    for (PZ_EACH_LANE(&warp->lanes)) {
        uint32_t largest = 0, any = 0, sampled = 0;

        for (uint32_t k = 0; k < sample->count; k++) {
            const uint32_t word =
                PZ_CAT(sampled_word)(warp, sample->first + k * sample->step, lane);

            any |= word;
            for (uint32_t q = 0; q < PZ_CAT(word_symbols); q++) {
                const uint32_t size = word << (32 - (q + 1) * PZ_CAT(word_bits)) << 1;

                largest = size > largest ? size : largest;
            }
        }
        for (uint32_t k = lane; k < sample->count; k += PZ_LANES)
            sampled += PZ_P(count)(PZ_CAT(coded_of)(warp, sample->first + k * sample->step));
        for (uint32_t shift = PZ_CAT(word_bits); shift < 32; shift *= 2)
            any |= any << shift;
        PZ_MAX32(&warp->count[PZ_CAT(largest)], largest >> (32 - e));
        PZ_ADD32(&warp->count[PZ_CAT(sampled)], sampled);
        PZ_OR32(&warp->count[PZ_CAT(negative)], any >> 31);
    }
    PZ_SYNC(&warp->lanes);
}

/* How many coded symbols of the sample have the largest exponent, one less, and so on. */
PZI_FN void PZ_CAT(count_depths)(PZ_LOCAL PZ_WARP *warp, const struct PZ_CAT(sample) * sample,
                                 uint32_t e)
{
    const uint32_t largest = warp->count[PZ_CAT(largest)];

    for (PZ_EACH_LANE(&warp->lanes)) {
        const uint32_t first = PZ_W < 64 ? lane * PZ_CAT(word_symbols) : lane / 2;

        for (uint32_t k = 0; k < sample->count; k++) {
            const uint32_t b = sample->first + k * sample->step, i = b * PZ_N + first;
            const uint32_t word = PZ_CAT(sampled_word)(warp, b, lane);
            const uint32_t coded = PZ_W < 64 || lane % 2 == 1 ? warp->coded[i / 32] >> i % 32 : 0;

            for (uint32_t q = 0; q < PZ_CAT(word_symbols); q++) {
                const uint32_t top = word << (32 - (q + 1) * PZ_CAT(word_bits));
                const uint32_t depth = largest - (top << 1 >> (32 - e));

                if (depth < PZI_DEPTHS && (coded >> q & 1))
                    PZ_ADD32(&warp->count[PZ_CAT(depth) + depth], 1);
            }
        }
    }
    PZ_SYNC(&warp->lanes);
}

/* The cost of the sample's exponents with base largest - shift in code j. */
PZI_FN uint32_t PZ_CAT(window_cost)(PZ_LOCAL const PZ_WARP *warp, PZ_GLOBAL const uint8_t *lengths,
                                    uint32_t shift, uint32_t j, uint32_t escape_bits)
{
    uint32_t outside = warp->count[PZ_CAT(sampled)], cost = 0;

    for (uint32_t k = 0; k < PZI_ESCAPE; k++) {
        const uint32_t count = warp->count[PZ_CAT(depth) + shift + k];

        outside -= count;
        cost += count * lengths[k * PZI_CODES + j];
    }
    return cost + outside * (lengths[PZI_ESCAPE * PZI_CODES + j] + escape_bits);
}

/* Chooses base and code; returns the code cost.  Each lane has two pairs of a shift and a code. */
PZI_FN uint32_t PZ_CAT(choose_window)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                      PZ_SHAPE *shape)
{
    PZ_GLOBAL const uint8_t *const lengths = tables + PZI_CODES * PZI_CODE_BYTES;
    const uint32_t largest = warp->count[PZ_CAT(largest)];
    uint32_t best;

    for (PZ_EACH_LANE(&warp->lanes)) {
        for (uint32_t pair = lane; pair < 4 * PZI_CODES; pair += PZ_LANES) {
            const uint32_t shift = pair / PZI_CODES;

            if (shift <= largest)
                PZ_MIN32(&warp->count[PZ_CAT(best)],
                         PZ_CAT(window_cost)(warp, lengths, shift, pair % PZI_CODES,
                                             shape->e > 8 ? 16 : 8)
                                 << 8 |
                             pair);
        }
    }
    PZ_SYNC(&warp->lanes);
    best = warp->count[PZ_CAT(best)];
    shape->base = largest - (best & 0xff) / PZI_CODES;
    shape->code = best % PZI_CODES;
    return best >> 8;
}

/* Cost of modes E and C, and their window. */
PZI_FN uint32_t PZ_CAT(exponents_cost)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *tables,
                                       const struct PZ_CAT(sample) * sample, PZ_SHAPE *shape)
{
    uint32_t cost, masks = 0;

    PZ_CAT(look_at_sample)(warp, sample, shape->e);
    PZ_CAT(count_depths)(warp, sample, shape->e);
    cost = PZ_CAT(choose_window)(warp, tables, shape);
    cost +=
        warp->count[PZ_CAT(sampled)] * (shape->m - shape->t + (warp->count[PZ_CAT(negative)] != 0));
    for (uint32_t k = 0; shape->has_zeros && k < sample->count; k++)
        masks += !PZ_P(is_zero)(PZ_CAT(coded_of)(warp, sample->first + k * sample->step));
    return cost + masks * PZ_N;
}
