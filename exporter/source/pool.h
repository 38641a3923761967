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

/* The borrower that came before this one, and is called in after it. */
struct descriptor_turn {
    void (*call_in)(void *borrower, size_t n);
    void *borrower;
};

/* From now on this borrower is called in first; it calls in 'before' for what it lacks itself. */
static inline void descriptor_pool_borrow(struct descriptor_pool *pool,
                                          struct descriptor_turn *before,
                                          void (*call_in)(void *borrower, size_t n), void *borrower)
{
    *before = (struct descriptor_turn){pool->call_in, pool->borrower};
    pool->call_in = call_in;
    pool->borrower = borrower;
}

/* The borrower has given everything back. */
static inline void descriptor_pool_leave(struct descriptor_pool *pool,
                                         const struct descriptor_turn *before, const void *borrower)
{
    if (pool->borrower != borrower)
        return;
    pool->call_in = before->call_in;
    pool->borrower = before->borrower;
}

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
