/* See streamgen.h.  A chunk is composed of blocks; each block is written several times with random
 * choices, and the shortest attempt stays, as a chunk that grows would have to be stored raw. */
#include "streamgen.h"

#include <string.h>

#include "bits.h"

enum { BLOCK_BYTES = 128, CHUNK_BYTES = 4096, MAX_SYMBOLS = 128 };

/* The values that PLANES codes: P planes of p bits.  Plane 64 of 65-bit deltas is `top`. */
struct values {
    unsigned P, p;
    uint64_t low[MAX_SYMBOLS];
    uint8_t top[MAX_SYMBOLS];
};

/* One attempt at a block. */
struct attempt {
    struct bits bits;
    uint64_t counts[STREAMGEN_FEATURES];
    unsigned carelessness; /* of 8 free choices, so many do not look for the shortest code */
};

struct generator {
    struct rng *rng;
    unsigned w, N;
};

static bool careless(const struct generator *g, const struct attempt *a)
{
    return rng_below(g->rng, 8) < a->carelessness;
}

/* ceil(log2(n)) */
static unsigned log2_up(unsigned n)
{
    unsigned bits = 0;

    while ((1u << bits) < n)
        bits++;
    return bits;
}

/* Bit i of the plane before the XOR; zero above the top plane. */
static unsigned b_bit(const struct generator *g, const struct values *v, unsigned j, unsigned i)
{
    if (j >= v->P)
        return 0;
    return j == g->w ? v->top[i] : (unsigned)(v->low[i] >> j) & 1u;
}

static unsigned x_bit(const struct generator *g, const struct values *v, unsigned j, unsigned i)
{
    return b_bit(g, v, j, i) ^ b_bit(g, v, j + 1, i);
}

static bool b_is_zero(const struct generator *g, const struct values *v, unsigned j)
{
    for (unsigned i = 0; i < v->p; i++)
        if (b_bit(g, v, j, i))
            return false;
    return true;
}

/* Ones of x_j, and where the lowest and the highest one are; both are 0 for a zero plane. */
struct ones {
    unsigned count, lowest, highest;
};

static struct ones x_ones(const struct generator *g, const struct values *v, unsigned j)
{
    struct ones ones = {0, 0, 0};

    for (unsigned i = 0; i < v->p; i++) {
        if (!x_bit(g, v, j, i))
            continue;
        if (ones.count++ == 0)
            ones.lowest = i;
        ones.highest = i;
    }
    return ones;
}

static void put_verbatim(const struct generator *g, struct attempt *a, const struct values *v,
                         unsigned j)
{
    bits_code(&a->bits, "1");
    for (unsigned i = 0; i < v->p; i++)
        bits_put_one(&a->bits, x_bit(g, v, j, i));
}

/* Codes zero planes from plane j down, of which there are `run`; returns how many it took. */
static unsigned put_zeros(const struct generator *g, struct attempt *a, const struct values *v,
                          unsigned j, unsigned run)
{
    unsigned taken = run;

    if (careless(g, a) && rng_one_in(g->rng, 3)) {
        put_verbatim(g, a, v, j);
        a->counts[STREAMGEN_ZERO_VERBATIM]++;
        return 1;
    }
    if (careless(g, a))
        taken = 1 + (unsigned)rng_below(g->rng, run);
    a->counts[taken == 1 ? STREAMGEN_ZERO_SINGLE : STREAMGEN_RUN]++;
    a->counts[STREAMGEN_RUN_PIECE] += taken < run;
    bits_code(&a->bits, taken == 1 ? "001" : "01");
    if (taken > 1)
        bits_put(&a->bits, log2_up(g->w), taken - 2);
    return taken;
}

/* The codes that describe the non-zero plane x_j, as features; returns their number. */
static unsigned fitting_codes(const struct generator *g, const struct values *v, unsigned j,
                              enum streamgen_feature codes[5])
{
    struct ones ones = x_ones(g, v, j);
    unsigned count = 0;

    codes[count++] = STREAMGEN_VERBATIM;
    if (ones.count == v->p)
        codes[count++] = STREAMGEN_ALL_ONES;
    if (b_is_zero(g, v, j))
        codes[count++] = STREAMGEN_ZERO_BEFORE_XOR;
    if (ones.count == 1)
        codes[count++] = STREAMGEN_ONE_BIT;
    if (ones.count == 2 && ones.highest == ones.lowest + 1)
        codes[count++] = STREAMGEN_TWO_BITS;
    return count;
}

static unsigned code_bits(enum streamgen_feature code, unsigned p)
{
    if (code == STREAMGEN_VERBATIM)
        return 1 + p;
    return code == STREAMGEN_ONE_BIT || code == STREAMGEN_TWO_BITS ? 5 + log2_up(p) : 5;
}

static void put_code(const struct generator *g, struct attempt *a, const struct values *v,
                     unsigned j, enum streamgen_feature code)
{
    switch (code) {
    case STREAMGEN_ALL_ONES:
        bits_code(&a->bits, "00000");
        break;
    case STREAMGEN_ZERO_BEFORE_XOR:
        bits_code(&a->bits, "00001");
        break;
    case STREAMGEN_ONE_BIT:
    case STREAMGEN_TWO_BITS:
        bits_code(&a->bits, code == STREAMGEN_ONE_BIT ? "00011" : "00010");
        bits_put(&a->bits, log2_up(v->p), x_ones(g, v, j).lowest);
        break;
    default:
        put_verbatim(g, a, v, j);
    }
}

static void put_nonzero(const struct generator *g, struct attempt *a, const struct values *v,
                        unsigned j)
{
    enum streamgen_feature codes[5];
    unsigned count = fitting_codes(g, v, j, codes), shortest = 0, chosen;

    for (unsigned k = 1; k < count; k++)
        if (code_bits(codes[k], v->p) < code_bits(codes[shortest], v->p))
            shortest = k;
    chosen = careless(g, a) ? (unsigned)rng_below(g->rng, count) : shortest;
    a->counts[codes[chosen]]++;
    a->counts[STREAMGEN_LONG_CODE] +=
        code_bits(codes[chosen], v->p) > code_bits(codes[shortest], v->p);
    put_code(g, a, v, j, codes[chosen]);
}

static void put_planes(const struct generator *g, struct attempt *a, const struct values *v)
{
    unsigned left = v->P;

    while (left > 0) {
        unsigned run = 0;

        while (run < left && x_ones(g, v, left - 1 - run).count == 0)
            run++;
        if (run > 0) {
            left -= put_zeros(g, a, v, left - 1, run);
        } else {
            put_nonzero(g, a, v, left - 1);
            left--;
        }
    }
}

static void put_mask(const struct generator *g, struct attempt *a, const uint64_t *symbols)
{
    for (unsigned i = 0; i < g->N; i++)
        bits_put_one(&a->bits, symbols[i] != 0);
}

static void put_symbols(const struct generator *g, struct attempt *a, const uint64_t *symbols,
                        bool with_zeros)
{
    for (unsigned i = 0; i < g->N; i++)
        if (with_zeros || symbols[i] != 0)
            bits_put(&a->bits, g->w, symbols[i]);
}

static void put_dbx(const struct generator *g, struct attempt *a, const uint64_t *symbols)
{
    struct values deltas = {g->w + 1, g->N - 1, {0}, {0}};

    bits_put(&a->bits, g->w, symbols[0]);
    for (unsigned i = 0; i + 1 < g->N; i++) {
        deltas.low[i] = symbols[i + 1] - symbols[i];
        deltas.top[i] = symbols[i + 1] < symbols[i];
    }
    put_planes(g, a, &deltas);
}

/* BX, or ZBX if the zero symbols are left out. */
static void put_bx(const struct generator *g, struct attempt *a, const uint64_t *symbols,
                   bool with_zeros)
{
    struct values v = {g->w, 0, {0}, {0}};

    for (unsigned i = 0; i < g->N; i++)
        if (with_zeros || symbols[i] != 0)
            v.low[v.p++] = symbols[i];
    if (v.p > 0)
        put_planes(g, a, &v);
    if (!with_zeros) {
        a->counts[STREAMGEN_ZBX_EMPTY] += v.p == 0;
        a->counts[STREAMGEN_ZBX_FULL] += v.p == g->N;
    }
}

static void put_block(const struct generator *g, struct attempt *a, const uint64_t *symbols)
{
    unsigned tag = (unsigned)rng_below(g->rng, 5);

    memset(a, 0, sizeof *a);
    a->carelessness = (unsigned)rng_below(g->rng, 8);
    a->counts[tag]++;
    bits_put(&a->bits, 3, tag);
    if (tag == STREAMGEN_ZVC || tag == STREAMGEN_ZBX)
        put_mask(g, a, symbols);
    if (tag == STREAMGEN_RAW || tag == STREAMGEN_ZVC)
        put_symbols(g, a, symbols, tag == STREAMGEN_RAW);
    if (tag == STREAMGEN_BX || tag == STREAMGEN_ZBX)
        put_bx(g, a, symbols, tag == STREAMGEN_BX);
    if (tag == STREAMGEN_DBX)
        put_dbx(g, a, symbols);
}

static void add_counts(uint64_t *sum, const uint64_t *counts)
{
    for (unsigned k = 0; k < STREAMGEN_FEATURES; k++)
        sum[k] += counts[k];
}

/* The shortest of some attempts. */
static void append_block(const struct generator *g, struct attempt *chunk, const uint64_t *symbols,
                         unsigned attempts)
{
    struct attempt best, next;

    put_block(g, &best, symbols);
    for (unsigned k = 1; k < attempts; k++) {
        put_block(g, &next, symbols);
        if (next.bits.count < best.bits.count)
            best = next;
    }
    bits_append(&chunk->bits, &best.bits);
    add_counts(chunk->counts, best.counts);
}

/* Block number `block` of a chunk, filled up with zeros. */
static void load_block(const struct generator *g, const uint8_t *raw, size_t raw_bytes,
                       size_t block, uint64_t *symbols)
{
    unsigned size = g->w / 8;

    memset(symbols, 0, MAX_SYMBOLS * sizeof *symbols);
    for (size_t k = 0; k < BLOCK_BYTES && block * BLOCK_BYTES + k < raw_bytes; k++)
        symbols[k / size] |= (uint64_t)raw[block * BLOCK_BYTES + k] << (8 * (k % size));
}

static void put_chunk(const struct generator *g, struct attempt *chunk, const uint8_t *raw,
                      size_t raw_bytes, unsigned attempts)
{
    uint64_t symbols[MAX_SYMBOLS];

    memset(chunk, 0, sizeof *chunk);
    for (size_t block = 0; block * BLOCK_BYTES < raw_bytes; block++) {
        load_block(g, raw, raw_bytes, block, symbols);
        append_block(g, chunk, symbols, 1 + (unsigned)rng_below(g->rng, attempts));
    }
}

/* Writes a payload and returns its bytes.  One chunk in 16 is raw without need; the others get more
 * attempts per block until they shrink. */
static size_t make_payload(const struct generator *g, const uint8_t *raw, size_t raw_bytes,
                           uint8_t *dst, uint64_t *counts)
{
    bool coded = !rng_one_in(g->rng, 16);
    struct attempt chunk;

    for (unsigned attempts = 1; coded && attempts <= 64; attempts *= 4) {
        put_chunk(g, &chunk, raw, raw_bytes, attempts);
        if (bits_bytes(&chunk.bits) >= raw_bytes)
            continue;
        memcpy(dst, chunk.bits.bytes, bits_bytes(&chunk.bits));
        add_counts(counts, chunk.counts);
        counts[STREAMGEN_CODED_CHUNK]++;
        return bits_bytes(&chunk.bits);
    }
    memcpy(dst, raw, raw_bytes);
    counts[STREAMGEN_RAW_CHUNK]++;
    return raw_bytes;
}

size_t streamgen_make(struct rng *rng, unsigned w, const uint8_t *raw, size_t raw_bytes,
                      uint8_t *dst, uint64_t counts[STREAMGEN_FEATURES])
{
    struct generator g = {rng, w, 8 * BLOCK_BYTES / w};
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
