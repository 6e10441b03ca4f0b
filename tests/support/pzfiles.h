/* Small containers with everything in them, the same every time: for damage, and as golden files.
 * The numbers are made here, so that no change elsewhere changes them. */
#ifndef PZ_SUPPORT_PZFILES_H
#define PZ_SUPPORT_PZFILES_H

#include <planezip/planezip.h>

#include "memfile.h"

enum { PZFILES_TENSORS = 4 };

struct pzfiles_tensor {
    const char *name;
    pz_dtype dtype;
    const char *codec;
    uint32_t rank;
    uint64_t shape[3];
    bool open; /* the length is told at the end */
};

static const struct pzfiles_tensor pzfiles_tensors[PZFILES_TENSORS] = {
    {"block.0/weight", PZ_DTYPE_F32, "planezip", 2, {45, 60}, false},
    {"mask", PZ_DTYPE_BOOL, "planezip", 1, {150000}, true}, /* three pages */
    {"\xc3\xa9mpty", PZ_DTYPE_I64, "zbx", 3, {2, 0, 5}, false},
    {"scalar", PZ_DTYPE_BF16, "bpc", 0, {0}, false},
};

static inline uint8_t *pzfiles_raw(size_t index, uint64_t *bytes)
{
    const struct pzfiles_tensor *tensor = &pzfiles_tensors[index];
    uint32_t state = 12345;
    uint8_t *raw;

    pz_tensor_bytes(tensor->dtype, tensor->rank, tensor->shape, bytes);
    raw = malloc((size_t)*bytes + 1);
    for (uint64_t i = 0; i < *bytes; i++) {
        state = state * 1664525 + 1013904223;
        if (tensor->dtype == PZ_DTYPE_BOOL)
            raw[i] = i % 4096 == 77; /* few bytes, and not all zero */
        else
            raw[i] = (uint8_t)(i % 4 == 3 ? 0x3f : state >> (i % 4 == 2 ? 30 : 24));
    }
    return raw;
}

static inline void pzfiles_put(pz_writer *writer, size_t index)
{
    static const pz_metadata metadata = {"fortran_order", "1", 1};
    const struct pzfiles_tensor *from = &pzfiles_tensors[index];
    pz_tensor tensor = {.size = sizeof tensor,
                        .name = from->name,
                        .dtype = from->dtype,
                        .rank = from->rank,
                        .metadata = &metadata,
                        .metadata_count = index == 0};
    uint64_t shape[3], bytes;
    uint8_t *raw = pzfiles_raw(index, &bytes);

    memcpy(shape, from->shape, sizeof shape);
    if (from->open)
        shape[0] = PZ_UNKNOWN;
    tensor.shape = shape;
    pz_mode_named(from->codec, pz_profile_width(PZ_PROFILE_NATIVE, from->dtype), &tensor.mode);
    pz_writer_begin(writer, &tensor);
    pz_writer_data(writer, raw, (size_t)bytes);
    pz_writer_end(writer);
    free(raw);
}

/* A file of the tensors [0, count) in segments of a size. */
static inline pz_status pzfiles_write(struct memfile *file, size_t count, uint64_t segment_bytes)
{
    static const pz_metadata metadata[] = {{"source.format", "raw", 3},
                                           {"source.header", "\0head\xff", 6}};
    pz_writer *writer = memfile_writer(file, segment_bytes);
    pz_status status;

    if (writer == NULL)
        return PZ_ERR_MEMORY;
    status = pz_writer_metadata(writer, metadata, 2);
    for (size_t i = 0; i < count && status == PZ_OK; i++)
        pzfiles_put(writer, i);
    status = pz_writer_finish(writer);
    pz_writer_free(writer);
    return status;
}

#endif
