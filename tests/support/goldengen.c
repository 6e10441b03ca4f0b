/* Writes tests/golden/NAME.bin and tests/golden/streams.txt: small inputs, and what each codec
 * makes of them at each width according to the reference.  Deterministic; run it only when the
 * format gets a new version or an input is added.
 *
 * Usage: goldengen FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datagen.h"
#include "pzref.h"
#include "rng.h"

enum { MAX_BYTES = 8192 };

struct input {
    const char *name;
    size_t bytes;
    void (*fill)(uint8_t *dst, size_t bytes);
};

static void put16(uint8_t *dst, size_t index, uint16_t value)
{
    dst[2 * index] = (uint8_t)value;
    dst[2 * index + 1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *dst, size_t index, uint32_t value)
{
    put16(dst, 2 * index, (uint16_t)value);
    put16(dst, 2 * index + 1, (uint16_t)(value >> 16));
}

static void put64(uint8_t *dst, size_t index, uint64_t value)
{
    put32(dst, 2 * index, (uint32_t)value);
    put32(dst, 2 * index + 1, (uint32_t)(value >> 32));
}

static void fill_zeros(uint8_t *dst, size_t bytes)
{
    memset(dst, 0, bytes);
}

static void fill_ones(uint8_t *dst, size_t bytes)
{
    memset(dst, 0xFF, bytes);
}

/* bfloat16 1.0 over and over */
static void fill_one_symbol(uint8_t *dst, size_t bytes)
{
    for (size_t i = 0; i < bytes / 2; i++)
        put16(dst, i, 0x3F80);
}

static void fill_ramp8(uint8_t *dst, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        dst[i] = (uint8_t)(3 * i); /* begins anew every 85 bytes or so */
}

static void fill_ramp16(uint8_t *dst, size_t bytes)
{
    for (size_t i = 0; i < bytes / 2; i++)
        put16(dst, i, (uint16_t)(0xFFC0 + i)); /* passes the end of the range */
}

static void fill_ramp32_down(uint8_t *dst, size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i++)
        put32(dst, i, 100000 - 3 * (uint32_t)i);
}

static void fill_index64(uint8_t *dst, size_t bytes)
{
    struct rng rng = {64};

    for (size_t i = 0; i < bytes / 8; i++)
        put64(dst, i, rng_below(&rng, 50000));
}

static void fill_mask8(uint8_t *dst, size_t bytes)
{
    struct rng rng = {8};

    for (size_t i = 0; i < bytes; i++)
        dst[i] = rng_one_in(&rng, 4) ? 0 : 1;
}

/* Quiet and signalling NaNs of both signs with the least, the greatest and some other payload, and
 * the infinities. */
static void fill_nan32(uint8_t *dst, size_t bytes)
{
    static const uint32_t values[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000,
                                      0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF,
                                      0x7FC00001, 0xFFD55555, 0x7FBFFFFF, 0xFFAAAAAA};

    for (size_t i = 0; i < bytes / 4; i++)
        put32(dst, i, values[i % 12]);
}

static void fill_nan16(uint8_t *dst, size_t bytes)
{
    static const uint16_t values[] = {0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7F81,
                                      0xFF81, 0x7FFF, 0xFFFF, 0x7FD5, 0xFFAA};

    for (size_t i = 0; i < bytes / 2; i++)
        put16(dst, i, values[i % 10]);
}

/* +0 and -0 */
static void fill_both_zeros32(uint8_t *dst, size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i++)
        put32(dst, i, i % 2 ? 0x80000000 : 0);
}

static void fill_subnormal32(uint8_t *dst, size_t bytes)
{
    struct rng rng = {32};

    for (size_t i = 0; i < bytes / 4; i++) {
        uint64_t sign = rng_below(&rng, 2), fraction = rng_next(&rng) >> (41 + i % 23);

        put32(dst, i, (uint32_t)(sign << 31 | fraction));
    }
}

static void fill_alternating(uint8_t *dst, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        dst[i] = i % 2 ? 0xFF : 0;
}

/* Largest and smallest symbol of every width in turn: the deltas of the largest magnitude. */
static void fill_extremes(uint8_t *dst, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        dst[i] = i / 128 % 2 ? (i / 4 % 2 ? 0xFF : 0) : (i / 8 % 2 ? 0xFF : 0);
}

/* Four symbols of 8, 16, 32 or 64 bits with few bits set: codes for one and two ones. */
static void fill_few_bits(uint8_t *dst, size_t bytes)
{
    memset(dst, 0, bytes);
    for (size_t block = 0; 128 * (block + 1) <= bytes; block++) {
        dst[128 * block + 24] = (uint8_t)(1u << (block % 8));
        dst[128 * block + 32] = (uint8_t)(1u << (block % 8));
        dst[128 * block + 120] = 0x10;
    }
}

/* One random symbol of 64 bits in each block. */
static void fill_sparse64(uint8_t *dst, size_t bytes)
{
    struct rng rng = {6};

    memset(dst, 0, bytes);
    for (size_t i = 0; i < bytes / 128; i++) {
        size_t place = rng_below(&rng, 16);

        put64(dst, 16 * i + place, rng_next(&rng));
    }
}

static void fill_floats32(uint8_t *dst, size_t bytes)
{
    struct rng rng = {1};

    datagen_fill(&rng, DATAGEN_FLOATS, 32, dst, bytes);
}

static void fill_floats16(uint8_t *dst, size_t bytes)
{
    struct rng rng = {2};

    datagen_fill(&rng, DATAGEN_FLOATS, 16, dst, bytes);
}

static void fill_sparse16(uint8_t *dst, size_t bytes)
{
    struct rng rng = {3};

    datagen_fill(&rng, DATAGEN_SPARSE, 16, dst, bytes);
}

static void fill_random(uint8_t *dst, size_t bytes)
{
    struct rng rng = {4};

    rng_fill(&rng, dst, bytes);
}

/* Sparse bytes and at the end a few that are not: chunks and blocks that end early. */
static void fill_tail(uint8_t *dst, size_t bytes)
{
    struct rng rng = {5};

    for (size_t i = 0; i < bytes; i++)
        dst[i] = i % 32 == 0 ? (uint8_t)rng_below(&rng, 8) : 0;
    for (size_t i = bytes > 3 ? bytes - 3 : 0; i < bytes; i++)
        dst[i] = (uint8_t)(0x11 * (1 + i % 15));
}

static const struct input inputs[] = {
    {"empty", 0, fill_zeros},
    {"zeros", 256, fill_zeros},
    {"zeros_chunk", 4096, fill_zeros},
    {"ones", 256, fill_ones},
    {"one_symbol", 256, fill_one_symbol},
    {"ramp8", 256, fill_ramp8},
    {"ramp16", 384, fill_ramp16},
    {"ramp32_down", 384, fill_ramp32_down},
    {"index64", 512, fill_index64},
    {"mask8", 384, fill_mask8},
    {"nan32", 256, fill_nan32},
    {"nan16", 256, fill_nan16},
    {"both_zeros32", 256, fill_both_zeros32},
    {"subnormal32", 384, fill_subnormal32},
    {"alternating", 256, fill_alternating},
    {"extremes", 256, fill_extremes},
    {"few_bits", 1024, fill_few_bits},
    {"floats32", 768, fill_floats32},
    {"floats16", 768, fill_floats16},
    {"sparse16", 768, fill_sparse16},
    {"sparse64", 384, fill_sparse64},
    {"random", 384, fill_random},
    {"tail1", 1, fill_ones},
    {"tail2", 2, fill_zeros},
    {"tail127", 127, fill_tail},
    {"tail129", 129, fill_tail},
    {"tail4095", 4095, fill_tail},
    {"tail4097", 4097, fill_tail},
};

static const struct {
    const char *name;
    unsigned encodings;
} codecs[] = {
    {"planezip", 1u << PZREF_ZVC | 1u << PZREF_BX | 1u << PZREF_DBX | 1u << PZREF_ZBX},
    {"zvc", 1u << PZREF_ZVC},
    {"bpc", 1u << PZREF_DBX},
    {"bx", 1u << PZREF_BX},
    {"zbx", 1u << PZREF_ZBX},
};

static FILE *create(const char *folder, const char *name, const char *suffix)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    file = fopen(path, "wb");
    if (file == NULL) {
        fprintf(stderr, "goldengen: %s: cannot be created\n", path);
        exit(1);
    }
    return file;
}

static void write_stream(FILE *out, const struct input *input, const uint8_t *raw, unsigned w,
                         unsigned codec)
{
    uint8_t coded[MAX_BYTES + 16];
    size_t bytes = pzref_encode(w, codecs[codec].encodings, raw, input->bytes, coded);

    fprintf(out, "%s %u %s %zu ", input->name, w, codecs[codec].name, bytes);
    for (size_t k = 0; k < bytes; k++)
        fprintf(out, "%02x", coded[k]);
    fprintf(out, bytes > 0 ? "\n" : "-\n");
}

static void write_input(const char *folder, FILE *out, const struct input *input)
{
    uint8_t raw[MAX_BYTES];
    FILE *file = create(folder, input->name, ".bin");

    input->fill(raw, input->bytes);
    fwrite(raw, 1, input->bytes, file);
    fclose(file);
    for (unsigned w = 8; w <= 64; w *= 2)
        for (unsigned codec = 0; codec < sizeof codecs / sizeof *codecs; codec++)
            write_stream(out, input, raw, w, codec);
}

int main(int argc, char **argv)
{
    FILE *out;

    if (argc != 2) {
        fprintf(stderr, "usage: goldengen FOLDER\n");
        return 2;
    }
    out = create(argv[1], "streams", ".txt");
    fprintf(out, "# Canonical streams of NAME.bin, made by tests/support/goldengen.c.\n"
                 "# input w codec coded_bytes coded\n");
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        write_input(argv[1], out, &inputs[k]);
    fclose(out);
    return 0;
}
