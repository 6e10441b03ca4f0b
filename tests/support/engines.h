/* Pools, engines and tensors for their tests.  Functions that fail report a CHECK and return NULL,
 * so only the test's own thread may call them. */
#ifndef PZ_TEST_ENGINES_H
#define PZ_TEST_ENGINES_H

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "planezip/engine.h"
#include "support/datagen.h"
#include "support/test.h"

/* An empty folder in the current one, for a disk tier. */
static inline const char *engines_folder(void)
{
    static char path[] = "engine-XXXXXX";

    memcpy(path, "engine-XXXXXX", sizeof path);
    CHECK(mkdtemp(path) != NULL);
    return path;
}

/* It must be as it was: nothing may have been left behind. */
static inline void engines_remove(const char *folder)
{
    CHECK(rmdir(folder) == 0);
}

static inline pz_pool *engines_pool(uint64_t budget_bytes, size_t chunk_bytes)
{
    const pz_pool_options options = {
        .size = sizeof options, .budget_bytes = budget_bytes, .chunk_bytes = chunk_bytes};
    pz_pool *pool = NULL;

    CHECK_EQ_U64(pz_pool_new(&options, &pool), PZ_OK);
    return pool;
}

static inline uint64_t engines_used(pz_pool *pool)
{
    pz_pool_stats stats = {.size = sizeof stats};

    CHECK_EQ_U64(pz_pool_get_stats(pool, &stats), PZ_OK);
    return stats.used_bytes;
}

static inline pz_engine *engines_new(const pz_engine_options *options)
{
    pz_engine *engine = NULL;
    pz_diag diag = {0};

    if (!CHECK(pz_engine_new(options, &engine, &diag) == PZ_OK))
        CHECK_STR(diag.text, "");
    return engine;
}

static inline pz_engine_stats engines_stats(pz_engine *engine)
{
    pz_engine_stats stats = {.size = sizeof stats};

    CHECK_EQ_U64(pz_engine_get_stats(engine, &stats), PZ_OK);
    return stats;
}

static inline pz_swap_stats engines_swap_stats(pz_swap *swap)
{
    pz_swap_stats stats = {.size = sizeof stats};

    CHECK_EQ_U64(pz_swap_get_stats(swap, &stats), PZ_OK);
    return stats;
}

static inline pz_swap_options engines_tensor(const void *data, size_t bytes, uint64_t token)
{
    return (pz_swap_options){.size = sizeof(pz_swap_options),
                             .data = data,
                             .bytes = bytes,
                             .dtype = PZ_DTYPE_BF16,
                             .token = token};
}

static inline pz_swap *engines_out(pz_engine *engine, const void *data, size_t bytes,
                                   uint64_t token)
{
    const pz_swap_options options = engines_tensor(data, bytes, token);
    pz_swap *swap = NULL;

    CHECK_EQ_U64(pz_swap_out(engine, &options, true, &swap), PZ_OK);
    return swap;
}

/* Brings a tensor in, waits, and compares. */
static inline void engines_check_in(pz_swap *swap, const void *data, size_t bytes)
{
    uint8_t *const to = malloc(bytes + 1);

    CHECK_EQ_U64(pz_swap_in(swap, to, true), PZ_OK);
    CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
    CHECK_MEM(to, (const uint8_t *)data, bytes);
    free(to);
}

/* bf16 symbols that compress, and others that do not, in turn. */
static inline void engines_fill(uint64_t seed, uint8_t *data, size_t bytes)
{
    struct rng rng = {seed};

    datagen_fill(&rng, seed % 4 == 3 ? DATAGEN_RANDOM : DATAGEN_FLOATS, 16, data, bytes);
}

/* For options.done: writes down what has ended, and stands still at the tensor with token 0 while
 * the gate is shut. */
enum { ENGINES_LOG = 256 };

struct engines_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_shut;
    unsigned at_gate; /* callbacks that stand still */
    size_t count;
    struct {
        uint64_t token;
        pz_direction direction;
        pz_status status;
    } log[ENGINES_LOG];
};

#define ENGINES_GATE                                                                            \
    {                                                                                           \
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .is_shut = true \
    }

static inline void engines_done(void *user, uint64_t token, pz_direction direction,
                                pz_status status)
{
    struct engines_gate *const gate = user;

    pthread_mutex_lock(&gate->lock);
    if (gate->count < ENGINES_LOG) {
        gate->log[gate->count].token = token;
        gate->log[gate->count].direction = direction;
        gate->log[gate->count].status = status;
    }
    gate->count++;
    gate->at_gate++;
    pthread_cond_broadcast(&gate->changed);
    while (gate->is_shut && token == 0)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->at_gate--;
    pthread_mutex_unlock(&gate->lock);
}

/* Waits until a callback stands at the gate. */
static inline void engines_await_gate(struct engines_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->at_gate == 0)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static inline void engines_open_gate(struct engines_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_shut = false;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

#endif
