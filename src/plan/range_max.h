/* A sequence of integers with fast range addition, range maximum and search: memory profiles and
 * the slack of copy queues are kept in it.  All operations take O(log n). */
#ifndef PZI_PLAN_RANGE_MAX_H
#define PZI_PLAN_RANGE_MAX_H

#include <planezip/planezip.h>

typedef struct pzi_range_max {
    size_t n, leaves;
    int64_t *max; /* of a subtree, with what was added to it as a whole, but not above it */
    int64_t *add; /* added to a subtree as a whole */
} pzi_range_max;

pz_status pzi_range_max_new(size_t n, pzi_range_max *seq);
void pzi_range_max_free(pzi_range_max *seq);
/* Sets all values. */
void pzi_range_max_fill(pzi_range_max *seq, const int64_t *values);
/* Makes seq equal to source, which has the same length. */
void pzi_range_max_copy(pzi_range_max *seq, const pzi_range_max *source);

/* Ranges are first..last inclusive; an empty one (last < first) changes nothing, and its maximum is
 * INT64_MIN. */
void pzi_range_max_add(pzi_range_max *seq, size_t first, size_t last, int64_t delta);
int64_t pzi_range_max_get(const pzi_range_max *seq, size_t first, size_t last);

static inline int64_t pzi_range_max_all(const pzi_range_max *seq)
{
    return seq->max[1];
}

/* First position of the maximum of all. */
size_t pzi_range_max_where(const pzi_range_max *seq);

/* The last position before end whose value is above limit; SIZE_MAX if there is none. */
size_t pzi_range_max_last_above(const pzi_range_max *seq, size_t end, int64_t limit);

#endif
