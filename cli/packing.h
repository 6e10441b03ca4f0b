/* Packing a file of tensors into a container: what kind of file it is, and its tensors one after
 * the other, in memory for a header and a segment. */
#ifndef CLI_PACKING_H
#define CLI_PACKING_H

#include "options.h"
#include "output.h"
#include "source.h"
#include "tensors.h"

#include <planezip/planezip.h>

option_parser option_profile; /* pz_profile * */

typedef struct packing_options {
    tensors_options file;
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
