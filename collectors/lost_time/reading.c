#include "collectors/lost_time/reading.h"

#include <math.h>

#include "collectors/parts/window_read.h"

void lost_bounds_init(struct lost_bounds *bounds)
{
    *bounds = (struct lost_bounds){NAN, NAN, NAN, NAN, UINT64_MAX};
}

static double level(const struct reading_row *row, enum role role, double unit)
{
    int i = group_index(GROUP_BOUNDS, role);
    return row->present >> i & 1 ? (double)row->count[i] * unit : NAN;
}

void lost_bounds_take(struct lost_bounds *bounds, const struct reading *reading)
{
    if (reading->n == 0)
        return;
    const struct reading_row *row = reading_row(reading, 0);
    int set = group_index(GROUP_BOUNDS, ROLE_CPU_SET);
    *bounds = (struct lost_bounds){
        .entitled_cpus = level(row, ROLE_ENTITLED_NS, 1e-9),
        .quota_cpus = level(row, ROLE_QUOTA_NS, 1e-9),
        .memory_bytes = level(row, ROLE_MEMORY_BYTES, 1),
        .memory_limit_bytes = level(row, ROLE_MEMORY_LIMIT_BYTES, 1),
        .cpu_set = row->present >> set & 1 ? row->count[set] : UINT64_MAX,
    };
}

static double count(const struct window_sum *sum, enum role role)
{
    uint64_t counted;
    return window_count(sum, GROUP_WAITS, role, &counted) ? (double)counted : NAN;
}

void lost_window_take(struct lost_window *out, const struct window_sum *sum, double seconds,
                      const struct lost_bounds *bounds)
{
    double per_ns = 1e-9 / seconds, periods = count(sum, ROLE_QUOTA_PERIODS);
    double some = count(sum, ROLE_CPU_SOME_NS), delay = count(sum, ROLE_RUN_DELAY_NS);
    *out = (struct lost_window){
        .cpus = count(sum, ROLE_CPU_TIME_NS) * per_ns,
        .entitled_cpus = bounds->entitled_cpus,
        .throttled = periods > 0 ? count(sum, ROLE_THROTTLED_PERIODS) / periods : 0,
        /* Delays of several tasks add up, and say as much only. */
        .cpu_some = isnan(some) ? fmin(delay * per_ns, 1) : some * per_ns,
        .cpu_full = count(sum, ROLE_CPU_FULL_NS) * per_ns,
        .memory_some = count(sum, ROLE_MEMORY_SOME_NS) * per_ns,
        .disk_some = count(sum, ROLE_IO_SOME_NS) * per_ns,
        .steal = count(sum, ROLE_STEAL_NS) * per_ns,
        .node_memory_some = count(sum, ROLE_NODE_MEMORY_SOME_NS) * per_ns,
        .limit_events = count(sum, ROLE_MEMORY_LIMIT_EVENTS),
        .refaults = count(sum, ROLE_REFAULTS) / seconds,
        .node_reclaimed = count(sum, ROLE_NODE_RECLAIMED),
        .slow_reads = NAN,
        .run_delay = NAN,
    };
    if (isnan(some) && isnan(delay))
        out->cpu_some = NAN; /* fmin() takes the number */
}
