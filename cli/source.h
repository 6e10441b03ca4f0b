/* Files in, piece by piece: for what may be larger than memory, or a pipe. */
#ifndef CLI_SOURCE_H
#define CLI_SOURCE_H

#include <planezip/planezip.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { SOURCE_START = 16 };

typedef struct source {
    const char *name;
    int descriptor;
    bool is_standard;
    struct stat status;
    uint64_t bytes; /* of a regular file; PZ_UNKNOWN for all else */
    int error;      /* errno of the read that failed; 0: none did */
    unsigned char start[SOURCE_START];
    size_t start_bytes, start_used;
} source;

/* "-" is standard input, once.  Prints its errors, as source_fail() does. */
int source_open(source *self, const char *name);
void source_close(source *self);

/* The first bytes of the file, up to SOURCE_START, in self->start; they can be read again. */
int source_peek(source *self);

/* Reads until there are as many bytes as asked for, or the file ends. */
int source_fill(source *self, void *to, size_t bytes, size_t *got);

/* Goes past bytes, or to the end of the file if it comes first. */
int source_skip(source *self, uint64_t bytes);

/* For pz_reader_options; user is the source.  A failure is kept in error. */
pz_status source_read(void *user, void *to, size_t bytes, size_t *got);
pz_status source_read_at(void *user, uint64_t from, void *to, size_t bytes, size_t *got);

/* The message of a read that failed. */
int source_fail(const source *self);

#endif
