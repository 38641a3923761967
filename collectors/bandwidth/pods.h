/*
 * Pods whose monitoring group is the pod's: which containers they have, and what they moved
 * together. A group is open by one of the containers; when that one ends, by another.
 */
#ifndef IE_COLLECTORS_BANDWIDTH_PODS_H
#define IE_COLLECTORS_BANDWIDTH_PODS_H

#include "collectors/bandwidth/series.h"
#include "exporter/containers/container.h"

struct pod {
    char uid[64];
    size_t members;                 /* lanes that have joined it */
    const struct container *holder; /* by which its group is open; NULL: by none */
    group_handle handle;            /* 0: not open */
    struct labelset *labels;        /* owned; NULL: no member has names yet */
    struct bandwidth_series series;
};

/* All zero: there is none. */
struct pods {
    struct pod **at; /* owned, each at an address of its own */
    size_t n, cap;
};

void pods_release(struct pods *pods);

/* The container's pod, which it joins; NULL: it has none, or out of memory. */
struct pod *pods_join(struct pods *pods, const struct container *container);
/* The last one who leaves takes the pod away; its group must not be open then. */
void pods_leave(struct pods *pods, struct pod *pod);

/* As the container has it, of which it knows now, or by its UID where no names are known: the pod's
 * series get their labels. 0 or -errno. */
int pod_name(struct pod *pod, const struct container *container);

#endif
