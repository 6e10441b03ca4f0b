/* What the two ways to read a container share: reader.c opens, scan.c goes front to back, access.c
 * reads at random. */
#ifndef PZI_CONTAINER_READER_H
#define PZI_CONTAINER_READER_H

#include "container/index.h"
#include "container/record.h"
#include "container/source.h"

struct pz_reader {
    pz_reader_options options;
    struct pzi_source source;
    struct pzi_metadata metadata; /* of the file */
    struct pzi_bytes body;        /* of the record at hand */
    struct pzi_bytes raw;         /* the segment or page at hand, decoded */

    /* Front to back. */
    pz_status failed;     /* the error that ended it */
    pz_diag failure;      /* and its message */
    struct pzi_head head; /* of the record that comes next, if has_head */
    uint64_t head_at;
    bool has_head;
    bool inside; /* a tensor */
    bool done;
    struct pzi_tensor tensor;
    uint64_t tensor_at;
    uint64_t segments, raw_bytes, stream_bytes; /* of the tensor, so far */
    struct pzi_index seen;
    struct pzi_bytes page; /* the stream of one, of a damaged segment */
    uint64_t lost_bytes;   /* of the last segment */

    /* Random access. */
    struct pzi_tensor *tensors;
    uint64_t count;
};

/* Names the place of the record at hand: the tensor, if there is one, and where in the file. */
void pzi_reader_place(const pz_reader *reader, uint64_t at, char text[128]);

/* Takes the head of the record at source.at into reader->head.  PZ_ERR_TRUNCATED, PZ_ERR_CHECK. */
pz_status pzi_reader_head(pz_reader *reader, pz_diag *diag);

/* Takes the body of that record into reader->body and, for other kinds than SEGM, compares its
 * check. */
pz_status pzi_reader_body(pz_reader *reader, pz_diag *diag);

/* Takes the body of META, whose head was taken. */
pz_status pzi_reader_meta(pz_reader *reader, pz_diag *diag);

/* Reads footer and index, for random access. */
pz_status pzi_reader_index(pz_reader *reader, pz_diag *diag);

#endif
