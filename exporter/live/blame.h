/*
 * Why a container is slower than it could be, in one word and one sentence: what it waits for
 * (live.h), joined with who makes memory slow. The one place where both are looked at. Pure.
 */
#ifndef IE_LIVE_BLAME_H
#define IE_LIVE_BLAME_H

#include "exporter/base/textbuf.h"
#include "exporter/live/live.h"

enum blame {
    BLAME_UNKNOWN,
    BLAME_NOTHING,   /* that this node can see */
    BLAME_OWN_QUOTA, /* from here on to the disk as enum loss */
    BLAME_CPU_NEIGHBOUR,
    BLAME_ITSELF,
    BLAME_HYPERVISOR,
    BLAME_OWN_MEMORY_LIMIT,
    BLAME_MEMORY_FULL,
    BLAME_DISK,
    BLAME_MEMORY_NEIGHBOUR, /* memory is slow, and another container is named for it */
    BLAME_MEMORY_ITSELF,    /* only itself is */
    BLAME_MEMORY_OUTSIDE,   /* nobody is, since it comes from outside this virtual machine */
    BLAME_MEMORY_UNKNOWN,   /* nobody is */
    BLAMES
};

/* "own_quota"; NULL for BLAME_UNKNOWN. Memory slowed from outside is the hypervisor's, too. */
const char *blame_name(enum blame blame);

/* What costs it most. Of a view that is sorted, as are all here. */
enum blame live_blame(const struct live_view *view, const struct live_container *container);

/* What that costs, in seconds per second; NaN: it is not known, or it is nothing. */
double live_blame_cost(const struct live_container *container, enum blame blame);

/* One sentence or two of plain text, with the figures and what to do. Not 'all': without what
 * /metrics does not say of it, its limits and how often they are reached. */
void live_why(struct textbuf *out, const struct live_view *view,
              const struct live_container *container, bool all);

/* "its own CPU limit 38 %, slow memory 12 %"; nothing where nothing is lost. */
void live_losses(struct textbuf *out, const struct live_container *container);
/* The sum of them; NaN: not known. */
double live_lost_sum(const struct live_container *container);

/* Who loses most, of those whose cause is known and is no want of its own; NULL: nobody. */
const struct live_container *live_costliest(const struct live_view *view);

#endif
