/* Invariant bit packing, in the order of docs/ibp.md.  Bits are taken one by one and nothing is
 * computed in a clever way: each function can be read against its section. */
#include "ibpref.h"

#include <string.h>
#include <xxhash.h>

enum { MAX_ROW_BYTES = 1048576, MAX_GROUP_BITS = 512, HEADER_BYTES = 40, CHECK_BYTES = 8 };

/* docs/ibp.md, "Rows and groups". */

size_t ibpref_row_bytes(const struct ibpref_table *table)
{
    return table->E * table->w / 8;
}

static unsigned bit_of(const uint8_t *bytes, size_t k)
{
    return bytes[k / 8] >> (k % 8) & 1u;
}

static void put_bit(uint8_t *bytes, size_t k, unsigned bit)
{
    bytes[k / 8] = (uint8_t)((bytes[k / 8] & ~(1u << (k % 8))) | bit << (k % 8));
}

static size_t row_bits(const struct ibpref_table *table)
{
    return 8 * ibpref_row_bytes(table);
}

static size_t groups(const struct ibpref_table *table)
{
    return (row_bits(table) + table->b - 1) / table->b;
}

/* Group `group` is bits group * b to group_end() - 1. */
static size_t group_end(const struct ibpref_table *table, size_t group)
{
    const size_t end = (group + 1) * table->b;

    return end < row_bits(table) ? end : row_bits(table);
}

/* docs/ibp.md, "Table". */

static uint64_t number(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void put_number(uint8_t *to, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static const uint8_t magic[8] = {0x89, 0x49, 0x42, 0x50, 0x54, 0x0D, 0x0A, 0x1A};

static int valid_width(uint64_t w)
{
    return w == 8 || w == 16 || w == 32 || w == 64;
}

static int valid_group(uint64_t w, uint64_t b)
{
    return b >= w && b <= MAX_GROUP_BITS && (b & (b - 1)) == 0;
}

enum ibpref_error ibpref_table_read(const uint8_t *stored, size_t bytes, struct ibpref_table *table)
{
    uint64_t w, b, E, R;

    if (bytes < HEADER_BYTES + CHECK_BYTES)
        return IBPREF_TABLE_SIZE;
    if (memcmp(stored, magic, sizeof magic) != 0 || number(stored + 8, 4) != 1)
        return IBPREF_TABLE_MAGIC;
    w = number(stored + 12, 4);
    b = number(stored + 16, 4);
    E = number(stored + 24, 8);
    if (!valid_width(w) || !valid_group(w, b) || number(stored + 20, 4) != 0 ||
        number(stored + 32, 8) != 0 || E == 0 || E > MAX_ROW_BYTES / (w / 8))
        return IBPREF_TABLE_FIELD;
    R = E * (w / 8);
    if (bytes != HEADER_BYTES + 2 * R + CHECK_BYTES)
        return IBPREF_TABLE_SIZE;
    if (number(stored + bytes - CHECK_BYTES, 8) != XXH3_64bits(stored, bytes - CHECK_BYTES))
        return IBPREF_TABLE_CHECK;
    *table = (struct ibpref_table){(unsigned)w, (unsigned)b, (size_t)E, stored + HEADER_BYTES,
                                   stored + HEADER_BYTES + R};
    for (size_t k = 0; k < 8 * R; k++)
        if (bit_of(table->values, k) && !bit_of(table->masks, k))
            return IBPREF_TABLE_VALUE;
    return IBPREF_OK;
}

void ibpref_table_write(const struct ibpref_table *table, uint8_t *stored)
{
    const size_t R = ibpref_row_bytes(table), end = HEADER_BYTES + 2 * R;

    memset(stored, 0, HEADER_BYTES);
    memcpy(stored, magic, sizeof magic);
    put_number(stored + 8, 4, 1);
    put_number(stored + 12, 4, table->w);
    put_number(stored + 16, 4, table->b);
    put_number(stored + 24, 8, table->E);
    memcpy(stored + HEADER_BYTES, table->masks, R);
    memcpy(stored + HEADER_BYTES + R, table->values, R);
    put_number(stored + end, 8, XXH3_64bits(stored, end));
}

/* docs/ibp.md, "Packed row" and "Canonical choices". */

static int participates(const struct ibpref_table *table, const uint8_t *raw, size_t group)
{
    for (size_t k = group * table->b; k < group_end(table, group); k++)
        if (bit_of(table->masks, k) && bit_of(table->values, k) != bit_of(raw, k))
            return 0;
    return 1;
}

/* Where the bits of the groups begin. */
static size_t map_bits(const struct ibpref_table *table)
{
    return (groups(table) + 7) / 8 * 8;
}

size_t ibpref_pack(const struct ibpref_table *table, const uint8_t *raw, uint8_t *dst)
{
    const size_t R = ibpref_row_bytes(table);
    size_t at = map_bits(table);

    memset(dst, 0, 2 * R + 64);
    for (size_t group = 0; group < groups(table); group++) {
        const int packed = participates(table, raw, group);

        put_bit(dst, group, (unsigned)packed);
        for (size_t k = group * table->b; k < group_end(table, group); k++)
            if (!packed || !bit_of(table->masks, k))
                put_bit(dst, at++, bit_of(raw, k));
    }
    if ((at + 7) / 8 < R)
        return (at + 7) / 8;
    memcpy(dst, raw, R);
    return R;
}

/* docs/ibp.md, "What a reader rejects". */

static int zeros(const uint8_t *row, size_t from, size_t end)
{
    for (size_t k = from; k < end; k++)
        if (bit_of(row, k))
            return 0;
    return 1;
}

enum ibpref_error ibpref_unpack(const struct ibpref_table *table, const uint8_t *row, size_t *bytes,
                                int exact, uint8_t *raw)
{
    size_t at = map_bits(table);

    if (at > 8 * *bytes)
        return IBPREF_TRUNCATED;
    if (!zeros(row, groups(table), at))
        return IBPREF_PADDING;
    for (size_t group = 0; group < groups(table); group++)
        for (size_t k = group * table->b; k < group_end(table, group); k++) {
            if (bit_of(row, group) && bit_of(table->masks, k)) {
                put_bit(raw, k, bit_of(table->values, k));
                continue;
            }
            if (at == 8 * *bytes)
                return IBPREF_TRUNCATED;
            put_bit(raw, k, bit_of(row, at++));
        }
    if (!zeros(row, at, (at + 7) / 8 * 8))
        return IBPREF_PADDING;
    if (exact && (at + 7) / 8 != *bytes)
        return IBPREF_TRAILING;
    *bytes = (at + 7) / 8;
    return IBPREF_OK;
}
