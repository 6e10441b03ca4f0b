/* The traces of one model at several batch sizes, and the trace at any batch size. */
#ifndef CLI_FAMILY_H
#define CLI_FAMILY_H

#include "sweep_setup.h"

/* In order of their batch sizes. */
typedef struct family {
    const sweep_trace **traces;
    size_t count;
} family;

/* Groups traces by model, in the order in which the models appear.  Two traces of one model and
 * batch size are a wrong command line.  Returns an exit status; what it makes lives until the
 * program ends. */
int family_group(const sweep_trace *traces, size_t count, family **families, size_t *family_count);

/* The trace at a batch size: one of the family, between or beyond two of them, or scaled from the
 * only one.  The caller frees it.  PZ_ERR_MISMATCH if two traces do not go together. */
pz_status family_at(const family *self, uint64_t batch, pz_trace **trace, pz_diag *diag);

#endif
