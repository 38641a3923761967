#include "collectors/placement/where.h"

#include <errno.h>

#include "collectors/parts/container_group.h"
#include "collectors/parts/window_read.h"

bool placement_where_asks(const struct placement_where *where)
{
    return where->machine->numa_nodes > 1;
}

void placement_where_open(struct placement_where *where, struct placement_place *place,
                          const struct container *container)
{
    struct verdict why;
    if (!placement_where_asks(where) || place->group)
        return;
    int err = container_group_open(where->sources, where->status, container, where->group, 0,
                                   &place->group, &why);
    if (!err || err == -ESRCH)
        return;
    if (!(where->said >> why.reason & 1))
        log_warn(where->log, "placement", "%s has no prediction: %s", container->path, why.words);
    where->said |= UINT32_C(1) << why.reason;
    where->why = why;
}

void placement_where_close(struct placement_where *where, struct placement_place *place)
{
    if (place->group)
        source_set_close(where->sources, place->group);
    place->group = 0;
}

/* Its descriptor was called in, say. A mix that nobody renews is not where the memory is now;
 * except of a cgroup that is gone: it was its last. */
static void lose(struct placement_where *where, struct placement_place *place, int err)
{
    placement_where_close(where, place);
    if (err == -ESRCH)
        return;
    place->mix = (struct placement_mix){.by_pages = false};
    where->status->wants_reconcile = true; /* which opens it again, or finds out why not */
}

static int read_loads(struct placement_where *where, struct placement_place *place)
{
    struct window_sum sum;
    enum window_status status;
    int err = window_read(where->sources, place->group, where->status, &sum, &status);
    if (!err && status == WINDOW_OK)
        placement_mix_loads(&place->mix, &sum);
    return err;
}

static int read_pages(struct placement_where *where, struct placement_place *place)
{
    struct group_window window;
    int err = source_set_read(where->sources, place->group, &window);
    if (!err)
        placement_mix_pages(&place->mix, window.after);
    return err;
}

void placement_where_read(struct placement_where *where, struct placement_place *place)
{
    int err = -ENODATA;
    if (place->group)
        err = where->group == GROUP_STALLS ? read_loads(where, place) : read_pages(where, place);
    if (err && err != -ENODATA)
        lose(where, place, err);
}

void placement_where_clear(struct placement_where *where)
{
    verdict_clear(&where->why);
    where->said = 0;
}
