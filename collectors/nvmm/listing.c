#include "collectors/nvmm/listing.h"

#include <math.h>

static const uint64_t second_ns = 1000000000u;

/* Samples of this tick may have been taken while it was under way. */
static double stored_seconds_ago(const struct nvmm_thread *thread, uint64_t now_ns)
{
    if (thread->stored_ns == 0)
        return NAN;
    return thread->stored_ns < now_ns ? (double)(now_ns - thread->stored_ns) * 1e-9 : 0;
}

/* False: nothing of it is in the window, which begins with 'since_ns'. What was sampled in the last
 * tick is not estimated yet. */
static bool fill_row(const struct nvmm_thread *thread, bool both, double seconds, uint64_t since_ns,
                     struct nvmm_list_row *row)
{
    bool used = thread->stored_ns > 0 && thread->stored_ns >= since_ns;
    for (int access = 0; access < ACCESS_KINDS; access++) {
        const struct nvmm_thread_use *use = &thread->use[access];
        double accesses = use->accesses + (both ? use->accesses_before : 0);
        double bytes = use->bytes + (both ? use->bytes_before : 0);
        row->accesses[access] = accesses / seconds;
        row->bytes[access] = bytes / seconds;
        used |= accesses > 0 || bytes > 0;
    }
    return used;
}

/* The index of its container, which is added when its first thread is listed; -1: none. */
static int index_in(const struct nvmm_context *self, struct nvmm_list *list, struct nvmm_lane *lane)
{
    if (!lane->listed) {
        const struct labelset *labels =
            container_labels_get(self->env.labels, lane->base.container);
        lane->listed = true;
        lane->index = labels ? nvmm_list_container(list, labels) : -1;
    }
    return lane->index;
}

static void list_threads(struct nvmm_list *list, const struct nvmm_context *self,
                         const struct lanes *lanes, bool both, uint64_t since_ns)
{
    struct nvmm_lane *lane;
    for (size_t i = 0; (lane = lanes_next(lanes, &i));)
        lane->listed = false;
    for (size_t i = 0; i < self->threads->n; i++) {
        const struct nvmm_thread *thread = &self->threads->at[i];
        struct nvmm_list_row row = {.pid = thread->pid, .tid = thread->tid};
        lane = nvmm_lane_of(lanes, thread->owner);
        if (!lane || !fill_row(thread, both, list->seconds, since_ns, &row))
            continue;
        int index = index_in(self, list, lane);
        if (index < 0)
            continue;
        row.container = (uint32_t)index;
        row.stored_seconds_ago = stored_seconds_ago(thread, list->mono_ns);
        nvmm_list_row(list, &row);
    }
}

void nvmm_list_threads(struct double_buffer *lists, const struct nvmm_context *self,
                       const struct lanes *lanes, const struct tick *tick,
                       struct nvmm_window_times *window)
{
    if (window->begun_ns == 0 && tick->mono_ns > tick->interval_ns)
        window->begun_ns = window->begun_before_ns = tick->mono_ns - tick->interval_ns;
    if (tick->mono_ns <= window->begun_ns)
        return;
    bool whole = tick->mono_ns - window->begun_ns + tick->interval_ns / 2 >= second_ns;
    uint64_t since_ns = whole ? window->begun_ns : window->begun_before_ns;
    struct nvmm_list *list = nvmm_list_begin(lists);
    list->wall_ns = tick->wall_ns;
    list->mono_ns = tick->mono_ns;
    list->seconds = (double)(tick->mono_ns - since_ns) * 1e-9;
    list->interval = (double)tick->interval_ns * 1e-9;
    list->loads = self->sampled[ACCESS_LOAD];
    list_threads(list, self, lanes, !whole, since_ns);
    list->cut |= self->threads->n == NVMM_MAX_THREADS;
    if (!double_buffer_swap(lists) || !whole)
        return; /* the next tick's list holds all of this */
    window->begun_before_ns = window->begun_ns;
    window->begun_ns = tick->mono_ns;
    nvmm_threads_begin(self->threads);
}
