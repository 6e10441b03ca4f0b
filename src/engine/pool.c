/* The pool: a stack of free chunks per mapping, so that taking and giving touch no chunk.  The
 * oldest mapping with a free chunk serves, so that younger ones empty and can be trimmed. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "planezip/engine.h"

/* Behind every mapping there are GAP bytes that nobody uses, so that chunks of two of them never
 * stand together: a device's driver copies from one pinned mapping at a time. */
enum { CHUNK_BYTES = 1 << 16, MAPPINGS = 16, GAP = 4096 };
static const uint64_t mapping_least_bytes = UINT64_C(1) << 26;

struct mapping {
    struct mapping *next;
    uint64_t age; /* younger ones have more */
    uint8_t *memory;
    size_t bytes;
    bool is_pinned;
    size_t free_count;
    bool *is_out;    /* per chunk */
    uint32_t free[]; /* numbers of chunks */
};

struct pz_pool {
    pz_pool_options options;
    long process; /* that made it */
    pthread_mutex_t lock;
    struct mapping *mappings;
    struct mapping *available; /* none that is older has a free chunk; NULL: none at all has */
    struct mapping *recent;    /* to which a chunk was given back, or NULL */
    uint64_t ages;
    bool pin_failed, map_failed;
    pz_pool_stats stats;
};

/* ---- Mappings -------------------------------------------------------------------------------- */

static void warn(const pz_pool *pool, const char *text)
{
    if (pool->options.warn != NULL)
        pool->options.warn(pool->options.user, text);
}

static void warn_pin(pz_pool *pool, size_t bytes)
{
    char text[256];

    if (!pool->pin_failed) {
        snprintf(text, sizeof text,
                 "cannot pin %zu bytes of page-locked host memory (%" PRIu64 " of %" PRIu64
                 " are); %s; raise the limit of locked memory or lower the budget",
                 bytes, pool->stats.pinned_bytes, pool->stats.budget_bytes,
                 pool->options.pinned_only ? "tensors stay where they are"
                                           : "the rest is pageable, and slower");
        warn(pool, text);
    }
    pool->pin_failed = true;
}

static void warn_map(pz_pool *pool, size_t bytes)
{
    char text[256];

    if (!pool->map_failed) {
        snprintf(text, sizeof text,
                 "cannot get %zu bytes of host memory (%" PRIu64 " of a budget of %" PRIu64
                 " are there); lower the budget",
                 bytes, pool->stats.mapped_bytes, pool->stats.budget_bytes);
        warn(pool, text);
    }
    pool->map_failed = true;
}

/* Pins a new mapping if that is wanted and has not failed before: a system that refuses once is not
 * asked again and again.  False if there is no chunk without it. */
static bool pin(pz_pool *pool, struct mapping *mapping)
{
    if (pool->options.pin == NULL)
        return true;
    mapping->is_pinned = !pool->pin_failed && pool->options.pin(pool->options.user, mapping->memory,
                                                                mapping->bytes) == PZ_OK;
    if (!mapping->is_pinned)
        warn_pin(pool, mapping->bytes);
    return mapping->is_pinned || !pool->options.pinned_only;
}

static void unmap(pz_pool *pool, struct mapping *mapping)
{
    if (mapping->is_pinned && pool->options.unpin != NULL)
        pool->options.unpin(pool->options.user, mapping->memory, mapping->bytes);
    munmap(mapping->memory, mapping->bytes + GAP);
    free(mapping->is_out);
    free(mapping);
}

/* A mapping of a number of chunks, all of them free; NULL if the system has none. */
static struct mapping *map(size_t chunks, size_t chunk_bytes)
{
    struct mapping *const mapping =
        calloc(1, sizeof(struct mapping) + chunks * sizeof mapping->free[0]);
    bool *const is_out = calloc(chunks, sizeof *is_out);
    void *const memory = mmap(NULL, chunks * chunk_bytes + GAP, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapping == NULL || is_out == NULL || memory == MAP_FAILED) {
        if (memory != MAP_FAILED)
            munmap(memory, chunks * chunk_bytes + GAP);
        free(mapping);
        free(is_out);
        return NULL;
    }
    mapping->memory = memory;
    mapping->bytes = chunks * chunk_bytes;
    mapping->is_out = is_out;
    mapping->free_count = chunks;
    for (size_t i = 0; i < chunks; i++)
        mapping->free[i] = (uint32_t)(chunks - 1 - i);
    return mapping;
}

/* The next mapping, behind the others; NULL, and a status, if there is none. */
static struct mapping *grow(pz_pool *pool, pz_status *status)
{
    const uint64_t left = pool->stats.budget_bytes - pool->stats.mapped_bytes;
    const uint64_t bytes = pool->options.mapping_bytes < left ? pool->options.mapping_bytes : left;
    struct mapping *mapping, **end = &pool->mappings;

    *status = left == 0 ? PZ_ERR_FULL : PZ_ERR_MEMORY;
    if (left == 0 || (pool->pin_failed && pool->options.pinned_only))
        return NULL;
    mapping = map((size_t)(bytes / pool->stats.chunk_bytes), pool->stats.chunk_bytes);
    if (mapping == NULL) {
        warn_map(pool, (size_t)bytes);
        return NULL;
    }
    if (!pin(pool, mapping)) {
        unmap(pool, mapping);
        return NULL;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = mapping;
    mapping->age = pool->ages++;
    if (pool->available == NULL)
        pool->available = mapping;
    pool->stats.mappings++;
    pool->stats.mapped_bytes += mapping->bytes;
    pool->stats.pinned_bytes += mapping->is_pinned ? mapping->bytes : 0;
    return mapping;
}

static void drop(pz_pool *pool, struct mapping **link)
{
    struct mapping *const mapping = *link;

    *link = mapping->next;
    pool->available = pool->mappings;
    pool->recent = NULL;
    pool->stats.mappings--;
    pool->stats.mapped_bytes -= mapping->bytes;
    pool->stats.pinned_bytes -= mapping->is_pinned ? mapping->bytes : 0;
    unmap(pool, mapping);
}

/* ---- A pool ---------------------------------------------------------------------------------- */

/* Whole chunks, as many as a mapping can count; false if that is none. */
static bool set_sizes(pz_pool_options *options, pz_pool_stats *stats)
{
    const uint64_t most = SIZE_MAX / 4;
    const size_t chunk = options->chunk_bytes != 0 ? options->chunk_bytes : CHUNK_BYTES;
    uint64_t mapping = options->mapping_bytes;

    if (chunk % PZ_CHUNK_BYTES != 0 || chunk > most || options->budget_bytes < chunk ||
        options->budget_bytes > most)
        return false;
    stats->chunk_bytes = chunk;
    stats->budget_bytes = options->budget_bytes / chunk * chunk;
    if (mapping == 0)
        mapping = options->budget_bytes / MAPPINGS > mapping_least_bytes
                      ? options->budget_bytes / MAPPINGS
                      : mapping_least_bytes;
    mapping = mapping < chunk ? chunk : mapping / chunk * chunk;
    options->mapping_bytes = mapping / chunk > UINT32_MAX ? (uint64_t)UINT32_MAX * chunk : mapping;
    return true;
}

static pz_status map_all(pz_pool *pool)
{
    pz_status status = PZ_OK;

    while (grow(pool, &status) != NULL)
        continue;
    return status == PZ_ERR_FULL ? PZ_OK : status;
}

pz_status pz_pool_new(const pz_pool_options *options, pz_pool **pool)
{
    pz_pool *made;
    pz_status status = PZ_OK;

    if (options == NULL || options->size != sizeof *options || pool == NULL)
        return PZ_ERR_ARGUMENT;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return PZ_ERR_MEMORY;
    made->options = *options;
    made->process = (long)getpid();
    made->stats.size = sizeof made->stats;
    pthread_mutex_init(&made->lock, NULL);
    if (!set_sizes(&made->options, &made->stats))
        status = PZ_ERR_ARGUMENT;
    else if (options->all_at_once)
        status = map_all(made);
    if (status == PZ_OK)
        *pool = made;
    else
        (void)pz_pool_free(made);
    return status;
}

static void warn_leak(const pz_pool *pool)
{
    char text[128];

    snprintf(text, sizeof text, "the pool is not freed: %" PRIu64 " chunks of %zu bytes are out",
             pool->stats.used_bytes / pool->stats.chunk_bytes, pool->stats.chunk_bytes);
    warn(pool, text);
}

/* In a child process the chunks that are out are the parent's affair, and so are pins. */
pz_status pz_pool_free(pz_pool *pool)
{
    if (pool == NULL)
        return PZ_OK;
    if (pool->process != (long)getpid()) {
        pool->options.unpin = NULL;
    } else if (pool->stats.used_bytes != 0) {
        warn_leak(pool);
        return PZ_ERR_BUSY;
    } else {
        pthread_mutex_destroy(&pool->lock);
    }
    while (pool->mappings != NULL)
        drop(pool, &pool->mappings);
    free(pool);
    return PZ_OK;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static void *take(pz_pool *pool, struct mapping *mapping)
{
    const uint32_t chunk = mapping->free[--mapping->free_count];

    mapping->is_out[chunk] = true;
    pool->stats.taken++;
    pool->stats.used_bytes += pool->stats.chunk_bytes;
    if (pool->stats.used_bytes > pool->stats.peak_bytes)
        pool->stats.peak_bytes = pool->stats.used_bytes;
    return mapping->memory + chunk * pool->stats.chunk_bytes;
}

pz_status pz_pool_take(pz_pool *pool, void **chunk)
{
    struct mapping *mapping;
    pz_status status = PZ_OK;

    if (pool == NULL || chunk == NULL || pool->process != (long)getpid())
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&pool->lock);
    while (pool->available != NULL && pool->available->free_count == 0)
        pool->available = pool->available->next;
    mapping = pool->available != NULL ? pool->available : grow(pool, &status);
    if (mapping != NULL)
        *chunk = take(pool, mapping);
    else
        pool->stats.refused++;
    pthread_mutex_unlock(&pool->lock);
    return mapping != NULL ? PZ_OK : status;
}

static bool has(const struct mapping *mapping, const uint8_t *chunk)
{
    return (uintptr_t)chunk >= (uintptr_t)mapping->memory &&
           (uintptr_t)chunk - (uintptr_t)mapping->memory < mapping->bytes;
}

/* Chunks that are given back one after the other lie in one mapping as a rule. */
static struct mapping *find(const pz_pool *pool, const uint8_t *chunk)
{
    struct mapping *mapping = pool->mappings;

    if (pool->recent != NULL && has(pool->recent, chunk))
        return pool->recent;
    while (mapping != NULL && !has(mapping, chunk))
        mapping = mapping->next;
    return mapping;
}

static pz_status give(pz_pool *pool, const uint8_t *chunk)
{
    const size_t chunk_bytes = pool->stats.chunk_bytes;
    struct mapping *const mapping = find(pool, chunk);
    size_t offset;

    if (mapping == NULL)
        return PZ_ERR_ARGUMENT;
    offset = (size_t)(chunk - mapping->memory);
    if (offset % chunk_bytes != 0 || !mapping->is_out[offset / chunk_bytes])
        return PZ_ERR_ARGUMENT;
    mapping->is_out[offset / chunk_bytes] = false;
    mapping->free[mapping->free_count++] = (uint32_t)(offset / chunk_bytes);
    pool->stats.used_bytes -= chunk_bytes;
    pool->recent = mapping;
    if (pool->available == NULL || mapping->age < pool->available->age)
        pool->available = mapping;
    return PZ_OK;
}

pz_status pz_pool_give(pz_pool *pool, void *chunk)
{
    pz_status status;

    if (pool == NULL || chunk == NULL || pool->process != (long)getpid())
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&pool->lock);
    status = give(pool, chunk);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

void pz_pool_trim(pz_pool *pool)
{
    struct mapping **link;

    if (pool == NULL || pool->process != (long)getpid())
        return;
    pthread_mutex_lock(&pool->lock);
    link = &pool->mappings;
    while (*link != NULL) {
        if ((*link)->free_count * pool->stats.chunk_bytes == (*link)->bytes)
            drop(pool, link);
        else
            link = &(*link)->next;
    }
    pthread_mutex_unlock(&pool->lock);
}

pz_status pz_pool_get_stats(pz_pool *pool, pz_pool_stats *stats)
{
    if (pool == NULL || stats == NULL || stats->size != sizeof *stats ||
        pool->process != (long)getpid())
        return PZ_ERR_ARGUMENT;
    pthread_mutex_lock(&pool->lock);
    *stats = pool->stats;
    pthread_mutex_unlock(&pool->lock);
    return PZ_OK;
}
