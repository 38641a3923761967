#include <string.h>

#include "exporter/http/internal.h"

int request_counts_init(struct request_counts *counts)
{
    return -pthread_mutex_init(&counts->lock, NULL);
}

void request_counts_release(struct request_counts *counts)
{
    pthread_mutex_destroy(&counts->lock);
}

/* The words are constants of routes and handlers, so there are few combinations; if a
 * handler makes up more, they are not counted. */
void request_counts_add(struct request_counts *counts, const char *handler, const char *format,
                        int code)
{
    pthread_mutex_lock(&counts->lock);
    size_t i = 0;
    while (i < counts->n &&
           (counts->items[i].code != code || strcmp(counts->items[i].handler, handler) != 0 ||
            strcmp(counts->items[i].format, format) != 0))
        i++;
    if (i == counts->n && counts->n < COUNTERS_CAP)
        counts->items[counts->n++] = (struct request_count){handler, format, code, 0};
    if (i < counts->n)
        counts->items[i].count++;
    pthread_mutex_unlock(&counts->lock);
}

size_t request_counts_read(struct request_counts *counts, struct request_count *out)
{
    pthread_mutex_lock(&counts->lock);
    size_t n = counts->n;
    memcpy(out, counts->items, n * sizeof *out);
    pthread_mutex_unlock(&counts->lock);
    return n;
}
