/* The data that bench works on: the elements of one type of a file of tensors, or of an index of
 * activations. */
#ifndef CLI_BENCH_DATA_H
#define CLI_BENCH_DATA_H

#include "tensors.h"

#include <planezip/planezip.h>

typedef struct bench_set {
    const char *name; /* of its file */
    pz_dtype dtype;
    unsigned char *data; /* of tensors one after the other */
    size_t bytes;
} bench_set;

/* Sets take no more than limit_bytes each, the first ones of their file.  They live until the
 * program ends. */
typedef struct bench_sets {
    size_t limit_bytes;
    bench_set *list;
    size_t count;
} bench_sets;

/* Add a set for each type that there is.  Print their errors. */
int bench_read_file(bench_sets *self, const char *file, const tensors_options *options);
int bench_read_index(bench_sets *self, const char *file);

/* Fills `to`: with the set as it is if that is enough; else its whole chunks of PZ_CHUNK_BYTES
 * again and again, each time in a new random order, since small buffers that repeat would train the
 * branch predictor and flatter every codec.  A set has at least one chunk. */
void bench_fill(const bench_set *set, unsigned char *to, size_t bytes);

#endif
