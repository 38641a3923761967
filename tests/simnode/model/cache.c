#include "tests/simnode/model/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int cache_init(struct cache *cache, uint64_t sets, unsigned ways)
{
    if (sets == 0 || ways == 0 || ways > CACHE_MAX_WAYS)
        return -EINVAL;

    struct cache_way *array = calloc(sets * ways, sizeof(*array));

    if (!array)
        return -ENOMEM;
    *cache = (struct cache){.ways_array = array, .sets = sets, .ways = ways};
    if ((sets & (sets - 1)) == 0)
        cache->set_mask = sets - 1;
    return 0;
}

void cache_release(struct cache *cache)
{
    free(cache->ways_array);
    *cache = (struct cache){0};
}

static inline struct cache_way *set_of(const struct cache *cache, uint64_t line)
{
    return cache->ways_array + cache_set(cache, line) * cache->ways;
}

static inline struct cache_way *find(const struct cache *cache, uint64_t line)
{
    struct cache_way *set = set_of(cache, line);

    for (unsigned i = 0; i < cache->ways; i++)
        if (set[i].tag == line + 1)
            return &set[i];
    return NULL;
}

bool cache_lookup(struct cache *cache, uint64_t line, bool make_dirty)
{
    struct cache_way *way = find(cache, line);

    if (!way)
        return false;
    way->used = ++cache->uses << 1 | (way->used & 1) | make_dirty;
    return true;
}

int cache_stack_position(const struct cache *cache, uint64_t line)
{
    const struct cache_way *set = set_of(cache, line), *way = find(cache, line);
    int newer = 0;

    if (!way)
        return -1;
    for (unsigned i = 0; i < cache->ways; i++)
        newer += set[i].tag && set[i].used >> 1 > way->used >> 1;
    return newer;
}

bool cache_contains(const struct cache *cache, uint64_t line)
{
    return find(cache, line) != NULL;
}

static struct cache_way *oldest(const struct cache *cache, uint64_t line, uint32_t mask)
{
    struct cache_way *set = set_of(cache, line), *victim = NULL;

    for (unsigned i = 0; i < cache->ways; i++) {
        if (!(mask & 1U << i))
            continue;
        if (!set[i].tag)
            return &set[i];
        if (!victim || set[i].used < victim->used)
            victim = &set[i];
    }
    return victim;
}

static struct cache_victim victim_of(const struct cache_way *way)
{
    if (!way || !way->tag)
        return (struct cache_victim){0};
    return (struct cache_victim){.line = way->tag - 1, .valid = true, .dirty = way->used & 1};
}

struct cache_victim cache_insert(struct cache *cache, uint64_t line, bool dirty, uint32_t mask)
{
    struct cache_way *way = find(cache, line);

    if (way) {
        way->used = ++cache->uses << 1 | (way->used & 1) | dirty;
        return (struct cache_victim){0};
    }
    way = oldest(cache, line, mask);
    if (!way)
        return (struct cache_victim){0};

    struct cache_victim victim = victim_of(way);

    way->tag = line + 1;
    way->used = ++cache->uses << 1 | dirty;
    return victim;
}

struct cache_victim cache_peek_victim(const struct cache *cache, uint64_t line, uint32_t mask)
{
    if (find(cache, line))
        return (struct cache_victim){0};
    return victim_of(oldest(cache, line, mask));
}

void cache_clear(struct cache *cache)
{
    memset(cache->ways_array, 0, cache->sets * cache->ways * sizeof(*cache->ways_array));
}

uint64_t cache_lines_of(const struct cache *cache, uint64_t space, unsigned shift)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < cache->sets * cache->ways; i++)
        n += cache->ways_array[i].tag && (cache->ways_array[i].tag - 1) >> shift == space;
    return n;
}
