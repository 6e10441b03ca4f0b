/* The loops over a row, once per instruction set, of which there are two: plain C, and BMI2, whose
 * instructions take and put the bits of a word at once. */
#ifndef PZI_IBP_ROW_H
#define PZI_IBP_ROW_H

#include "ibp/table.h"

/* What is stored of a row, and where.  A row in a slot may take all but one of its bytes. */
struct pzi_ibp_place {
    const uint8_t *at;
    size_t bytes;
    bool is_raw;
};

/* Where a row is unpacked to, and what is asked for early meanwhile: the row that is to be unpacked
 * some rows later, or any memory. */
struct pzi_ibp_to {
    uint8_t *raw;
    const uint8_t *next;
};

struct pzi_ibp_ops {
    /* Bits of the packed row; *packed_groups is the number of groups that participate. */
    size_t (*size)(const pz_ibp_table *table, const uint8_t *raw, size_t *packed_groups);

    /* Packs a row into at most room bytes, in which it writes whatever it likes; returns how many
     * it takes, 0 if they do not suffice. */
    size_t (*pack)(const pz_ibp_table *table, const uint8_t *raw, uint8_t *row, size_t room);

    /* Reads a packed row; *bits is what it took. */
    pz_status (*unpack)(const pz_ibp_table *table, const struct pzi_ibp_place *from,
                        const struct pzi_ibp_to *to, size_t *bits);
};

extern const struct pzi_ibp_ops pzi_ibp_plain;
#if defined(__x86_64__)
extern const struct pzi_ibp_ops pzi_ibp_bmi2;
#endif

#endif
