/* The tensor stream of docs/format2.md in its order: first what encoder and decoder share, then
 * the encoder, the size counter and the decoder.  Bits are taken one by one and nothing is computed
 * in a clever way: each function can be read against its section. */
#include "pzref2.h"

#include <string.h>

enum { CHUNK_BYTES = 4096, BLOCK_BYTES = 128, MAX_BLOCKS = 32, HEADER_BYTES = 2 };
enum { MAX_SYMBOLS = CHUNK_BYTES };

/* Room for the longest payload: with w = 8 each byte is a symbol in less than 14 planes, levels and
 * mask bits, and an escape of at most 12 bits. */
enum { MAX_PAYLOAD_BYTES = 4 * CHUNK_BYTES };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* docs/format2.md, "Symbols, blocks, chunks". */

bool pzref2_valid(unsigned w, unsigned e)
{
    switch (w) {
    case 8:
        return e == 0 || e == 4 || e == 5;
    case 16:
        return e == 0 || e == 5 || e == 8;
    case 32:
        return e == 0 || e == 8;
    case 64:
        return e == 0 || e == 11;
    default:
        return false;
    }
}

/* The letters of the format; m means nothing where e = 0. */
struct type {
    unsigned w, e, m, N;
    unsigned exponent_bytes; /* of a base or an escape in modes E and C */
};

static struct type type_of(unsigned w, unsigned e)
{
    return (struct type){
        .w = w, .e = e, .m = w - 1 - e, .N = 8 * BLOCK_BYTES / w, .exponent_bytes = e > 8 ? 2 : 1};
}

/* 2^bits - 1, bits <= 64. */
static uint64_t ones(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static bool is_negative(const struct type *t, uint64_t symbol)
{
    return symbol > ones(t->w - 1);
}

static unsigned exponent_of(const struct type *t, uint64_t symbol)
{
    return (unsigned)(symbol >> t->m & ones(t->e));
}

static uint64_t mantissa_of(const struct type *t, uint64_t symbol)
{
    return symbol & ones(t->m);
}

/* n symbols in nb blocks; those past n are zero. */
struct chunk {
    unsigned n, nb;
    uint64_t symbol[MAX_SYMBOLS];
};

static void size_chunk(const struct type *t, size_t raw_bytes, struct chunk *chunk)
{
    chunk->n = (unsigned)divide_up(8 * raw_bytes, t->w);
    chunk->nb = (unsigned)divide_up(chunk->n, t->N);
    memset(chunk->symbol, 0, sizeof chunk->symbol);
}

static void load_chunk(const struct type *t, const uint8_t *raw, size_t raw_bytes,
                       struct chunk *chunk)
{
    unsigned size = t->w / 8;

    size_chunk(t, raw_bytes, chunk);
    for (size_t k = 0; k < raw_bytes; k++)
        chunk->symbol[k / size] |= (uint64_t)raw[k] << (8 * (k % size));
}

static uint8_t byte_of(const struct type *t, const struct chunk *chunk, size_t k)
{
    unsigned size = t->w / 8;

    return (uint8_t)(chunk->symbol[k / size] >> (8 * (k % size)));
}

/* The symbols from..end-1 of block b are those that the chunk has of it. */
static unsigned block_from(const struct type *t, unsigned b)
{
    return b * t->N;
}

static unsigned block_end(const struct type *t, const struct chunk *chunk, unsigned b)
{
    return (unsigned)smaller((size_t)(b + 1) * t->N, chunk->n);
}

/* The number of non-zero symbols of block b. */
static unsigned block_nonzero(const struct type *t, const struct chunk *chunk, unsigned b)
{
    unsigned count = 0;

    for (unsigned i = block_from(t, b); i < block_end(t, chunk, b); i++)
        count += chunk->symbol[i] != 0;
    return count;
}

/* docs/format2.md, "Bit order". */

struct writer {
    uint8_t *bytes; /* zero from the next bit on */
    size_t bits;    /* written so far */
};

static void put_bit(struct writer *out, unsigned bit)
{
    if (bit)
        out->bytes[out->bits / 8] |= (uint8_t)(1u << (out->bits % 8));
    out->bits++;
}

/* A number of some bits, least significant first. */
static void put(struct writer *out, unsigned bits, uint64_t value)
{
    for (unsigned k = 0; k < bits; k++)
        put_bit(out, value >> k & 1);
}

/* Fills up the last byte of a plane. */
static void end_plane(struct writer *out)
{
    out->bits = 8 * divide_up(out->bits, 8);
}

struct reader {
    const uint8_t *bytes;
    size_t bits;             /* in all */
    size_t at;               /* the next one */
    enum pzref2_error error; /* the first one found */
};

static void reject(struct reader *in, enum pzref2_error error)
{
    if (in->error == PZREF2_OK)
        in->error = error;
}

/* Past the end: zero, and the chunk is rejected. */
static unsigned get_bit(struct reader *in)
{
    unsigned bit;

    if (in->at == in->bits) {
        reject(in, PZREF2_CHUNK_OVERRUN);
        return 0;
    }
    bit = in->bytes[in->at / 8] >> (in->at % 8) & 1u;
    in->at++;
    return bit;
}

static uint64_t get(struct reader *in, unsigned bits)
{
    uint64_t value = 0;

    for (unsigned k = 0; k < bits; k++)
        value |= (uint64_t)get_bit(in) << k;
    return value;
}

static void get_plane_end(struct reader *in)
{
    while (in->at % 8 != 0)
        if (get_bit(in))
            reject(in, PZREF2_PLANE_PADDING);
}

/* docs/format2.md, "Codes". */

enum { CLASSES = 10, CLASS_ESCAPE = 10, QUOTIENTS = 6, QUOTIENT_ESCAPE = 6 };
enum { MODE_E_CODES = 16, MAX_VALUES = 11, CODE_BITS = 6 };

static const uint8_t mode_e_lengths[MODE_E_CODES][MAX_VALUES] = {
    {1, 2, 3, 6, 6, 6, 6, 6, 6, 6, 6}, {2, 1, 3, 6, 6, 6, 6, 6, 6, 6, 6},
    {2, 2, 2, 3, 5, 6, 6, 6, 6, 6, 6}, {3, 2, 2, 3, 3, 5, 5, 6, 6, 6, 6},
    {3, 3, 3, 6, 6, 6, 6, 6, 6, 5, 1}, {3, 3, 5, 5, 5, 4, 4, 3, 2, 3, 5},
    {3, 3, 5, 6, 6, 6, 6, 5, 4, 4, 1}, {3, 4, 5, 4, 3, 3, 2, 3, 5, 5, 5},
    {4, 1, 2, 4, 5, 6, 6, 6, 6, 6, 6}, {4, 2, 2, 2, 4, 5, 5, 6, 6, 6, 6},
    {4, 3, 2, 2, 3, 4, 4, 6, 6, 6, 6}, {4, 3, 3, 2, 2, 4, 4, 6, 6, 6, 6},
    {4, 4, 4, 4, 2, 2, 3, 4, 5, 6, 6}, {5, 2, 2, 2, 4, 4, 5, 6, 6, 6, 6},
    {5, 4, 3, 2, 2, 3, 4, 5, 5, 6, 6}, {6, 3, 2, 2, 3, 3, 5, 5, 6, 6, 6},
};

static const uint8_t quotient_lengths[MAX_VALUES] = {1, 2, 3, 4, 5, 6, 6};

struct code {
    unsigned values;
    uint8_t length[MAX_VALUES];
    uint8_t word[MAX_VALUES];         /* aligned to the left in 6 bits */
    uint8_t threshold[CODE_BITS + 1]; /* T_l */
};

static struct code code_from_lengths(const uint8_t *lengths, unsigned values)
{
    struct code code = {.values = values};
    unsigned next = 0;

    memcpy(code.length, lengths, values);
    for (unsigned length = 1; length <= CODE_BITS; length++) {
        for (unsigned value = 0; value < values; value++) {
            if (lengths[value] != length)
                continue;
            code.word[value] = (uint8_t)next;
            next += 1u << (CODE_BITS - length);
        }
        code.threshold[length] = (uint8_t)next;
    }
    return code;
}

static struct code mode_e_code(unsigned j)
{
    return code_from_lengths(mode_e_lengths[j], CLASSES + 1);
}

static struct code quotient_code(void)
{
    return code_from_lengths(quotient_lengths, QUOTIENTS + 1);
}

/* Code bit 1 .. 6 of a codeword. */
static unsigned code_bit(unsigned word, unsigned bit)
{
    return word >> (CODE_BITS - bit) & 1;
}

static unsigned first_code_bit(const struct code *code, unsigned value)
{
    return code_bit(code->word[value], 1);
}

static unsigned value_of_word(const struct code *code, unsigned word)
{
    unsigned value = 0;

    while (code->word[value] != word)
        value++;
    return value;
}

/* docs/format2.md, "Levels". */

/* Values of one code, in the order of the chunk. */
struct values {
    unsigned count;
    uint8_t value[MAX_SYMBOLS];
};

static void put_levels(struct writer *out, const struct code *code, const struct values *v)
{
    for (unsigned l = 1; l < CODE_BITS; l++) {
        for (unsigned i = 0; i < v->count; i++)
            if (code->length[v->value[i]] > l)
                put_bit(out, code_bit(code->word[v->value[i]], l + 1));
        end_plane(out);
    }
}

static size_t count_levels(const struct code *code, const struct values *v)
{
    size_t bytes = 0;

    for (unsigned l = 1; l < CODE_BITS; l++) {
        size_t bits = 0;

        for (unsigned i = 0; i < v->count; i++)
            bits += code->length[v->value[i]] > l;
        bytes += divide_up(bits, 8);
    }
    return bytes;
}

/* Turns the first code bits, one in each value, into the values. */
static void get_levels(struct reader *in, const struct code *code, struct values *v)
{
    for (unsigned i = 0; i < v->count; i++)
        v->value[i] = (uint8_t)(v->value[i] << (CODE_BITS - 1));
    for (unsigned l = 1; l < CODE_BITS; l++) {
        for (unsigned i = 0; i < v->count; i++)
            if (v->value[i] >= code->threshold[l])
                v->value[i] |= (uint8_t)(get_bit(in) << (CODE_BITS - l - 1));
        get_plane_end(in);
    }
    for (unsigned i = 0; i < v->count; i++)
        v->value[i] = (uint8_t)value_of_word(code, v->value[i]);
}

/* docs/format2.md, "Payload" and "Mode E and mode C". */

/* The choices of modes E and C for a chunk. */
struct exponents {
    bool Z, S;
    unsigned j, base;
    unsigned t;        /* 0 in mode E */
    uint64_t constant; /* the lowest t bits */
    uint64_t cost_bits;
};

/* B and x for mantissas whose lowest t bits are constant. */
static unsigned record_bytes(const struct type *t, unsigned constant_bits)
{
    return (t->m - constant_bits + 1) / 8;
}

static unsigned record_planes(const struct type *t, unsigned constant_bits)
{
    return (t->m - constant_bits + 1) % 8;
}

static unsigned class_of(unsigned base, unsigned exponent)
{
    return exponent <= base && base - exponent < CLASSES ? base - exponent : CLASS_ESCAPE;
}

/* docs/format2.md, "Modes I and D". */

/* o of the format. */
static uint64_t ordered(const struct type *t, uint64_t symbol)
{
    return t->e > 0 && is_negative(t, symbol) ? symbol ^ ones(t->w - 1) : symbol;
}

static uint64_t fold(const struct type *t, uint64_t difference)
{
    if (!is_negative(t, difference))
        return 2 * difference;
    return (2 * (0 - difference) - 1) & ones(t->w);
}

static uint64_t unfold(const struct type *t, uint64_t z)
{
    return (z % 2 == 0 ? z / 2 : 0 - z / 2 - 1) & ones(t->w);
}

/* The choices of mode I or D for a chunk, or if Z for the chunk of its coded symbols. */
struct numbers {
    enum pzref2_mode mode;
    unsigned escape_width;
    bool Z, U;
    unsigned k[MAX_BLOCKS];
    bool exact[MAX_BLOCKS];
    uint64_t cost_bits;
    uint64_t z[MAX_SYMBOLS]; /* those past n are zero */
};

static uint64_t quotient_at(const struct type *t, const struct numbers *d, unsigned i)
{
    unsigned k = d->k[i / t->N];

    return k == 64 ? 0 : d->z[i] >> k;
}

/* The value of the code of quotients. */
static unsigned quotient_value(uint64_t quotient)
{
    return quotient < QUOTIENTS ? (unsigned)quotient : QUOTIENT_ESCAPE;
}

/* docs/format2.md, "Canonical choices". */

/* Moves the symbols of block b that are not zero to the end of another chunk. */
static void move_nonzero(const struct type *t, const struct chunk *chunk, unsigned b,
                         struct chunk *to)
{
    for (unsigned i = block_from(t, b); i < block_end(t, chunk, b); i++)
        if (chunk->symbol[i] != 0)
            to->symbol[to->n++] = chunk->symbol[i];
    to->nb = (unsigned)divide_up(to->n, t->N);
}

/* What modes I and D code: all symbols, or if Z those that are not zero, as a chunk. */
static void chunk_to_code(const struct type *t, const struct chunk *chunk, bool Z, struct chunk *to)
{
    if (!Z) {
        *to = *chunk;
        return;
    }
    memset(to, 0, sizeof *to);
    for (unsigned b = 0; b < chunk->nb; b++)
        move_nonzero(t, chunk, b, to);
}

static bool is_sampled(const struct chunk *chunk, unsigned b)
{
    return chunk->nb < 4 || b % 4 == 3;
}

static bool is_coded(const struct exponents *x, uint64_t symbol)
{
    return !x->Z || symbol != 0;
}

/* The coded symbols in their order; returns c. */
static unsigned coded_symbols(const struct chunk *chunk, const struct exponents *x,
                              uint64_t coded[MAX_SYMBOLS])
{
    unsigned c = 0;

    for (unsigned i = 0; i < chunk->n; i++)
        if (is_coded(x, chunk->symbol[i]))
            coded[c++] = chunk->symbol[i];
    return c;
}

/* Sets Z and S. */
static void choose_flags(const struct type *t, const struct chunk *chunk, struct exponents *x)
{
    unsigned zeros = 0;

    x->S = false;
    for (unsigned i = 0; i < chunk->n; i++) {
        zeros += chunk->symbol[i] == 0;
        x->S |= is_negative(t, chunk->symbol[i]);
    }
    x->Z = zeros * (t->m + 16) > chunk->n;
}

/* Sets t and constant. */
static void choose_constant(const struct type *t, const struct chunk *chunk, struct exponents *x)
{
    uint64_t coded[MAX_SYMBOLS], differing = 0;
    unsigned c = coded_symbols(chunk, x, coded);

    for (unsigned i = 0; i < c; i++)
        differing |= coded[i] ^ coded[0];
    x->t = 0;
    while (c > 0 && x->t < t->m && (differing >> x->t & 1) == 0)
        x->t++;
    if (c * x->t < 64)
        x->t = 0;
    x->constant = x->t > 0 ? coded[0] & ones(x->t) : 0;
}

/* What modes E and C have to know of the sample. */
struct sample {
    unsigned coded, negative;
    unsigned coded_blocks;
    unsigned largest_exponent;
    uint16_t exponent[MAX_SYMBOLS]; /* of the coded symbols */
};

static void add_to_sample(const struct type *t, uint64_t symbol, struct sample *sample)
{
    sample->negative += is_negative(t, symbol);
    sample->exponent[sample->coded++] = (uint16_t)exponent_of(t, symbol);
    if (exponent_of(t, symbol) > sample->largest_exponent)
        sample->largest_exponent = exponent_of(t, symbol);
}

static void take_sample(const struct type *t, const struct chunk *chunk, const struct exponents *x,
                        struct sample *sample)
{
    memset(sample, 0, sizeof *sample);
    for (unsigned b = 0; b < chunk->nb; b++) {
        unsigned before = sample->coded;

        for (unsigned i = block_from(t, b); i < block_end(t, chunk, b); i++)
            if (is_sampled(chunk, b) && is_coded(x, chunk->symbol[i]))
                add_to_sample(t, chunk->symbol[i], sample);
        sample->coded_blocks += sample->coded > before;
    }
}

static uint64_t code_cost(const struct type *t, const struct sample *sample, unsigned base,
                          unsigned j)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < sample->coded; i++) {
        unsigned value = class_of(base, sample->exponent[i]);

        bits += mode_e_lengths[j][value];
        if (value == CLASS_ESCAPE)
            bits += 8 * t->exponent_bytes;
    }
    return bits;
}

/* Sets base, code and the cost of the code. */
static void choose_code(const struct type *t, const struct sample *sample, struct exponents *x)
{
    unsigned em = sample->largest_exponent;

    x->cost_bits = UINT64_MAX;
    for (unsigned s = 0; s <= 3 && s <= em; s++) {
        for (unsigned j = 0; j < MODE_E_CODES; j++) {
            uint64_t cost = code_cost(t, sample, em - s, j);

            if (cost >= x->cost_bits)
                continue;
            x->cost_bits = cost;
            x->base = em - s;
            x->j = j;
        }
    }
}

static void choose_exponents(const struct type *t, const struct chunk *chunk, struct exponents *x)
{
    struct sample sample;

    choose_flags(t, chunk, x);
    choose_constant(t, chunk, x);
    take_sample(t, chunk, x, &sample);
    choose_code(t, &sample, x);
    x->cost_bits += (uint64_t)sample.coded * (t->m - x->t + (sample.negative > 0));
    if (x->Z)
        x->cost_bits += (uint64_t)sample.coded_blocks * t->N;
}

static unsigned bit_length(uint64_t value)
{
    unsigned length = 0;

    for (; value != 0; value >>= 1)
        length++;
    return length;
}

static unsigned block_bit_length(const struct type *t, const struct numbers *d, unsigned b)
{
    unsigned length = 0;

    for (unsigned i = block_from(t, b); i < block_from(t, b) + t->N; i++)
        if (bit_length(d->z[i]) > length)
            length = bit_length(d->z[i]);
    return length;
}

/* The cost of block b with k bits where it is not exact. */
static uint64_t block_cost(const struct type *t, const struct numbers *d, unsigned b, unsigned k)
{
    uint64_t bits = (uint64_t)t->N * (k + 1);

    for (unsigned i = block_from(t, b); i < block_from(t, b) + t->N; i++) {
        uint64_t quotient = d->z[i] >> k;

        bits += quotient < QUOTIENTS ? quotient : 5 + 12;
    }
    return bits;
}

/* Sets k and exact of block b and returns its cost. */
static uint64_t choose_block(const struct type *t, struct numbers *d, unsigned b)
{
    unsigned ex = block_bit_length(t, d, b);
    uint64_t best = (uint64_t)ex * t->N;

    d->k[b] = ex;
    d->exact[b] = true;
    for (unsigned k = ex > 12 ? ex - 12 : 0; k < ex; k++) {
        uint64_t cost = block_cost(t, d, b, k);

        if (cost >= best)
            continue;
        best = cost;
        d->k[b] = k;
        d->exact[b] = false;
    }
    return best;
}

static unsigned choose_escape_width(const struct type *t, const struct chunk *chunk,
                                    const struct numbers *d)
{
    unsigned width = 1;

    for (unsigned i = 0; i < chunk->n; i++) {
        uint64_t quotient = d->exact[i / t->N] ? 0 : quotient_at(t, d, i);

        if (quotient_value(quotient) == QUOTIENT_ESCAPE && bit_length(quotient) > width)
            width = bit_length(quotient);
    }
    return width;
}

/* Sets z, and k and exact of all blocks, and their cost if they are in the sample, or in any case.
 */
static void choose_blocks(const struct type *t, const struct chunk *chunk, bool all_sampled,
                          struct numbers *d)
{
    for (unsigned i = 0; i < chunk->n; i++) {
        uint64_t before = ordered(t, chunk->symbol[i > 0 ? i - 1 : 0]);

        d->z[i] = d->mode == PZREF2_I
                      ? chunk->symbol[i]
                      : fold(t, (ordered(t, chunk->symbol[i]) - before) & ones(t->w));
    }
    d->U = true;
    for (unsigned b = 0; b < chunk->nb; b++) {
        uint64_t cost = choose_block(t, d, b) + 8;

        d->U &= d->k[b] == d->k[0] && d->exact[b] == d->exact[0];
        if (all_sampled || is_sampled(chunk, b))
            d->cost_bits += cost;
    }
}

/* The cost of mode D with Z = 1. */
static uint64_t sparse_cost(const struct type *t, const struct chunk *chunk)
{
    struct chunk sample = {0};
    struct numbers d = {.mode = PZREF2_D};
    uint64_t masks = 0;

    for (unsigned b = 0; b < chunk->nb; b++) {
        if (!is_sampled(chunk, b))
            continue;
        move_nonzero(t, chunk, b, &sample);
        masks += block_nonzero(t, chunk, b) > 0 ? t->N : 0;
    }
    choose_blocks(t, &sample, true, &d);
    return d.cost_bits + masks;
}

static void choose_numbers(const struct type *t, const struct chunk *chunk, enum pzref2_mode mode,
                           bool Z, struct numbers *d)
{
    struct chunk coded;

    memset(d, 0, sizeof *d);
    d->mode = mode;
    d->Z = Z;
    chunk_to_code(t, chunk, Z, &coded);
    choose_blocks(t, &coded, false, d);
    d->escape_width = choose_escape_width(t, &coded, d);
    if (Z)
        d->cost_bits = sparse_cost(t, chunk);
}

/* What the encoder and the size counter write and count: the mode and its choices. */
struct choice {
    enum pzref2_mode mode;
    struct exponents exponents; /* modes E and C */
    struct numbers numbers;     /* modes I and D */
};

/* Takes mode I or D if it costs less than what was best so far. */
static void take_numbers(const struct type *t, const struct chunk *chunk, enum pzref2_mode mode,
                         bool Z, uint64_t *best_bits, struct choice *choice)
{
    struct numbers d;

    choose_numbers(t, chunk, mode, Z, &d);
    if (d.cost_bits >= *best_bits)
        return;
    *best_bits = d.cost_bits;
    choice->mode = mode;
    choice->numbers = d;
}

static void choose(const struct type *t, bool fast, const struct chunk *chunk,
                   struct choice *choice)
{
    uint64_t best_bits;
    bool sparse = false;

    if (t->e == 0) {
        choose_numbers(t, chunk, PZREF2_I, false, &choice->numbers);
        choice->mode = PZREF2_I;
        best_bits = choice->numbers.cost_bits;
    } else {
        choose_exponents(t, chunk, &choice->exponents);
        choice->mode = choice->exponents.t > 0 ? PZREF2_C : PZREF2_E;
        best_bits = choice->exponents.cost_bits;
        sparse = choice->exponents.Z;
    }
    if (fast)
        return;
    take_numbers(t, chunk, PZREF2_D, false, &best_bits, choice);
    if (sparse)
        take_numbers(t, chunk, PZREF2_D, true, &best_bits, choice);
}

/* The encoder: docs/format2.md, "Mode E and mode C". */

static void put_masks(struct writer *out, const struct type *t, const struct chunk *chunk)
{
    for (unsigned b = 0; b < MAX_BLOCKS; b++)
        put_bit(out, b < chunk->nb && block_nonzero(t, chunk, b) > 0);
    for (unsigned b = 0; b < chunk->nb; b++) {
        if (block_nonzero(t, chunk, b) == 0)
            continue;
        for (unsigned i = block_from(t, b); i < block_from(t, b) + t->N; i++)
            put_bit(out, i < chunk->n && chunk->symbol[i] != 0);
    }
}

static void classes_of(const struct type *t, const uint64_t *coded, unsigned c, unsigned base,
                       struct values *classes)
{
    classes->count = c;
    for (unsigned i = 0; i < c; i++)
        classes->value[i] = (uint8_t)class_of(base, exponent_of(t, coded[i]));
}

/* The records, and the planes of what they have no room for. */
static void put_mantissas(struct writer *out, const struct type *t, unsigned constant_bits,
                          const struct code *code, const uint64_t *coded,
                          const struct values *classes)
{
    uint64_t v[MAX_SYMBOLS];

    for (unsigned i = 0; i < classes->count; i++) {
        v[i] = (mantissa_of(t, coded[i]) | (uint64_t)first_code_bit(code, classes->value[i])
                                               << t->m) >>
               constant_bits;
        put(out, 8 * record_bytes(t, constant_bits), v[i]);
    }
    for (unsigned p = 0; p < record_planes(t, constant_bits); p++) {
        for (unsigned i = 0; i < classes->count; i++)
            put_bit(out, v[i] >> (t->m - constant_bits - p) & 1);
        end_plane(out);
    }
}

static void put_exponents(struct writer *out, const struct type *t, const struct chunk *chunk,
                          const struct exponents *x)
{
    struct code code = mode_e_code(x->j);
    uint64_t coded[MAX_SYMBOLS];
    struct values classes;

    put(out, 8,
        (unsigned)(x->t > 0 ? PZREF2_C : PZREF2_E) | (unsigned)x->Z << 2 | (unsigned)x->S << 3 |
            x->j << 4);
    put(out, 8 * t->exponent_bytes, x->base);
    if (x->t > 0)
        put(out, 8, x->t);
    put(out, x->t, x->constant);
    end_plane(out);
    if (x->Z)
        put_masks(out, t, chunk);
    classes_of(t, coded, coded_symbols(chunk, x, coded), x->base, &classes);
    put_mantissas(out, t, x->t, &code, coded, &classes);
    for (unsigned i = 0; x->S && i < classes.count; i++)
        put_bit(out, is_negative(t, coded[i]));
    end_plane(out);
    put_levels(out, &code, &classes);
    for (unsigned i = 0; i < classes.count; i++)
        if (classes.value[i] == CLASS_ESCAPE)
            put(out, 8 * t->exponent_bytes, exponent_of(t, coded[i]));
}

/* The encoder: docs/format2.md, "Modes I and D". */

static void put_block(struct writer *out, const struct type *t, const struct numbers *d, unsigned b)
{
    unsigned from = block_from(t, b), end = from + t->N;

    for (unsigned p = 0; p < d->k[b]; p++)
        for (unsigned i = from; i < end; i++)
            put_bit(out, d->z[i] >> p & 1);
    for (unsigned i = from; !d->exact[b] && i < end; i++)
        put_bit(out, quotient_at(t, d, i) > 0);
}

/* The quotients of the blocks that are not exact. */
static void quotient_values(const struct type *t, const struct chunk *chunk,
                            const struct numbers *d, struct values *quotients)
{
    quotients->count = 0;
    for (unsigned i = 0; i < chunk->n; i++)
        if (!d->exact[i / t->N])
            quotients->value[quotients->count++] = (uint8_t)quotient_value(quotient_at(t, d, i));
}

static void put_numbers(struct writer *out, const struct type *t, const struct chunk *chunk,
                        const struct numbers *d)
{
    struct code code = quotient_code();
    struct chunk coded;
    struct values quotients;

    chunk_to_code(t, chunk, d->Z, &coded);
    put(out, 8, d->mode | (d->escape_width - 1) << 2 | (unsigned)d->Z << 6 | (unsigned)d->U << 7);
    if (d->Z)
        put_masks(out, t, chunk);
    for (unsigned b = 0; b < (d->U ? 1 : coded.nb); b++)
        put(out, 8, d->k[b] | (unsigned)d->exact[b] << 7);
    if (d->mode == PZREF2_D)
        put(out, t->w, coded.symbol[0]);
    for (unsigned b = 0; b < coded.nb; b++)
        put_block(out, t, d, b);
    quotient_values(t, &coded, d, &quotients);
    put_levels(out, &code, &quotients);
    for (unsigned i = 0; i < coded.n; i++)
        if (!d->exact[i / t->N] && quotient_value(quotient_at(t, d, i)) == QUOTIENT_ESCAPE)
            put(out, d->escape_width, quotient_at(t, d, i));
    end_plane(out);
}

/* Writes the payload of a chunk, coded or raw, and returns its bytes. */
static size_t put_chunk(const struct type *t, bool fast, const uint8_t *raw, size_t raw_bytes,
                        uint8_t *dst)
{
    uint8_t coded[MAX_PAYLOAD_BYTES] = {0};
    struct writer out = {coded, 0};
    struct chunk chunk;
    struct choice choice;

    load_chunk(t, raw, raw_bytes, &chunk);
    choose(t, fast, &chunk, &choice);
    if (choice.mode == PZREF2_E || choice.mode == PZREF2_C)
        put_exponents(&out, t, &chunk, &choice.exponents);
    else
        put_numbers(&out, t, &chunk, &choice.numbers);
    if (out.bits / 8 >= raw_bytes) {
        memcpy(dst, raw, raw_bytes);
        return raw_bytes;
    }
    memcpy(dst, coded, out.bits / 8);
    return out.bits / 8;
}

/* docs/format2.md, "Tensor stream". */

static size_t chunk_count(size_t raw_bytes)
{
    return divide_up(raw_bytes, CHUNK_BYTES);
}

/* The raw bytes of one chunk: 4096, fewer in the last one. */
static size_t chunk_raw_bytes(size_t raw_bytes, size_t chunk)
{
    return smaller(raw_bytes - chunk * CHUNK_BYTES, CHUNK_BYTES);
}

static void put_header(uint8_t *dst, size_t chunk, size_t payload_bytes)
{
    dst[HEADER_BYTES * chunk] = (uint8_t)payload_bytes;
    dst[HEADER_BYTES * chunk + 1] = (uint8_t)(payload_bytes >> 8);
}

static size_t get_header(const uint8_t *coded, size_t chunk)
{
    return coded[HEADER_BYTES * chunk] | (size_t)coded[HEADER_BYTES * chunk + 1] << 8;
}

size_t pzref2_bound(size_t raw_bytes)
{
    return raw_bytes + HEADER_BYTES * chunk_count(raw_bytes);
}

size_t pzref2_encode(unsigned w, unsigned e, bool fast, const uint8_t *raw, size_t raw_bytes,
                     uint8_t *dst)
{
    struct type t = type_of(w, e);
    size_t at = HEADER_BYTES * chunk_count(raw_bytes);

    for (size_t chunk = 0; chunk < chunk_count(raw_bytes); chunk++) {
        size_t bytes = put_chunk(&t, fast, raw + chunk * CHUNK_BYTES,
                                 chunk_raw_bytes(raw_bytes, chunk), dst + at);

        put_header(dst, chunk, bytes);
        at += bytes;
    }
    return at;
}

/* The size counter: what the encoder would write, by the lengths of the parts alone. */

static unsigned count_value(const struct values *v, unsigned value)
{
    unsigned count = 0;

    for (unsigned i = 0; i < v->count; i++)
        count += v->value[i] == value;
    return count;
}

static size_t count_masks(const struct type *t, const struct chunk *chunk)
{
    size_t bits = MAX_BLOCKS;

    for (unsigned b = 0; b < chunk->nb; b++)
        bits += block_nonzero(t, chunk, b) > 0 ? t->N : 0;
    return bits / 8;
}

static size_t count_exponents(const struct type *t, const struct chunk *chunk,
                              const struct exponents *x)
{
    struct code code = mode_e_code(x->j);
    uint64_t coded[MAX_SYMBOLS];
    struct values classes;
    size_t planes = record_planes(t, x->t) + x->S, escapes;

    classes_of(t, coded, coded_symbols(chunk, x, coded), x->base, &classes);
    escapes = count_value(&classes, CLASS_ESCAPE);
    return 1 + (1 + escapes) * t->exponent_bytes + (x->t > 0 ? 1 + divide_up(x->t, 8) : 0) +
           (x->Z ? count_masks(t, chunk) : 0) + (size_t)classes.count * record_bytes(t, x->t) +
           planes * divide_up(classes.count, 8) + count_levels(&code, &classes);
}

static size_t count_numbers(const struct type *t, const struct chunk *chunk,
                            const struct numbers *d)
{
    struct code code = quotient_code();
    struct chunk coded;
    struct values quotients;
    size_t planes = 0, base_bytes = d->mode == PZREF2_D ? t->w / 8 : 0;

    chunk_to_code(t, chunk, d->Z, &coded);
    for (unsigned b = 0; b < coded.nb; b++)
        planes += d->k[b] + !d->exact[b];
    quotient_values(t, &coded, d, &quotients);
    return 1 + (d->Z ? count_masks(t, chunk) : 0) + (d->U ? 1 : coded.nb) + base_bytes +
           planes * t->N / 8 + count_levels(&code, &quotients) +
           divide_up((size_t)count_value(&quotients, QUOTIENT_ESCAPE) * d->escape_width, 8);
}

/* Adds one chunk to the sizes. */
static void count_chunk(const struct type *t, bool fast, const uint8_t *raw, size_t raw_bytes,
                        struct pzref2_sizes *sizes)
{
    struct chunk chunk;
    struct choice choice;
    size_t bytes;

    load_chunk(t, raw, raw_bytes, &chunk);
    choose(t, fast, &chunk, &choice);
    bytes = choice.mode == PZREF2_E || choice.mode == PZREF2_C
                ? count_exponents(t, &chunk, &choice.exponents)
                : count_numbers(t, &chunk, &choice.numbers);
    sizes->chunks++;
    sizes->raw_chunks += bytes >= raw_bytes;
    sizes->modes[choice.mode]++;
    sizes->payload_bytes += bytes;
    sizes->coded_bytes += HEADER_BYTES + smaller(bytes, raw_bytes);
}

struct pzref2_sizes pzref2_measure(unsigned w, unsigned e, bool fast, const uint8_t *raw,
                                   size_t raw_bytes)
{
    struct type t = type_of(w, e);
    struct pzref2_sizes sizes = {0};

    for (size_t chunk = 0; chunk < chunk_count(raw_bytes); chunk++)
        count_chunk(&t, fast, raw + chunk * CHUNK_BYTES, chunk_raw_bytes(raw_bytes, chunk), &sizes);
    return sizes;
}

/* docs/format2.md, "What a decoder rejects": the decoder. */

/* One mask: at least one 1, and none at which there is no symbol. */
static void get_mask(struct reader *in, const struct type *t, const struct chunk *chunk, unsigned b,
                     bool coded[MAX_SYMBOLS])
{
    bool any = false;

    for (unsigned i = block_from(t, b); i < block_from(t, b) + t->N; i++) {
        bool bit = get_bit(in);

        if (i < chunk->n)
            coded[i] = bit;
        else if (bit)
            reject(in, PZREF2_MASK);
        any |= bit;
    }
    if (!any)
        reject(in, PZREF2_EMPTY_MASK);
}

/* Map and masks: which symbols are coded. */
static void get_masks(struct reader *in, const struct type *t, const struct chunk *chunk,
                      bool coded[MAX_SYMBOLS])
{
    uint32_t map = (uint32_t)get(in, MAX_BLOCKS);

    if (map & ~ones(chunk->nb))
        reject(in, PZREF2_MAP);
    for (unsigned b = 0; b < chunk->nb; b++)
        if (map >> b & 1)
            get_mask(in, t, chunk, b, coded);
}

/* The values v of the format, and below them the constant bits. */
static void get_mantissas(struct reader *in, const struct type *t, unsigned constant_bits,
                          uint64_t constant, uint64_t v[MAX_SYMBOLS], unsigned c)
{
    for (unsigned i = 0; i < c; i++)
        v[i] = get(in, 8 * record_bytes(t, constant_bits)) << constant_bits | constant;
    for (unsigned p = 0; p < record_planes(t, constant_bits); p++) {
        for (unsigned i = 0; i < c; i++)
            v[i] |= (uint64_t)get_bit(in) << (t->m - p);
        get_plane_end(in);
    }
}

/* The exponent of a class, or the escape that is next. */
static uint64_t get_exponent(struct reader *in, const struct type *t, unsigned base, unsigned value)
{
    uint64_t exponent = base - value;

    if (value == CLASS_ESCAPE) {
        exponent = get(in, 8 * t->exponent_bytes);
        if (exponent > ones(t->e))
            reject(in, PZREF2_ESCAPED_EXPONENT);
    } else if (value > base) {
        reject(in, PZREF2_CLASS_BELOW_ZERO);
    }
    return exponent & ones(t->e);
}

/* The c coded symbols; x says how. */
static void get_coded_symbols(struct reader *in, const struct type *t, const struct exponents *x,
                              uint64_t symbol[MAX_SYMBOLS], unsigned c)
{
    struct code code = mode_e_code(x->j);
    struct values classes = {.count = c};
    uint64_t v[MAX_SYMBOLS];

    get_mantissas(in, t, x->t, x->constant, v, c);
    for (unsigned i = 0; i < c; i++) {
        classes.value[i] = v[i] >> t->m & 1;
        symbol[i] = mantissa_of(t, v[i]);
    }
    for (unsigned i = 0; x->S && i < c; i++)
        symbol[i] |= (uint64_t)get_bit(in) << (t->w - 1);
    get_plane_end(in);
    get_levels(in, &code, &classes);
    for (unsigned i = 0; i < c; i++)
        symbol[i] |= get_exponent(in, t, x->base, classes.value[i]) << t->m;
}

/* What stands before the map. */
static struct exponents get_choices(struct reader *in, const struct type *t, unsigned flags)
{
    struct exponents x = {.Z = flags >> 2 & 1, .S = flags >> 3 & 1, .j = flags >> 4};

    x.base = (unsigned)get(in, 8 * t->exponent_bytes);
    if (x.base > ones(t->e))
        reject(in, PZREF2_BASE);
    if ((flags & 3) == PZREF2_E)
        return x;
    x.t = (unsigned)get(in, 8);
    if (x.t == 0 || x.t > t->m) {
        reject(in, PZREF2_CONSTANT_BITS);
        x.t = 1;
    }
    x.constant = get(in, x.t);
    get_plane_end(in);
    return x;
}

/* Which symbols are coded, with MASKS if Z; returns c. */
static unsigned get_coded(struct reader *in, const struct type *t, const struct chunk *chunk,
                          bool Z, bool coded[MAX_SYMBOLS])
{
    unsigned c = 0;

    memset(coded, 0, MAX_SYMBOLS * sizeof *coded);
    if (Z)
        get_masks(in, t, chunk, coded);
    for (unsigned i = 0; i < chunk->n; i++) {
        coded[i] |= !Z;
        c += coded[i];
    }
    return c;
}

/* Puts the coded symbols to their places. */
static void place_symbols(const bool coded[MAX_SYMBOLS], const uint64_t *symbol,
                          struct chunk *chunk)
{
    for (unsigned i = 0, next = 0; i < chunk->n; i++)
        chunk->symbol[i] = coded[i] ? symbol[next++] : 0;
}

static void get_exponents(struct reader *in, const struct type *t, unsigned flags,
                          struct chunk *chunk)
{
    struct exponents x = get_choices(in, t, flags);
    bool coded[MAX_SYMBOLS];
    uint64_t symbol[MAX_SYMBOLS];
    unsigned c = get_coded(in, t, chunk, x.Z, coded);

    get_coded_symbols(in, t, &x, symbol, c);
    place_symbols(coded, symbol, chunk);
}

static void get_block_header(struct reader *in, const struct type *t, struct numbers *d, unsigned b)
{
    d->k[b] = (unsigned)get(in, 7);
    d->exact[b] = get_bit(in);
    if (d->k[b] > t->w)
        reject(in, PZREF2_BLOCK_BITS);
    else if (d->k[b] == t->w && !d->exact[b])
        reject(in, PZREF2_BLOCK_BITS_NOT_EXACT);
}

/* A bit of symbol i in a plane of its block. */
static unsigned get_block_bit(struct reader *in, const struct chunk *chunk, unsigned i)
{
    unsigned bit = get_bit(in);

    if (bit && i >= chunk->n)
        reject(in, PZREF2_BLOCK_PADDING);
    return bit;
}

/* The remainders go to z, the first code bits of what is not exact to the end of quotients. */
static void get_block(struct reader *in, const struct type *t, const struct chunk *chunk,
                      struct numbers *d, unsigned b, struct values *quotients)
{
    unsigned from = block_from(t, b), end = from + t->N;

    for (unsigned p = 0; p < d->k[b]; p++)
        for (unsigned i = from; i < end; i++)
            d->z[i] |= (uint64_t)get_block_bit(in, chunk, i) << p;
    for (unsigned i = from; !d->exact[b] && i < end; i++) {
        unsigned bit = get_block_bit(in, chunk, i);

        if (i < chunk->n)
            quotients->value[quotients->count++] = (uint8_t)bit;
    }
}

/* Adds a quotient, escaped or not, to the remainder of symbol i. */
static void get_quotient(struct reader *in, const struct type *t, struct numbers *d, unsigned i,
                         unsigned value)
{
    unsigned k = d->k[i / t->N];
    uint64_t quotient = value;

    if (value == QUOTIENT_ESCAPE)
        quotient = get(in, d->escape_width);
    if (quotient > ones(t->w - k))
        reject(in, PZREF2_QUOTIENT);
    d->z[i] |= quotient << k;
}

/* All z of the chunk. */
static void get_z(struct reader *in, const struct type *t, const struct chunk *chunk,
                  struct numbers *d)
{
    struct code code = quotient_code();
    struct values quotients = {0};
    unsigned next = 0;

    for (unsigned b = 0; b < chunk->nb; b++)
        get_block(in, t, chunk, d, b, &quotients);
    get_levels(in, &code, &quotients);
    for (unsigned i = 0; i < chunk->n; i++)
        if (!d->exact[i / t->N])
            get_quotient(in, t, d, i, quotients.value[next++]);
    get_plane_end(in);
}

/* The symbols from their z. */
static void restore_symbols(const struct type *t, const struct numbers *d, uint64_t before,
                            struct chunk *chunk)
{
    for (unsigned i = 0; i < chunk->n; i++) {
        if (d->mode == PZREF2_D)
            before = ordered(t, (ordered(t, before) + unfold(t, d->z[i])) & ones(t->w));
        else
            before = d->z[i];
        chunk->symbol[i] = before;
    }
}

/* The n symbols of a chunk, or of that of the coded symbols. */
static void get_chunk_numbers(struct reader *in, const struct type *t, struct numbers *d,
                              struct chunk *chunk)
{
    uint64_t before = 0;

    for (unsigned b = 0; b < chunk->nb || (b == 0 && d->U); b++) {
        if (b == 0 || !d->U)
            get_block_header(in, t, d, b);
        d->k[b] = d->k[d->U ? 0 : b];
        d->exact[b] = d->exact[d->U ? 0 : b];
    }
    if (d->mode == PZREF2_D)
        before = get(in, t->w);
    if (in->error != PZREF2_OK)
        return;
    get_z(in, t, chunk, d);
    restore_symbols(t, d, before, chunk);
}

static void get_numbers(struct reader *in, const struct type *t, unsigned flags,
                        struct chunk *chunk)
{
    struct numbers d = {.mode = (enum pzref2_mode)(flags & 3),
                        .escape_width = (flags >> 2 & 15) + 1,
                        .Z = flags >> 6 & 1,
                        .U = flags >> 7};
    struct chunk numbers = {0};
    bool coded[MAX_SYMBOLS];

    if (d.escape_width > t->w)
        reject(in, PZREF2_ESCAPE_WIDTH);
    numbers.n = get_coded(in, t, chunk, d.Z, coded);
    numbers.nb = (unsigned)divide_up(numbers.n, t->N);
    get_chunk_numbers(in, t, &d, &numbers);
    place_symbols(coded, numbers.symbol, chunk);
}

static void get_payload(struct reader *in, const struct type *t, struct chunk *chunk)
{
    unsigned flags = (unsigned)get(in, 8);

    if ((flags & 3) == PZREF2_I || (flags & 3) == PZREF2_D)
        get_numbers(in, t, flags, chunk);
    else if (t->e > 0)
        get_exponents(in, t, flags, chunk);
    else
        reject(in, PZREF2_MODE_WITHOUT_EXPONENT);
}

/* Decodes a chunk that is not raw. */
static enum pzref2_error get_coded_chunk(const struct type *t, const uint8_t *coded,
                                         size_t coded_bytes, uint8_t *raw, size_t raw_bytes)
{
    struct reader in = {coded, 8 * coded_bytes, 0, PZREF2_OK};
    struct chunk chunk;

    size_chunk(t, raw_bytes, &chunk);
    get_payload(&in, t, &chunk);
    if (in.at < in.bits)
        reject(&in, PZREF2_CHUNK_LEFTOVER);
    for (size_t k = 0; k < raw_bytes; k++)
        raw[k] = byte_of(t, &chunk, k);
    for (size_t k = raw_bytes; k < (size_t)chunk.n * (t->w / 8); k++)
        if (byte_of(t, &chunk, k) != 0)
            reject(&in, PZREF2_SYMBOL_PADDING);
    return in.error;
}

static enum pzref2_error get_chunk(const struct type *t, const uint8_t *coded, size_t coded_bytes,
                                   uint8_t *raw, size_t raw_bytes)
{
    if (coded_bytes < raw_bytes)
        return get_coded_chunk(t, coded, coded_bytes, raw, raw_bytes);
    memcpy(raw, coded, raw_bytes);
    return PZREF2_OK;
}

/* Checks the headers and the length of the stream, which they determine. */
static enum pzref2_error check_headers(const uint8_t *coded, size_t coded_bytes, size_t raw_bytes,
                                       int64_t *chunk)
{
    size_t chunks = chunk_count(raw_bytes), end = HEADER_BYTES * chunks;

    if (coded_bytes < end)
        return PZREF2_HEADERS_TRUNCATED;
    for (size_t k = 0; k < chunks; k++) {
        *chunk = (int64_t)k;
        if (get_header(coded, k) > chunk_raw_bytes(raw_bytes, k))
            return PZREF2_HEADER_ABOVE_RAW;
        end += get_header(coded, k);
        if (coded_bytes < end)
            return PZREF2_PAYLOAD_TRUNCATED;
    }
    *chunk = -1;
    return coded_bytes > end ? PZREF2_TRAILING_BYTES : PZREF2_OK;
}

enum pzref2_error pzref2_decode(unsigned w, unsigned e, const uint8_t *coded, size_t coded_bytes,
                                uint8_t *raw, size_t raw_bytes, int64_t *chunk)
{
    struct type t = type_of(w, e);
    size_t chunks = chunk_count(raw_bytes), at = HEADER_BYTES * chunks;
    int64_t found = -1;
    enum pzref2_error error = check_headers(coded, coded_bytes, raw_bytes, &found);

    for (size_t k = 0; k < chunks && error == PZREF2_OK; k++) {
        found = (int64_t)k;
        error = get_chunk(&t, coded + at, get_header(coded, k), raw + k * CHUNK_BYTES,
                          chunk_raw_bytes(raw_bytes, k));
        at += get_header(coded, k);
    }
    if (error != PZREF2_OK && chunk != NULL)
        *chunk = found;
    return error;
}
