#include "exporter/containers/path_order.h"

#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

void path_order_release(struct path_order *order)
{
    free(order->at);
    *order = (struct path_order){0};
}

/* Twice the room: sorting copies what was added behind it. */
int path_order_reserve(struct path_order *order, size_t n)
{
    return array_reserve(&order->at, &order->cap, 2 * n, sizeof *order->at);
}

/* What ends sorts before what goes on below it, and that before what only begins like it. */
static int rank(char c)
{
    return c == '\0' ? 0 : c == '/' ? 1 : (unsigned char)c + 1;
}

static int compare(struct path_order *order, const struct container *a, const struct container *b)
{
    const char *x = a->path, *y = b->path;
    order->compared++;
    while (*x && *x == *y)
        x++, y++;
    if (*x != *y)
        return rank(*x) - rank(*y);
    if (a->found_mono_ns != b->found_mono_ns)
        return a->found_mono_ns < b->found_mono_ns ? -1 : 1;
    return (a->slot > b->slot) - (a->slot < b->slot);
}

static int compare_elements(const void *a, const void *b, void *order)
{
    return compare(order, *(const struct container *const *)a, *(const struct container *const *)b);
}

/* How many of the first n come before the container. */
static size_t position_of(struct path_order *order, size_t n, const struct container *container)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (compare(order, order->at[middle], container) < 0)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static void sort(struct path_order *order, const struct container **at, size_t n)
{
    qsort_r(at, n, sizeof *at, compare_elements, order);
}

void path_order_remove(struct path_order *order, const struct container_list *gone)
{
    const struct container **found = order->n > 0 ? order->at + order->n : NULL;
    size_t n_found = 0, kept = 0, next = 0;
    for (size_t i = 0; i < gone->n && order->n > 0; i++) {
        size_t at = position_of(order, order->n, gone->at[i]);
        if (at < order->n && order->at[at] == gone->at[i])
            found[n_found++] = gone->at[i];
    }
    if (n_found == 0)
        return;
    sort(order, found, n_found);
    for (size_t i = 0; i < order->n; i++) {
        if (next < n_found && order->at[i] == found[next])
            next++;
        else
            order->at[kept++] = order->at[i];
    }
    order->n = kept;
}

void path_order_add(struct path_order *order, const struct container *container)
{
    order->at[order->n + order->added++] = container;
}

/* From the back, so that each container moves once at most. */
void path_order_sort(struct path_order *order)
{
    size_t end = order->n, n = order->added;
    if (n == 0)
        return;
    const struct container **added = order->at + order->n + n;
    memcpy(added, order->at + order->n, n * sizeof *added);
    sort(order, added, n);
    order->n += n;
    order->added = 0;
    while (n > 0) {
        const struct container *last = added[--n];
        size_t at = position_of(order, end, last);
        memmove(&order->at[at + n + 1], &order->at[at], (end - at) * sizeof *order->at);
        order->at[at + n] = last;
        end = at;
    }
}

bool path_is_inside(const struct container *inner, const struct container *outer)
{
    size_t len = strlen(outer->path);
    return strncmp(inner->path, outer->path, len) == 0 && inner->path[len] == '/';
}
