/* A small deterministic generator (xorshift64*, seeded through splitmix64). */
#ifndef IE_SIMNODE_MODEL_RNG_H
#define IE_SIMNODE_MODEL_RNG_H

#include <stdint.h>

static inline uint64_t mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

struct rng {
    uint64_t state;
};

static inline void rng_seed(struct rng *rng, uint64_t seed)
{
    rng->state = mix64(seed) | 1;
}

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t x = rng->state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    rng->state = x;
    return x * 0x2545f4914f6cdd1dULL;
}

/* Uniform in [0, n), n > 0; the bias is below n / 2^64. */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_next(rng) * n) >> 64);
}

/* True with this probability. */
static inline int rng_chance(struct rng *rng, double probability)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53 < probability;
}

#endif
