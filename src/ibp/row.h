/* The loops over a row, once per instruction set, of which there are two: plain C, and BMI2, whose
 * instructions take and put the bits of a word at once. */
#ifndef PZI_IBP_ROW_H
#define PZI_IBP_ROW_H

#include "ibp/table.h"

struct pzi_ibp_ops {
    /* Bits of the packed row.  map, if not NULL, receives the bits of the groups, and
     * *packed_groups the number of those that participate. */
    size_t (*size)(const pz_ibp_table *table, const uint8_t *raw, uint8_t *map,
                   size_t *packed_groups);

    /* Writes the packed row of so many bits behind the map, which is there. */
    void (*pack)(const pz_ibp_table *table, const uint8_t *raw, uint8_t *row, size_t bits);

    /* Reads a packed row of at most limit bytes; *bits is what it took. */
    pz_status (*unpack)(const pz_ibp_table *table, const uint8_t *row, size_t limit, uint8_t *raw,
                        size_t *bits);
};

extern const struct pzi_ibp_ops pzi_ibp_plain;
#if defined(__x86_64__)
extern const struct pzi_ibp_ops pzi_ibp_bmi2;
#endif

#endif
