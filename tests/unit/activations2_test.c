/* What format 2 makes of the bundled activations, by the reference: ratios of models and of classes
 * of producers, against those of format 1 in the index. */
#include <math.h>
#include <stdlib.h>

#include "pzref2.h"
#include "support/activations.h"
#include "support/test.h"

enum { MAX_GROUPS = 64, MODELS = 5 };

/* Chunks that are added up. */
struct group {
    char name[32];
    uint64_t raw_bytes, coded1_bytes, coded2_bytes;
};

struct groups {
    unsigned count;
    struct group list[MAX_GROUPS];
};

static double ratio(const struct group *group)
{
    return (double)group->raw_bytes / (double)group->coded2_bytes;
}

static struct group *find_group(struct groups *groups, const char *name)
{
    struct group *group = groups->list;

    while (group < groups->list + groups->count && strcmp(group->name, name) != 0)
        group++;
    if (group == groups->list + groups->count && groups->count + 1 < MAX_GROUPS) {
        snprintf(group->name, sizeof group->name, "%s", name);
        groups->count++;
    }
    return group;
}

static bool is_float(const struct activation *chunk)
{
    return strcmp(chunk->kind, "f32") == 0 || strcmp(chunk->kind, "bf16") == 0;
}

/* Masks and indices appear with w = 32, too, which format 2 has no use for. */
static bool has_own_width(const struct activation *chunk)
{
    return is_float(chunk) || chunk->w == (strcmp(chunk->kind, "bool") == 0 ? 8 : 64);
}

static void add_chunk(struct groups *groups, const char *name, const struct activation *chunk)
{
    struct group *group = find_group(groups, name);

    group->raw_bytes += chunk->bytes;
    group->coded1_bytes += chunk->coded_bytes[ACTIVATION_PLANEZIP];
    group->coded2_bytes +=
        pzref2_measure(chunk->w, is_float(chunk) ? 8 : 0, false, chunk->data, chunk->bytes)
            .coded_bytes;
}

/* All that a model saves in one precision: its floats, masks and indices. */
static void add_model_chunks(struct groups *models, const struct activations *all, const char *kind)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct activation *chunk = &all->chunks[i];

        if (has_own_width(chunk) && (!is_float(chunk) || strcmp(chunk->kind, kind) == 0))
            add_chunk(models, chunk->model, chunk);
    }
}

static void check_models(const struct activations *all, const char *kind, double least)
{
    struct groups models = {0};
    double logarithms = 0;

    add_model_chunks(&models, all, kind);
    CHECK_EQ_U64(models.count, MODELS);
    for (unsigned k = 0; k < models.count; k++)
        logarithms += log(ratio(&models.list[k]));
    TEST_CONTEXT("%s: %.4f, at least %.2f", kind, exp(logarithms / MODELS), least);
    CHECK(exp(logarithms / MODELS) >= least);
}

TEST(geometric_mean_of_models)
{
    struct activations *all = activations_load();

    check_models(all, "bf16", 1.96);
    check_models(all, "f32", 1.47);
    activations_free(all);
}

/* kind and class, as "bf16 Conv output" */
static void add_class_chunks(struct groups *classes, const struct activations *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct activation *chunk = &all->chunks[i];
        char name[48];

        snprintf(name, sizeof name, "%s %s", chunk->kind, chunk->cls);
        if (has_own_width(chunk))
            add_chunk(classes, name, chunk);
    }
}

TEST(no_class_is_worse_than_in_format_1)
{
    struct activations *all = activations_load();
    struct groups classes = {0};

    add_class_chunks(&classes, all);
    CHECK_EQ_U64(classes.count, 22);
    for (unsigned k = 0; k < classes.count; k++) {
        const struct group *class = &classes.list[k];

        TEST_CONTEXT("%s: %" PRIu64 " bytes, format 1 has %" PRIu64, class->name,
                     class->coded2_bytes, class->coded1_bytes);
        CHECK(100 * class->coded2_bytes <= 101 * class->coded1_bytes);
    }
    CHECK(ratio(find_group(&classes, "bool Dropout mask")) >= 7.9);
    CHECK(ratio(find_group(&classes, "int64 Indices")) >= 9.4);
    activations_free(all);
}

/* The number of e exponent and m mantissa bits nearest to a float32 without NaNs, ties to even, the
 * largest one instead of infinity. */
static uint64_t rounded(uint32_t f32, unsigned e, unsigned m)
{
    uint32_t magnitude = f32 & 0x7FFFFFFF, sign = f32 >> 31;
    int exponent = (int)(magnitude >> 23) - 127 + (1 << (e - 1)) - 1;
    uint64_t fraction = magnitude & 0x7FFFFF, value, largest = ((UINT64_C(1) << e) - 1) << m;
    unsigned drop = 23 - m;

    if (exponent <= 0) { /* subnormal, or zero */
        fraction |= 0x800000;
        drop += 1 - exponent < 30 ? (unsigned)(1 - exponent) : 30;
        exponent = 0;
    }
    value = (uint64_t)exponent << 23 | fraction;
    value = (value + (UINT64_C(1) << (drop - 1)) - 1 + (value >> drop & 1)) >> drop;
    return (uint64_t)sign << (e + m) | (value < largest ? value : largest - 1);
}

static uint64_t widened(uint32_t f32)
{
    float narrow;
    double wide;
    uint64_t bits;

    memcpy(&narrow, &f32, sizeof narrow);
    wide = narrow;
    memcpy(&bits, &wide, sizeof bits);
    return bits;
}

static uint32_t float_at(const uint8_t *data, size_t i)
{
    return data[4 * i] | (uint32_t)data[4 * i + 1] << 8 | (uint32_t)data[4 * i + 2] << 16 |
           (uint32_t)data[4 * i + 3] << 24;
}

/* Converts count numbers to w bits with e bits exponent; returns the bytes. */
static size_t convert(unsigned w, unsigned e, const uint8_t *data, size_t count, uint8_t *dst)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t symbol =
            w == 64 ? widened(float_at(data, i)) : rounded(float_at(data, i), e, w - 1 - e);

        for (unsigned k = 0; k < w / 8; k++)
            dst[i * (w / 8) + k] = (uint8_t)(symbol >> (8 * k));
    }
    return count * w / 8;
}

/* The floats of all models in another type; each chunk is a tensor of its own. */
static double converted_ratio(const struct activations *all, unsigned w, unsigned e)
{
    uint8_t converted[2 * 4096];
    struct group sum = {{0}, 0, 0, 0};

    for (size_t i = 0; i < all->count; i++) {
        const struct activation *chunk = &all->chunks[i];
        size_t bytes;

        if (strcmp(chunk->kind, "f32") != 0)
            continue;
        bytes = convert(w, e, chunk->data, chunk->bytes / 4, converted);
        sum.raw_bytes += bytes;
        sum.coded2_bytes += pzref2_measure(w, e, false, converted, bytes).coded_bytes;
    }
    return ratio(&sum);
}

TEST(other_floats)
{
    static const struct {
        unsigned w, e;
        double least;
    } types[] = {{16, 5, 1.40}, {64, 11, 2.70}, {8, 4, 1.59}, {8, 5, 1.76}};
    struct activations *all = activations_load();

    for (unsigned k = 0; k < sizeof types / sizeof *types; k++) {
        double found = converted_ratio(all, types[k].w, types[k].e);

        TEST_CONTEXT("w%u e%u: %.4f, at least %.2f", types[k].w, types[k].e, found, types[k].least);
        CHECK(found >= types[k].least);
    }
    activations_free(all);
}

TEST(rounding)
{
    CHECK_EQ_U64(rounded(0x3F800000, 5, 10), 0x3C00);
    CHECK_EQ_U64(rounded(0xBF801000, 5, 10), 0xBC00); /* a tie goes to the even one, down */
    CHECK_EQ_U64(rounded(0x3F803000, 5, 10), 0x3C02); /* ... and up */
    CHECK_EQ_U64(rounded(0x33800000, 5, 10), 1);      /* the least subnormal */
    CHECK_EQ_U64(rounded(0x33000000, 5, 10), 0);
    CHECK_EQ_U64(rounded(0x7F000000, 5, 10), 0x7BFF);
    CHECK_EQ_U64(rounded(0x3F800000, 4, 3), 0x38);
    CHECK_EQ_U64(rounded(0, 5, 2), 0);
    CHECK_EQ_U64(widened(0x3F800000), UINT64_C(0x3FF0000000000000));
}
