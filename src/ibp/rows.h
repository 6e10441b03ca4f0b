/* A row among stored ones, for what fetches rows by its own means. */
#ifndef PZI_IBP_ROWS_H
#define PZI_IBP_ROWS_H

#include "ibp/row.h"

/* The loops of the instruction set that is chosen. */
const struct pzi_ibp_ops *pzi_ibp_ops(void);

/* Whether the fields belong together; what they point to is not looked at. */
bool pzi_ibp_rows_fit(const pz_ibp_rows *rows);

/* Where a row is.  PZ_ERR_ARGUMENT if there is none of that number, PZ_ERR_RANGE. */
pz_status pzi_ibp_find(const pz_ibp_rows *rows, uint64_t row, struct pzi_ibp_place *place);

/* Unpacks it.  *bytes is what is stored of it. */
pz_status pzi_ibp_unpack(const pz_ibp_rows *rows, const struct pzi_ibp_ops *ops,
                         const struct pzi_ibp_place *place, const struct pzi_ibp_to *to,
                         size_t *bytes);

#endif
