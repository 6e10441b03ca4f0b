/* Packing a file of tensors into a container: what kind of file it is, and its tensors one after
 * the other, in memory for a header and a segment. */
#ifndef CLI_PACKING_H
#define CLI_PACKING_H

#include "options.h"
#include "output.h"
#include "source.h"

#include <planezip/planezip.h>

typedef enum packing_kind {
    PACKING_ANY,
    PACKING_RAW,
    PACKING_NPY,
    PACKING_SAFETENSORS
} packing_kind;

option_parser option_kind;    /* packing_kind * */
option_parser option_dtype;   /* pz_dtype * */
option_parser option_profile; /* pz_profile * */

typedef struct packing_options {
    packing_kind kind;
    pz_dtype dtype;        /* 0: not told */
    const uint64_t *shape; /* NULL: not told */
    uint32_t rank;
    pz_profile profile;
    const char *codec;
    uint64_t segment_bytes;
    pz_threads *threads; /* NULL: one */
} packing_options;

/* What was written. */
typedef struct packing_result {
    uint64_t tensors, raw_bytes, stored_bytes;
} packing_result;

/* Prints its errors. */
int packing_run(source *in, output_file *out, const packing_options *options,
                packing_result *result);

#endif
