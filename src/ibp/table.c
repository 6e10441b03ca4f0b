/* Tables: made, stored and read (docs/ibp.md, "Table"). */
#include "ibp/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/diag.h"
#include "base/le.h"

enum { CHECK_BYTES = 8 };

static const uint8_t magic[8] = {0x89, 'I', 'B', 'P', 'T', '\r', '\n', 0x1a};

pz_status pzi_ibp_check_shape(const pz_ibp_shape *shape)
{
    const uint32_t w = shape->width_bits, b = shape->group_bits;

    if ((w != 8 && w != 16 && w != 32 && w != 64) || b < w || b > PZ_IBP_GROUP_MAX_BITS ||
        (b & (b - 1)) != 0)
        return PZ_ERR_ARGUMENT;
    if (shape->row_elements == 0 || shape->row_elements > PZ_IBP_ROW_MAX_BYTES / (w / 8))
        return PZ_ERR_ARGUMENT;
    return PZ_OK;
}

static unsigned log2_of(unsigned power)
{
    return (unsigned)__builtin_ctz(power);
}

static void fill_sizes(pz_ibp_table *table, const pz_ibp_shape *shape)
{
    const unsigned b = shape->group_bits;

    table->shape = *shape;
    table->row_bytes = (size_t)shape->row_elements * (shape->width_bits / 8);
    table->groups = (8 * table->row_bytes + b - 1) / b;
    table->map_bytes = (table->groups + 7) / 8;
    table->words = table->row_bytes / 8;
    table->tail_bytes = table->row_bytes % 8;
    table->lane_bits = b < 64 ? b : 64;
    table->group_words = b > 64 ? log2_of(b / 64) : 0;
}

static uint64_t ones(unsigned bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* The steps of one lane whose bits in keep move together: a bit moves by as many places as there
 * are dropped ones below it, and step i by 2^i those whose number has that bit. */
static void fill_steps(struct pzi_ibp_word *word, uint64_t keep, unsigned lane_bits, unsigned at)
{
    uint64_t dropped[64] = {0}; /* places that the bit has still to move by; at 0: it is none */
    unsigned below = 0;

    for (unsigned k = 0; k < lane_bits; k++) {
        dropped[k] = keep >> k & 1 ? below : 0;
        below += !(keep >> k & 1);
    }
    for (unsigned i = 0; 1u << i < lane_bits; i++)
        for (unsigned k = 0; k < lane_bits; k++)
            if (dropped[k] >> i & 1) {
                word->step[i] |= UINT64_C(1) << (at + k);
                dropped[k - (1u << i)] = dropped[k];
                dropped[k] = 0;
            }
}

static void fill_word(pz_ibp_table *table, size_t k)
{
    const uint64_t keep = pzi_ibp_valid(table, k) & ~table->mask[k];
    struct pzi_ibp_word *const word = &table->word[k];

    table->keep[k] = keep;
    table->start[k + 1] = table->start[k] + (uint32_t)__builtin_popcountll(keep);
    for (unsigned at = 0; at < 64; at += table->lane_bits) {
        const uint64_t lane = keep >> at & ones(table->lane_bits);

        word->kept[at / table->lane_bits] = (uint8_t)__builtin_popcountll(lane);
        fill_steps(word, lane, table->lane_bits, at);
    }
}

/* The words of a row in memory. */
static void load_words(const pz_ibp_table *table, const uint8_t *row, uint64_t *words)
{
    uint8_t tail[8] = {0};

    for (size_t k = 0; k < table->words; k++)
        words[k] = pzi_load_le64(row + 8 * k);
    memcpy(tail, row + 8 * table->words, table->tail_bytes);
    words[table->words] = pzi_load_le64(tail);
}

static bool values_under_masks(const pz_ibp_table *table)
{
    for (size_t k = 0; k <= table->words; k++)
        if ((table->value[k] & ~table->mask[k]) != 0)
            return false;
    return true;
}

/* One block of memory: the table, words, and behind them masks and values as bytes. */
static pz_ibp_table *allocate(const pz_ibp_shape *shape)
{
    pz_ibp_table sizes = {0}, *table;
    size_t entries;

    fill_sizes(&sizes, shape);
    entries = sizes.words + 1;
    table = calloc(1, sizeof *table + entries * (24 + sizeof *table->word + 4) + 4 +
                          2 * sizes.row_bytes);
    if (table == NULL)
        return NULL;
    *table = sizes;
    table->mask = (uint64_t *)(table + 1);
    table->value = table->mask + entries;
    table->keep = table->value + entries;
    table->word = (struct pzi_ibp_word *)(table->keep + entries);
    table->start = (uint32_t *)(table->word + entries);
    return table;
}

static uint8_t *row_masks(const pz_ibp_table *table)
{
    return (uint8_t *)(table->start + table->words + 2);
}

pz_status pz_ibp_table_new(const pz_ibp_shape *shape, const void *masks, const void *values,
                           pz_ibp_table **table)
{
    pz_ibp_table *made;

    if (shape == NULL || masks == NULL || values == NULL || table == NULL ||
        pzi_ibp_check_shape(shape) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    made = allocate(shape);
    if (made == NULL)
        return PZ_ERR_MEMORY;
    load_words(made, masks, made->mask);
    load_words(made, values, made->value);
    if (!values_under_masks(made)) {
        free(made);
        return PZ_ERR_ARGUMENT;
    }
    made->one_load = true;
    for (size_t k = 0; k <= made->words; k++)
        fill_word(made, k);
    for (size_t k = 0; k < made->words; k++)
        made->one_load &= __builtin_popcountll(made->mask[k]) >= 8;
    memcpy(row_masks(made), masks, made->row_bytes);
    memcpy(row_masks(made) + made->row_bytes, values, made->row_bytes);
    *table = made;
    return PZ_OK;
}

void pz_ibp_table_free(pz_ibp_table *table)
{
    free(table);
}

pz_ibp_shape pz_ibp_table_shape(const pz_ibp_table *table)
{
    return table->shape;
}

size_t pz_ibp_row_bytes(const pz_ibp_table *table)
{
    return table->row_bytes;
}

const void *pz_ibp_table_masks(const pz_ibp_table *table)
{
    return row_masks(table);
}

const void *pz_ibp_table_values(const pz_ibp_table *table)
{
    return row_masks(table) + table->row_bytes;
}

/* ---- Stored ---------------------------------------------------------------------------------- */

size_t pz_ibp_table_bytes(const pz_ibp_table *table)
{
    return PZ_IBP_START_BYTES + 2 * table->row_bytes + CHECK_BYTES;
}

pz_status pz_ibp_table_save(const pz_ibp_table *table, void *to, size_t room)
{
    uint8_t *const bytes = to;
    size_t end;

    if (table == NULL || to == NULL)
        return PZ_ERR_ARGUMENT;
    end = pz_ibp_table_bytes(table) - CHECK_BYTES;
    if (room < end + CHECK_BYTES)
        return PZ_ERR_SPACE;
    memset(bytes, 0, PZ_IBP_START_BYTES);
    memcpy(bytes, magic, sizeof magic);
    pzi_store_le32(bytes + 8, 1);
    pzi_store_le32(bytes + 12, table->shape.width_bits);
    pzi_store_le32(bytes + 16, table->shape.group_bits);
    pzi_store_le64(bytes + 24, table->shape.row_elements);
    memcpy(bytes + PZ_IBP_START_BYTES, row_masks(table), 2 * table->row_bytes);
    pzi_store_le64(bytes + end, XXH3_64bits(bytes, end));
    return PZ_OK;
}

static pz_status read_start(const uint8_t *start, size_t bytes, pz_ibp_shape *shape, pz_diag *diag)
{
    if (bytes < PZ_IBP_START_BYTES)
        return pzi_fail(diag, PZ_ERR_TRUNCATED, "the table ends within its first %d bytes",
                        PZ_IBP_START_BYTES);
    if (memcmp(start, magic, sizeof magic) != 0)
        return pzi_fail(diag, PZ_ERR_FORMAT, "this is no table of invariant bit packing");
    if (pzi_load_le32(start + 8) != 1)
        return pzi_fail(diag, PZ_ERR_FORMAT, "the table has version %" PRIu32 ", known is 1",
                        pzi_load_le32(start + 8));
    *shape = (pz_ibp_shape){pzi_load_le32(start + 12), pzi_load_le32(start + 16),
                            pzi_load_le64(start + 24)};
    if (pzi_ibp_check_shape(shape) != PZ_OK || pzi_load_le32(start + 20) != 0 ||
        pzi_load_le64(start + 32) != 0)
        return pzi_fail(diag, PZ_ERR_MEANING,
                        "the table's width, group or number of elements is out of range");
    return PZ_OK;
}

static size_t stored_bytes_of(const pz_ibp_shape *shape)
{
    return PZ_IBP_START_BYTES + 2 * (size_t)shape->row_elements * (shape->width_bits / 8) +
           CHECK_BYTES;
}

pz_status pz_ibp_table_stored_bytes(const void *start, size_t start_bytes, size_t *bytes,
                                    pz_diag *diag)
{
    pz_ibp_shape shape = {0};
    pz_status status;

    if (bytes == NULL || (start == NULL && start_bytes != 0))
        return PZ_ERR_ARGUMENT;
    status = read_start(start, start_bytes, &shape, diag);
    if (status == PZ_OK)
        *bytes = stored_bytes_of(&shape);
    return status;
}

pz_status pz_ibp_table_load(const void *stored, size_t stored_bytes, pz_ibp_table **table,
                            pz_diag *diag)
{
    const uint8_t *const bytes = stored;
    pz_ibp_shape shape = {0};
    size_t end;
    pz_status status;

    if (table == NULL || (stored == NULL && stored_bytes != 0))
        return PZ_ERR_ARGUMENT;
    status = read_start(bytes, stored_bytes, &shape, diag);
    if (status != PZ_OK)
        return status;
    end = stored_bytes_of(&shape) - CHECK_BYTES;
    if (stored_bytes < end + CHECK_BYTES)
        return pzi_fail(diag, PZ_ERR_TRUNCATED, "the table has %zu bytes instead of %zu",
                        stored_bytes, end + CHECK_BYTES);
    if (stored_bytes > end + CHECK_BYTES)
        return pzi_fail(diag, PZ_ERR_TRAILING, "there are bytes behind the table");
    if (pzi_load_le64(bytes + end) != XXH3_64bits(bytes, end))
        return pzi_fail(diag, PZ_ERR_CHECK, "the table is damaged: its checksum does not match");
    status = pz_ibp_table_new(&shape, bytes + PZ_IBP_START_BYTES,
                              bytes + (PZ_IBP_START_BYTES + end) / 2, table);
    if (status == PZ_ERR_ARGUMENT)
        return pzi_fail(diag, PZ_ERR_MEANING, "the table has a value where its mask has none");
    return status == PZ_ERR_MEMORY ? pzi_no_memory(diag) : status;
}
