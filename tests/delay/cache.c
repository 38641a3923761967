#include "tests/delay/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int cache_init(struct cache *cache, size_t bytes)
{
    size_t sets = bytes / (CACHE_LINE_BYTES * CACHE_WAYS);
    if (sets == 0 || (sets & (sets - 1)) != 0 || sets * CACHE_LINE_BYTES * CACHE_WAYS != bytes)
        return -EINVAL;
    uint64_t *lines = calloc(sets, CACHE_WAYS * sizeof *lines);
    if (!lines)
        return -ENOMEM;
    *cache = (struct cache){.lines = lines, .sets = sets};
    return 0;
}

void cache_release(struct cache *cache)
{
    free(cache->lines);
    *cache = (struct cache){0};
}

bool cache_access(struct cache *cache, uint64_t line)
{
    uint64_t *set = cache->lines + (line & (cache->sets - 1)) * CACHE_WAYS, tag = line + 1;
    size_t at = 0;
    while (at < CACHE_WAYS - 1 && set[at] != tag)
        at++;
    bool hit = set[at] == tag;
    memmove(set + 1, set, at * sizeof *set);
    set[0] = tag;
    return hit;
}
