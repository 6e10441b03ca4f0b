/* The tensor stream of docs/format.md, bit by bit and in its order: first what encoder and decoder
 * share, then the encoder, the size counter and the decoder.  A plane is an array of single bits
 * and nothing is computed in a clever way: each function can be read against its section. */
#include "pzref.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK_BYTES = 128, CHUNK_BLOCKS = 32, CHUNK_BYTES = BLOCK_BYTES * CHUNK_BLOCKS };
enum { HEADER_BYTES = 2, TAG_BITS = 3 };
enum { MAX_SYMBOLS = 128, MAX_PLANES = 65 };

/* Room for the longest candidate of a block: 3 + 128 + 8 * 129 bits. */
enum { MAX_CANDIDATE_BYTES = 256 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* docs/format.md, "Symbols and blocks". */

/* N of the format. */
static unsigned symbols_per_block(unsigned w)
{
    return 8 * BLOCK_BYTES / w;
}

static void symbols_from_bytes(unsigned w, const uint8_t bytes[BLOCK_BYTES],
                               uint64_t symbols[MAX_SYMBOLS])
{
    unsigned size = w / 8;

    for (unsigned i = 0; i < symbols_per_block(w); i++) {
        symbols[i] = 0;
        for (unsigned k = 0; k < size; k++)
            symbols[i] |= (uint64_t)bytes[i * size + k] << (8 * k);
    }
}

static void bytes_from_symbols(unsigned w, const uint64_t symbols[MAX_SYMBOLS],
                               uint8_t bytes[BLOCK_BYTES])
{
    unsigned size = w / 8;

    for (unsigned i = 0; i < symbols_per_block(w); i++)
        for (unsigned k = 0; k < size; k++)
            bytes[i * size + k] = (uint8_t)(symbols[i] >> (8 * k));
}

/* Reads block number `block` of a chunk of raw_bytes; a short last block gets its zero padding. */
static void load_block(unsigned w, const uint8_t *raw, size_t raw_bytes, size_t block,
                       uint64_t symbols[MAX_SYMBOLS])
{
    size_t from = block * BLOCK_BYTES;
    uint8_t bytes[BLOCK_BYTES] = {0};

    memcpy(bytes, raw + from, smaller(raw_bytes - from, BLOCK_BYTES));
    symbols_from_bytes(w, bytes, symbols);
}

/* The non-zero symbols in order; returns n, their number. */
static unsigned nonzero_symbols(unsigned w, const uint64_t symbols[MAX_SYMBOLS],
                                uint64_t nonzero[MAX_SYMBOLS])
{
    unsigned n = 0;

    for (unsigned i = 0; i < symbols_per_block(w); i++)
        if (symbols[i] != 0)
            nonzero[n++] = symbols[i];
    return n;
}

/* docs/format.md, "Bit order". */

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

/* A field of m bits, least significant first. */
static void put(struct writer *out, unsigned m, uint64_t value)
{
    for (unsigned k = 0; k < m; k++)
        put_bit(out, (value >> k) & 1);
}

/* A prefix code in the order in which the format prints it. */
static void put_code(struct writer *out, const char *code)
{
    for (; *code != '\0'; code++)
        put_bit(out, *code == '1');
}

struct reader {
    const uint8_t *bytes;
    size_t bits;            /* in all */
    size_t at;              /* the next one */
    enum pzref_error error; /* the first one found */
};

static void reject(struct reader *in, enum pzref_error error)
{
    if (in->error == PZREF_OK)
        in->error = error;
}

/* Past the end: zero, and the chunk is rejected. */
static unsigned get_bit(struct reader *in)
{
    unsigned bit;

    if (in->at == in->bits) {
        reject(in, PZREF_CHUNK_OVERRUN);
        return 0;
    }
    bit = (in->bytes[in->at / 8] >> (in->at % 8)) & 1u;
    in->at++;
    return bit;
}

static uint64_t get(struct reader *in, unsigned m)
{
    uint64_t value = 0;

    for (unsigned k = 0; k < m; k++)
        value |= (uint64_t)get_bit(in) << k;
    return value;
}

/* docs/format.md, "Deltas". */

/* A value of up to w + 1 bits: its low w bits, and bit w, which is the sign of a delta. */
struct value {
    uint64_t low;
    unsigned top;
};

static uint64_t low_bits(uint64_t value, unsigned w)
{
    return w == 64 ? value : value & ((UINT64_C(1) << w) - 1);
}

/* to - from in two's complement: it is negative, and so bit w is set, if to is the smaller. */
static struct value delta_between(unsigned w, uint64_t from, uint64_t to)
{
    struct value delta = {low_bits(to - from, w), to < from};

    return delta;
}

/* The symbol that delta leads to.  A negative delta is low - 2^w: the sum stays at zero or above
 * exactly if from + low carries out of w bits.  One that is not negative must not carry. */
static uint64_t add_delta(struct reader *in, unsigned w, uint64_t from, struct value delta)
{
    uint64_t sum = low_bits(from + delta.low, w);
    bool carry = sum < from;

    if (delta.top && !carry)
        reject(in, PZREF_DELTA_BELOW);
    if (!delta.top && carry)
        reject(in, PZREF_DELTA_ABOVE);
    return sum;
}

/* docs/format.md, "PLANES". */

/* P planes of p bits; bit[j][i] is bit i of plane j. */
struct planes {
    unsigned P, p;
    uint8_t bit[MAX_PLANES][MAX_SYMBOLS];
};

static const uint8_t zero_plane[MAX_SYMBOLS];

/* The codes for one non-zero plane, in the order that decides a tie. */
enum code { ALL_ONES, ZERO_BEFORE_XOR, ONE_BIT, TWO_BITS, VERBATIM, CODES };

/* R: the bits of the field of a run. */
static unsigned run_field_bits(unsigned w)
{
    unsigned R = 0;

    while ((1u << R) < w)
        R++;
    return R;
}

/* L: the bits of a position in a plane of p bits. */
static unsigned position_bits(unsigned p)
{
    unsigned L = 0;

    while ((1u << L) < p)
        L++;
    return L;
}

static unsigned count_ones(const uint8_t *plane, unsigned p)
{
    unsigned ones = 0;

    for (unsigned i = 0; i < p; i++)
        ones += plane[i];
    return ones;
}

static bool is_zero(const uint8_t *plane, unsigned p)
{
    return count_ones(plane, p) == 0;
}

/* The position of the lowest one of a non-zero plane. */
static unsigned lowest_one(const uint8_t *plane)
{
    unsigned i = 0;

    while (plane[i] == 0)
        i++;
    return i;
}

/* b_j, where b_P is a plane of zeros. */
static const uint8_t *plane_at(const struct planes *b, unsigned j)
{
    return j == b->P ? zero_plane : b->bit[j];
}

/* The planes b_j of `count` values, P of them each. */
static void planes_from_values(const struct value *values, unsigned count, unsigned w, unsigned P,
                               struct planes *b)
{
    b->P = P;
    b->p = count;
    for (unsigned j = 0; j < P; j++)
        for (unsigned i = 0; i < count; i++)
            b->bit[j][i] = j == w ? values[i].top : (values[i].low >> j) & 1;
}

static struct value value_from_planes(const struct planes *b, unsigned w, unsigned i)
{
    struct value value = {0, 0};

    for (unsigned j = 0; j < w; j++)
        value.low |= (uint64_t)b->bit[j][i] << j;
    if (b->P > w)
        value.top = b->bit[w][i];
    return value;
}

/* The planes of symbols as they are: w planes. */
static void planes_from_symbols(unsigned w, const uint64_t *symbols, unsigned count,
                                struct planes *b)
{
    struct value values[MAX_SYMBOLS];

    for (unsigned i = 0; i < count; i++)
        values[i] = (struct value){symbols[i], 0};
    planes_from_values(values, count, w, w, b);
}

/* The planes of the N - 1 deltas: w + 1 planes. */
static void planes_from_deltas(unsigned w, const uint64_t symbols[MAX_SYMBOLS], struct planes *b)
{
    struct value deltas[MAX_SYMBOLS];
    unsigned count = symbols_per_block(w) - 1;

    for (unsigned i = 0; i < count; i++)
        deltas[i] = delta_between(w, symbols[i], symbols[i + 1]);
    planes_from_values(deltas, count, w, w + 1, b);
}

/* x_j = b_j XOR b_{j+1}. */
static void xor_planes(const struct planes *b, struct planes *x)
{
    x->P = b->P;
    x->p = b->p;
    for (unsigned j = 0; j < b->P; j++)
        for (unsigned i = 0; i < b->p; i++)
            x->bit[j][i] = b->bit[j][i] ^ plane_at(b, j + 1)[i];
}

/* The number of zero planes x_j, x_{j-1}, ... */
static unsigned zero_run(const struct planes *x, unsigned j)
{
    unsigned run = 0;

    while (run <= j && is_zero(x->bit[j - run], x->p))
        run++;
    return run;
}

/* docs/format.md, "Canonical choices". */

static unsigned code_bits(enum code code, unsigned p)
{
    switch (code) {
    case ALL_ONES:
    case ZERO_BEFORE_XOR:
        return 5;
    case ONE_BIT:
    case TWO_BITS:
        return 5 + position_bits(p);
    default:
        return 1 + p;
    }
}

/* Whether the code can stand for the non-zero plane x, which was b before the XOR. */
static bool code_fits(enum code code, const uint8_t *x, const uint8_t *b, unsigned p)
{
    unsigned ones = count_ones(x, p);

    switch (code) {
    case ALL_ONES:
        return ones == p;
    case ZERO_BEFORE_XOR:
        return is_zero(b, p);
    case ONE_BIT:
        return ones == 1;
    case TWO_BITS:
        return ones == 2 && x[lowest_one(x) + 1] == 1;
    default:
        return true;
    }
}

/* The shortest code that fits, the first of several. */
static enum code choose_code(const uint8_t *x, const uint8_t *b, unsigned p)
{
    enum code best = VERBATIM;

    for (int code = VERBATIM - 1; code >= 0; code--)
        if (code_fits(code, x, b, p) && code_bits(code, p) <= code_bits(best, p))
            best = code;
    return best;
}

/* RAW belongs to every set. */
static bool may_use(unsigned encodings, unsigned tag)
{
    return tag == PZREF_RAW || (encodings >> tag & 1u) != 0;
}

/* docs/format.md, "Block": the encoder. */

static void put_run(struct writer *out, unsigned w, unsigned run)
{
    if (run == 1) {
        put_code(out, "001");
        return;
    }
    put_code(out, "01");
    put(out, run_field_bits(w), run - 2);
}

static void put_bits(struct writer *out, const uint8_t *bits, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put_bit(out, bits[i]);
}

static void put_plane(struct writer *out, const uint8_t *x, const uint8_t *b, unsigned p)
{
    static const char *const prefix[CODES] = {"00000", "00001", "00011", "00010", "1"};
    enum code code = choose_code(x, b, p);

    put_code(out, prefix[code]);
    if (code == ONE_BIT || code == TWO_BITS)
        put(out, position_bits(p), lowest_one(x));
    if (code == VERBATIM)
        put_bits(out, x, p);
}

static void put_planes(struct writer *out, unsigned w, const struct planes *b)
{
    struct planes x;
    unsigned left = b->P; /* planes left-1 .. 0 are still to be coded */

    xor_planes(b, &x);
    while (left > 0) {
        unsigned j = left - 1, run = zero_run(&x, j);

        if (run > 0)
            put_run(out, w, run);
        else
            put_plane(out, x.bit[j], b->bit[j], b->p);
        left -= run > 0 ? run : 1;
    }
}

static void put_mask(struct writer *out, unsigned w, const uint64_t symbols[MAX_SYMBOLS])
{
    for (unsigned i = 0; i < symbols_per_block(w); i++)
        put_bit(out, symbols[i] != 0);
}

static void put_symbols(struct writer *out, unsigned w, const uint64_t *symbols, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put(out, w, symbols[i]);
}

static void put_zvc(struct writer *out, unsigned w, const uint64_t symbols[MAX_SYMBOLS])
{
    uint64_t nonzero[MAX_SYMBOLS];
    unsigned n = nonzero_symbols(w, symbols, nonzero);

    put_mask(out, w, symbols);
    put_symbols(out, w, nonzero, n);
}

static void put_bx(struct writer *out, unsigned w, const uint64_t symbols[MAX_SYMBOLS])
{
    struct planes b;

    planes_from_symbols(w, symbols, symbols_per_block(w), &b);
    put_planes(out, w, &b);
}

static void put_dbx(struct writer *out, unsigned w, const uint64_t symbols[MAX_SYMBOLS])
{
    struct planes b;

    put(out, w, symbols[0]);
    planes_from_deltas(w, symbols, &b);
    put_planes(out, w, &b);
}

static void put_zbx(struct writer *out, unsigned w, const uint64_t symbols[MAX_SYMBOLS])
{
    uint64_t nonzero[MAX_SYMBOLS];
    unsigned n = nonzero_symbols(w, symbols, nonzero);
    struct planes b;

    put_mask(out, w, symbols);
    if (n == 0)
        return;
    planes_from_symbols(w, nonzero, n, &b);
    put_planes(out, w, &b);
}

static void put_block_as(struct writer *out, unsigned w, unsigned tag,
                         const uint64_t symbols[MAX_SYMBOLS])
{
    put(out, TAG_BITS, tag);
    switch (tag) {
    case PZREF_RAW:
        put_symbols(out, w, symbols, symbols_per_block(w));
        break;
    case PZREF_ZVC:
        put_zvc(out, w, symbols);
        break;
    case PZREF_BX:
        put_bx(out, w, symbols);
        break;
    case PZREF_DBX:
        put_dbx(out, w, symbols);
        break;
    case PZREF_ZBX:
        put_zbx(out, w, symbols);
        break;
    }
}

/* Writes the block in every way that is allowed and keeps the smallest, the lowest tag on a tie. */
static void put_block(struct writer *out, unsigned w, unsigned encodings,
                      const uint64_t symbols[MAX_SYMBOLS])
{
    uint8_t best_bytes[MAX_CANDIDATE_BYTES] = {0};
    struct writer best = {best_bytes, 0};

    put_block_as(&best, w, PZREF_RAW, symbols);
    for (unsigned tag = 1; tag < PZREF_TAGS; tag++) {
        uint8_t bytes[MAX_CANDIDATE_BYTES] = {0};
        struct writer candidate = {bytes, 0};

        if (!may_use(encodings, tag))
            continue;
        put_block_as(&candidate, w, tag, symbols);
        if (candidate.bits < best.bits) {
            memcpy(best_bytes, bytes, sizeof bytes);
            best.bits = candidate.bits;
        }
    }
    for (size_t k = 0; k < best.bits; k++)
        put_bit(out, best_bytes[k / 8] >> (k % 8) & 1u);
}

/* docs/format.md, "Chunks". */

/* Writes the payload of a chunk, coded or raw, and returns its bytes. */
static size_t put_chunk(unsigned w, unsigned encodings, const uint8_t *raw, size_t raw_bytes,
                        uint8_t *dst)
{
    uint8_t coded[CHUNK_BLOCKS * MAX_CANDIDATE_BYTES] = {0};
    struct writer out = {coded, 0};
    uint64_t symbols[MAX_SYMBOLS];
    size_t coded_bytes;

    for (size_t block = 0; block * BLOCK_BYTES < raw_bytes; block++) {
        load_block(w, raw, raw_bytes, block, symbols);
        put_block(&out, w, encodings, symbols);
    }
    coded_bytes = divide_up(out.bits, 8);
    if (coded_bytes >= raw_bytes) {
        memcpy(dst, raw, raw_bytes);
        return raw_bytes;
    }
    memcpy(dst, coded, coded_bytes);
    return coded_bytes;
}

/* docs/format.md, "Tensor stream". */

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

size_t pzref_bound(size_t raw_bytes)
{
    return raw_bytes + HEADER_BYTES * chunk_count(raw_bytes);
}

size_t pzref_encode(unsigned w, unsigned encodings, const uint8_t *raw, size_t raw_bytes,
                    uint8_t *dst)
{
    size_t at = HEADER_BYTES * chunk_count(raw_bytes);

    for (size_t chunk = 0; chunk < chunk_count(raw_bytes); chunk++) {
        size_t bytes = put_chunk(w, encodings, raw + chunk * CHUNK_BYTES,
                                 chunk_raw_bytes(raw_bytes, chunk), dst + at);

        put_header(dst, chunk, bytes);
        at += bytes;
    }
    return at;
}

/* The size counter: what the encoder would write, by the lengths of the codes alone. */

static unsigned count_plane(const uint8_t *x, const uint8_t *b, unsigned p)
{
    unsigned least = code_bits(VERBATIM, p);

    for (int code = 0; code < CODES; code++)
        if (code_fits(code, x, b, p) && code_bits(code, p) < least)
            least = code_bits(code, p);
    return least;
}

static unsigned count_run(unsigned w, unsigned run)
{
    return run == 1 ? 3 : 2 + run_field_bits(w);
}

static unsigned count_planes(unsigned w, const struct planes *b)
{
    struct planes x;
    unsigned bits = 0;

    xor_planes(b, &x);
    for (unsigned j = 0; j < b->P; j++) {
        bool zero = is_zero(x.bit[j], b->p);
        bool begins_run = j + 1 == b->P || !is_zero(x.bit[j + 1], b->p);

        if (!zero)
            bits += count_plane(x.bit[j], b->bit[j], b->p);
        else if (begins_run)
            bits += count_run(w, zero_run(&x, j));
    }
    return bits;
}

static unsigned count_planes_of(unsigned w, const uint64_t *symbols, unsigned count)
{
    struct planes b;

    planes_from_symbols(w, symbols, count, &b);
    return count == 0 ? 0 : count_planes(w, &b);
}

static unsigned count_planes_of_deltas(unsigned w, const uint64_t symbols[MAX_SYMBOLS])
{
    struct planes b;

    planes_from_deltas(w, symbols, &b);
    return count_planes(w, &b);
}

/* Bits of a block in one encoding, its tag included. */
static unsigned count_block_as(unsigned w, unsigned tag, const uint64_t symbols[MAX_SYMBOLS])
{
    unsigned N = symbols_per_block(w);
    uint64_t nonzero[MAX_SYMBOLS];
    unsigned n = nonzero_symbols(w, symbols, nonzero);

    switch (tag) {
    case PZREF_ZVC:
        return TAG_BITS + N + n * w;
    case PZREF_BX:
        return TAG_BITS + count_planes_of(w, symbols, N);
    case PZREF_DBX:
        return TAG_BITS + w + count_planes_of_deltas(w, symbols);
    case PZREF_ZBX:
        return TAG_BITS + N + count_planes_of(w, nonzero, n);
    default:
        return TAG_BITS + 8 * BLOCK_BYTES;
    }
}

/* Bits of the block in its canonical encoding, whose tag goes to *winner. */
static unsigned count_block(unsigned w, unsigned encodings, const uint64_t symbols[MAX_SYMBOLS],
                            unsigned *winner)
{
    unsigned least = count_block_as(w, PZREF_RAW, symbols);

    *winner = PZREF_RAW;
    for (unsigned tag = 1; tag < PZREF_TAGS; tag++) {
        unsigned bits = may_use(encodings, tag) ? count_block_as(w, tag, symbols) : least;

        if (bits < least) {
            least = bits;
            *winner = tag;
        }
    }
    return least;
}

/* Adds one chunk to the sizes. */
static void count_chunk(unsigned w, unsigned encodings, const uint8_t *raw, size_t raw_bytes,
                        struct pzref_sizes *sizes)
{
    uint64_t symbols[MAX_SYMBOLS];
    size_t bits = 0, bytes;
    unsigned winner;

    for (size_t block = 0; block * BLOCK_BYTES < raw_bytes; block++) {
        load_block(w, raw, raw_bytes, block, symbols);
        bits += count_block(w, encodings, symbols, &winner);
        sizes->blocks[winner]++;
    }
    bytes = divide_up(bits, 8);
    sizes->chunks++;
    sizes->raw_chunks += bytes >= raw_bytes;
    sizes->payload_bits += bits;
    sizes->coded_bytes += HEADER_BYTES + smaller(bytes, raw_bytes);
}

struct pzref_sizes pzref_measure(unsigned w, unsigned encodings, const uint8_t *raw,
                                 size_t raw_bytes)
{
    struct pzref_sizes sizes = {0};

    for (size_t chunk = 0; chunk < chunk_count(raw_bytes); chunk++)
        count_chunk(w, encodings, raw + chunk * CHUNK_BYTES, chunk_raw_bytes(raw_bytes, chunk),
                    &sizes);
    return sizes;
}

/* docs/format.md, "What a decoder rejects": the decoder. */

/* What stands for one or more planes x_j: their number, and the bits of a single non-zero one. */
struct planes_code {
    unsigned planes;
    uint8_t x[MAX_SYMBOLS];
};

static void get_verbatim(struct reader *in, unsigned p, struct planes_code *code)
{
    for (unsigned i = 0; i < p; i++)
        code->x[i] = (uint8_t)get_bit(in);
}

static void get_all_ones(unsigned p, struct planes_code *code)
{
    memset(code->x, 1, p);
}

/* x_j cancels b_{j+1}, which therefore must not be zero. */
static void get_zero_before_xor(struct reader *in, unsigned p, const uint8_t *above,
                                struct planes_code *code)
{
    if (is_zero(above, p))
        reject(in, PZREF_ZERO_PLANE);
    memcpy(code->x, above, p);
}

static void get_one_bit(struct reader *in, unsigned p, struct planes_code *code)
{
    unsigned position = (unsigned)get(in, position_bits(p));

    if (position >= p)
        reject(in, PZREF_POSITION_OUTSIDE);
    else
        code->x[position] = 1;
}

static void get_two_bits(struct reader *in, unsigned p, struct planes_code *code)
{
    unsigned position = (unsigned)get(in, position_bits(p));

    if (position + 1 >= p) {
        reject(in, PZREF_PAIR_OUTSIDE);
        return;
    }
    code->x[position] = 1;
    code->x[position + 1] = 1;
}

/* The codes that begin with 000; their last two bits come in stream order, first bit times two. */
static void get_special(struct reader *in, unsigned p, const uint8_t *above,
                        struct planes_code *code)
{
    unsigned first = get_bit(in), second = get_bit(in);

    switch (2 * first + second) {
    case 0:
        get_all_ones(p, code);
        break;
    case 1:
        get_zero_before_xor(in, p, above, code);
        break;
    case 2:
        get_two_bits(in, p, code);
        break;
    case 3:
        get_one_bit(in, p, code);
        break;
    }
}

/* The next code; above is b_{j+1}. */
static struct planes_code get_planes_code(struct reader *in, unsigned w, unsigned p,
                                          const uint8_t *above)
{
    struct planes_code code = {1, {0}};

    if (get_bit(in))
        get_verbatim(in, p, &code);
    else if (get_bit(in))
        code.planes = 2 + (unsigned)get(in, run_field_bits(w));
    else if (!get_bit(in))
        get_special(in, p, above, &code);
    return code;
}

static void get_planes(struct reader *in, unsigned w, unsigned P, unsigned p, struct planes *b)
{
    unsigned left = P; /* planes left-1 .. 0 are still to be read */

    memset(b, 0, sizeof *b);
    b->P = P;
    b->p = p;
    while (left > 0 && in->error == PZREF_OK) {
        struct planes_code code = get_planes_code(in, w, p, plane_at(b, left));

        if (code.planes > left) {
            reject(in, PZREF_RUN_PAST_END);
            return;
        }
        for (; code.planes > 0; code.planes--, left--)
            for (unsigned i = 0; i < p; i++)
                b->bit[left - 1][i] = code.x[i] ^ plane_at(b, left)[i];
    }
}

static void get_raw(struct reader *in, unsigned w, uint64_t symbols[MAX_SYMBOLS])
{
    for (unsigned i = 0; i < symbols_per_block(w); i++)
        symbols[i] = get(in, w);
}

/* Returns n, the number of ones. */
static unsigned get_mask(struct reader *in, unsigned w, uint8_t mask[MAX_SYMBOLS])
{
    unsigned N = symbols_per_block(w);

    for (unsigned i = 0; i < N; i++)
        mask[i] = (uint8_t)get_bit(in);
    return count_ones(mask, N);
}

static void get_zvc(struct reader *in, unsigned w, uint64_t symbols[MAX_SYMBOLS])
{
    uint8_t mask[MAX_SYMBOLS];

    get_mask(in, w, mask);
    for (unsigned i = 0; i < symbols_per_block(w); i++) {
        symbols[i] = mask[i] ? get(in, w) : 0;
        if (mask[i] && symbols[i] == 0)
            reject(in, PZREF_ZVC_ZERO_SYMBOL);
    }
}

static void get_bx(struct reader *in, unsigned w, uint64_t symbols[MAX_SYMBOLS])
{
    struct planes b;

    get_planes(in, w, w, symbols_per_block(w), &b);
    for (unsigned i = 0; i < symbols_per_block(w); i++)
        symbols[i] = value_from_planes(&b, w, i).low;
}

static void get_dbx(struct reader *in, unsigned w, uint64_t symbols[MAX_SYMBOLS])
{
    unsigned N = symbols_per_block(w);
    struct planes b;

    symbols[0] = get(in, w);
    get_planes(in, w, w + 1, N - 1, &b);
    for (unsigned i = 0; i < N - 1; i++)
        symbols[i + 1] = add_delta(in, w, symbols[i], value_from_planes(&b, w, i));
}

static void get_zbx(struct reader *in, unsigned w, uint64_t symbols[MAX_SYMBOLS])
{
    uint8_t mask[MAX_SYMBOLS];
    unsigned n = get_mask(in, w, mask), k = 0;
    struct planes b = {0};

    if (n > 0)
        get_planes(in, w, w, n, &b);
    for (unsigned i = 0; i < symbols_per_block(w); i++) {
        symbols[i] = mask[i] ? value_from_planes(&b, w, k++).low : 0;
        if (mask[i] && symbols[i] == 0)
            reject(in, PZREF_ZBX_ZERO_SYMBOL);
    }
}

static void get_block(struct reader *in, unsigned w, uint64_t symbols[MAX_SYMBOLS])
{
    switch (get(in, TAG_BITS)) {
    case PZREF_RAW:
        get_raw(in, w, symbols);
        break;
    case PZREF_ZVC:
        get_zvc(in, w, symbols);
        break;
    case PZREF_BX:
        get_bx(in, w, symbols);
        break;
    case PZREF_DBX:
        get_dbx(in, w, symbols);
        break;
    case PZREF_ZBX:
        get_zbx(in, w, symbols);
        break;
    default:
        reject(in, PZREF_RESERVED_TAG);
    }
}

/* Decodes block number `block` of a chunk of raw_bytes; its padding is dropped and must be zero. */
static void get_block_bytes(struct reader *in, unsigned w, size_t block, uint8_t *raw,
                            size_t raw_bytes)
{
    size_t from = block * BLOCK_BYTES, kept = smaller(raw_bytes - from, BLOCK_BYTES);
    uint64_t symbols[MAX_SYMBOLS] = {0};
    uint8_t bytes[BLOCK_BYTES];

    get_block(in, w, symbols);
    bytes_from_symbols(w, symbols, bytes);
    memcpy(raw + from, bytes, kept);
    for (size_t k = kept; k < BLOCK_BYTES; k++)
        if (bytes[k] != 0)
            reject(in, PZREF_BLOCK_PADDING);
}

/* After the last block: less than a byte is left, and it is zero. */
static void get_chunk_end(struct reader *in)
{
    if (in->bits - in->at >= 8)
        reject(in, PZREF_CHUNK_LEFTOVER);
    else if (get(in, (unsigned)(in->bits - in->at)) != 0)
        reject(in, PZREF_CHUNK_PADDING);
}

/* Decodes a chunk that is not raw; *block is the block of an error, -1 if it is in none. */
static enum pzref_error get_coded_chunk(unsigned w, const uint8_t *coded, size_t coded_bytes,
                                        uint8_t *raw, size_t raw_bytes, int *block)
{
    struct reader in = {coded, 8 * coded_bytes, 0, PZREF_OK};

    for (size_t k = 0; k * BLOCK_BYTES < raw_bytes; k++) {
        get_block_bytes(&in, w, k, raw, raw_bytes);
        *block = (int)k;
        if (in.error != PZREF_OK)
            return in.error;
    }
    *block = -1;
    get_chunk_end(&in);
    return in.error;
}

/* Checks the headers and the length of the stream, which they determine. */
static enum pzref_error check_headers(const uint8_t *coded, size_t coded_bytes, size_t raw_bytes,
                                      int64_t *chunk)
{
    size_t chunks = chunk_count(raw_bytes), end = HEADER_BYTES * chunks;

    if (coded_bytes < end)
        return PZREF_HEADERS_TRUNCATED;
    for (size_t k = 0; k < chunks; k++) {
        *chunk = (int64_t)k;
        if (get_header(coded, k) > chunk_raw_bytes(raw_bytes, k))
            return PZREF_HEADER_ABOVE_RAW;
        end += get_header(coded, k);
        if (coded_bytes < end)
            return PZREF_PAYLOAD_TRUNCATED;
    }
    *chunk = -1;
    return coded_bytes > end ? PZREF_TRAILING_BYTES : PZREF_OK;
}

static enum pzref_error get_chunk(unsigned w, const uint8_t *coded, size_t coded_bytes,
                                  uint8_t *raw, size_t raw_bytes, int *block)
{
    if (coded_bytes == raw_bytes) {
        memcpy(raw, coded, raw_bytes);
        return PZREF_OK;
    }
    return get_coded_chunk(w, coded, coded_bytes, raw, raw_bytes, block);
}

enum pzref_error pzref_decode(unsigned w, const uint8_t *coded, size_t coded_bytes, uint8_t *raw,
                              size_t raw_bytes, struct pzref_where *where)
{
    size_t chunks = chunk_count(raw_bytes), at = HEADER_BYTES * chunks;
    struct pzref_where found = {-1, -1};
    enum pzref_error error = check_headers(coded, coded_bytes, raw_bytes, &found.chunk);

    for (size_t k = 0; k < chunks && error == PZREF_OK; k++) {
        found.chunk = (int64_t)k;
        error = get_chunk(w, coded + at, get_header(coded, k), raw + k * CHUNK_BYTES,
                          chunk_raw_bytes(raw_bytes, k), &found.block);
        at += get_header(coded, k);
    }
    if (error != PZREF_OK && where != NULL)
        *where = found;
    return error;
}
