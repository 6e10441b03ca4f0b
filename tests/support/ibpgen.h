/* Tables and rows for tests of invariant bit packing. */
#ifndef PZ_TEST_IBPGEN_H
#define PZ_TEST_IBPGEN_H

#include "planezip/ibp.h"
#include "support/rng.h"

/* A table of any shape with rows of at most so many bytes, 1 MiB at most; NULL for want of memory.
 * Its masks have few, half or most of the bits. */
pz_ibp_table *ibpgen_table(struct rng *rng, size_t most, pz_ibp_shape *shape);

/* Rows that fit the masks but for some bytes; some rows hardly ever do. */
void ibpgen_rows(struct rng *rng, const pz_ibp_table *table, size_t rows, uint8_t *raw);

#endif
