/* Going through a container front to back: its raw bytes to an output, or nowhere, to check them.
 */
#ifndef CLI_UNPACKING_H
#define CLI_UNPACKING_H

#include "output.h"
#include "source.h"

#include <planezip/planezip.h>

typedef struct unpacking_options {
    bool check_pages;
    bool salvage;        /* go on after damage: zeros for what is lost */
    pz_threads *threads; /* NULL: one */
} unpacking_options;

typedef struct unpacking_result {
    uint64_t tensors, raw_bytes;
    uint64_t lost_bytes; /* of salvage */
} unpacking_result;

/* out may be NULL.  Prints its errors; with salvage it returns STATUS_DATA if anything is lost. */
int unpacking_run(source *in, output_file *out, const unpacking_options *options,
                  unpacking_result *result);

/* The entry of a container's metadata, or NULL. */
const pz_metadata *unpacking_metadata(const pz_reader *reader, const char *key);

#endif
