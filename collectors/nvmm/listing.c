#include "collectors/nvmm/listing.h"

#include <math.h>

static const uint64_t second_ns = 1000000000u;

static bool used(const struct nvmm_thread *thread)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (thread->use[access].accesses > 0 || thread->use[access].bytes > 0)
            return true;
    return false;
}

/* Samples of this tick may have been taken while it was under way. */
static double stored_seconds_ago(const struct nvmm_thread *thread, uint64_t now_ns)
{
    if (thread->stored_ns == 0)
        return NAN;
    return thread->stored_ns < now_ns ? (double)(now_ns - thread->stored_ns) * 1e-9 : 0;
}

/* The threads of one container, from the first of them on. */
static void list_container(const struct nvmm_context *self, struct nvmm_board_list *list,
                           size_t first, uint64_t now_ns)
{
    uint64_t owner = self->threads->at[first].owner;
    for (size_t i = first; i < self->threads->n; i++) {
        struct nvmm_thread *thread = &self->threads->at[i];
        if (thread->owner != owner || !used(thread))
            continue;
        struct nvmm_board_row row = {.pid = thread->pid,
                                     .tid = thread->tid,
                                     .stored_seconds_ago = stored_seconds_ago(thread, now_ns)};
        for (int access = 0; access < ACCESS_KINDS; access++) {
            row.accesses[access] = thread->use[access].accesses / list->seconds;
            row.bytes[access] = thread->use[access].bytes / list->seconds;
        }
        nvmm_board_row(list, &row);
    }
}

/* Container by container, in the order of their first threads. */
static void list_threads(struct nvmm_board_list *list, const struct nvmm_context *self,
                         const struct lanes *lanes, uint64_t now_ns)
{
    for (size_t i = 0; i < lanes->n; i++) {
        struct nvmm_lane *lane = lanes_at(lanes, i);
        if (lane)
            lane->listed = false;
    }
    for (size_t i = 0; i < self->threads->n; i++) {
        struct nvmm_lane *lane = nvmm_lane_of(lanes, self->threads->at[i].owner);
        if (!lane || lane->listed || !used(&self->threads->at[i]))
            continue;
        lane->listed = true;
        const struct labelset *labels = container_labels_get(self->env.labels, lane->container);
        if (labels && nvmm_board_container(list, labels))
            list_container(self, list, i, now_ns);
    }
}

void nvmm_list(struct board *board, const struct nvmm_context *self, const struct lanes *lanes,
               const struct tick *tick, uint64_t *shown_ns)
{
    if (*shown_ns == 0 && tick->mono_ns > tick->interval_ns)
        *shown_ns = tick->mono_ns - tick->interval_ns;
    uint64_t since_ns = *shown_ns;
    if (tick->mono_ns <= since_ns || tick->mono_ns - since_ns + tick->interval_ns / 2 < second_ns)
        return;
    struct nvmm_board_list *list = nvmm_board_begin(board);
    list->wall_ns = tick->wall_ns;
    list->mono_ns = tick->mono_ns;
    list->seconds = (double)(tick->mono_ns - since_ns) * 1e-9;
    list->loads = self->sampled[ACCESS_LOAD];
    list_threads(list, self, lanes, tick->mono_ns);
    list->cut |= self->threads->n == NVMM_MAX_THREADS;
    if (!board_show(board))
        return; /* the next tick's list holds all of this */
    *shown_ns = tick->mono_ns;
    for (size_t i = 0; i < self->threads->n; i++)
        for (int access = 0; access < ACCESS_KINDS; access++)
            self->threads->at[i].use[access].accesses = self->threads->at[i].use[access].bytes = 0;
}
