/* Files in, piece by piece: see source.h. */
#define _XOPEN_SOURCE 700
#include "source.h"

#include "errors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { READ_MAX = 1 << 30 }; /* some systems refuse more at once */

static int open_named(source *self)
{
    self->descriptor = open(self->name, O_RDONLY | O_CLOEXEC);
    if (self->descriptor < 0)
        return fail_errno(self->name, "open it");
    return STATUS_OK;
}

int source_open(source *self, const char *name)
{
    static bool standard_used;
    int status = STATUS_OK;

    *self = (source){.name = name, .descriptor = STDIN_FILENO, .bytes = PZ_UNKNOWN};
    self->is_standard = strcmp(name, "-") == 0;
    if (self->is_standard && standard_used)
        return fail_usage("standard input can be read only once");
    if (self->is_standard)
        standard_used = true;
    else
        status = open_named(self);
    if (status != STATUS_OK)
        return status;
    if (fstat(self->descriptor, &self->status) == 0 && S_ISDIR(self->status.st_mode)) {
        source_close(self);
        errno = EISDIR;
        return fail_errno(name, "read it");
    }
    if (S_ISREG(self->status.st_mode) && !self->is_standard)
        self->bytes = (uint64_t)self->status.st_size;
    return STATUS_OK;
}

void source_close(source *self)
{
    if (!self->is_standard && self->descriptor >= 0)
        close(self->descriptor);
    self->descriptor = -1;
}

/* One call of the system. */
static pz_status read_once(source *self, void *to, size_t bytes, size_t *got)
{
    ssize_t some;

    do
        some = read(self->descriptor, to, bytes < READ_MAX ? bytes : READ_MAX);
    while (some < 0 && errno == EINTR);
    if (some < 0)
        self->error = errno;
    *got = some > 0 ? (size_t)some : 0;
    return some < 0 ? PZ_ERR_IO : PZ_OK;
}

pz_status source_read(void *user, void *to, size_t bytes, size_t *got)
{
    source *self = user;
    size_t left = self->start_bytes - self->start_used;

    if (left == 0)
        return read_once(self, to, bytes, got);
    *got = bytes < left ? bytes : left;
    memcpy(to, self->start + self->start_used, *got);
    self->start_used += *got;
    return PZ_OK;
}

pz_status source_read_at(void *user, uint64_t from, void *to, size_t bytes, size_t *got)
{
    source *self = user;
    ssize_t some;

    do
        some = pread(self->descriptor, to, bytes < READ_MAX ? bytes : READ_MAX, (off_t)from);
    while (some < 0 && errno == EINTR);
    if (some < 0)
        self->error = errno;
    *got = some > 0 ? (size_t)some : 0;
    return some < 0 ? PZ_ERR_IO : PZ_OK;
}

int source_fill(source *self, void *to, size_t bytes, size_t *got)
{
    size_t some = 1;

    for (*got = 0; *got < bytes && some > 0; *got += some)
        if (source_read(self, (char *)to + *got, bytes - *got, &some) != PZ_OK)
            return source_fail(self);
    return STATUS_OK;
}

/* What cannot be passed over at once is read and dropped. */
int source_skip(source *self, uint64_t bytes)
{
    char dropped[8192];
    size_t got = 1;

    while (bytes > 0 && got > 0) {
        const bool at_once = self->bytes != PZ_UNKNOWN && self->start_used == self->start_bytes;
        const size_t want = bytes < sizeof dropped ? (size_t)bytes : sizeof dropped;

        if (at_once && bytes <= self->bytes &&
            lseek(self->descriptor, (off_t)bytes, SEEK_CUR) != (off_t)-1)
            return STATUS_OK;
        if (source_fill(self, dropped, want, &got) != STATUS_OK)
            return STATUS_DATA;
        bytes -= got;
    }
    return STATUS_OK;
}

int source_peek(source *self)
{
    size_t some = 1;

    while (self->start_bytes < SOURCE_START && some > 0) {
        if (read_once(self, self->start + self->start_bytes, SOURCE_START - self->start_bytes,
                      &some) != PZ_OK)
            return source_fail(self);
        self->start_bytes += some;
    }
    return STATUS_OK;
}

int source_fail(const source *self)
{
    errno = self->error;
    return fail_errno(self->name, "read it");
}
