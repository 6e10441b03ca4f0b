/* measure --index: the chunks that an index names, as Figure 3 and Table III of the paper. */
#ifndef CLI_MEASURE_INDEX_H
#define CLI_MEASURE_INDEX_H

#include "table.h"

#include <stdbool.h>

/* Reads the index and the files beside it and fills both tables.  native: symbols as wide as the
 * elements instead of 32 bits for all but bf16. */
int measure_index(const char *file, bool native, table **figure_3, table **table_3);

#endif
