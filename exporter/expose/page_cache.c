#include "exporter/expose/page_cache.h"

#include "exporter/expose/page.h"

int page_cache_init(struct page_cache *cache)
{
    cache->page = NULL;
    return -pthread_mutex_init(&cache->lock, NULL);
}

void page_cache_release(struct page_cache *cache)
{
    page_unref(cache->page);
    cache->page = NULL;
    pthread_mutex_destroy(&cache->lock);
}

static int make_page(uint64_t number, page_maker make, void *context, struct rendered_page **out)
{
    struct rendered_page *page;
    int err = page_new(NULL, &page);
    if (err)
        return err;
    err = make(context, &page->text);
    if (!err)
        err = textbuf_finish(&page->text);
    page->number = number;
    if (err)
        page_unref(page);
    else
        *out = page;
    return err;
}

int page_cache_get(struct page_cache *cache, uint64_t number, page_maker make, void *context,
                   struct rendered_page **out)
{
    int err = 0;
    pthread_mutex_lock(&cache->lock);
    if (cache->page && cache->page->number != number) {
        page_unref(cache->page);
        cache->page = NULL;
    }
    if (!cache->page)
        err = make_page(number, make, context, &cache->page);
    if (!err)
        *out = page_ref(cache->page);
    pthread_mutex_unlock(&cache->lock);
    return err;
}
