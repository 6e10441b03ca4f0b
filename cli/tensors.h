/* A file of tensors, front to back: of what kind it is, its header, and its tensors in the order of
 * their data. */
#ifndef CLI_TENSORS_H
#define CLI_TENSORS_H

#include "options.h"
#include "source.h"

#include <planezip/planezip.h>

typedef enum tensors_kind {
    TENSORS_ANY,
    TENSORS_RAW,
    TENSORS_NPY,
    TENSORS_SAFETENSORS
} tensors_kind;

option_parser option_kind;  /* tensors_kind * */
option_parser option_dtype; /* pz_dtype * */

typedef struct tensors_options {
    tensors_kind kind;     /* TENSORS_ANY: as the file looks */
    pz_dtype dtype;        /* of raw elements and of those without a name in .npy; 0: not told */
    const uint64_t *shape; /* of raw elements; NULL: not told */
    uint32_t rank;
} tensors_options;

typedef struct tensors {
    source *in;
    const tensors_options *options;
    tensors_kind kind;
    const char *kind_name;
    unsigned char *header; /* of the file, before its first tensor */
    size_t header_bytes;
    size_t count;
    uint64_t raw_bytes; /* of a raw file whose shape was told; else PZ_UNKNOWN */
    pz_npy npy;
    pz_safetensors *safetensors;
} tensors;

/* Reads the header; in stands at the data of the first tensor then.  Prints its errors. */
int tensors_open(tensors *self, source *in, const tensors_options *options);
void tensors_close(tensors *self);

/* Name, type, shape and metadata of a tensor, which live as long as self, and the bytes of its data
 * (PZ_UNKNOWN: all that the file has). */
void tensors_at(const tensors *self, size_t index, pz_tensor *tensor, uint64_t *data_bytes);

/* A file that ends before its data is complete; left: the bytes that are missing. */
int tensors_fail_short(const tensors *self, const char *name, uint64_t left);

#endif
