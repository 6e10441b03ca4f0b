/* Bytes of a container that is read, through the functions of the caller: in order or at any place.
 * What arrives is not trusted, nor is what those functions say. */
#ifndef PZI_CONTAINER_SOURCE_H
#define PZI_CONTAINER_SOURCE_H

#include "container/bytes.h"
#include "planezip/planezip.h"

struct pzi_source {
    const pz_reader_options *options;
    uint64_t at; /* where the next bytes come from; may be set for random access only */
};

/* Takes bytes until there are as many as asked for, or the file ends: *got of them. */
pz_status pzi_source_take(struct pzi_source *source, void *to, size_t bytes, size_t *got);

/* The same with exactly `bytes`, appended to *to; the end before that is PZ_ERR_TRUNCATED.  Memory
 * is taken for bytes that lie in the file or have arrived, at most twice as much. */
pz_status pzi_source_append(struct pzi_source *source, uint64_t bytes, struct pzi_bytes *to);

#endif
