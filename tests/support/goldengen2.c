/* Writes tests/golden/streams2.txt: what both levels of format 2 make of inputs at each pair of
 * w and e according to the reference.  The inputs are those of goldengen.c, which must be in
 * tests/golden, and a few of 1 KB and more that have something to sample, which are written too.
 * Deterministic; run it only when the format gets a new version or an input is added.
 *
 * Usage: goldengen2 FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "pzref2.h"
#include "rng.h"

enum { MAX_BYTES = 8192 };

static const struct {
    unsigned w, e;
} types[] = {{8, 0},  {8, 4},  {8, 5},  {16, 0}, {16, 5},
             {16, 8}, {32, 0}, {32, 8}, {64, 0}, {64, 11}};

enum { TYPES = sizeof types / sizeof *types };

/* The inputs of goldengen.c, taken at every pair. */
static const char *const shared_inputs[] = {
    "empty",        "zeros",       "zeros_chunk", "ones",     "one_symbol", "ramp8",
    "ramp16",       "ramp32_down", "index64",     "mask8",    "nan32",      "nan16",
    "both_zeros32", "subnormal32", "alternating", "extremes", "few_bits",   "floats32",
    "floats16",     "sparse16",    "sparse64",    "random",   "tail1",      "tail2",
    "tail127",      "tail129",     "tail4095",    "tail4097",
};

static void put_symbol(uint8_t *dst, unsigned w, size_t index, uint64_t symbol)
{
    for (unsigned k = 0; k < w / 8; k++)
        dst[index * (w / 8) + k] = (uint8_t)(symbol >> (8 * k));
}

/* A float of either sign whose exponent is top with probability 1/2, top - 1 with 1/4 ... */
static uint64_t next_float(struct rng *rng, unsigned w, unsigned e, uint64_t top)
{
    unsigned m = w - 1 - e;
    uint64_t sign = rng_below(rng, 2), drop = 0;

    while (drop < top && rng_one_in(rng, 2))
        drop++;
    return sign << (w - 1) | (top - drop) << m | (rng_next(rng) & ((UINT64_C(1) << m) - 1));
}

static void fill_floats(uint8_t *dst, size_t bytes, unsigned w, unsigned e)
{
    struct rng rng = {w + e};
    uint64_t top = UINT64_C(1) << (e - 1);

    for (size_t i = 0; i < 8 * bytes / w; i++)
        put_symbol(dst, w, i, next_float(&rng, w, e, top));
}

/* As behind a ReLU: no signs, half of it zero, and a quarter of the blocks without anything. */
static void fill_relu(uint8_t *dst, size_t bytes, unsigned w, unsigned e)
{
    struct rng rng = {2 * (w + e)};
    uint64_t magnitude = (UINT64_C(1) << (w - 1)) - 1;

    for (size_t i = 0; i < 8 * bytes / w; i++) {
        uint64_t symbol = next_float(&rng, w, e, UINT64_C(1) << (e - 1)) & magnitude;
        bool nonzero = rng_one_in(&rng, 2) && i * w / 1024 % 4 != 2;

        put_symbol(dst, w, i, nonzero ? symbol : 0);
    }
}

/* Floats whose sample is positive numbers next to one; the other blocks have all that is seldom. */
static void fill_surprise(uint8_t *dst, size_t bytes, unsigned w, unsigned e)
{
    struct rng rng = {3 * (w + e)};
    uint64_t one = (UINT64_C(1) << (e - 1)) - 1;

    for (size_t i = 0; i < 8 * bytes / w; i++) {
        uint64_t mantissa = rng_next(&rng) & ((UINT64_C(1) << (w - 1 - e)) - 1);
        bool sampled = i * w / 1024 % 4 == 3;

        put_symbol(dst, w, i, one << (w - 1 - e) | mantissa);
        if (!sampled && rng_one_in(&rng, 6))
            put_symbol(dst, w, i, rng_one_in(&rng, 2) ? 0 : rng_next(&rng));
    }
}

/* A walk of small steps, in the order of floating-point numbers from one sign to the other: mode D
 * wins.  Now and then a step is large. */
static void fill_walk(uint8_t *dst, size_t bytes, unsigned w, unsigned e)
{
    struct rng rng = {5 * (w + e)};
    int64_t place = 0;

    for (size_t i = 0; i < 8 * bytes / w; i++) {
        uint64_t magnitude = (uint64_t)(place < 0 ? -place : place);

        put_symbol(dst, w, i, (uint64_t)(place < 0) << (w - 1) | magnitude);
        place += (int64_t)rng_below(&rng, 9) - 4;
        if (rng_one_in(&rng, 40))
            place = (int64_t)rng_below(&rng, 200) - 100;
    }
}

/* Small numbers, and one in each fourth block that is large: escapes in mode I. */
static void fill_counts(uint8_t *dst, size_t bytes, unsigned w, unsigned e)
{
    struct rng rng = {7 * (w + e)};

    for (size_t i = 0; i < 8 * bytes / w; i++)
        put_symbol(dst, w, i, i * w % 4096 == 1024 ? 100 : rng_below(&rng, 4));
}

static void fill_mask(uint8_t *dst, size_t bytes, unsigned w, unsigned e)
{
    struct rng rng = {11 * (w + e)};

    for (size_t i = 0; i < 8 * bytes / w; i++)
        put_symbol(dst, w, i, !rng_one_in(&rng, 5));
}

/* As behind a dropout: long rows of one value, a fifth of it zero; mode D with Z = 1 wins. */
static void fill_dropout(uint8_t *dst, size_t bytes, unsigned w, unsigned e)
{
    struct rng rng = {13 * (w + e)};
    uint64_t value = 0;

    for (size_t i = 0; i < 8 * bytes / w; i++) {
        if (i % 300 == 0)
            value = next_float(&rng, w, e, UINT64_C(1) << (e - 1));
        put_symbol(dst, w, i, rng_one_in(&rng, 5) ? 0 : value);
    }
}

/* Zeros but for the last symbol. */
static void fill_outlier(uint8_t *dst, size_t bytes, unsigned w, unsigned e)
{
    (void)e;
    memset(dst, 0, bytes);
    put_symbol(dst, w, 8 * bytes / w - 1, (UINT64_C(1) << (w - 2)) + 3);
}

/* Inputs for one width; e is that of the floats in it. */
static const struct input {
    const char *name;
    unsigned w, e;
    size_t bytes;
    void (*fill)(uint8_t *dst, size_t bytes, unsigned w, unsigned e);
} own_inputs[] = {
    {"e4m3", 8, 4, 1024, fill_floats},
    {"e4m3_relu", 8, 4, 1024, fill_relu},
    {"e5m2", 8, 5, 1024, fill_floats},
    {"e5m2_surprise", 8, 5, 1024, fill_surprise},
    {"counts8", 8, 0, 1024, fill_counts},
    {"mask8_chunks", 8, 0, 4096 + 130, fill_mask},
    {"walk8", 8, 4, 1024, fill_walk},
    {"float16", 16, 5, 1024, fill_floats},
    {"dropout8", 8, 4, 4096 + 130, fill_dropout},
    {"dropout16", 16, 8, 4096 + 600, fill_dropout},
    {"dropout32", 32, 8, 4096 + 600, fill_dropout},
    {"dropout64", 64, 11, 4096 + 600, fill_dropout},
    {"float16_relu", 16, 5, 1100, fill_relu},
    {"bfloat16", 16, 8, 1024, fill_floats},
    {"bfloat16_relu", 16, 8, 4096 + 300, fill_relu},
    {"bfloat16_surprise", 16, 8, 1024, fill_surprise},
    {"walk16", 16, 8, 1024, fill_walk},
    {"counts16", 16, 0, 1024, fill_counts},
    {"outlier16", 16, 8, 4096, fill_outlier},
    {"float32", 32, 8, 1024, fill_floats},
    {"float32_relu", 32, 8, 1500, fill_relu},
    {"float32_surprise", 32, 8, 1024, fill_surprise},
    {"walk32", 32, 8, 1024, fill_walk},
    {"counts32", 32, 0, 1024, fill_counts},
    {"float64", 64, 11, 1024, fill_floats},
    {"float64_relu", 64, 11, 1500, fill_relu},
    {"float64_surprise", 64, 11, 2048, fill_surprise},
    {"walk64", 64, 11, 1024, fill_walk},
    {"counts64", 64, 0, 1024, fill_counts},
    {"outlier64", 64, 11, 4096, fill_outlier},
};

_Noreturn static void give_up(const char *name, const char *what)
{
    fprintf(stderr, "goldengen2: %s: %s\n", name, what);
    exit(1);
}

static FILE *create(const char *folder, const char *name, const char *suffix)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    file = fopen(path, "wb");
    if (file == NULL)
        give_up(path, "cannot be created");
    return file;
}

static void write_stream(FILE *out, const char *name, unsigned type, bool fast, const uint8_t *raw,
                         size_t raw_bytes)
{
    uint8_t coded[MAX_BYTES + 16];
    unsigned w = types[type].w, e = types[type].e;
    size_t bytes = pzref2_encode(w, e, fast, raw, raw_bytes, coded);

    fprintf(out, "%s %u %u planezip2%s %zu ", name, w, e, fast ? "-fast" : "", bytes);
    for (size_t k = 0; k < bytes; k++)
        fprintf(out, "%02x", coded[k]);
    fprintf(out, bytes > 0 ? "\n" : "-\n");
}

/* Both levels, at every pair or at those of one width. */
static void write_streams(FILE *out, const char *name, unsigned only_w, const uint8_t *raw,
                          size_t raw_bytes)
{
    for (unsigned type = 0; type < TYPES; type++) {
        if (only_w != 0 && types[type].w != only_w)
            continue;
        write_stream(out, name, type, false, raw, raw_bytes);
        write_stream(out, name, type, true, raw, raw_bytes);
    }
}

static void write_shared(FILE *out, const char *name)
{
    size_t raw_bytes;
    uint8_t *raw = golden_input(name, &raw_bytes);

    if (raw == NULL || raw_bytes > MAX_BYTES)
        give_up(name, "is not an input, or one that is too large");
    write_streams(out, name, 0, raw, raw_bytes);
    free(raw);
}

static void write_own(const char *folder, FILE *out, const struct input *input)
{
    uint8_t raw[MAX_BYTES] = {0};
    FILE *file = create(folder, input->name, ".bin");

    input->fill(raw, input->bytes, input->w, input->e);
    fwrite(raw, 1, input->bytes, file);
    fclose(file);
    write_streams(out, input->name, input->w, raw, input->bytes);
}

int main(int argc, char **argv)
{
    FILE *out;

    if (argc != 2) {
        fprintf(stderr, "usage: goldengen2 FOLDER\n");
        return 2;
    }
    out = create(argv[1], "streams2", ".txt");
    fprintf(out, "# Canonical streams of NAME.bin, made by tests/support/goldengen2.c.\n"
                 "# input w e codec coded_bytes coded\n");
    for (size_t k = 0; k < sizeof shared_inputs / sizeof *shared_inputs; k++)
        write_shared(out, shared_inputs[k]);
    for (size_t k = 0; k < sizeof own_inputs / sizeof *own_inputs; k++)
        write_own(argv[1], out, &own_inputs[k]);
    fclose(out);
    return 0;
}
