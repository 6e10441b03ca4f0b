/* Filling in a pz_diag, for the layers of planning. */
#ifndef PZI_TRACE_DIAG_H
#define PZI_TRACE_DIAG_H

#include "base/diag.h"

#endif
