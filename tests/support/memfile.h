/* A container in memory: functions for writers and readers, which can be made to give and take
 * little at a time, and to fail. */
#ifndef PZ_SUPPORT_MEMFILE_H
#define PZ_SUPPORT_MEMFILE_H

#include <planezip/planezip.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct memfile {
    uint8_t *data;
    size_t bytes;
    size_t capacity;
    size_t at;        /* of a reader that goes front to back */
    size_t piece;     /* bytes at most in one call; 0: no limit */
    size_t fail_at;   /* the call that would pass this byte fails; 0: none does */
    bool out_of_room; /* a writer takes nothing then, instead of failing */
};

static inline size_t memfile_piece(const struct memfile *file, size_t bytes)
{
    return file->piece != 0 && bytes > file->piece ? file->piece : bytes;
}

static inline pz_status memfile_write(void *user, const void *data, size_t bytes, size_t *done)
{
    struct memfile *file = user;
    const size_t some = memfile_piece(file, bytes);

    if (file->fail_at != 0 && file->bytes + some > file->fail_at)
        return file->out_of_room ? PZ_OK : PZ_ERR_IO;
    if (file->bytes + some > file->capacity) {
        file->capacity = 2 * file->capacity + some;
        file->data = realloc(file->data, file->capacity);
        if (file->data == NULL)
            return PZ_ERR_MEMORY;
    }
    memcpy(file->data + file->bytes, data, some);
    file->bytes += some;
    *done = some;
    return PZ_OK;
}

static inline pz_status memfile_read_at(void *user, uint64_t from, void *to, size_t bytes,
                                        size_t *got)
{
    const struct memfile *file = user;
    const uint64_t left = from < file->bytes ? file->bytes - from : 0;
    size_t some = memfile_piece(file, bytes);

    some = some < left ? some : (size_t)left;
    if (file->fail_at != 0 && from + some > file->fail_at)
        return PZ_ERR_IO;
    if (some != 0)
        memcpy(to, file->data + from, some);
    *got = some;
    return PZ_OK;
}

static inline pz_status memfile_read(void *user, void *to, size_t bytes, size_t *got)
{
    struct memfile *file = user;
    const pz_status status = memfile_read_at(file, file->at, to, bytes, got);

    if (status == PZ_OK)
        file->at += *got;
    return status;
}

static inline pz_writer *memfile_writer(struct memfile *file, uint64_t segment_bytes)
{
    const pz_writer_options options = {.size = sizeof options,
                                       .write = memfile_write,
                                       .user = file,
                                       .segment_bytes = segment_bytes};
    pz_writer *writer = NULL;

    return pz_writer_new(&options, &writer) == PZ_OK ? writer : NULL;
}

/* Front to back, with all checks. */
static inline pz_status memfile_scan(struct memfile *file, pz_reader **reader, pz_diag *diag)
{
    const pz_reader_options options = {
        .size = sizeof options, .read = memfile_read, .user = file, .check_pages = true};

    file->at = 0;
    return pz_reader_new(&options, reader, diag);
}

static inline pz_status memfile_open(struct memfile *file, pz_reader **reader, pz_diag *diag)
{
    const pz_reader_options options = {.size = sizeof options,
                                       .read_at = memfile_read_at,
                                       .user = file,
                                       .file_bytes = file->bytes};

    return pz_reader_new(&options, reader, diag);
}

#endif
