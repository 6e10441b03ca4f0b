/* What learning is, apart from who counts: ibp/learn.c on a CPU, gpu/ibp.c on a device. */
#ifndef PZI_IBP_LEARN_H
#define PZI_IBP_LEARN_H

#include "ibp/levels.h"
#include "ibp/table.h"

/* What is learned, and from how many rows at most. */
struct pzi_ibp_plan {
    pz_ibp_shape shape; /* of which the group may be 0 */
    double threshold;   /* 0: all */
    size_t row_bytes;
    size_t room; /* rows of a sample */
};

/* PZ_ERR_ARGUMENT. */
pz_status pzi_ibp_plan_learning(const pz_ibp_learn_options *options, struct pzi_ibp_plan *plan);

/* What a sample of `kept` rows tells: bits saved by groups of every size, values, and the masks for
 * every size, a row each. */
struct pzi_ibp_learned {
    size_t kept;
    uint64_t saved[PZI_IBP_SIZES];
    uint8_t *values, *masks[PZI_IBP_SIZES];
};

/* The table of the best size; the values are cut down to its masks. */
pz_status pzi_ibp_learned_table(const struct pzi_ibp_plan *plan, struct pzi_ibp_learned *learned,
                                pz_ibp_table **table);

#endif
