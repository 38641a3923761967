/* What the loop leaves for the server's threads. */
#include "exporter/pages/internal.h"

void pages_take_status(struct pages *pages, struct pages_status *status, uint64_t *updated_ns)
{
    pthread_mutex_lock(&pages->lock);
    *status = pages->status;
    *updated_ns = pages->updated_ns;
    pthread_mutex_unlock(&pages->lock);
}

void pages_update(struct pages *pages, const struct pages_status *status, uint64_t now_ns)
{
    pthread_mutex_lock(&pages->lock);
    pages->status = *status;
    pages->updated_ns = now_ns;
    pthread_mutex_unlock(&pages->lock);
}
