/* Random numbers for tests: splitmix64, the same on every machine and C library.  A test names its
 * seed in a failure, so that the failure can be repeated. */
#ifndef PZ_TEST_RNG_H
#define PZ_TEST_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
    uint64_t state; /* any seed will do */
};

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 0 .. n-1, for n > 0; the bias of the remainder does not matter to a test. */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
    return rng_next(rng) % n;
}

/* True once in n times. */
static inline bool rng_one_in(struct rng *rng, uint64_t n)
{
    return rng_below(rng, n) == 0;
}

static inline void rng_fill(struct rng *rng, void *dst, size_t bytes)
{
    uint8_t *byte = (uint8_t *)dst;

    for (size_t i = 0; i < bytes; i++)
        byte[i] = (uint8_t)(rng_next(rng) >> 56);
}

#endif
