/*
 * Containers in the order of their paths: what lies inside of one comes right behind it. So one
 * walk over it tells who lies inside of whom, however many containers there are.
 *
 * Of those with the same path, the one that was found first comes first. Loop thread only.
 */
#ifndef IE_CONTAINERS_PATH_ORDER_H
#define IE_CONTAINERS_PATH_ORDER_H

#include "exporter/containers/container.h"

/* All zero is an empty order. The containers are borrowed until they are removed. */
struct path_order {
    const struct container **at; /* owned: n of them in order, then those that were added */
    size_t n, added, cap;
    uint64_t compared; /* pairs of paths, so far */
};

void path_order_release(struct path_order *order);

/* Room for n containers in all, so that adding cannot fail. 0 or -ENOMEM. */
int path_order_reserve(struct path_order *order, size_t n);

/* Takes them out; those that are not in it are passed over. */
void path_order_remove(struct path_order *order, const struct container_list *gone);
/* Adds one that is not in it. It is in order after the next sort. */
void path_order_add(struct path_order *order, const struct container *container);
void path_order_sort(struct path_order *order);

/* Whether the one lies inside of the other, at any depth. */
bool path_is_inside(const struct container *inner, const struct container *outer);

#endif
