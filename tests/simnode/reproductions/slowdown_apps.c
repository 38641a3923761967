/*
 * The applications of `reproduce slowdown`, with their classes. Both were written down before any
 * estimate was looked at; the page measures the classes again, alone.
 */
#include <stdio.h>

#include "tests/simnode/model/rng.h"
#include "tests/simnode/reproductions/slowdown.h"

#define LOW INTENSITY_LOW
#define MEDIUM INTENSITY_MEDIUM
#define HIGH INTENSITY_HIGH
#define FLAT SENSITIVITY_LOW
#define STEEP SENSITIVITY_HIGH
#define RANDOM(bytes, hot, share, gap, rest)                                                       \
    "{\"kind\":\"random\",\"bytes\":" #bytes ",\"hot_bytes\":" #hot ",\"hot_share\":" #share       \
    ",\"instructions_per_access\":" #gap rest "}"
#define UNIFORM(bytes, gap, rest)                                                                  \
    "{\"kind\":\"random\",\"bytes\":" #bytes ",\"instructions_per_access\":" #gap rest "}"
#define STREAM(streams, gap, rest)                                                                 \
    "{\"kind\":\"stream\",\"bytes\":268435456,\"streams\":" #streams                               \
    ",\"instructions_per_access\":" #gap rest "}"
#define DEPENDENT(share) ",\"dependence\":" #share
#define STORES(share) ",\"store_share\":" #share

const struct slow_app slow_apps[] = {
    /* Hardly any misses, and the cache's size does not matter: hot sets within the L1. */
    {"ray", LOW, FLAT, RANDOM(16777216, 49152, 0.998, 12, "")},
    {"sparse", LOW, FLAT, RANDOM(67108864, 49152, 0.99, 12, DEPENDENT(0.2))},
    {"drip", LOW, FLAT, STREAM(1, 1500, "")},
    {"lists", LOW, FLAT, RANDOM(33554432, 40960, 0.985, 15, DEPENDENT(0.5))},
    {"rules", LOW, FLAT, RANDOM(134217728, 57344, 0.98, 14, STORES(0.2))},
    /* Hardly any misses as long as a hot set fits into the last-level cache. */
    {"table", LOW, STEEP, RANDOM(16777216, 786432, 0.99, 30, "")},
    {"index", LOW, STEEP, RANDOM(25165824, 1048576, 0.985, 25, DEPENDENT(0.2))},
    {"btree", LOW, STEEP, RANDOM(12582912, 1310720, 0.98, 40, DEPENDENT(0.7))},
    {"parse", LOW, STEEP, RANDOM(8388608, 1048576, 0.975, 50, DEPENDENT(0.4) STORES(0.1))},
    {"tree", LOW, STEEP, RANDOM(33554432, 917504, 0.97, 60, DEPENDENT(0.9))},
    /* Some misses. */
    {"wave", MEDIUM, FLAT, STREAM(4, 150, "")},
    {"lattice", MEDIUM, FLAT, STREAM(8, 250, STORES(0.3))},
    {"graph", MEDIUM, FLAT, RANDOM(268435456, 49152, 0.8, 30, DEPENDENT(0.3))},
    {"scan", MEDIUM, FLAT, STREAM(1, 110, "")},
    {"join", MEDIUM, FLAT, RANDOM(134217728, 65536, 0.9, 20, DEPENDENT(0.1) STORES(0.2))},
    /* Some misses, many more with less cache. */
    {"solver", MEDIUM, STEEP, UNIFORM(3670016, 60, "")},
    {"deal", MEDIUM, STEEP, RANDOM(6291456, 1048576, 0.8, 35, DEPENDENT(0.2))},
    {"zip", MEDIUM, STEEP, RANDOM(8388608, 1572864, 0.85, 40, DEPENDENT(0.3))},
    {"sort", MEDIUM, STEEP, UNIFORM(2883584, 45, STORES(0.3))},
    {"flow", MEDIUM, STEEP, RANDOM(16777216, 1310720, 0.75, 45, DEPENDENT(0.6))},
    /* Many misses. */
    {"quantum", HIGH, FLAT, STREAM(1, 40, "")},
    {"fluid", HIGH, FLAT, STREAM(12, 45, STORES(0.4))},
    {"network", HIGH, FLAT, RANDOM(536870912, 49152, 0.3, 25, DEPENDENT(0.4))},
    {"colour", HIGH, FLAT, RANDOM(268435456, 32768, 0.5, 30, "")},
    {"fields", HIGH, FLAT, STREAM(4, 60, ",\"stride_bytes\":128")},
    /* Many misses, and more with less cache. */
    {"simplex", HIGH, STEEP, UNIFORM(5242880, 30, "")},
    {"routes", HIGH, STEEP, RANDOM(16777216, 1572864, 0.5, 22, DEPENDENT(0.3))},
    {"events", HIGH, STEEP, UNIFORM(4194304, 28, DEPENDENT(0.5))},
    {"fourier", HIGH, STEEP, UNIFORM(4194304, 26, STORES(0.3))},
};
const size_t slow_n_apps = sizeof(slow_apps) / sizeof(slow_apps[0]);

void slow_draw(uint64_t seed, unsigned index, unsigned cores, size_t apps[SLOW_MAX_CORES])
{
    struct rng rng;
    unsigned high = index % (cores + 1), n = 0, of_high = 0;
    size_t all_high = 0;

    for (size_t i = 0; i < slow_n_apps; i++)
        all_high += slow_apps[i].intensity == HIGH;
    if (high > all_high)
        high = (unsigned)all_high;
    rng_seed(&rng, mix64(seed ^ (uint64_t)index << 32 ^ cores));
    while (n < cores) {
        size_t app = (size_t)rng_below(&rng, slow_n_apps);
        bool is_high = slow_apps[app].intensity == HIGH, taken = false;

        for (unsigned i = 0; i < n; i++)
            taken = taken || apps[i] == app;
        if (taken || (is_high ? of_high == high : n - of_high == cores - high))
            continue;
        of_high += is_high;
        apps[n++] = app;
    }
}
