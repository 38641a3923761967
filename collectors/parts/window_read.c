#include "collectors/parts/window_read.h"

#include <errno.h>

void window_book_times(struct collector_status *self, const struct window_sum *sum)
{
    self->pmu_enabled_seconds += (double)sum->enabled_ns * 1e-9;
    self->pmu_running_seconds += (double)sum->running_ns * 1e-9;
}

int window_read_rows(struct source_set *sources, group_handle handle, struct collector_status *self,
                     struct group_window *window, enum window_status *status)
{
    int err = source_set_read(sources, handle, window);
    if (err) {
        self->discarded[DISCARD_READ_ERROR] += err != -ENODATA;
        return err;
    }
    *status = window_status(window->sum);
    self->discarded[DISCARD_STARVED] += *status == WINDOW_STARVED;
    self->discarded[DISCARD_RESET] += *status == WINDOW_RESET;
    return 0;
}

int window_read(struct source_set *sources, group_handle handle, struct collector_status *self,
                struct window_sum *sum, enum window_status *status)
{
    struct group_window window;
    int err = window_read_rows(sources, handle, self, &window, status);
    if (err)
        return err;
    *sum = *window.sum;
    if (*status != WINDOW_RESET)
        window_book_times(self, sum);
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

void status_silence(struct collector_status *status, bool silent, struct verdict *kept)
{
    if (silent && !status->unavailable)
        *kept = status->verdict;
    else if (!silent && status->unavailable)
        status->verdict = *kept;
    status->unavailable = silent;
}
