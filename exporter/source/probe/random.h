/* A small generator (splitmix64) for orders and jitter; nothing secret. */
#ifndef IE_SOURCE_PROBE_RANDOM_H
#define IE_SOURCE_PROBE_RANDOM_H

#include <stdint.h>

static inline uint64_t chase_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

#endif
