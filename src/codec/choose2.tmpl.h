/* Template, parameter PZ_W: the mode of a chunk of format 2 (docs/format2.md, "Canonical choices").
 * The including file has defined the vocabulary (see group_scalar.tmpl.h). */

/* The sample: `count` blocks, from number `first` on every step-th one. */
struct PZ_CAT(sample) {
    const uint8_t *raw;
    unsigned first, step, count, n;
};

static inline struct PZ_CAT(sample) PZ_CAT(sample_of)(const uint8_t *raw, unsigned n)
{
    const unsigned nb = (n + PZ_N - 1) / PZ_N;

    if (nb < 4)
        return (struct PZ_CAT(sample)){raw, 0, 1, nb, n};
    return (struct PZ_CAT(sample)){raw, 3, 4, nb / 4, n};
}

/* Symbols of block number `block` that exist. */
static inline PZ_PLANE PZ_CAT(existing)(unsigned n, unsigned block)
{
    const unsigned left = n - block * PZ_N;

    return PZ_P(below)(left < PZ_N ? left : PZ_N);
}

/* How modes I and D cut the numbers of a block. */
struct PZ_CAT(cut2) {
    unsigned k;
    bool exact;
    unsigned cost;
};

/* The bit planes of the z of a block, and zero planes behind them, so that k + 3 is an index. */
typedef struct PZ_CAT(numbers) {
    PZ_PLANE plane[PZ_W + 4];
} PZ_CAT(numbers);

static inline void PZ_CAT(number_planes)(const uint8_t *raw, unsigned n, unsigned block,
                                         bool differences, PZ_CAT(numbers) * z)
{
    const uint8_t *const from = raw + block * PZ_BLOCK_BYTES;
    uint8_t folded[PZ_BLOCK_BYTES];

    for (unsigned i = PZ_W; i < PZ_W + 4; i++)
        z->plane[i] = PZ_P(of)(0, 0);
    if (!differences) {
        PZ_CAT(planes)(from, z->plane);
        return;
    }
    PZ_CAT(fold)(from, block == 0 ? PZ_LOAD(raw, 0) : PZ_LOAD(from - PZ_W / 8, 0), folded);
    PZ_CAT(planes)(folded, z->plane);
    if (n < (block + 1) * PZ_N)
        for (unsigned j = 0; j < PZ_W; j++)
            z->plane[j] = PZ_P(and)(z->plane[j], PZ_CAT(existing)(n, block));
}

/* The symbols whose quotient is at least 1 .. 6, at index 1 .. 6, if the planes from k + 3 on,
 * together, are `high`. */
static inline void PZ_CAT(quotients)(const PZ_CAT(numbers) * z, unsigned k, PZ_PLANE high,
                                     PZ_PLANE at_least[7])
{
    const PZ_PLANE q0 = z->plane[k], q1 = z->plane[k + 1], q2 = z->plane[k + 2];
    const PZ_PLANE four = PZ_P(or)(q2, high), two = PZ_P(or)(q1, four);

    at_least[1] = PZ_P(or)(q0, two);
    at_least[2] = two;
    at_least[3] = PZ_P(or)(PZ_P(and)(q0, q1), four);
    at_least[4] = four;
    at_least[5] = PZ_P(or)(PZ_P(and)(PZ_P(or)(q0, q1), q2), high);
    at_least[6] = PZ_P(or)(PZ_P(and)(q1, q2), high);
}

static inline unsigned PZ_CAT(bit_length)(const PZ_CAT(numbers) * z)
{
    unsigned length = PZ_W;

    while (length > 0 && PZ_P(is_zero)(z->plane[length - 1]))
        length--;
    return length;
}

/* N (k + 1), and min(q, 5) + 12 [q >= 6] for each quotient, from the binary digits of min(q, 5). */
static inline unsigned PZ_CAT(cost_of)(const PZ_CAT(numbers) * z, unsigned k, PZ_PLANE high)
{
    const PZ_PLANE q0 = z->plane[k], q1 = z->plane[k + 1], q2 = z->plane[k + 2];
    const PZ_PLANE four = PZ_P(or)(q2, high);
    const PZ_PLANE five = PZ_P(or)(PZ_P(and)(PZ_P(or)(q0, q1), q2), high);
    const PZ_PLANE six = PZ_P(or)(PZ_P(and)(q1, q2), high);
    const PZ_PLANE ones = PZ_P(or)(PZ_P(without)(q0, four), five);

    return PZ_N * (k + 1) + PZ_P(count)(ones) + 2 * PZ_P(count)(PZ_P(without)(q1, four)) +
           4 * PZ_P(count)(four) + 12 * PZ_P(count)(six);
}

/* The canonical cut. */
static inline struct PZ_CAT(cut2) PZ_CAT(cut_of)(const PZ_CAT(numbers) * z)
{
    const unsigned length = PZ_CAT(bit_length)(z), least = length > 12 ? length - 12 : 0;
    struct PZ_CAT(cut2) best = {length, true, length * PZ_N};
    PZ_PLANE above[PZ_W + 4]; /* the planes from j on, together, where needed */

    for (unsigned j = length; j < PZ_W + 4; j++)
        above[j] = PZ_P(of)(0, 0);
    for (unsigned j = length; j-- > least;)
        above[j] = PZ_P(or)(above[j + 1], z->plane[j]);
    for (unsigned k = least; k < length && PZ_N * (k + 1) < best.cost; k++) {
        const unsigned cost = PZ_CAT(cost_of)(z, k, above[k + 3]);

        if (cost < best.cost)
            best = (struct PZ_CAT(cut2)){k, false, cost};
    }
    return best;
}

static inline unsigned PZ_CAT(numbers_cost)(const struct PZ_CAT(sample) * sample, bool differences)
{
    unsigned cost = 0;

    for (unsigned i = 0; i < sample->count; i++) {
        PZ_CAT(numbers) z;

        PZ_CAT(number_planes)
        (sample->raw, sample->n, sample->first + i * sample->step, differences, &z);
        cost += PZ_CAT(cut_of)(&z).cost + 8;
    }
    return cost;
}

/* Cost of mode E; *window is what it takes its classes from. */
static inline unsigned PZ_CAT(exponents_cost)(const struct PZ_CAT(sample) * sample, unsigned e,
                                              struct pzi_window2 *window)
{
    struct pzi_survey2 survey = {0};
    unsigned cost;

    for (unsigned i = 0; i < sample->count; i++) {
        const unsigned block = sample->first + i * sample->step;
        const uint8_t *const from = sample->raw + block * PZ_BLOCK_BYTES;
        const PZ_PLANE present = PZ_CAT(present)(from);

        survey.symbols += PZ_P(count)(present);
        survey.blocks += !PZ_P(is_zero)(present);
        survey.has_zero |= !PZ_P(equal)(present, PZ_CAT(existing)(sample->n, block));
        survey.has_negative |= PZ_CAT(has_negative)(from);
    }
    PZ_CAT(count_exponents)
    (sample->raw + sample->first * PZ_BLOCK_BYTES, sample->step * PZ_BLOCK_BYTES, sample->count, e,
     &survey);
    cost = pzi_best_window(&survey, e > 8 ? 16 : 8, window);
    cost += survey.symbols * (PZ_W - 1 - e + survey.has_negative);
    return cost + (survey.has_zero ? survey.blocks * PZ_N : 0);
}

static inline pz_encoding PZ_CAT(choose2)(pz_mode mode, const uint8_t *raw, unsigned n,
                                          struct pzi_window2 *window)
{
    const struct PZ_CAT(sample) sample = PZ_CAT(sample_of)(raw, n);
    const bool try_differences = (mode.encodings & 1u << PZ_DIFFERENCES) != 0;
    const pz_encoding other = mode.exponent_bits == 0 ? PZ_INTEGERS : PZ_EXPONENTS;
    unsigned cost = 0;

    if (other == PZ_EXPONENTS)
        cost = PZ_CAT(exponents_cost)(&sample, mode.exponent_bits, window);
    else if (try_differences)
        cost = PZ_CAT(numbers_cost)(&sample, false);
    return try_differences && PZ_CAT(numbers_cost)(&sample, true) < cost ? PZ_DIFFERENCES : other;
}
