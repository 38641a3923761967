#include "tests/simnode/formulas/ways.h"

/* Of a quantum. */
static const double least_cycles = 0.02;
/* Gains that differ by less are equal: rounding must not decide. */
static const double same = 1e-12;

/* ---- how slow it would be ---- */

void control_hits_by_ways(const double *way_hits, double sampled_misses, unsigned ways,
                          double accesses, double *hits)
{
    double all = sampled_misses, sum = 0;
    for (unsigned i = 0; i < ways; i++)
        all += way_hits[i];
    hits[0] = 0;
    for (unsigned i = 0; i < ways; i++) {
        sum += way_hits[i];
        hits[i + 1] = all > 0 ? sum / all * accesses : 0;
    }
}

bool control_slowdown_by_ways(const struct control_cache_counts *counts, const double *hits,
                              unsigned ways, double *slowdown)
{
    bool known = counts->hits > 0 && counts->misses > 0 && counts->quantum_cycles > 0 &&
                 counts->alone_rate > 0;
    double accesses = counts->hits + counts->misses;
    double gain = known ? counts->miss_time / counts->misses - counts->hit_time / counts->hits : 0;
    for (unsigned n = 0; n <= ways; n++) {
        double cycles = counts->quantum_cycles - (hits[n] - counts->hits) * gain;
        if (cycles < least_cycles * counts->quantum_cycles)
            cycles = least_cycles * counts->quantum_cycles;
        slowdown[n] = known ? counts->alone_rate * cycles / accesses : 1;
    }
    return known;
}

/* ---- who gets what ---- */

struct gain {
    size_t app;
    unsigned ways; /* 0: nobody has one */
    double each;
};

/* The best of one application; a mask that is made has min_bits at once. */
static void consider(const struct control_ways *apps, size_t i, const struct control_cache *cache,
                     unsigned left, struct gain *best)
{
    const struct control_ways *app = &apps[i];
    for (unsigned k = app->ways ? 1 : cache->min_bits; k <= left && app->ways + k <= cache->ways;
         k++) {
        double each = (app->slowdown[app->ways] - app->slowdown[app->ways + k]) / k;
        if (each > best->each + same)
            *best = (struct gain){i, k, each};
    }
}

static bool is_open(const struct control_ways *app, bool qos)
{
    return !qos || !(app->bound > 0);
}

/* Without a gain: who has fewest, the first of equals. */
static struct gain fewest(const struct control_ways *apps, size_t n,
                          const struct control_cache *cache, bool qos, unsigned left)
{
    struct gain found = {.ways = 0};
    for (size_t i = 0; i < n; i++) {
        unsigned k = apps[i].ways ? 1 : cache->min_bits;
        if (!is_open(&apps[i], qos) || k > left)
            continue;
        if (found.ways == 0 || apps[i].ways < apps[found.app].ways)
            found = (struct gain){i, k, 0};
    }
    return found;
}

/* Among those that are open. */
static void look_ahead(struct control_ways *apps, size_t n, const struct control_cache *cache,
                       bool qos, unsigned left)
{
    while (left > 0) {
        struct gain best = {.ways = 0};
        for (size_t i = 0; i < n; i++)
            if (is_open(&apps[i], qos))
                consider(apps, i, cache, left, &best);
        if (best.ways == 0)
            best = fewest(apps, n, cache, qos, left);
        if (best.ways == 0)
            return;
        apps[best.app].ways += best.ways;
        left -= best.ways;
    }
}

/* The fewest ways within the bound, or all that may be had. */
static unsigned give_bound(struct control_ways *app, const struct control_cache *cache,
                           unsigned most)
{
    app->ways = cache->min_bits;
    while (app->ways < most && app->slowdown[app->ways] > app->bound)
        app->ways++;
    app->missed = app->slowdown[app->ways] > app->bound;
    return app->ways;
}

static size_t count_open(const struct control_ways *apps, size_t n, bool qos)
{
    size_t open = 0;
    for (size_t i = 0; i < n; i++)
        open += is_open(&apps[i], qos);
    return open;
}

static void set_masks(struct control_ways *apps, size_t n, const struct control_cache *cache,
                      unsigned pool)
{
    unsigned from = 0;
    uint64_t shared = ((1ull << pool) - 1) << (cache->ways - pool);
    for (size_t i = 0; i < n; i++) {
        uint64_t own = ((1ull << apps[i].ways) - 1) << from;
        apps[i].mask = (uint32_t)(apps[i].ways ? own : shared);
        from += apps[i].ways;
    }
}

static void divide(struct control_ways *apps, size_t n, const struct control_cache *cache, bool qos,
                   unsigned pool)
{
    size_t open = count_open(apps, n, qos), later = n - open;
    unsigned spared = pool ? pool : (unsigned)open * cache->min_bits, left = cache->ways;
    for (size_t i = 0; i < n; i++) {
        apps[i].ways = 0;
        apps[i].missed = false;
        if (is_open(&apps[i], qos))
            continue;
        later--;
        left -= give_bound(&apps[i], cache, left - spared - (unsigned)later * cache->min_bits);
    }
    for (size_t i = 0; i < n && !pool; i++)
        if (is_open(&apps[i], qos)) {
            apps[i].ways = cache->min_bits;
            left -= cache->min_bits;
        }
    look_ahead(apps, n, cache, qos, left - pool);
    set_masks(apps, n, cache, pool);
}

static bool anybody_shares(const struct control_ways *apps, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (apps[i].ways == 0)
            return true;
    return false;
}

static bool set_all(struct control_ways *apps, size_t n, const struct control_cache *cache,
                    bool qos)
{
    size_t open = count_open(apps, n, qos),
           masks = cache->min_bits ? cache->ways / cache->min_bits : 0;
    bool pool = cache->pool && open > 0;
    if (cache->ways > CONTROL_WAYS || n == 0 || (pool ? n - open + 1 : n) > masks)
        return false;
    divide(apps, n, cache, qos, pool ? cache->min_bits : 0);
    if (pool && !anybody_shares(apps, n))
        divide(apps, n, cache, qos, 0);
    return true;
}

bool control_ways_divide(struct control_ways *apps, size_t n, const struct control_cache *cache)
{
    return set_all(apps, n, cache, false);
}

bool control_ways_qos(struct control_ways *apps, size_t n, const struct control_cache *cache)
{
    return set_all(apps, n, cache, true);
}
