/* See streamgen2.h.  A chunk is written with random choices; if it does not shrink, again and with
 * fewer of them, as it would have to be stored raw. */
#include "streamgen2.h"

#include <string.h>

#include "bits.h"

enum { BLOCK_BYTES = 128, CHUNK_BYTES = 4096, MAX_SYMBOLS = 4096, MAX_BLOCKS = 32 };
enum { MODE_E, MODE_I, MODE_D, MODE_C };
enum { ATTEMPTS = 12 };

/* The codes by the lengths of classes 0 to 9 and of the escape; the last one is that of quotients 0
 * to 5 and their escape. */
static const char *const code_lengths[] = {
    "12366666666", "21366666666", "22235666666", "32233556666", "33366666651", "33555443235",
    "33566665441", "34543323555", "41245666666", "42224556666", "43223446666", "43322446666",
    "44442234566", "52224456666", "54322345566", "63223355666", "1234566",
};

enum { QUOTIENT_CODE = 16 };

struct generator {
    struct rng *rng;
    unsigned w, e, m, N;
    unsigned n, nb;
    uint64_t symbol[MAX_SYMBOLS]; /* zero past n */
    unsigned carelessness;        /* so many of 16 free choices are made at random */
    struct bits bits;
    uint64_t counts[STREAMGEN2_FEATURES];
};

static uint64_t low_bits(uint64_t value, unsigned bits)
{
    return bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static unsigned bit_length(uint64_t value)
{
    unsigned length = 0;

    while (length < 64 && value >> length != 0)
        length++;
    return length;
}

static bool careless(struct generator *g)
{
    return rng_below(g->rng, 16) < g->carelessness;
}

/* Code bits that stand together because they have the same number. */
struct words {
    unsigned code, count;
    uint8_t value[MAX_SYMBOLS];
};

static unsigned word_length(const struct words *words, unsigned i)
{
    return (unsigned)(code_lengths[words->code][words->value[i]] - '0');
}

/* The codeword of value i, aligned to the left in 6 bits: the share of all that come before it. */
static unsigned word(const struct words *words, unsigned i)
{
    const char *length = code_lengths[words->code];
    unsigned value = words->value[i], sum = 0;

    for (unsigned other = 0; length[other] != '\0'; other++)
        if (length[other] < length[value] || (length[other] == length[value] && other < value))
            sum += 64u >> (length[other] - '0');
    return sum;
}

static void put_levels(struct generator *g, const struct words *words)
{
    for (unsigned l = 1; l <= 5; l++) {
        for (unsigned i = 0; i < words->count; i++)
            if (word_length(words, i) > l)
                bits_put(&g->bits, 1, word(words, i) >> (5 - l));
        bits_align(&g->bits);
    }
}

/* Modes E and C. */

static unsigned exponent(const struct generator *g, uint64_t symbol)
{
    return (unsigned)low_bits(symbol >> g->m, g->e);
}

static bool is_negative(const struct generator *g, uint64_t symbol)
{
    return symbol >> (g->w - 1) != 0;
}

static void put_exponent(struct generator *g, unsigned value)
{
    bits_put(&g->bits, g->e > 8 ? 16 : 8, value);
}

/* Which symbols are coded: those that are not zero, and some that are, but not all of a block's
 * symbols without. */
static void choose_coded(struct generator *g, bool coded[MAX_SYMBOLS])
{
    for (unsigned i = 0; i < g->n; i++) {
        coded[i] = g->symbol[i] != 0 || (careless(g) && rng_one_in(g->rng, 8));
        g->counts[STREAMGEN2_CODED_ZERO] += coded[i] && g->symbol[i] == 0;
    }
}

static bool block_has(const struct generator *g, const bool coded[MAX_SYMBOLS], unsigned b)
{
    bool any = false;

    for (unsigned i = b * g->N; i < (b + 1) * g->N && i < g->n; i++)
        any |= coded[i];
    return any;
}

static void put_masks(struct generator *g, const bool coded[MAX_SYMBOLS])
{
    for (unsigned b = 0; b < MAX_BLOCKS; b++)
        bits_put_one(&g->bits, b < g->nb && block_has(g, coded, b));
    for (unsigned i = 0; i < g->nb * g->N; i++)
        if (block_has(g, coded, i / g->N))
            bits_put_one(&g->bits, i < g->n && coded[i]);
}

/* Packs the coded symbols and returns their number. */
static unsigned pack(struct generator *g, bool masked, bool coded[MAX_SYMBOLS],
                     uint64_t packed[MAX_SYMBOLS])
{
    bool zeros = false;
    unsigned c = 0;

    for (unsigned i = 0; i < g->n; i++)
        zeros |= g->symbol[i] == 0;
    memset(coded, !masked, MAX_SYMBOLS);
    if (masked)
        choose_coded(g, coded);
    g->counts[STREAMGEN2_MASKS] += masked;
    g->counts[STREAMGEN2_MASKS_UNNEEDED] += masked && !zeros;
    g->counts[STREAMGEN2_ZERO_UNMASKED] += !masked && zeros;
    for (unsigned i = 0; i < g->n; i++)
        if (coded[i])
            packed[c++] = g->symbol[i];
    return c;
}

static void choose_classes(struct generator *g, unsigned base, const uint64_t *packed,
                           struct words *classes)
{
    for (unsigned i = 0; i < classes->count; i++) {
        unsigned x = exponent(g, packed[i]);
        bool in_window = x <= base && base - x < 10;
        bool unneeded = in_window && careless(g) && rng_one_in(g->rng, 16);

        classes->value[i] = in_window && !unneeded ? (uint8_t)(base - x) : 10;
        g->counts[STREAMGEN2_ESCAPE] += !in_window;
        g->counts[STREAMGEN2_ESCAPE_UNNEEDED] += unneeded;
    }
}

/* Records of whole bytes, and planes of the bits above them: code bit 1, below it the mantissa
 * without its constant bits. */
static void put_mantissas(struct generator *g, unsigned constant_bits, const uint64_t *packed,
                          const struct words *classes)
{
    unsigned top = g->m - constant_bits, record = (top + 1) / 8 * 8;

    for (unsigned i = 0; i < classes->count; i++)
        bits_put(&g->bits, record,
                 low_bits(packed[i], g->m) >> constant_bits | (uint64_t)(word(classes, i) >> 5)
                                                                  << top);
    for (unsigned p = 0; record + p <= top; p++) {
        for (unsigned i = 0; i < classes->count; i++)
            bits_put(&g->bits, 1, p == 0 ? word(classes, i) >> 5 : packed[i] >> (g->m - p));
        bits_align(&g->bits);
    }
}

/* How many of the lowest mantissa bits are taken as constant. */
static unsigned choose_constant_bits(struct generator *g, const uint64_t *packed, unsigned c)
{
    unsigned bits = 0, taken;

    for (bool same = true; same && bits < g->m; bits += same)
        for (unsigned i = 1; i < c; i++)
            same &= (packed[i] >> bits & 1) == (packed[0] >> bits & 1);
    taken = careless(g) ? (unsigned)rng_below(g->rng, bits + 1) : bits;
    g->counts[STREAMGEN2_MODE_C] += taken > 0;
    g->counts[STREAMGEN2_FEWER_CONSTANT_BITS] += taken < bits;
    return taken;
}

/* What stands between the base and the map. */
static void put_constant(struct generator *g, unsigned bits, const uint64_t *packed, unsigned c)
{
    if (bits == 0)
        return;
    bits_put(&g->bits, 8, bits);
    bits_put(&g->bits, bits, c > 0 ? packed[0] : 0);
    bits_align(&g->bits);
}

static void put_signs(struct generator *g, bool present, const uint64_t *packed, unsigned c)
{
    for (unsigned i = 0; present && i < c; i++)
        bits_put_one(&g->bits, is_negative(g, packed[i]));
    bits_align(&g->bits);
}

/* The code with the shortest codewords for these classes. */
static unsigned best_code(struct words *classes)
{
    unsigned best = 0, least = UINT32_MAX;

    for (classes->code = 0; classes->code < QUOTIENT_CODE; classes->code++) {
        unsigned sum = 0;

        for (unsigned i = 0; i < classes->count; i++)
            sum += word_length(classes, i);
        if (sum >= least)
            continue;
        least = sum;
        best = classes->code;
    }
    return best;
}

static unsigned choose_base(struct generator *g, bool *negative)
{
    unsigned largest = 0, base;

    *negative = false;
    for (unsigned i = 0; i < g->n; i++) {
        *negative |= is_negative(g, g->symbol[i]);
        if (exponent(g, g->symbol[i]) > largest)
            largest = exponent(g, g->symbol[i]);
    }
    base = careless(g) ? (unsigned)low_bits(largest + rng_below(g->rng, 9) - 4, g->e) : largest;
    if (careless(g) && rng_one_in(g->rng, 8))
        base = (unsigned)rng_below(g->rng, UINT64_C(1) << g->e);
    g->counts[STREAMGEN2_OTHER_BASE] += base != largest;
    return base;
}

static void put_exponents(struct generator *g)
{
    bool negative, masked = !rng_one_in(g->rng, 3), coded[MAX_SYMBOLS], signs;
    unsigned base = choose_base(g, &negative), constant_bits;
    struct words classes = {0};
    uint64_t packed[MAX_SYMBOLS];

    signs = negative || careless(g);
    classes.count = pack(g, masked, coded, packed);
    choose_classes(g, base, packed, &classes);
    classes.code = careless(g) ? (unsigned)rng_below(g->rng, 16) : best_code(&classes);
    constant_bits = choose_constant_bits(g, packed, classes.count);
    bits_put(&g->bits, 8,
             (constant_bits > 0 ? MODE_C : MODE_E) | (unsigned)masked << 2 | (unsigned)signs << 3 |
                 classes.code << 4);
    put_exponent(g, base);
    put_constant(g, constant_bits, packed, classes.count);
    if (masked)
        put_masks(g, coded);
    put_mantissas(g, constant_bits, packed, &classes);
    put_signs(g, signs, packed, classes.count);
    put_levels(g, &classes);
    for (unsigned i = 0; i < classes.count; i++)
        if (classes.value[i] == 10)
            put_exponent(g, exponent(g, packed[i]));
    g->counts[STREAMGEN2_MODE_E] += constant_bits == 0;
    g->counts[STREAMGEN2_SIGNS] += signs;
    g->counts[STREAMGEN2_SIGNS_UNNEEDED] += signs && !negative;
    g->counts[STREAMGEN2_CODE + classes.code]++;
}

/* Modes I and D. */

/* Place of a symbol in the order of integers, or of floating-point numbers with -NaN first, as a
 * number of w bits. */
static uint64_t place(const struct generator *g, uint64_t symbol)
{
    uint64_t sign = UINT64_C(1) << (g->w - 1);

    return g->e > 0 && is_negative(g, symbol) ? sign + (sign - 1 - (symbol - sign)) : symbol;
}

static uint64_t difference(const struct generator *g, uint64_t from, uint64_t to)
{
    uint64_t up = low_bits(place(g, to) - place(g, from), g->w);
    uint64_t down = low_bits(place(g, from) - place(g, to), g->w);

    return up < down || up == 0 ? 2 * up : low_bits(2 * down - 1, g->w);
}

struct numbers {
    uint64_t z[MAX_SYMBOLS];
    unsigned k[MAX_BLOCKS];
    bool exact[MAX_BLOCKS];
};

static unsigned block_bits(const struct generator *g, const struct numbers *d, unsigned b)
{
    unsigned bits = 0;

    for (unsigned i = b * g->N; i < (b + 1) * g->N; i++)
        if (bit_length(d->z[i]) > bits)
            bits = bit_length(d->z[i]);
    return bits;
}

static void choose_block(struct generator *g, struct numbers *d, unsigned b)
{
    unsigned need = block_bits(g, d, b);

    d->exact[b] = need == g->w || rng_one_in(g->rng, 2);
    d->k[b] = need;
    if (!d->exact[b] && need > 0)
        d->k[b] = need - 1 - (unsigned)rng_below(g->rng, need < 4 ? need : 4);
    if (careless(g) && need < g->w)
        d->k[b] = need + (unsigned)rng_below(g->rng, g->w - need);
    if (b > 0 && rng_one_in(g->rng, 2) && d->k[0] >= need) { /* so that U has a chance */
        d->k[b] = d->k[0];
        d->exact[b] = d->exact[0];
    }
    g->counts[STREAMGEN2_EXACT] += d->exact[b];
    g->counts[STREAMGEN2_EXACT_WIDE] += d->exact[b] && d->k[b] > need;
}

static void choose_numbers(struct generator *g, unsigned mode, uint64_t base, struct numbers *d)
{
    memset(d, 0, sizeof *d);
    for (unsigned i = 0; i < g->n; i++) {
        d->z[i] = mode == MODE_I ? g->symbol[i] : difference(g, base, g->symbol[i]);
        base = g->symbol[i];
    }
    for (unsigned b = 0; b < g->nb; b++)
        choose_block(g, d, b);
}

static void put_blocks(struct generator *g, const struct numbers *d)
{
    for (unsigned b = 0; b < g->nb; b++) {
        for (unsigned p = 0; p < d->k[b]; p++)
            for (unsigned i = b * g->N; i < (b + 1) * g->N; i++)
                bits_put(&g->bits, 1, d->z[i] >> p);
        for (unsigned i = b * g->N; !d->exact[b] && i < (b + 1) * g->N; i++)
            bits_put_one(&g->bits, d->z[i] >> d->k[b] != 0);
    }
}

/* Escapes, which are not to be taken for zero quotients: their code bit 1 is 1. */
struct quotients {
    struct words words;
    unsigned escapes, escape_bits;
    uint64_t escaped[MAX_SYMBOLS];
};

static void choose_quotients(struct generator *g, const struct numbers *d, struct quotients *q)
{
    unsigned widest = g->w < 16 ? g->w : 16;

    memset(q, 0, sizeof *q);
    q->words.code = QUOTIENT_CODE;
    q->escape_bits = 1;
    for (unsigned i = 0; i < g->n; i++) {
        uint64_t quotient = d->exact[i / g->N] ? 0 : d->z[i] >> d->k[i / g->N];
        bool unneeded = quotient > 0 && quotient < 6 && careless(g) && rng_one_in(g->rng, 4);

        if (d->exact[i / g->N])
            continue;
        q->words.value[q->words.count++] = unneeded || quotient > 5 ? 6 : (uint8_t)quotient;
        g->counts[STREAMGEN2_QUOTIENT] += !unneeded && quotient > 0 && quotient < 6;
        g->counts[STREAMGEN2_LARGE_QUOTIENT] += quotient > 5;
        g->counts[STREAMGEN2_QUOTIENT_ESCAPE_UNNEEDED] += unneeded;
        if (!unneeded && quotient < 6)
            continue;
        q->escaped[q->escapes++] = quotient;
        if (bit_length(quotient) > q->escape_bits)
            q->escape_bits = bit_length(quotient);
    }
    if (careless(g) && q->escape_bits < widest) {
        q->escape_bits += 1 + (unsigned)rng_below(g->rng, widest - q->escape_bits);
        g->counts[STREAMGEN2_WIDE_ESCAPE]++;
    }
}

/* Whether one header stands for all blocks. */
static bool choose_header(struct generator *g, const struct numbers *d)
{
    bool equal = true, one;

    for (unsigned b = 1; b < g->nb; b++)
        equal &= d->k[b] == d->k[0] && d->exact[b] == d->exact[0];
    one = equal && !careless(g);
    g->counts[STREAMGEN2_ONE_HEADER] += one;
    g->counts[STREAMGEN2_EQUAL_HEADERS] += equal && !one;
    return one;
}

/* If Z, writes the masks and leaves just the coded symbols in the chunk. */
static void pack_chunk(struct generator *g, bool masked)
{
    bool coded[MAX_SYMBOLS];
    uint64_t packed[MAX_SYMBOLS];
    unsigned c = pack(g, masked, coded, packed);

    if (!masked)
        return;
    put_masks(g, coded);
    g->n = c;
    g->nb = (c + g->N - 1) / g->N;
    memset(g->symbol, 0, sizeof g->symbol);
    memcpy(g->symbol, packed, c * sizeof *packed);
    g->counts[STREAMGEN2_PACKED]++;
    g->counts[STREAMGEN2_PACKED_NOTHING] += c == 0;
}

/* Byte 0 is known last. */
static void put_numbers(struct generator *g, unsigned mode)
{
    bool masked = rng_one_in(g->rng, 3), one_header;
    uint64_t base = careless(g) ? low_bits(rng_next(g->rng), g->w) : g->symbol[0];
    struct numbers d;
    struct quotients q;

    bits_put(&g->bits, 8, 0);
    pack_chunk(g, masked);
    choose_numbers(g, mode, base, &d);
    choose_quotients(g, &d, &q);
    one_header = choose_header(g, &d);
    g->bits.bytes[0] = (uint8_t)(mode | (q.escape_bits - 1) << 2 | (unsigned)masked << 6 |
                                 (unsigned)one_header << 7);
    for (unsigned b = 0; b < (one_header ? 1 : g->nb); b++)
        bits_put(&g->bits, 8, d.k[b] | (unsigned)d.exact[b] << 7);
    if (mode == MODE_D)
        bits_put(&g->bits, g->w, base);
    put_blocks(g, &d);
    put_levels(g, &q.words);
    for (unsigned i = 0; i < q.escapes; i++)
        bits_put(&g->bits, q.escape_bits, q.escaped[i]);
    bits_align(&g->bits);
    g->counts[mode == MODE_I ? STREAMGEN2_MODE_I : STREAMGEN2_MODE_D]++;
    g->counts[STREAMGEN2_OTHER_BASE_SYMBOL] += mode == MODE_D && base != g->symbol[0];
}

/* Chunks. */

static void load_chunk(struct generator *g, const uint8_t *raw, size_t raw_bytes)
{
    unsigned size = g->w / 8;

    g->n = (unsigned)((raw_bytes + size - 1) / size);
    g->nb = (g->n + g->N - 1) / g->N;
    memset(g->symbol, 0, sizeof g->symbol);
    for (size_t k = 0; k < raw_bytes; k++)
        g->symbol[k / size] |= (uint64_t)raw[k] << (8 * (k % size));
}

static void put_chunk(struct generator *g)
{
    unsigned mode = (unsigned)rng_below(g->rng, 3);

    memset(&g->bits, 0, sizeof g->bits);
    memset(g->counts, 0, sizeof g->counts);
    if (mode == MODE_E && g->e > 0)
        put_exponents(g);
    else
        put_numbers(g, mode == MODE_E ? MODE_I : mode);
}

static void add_counts(uint64_t *sum, const uint64_t *counts)
{
    for (unsigned k = 0; k < STREAMGEN2_FEATURES; k++)
        sum[k] += counts[k];
}

/* Writes a payload and returns its bytes.  One chunk in 16 is raw without need. */
static size_t make_payload(struct generator *g, const uint8_t *raw, size_t raw_bytes, uint8_t *dst,
                           uint64_t *counts)
{
    bool coded = !rng_one_in(g->rng, 16);

    for (unsigned attempt = 0; coded && attempt < ATTEMPTS; attempt++) {
        load_chunk(g, raw, raw_bytes);
        g->carelessness = (unsigned)rng_below(g->rng, ATTEMPTS - attempt);
        put_chunk(g);
        if (bits_bytes(&g->bits) >= raw_bytes)
            continue;
        memcpy(dst, g->bits.bytes, bits_bytes(&g->bits));
        add_counts(counts, g->counts);
        counts[STREAMGEN2_CODED_CHUNK]++;
        return bits_bytes(&g->bits);
    }
    memcpy(dst, raw, raw_bytes);
    counts[STREAMGEN2_RAW_CHUNK]++;
    return raw_bytes;
}

size_t streamgen2_make(struct rng *rng, unsigned w, unsigned e, const uint8_t *raw,
                       size_t raw_bytes, uint8_t *dst, uint64_t counts[STREAMGEN2_FEATURES])
{
    struct generator g = {.rng = rng, .w = w, .e = e, .m = w - 1 - e, .N = 8 * BLOCK_BYTES / w};
    size_t chunks = (raw_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES, at = 2 * chunks;

    for (size_t k = 0; k < chunks; k++) {
        size_t from = k * CHUNK_BYTES, left = raw_bytes - from, bytes;

        bytes =
            make_payload(&g, raw + from, left < CHUNK_BYTES ? left : CHUNK_BYTES, dst + at, counts);
        dst[2 * k] = (uint8_t)bytes;
        dst[2 * k + 1] = (uint8_t)(bytes >> 8);
        at += bytes;
    }
    return at;
}
