/* What the loop leaves for the server's threads. */
#include "exporter/pages/internal.h"

void pages_take_status(struct pages *pages, struct pages_status *status, uint64_t *updated_ns)
{
    pthread_mutex_lock(&pages->lock);
    *status = pages->status;
    *updated_ns = pages->updated_ns;
    pthread_mutex_unlock(&pages->lock);
}

double pages_uptime_seconds(const struct pages *pages, uint64_t updated_ns)
{
    uint64_t started_ns = pages->config.started_mono_ns;
    return updated_ns > started_ns ? (double)(updated_ns - started_ns) * 1e-9 : 0;
}

void pages_update(struct pages *pages, const struct pages_status *status, uint64_t now_ns)
{
    pthread_mutex_lock(&pages->lock);
    pages->status = *status;
    pages->updated_ns = now_ns;
    pthread_mutex_unlock(&pages->lock);
}
