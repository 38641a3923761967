#include "exporter/live/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double live_ratio(const struct live_container *c)
{
    return c->number[LIVE_READ_SECONDS] / c->number[LIVE_NORMAL_SECONDS];
}

double live_trouble(const struct live_container *c)
{
    return fmax(live_ratio(c), c->number[LIVE_SLOWDOWN_RATIO]);
}

double live_waits_seconds(const struct live_view *view, const struct live_container *c)
{
    return c->waits ? (double)(int64_t)(view->tick.mono_ns - c->waits_since_mono_ns) / 1e9 : NAN;
}

bool live_is_slowed(const struct live_container *c)
{
    double own = c->number[LIVE_SLOWDOWN_LIMIT];
    return c->number[LIVE_SLOWDOWN_RATIO] > (isnan(own) ? LIVE_SLOWDOWN_BOUND : own);
}

double live_all_reads(const struct live_view *view)
{
    double all = NAN;
    for (size_t i = 0; i < view->n; i++) {
        double reads = view->containers[i].number[LIVE_READS_PER_SECOND];
        if (!isnan(reads))
            all = isnan(all) ? reads : all + reads;
    }
    return all;
}

/* What is larger comes first; what is not known last. */
static int larger_first(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a < b) - (a > b);
}

static int names(const struct live_container *a, const struct live_container *b)
{
    int order = strcmp(a->namespace_, b->namespace_);
    order = order ? order : strcmp(a->pod, b->pod);
    order = order ? order : strcmp(a->name, b->name);
    return order ? order : strcmp(a->id, b->id);
}

static int compare(const void *x, const void *y)
{
    const struct live_container *a = x, *b = y;
    if (a->waits != b->waits)
        return a->waits ? -1 : 1;
    int order = a->waits ? larger_first(live_trouble(a), live_trouble(b)) : 0;
    order = order ? order : (int)b->suspicion - (int)a->suspicion;
    if (!order && a->suspicion != LIVE_UNSUSPECTED)
        order = larger_first(a->number[LIVE_CAUSED_SECONDS], b->number[LIVE_CAUSED_SECONDS]);
    order = order ? order : larger_first(live_trouble(a), live_trouble(b));
    order = order ? order : larger_first(a->number[LIVE_CPUS], b->number[LIVE_CPUS]);
    order = order ? order : names(a, b);
    return order ? order : (a->tag > b->tag) - (a->tag < b->tag);
}

void live_sort(struct live_view *view)
{
    if (view->n > 0)
        qsort(view->containers, view->n, sizeof *view->containers, compare);
    view->named[0] = view->named[1] = NULL;
    for (size_t i = 0, n = 0; i < view->n && n < 2; i++)
        if (view->containers[i].suspicion == LIVE_NAMED)
            view->named[n++] = &view->containers[i];
}
