#include "exporter/source/window.h"

#include <stdbool.h>
#include <string.h>

#include "exporter/source/source.h"

void window_init(struct window_sum *sum, size_t n)
{
    memset(sum, 0, sizeof *sum);
    sum->n = n < GROUP_MAX_ROLES ? n : GROUP_MAX_ROLES;
    sum->present = UINT32_MAX >> (32 - GROUP_MAX_ROLES);
}

/* count * enabled / running to the nearest integer; false when that needs more than 64 bits. */
static bool scale(uint64_t count, uint64_t enabled, uint64_t running, uint64_t *out)
{
    if (enabled == running) {
        *out = count;
        return true;
    }
    /* At most (2^64 - 1)^2 + 2^63, which 128 bits hold. */
    unsigned __int128 scaled = ((unsigned __int128)count * enabled + running / 2) / running;
    if (scaled > UINT64_MAX)
        return false;
    *out = (uint64_t)scaled;
    return true;
}

/* A tick has a row for every container and CPU, nearly all of them idle or with nothing to scale:
 * those have loops of their own. */
static bool any_fell(size_t n, const uint64_t *before, const uint64_t *count, uint32_t present)
{
    uint32_t fell = 0;
    for (size_t i = 0; i < n; i++)
        fell |= (uint32_t)(count[i] < before[i]) << i;
    return (fell & present) != 0;
}

/* Every count is there, and the group ran all the time. Sums that wrap are taken back. */
static bool add_unscaled(struct window_sum *restrict sum, const uint64_t *restrict before,
                         const uint64_t *restrict count)
{
    bool wrong = false;
    for (size_t i = 0; i < sum->n; i++) {
        uint64_t added;
        wrong |= __builtin_sub_overflow(count[i], before[i], &added);
        wrong |= __builtin_add_overflow(sum->count[i], added, &sum->count[i]);
    }
    for (size_t i = 0; wrong && i < sum->n; i++)
        sum->count[i] -= count[i] - before[i];
    return !wrong;
}

/* Out of line, since its array would cost every row a larger frame. */
__attribute__((noinline)) static bool add_scaled(struct window_sum *sum, const uint64_t *before,
                                                 const uint64_t *count, uint32_t present,
                                                 uint64_t enabled, uint64_t running)
{
    uint64_t total[GROUP_MAX_ROLES];

    for (size_t i = 0; i < sum->n; i++) {
        if (!(present >> i & 1))
            continue;
        uint64_t scaled;
        if (count[i] < before[i] || !scale(count[i] - before[i], enabled, running, &scaled))
            return false;
        if (__builtin_add_overflow(sum->count[i], scaled, &total[i]))
            return false;
    }
    for (size_t i = 0; i < sum->n; i++)
        if (present >> i & 1)
            sum->count[i] = total[i];
    return true;
}

void window_add(struct window_sum *sum, uint64_t before_enabled_ns, uint64_t before_running_ns,
                const uint64_t *before_count, uint64_t enabled_ns, uint64_t running_ns,
                const uint64_t *count, uint32_t present)
{
    static const uint64_t zeros[GROUP_MAX_ROLES];
    if (!before_count) {
        before_enabled_ns = before_running_ns = 0;
        before_count = zeros;
    }
    if (enabled_ns < before_enabled_ns || running_ns < before_running_ns) {
        sum->reset++;
        return;
    }
    uint64_t enabled = enabled_ns - before_enabled_ns;
    uint64_t running = running_ns - before_running_ns;
    bool ran = enabled > 0 && running >= enabled / WINDOW_MAX_SCALE && running > 0, good;
    uint32_t all = (UINT32_C(1) << sum->n) - 1;

    /* An idle or starved CPU adds nothing, but a fallen total must not pass unseen there either. */
    if (!ran)
        good = !any_fell(sum->n, before_count, count, present);
    else if (enabled == running && (present & all) == all)
        good = add_unscaled(sum, before_count, count);
    else
        good = add_scaled(sum, before_count, count, present, enabled, running);
    if (!good) {
        sum->reset++;
        return;
    }
    sum->enabled_ns += enabled;
    sum->running_ns += running;
    if (ran) {
        sum->ran++;
        sum->present &= present;
    } else if (enabled > 0) {
        sum->starved++;
        sum->starved_ns += enabled;
    }
}

/* What was just added is the difference of the sums: the CPU's own counts. */
static void add_reference(struct window_sum *sum, const uint64_t *before, int cycles, int ref)
{
    uint64_t c = sum->count[cycles] - before[cycles], r = sum->count[ref] - before[ref];
    uint64_t any = 0;
    if (c > 0 && r > 0) {
        double ratio = (double)r / (double)c;
        for (size_t i = 0; i < sum->n; i++)
            sum->reference[i] += ratio * (double)(sum->count[i] - before[i]);
        return;
    }
    for (size_t i = 0; i < sum->n; i++)
        any |= sum->count[i] - before[i];
    sum->clockless += any != 0;
}

void window_sum_rows(struct window_sum *sum, enum group group, const struct reading *before,
                     const struct reading *after)
{
    int cycles = group_index(group, ROLE_CYCLES), ref = group_index(group, ROLE_REF_CYCLES);
    uint64_t earlier[GROUP_MAX_ROLES];
    /* Rows that have not changed add nothing. */
    bool known = after->changed && before->as_of + 1 == after->as_of;
    size_t n = known ? after->n_changed : after->n;
    window_init(sum, group_descs[group].n);
    for (size_t at = 0; at < n; at++) {
        size_t i = known ? after->changed[at] : at;
        const struct reading_row *now = reading_row(after, i);
        if (!now->present)
            continue;
        const struct reading_row *then = i < before->n ? reading_row(before, i) : NULL;
        if (then && !then->present)
            then = NULL;
        unsigned ran = sum->ran;
        memcpy(earlier, sum->count, sum->n * sizeof *earlier);
        window_add(sum, then ? then->enabled_ns : 0, then ? then->running_ns : 0,
                   then ? then->count : NULL, now->enabled_ns, now->running_ns, now->count,
                   then ? now->present & then->present : now->present);
        if (cycles >= 0 && ref >= 0 && sum->ran > ran)
            add_reference(sum, earlier, cycles, ref);
    }
}

enum window_status window_status(const struct window_sum *sum)
{
    if (sum->reset > 0)
        return WINDOW_RESET;
    if (sum->ran > 0)
        return WINDOW_OK;
    return sum->starved > 0 ? WINDOW_STARVED : WINDOW_IDLE;
}
