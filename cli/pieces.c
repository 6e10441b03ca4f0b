/* A file in pieces: see pieces.h. */
#define _POSIX_C_SOURCE 200809L
#include "pieces.h"

#include "errors.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(void *object)
{
    pieces *const self = object;

    if (self->content.data == NULL)
        close(self->descriptor);
    free(self->content.data);
    free(self->piece);
}

static int read_whole(pieces *self)
{
    const int status = input_read(self->name, &self->content);

    if (status != STATUS_OK)
        return status;
    self->bytes = self->content.bytes;
    own(self, release);
    return STATUS_OK;
}

int pieces_open(const char *name, bool is_whole, pieces **opened)
{
    pieces *const self = memory_keep(1, sizeof *self);
    struct stat status;

    *opened = self;
    self->name = name;
    if (is_whole || strcmp(name, "-") == 0)
        return read_whole(self);
    if (stat(name, &status) == 0 && !S_ISREG(status.st_mode))
        return read_whole(self);
    self->descriptor = open(name, O_RDONLY | O_CLOEXEC);
    if (self->descriptor < 0)
        return fail_errno(name, "open it");
    own(self, release);
    if (fstat(self->descriptor, &status) != 0)
        return fail_errno(name, "read it");
    self->bytes = (uint64_t)status.st_size;
    return STATUS_OK;
}

static int read_at(const pieces *self, uint64_t at, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        const ssize_t got =
            pread(self->descriptor, self->piece + done, bytes - done, (off_t)(at + done));

        if (got == 0)
            return fail(self->name, memory_text("byte %" PRIu64, at + done), "try again",
                        "it became shorter while it was read");
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return fail_errno(self->name, "read it");
    }
    return STATUS_OK;
}

int pieces_at(pieces *self, uint64_t at, size_t bytes, const unsigned char **data)
{
    if (self->content.data != NULL) {
        *data = self->content.data + at;
        return STATUS_OK;
    }
    if (bytes > self->room) {
        self->piece = memory_resize(self->piece, bytes, 1);
        self->room = bytes;
    }
    *data = self->piece;
    return read_at(self, at, bytes);
}
