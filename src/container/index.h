/* The index at the end of a container: docs/container.md, "INDX".  A writer builds it; so does a
 * reader that goes front to back, to compare; a reader with random access begins with it. */
#ifndef PZI_CONTAINER_INDEX_H
#define PZI_CONTAINER_INDEX_H

#include "container/bytes.h"
#include "container/record.h"

struct pzi_index {
    struct pzi_bytes body;   /* the number of tensors in front is set by pzi_index_finish() */
    struct pzi_bytes places; /* of the tensor at hand, which follow its TEND */
    uint64_t tensors;
};

/* In the order of the records; false if memory runs out. */
bool pzi_index_tensor(struct pzi_index *index, uint64_t at, const uint8_t *tens, size_t tens_bytes);
bool pzi_index_segment(struct pzi_index *index, const struct pzi_place *place);
bool pzi_index_tensor_end(struct pzi_index *index, const uint8_t tend[PZI_TEND_BYTES]);
bool pzi_index_finish(struct pzi_index *index);
void pzi_index_release(struct pzi_index *index);

/* Reads a body.  The records that it tells must follow one another without gaps from some place at
 * or behind the file's header up to index_at.  On success the caller owns *tensors, *count of them.
 */
pz_status pzi_index_load(const uint8_t *body, size_t bytes, uint64_t index_at,
                         struct pzi_tensor **tensors, uint64_t *count, pz_diag *diag);
void pzi_index_free_tensors(struct pzi_tensor *tensors, uint64_t count);

#endif
