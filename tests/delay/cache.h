/*
 * Which accesses miss: a last-level cache of 64-byte lines, 16 ways, the least recently used one
 * goes. One thread's; writes allocate as reads do.
 */
#ifndef DELAY_CACHE_H
#define DELAY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_LINE_BYTES = 64, CACHE_WAYS = 16 };

struct cache {
    uint64_t *lines; /* of each set the most recent first; line number + 1, 0: empty */
    size_t sets;     /* a power of two */
};

/* 'bytes': a power of two, at least one set. 0, -EINVAL or -ENOMEM. */
int cache_init(struct cache *cache, size_t bytes);
void cache_release(struct cache *cache);

/* Whether the line was there; it is now. */
bool cache_access(struct cache *cache, uint64_t line);

#endif
