/* Files of packed rows (docs/ibp.md, "Files"), a block of rows at a time: they may be larger than
 * memory.  Every function prints its own error and returns an exit status. */
#ifndef CLI_PACKED_ROWS_H
#define CLI_PACKED_ROWS_H

#include "row_file.h"

/* Where the parts of a file stand; they follow one another. */
typedef struct packed_file {
    pz_ibp_table *table;
    pz_dtype dtype;
    uint64_t count, prefix_bytes, data_bytes;
    size_t table_bytes;
    uint64_t prefix_at, offsets_at, data_at, bytes;
} packed_file;

/* Packs all rows of a file, which is read four times if it has no table of its own, else three
 * times. */
int packed_rows_pack(row_file *in, pz_ibp_table *table, const char *name, bool force);

/* Whether a file begins as one of packed rows does. */
int packed_rows_look(pieces *in, bool *is_rows);

/* Header and table of a file; the parts lie within it, without gaps. */
int packed_rows_open(pieces *in, packed_file *file);

/* Makes the file again that was packed, once all checksums have been found right. */
int packed_rows_unpack(pieces *in, const char *name, bool force);

/* The table that begins at a byte of a file, behind which there may be more. */
int packed_rows_table(pieces *in, uint64_t at, packed_file *file);

#endif
