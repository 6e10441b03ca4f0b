/* See guard.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "support/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void guard_drop(struct guard *guard)
{
    if (guard->pages != NULL)
        munmap(guard->pages - page_bytes(), guard->bytes + 2 * page_bytes());
    *guard = (struct guard){NULL, 0};
}

/* At least one page, and room to grow, so that few calls of the system are made. */
static void make_room(struct guard *guard, size_t bytes)
{
    const size_t page = page_bytes(), wanted = (2 * bytes / page + 1) * page;
    uint8_t *all;

    guard_drop(guard);
    all = mmap(NULL, wanted + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, wanted, PROT_READ | PROT_WRITE) != 0) {
        perror("guard");
        exit(2);
    }
    *guard = (struct guard){all + page, wanted};
}

uint8_t *guard_place(struct guard *guard, enum guard_side side, size_t bytes)
{
    uint8_t *place;

    if (guard->pages == NULL || bytes > guard->bytes)
        make_room(guard, bytes);
    place = guard->pages + (side == GUARD_BACK ? guard->bytes - bytes : 0);
    /* No result of an earlier call may pass for one of this call. */
    memset(place, 0xa5, bytes);
    return place;
}

uint8_t *guard_copy(struct guard *guard, enum guard_side side, const void *content, size_t bytes)
{
    uint8_t *const place = guard_place(guard, side, bytes);

    if (bytes != 0)
        memcpy(place, content, bytes);
    return place;
}
