/* Files of rows: .npy, whose last dimension is a row, and raw elements. */
#ifndef CLI_ROW_FILE_H
#define CLI_ROW_FILE_H

#include "pieces.h"

#include <planezip/ibp.h>

enum { ROW_FILE_PREFIX_MAX = 1 << 20 };

/* What the command line tells. */
typedef struct row_options {
    pz_dtype dtype;   /* of raw elements, as columns; 0: not told */
    uint64_t columns; /* elements of a row */
    uint64_t group;   /* of tables that are learned; 0: what packs best */
    double threshold; /* the same */
} row_options;

/* Rows behind a prefix, there until the program ends. */
typedef struct row_file {
    const char *name;
    pieces *in;
    size_t prefix_bytes, row_bytes;
    uint64_t count;
    size_t block; /* rows that are read at once */
    pz_dtype dtype;
    uint64_t columns; /* symbols of a row, which are its elements but for a few types */
} row_file;

/* Print their errors and return an exit status.  is_whole: all rows are in memory. */
int row_file_open(const char *name, bool is_whole, const row_options *options, row_file *file);

/* The rows from number first on, file->block of them or as many as there are; they live until the
 * next call. */
int row_file_block(row_file *file, uint64_t first, size_t *count, const unsigned char **rows);

/* The table lives until the program ends. */
int row_file_learn(row_file *file, const row_options *options, pz_ibp_table **table);

/* All rows of a file that is in memory. */
const unsigned char *row_file_rows(const row_file *file);

/* Bits of an element. */
unsigned row_file_width(const row_file *file);

/* Has a table freed at the end of the program. */
void row_file_keep_table(pz_ibp_table *table);

#endif
