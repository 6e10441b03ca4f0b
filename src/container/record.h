/* The records of a container as bytes, and back: docs/container.md, "Records".  What is read here
 * is not trusted. */
#ifndef PZI_CONTAINER_RECORD_H
#define PZI_CONTAINER_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "container/bytes.h"
#include "planezip/planezip.h"

enum {
    PZI_MAGIC_BYTES = 8,
    PZI_FILE_HEADER_BYTES = 16,
    PZI_HEAD_BYTES = 48,
    PZI_TENS_BYTES = 40, /* before the shape */
    PZI_TEND_BYTES = 88,
    PZI_ENTRY_BYTES = 12, /* of metadata, before the key */
    PZI_FOOTER_BYTES = 32,
    PZI_BODY_MAX_BYTES = 1 << 28 /* of META and TENS */
};

/* Kinds of records: four letters as a little-endian number. */
enum {
    PZI_META = 0x4154454d,
    PZI_TENS = 0x534e4554,
    PZI_SEGM = 0x4d474553,
    PZI_TEND = 0x444e4554,
    PZI_INDX = 0x58444e49
};

/* The header of the file.  PZ_ERR_FORMAT; PZ_ERR_TRUNCATED if it has fewer bytes and they are
 * right.
 */
void pzi_file_header_store(uint8_t to[PZI_FILE_HEADER_BYTES]);
pz_status pzi_file_header_check(const uint8_t *from, size_t bytes, pz_diag *diag);

struct pzi_head {
    uint32_t kind;
    uint32_t tensor;
    uint64_t segment;
    uint64_t raw_bytes;
    uint64_t body_bytes;
    uint64_t check;
};

void pzi_head_store(const struct pzi_head *head, uint8_t to[PZI_HEAD_BYTES]);
/* False if its checksum does not match. */
bool pzi_head_load(const uint8_t from[PZI_HEAD_BYTES], struct pzi_head *head);

/* PZ_ERR_TRUNCATED if the end is none, PZ_ERR_CHECK. */
void pzi_footer_store(uint64_t index_at, uint64_t file_bytes, uint8_t to[PZI_FOOTER_BYTES]);
pz_status pzi_footer_load(const uint8_t from[PZI_FOOTER_BYTES], uint64_t *index_at,
                          uint64_t *file_bytes, pz_diag *diag);

/* Entries of metadata with memory of their own. */
struct pzi_metadata {
    pz_metadata *entries;
    size_t count;
    uint8_t *memory;
};

bool pzi_metadata_store(const pz_metadata *entries, size_t count, struct pzi_bytes *to);
/* All that is left of the cursor must be count entries.  PZ_ERR_MEANING, PZ_ERR_MEMORY. */
pz_status pzi_metadata_load(struct pzi_cursor *from, uint64_t count, struct pzi_metadata *metadata);
void pzi_metadata_release(struct pzi_metadata *metadata);

/* Where a segment is, as the index tells. */
struct pzi_place {
    uint64_t at;
    uint64_t stream_bytes;
    uint64_t check;
};

/* A tensor of a reader: the public view and what it points to. */
struct pzi_tensor {
    pz_tensor view;
    uint64_t segment_bytes;
    char *name;
    uint64_t *shape;
    struct pzi_metadata metadata;
    struct pzi_place *places; /* random access: view.segments of them */
};

/* The body of TENS, of a tensor that was checked. */
bool pzi_tens_store(const pz_tensor *tensor, uint64_t segment_bytes, struct pzi_bytes *to);

/* Reads a body; the part of the view that TEND tells is PZ_UNKNOWN then.  On an error *tensor holds
 * nothing.  path is the place that a message names. */
pz_status pzi_tens_load(const uint8_t *body, size_t bytes, const char *path,
                        struct pzi_tensor *tensor, pz_diag *diag);
void pzi_tensor_release(struct pzi_tensor *tensor);

/* The body of TEND: the counts of a view. */
void pzi_tend_store(const pz_tensor *tensor, uint8_t to[PZI_TEND_BYTES]);

/* Completes the view, an unknown length included, and checks that the counts fit one another.
 * stored_bytes is left alone. */
pz_status pzi_tend_load(const uint8_t from[PZI_TEND_BYTES], const char *path,
                        struct pzi_tensor *tensor, pz_diag *diag);

/* The first dimension of a tensor whose other dimensions are shape[1..]; PZ_ERR_ARGUMENT if
 * raw_bytes are no whole number of rows. */
pz_status pzi_first_dimension(pz_dtype dtype, uint32_t rank, const uint64_t *shape,
                              uint64_t raw_bytes, uint64_t *length);

#endif
