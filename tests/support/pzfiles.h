/* Small containers with everything in them, the same every time: for damage, and as golden files.
 * The numbers are made here, so that no change elsewhere changes them. */
#ifndef PZ_SUPPORT_PZFILES_H
#define PZ_SUPPORT_PZFILES_H

#include <planezip/planezip.h>

#include "memfile.h"

enum { PZFILES_FORMATS = 2, PZFILES_TENSORS = 4 };

enum pzfiles_data { PZFILES_FLOATS, PZFILES_MASK, PZFILES_STEPS, PZFILES_ROUNDED };

struct pzfiles_tensor {
    const char *name;
    pz_dtype dtype;
    const char *codec;
    uint32_t rank;
    uint64_t shape[3];
    enum pzfiles_data data;
    bool open; /* the length is told at the end */
};

/* Of stream formats 1 and 2; the second tensors have three pages.  Those of format 2 have chunks of
 * all modes, and one that is stored raw. */
static const struct pzfiles_tensor pzfiles_tensors[PZFILES_FORMATS][PZFILES_TENSORS] = {
    {
        {"block.0/weight", PZ_DTYPE_F32, "planezip", 2, {45, 60}, PZFILES_FLOATS, false},
        {"mask", PZ_DTYPE_BOOL, "planezip", 1, {150000}, PZFILES_MASK, true},
        {"\xc3\xa9mpty", PZ_DTYPE_I64, "zbx", 3, {2, 0, 5}, PZFILES_FLOATS, false},
        {"scalar", PZ_DTYPE_BF16, "bpc", 0, {0}, PZFILES_FLOATS, false},
    },
    {
        {"block.0/weight", PZ_DTYPE_F32, "planezip2-fast", 2, {45, 30}, PZFILES_FLOATS, false},
        {"mask", PZ_DTYPE_BOOL, "planezip2", 1, {150000}, PZFILES_MASK, true},
        {"steps", PZ_DTYPE_I64, "planezip2", 3, {2, 10, 60}, PZFILES_STEPS, false},
        {"rounded", PZ_DTYPE_F32, "planezip2", 1, {100}, PZFILES_ROUNDED, false},
    },
};

/* Byte i of a tensor, with a random number. */
static inline uint8_t pzfiles_byte(enum pzfiles_data data, uint64_t i, uint32_t random)
{
    switch (data) {
    case PZFILES_MASK:
        return i % 4096 == 77; /* few bytes, and not all zero */
    case PZFILES_STEPS:
        /* A chunk of noise among them. */
        return (uint8_t)(i / 4096 == 1 ? random >> 24 : i / 8 * 1000 >> 8 * (i % 8));
    case PZFILES_ROUNDED:
        if (i % 4 < 2)
            return 0;
        break;
    default:
        break;
    }
    return (uint8_t)(i % 4 == 3 ? 0x3f : random >> (i % 4 == 2 ? 30 : 24));
}

static inline uint8_t *pzfiles_raw(unsigned format, size_t index, uint64_t *bytes)
{
    const struct pzfiles_tensor *tensor = &pzfiles_tensors[format - 1][index];
    uint32_t state = 12345;
    uint8_t *raw;

    pz_tensor_bytes(tensor->dtype, tensor->rank, tensor->shape, bytes);
    raw = malloc((size_t)*bytes + 1);
    for (uint64_t i = 0; i < *bytes; i++) {
        state = state * 1664525 + 1013904223;
        raw[i] = pzfiles_byte(tensor->data, i, state);
    }
    return raw;
}

static inline void pzfiles_put(pz_writer *writer, unsigned format, size_t index)
{
    static const pz_metadata metadata = {"fortran_order", "1", 1};
    const struct pzfiles_tensor *from = &pzfiles_tensors[format - 1][index];
    pz_tensor tensor = {.size = sizeof tensor,
                        .name = from->name,
                        .dtype = from->dtype,
                        .rank = from->rank,
                        .metadata = &metadata,
                        .metadata_count = index == 0};
    uint64_t shape[3], bytes;
    uint8_t *raw = pzfiles_raw(format, index, &bytes);

    memcpy(shape, from->shape, sizeof shape);
    if (from->open)
        shape[0] = PZ_UNKNOWN;
    tensor.shape = shape;
    pz_mode_of(from->codec, PZ_PROFILE_NATIVE, from->dtype, &tensor.mode);
    pz_writer_begin(writer, &tensor);
    pz_writer_data(writer, raw, (size_t)bytes);
    pz_writer_end(writer);
    free(raw);
}

/* All that a new writer is to write: the tensors [0, count) of a stream format. */
static inline pz_status pzfiles_fill(pz_writer *writer, unsigned format, size_t count)
{
    static const pz_metadata metadata[] = {{"source.format", "raw", 3},
                                           {"source.header", "\0head\xff", 6}};
    pz_status status = pz_writer_metadata(writer, metadata, 2);

    for (size_t i = 0; i < count && status == PZ_OK; i++)
        pzfiles_put(writer, format, i);
    return pz_writer_finish(writer);
}

/* The file of it in segments of a size. */
static inline pz_status pzfiles_write(struct memfile *file, unsigned format, size_t count,
                                      uint64_t segment_bytes)
{
    pz_writer *writer = memfile_writer(file, segment_bytes);
    pz_status status;

    if (writer == NULL)
        return PZ_ERR_MEMORY;
    status = pzfiles_fill(writer, format, count);
    pz_writer_free(writer);
    return status;
}

#endif
