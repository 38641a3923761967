#include "collectors/nvmm/threads.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"

enum { SLOTS = 2 * NVMM_MAX_THREADS };

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "slots are found with a mask");
_Static_assert(NVMM_MAX_THREADS < UINT16_MAX, "an index fits in a slot");

struct nvmm_threads *nvmm_threads_new(void)
{
    return calloc(1, sizeof(struct nvmm_threads));
}

void nvmm_threads_free(struct nvmm_threads *threads)
{
    free(threads);
}

static size_t first_slot(uint64_t owner, uint32_t pid, uint32_t tid)
{
    uint64_t hash = hash_u64(owner ^ (uint64_t)pid << 32 ^ tid);

    return (size_t)(hash >> 40) & (SLOTS - 1);
}

/* The slot of a thread, or the free one where it belongs. Half of the slots are always free. */
static uint16_t *find(struct nvmm_threads *threads, uint64_t owner, uint32_t pid, uint32_t tid)
{
    size_t slot = first_slot(owner, pid, tid);

    for (;; slot = (slot + 1) & (SLOTS - 1)) {
        uint16_t index = threads->slots[slot];
        if (index == 0)
            return &threads->slots[slot];
        const struct nvmm_thread *thread = &threads->at[index - 1];
        if (thread->owner == owner && thread->pid == pid && thread->tid == tid)
            return &threads->slots[slot];
    }
}

struct nvmm_thread *nvmm_threads_add(struct nvmm_threads *threads,
                                     const struct access_sample *sample, uint32_t number)
{
    uint16_t *slot = find(threads, sample->owner, sample->pid, sample->tid);

    if (*slot == 0) {
        if (threads->n == NVMM_MAX_THREADS) {
            threads->turned_away++;
            return NULL;
        }
        threads->at[threads->n] =
            (struct nvmm_thread){.owner = sample->owner, .pid = sample->pid, .tid = sample->tid};
        *slot = (uint16_t)++threads->n;
    }
    struct nvmm_thread *thread = &threads->at[*slot - 1];
    if (sample->time_ns > thread->sampled_ns)
        thread->sampled_ns = sample->time_ns;
    if (sample->access == ACCESS_STORE && sample->time_ns >= thread->stored_ns)
        thread->stored_ns = sample->time_ns > 0 ? sample->time_ns : 1;
    struct nvmm_thread_use *use = &thread->use[sample->access];
    if (use->part[number % NVMM_RING].number != number) {
        use->part[number % NVMM_RING].number = number;
        use->part[number % NVMM_RING].samples = 0;
        use->part[number % NVMM_RING].bytes = 0;
    }
    use->part[number % NVMM_RING].samples++;
    use->part[number % NVMM_RING].bytes += sample->bytes;
    return thread;
}

void nvmm_thread_share(struct nvmm_thread *thread, enum access access,
                       const struct nvmm_settled *settled)
{
    struct nvmm_thread_use *use = &thread->use[access];
    const struct nvmm_window *window = &settled->window;
    size_t i = settled->number % NVMM_RING;

    if (use->part[i].number != settled->number)
        return;
    if (window->nvmm > 0)
        use->accesses += settled->usage.accesses * use->part[i].samples / (double)window->nvmm;
    if (window->bytes > 0)
        use->bytes += settled->usage.bytes * (double)use->part[i].bytes / (double)window->bytes;
    use->part[i].samples = 0;
    use->part[i].bytes = 0;
}

/* After threads were taken out and the last ones put in their places. */
static void index_anew(struct nvmm_threads *threads)
{
    memset(threads->slots, 0, sizeof threads->slots);
    for (size_t i = 0; i < threads->n; i++) {
        const struct nvmm_thread *thread = &threads->at[i];
        *find(threads, thread->owner, thread->pid, thread->tid) = (uint16_t)(i + 1);
    }
}

void nvmm_threads_begin(struct nvmm_threads *threads)
{
    for (size_t i = 0; i < threads->n; i++)
        for (int access = 0; access < ACCESS_KINDS; access++) {
            struct nvmm_thread_use *use = &threads->at[i].use[access];
            use->accesses_before = use->accesses;
            use->bytes_before = use->bytes;
            use->accesses = use->bytes = 0;
        }
}

/* Parts of windows that are held, or sums that are still told. */
static bool has_more_to_tell(const struct nvmm_thread *thread)
{
    for (int access = 0; access < ACCESS_KINDS; access++) {
        const struct nvmm_thread_use *use = &thread->use[access];
        if (use->accesses > 0 || use->bytes > 0 || use->accesses_before > 0 ||
            use->bytes_before > 0)
            return true;
        for (size_t i = 0; i < NVMM_RING; i++)
            if (use->part[i].samples > 0)
                return true;
    }
    return false;
}

void nvmm_threads_forget(struct nvmm_threads *threads, uint64_t recent_ns, uint64_t old_ns)
{
    size_t n = threads->n;

    for (size_t i = 0; i < threads->n;) {
        const struct nvmm_thread *thread = &threads->at[i];
        if (thread->sampled_ns < old_ns ||
            (thread->sampled_ns < recent_ns && !has_more_to_tell(thread)))
            threads->at[i] = threads->at[--threads->n];
        else
            i++;
    }
    if (threads->n < n)
        index_anew(threads);
}

void nvmm_threads_forget_owner(struct nvmm_threads *threads, uint64_t owner)
{
    size_t n = threads->n;

    for (size_t i = 0; i < threads->n;) {
        if (threads->at[i].owner == owner)
            threads->at[i] = threads->at[--threads->n];
        else
            i++;
    }
    if (threads->n < n)
        index_anew(threads);
}
