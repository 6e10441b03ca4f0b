/* Random swapping, fetching, cancelling and freeing by many threads at once.  Whatever happens, a
 * transfer that ends well has brought the right bytes, budgets and queues hold, and in the end
 * nothing is left.  Sees public headers only: it is compiled a second time for ThreadSanitizer. */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <stdatomic.h>

#include "planezip/engine.h"
#include "support/engines.h"

enum {
    THREADS = 5,
    ROUNDS = 400,
    HELD = 6, /* tensors that a thread has at a time */
    MOST = 70000,
    SEGMENT = 8192,
    QUEUE = 150000,
    BUDGET = 200000
};

static uint8_t data[4][MOST];

struct user {
    pz_engine *engine;
    uint64_t seed;
    uint8_t to[HELD][MOST];
    unsigned wrong; /* what must not happen */
    unsigned right; /* tensors that came back */
};

/* A tensor that a thread has swapped out. */
struct held {
    pz_swap *swap;
    const uint8_t *data;
    size_t bytes;
    uint8_t *to;
};

static atomic_ulong ended;

static void count_end(void *user, uint64_t token, pz_direction direction, pz_status status)
{
    (void)user;
    (void)token;
    (void)direction;
    (void)status;
    atomic_fetch_add(&ended, 1);
}

static bool may_be(pz_status status, bool full)
{
    return status == PZ_OK || status == PZ_ERR_CANCELLED || (full && status == PZ_ERR_FULL);
}

static void swap_out(struct user *user, struct rng *rng, struct held *held)
{
    pz_swap_options options;
    pz_status status;

    held->data = data[rng_below(rng, 4)];
    held->bytes = (size_t)rng_below(rng, rng_one_in(rng, 2) ? MOST : 5000);
    options = engines_tensor(held->data, held->bytes, user->seed);
    options.measure = rng_one_in(rng, 10);
    status = pz_swap_out(user->engine, &options, !rng_one_in(rng, 3), &held->swap);
    user->wrong += status != PZ_OK && status != PZ_ERR_BUSY;
}

static void drop(struct held *held)
{
    pz_swap_free(held->swap);
    held->swap = NULL;
}

/* Brings it in; perhaps cancels; compares if it came. */
static void swap_in(struct user *user, struct rng *rng, struct held *held)
{
    pz_status status;

    memset(held->to, 0xA5, held->bytes);
    status = pz_swap_in(held->swap, held->to, !rng_one_in(rng, 3));
    if (status != PZ_OK) {
        user->wrong += status != PZ_ERR_BUSY && status != PZ_ERR_ARGUMENT && !may_be(status, true);
        return;
    }
    status = rng_one_in(rng, 4) ? pz_swap_cancel(held->swap) : pz_swap_wait(held->swap);
    user->wrong += !may_be(status, true) || !pz_swap_done(held->swap);
    if (status == PZ_OK) {
        user->wrong += memcmp(held->to, held->data, held->bytes) != 0;
        user->right++;
    }
}

static void act(struct user *user, struct rng *rng, struct held *held)
{
    if (held->swap == NULL)
        swap_out(user, rng, held);
    else if (rng_one_in(rng, 3))
        drop(held);
    else if (rng_one_in(rng, 6))
        user->wrong += !may_be(pz_swap_cancel(held->swap), true);
    else
        swap_in(user, rng, held);
}

static void *use(void *arg)
{
    struct user *const user = arg;
    struct rng rng = {user->seed};
    struct held held[HELD] = {{0}};
    pz_engine_stats stats = {.size = sizeof stats};

    for (unsigned i = 0; i < HELD; i++)
        held[i].to = user->to[i];
    for (unsigned i = 0; i < ROUNDS; i++) {
        act(user, &rng, &held[rng_below(&rng, HELD)]);
        if (rng_one_in(&rng, 20)) {
            user->wrong += pz_engine_get_stats(user->engine, &stats) != PZ_OK;
            user->wrong += stats.directions[PZ_OUT].queue_peak_bytes > QUEUE;
            user->wrong += stats.directions[PZ_IN].queue_peak_bytes > QUEUE;
        }
        if (rng_one_in(&rng, 100))
            user->wrong += pz_engine_wait(user->engine) != PZ_OK;
    }
    for (unsigned i = 0; i < HELD; i += 2) /* the engine frees the others */
        drop(&held[i]);
    for (unsigned i = 1; i < HELD; i += 2)
        if (held[i].swap != NULL)
            (void)pz_swap_cancel(held[i].swap);
    return NULL;
}

static void stress(const pz_engine_options *options)
{
    static struct user users[THREADS];
    pthread_t threads[THREADS];
    pz_engine *engine = engines_new(options);
    unsigned right = 0;
    pz_engine_stats stats;

    atomic_store(&ended, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        users[i].engine = engine;
        users[i].seed = i + 1;
        users[i].wrong = users[i].right = 0;
        CHECK(pthread_create(&threads[i], NULL, use, &users[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ_U64(users[i].wrong, 0);
        right += users[i].right;
    }
    CHECK(right > 10 * THREADS);
    stats = engines_stats(engine);
    CHECK_EQ_U64(stats.directions[PZ_OUT].transfers + stats.directions[PZ_IN].transfers,
                 atomic_load(&ended));
    CHECK_EQ_U64(stats.directions[PZ_OUT].queue_bytes, 0);
    CHECK_EQ_U64(stats.directions[PZ_IN].queue_bytes, 0);
    pz_engine_free(engine);
}

static pz_engine_options stress_options(void)
{
    return (pz_engine_options){.size = sizeof(pz_engine_options),
                               .segment_bytes = SEGMENT,
                               .queue_bytes = {QUEUE, QUEUE},
                               .done = count_end};
}

TEST(memory)
{
    pz_pool *pool = engines_pool(BUDGET, 4096);
    pz_engine_options options = stress_options();
    pz_pool_stats stats = {.size = sizeof stats};

    for (unsigned i = 0; i < 4; i++)
        engines_fill(i, data[i], MOST);
    options.tier = PZ_TIER_MEMORY;
    options.pool = pool;
    stress(&options);
    options.link_bps[PZ_OUT] = options.link_bps[PZ_IN] = 1e9;
    stress(&options);
    CHECK_EQ_U64(pz_pool_get_stats(pool, &stats), PZ_OK);
    CHECK_EQ_U64(stats.used_bytes, 0);
    CHECK(stats.peak_bytes <= BUDGET);
    CHECK(stats.refused > 0); /* or the budget was none */
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

TEST(disk)
{
    const char *const folder = engines_folder();
    const pz_threads_options two = {sizeof two, 2, NULL, NULL};
    pz_threads *threads = NULL;
    pz_engine_options options = stress_options();

    for (unsigned i = 0; i < 4; i++)
        engines_fill(i, data[i], MOST);
    CHECK_EQ_U64(pz_threads_new(&two, &threads), PZ_OK);
    options.tier = PZ_TIER_DISK;
    options.directory = folder;
    options.disk_bytes = 2 * BUDGET;
    options.cached = true;
    options.segment_bytes = 8 * SEGMENT;
    options.threads = threads;
    stress(&options);
    pz_threads_free(threads);
    engines_remove(folder);
}
