/* The static codes of format 2, laid out for the kernels: see tables.h. */
#include "gpu/tables.h"

#include <string.h>

#include "codec/code2.h"
#include "gpu/words.h"

void pzi_gpu_tables(uint8_t *tables)
{
    uint8_t *const lengths = tables + sizeof pzi_codes2;

    _Static_assert(sizeof(struct pzi_code2) == PZI_CODE_BYTES, "a code has no gaps");
    _Static_assert(sizeof pzi_codes2 + PZI_CLASSES2 * PZI_CODES2 == PZI_TABLES_BYTES,
                   "all codes, all lengths");
    memcpy(tables, pzi_codes2, sizeof pzi_codes2);
    for (unsigned c = 0; c < PZI_CLASSES2; c++)
        for (unsigned j = 0; j < PZI_CODES2; j++)
            lengths[c * PZI_CODES2 + j] = (uint8_t)pzi_lengths2[c][j];
}
