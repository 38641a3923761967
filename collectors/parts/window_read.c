#include "collectors/parts/window_read.h"

#include <errno.h>
#include <string.h>

static void sum_rows(const struct group_window *window, struct window_sum *sum)
{
    window_init(sum, group_descs[window->group].n);
    for (size_t i = 0; i < window->after->n; i++) {
        const struct reading_row *now = reading_row(window->after, i);
        if (!now->present)
            continue;
        const struct reading_row *then =
            i < window->before->n ? reading_row(window->before, i) : NULL;
        if (then && !then->present)
            then = NULL;
        window_add(sum, then ? then->enabled_ns : 0, then ? then->running_ns : 0,
                   then ? then->count : NULL, now->enabled_ns, now->running_ns, now->count,
                   then ? now->present & then->present : now->present);
    }
}

_Static_assert((int)WINDOW_MAX_COUNTS >= (int)GROUP_MAX_ROLES, "a window's sum holds a group");
_Static_assert(sizeof(struct window_sum) <= sizeof((struct window_memo *)0)->bytes,
               "a window's sum fits in its memo");

/* Collectors that share a group share its sum: with many CPUs it is most of a tick. */
static void sum_once(const struct group_window *window, struct window_sum *sum)
{
    if (window->memo->valid) {
        memcpy(sum, window->memo->bytes, sizeof *sum);
        return;
    }
    sum_rows(window, sum);
    memcpy(window->memo->bytes, sum, sizeof *sum);
    window->memo->valid = true;
}

int window_read(struct source_set *sources, group_handle handle, struct collector_status *books,
                struct window_sum *sum, enum window_status *status)
{
    struct group_window window;
    int err = source_set_read(sources, handle, &window);
    if (err) {
        if (err != -ENODATA)
            books->discarded[DISCARD_READ_ERROR]++;
        return err;
    }
    sum_once(&window, sum);
    *status = window_status(sum);
    if (*status == WINDOW_STARVED)
        books->discarded[DISCARD_STARVED]++;
    if (*status == WINDOW_RESET) {
        books->discarded[DISCARD_RESET]++;
    } else {
        books->pmu_enabled_seconds += (double)sum->enabled_ns * 1e-9;
        books->pmu_running_seconds += (double)sum->running_ns * 1e-9;
    }
    return 0;
}

bool window_count(const struct window_sum *sum, enum group group, enum role role, uint64_t *out)
{
    int i = group_index(group, role);
    if (i < 0 || !(sum->present & 1u << i))
        return false;
    *out = sum->count[i];
    return true;
}
