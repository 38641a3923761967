/*
 * The applications of `reproduce slowdown`, with their classes. Both were written down before any
 * estimate was looked at; the page measures the classes again, alone.
 */
#include <stdio.h>
#include <string.h>

#include "tests/research/slowdown.h"
#include "tests/simnode/model/rng.h"

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
#define STEADY(called, intensity, sensitivity, workload)                                           \
    {                                                                                              \
        called, intensity, sensitivity, workload, NULL, 0, 0                                       \
    }
#define BURSTS(called, intensity, sensitivity, burst, burst_length, quiet_length)                  \
    {                                                                                              \
        called, intensity, sensitivity, burst,                                                     \
            "{\"kind\":\"compute\",\"instructions_per_access\":12}", burst_length, quiet_length    \
    }

const struct slow_app slow_apps[] = {
    /* Hardly any misses, and the cache's size does not matter: hot sets within the L1. */
    STEADY("ray", LOW, FLAT, RANDOM(16777216, 49152, 0.998, 12, "")),
    STEADY("sparse", LOW, FLAT, RANDOM(67108864, 49152, 0.99, 12, DEPENDENT(0.2))),
    STEADY("drip", LOW, FLAT, STREAM(1, 1500, "")),
    STEADY("lists", LOW, FLAT, RANDOM(33554432, 40960, 0.985, 15, DEPENDENT(0.5))),
    STEADY("rules", LOW, FLAT, RANDOM(134217728, 57344, 0.98, 14, STORES(0.2))),
    /* Hardly any misses as long as a hot set fits into the last-level cache. */
    STEADY("table", LOW, STEEP, RANDOM(16777216, 786432, 0.99, 30, "")),
    STEADY("index", LOW, STEEP, RANDOM(25165824, 1048576, 0.985, 25, DEPENDENT(0.2))),
    STEADY("btree", LOW, STEEP, RANDOM(12582912, 1310720, 0.98, 40, DEPENDENT(0.7))),
    STEADY("parse", LOW, STEEP, RANDOM(8388608, 1048576, 0.975, 50, DEPENDENT(0.4) STORES(0.1))),
    STEADY("tree", LOW, STEEP, RANDOM(33554432, 917504, 0.97, 60, DEPENDENT(0.9))),
    /* Some misses. */
    STEADY("wave", MEDIUM, FLAT, STREAM(4, 150, "")),
    STEADY("lattice", MEDIUM, FLAT, STREAM(8, 250, STORES(0.3))),
    STEADY("graph", MEDIUM, FLAT, RANDOM(268435456, 49152, 0.8, 30, DEPENDENT(0.3))),
    STEADY("scan", MEDIUM, FLAT, STREAM(1, 110, "")),
    STEADY("join", MEDIUM, FLAT, RANDOM(134217728, 65536, 0.9, 20, DEPENDENT(0.1) STORES(0.2))),
    /* Some misses, many more with less cache. */
    STEADY("solver", MEDIUM, STEEP, UNIFORM(3670016, 60, "")),
    STEADY("deal", MEDIUM, STEEP, RANDOM(6291456, 1048576, 0.8, 35, DEPENDENT(0.2))),
    STEADY("zip", MEDIUM, STEEP, RANDOM(8388608, 1572864, 0.85, 40, DEPENDENT(0.3))),
    STEADY("sort", MEDIUM, STEEP, UNIFORM(2883584, 45, STORES(0.3))),
    STEADY("flow", MEDIUM, STEEP, RANDOM(16777216, 1310720, 0.75, 45, DEPENDENT(0.6))),
    /* Many misses. */
    STEADY("quantum", HIGH, FLAT, STREAM(1, 40, "")),
    STEADY("fluid", HIGH, FLAT, STREAM(12, 45, STORES(0.4))),
    STEADY("network", HIGH, FLAT, RANDOM(536870912, 49152, 0.3, 25, DEPENDENT(0.4))),
    STEADY("colour", HIGH, FLAT, RANDOM(268435456, 32768, 0.5, 30, "")),
    STEADY("fields", HIGH, FLAT, STREAM(4, 60, ",\"stride_bytes\":128")),
    /* Many misses, and more with less cache. */
    STEADY("simplex", HIGH, STEEP, UNIFORM(5242880, 30, "")),
    STEADY("routes", HIGH, STEEP, RANDOM(16777216, 1572864, 0.5, 22, DEPENDENT(0.3))),
    STEADY("events", HIGH, STEEP, UNIFORM(4194304, 28, DEPENDENT(0.5))),
    STEADY("fourier", HIGH, STEEP, UNIFORM(4194304, 26, STORES(0.3))),
    /* Bursts shorter than an epoch of 10,000 cycles, between long stretches in the own caches: what
     * traces of real, lightly loading programs look like. In its own epochs such an application
     * gets through its bursts faster, and so has more of them there. The stretches are as long as
     * makes the load light. */
    BURSTS("glance", LOW, FLAT, RANDOM(33554432, 49152, 0.7, 6, ""), 900, 120000),
    BURSTS("flush", LOW, FLAT, STREAM(2, 8, STORES(0.5)), 700, 160000),
    BURSTS("poll", LOW, FLAT, RANDOM(67108864, 40960, 0.6, 10, DEPENDENT(0.6)), 600, 90000),
    BURSTS("lookup", LOW, STEEP, RANDOM(16777216, 1048576, 0.9, 8, DEPENDENT(0.3)), 1500, 70000),
    BURSTS("decode", LOW, STEEP, RANDOM(8388608, 786432, 0.92, 6, STORES(0.1)), 2500, 110000),
    BURSTS("page", MEDIUM, FLAT, STREAM(4, 6, ""), 1800, 80000),
    BURSTS("collect", MEDIUM, FLAT, RANDOM(134217728, 49152, 0.5, 8, DEPENDENT(0.3)), 2000, 32000),
    BURSTS("batch", MEDIUM, FLAT, STREAM(1, 5, STORES(0.2)), 2400, 150000),
    BURSTS("query", MEDIUM, STEEP, UNIFORM(3670016, 9, DEPENDENT(0.2)), 2200, 28000),
    BURSTS("merge", MEDIUM, STEEP, RANDOM(12582912, 1310720, 0.6, 8, STORES(0.2)), 2600, 40000),
};
const size_t slow_n_apps = sizeof(slow_apps) / sizeof(slow_apps[0]);

size_t slow_app_named(const char *name)
{
    for (size_t i = 0; i < slow_n_apps; i++)
        if (strcmp(slow_apps[i].name, name) == 0)
            return i;
    return 0;
}

struct slow_range slow_range_of(const struct slow_variant *variant)
{
    size_t steady = 0;

    while (!slow_apps[steady].quiet)
        steady++;
    return variant->bursts ? (struct slow_range){steady, slow_n_apps - steady}
                           : (struct slow_range){0, steady};
}

void slow_draw(uint64_t seed, unsigned index, const struct slow_variant *variant,
               size_t apps[SLOW_MAX_CORES])
{
    struct rng rng;
    struct slow_range range = slow_range_of(variant);
    unsigned cores = variant->cores;
    unsigned high = index % (cores + 1), n = 0, of_high = 0;
    size_t all_high = 0;

    for (size_t i = range.first; i < range.first + range.n; i++)
        all_high += slow_apps[i].intensity == HIGH;
    if (high > all_high)
        high = (unsigned)all_high;
    rng_seed(&rng, mix64(seed ^ (uint64_t)index << 32 ^ cores));
    while (n < cores) {
        size_t app = range.first + (size_t)rng_below(&rng, range.n);
        bool is_high = slow_apps[app].intensity == HIGH, taken = false;

        for (unsigned i = 0; i < n; i++)
            taken = taken || apps[i] == app;
        if (taken || (is_high ? of_high == high : n - of_high == cores - high))
            continue;
        of_high += is_high;
        apps[n++] = app;
    }
}
