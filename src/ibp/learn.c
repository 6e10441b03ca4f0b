/* Learning a table from a sample of rows (docs/ibp.md, "Learning").  The sample is looked at in
 * columns of 64 bytes, the largest group, which are independent of one another.
 *
 * For every bit the share of the rows that agree is counted; the masks of falling thresholds
 * contain one another.  So what an element allows is one number, its level: how many of these
 * masks, from the smallest on, it fits.  The level of a group is the least of its elements' levels.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "ibp/learn.h"

enum { SAMPLE_BYTES = 4 << 20, SAMPLE_ROWS = 64 };
enum { COLUMN_BYTES = PZI_IBP_COLUMN_BYTES, COLUMN_BITS = PZ_IBP_GROUP_MAX_BITS };
enum { LEVELS = PZI_IBP_LEVELS, SIZES = PZI_IBP_SIZES, WORD_SIZE = 3 };

static const unsigned thresholds[LEVELS] = {PZI_IBP_THRESHOLDS};

struct pz_ibp_learner {
    struct pzi_ibp_plan plan;
    uint64_t seen, step; /* rows so far; every step-th one is kept */
    size_t kept;         /* rows of the sample */
    uint8_t *sample;
};

static bool options_fit(const pz_ibp_learn_options *options)
{
    if (options == NULL || options->size != sizeof *options)
        return false;
    return options->threshold == 0 || (options->threshold > 0.5 && options->threshold <= 1);
}

pz_status pzi_ibp_plan_learning(const pz_ibp_learn_options *options, struct pzi_ibp_plan *plan)
{
    pz_ibp_shape any;

    if (!options_fit(options))
        return PZ_ERR_ARGUMENT;
    *plan = (struct pzi_ibp_plan){
        .shape = {options->width_bits, options->group_bits, options->row_elements},
        .threshold = options->threshold};
    any = plan->shape;
    any.group_bits = any.group_bits != 0 ? any.group_bits : PZ_IBP_GROUP_MAX_BITS;
    if (pzi_ibp_check_shape(&any) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    plan->row_bytes = (size_t)any.row_elements * (any.width_bits / 8);
    plan->room =
        (options->sample_bytes != 0 ? options->sample_bytes : SAMPLE_BYTES) / plan->row_bytes;
    plan->room = plan->room > SAMPLE_ROWS ? plan->room : SAMPLE_ROWS;
    return PZ_OK;
}

pz_status pz_ibp_learner_new(const pz_ibp_learn_options *options, pz_ibp_learner **learner)
{
    struct pzi_ibp_plan plan;
    pz_ibp_learner *made;

    if (learner == NULL || pzi_ibp_plan_learning(options, &plan) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    made = malloc(sizeof *made);
    if (made == NULL)
        return PZ_ERR_MEMORY;
    *made = (pz_ibp_learner){.plan = plan, .step = 1, .sample = malloc(plan.room * plan.row_bytes)};
    if (made->sample == NULL) {
        free(made);
        return PZ_ERR_MEMORY;
    }
    *learner = made;
    return PZ_OK;
}

void pz_ibp_learner_free(pz_ibp_learner *learner)
{
    if (learner == NULL)
        return;
    free(learner->sample);
    free(learner);
}

/* Keeps every second row of the sample. */
static void thin_out(pz_ibp_learner *learner)
{
    const size_t R = learner->plan.row_bytes;

    learner->step *= 2;
    learner->kept = (learner->kept + 1) / 2;
    for (size_t i = 1; i < learner->kept; i++)
        memcpy(learner->sample + i * R, learner->sample + 2 * i * R, R);
}

pz_status pz_ibp_learner_add(pz_ibp_learner *learner, const void *rows, size_t count)
{
    uint64_t end;
    size_t R;

    if (learner == NULL || (rows == NULL && count != 0))
        return PZ_ERR_ARGUMENT;
    end = learner->seen + count;
    R = learner->plan.row_bytes;
    for (;;) {
        const uint64_t next = learner->kept * learner->step; /* row that is to be kept */

        if (next >= end)
            break;
        if (learner->kept == learner->plan.room) {
            thin_out(learner);
            continue;
        }
        memcpy(learner->sample + learner->kept * R,
               (const uint8_t *)rows + (size_t)(next - learner->seen) * R, R);
        learner->kept++;
    }
    learner->seen = end;
    return PZ_OK;
}

/* ---- A column -------------------------------------------------------------------------------- */

/* 64 bytes of all rows, fewer of the last column.  Words of elements are numbers. */
struct column {
    const pz_ibp_learner *learner;
    size_t at; /* its first byte in a row */
    unsigned bytes;
    unsigned levels; /* thresholds that are tried */
    uint8_t value[COLUMN_BYTES];
    uint8_t mask[LEVELS][COLUMN_BYTES];

    /* How well it packs in groups of 2^(size + 3) bits: bits saved, and the level of each group,
     * LEVELS for an empty mask. */
    uint64_t saved[SIZES];
    uint8_t choice[SIZES][COLUMN_BYTES];
};

static const uint8_t *column_row(const struct column *column, size_t row)
{
    return column->learner->sample + row * column->learner->plan.row_bytes + column->at;
}

/* Eight bits, each in a byte. */
static uint64_t apart(uint8_t bits)
{
    const uint64_t each = bits * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);

    return ((each + UINT64_C(0x7f7f7f7f7f7f7f7f)) | each) >> 7 & UINT64_C(0x0101010101010101);
}

/* In how many rows each bit is 1. */
static void count_ones(const struct column *column, uint32_t ones[COLUMN_BITS])
{
    enum { ROWS_OF_BYTE = 255 };
    const size_t rows = column->learner->kept;

    memset(ones, 0, COLUMN_BITS * sizeof ones[0]);
    for (size_t from = 0; from < rows; from += ROWS_OF_BYTE) {
        const size_t end = rows - from < ROWS_OF_BYTE ? rows : from + ROWS_OF_BYTE;
        uint64_t sums[COLUMN_BYTES] = {0};

        for (size_t row = from; row < end; row++) {
            const uint8_t *const bytes = column_row(column, row);

            for (unsigned i = 0; i < column->bytes; i++)
                sums[i] += apart(bytes[i]);
        }
        for (unsigned k = 0; k < 8 * column->bytes; k++)
            ones[k] += sums[k / 8] >> k % 8 * 8 & 0xff;
    }
}

static void fill_masks(struct column *column)
{
    uint32_t ones[COLUMN_BITS];
    const double rows = (double)column->learner->kept;
    const double only = column->learner->plan.threshold;

    column->levels = only != 0 ? 1 : LEVELS;
    count_ones(column, ones);
    for (unsigned k = 0; k < 8 * column->bytes; k++) {
        const bool is_one = ones[k] > rows / 2;
        const double same = is_one ? ones[k] : rows - ones[k];

        column->value[k / 8] |= (uint8_t)(is_one << k % 8);
        for (unsigned level = 0; level < column->levels; level++)
            if (only != 0 ? same / rows >= only : 10000 * same >= thresholds[level] * rows)
                column->mask[level][k / 8] |= (uint8_t)(1u << k % 8);
    }
}

/* A little-endian number of 1, 2, 4 or 8 bytes. */
static uint64_t number(const uint8_t *from, unsigned bytes)
{
    switch (bytes) {
    case 1:
        return from[0];
    case 2:
        return pzi_load_le16(from);
    case 4:
        return pzi_load_le32(from);
    default:
        return pzi_load_le64(from);
    }
}

/* The masks that each element of a row fits; the mask is tried first that has most bits. */
static void fill_levels(const struct column *column, const uint8_t *row, uint8_t *levels)
{
    const unsigned size = column->learner->plan.shape.width_bits / 8;

    for (unsigned i = 0; i < column->bytes; i += size) {
        const uint64_t wrong = number(row + i, size) ^ number(column->value + i, size);
        unsigned level = column->levels;

        while (level > 0 && (wrong & number(column->mask[level - 1] + i, size)) != 0)
            level--;
        levels[i / size] = (uint8_t)level;
    }
}

typedef uint32_t level_counts[COLUMN_BYTES][LEVELS + 1];

/* Counts the levels of groups of every size from that of an element on: log2(bits) - 3. */
static void count_levels(const struct column *column, level_counts counts[SIZES])
{
    const unsigned w = column->learner->plan.shape.width_bits;
    const unsigned first = w == 8 ? 0 : w == 16 ? 1 : w == 32 ? 2 : 3;
    uint8_t levels[COLUMN_BYTES + 1];

    for (size_t row = 0; row < column->learner->kept; row++) {
        unsigned n = column->bytes / (w / 8);

        fill_levels(column, column_row(column, row), levels);
        for (unsigned size = first; size < SIZES; size++) {
            for (unsigned i = 0; i < n; i++)
                counts[size][i][levels[i]]++;
            levels[n] = LEVELS; /* beside an odd last one */
            n = (n + 1) / 2;
            for (unsigned i = 0; i < n; i++)
                levels[i] = levels[2 * i] < levels[2 * i + 1] ? levels[2 * i] : levels[2 * i + 1];
        }
    }
}

static unsigned count_bits(const uint8_t *bytes, unsigned count)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < count; i++)
        bits += (unsigned)__builtin_popcount(bytes[i]);
    return bits;
}

/* The level that saves most bits of a group, if any does. */
static void choose_level(struct column *column, const uint32_t counts[LEVELS + 1], unsigned size,
                         unsigned group)
{
    const unsigned bytes = 1u << size, at = group * bytes;
    const unsigned here = column->bytes - at < bytes ? column->bytes - at : bytes;
    uint64_t best = 0, fitting = 0;

    column->choice[size][group] = LEVELS;
    for (unsigned level = column->levels; level-- > 0;) {
        fitting += counts[level + 1];
        const uint64_t saved = fitting * count_bits(column->mask[level] + at, here);

        if (saved > best) {
            best = saved;
            column->choice[size][group] = (uint8_t)level;
        }
    }
    column->saved[size] += best;
}

/* Everything about a column.  counts is memory to work in. */
static void learn_column(struct column *column, level_counts counts[SIZES])
{
    memset(counts, 0, SIZES * sizeof counts[0]);
    fill_masks(column);
    count_levels(column, counts);
    for (unsigned size = 0; size < SIZES; size++)
        for (unsigned group = 0; group << size < column->bytes; group++)
            choose_level(column, counts[size][group], size, group);
}

/* ---- All columns ----------------------------------------------------------------------------- */

static void keep_column(const struct column *column, struct pzi_ibp_learned *learned)
{
    memcpy(learned->values + column->at, column->value, column->bytes);
    for (unsigned size = 0; size < SIZES; size++) {
        learned->saved[size] += column->saved[size];
        for (unsigned i = 0; i < column->bytes; i++) {
            const unsigned level = column->choice[size][i >> size];

            learned->masks[size][column->at + i] = level < LEVELS ? column->mask[level][i] : 0;
        }
    }
}

static unsigned log2_of(uint32_t power)
{
    return (unsigned)__builtin_ctz(power);
}

/* What groups have to save more than others, in bits of a row: a fiftieth of it below a word, which
 * take twice the time to unpack; a hundredth for words, where who participates cannot be foreseen.
 */
static uint64_t handicap(size_t row_bytes, unsigned size)
{
    return size < WORD_SIZE ? 8 * row_bytes / 50 : size == WORD_SIZE ? 8 * row_bytes / 100 : 0;
}

/* The size of groups that packs the sample best, their bits in the map included. */
static unsigned best_size(const struct pzi_ibp_plan *plan, const struct pzi_ibp_learned *learned)
{
    const unsigned first = log2_of(plan->shape.width_bits) - 3;
    unsigned best = first;
    int64_t best_saved = INT64_MIN;

    if (plan->shape.group_bits != 0)
        return log2_of(plan->shape.group_bits) - 3;
    for (unsigned size = first; size < SIZES; size++) {
        const uint64_t groups = (plan->row_bytes + (1u << size) - 1) >> size;
        const int64_t saved = (int64_t)learned->saved[size] -
                              (int64_t)((groups + handicap(plan->row_bytes, size)) * learned->kept);

        if (saved > best_saved) {
            best = size;
            best_saved = saved;
        }
    }
    return best;
}

pz_status pzi_ibp_learned_table(const struct pzi_ibp_plan *plan, struct pzi_ibp_learned *learned,
                                pz_ibp_table **table)
{
    const unsigned size = best_size(plan, learned);
    pz_ibp_shape shape = plan->shape;

    shape.group_bits = 8u << size;
    for (size_t i = 0; i < plan->row_bytes; i++)
        learned->values[i] &= learned->masks[size][i];
    return pz_ibp_table_new(&shape, learned->masks[size], learned->values, table);
}

pz_status pz_ibp_learner_table(const pz_ibp_learner *learner, pz_ibp_table **table)
{
    struct pzi_ibp_learned learned = {0};
    level_counts *counts;
    size_t R;
    pz_status status = PZ_ERR_MEMORY;

    if (learner == NULL || table == NULL || learner->kept == 0)
        return PZ_ERR_ARGUMENT;
    R = learner->plan.row_bytes;
    learned.kept = learner->kept;
    counts = malloc(SIZES * sizeof *counts);
    learned.values = malloc((1 + SIZES) * R);
    if (counts != NULL && learned.values != NULL) {
        for (unsigned size = 0; size < SIZES; size++)
            learned.masks[size] = learned.values + (1 + size) * R;
        for (size_t at = 0; at < R; at += COLUMN_BYTES) {
            struct column column = {.learner = learner, .at = at};

            column.bytes = R - at < COLUMN_BYTES ? (unsigned)(R - at) : COLUMN_BYTES;
            learn_column(&column, counts);
            keep_column(&column, &learned);
        }
        status = pzi_ibp_learned_table(&learner->plan, &learned, table);
    }
    free(learned.values);
    free(counts);
    return status;
}
