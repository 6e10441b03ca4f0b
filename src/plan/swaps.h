/* Stage 1 of Algorithm 1 (paper, section III-C): swaps that fill idle link time. */
#ifndef PZI_PLAN_SWAPS_H
#define PZI_PLAN_SWAPS_H

#include "plan/planner.h"

/* What a candidate buys per second of copy time, or per byte. */
typedef enum pzi_ranking {
    PZI_RECOMPUTE_PER_COPY, /* Cr / x */
    PZI_MEMORY_PER_COPY,    /* m / x */
    PZI_RECOMPUTE_PER_BYTE  /* Cr / m */
} pzi_ranking;

/* Copy times of the saved tensors: x_t of Equation 2, per direction. */
typedef struct pzi_copies {
    int64_t *out_ns, *in_ns;
} pzi_copies;

pz_status pzi_copies_new(const pzi_work *work, const double *ratios, pzi_copies *copies);
void pzi_copies_free(pzi_copies *copies);

/* Lines 1 to 7 of Algorithm 1 on a fresh draft: budget eta * min(Tfwd, Tbwd) per direction. */
void pzi_admit_swaps(pzi_planner *planner, const pzi_copies *copies, pzi_ranking ranking,
                     double eta);

#endif
