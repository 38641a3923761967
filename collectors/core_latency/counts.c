#include "collectors/core_latency/counts.h"

#include <errno.h>
#include <math.h>

#include "collectors/parts/core_lane.h"
#include "collectors/parts/fill_counts.h"
#include "collectors/parts/window_read.h"

/* One more than the count of a role in whichever of the groups has it; 0: it has none. */
static const uint8_t count_of[ROLE_COUNT] = {
    [ROLE_CYCLES] = C_CYCLES + 1,
    [ROLE_REF_CYCLES] = C_REF_CYCLES + 1,
    [ROLE_INSTRUCTIONS] = C_INSTRUCTIONS + 1,
    [ROLE_L3_MISS_READS] = C_READS + 1,
    [ROLE_L3_MISS_READ_OCCUPANCY] = C_OCCUPANCY + 1,
    [ROLE_LLC_READS] = C_LLC_READS + 1,
    [ROLE_L3_MISS_READ_ACTIVE] = C_ACTIVE + 1,
    [ROLE_L1D_FILLS_MEMORY] = C_READS + 1,
    [ROLE_L1D_MISS_OCCUPANCY] = C_IN_FLIGHT + 1,
    [ROLE_L1D_FILLS_L2] = C_L2_FILLS + 1,
    [ROLE_LOADS_IN_FLIGHT] = C_LOADS_IN_FLIGHT + 1,
    [ROLE_MEMORY_STALLS] = C_STALLS + 1,
};

uint32_t counts_basic(enum group group)
{
    const uint32_t cpi = 1u << C_CYCLES | 1u << C_INSTRUCTIONS;
    const uint32_t reads = cpi | 1u << C_REF_CYCLES | 1u << C_READS;
    return group == GROUP_CPI ? cpi : group == GROUP_CORE ? reads | 1u << C_OCCUPANCY : reads;
}

uint32_t counts_of_any_cpu(void)
{
    return counts_basic(GROUP_CPI) | 1u << C_REF_CYCLES;
}

static void add(struct counts *out, enum container_metric c, uint64_t count)
{
    out->count[c] = count;
    out->counted |= 1u << c;
}

static void take_fills(const struct window_sum *sum, enum group group, const struct facts *facts,
                       struct counts *out)
{
    struct fill_times times = fill_times_of(facts);
    struct fills fills = {0};
    uint64_t l3;
    if (group == GROUP_FILLS && window_count(sum, group, ROLE_L1D_FILLS_L3, &l3))
        add(out, C_LLC_READS, l3 + out->count[C_READS]);
    int err = fill_counts(sum, group, &fills);
    out->too_few = err == -ENODATA;
    if (facts->in_flight_untrue)
        out->counted &= ~(1u << C_IN_FLIGHT | 1u << C_LOADS_IN_FLIGHT);
    if (out->too_few || facts->in_flight_untrue || !(times.l3 > 0))
        return;
    double beyond = 0;
    if (!err)
        (void)fills_beyond(&fills, times, &beyond);
    add(out, C_OCCUPANCY, (uint64_t)llround(beyond));
}

void counts_take(const struct window_sum *sum, enum group group, const struct facts *facts,
                 struct counts *out)
{
    *out = (struct counts){.counted = 0};
    for (size_t i = 0; i < sum->n; i++) {
        unsigned count = count_of[group_descs[group].roles[i]];
        if (count > 0 && (sum->present >> i & 1))
            add(out, count - 1, sum->count[i]);
    }
    if (group == GROUP_FILLS || group == GROUP_IN_FLIGHT)
        take_fills(sum, group, facts, out);
    if (facts->l3_miss_reads_filtered && group != GROUP_CORE)
        out->counted &= counts_of_any_cpu();
}

static int sums_of_fills(const struct window_sum *sum, enum group group, const struct facts *facts,
                         struct core_latency_sums *out)
{
    struct fills fills = {0};
    int err = facts->in_flight_untrue || facts->l3_miss_reads_filtered
                  ? -ENODATA
                  : fill_counts_weighed(sum, group, &fills);
    out->reference_reads = fills.memory;
    return err ? err : fills_beyond(&fills, fill_times_of(facts), &out->reference_occupancy);
}

/* Of cores that count cycles stalled for memory, and nothing in flight: in the place of a latency,
 * with no look through caches in it. */
static int sums_of_stalls(const struct window_sum *sum, const struct facts *facts,
                          struct core_latency_sums *out)
{
    uint64_t stalls;
    if (facts->l3_miss_reads_filtered ||
        !window_count(sum, GROUP_MISSES, ROLE_MEMORY_STALLS, &stalls) || stalls == 0)
        return -ENODATA;
    out->reference_occupancy = sum->reference[group_index(GROUP_MISSES, ROLE_MEMORY_STALLS)];
    out->reference_reads = sum->reference[group_index(GROUP_MISSES, ROLE_L3_MISS_READS)];
    return 0;
}

int counts_sums(const struct window_sum *sum, enum group group, const struct facts *facts,
                struct core_latency_sums *out)
{
    struct core_latency_sums sums = {.reads = 0};
    if (!window_count(sum, group, core_group_reads(group), &sums.reads) || sums.reads == 0)
        return -ENODATA;
    if (sum->clockless > 0)
        return -ERANGE;
    int err = 0;
    if (group == GROUP_FILLS || group == GROUP_IN_FLIGHT) {
        err = sums_of_fills(sum, group, facts, &sums);
    } else if (group == GROUP_MISSES) {
        err = sums_of_stalls(sum, facts, &sums);
    } else {
        sums.reference_reads = sum->reference[group_index(group, ROLE_L3_MISS_READS)];
        sums.reference_occupancy = sum->reference[group_index(group, ROLE_L3_MISS_READ_OCCUPANCY)];
        err = sums.reference_occupancy > 0 ? 0 : -ERANGE;
    }
    if (!err)
        *out = sums;
    return err;
}
