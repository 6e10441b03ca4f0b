/* The allocations of the library, counted, and failing when a test wants them to.  To be included
 * by one file of a program that is linked with --wrap for malloc, calloc and realloc; those of
 * jansson and of the C library do not come here. */
#ifndef PZ_TEST_ALLOCATIONS_H
#define PZ_TEST_ALLOCATIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Those that still succeed; below 0: all do.  Then one fails, or all do. */
static atomic_long allocations_left = -1;
static bool allocations_end;

/* Since the start, or since the test has set them to 0; bytes are those asked for, in all. */
static atomic_size_t allocations_made, allocations_bytes;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool allocations_fail(size_t bytes)
{
    allocations_made++;
    allocations_bytes += bytes;
    if (allocations_left < 0)
        return false;
    if (allocations_left == 0 && allocations_end)
        return true;
    return allocations_left-- == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return allocations_fail(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return allocations_fail(n * bytes) ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return allocations_fail(bytes) ? NULL : __real_realloc(old, bytes);
}

#endif
