/*
 * One page that is made once for each state of what it shows, by the first who asks.
 *
 * So that a client that asks a thousand times costs no more than one that asks once.
 */
#ifndef IE_EXPOSE_PAGE_CACHE_H
#define IE_EXPOSE_PAGE_CACHE_H

#include <pthread.h>

#include "exporter/expose/expose.h"

struct page_cache {
    pthread_mutex_t lock; /* held while the page is made: others wait for it */
    struct rendered_page *page;
};

/* Appends the page's text. 0 or -errno. */
typedef int (*page_maker)(void *context, struct textbuf *out);

int page_cache_init(struct page_cache *cache);
void page_cache_release(struct page_cache *cache);

/* The page of the state 'number'; the caller unrefs it. Any thread. Failures are not kept. */
int page_cache_get(struct page_cache *cache, uint64_t number, page_maker make, void *context,
                   struct rendered_page **out);

#endif
