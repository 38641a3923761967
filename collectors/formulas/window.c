#include "collectors/formulas/window.h"

#include <stdbool.h>
#include <string.h>

const char *window_status_name(enum window_status status)
{
    static const char *const names[] = {
        [WINDOW_OK] = "ok",
        [WINDOW_IDLE] = "idle",
        [WINDOW_STARVED] = "starved",
        [WINDOW_RESET] = "reset",
    };
    return names[status];
}

void window_init(struct window_sum *sum, size_t n)
{
    memset(sum, 0, sizeof *sum);
    sum->n = n < WINDOW_MAX_COUNTS ? n : WINDOW_MAX_COUNTS;
    sum->present = UINT32_MAX >> (32 - WINDOW_MAX_COUNTS);
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

static bool add_counts(struct window_sum *sum, const uint64_t *before, const uint64_t *count,
                       uint32_t present, uint64_t enabled, uint64_t running)
{
    uint64_t total[WINDOW_MAX_COUNTS];

    for (size_t i = 0; i < sum->n; i++) {
        if (!(present >> i & 1))
            continue;
        uint64_t from = before ? before[i] : 0;
        uint64_t scaled = 0;
        if (count[i] < from)
            return false;
        if (running > 0 && !scale(count[i] - from, enabled, running, &scaled))
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
    if (!before_count)
        before_enabled_ns = before_running_ns = 0;
    if (enabled_ns < before_enabled_ns || running_ns < before_running_ns) {
        sum->reset++;
        return;
    }
    uint64_t enabled = enabled_ns - before_enabled_ns;
    uint64_t running = running_ns - before_running_ns;
    bool ran = enabled > 0 && running > 0;

    /* An idle or starved CPU adds nothing, but a fallen total must not pass unseen there either. */
    if (!add_counts(sum, before_count, count, present, ran ? enabled : 0, ran ? running : 0)) {
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
