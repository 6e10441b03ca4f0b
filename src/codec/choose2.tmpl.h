/* Template, parameter PZ_W: the mode of a chunk of format 2 (docs/format2.md, "Canonical choices").
 * The including file has defined the vocabulary (see group_scalar.tmpl.h). */

/* What modes E and C make of a chunk: what their header tells, or is to tell.  In modes I and D
 * just has_zeros, coded and c mean something. */
PZ_LAYOUT
{
    unsigned e, m;
    unsigned t;         /* lowest bits of the mantissa that are constant; 0 in mode E */
    PZ_SYMBOL constant; /* these bits */
    unsigned B, x;      /* of a mantissa of m - t bits */
    bool has_zeros;     /* Z: zero symbols are not coded */
    bool has_signs;     /* S */
    struct pzi_window2 window;
    PZ_PLANE coded[PZ_CHUNK_BLOCKS]; /* if has_zeros */
    unsigned c;
};

PZI_INLINE void PZ_CAT(set_constant)(PZ_LAYOUT *layout, unsigned t, PZ_SYMBOL constant)
{
    const unsigned bits = layout->m - t + 1;

    layout->t = t;
    layout->constant = constant;
    layout->B = bits / 8;
    layout->x = bits % 8;
}

/* The number of lowest bits, at most m, that are no difference; 0 if writing them once does not
 * pay. */
static inline unsigned PZ_CAT(constant_bits)(unsigned m, PZ_SYMBOL differing, unsigned c)
{
    const uint64_t ends = (uint64_t)differing | (uint64_t)1 << m;
    const unsigned t = PZI_CTZ64(ends);

    return c * t >= 64 ? t : 0;
}

/* Looks at all of the chunk.  The window is not yet chosen. */
PZI_INLINE void PZ_CAT(look2)(unsigned e, const uint8_t *raw, unsigned n, PZ_LAYOUT *layout)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;
    PZ_SYMBOL any = 0, all = (PZ_SYMBOL)-1, differing;
    unsigned c = 0;

    layout->e = e;
    layout->m = PZ_W - 1 - e;
    for (unsigned b = 0; b < nb; b++) {
        layout->coded[b] = PZ_CAT(present)(raw + b * PZ_BLOCK_BYTES);
        c += PZ_P(count)(layout->coded[b]);
    }
    PZ_CAT(common_bits)(raw, nb, &any, &all);
    layout->has_signs = any >> (PZ_W - 1) != 0;
    layout->has_zeros = (n - c) * (layout->m + 16) > n;
    differing = layout->has_zeros || c == n ? (PZ_SYMBOL)(any ^ all) : any;
    layout->c = layout->has_zeros ? c : n;
    PZ_CAT(set_constant)(layout, 0, 0);
    if ((differing & 1) == 0) {
        const unsigned t = PZ_CAT(constant_bits)(layout->m, differing, layout->c);

        PZ_CAT(set_constant)(layout, t, (PZ_SYMBOL)(any & (((PZ_SYMBOL)1 << t) - 1)));
    }
}

/* The sample: `count` blocks, from number `first` on every step-th one. */
PZ_SAMPLE
{
    const uint8_t *raw;
    unsigned first, step, count, n;
};

static inline PZ_SAMPLE PZ_CAT(sample_of)(const uint8_t *raw, unsigned n)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;

    if (nb < 4)
        return (PZ_SAMPLE){raw, 0, 1, nb, n};
    return (PZ_SAMPLE){raw, 3, 4, nb / 4, n};
}

/* Cost of mode I or D; at `enough` or more it may be less than the whole. */
static inline unsigned PZ_CAT(numbers_cost)(const PZ_SAMPLE *sample, unsigned e, bool differences,
                                            unsigned enough)
{
    unsigned cost = 0;

    for (unsigned i = 0; i < sample->count && cost < enough; i++) {
        const unsigned block = sample->first + i * sample->step;
        PZ_NUMBERS z;

        PZ_CAT(number_planes)(sample->raw, sample->n, block, e, differences, &z);
        cost += PZ_CAT(cut_of)(&z).cost + 8;
    }
    return cost;
}

/* Cost of mode D with Z = 1; at `enough` or more it may be less than the whole. */
static inline unsigned PZ_CAT(sparse_cost)(const PZ_SAMPLE *sample, unsigned e,
                                           const PZ_LAYOUT *layout, unsigned enough)
{
    uint8_t front[PZ_CHUNK_BYTES / 4 + PZ_BLOCK_BYTES];
    PZ_SAMPLE packed = {front, 0, 1, 0, 0};
    unsigned masks = 0;

    for (unsigned i = 0; i < sample->count; i++) {
        const unsigned block = sample->first + i * sample->step;
        const PZ_PLANE coded = layout->coded[block];

        PZ_CAT(compact)
        (sample->raw + block * PZ_BLOCK_BYTES, coded, front + packed.n * (PZ_W / 8));
        packed.n += PZ_P(count)(coded);
        masks += PZ_P(is_zero)(coded) ? 0 : PZ_N;
    }
    memset(front + packed.n * (PZ_W / 8), 0, PZ_BLOCK_BYTES);
    packed.count = (packed.n + PZ_N - 1) / PZ_N;
    if (masks >= enough)
        return masks;
    return masks + PZ_CAT(numbers_cost)(&packed, e, true, enough - masks);
}

/* Cost of modes E and C, and their window. */
PZI_INLINE unsigned PZ_CAT(exponents_cost)(unsigned e, const PZ_SAMPLE *sample, PZ_LAYOUT *layout)
{
    const uint8_t *const first = sample->raw + sample->first * PZ_BLOCK_BYTES;
    const size_t step = sample->step * PZ_BLOCK_BYTES;
    struct pzi_survey2 survey = {0};
    bool has_negative = false;
    unsigned cost;

    for (unsigned i = 0; i < sample->count; i++) {
        const unsigned block = sample->first + i * sample->step;
        const PZ_PLANE coded =
            layout->has_zeros ? layout->coded[block] : PZ_CAT(existing)(sample->n, block);

        survey.symbols += PZ_P(count)(coded);
        survey.blocks += !PZ_P(is_zero)(coded);
        has_negative |= layout->has_signs && PZ_CAT(has_negative)(first + i * step);
    }
    PZ_CAT(count_exponents)(first, step, sample->count, e, &survey);
    cost = pzi_best_window(&survey, e > 8 ? 16 : 8, &layout->window);
    cost += survey.symbols * (layout->m - layout->t + has_negative);
    return cost + (layout->has_zeros ? survey.blocks * PZ_N : 0);
}

/* The canonical mode; *layout is that of modes E and C.  *packed says whether mode D is that with
 * Z = 1. */
PZI_INLINE pz_encoding PZ_CAT(choose_exponents)(unsigned e, uint32_t encodings, const uint8_t *raw,
                                                unsigned n, PZ_LAYOUT *layout, bool *packed)
{
    const PZ_SAMPLE sample = PZ_CAT(sample_of)(raw, n);
    pz_encoding best;
    unsigned cost, other;

    PZ_CAT(look2)(e, raw, n, layout);
    cost = PZ_CAT(exponents_cost)(e, &sample, layout);
    best = layout->t > 0 ? PZ_CONSTANTS : PZ_EXPONENTS;
    *packed = false;
    if (!(encodings & 1u << PZ_DIFFERENCES))
        return best;
    other = PZ_CAT(numbers_cost)(&sample, e, true, cost);
    if (other < cost) {
        cost = other;
        best = PZ_DIFFERENCES;
    }
    *packed = layout->has_zeros && PZ_CAT(sparse_cost)(&sample, e, layout, cost) < cost;
    return *packed ? PZ_DIFFERENCES : best;
}

static inline pz_encoding PZ_CAT(choose_numbers)(uint32_t encodings, const uint8_t *raw, unsigned n)
{
    const PZ_SAMPLE sample = PZ_CAT(sample_of)(raw, n);
    unsigned cost;

    if (!(encodings & 1u << PZ_DIFFERENCES))
        return PZ_INTEGERS;
    cost = PZ_CAT(numbers_cost)(&sample, 0, false, UINT_MAX);
    return PZ_CAT(numbers_cost)(&sample, 0, true, cost) < cost ? PZ_DIFFERENCES : PZ_INTEGERS;
}
