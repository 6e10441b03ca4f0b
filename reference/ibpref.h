/* Reference of invariant bit packing (docs/ibp.md): written to be compared with, not to be fast. It
 * knows nothing of the library. */
#ifndef IBPREF_H
#define IBPREF_H

#include <stddef.h>
#include <stdint.h>

/* masks and values are those of a row, R bytes. */
struct ibpref_table {
    unsigned w, b;
    size_t E;
    const uint8_t *masks, *values;
};

/* One value for each thing that docs/ibp.md, "What a reader rejects", tells. */
enum ibpref_error {
    IBPREF_OK,
    IBPREF_TRUNCATED,
    IBPREF_TRAILING,
    IBPREF_PADDING,
    IBPREF_TABLE_SIZE,
    IBPREF_TABLE_MAGIC,
    IBPREF_TABLE_FIELD,
    IBPREF_TABLE_VALUE,
    IBPREF_TABLE_CHECK
};

/* R. */
size_t ibpref_row_bytes(const struct ibpref_table *table);

/* Writes the canonical row, packed or raw, to dst, which has room for 2 R + 64 bytes, and returns
 * its size: R if it is raw. */
size_t ibpref_pack(const struct ibpref_table *table, const uint8_t *raw, uint8_t *dst);

/* Reads a packed row.  *bytes is how many there are; exact: all of them must be used.  Without
 * exact it is set to what was used.  After an error the content of raw is undefined. */
enum ibpref_error ibpref_unpack(const struct ibpref_table *table, const uint8_t *row, size_t *bytes,
                                int exact, uint8_t *raw);

/* Reads a stored table; masks and values then point into it. */
enum ibpref_error ibpref_table_read(const uint8_t *stored, size_t bytes,
                                    struct ibpref_table *table);

/* Stores a table in 48 + 2 R bytes. */
void ibpref_table_write(const struct ibpref_table *table, uint8_t *stored);

#endif
