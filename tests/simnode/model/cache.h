/*
 * Tags of a set-associative cache with true LRU and way masks. Also serves as auxiliary tag store
 * and as TLB (whose "lines" are pages).
 */
#ifndef IE_SIMNODE_MODEL_CACHE_H
#define IE_SIMNODE_MODEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_MAX_WAYS = 32 };
#define CACHE_ALL_WAYS 0xffffffffU

struct cache_way {
    uint64_t tag;  /* line + 1; 0: empty */
    uint64_t used; /* high bits: when last used; bit 0: dirty */
};

struct cache {
    struct cache_way *ways_array; /* sets x ways */
    uint64_t sets;
    uint64_t set_mask; /* sets - 1 where sets is a power of two, otherwise 0 */
    unsigned ways;
    uint64_t uses;
};

struct cache_victim {
    uint64_t line;
    bool valid, dirty;
};

/* -EINVAL for 0 sets, 0 ways or too many ways; -ENOMEM. */
int cache_init(struct cache *cache, uint64_t sets, unsigned ways);
void cache_release(struct cache *cache);

static inline uint64_t cache_set(const struct cache *cache, uint64_t line)
{
    if (cache->set_mask || cache->sets == 1)
        return line & cache->set_mask;
    return line % cache->sets;
}

/* A hit becomes the most recently used line of its set, and dirty if asked. */
bool cache_lookup(struct cache *cache, uint64_t line, bool make_dirty);
/* How many lines of its set were used since this one was; -1: it is not there. */
int cache_stack_position(const struct cache *cache, uint64_t line);
/* The same as a lookup without touching anything. */
bool cache_contains(const struct cache *cache, uint64_t line);

/*
 * Makes the line present, most recently used; replaces the least recently used of the ways in
 * 'mask' (bit i: way i), which must name at least one. A line already there stays in its way.
 */
struct cache_victim cache_insert(struct cache *cache, uint64_t line, bool dirty, uint32_t mask);

/* What cache_insert would replace. */
struct cache_victim cache_peek_victim(const struct cache *cache, uint64_t line, uint32_t mask);

/* Lines whose number is the space's, but for its lowest 'shift' bits. */
uint64_t cache_lines_of(const struct cache *cache, uint64_t space, unsigned shift);

/* Forgets everything, dirty lines included. */
void cache_clear(struct cache *cache);

#endif
