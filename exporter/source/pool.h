/*
 * Descriptors that counters may take, and who else holds some of them meanwhile.
 *
 * Counters come first: what they do not use now is lent, and called in when they need it. So a
 * container that could be counted is counted, whoever borrowed. Loop thread only.
 */
#ifndef IE_SOURCE_POOL_H
#define IE_SOURCE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descriptor_pool {
    size_t limit;    /* of both together; 0: none */
    size_t counters; /* theirs, as of their last opening or closing */
    size_t lent;
    /* The borrower closes at least n, or all that it has. NULL: nobody borrows. */
    void (*call_in)(void *borrower, size_t n);
    void *borrower;
};

/* SIZE_MAX: as many as there are. */
static inline void descriptor_pool_limit(struct descriptor_pool *pool, size_t limit)
{
    pool->limit = limit == SIZE_MAX ? 0 : limit;
}

/* Whether the borrower may take n more. */
static inline bool descriptor_pool_lends(const struct descriptor_pool *pool, size_t n)
{
    size_t used = pool->counters + pool->lent;
    return pool->limit == 0 || (used <= pool->limit && n <= pool->limit - used);
}

/* Before counters take n more of which the limit allows: makes room. */
static inline void descriptor_pool_make_room(struct descriptor_pool *pool, size_t n)
{
    size_t wanted = pool->counters + pool->lent + n;
    if (pool->limit > 0 && wanted > pool->limit && pool->lent > 0 && pool->call_in)
        pool->call_in(pool->borrower, wanted - pool->limit);
}

#endif
