#include "collectors/slowdown/epochs.h"

#include <errno.h>

#include "collectors/formulas/slowdown.h"
#include "collectors/parts/container_group.h"
#include "collectors/parts/window_read.h"

void epochs_open(struct epochs *epochs, struct source_set *sources, struct collector_status *status,
                 const struct container *container)
{
    struct verdict ignored;
    if (!epochs->handle)
        container_group_open(sources, status, container, GROUP_ASM_EPOCHS, 0, &epochs->handle,
                             &ignored);
}

void epochs_close(struct epochs *epochs, struct source_set *sources)
{
    if (epochs->handle)
        source_set_close(sources, epochs->handle);
    epochs->handle = 0;
}

/* A constant, which each reading repeats. */
static uint64_t epoch_length(const struct epochs *epochs, struct source_set *sources)
{
    struct group_window window;
    int index = group_index(GROUP_ASM_EPOCHS, ROLE_EPOCH_LENGTH);
    if (source_set_read(sources, epochs->handle, &window) != 0)
        return 0;
    for (size_t i = 0; i < window.after->n; i++) {
        const struct reading_row *row = reading_row(window.after, i);
        if (row->present & 1u << index)
            return row->count[index];
    }
    return 0;
}

/* False where the source does not count all of them. */
static bool counts_of(const struct epochs *epochs, struct source_set *sources,
                      const struct window_sum *sum, struct slowdown_asm_counts *c)
{
    const struct {
        enum role role;
        uint64_t *count;
    } counts[] = {
        {ROLE_QUANTUM_CYCLES, &c->quantum_cycles},
        {ROLE_ACCESSES, &c->accesses},
        {ROLE_EPOCH_COUNT, &c->epoch_count},
        {ROLE_HITS, &c->hits},
        {ROLE_MISSES, &c->misses},
        {ROLE_HIT_TIME, &c->hit_time},
        {ROLE_MISS_TIME, &c->miss_time},
        {ROLE_ATS_HITS, &c->ats_hits},
        {ROLE_ATS_MISSES, &c->ats_misses},
        {ROLE_QUEUEING_CYCLES, &c->queueing_cycles},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!window_count(sum, GROUP_ASM_EPOCHS, counts[i].role, counts[i].count))
            return false;
    c->epoch_length = epoch_length(epochs, sources);
    return true;
}

static bool estimate(struct epochs *epochs, const struct slowdown_asm_counts *counts,
                     struct collector_status *status, struct slowdown_asm *out)
{
    static const enum discard_reason discards[SLOWDOWN_STATUSES] = {
        [SLOWDOWN_NO_EPOCH] = DISCARD_NO_EPOCH,
        [SLOWDOWN_NO_ACCESSES] = DISCARD_NO_MISSES,
        [SLOWDOWN_NO_MISSES] = DISCARD_NO_MISSES,
        [SLOWDOWN_DENOMINATOR] = DISCARD_DENOMINATOR,
    };
    enum slowdown_status result = slowdown_asm(counts, out);
    if (result != SLOWDOWN_OK) {
        status->discarded[discards[result]]++;
        return false;
    }
    epochs->observed_cycles += counts->quantum_cycles;
    return true;
}

int epochs_collect(struct epochs *epochs, struct source_set *sources,
                   struct collector_status *status, struct slowdown_set *set, bool ending)
{
    struct window_sum sum;
    enum window_status window;
    struct slowdown_asm result = {0};
    if (!epochs->handle)
        return 0;
    int err = window_read(sources, epochs->handle, status, &sum, &window);
    epochs->seen |= err == 0;
    bool ran = err == 0 && window == WINDOW_OK;
    struct slowdown_asm_counts counts = {0};
    bool known = ran && counts_of(epochs, sources, &sum, &counts) &&
                 estimate(epochs, &counts, status, &result);
    bool present = known && !ending;
    double rate = 0;
    if (present)
        rate = slowdown_alone_rate_hz((double)counts.quantum_cycles, sum.enabled_ns,
                                      result.alone_rate);
    epochs_show(epochs, set);
    slowdown_set_gauge(set, S_ASM_RATIO, present, result.ratio);
    slowdown_set_gauge(set, S_ASM_ALONE_RATE, present, rate);
    shadow_collect(&epochs->shadow, ran ? &sum : NULL, status, set, ending);
    return err == -ENODATA ? 0 : err;
}

void epochs_show(const struct epochs *epochs, struct slowdown_set *set)
{
    slowdown_set_count(set, S_ASM_OBSERVED, epochs->seen, epochs->observed_cycles);
    shadow_show(&epochs->shadow, set);
}
