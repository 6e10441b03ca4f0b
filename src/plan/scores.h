/* The candidates for eviction: who has the lowest score among those that are idle at an operator.
 * A tree over the tensors in order of their last forward use; each node knows the lowest score and
 * the latest need below it, so that a query visits few nodes. */
#ifndef PZI_PLAN_SCORES_H
#define PZI_PLAN_SCORES_H

#include "sim/work.h"

typedef struct pzi_scores {
    size_t n, leaves;
    double *score;     /* per node; infinite for what cannot be evicted */
    int32_t *need;     /* per node: latest operator that needs one of its tensors */
    int32_t *tensor;   /* per position: saved tensor */
    int32_t *position; /* per saved tensor */
    int32_t *last;     /* per position: last forward use, increasing */
} pzi_scores;

pz_status pzi_scores_new(const pzi_work *work, pzi_scores *scores);
void pzi_scores_free(pzi_scores *scores);

void pzi_scores_set(pzi_scores *scores, int32_t saved, double score, int32_t need);

/* The tensor with the lowest finite score, ties to the lower index, whose last forward use lies
 * before operator op and whose need lies after it; PZI_NONE if there is none. */
int32_t pzi_scores_best(const pzi_scores *scores, int32_t op);

#endif
