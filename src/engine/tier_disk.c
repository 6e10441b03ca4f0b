/* The disk tier: a file without a name, cut into slots that hold a segment each, so that there is
 * no fragmentation, and what is read and written is aligned as O_DIRECT wants it.  Parts of a slot
 * that were never written take no room where the file system knows holes. */
#define _GNU_SOURCE /* O_TMPFILE, O_DIRECT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/grow.h"
#include "engine/tier.h"

enum { ALIGNMENT = 4096 };

struct disk_tier {
    struct pzi_tier tier;
    int file;
    atomic_bool is_direct;
    size_t slot_bytes;
    uint64_t most; /* slots that there may be */

    pthread_mutex_t lock; /* of all below */
    uint64_t slots;       /* that there are */
    uint64_t *free;       /* numbers of those of them that are free; has room for all */
    size_t free_count, free_room;
};

/* ---- The file -------------------------------------------------------------------------------- */

/* In a directory whose file system has no files without a name: with a name, for a moment. */
static int open_and_unlink(const char *directory)
{
    char path[PATH_MAX];
    int file;

    if (snprintf(path, sizeof path, "%s/planezip-XXXXXX", directory) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    return file;
}

static int open_unnamed(const char *directory)
{
#ifdef O_TMPFILE
    const int file = open(directory, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file;
#endif
    return open_and_unlink(directory);
}

/* False if the file system, or the system, cannot do it. */
static bool set_direct(int file, bool on)
{
#ifdef O_DIRECT
    const int flags = fcntl(file, F_GETFL);

    return flags >= 0 && fcntl(file, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
#else
    (void)file;
    return !on;
#endif
}

/* A file system may take the flag and then want another alignment than ours: no O_DIRECT then.  The
 * other thread may have come to the same end just before. */
static bool leave_direct(struct disk_tier *disk)
{
    if (!set_direct(disk->file, false))
        return false;
    atomic_store(&disk->is_direct, false);
    return true;
}

/* Bytes to read or write for so many of a segment. */
static size_t rounded(const struct disk_tier *disk, size_t bytes)
{
    return atomic_load(&disk->is_direct) ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : bytes;
}

/* One call at the bytes from `done` on of a segment at `at`; after one that did less than was asked
 * for, direct ones begin at a multiple of the alignment again. */
static ssize_t transfer(const struct disk_tier *disk, bool is_write, uint8_t *buffer, size_t bytes,
                        uint64_t at, size_t done)
{
    const size_t from = atomic_load(&disk->is_direct) ? done / ALIGNMENT * ALIGNMENT : done;
    const off_t position = (off_t)(at + from);
    const ssize_t got = is_write ? pwrite(disk->file, buffer + from, bytes - from, position)
                                 : pread(disk->file, buffer + from, bytes - from, position);

    return got > 0 ? (ssize_t)from + got : got;
}

static pz_status status_of(int system_error)
{
    return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG ? PZ_ERR_FULL
                                                                                     : PZ_ERR_IO;
}

/* Reads or writes `bytes` of a segment, whatever that takes.  errno: 0 if the file has ended. */
static pz_status transfer_all(struct disk_tier *disk, bool is_write, uint8_t *buffer, size_t bytes,
                              uint64_t at)
{
    size_t done = 0;

    while (done < bytes) {
        const bool was_direct = atomic_load(&disk->is_direct);
        ssize_t end;

        errno = 0;
        end = transfer(disk, is_write, buffer, rounded(disk, bytes), at, done);
        if (end > 0 && (size_t)end > done)
            done = (size_t)end;
        else if (end >= 0)
            return is_write ? PZ_ERR_IO : PZ_ERR_TRUNCATED;
        else if (errno != EINTR && !(errno == EINVAL && was_direct && leave_direct(disk)))
            return status_of(errno);
    }
    return PZ_OK;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

/* A free slot.  Room to give it back is made first, as that must not fail. */
static pz_status take_slot(struct disk_tier *disk, uint64_t *slot)
{
    pz_status status = PZ_OK;

    pthread_mutex_lock(&disk->lock);
    if (disk->free_count > 0) {
        *slot = disk->free[--disk->free_count];
    } else if (disk->slots == disk->most) {
        status = PZ_ERR_FULL;
    } else {
        uint64_t *const grown =
            pzi_grow(disk->free, &disk->free_room, (size_t)disk->slots + 1, sizeof disk->free[0]);

        status = grown != NULL ? PZ_OK : PZ_ERR_MEMORY;
        disk->free = grown != NULL ? grown : disk->free;
        if (grown != NULL)
            *slot = disk->slots++;
    }
    pthread_mutex_unlock(&disk->lock);
    return status;
}

static pz_status put(struct pzi_tier *tier, struct pzi_place *place, size_t i, uint8_t *buffer)
{
    struct disk_tier *const disk = (struct disk_tier *)tier;
    struct pzi_segment *const segment = &place->segments[i];
    uint64_t slot = 0;
    pz_status status = take_slot(disk, &slot);

    if (status != PZ_OK)
        return status;
    segment->at = slot * disk->slot_bytes;
    segment->check = XXH3_64bits(buffer, segment->bytes);
    memset(buffer + segment->bytes, 0,
           disk->slot_bytes - segment->bytes < ALIGNMENT ? disk->slot_bytes - segment->bytes
                                                         : ALIGNMENT);
    status = transfer_all(disk, true, buffer, segment->bytes, segment->at);
    place->system_error = status == PZ_OK ? 0 : errno;
    return status;
}

static pz_status get(struct pzi_tier *tier, struct pzi_place *place, size_t i, uint8_t *buffer)
{
    struct disk_tier *const disk = (struct disk_tier *)tier;
    const struct pzi_segment *const segment = &place->segments[i];
    const pz_status status = transfer_all(disk, false, buffer, segment->bytes, segment->at);

    place->system_error = status == PZ_OK ? 0 : errno;
    if (status != PZ_OK)
        return status;
    return XXH3_64bits(buffer, segment->bytes) == segment->check ? PZ_OK : PZ_ERR_CHECK;
}

static void drop(struct pzi_tier *tier, struct pzi_place *place)
{
    struct disk_tier *const disk = (struct disk_tier *)tier;

    pthread_mutex_lock(&disk->lock);
    for (size_t i = 0; i < place->count; i++) {
        if (place->segments[i].at != PZI_NOWHERE)
            disk->free[disk->free_count++] = place->segments[i].at / disk->slot_bytes;
        place->segments[i].at = PZI_NOWHERE;
    }
    pthread_mutex_unlock(&disk->lock);
}

/* ---- The tier -------------------------------------------------------------------------------- */

static void tell(struct pzi_tier *tier, pz_engine_stats *stats)
{
    struct disk_tier *const disk = (struct disk_tier *)tier;

    pthread_mutex_lock(&disk->lock);
    stats->disk_bytes = disk->slots * disk->slot_bytes;
    pthread_mutex_unlock(&disk->lock);
    stats->is_direct = atomic_load(&disk->is_direct);
}

static void close_disk(struct pzi_tier *tier)
{
    struct disk_tier *const disk = (struct disk_tier *)tier;

    close(disk->file);
    free(disk->free);
    free(disk);
}

pz_status pzi_tier_disk(const char *directory, uint64_t limit_bytes, size_t slot_bytes, bool cached,
                        struct pzi_tier **tier, int *system_error)
{
    const uint64_t most = sizeof(off_t) < 8 ? INT32_MAX : INT64_MAX;
    struct disk_tier *const disk = calloc(1, sizeof *disk);

    if (disk == NULL)
        return PZ_ERR_MEMORY;
    disk->tier = (struct pzi_tier){put, get, drop, tell, close_disk};
    disk->file = open_unnamed(directory);
    if (disk->file < 0) {
        *system_error = errno;
        free(disk);
        return PZ_ERR_IO;
    }
    atomic_store(&disk->is_direct, !cached && set_direct(disk->file, true));
    disk->slot_bytes = slot_bytes;
    disk->most = (limit_bytes != 0 && limit_bytes < most ? limit_bytes : most) / slot_bytes;
    pthread_mutex_init(&disk->lock, NULL);
    *tier = &disk->tier;
    return PZ_OK;
}
