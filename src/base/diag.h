/* Filling in a pz_diag: one place that formats, so that every message has the same shape. */
#ifndef PZI_BASE_DIAG_H
#define PZI_BASE_DIAG_H

#include <planezip/planezip.h>

/* Each writes *diag (if not NULL) and returns the status, for use in a return statement. */
pz_status pzi_fail(pz_diag *diag, pz_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
pz_status pzi_fail_at(pz_diag *diag, pz_status status, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
pz_status pzi_no_memory(pz_diag *diag);

#endif
