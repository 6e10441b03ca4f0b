/* Template, parameter PZ_W: how modes I and D of format 2 cut the numbers of a block into low bits
 * and quotients (docs/format2.md, "Modes I and D" and "Canonical choices"). */

/* Symbols of block number `block` that exist. */
static inline PZ_PLANE PZ_CAT(existing)(unsigned n, unsigned block)
{
    const unsigned left = n - block * PZ_N;

    return PZ_P(below)(left < PZ_N ? left : PZ_N);
}

/* The z of a block, and their bit planes, behind which are zero planes, so that k + 3 is an index.
 */
PZ_NUMBERS
{
    const uint8_t *symbols;
    PZ_PLANE plane[PZ_W + 4];
    uint8_t folded[PZ_BLOCK_BYTES];
};

static inline void PZ_CAT(number_planes)(const uint8_t *raw, unsigned n, unsigned block, unsigned e,
                                         bool differences, PZ_NUMBERS *z)
{
    const uint8_t *const from = raw + block * PZ_BLOCK_BYTES;

    for (unsigned i = PZ_W; i < PZ_W + 4; i++)
        z->plane[i] = PZ_P(of)(0, 0);
    z->symbols = differences ? z->folded : from;
    if (!differences) {
        PZ_CAT(planes)(from, z->plane);
        return;
    }
    PZ_CAT(fold)
    (from, block == 0 ? PZ_LOAD(raw, 0) : PZ_LOAD(from - PZ_W / 8, 0), e != 0, z->folded);
    PZ_CAT(planes)(z->folded, z->plane);
    if (n < (block + 1) * PZ_N)
        for (unsigned j = 0; j < PZ_W; j++)
            z->plane[j] = PZ_P(and)(z->plane[j], PZ_CAT(existing)(n, block));
}

/* The k lowest bits are written as they are, or all of them if exact. */
PZ_CUT2
{
    unsigned k;
    bool exact;
    unsigned cost;
    PZ_PLANE high; /* the planes from k + 3 on, together, if not exact */
};

/* The symbols whose quotient is at least 1 .. 6, at index 1 .. 6. */
static inline void PZ_CAT(quotients)(const PZ_NUMBERS *z, const PZ_CUT2 *cut, PZ_PLANE at_least[7])
{
    const PZ_PLANE q0 = z->plane[cut->k], q1 = z->plane[cut->k + 1], q2 = z->plane[cut->k + 2];
    const PZ_PLANE high = cut->high, four = PZ_P(or)(q2, high), two = PZ_P(or)(q1, four);

    at_least[1] = PZ_P(or)(q0, two);
    at_least[2] = two;
    at_least[3] = PZ_P(or)(PZ_P(and)(q0, q1), four);
    at_least[4] = four;
    at_least[5] = PZ_P(or)(PZ_P(and)(PZ_P(or)(q0, q1), q2), high);
    at_least[6] = PZ_P(or)(PZ_P(and)(q1, q2), high);
}

static inline unsigned PZ_CAT(bit_length)(const PZ_NUMBERS *z)
{
    unsigned length = PZ_W;

    while (length > 0 && PZ_P(is_zero)(z->plane[length - 1]))
        length--;
    return length;
}

/* The sum of min(q, 5) over all quotients, from its binary digits; the planes from k + 3 on,
 * together, are `high`. */
static inline unsigned PZ_CAT(sum_of_quotients)(const PZ_NUMBERS *z, unsigned k, PZ_PLANE high)
{
    const PZ_PLANE q0 = z->plane[k], q1 = z->plane[k + 1], q2 = z->plane[k + 2];
    const PZ_PLANE four = PZ_P(or)(q2, high);
    const PZ_PLANE five = PZ_P(or)(PZ_P(and)(PZ_P(or)(q0, q1), q2), high);
    const PZ_PLANE ones = PZ_P(or)(PZ_P(without)(q0, four), five);

    return PZ_P(count)(ones) + 2 * PZ_P(count)(PZ_P(without)(q1, four)) + 4 * PZ_P(count)(four);
}

/* The canonical cut.  It costs N (k + 1), and of each symbol min(q, 5) + 12 [q >= 6].  From the
 * longest k down, as an escape costs 17 and is one at every smaller k, which soon ends the search.
 */
static inline PZ_CUT2 PZ_CAT(cut_of)(const PZ_NUMBERS *z)
{
    const unsigned length = PZ_CAT(bit_length)(z), least = length > 12 ? length - 12 : 0;
    PZ_PLANE high = PZ_P(of)(0, 0);
    PZ_CUT2 best = {length, true, length * PZ_N, high};

    /* With one bit less than the length the cost is at least that of all bits. */
    for (unsigned k = length - 1; length > 0 && k-- > least;) {
        unsigned escapes, cost;

        high = PZ_P(or)(high, z->plane[k + 3]);
        escapes = PZ_P(count)(PZ_P(or)(PZ_P(and)(z->plane[k + 1], z->plane[k + 2]), high));
        if (17 * escapes + PZ_N * (least + 1) > best.cost)
            break;
        if (17 * escapes + PZ_N * (k + 1) > best.cost)
            continue;
        cost = PZ_N * (k + 1) + 12 * escapes + PZ_CAT(sum_of_quotients)(z, k, high);
        if (cost < best.cost || (cost == best.cost && !best.exact))
            best = (PZ_CUT2){k, false, cost, high};
    }
    return best;
}
