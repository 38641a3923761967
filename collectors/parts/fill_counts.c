#include "collectors/parts/fill_counts.h"

#include <errno.h>

#include "collectors/parts/window_read.h"

static int take(const struct window_sum *sum, enum group group, const enum role *roles, size_t n,
                bool weighed, double *out)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t count;
        if (!window_count(sum, group, roles[i], &count))
            return -ENODATA;
        out[i] = weighed ? sum->reference[group_index(group, roles[i])] : (double)count;
    }
    return 0;
}

static int of_fills(const struct window_sum *sum, bool weighed, struct fills *out)
{
    static const enum role roles[] = {ROLE_L1D_MISS_OCCUPANCY, ROLE_L1D_FILLS_L2, ROLE_L1D_FILLS_L3,
                                      ROLE_L1D_FILLS_MEMORY};
    double n[4];
    int err = take(sum, GROUP_FILLS, roles, 4, weighed, n);
    if (!err)
        *out = (struct fills){.in_flight = n[0], .l2 = n[1], .l3 = n[2], .memory = n[3]};
    return err;
}

static int of_loads(const struct window_sum *sum, bool weighed, struct fills *out)
{
    static const enum role roles[] = {ROLE_LOADS_IN_FLIGHT, ROLE_LOAD_ACCESSES,
                                      ROLE_L1D_LOAD_MISSES, ROLE_LLC_READS, ROLE_L3_MISS_READS};
    double n[5];
    int err = take(sum, GROUP_IN_FLIGHT, roles, 5, weighed, n);
    return err ? err : fills_of_loads(n[0], n[1], n[2], n[3], n[4], out);
}

static int counts(const struct window_sum *sum, enum group group, bool weighed, struct fills *out)
{
    return group == GROUP_FILLS ? of_fills(sum, weighed, out) : of_loads(sum, weighed, out);
}

int fill_counts(const struct window_sum *sum, enum group group, struct fills *out)
{
    return counts(sum, group, false, out);
}

int fill_counts_weighed(const struct window_sum *sum, enum group group, struct fills *out)
{
    return counts(sum, group, true, out);
}

struct fill_times fill_times_of(const struct facts *facts)
{
    return (struct fill_times){facts->machine.l2_fill_cycles, facts->machine.l3_fill_cycles,
                               facts->l1d_hits_in_flight ? facts->l1d_hit_cycles : 0};
}
