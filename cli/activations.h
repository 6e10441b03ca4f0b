/* An index of activations and the files beside it: a CSV file with a line per chunk, as tests/data
 * has one: model, class of the producer, kind of the data, its place, symbol width, and the sizes
 * that are expected.  Chunks of kind f32 lie in MODEL.f32; of kind bf16 in the conversion of the
 * whole MODEL.f32; all others in MODEL.other. */
#ifndef CLI_ACTIVATIONS_H
#define CLI_ACTIVATIONS_H

#include "sizes.h"

#include <planezip/planezip.h>

/* What a line names; all of it lives until the end of the visit. */
typedef struct activations_chunk {
    const char *model, *class, *kind;
    pz_dtype dtype; /* of kind */
    unsigned width_bits;
    const unsigned char *data;
    size_t bytes;
    uint64_t expected[SIZES_CODECS]; /* bytes per codec; UINT64_MAX: the index does not tell */
    unsigned line;
} activations_chunk;

/* Calls visit for each chunk whose width is that of its type in the profile, as long as it returns
 * STATUS_OK, and returns the last status.  A width that the type has in no profile is an error, and
 * so is an index without a chunk to visit.  Prints its errors. */
int activations_read(const char *file, pz_profile profile,
                     int (*visit)(void *user, const activations_chunk *chunk), void *user);

/* Something is wrong with a line of the file; text, if not NULL, is the value that is meant. */
int activations_fail(const char *file, unsigned line, const char *text, const char *what);

#endif
