#include "collectors/core_latency/counts.h"

#include <errno.h>
#include <math.h>

#include "collectors/formulas/fill_latency.h"
#include "collectors/parts/window_read.h"

/* ROLE_COUNT: the group has none. */
static const struct {
    enum role core, fills;
} role_of[C_COUNTS] = {
    [C_CYCLES] = {ROLE_CYCLES, ROLE_CYCLES},
    [C_REF_CYCLES] = {ROLE_REF_CYCLES, ROLE_REF_CYCLES},
    [C_INSTRUCTIONS] = {ROLE_INSTRUCTIONS, ROLE_INSTRUCTIONS},
    [C_READS] = {ROLE_L3_MISS_READS, ROLE_L1D_FILLS_MEMORY},
    [C_OCCUPANCY] = {ROLE_L3_MISS_READ_OCCUPANCY, ROLE_COUNT},
    [C_LLC_READS] = {ROLE_LLC_READS, ROLE_COUNT},
    [C_ACTIVE] = {ROLE_L3_MISS_READ_ACTIVE, ROLE_COUNT},
    [C_IN_FLIGHT] = {ROLE_COUNT, ROLE_L1D_MISS_OCCUPANCY},
    [C_L2_FILLS] = {ROLE_COUNT, ROLE_L1D_FILLS_L2},
};

uint32_t counts_basic(enum group group)
{
    const uint32_t cpi = 1u << C_CYCLES | 1u << C_INSTRUCTIONS;
    const uint32_t reads = cpi | 1u << C_REF_CYCLES | 1u << C_READS;
    return group == GROUP_CPI ? cpi : group == GROUP_FILLS ? reads : reads | 1u << C_OCCUPANCY;
}

uint32_t counts_of_any_cpu(void)
{
    return counts_basic(GROUP_CPI) | 1u << C_REF_CYCLES;
}

static struct fill_times times_of(const struct facts *facts)
{
    return (struct fill_times){facts->machine.l2_fill_cycles, facts->machine.l3_fill_cycles};
}

static double reference_of(const struct window_sum *sum, enum role role)
{
    return sum->reference[group_index(GROUP_FILLS, role)];
}

static bool has_fills(const struct window_sum *sum)
{
    uint64_t unused;
    return window_count(sum, GROUP_FILLS, ROLE_L1D_MISS_OCCUPANCY, &unused) &&
           window_count(sum, GROUP_FILLS, ROLE_L1D_FILLS_L2, &unused) &&
           window_count(sum, GROUP_FILLS, ROLE_L1D_FILLS_L3, &unused);
}

static void add(struct counts *out, enum container_metric c, uint64_t count)
{
    out->count[c] = count;
    out->counted |= 1u << c;
}

static void take_fills(const struct window_sum *sum, const struct facts *facts, struct counts *out)
{
    struct fill_times times = times_of(facts);
    uint64_t l3;
    if (window_count(sum, GROUP_FILLS, ROLE_L1D_FILLS_L3, &l3))
        add(out, C_LLC_READS, l3 + out->count[C_READS]);
    out->too_few = !has_fills(sum);
    if (facts->l3_miss_reads_filtered) {
        out->counted &= counts_of_any_cpu();
        return;
    }
    if (facts->in_flight_untrue)
        out->counted &= ~(1u << C_IN_FLIGHT);
    if (out->too_few || facts->in_flight_untrue || !(times.l3 > 0))
        return;
    const struct fills fills = {
        .in_flight = (double)out->count[C_IN_FLIGHT],
        .l2 = (double)out->count[C_L2_FILLS],
        .l3 = (double)l3,
        .memory = (double)out->count[C_READS],
    };
    double beyond = 0;
    (void)fills_beyond(&fills, times, &beyond);
    add(out, C_OCCUPANCY, (uint64_t)llround(beyond));
}

void counts_take(const struct window_sum *sum, enum group group, const struct facts *facts,
                 struct counts *out)
{
    *out = (struct counts){.counted = 0};
    for (int c = 0; c < C_COUNTS; c++) {
        enum role role = group == GROUP_FILLS ? role_of[c].fills : role_of[c].core;
        uint64_t count;
        if (role != ROLE_COUNT && window_count(sum, group, role, &count))
            add(out, (enum container_metric)c, count);
    }
    if (group == GROUP_FILLS)
        take_fills(sum, facts, out);
}

static int sums_of_fills(const struct window_sum *sum, const struct facts *facts,
                         struct core_latency_sums *out)
{
    const struct fills fills = {
        .in_flight = reference_of(sum, ROLE_L1D_MISS_OCCUPANCY),
        .l2 = reference_of(sum, ROLE_L1D_FILLS_L2),
        .l3 = reference_of(sum, ROLE_L1D_FILLS_L3),
        .memory = reference_of(sum, ROLE_L1D_FILLS_MEMORY),
    };
    if (!has_fills(sum) || facts->in_flight_untrue || facts->l3_miss_reads_filtered)
        return -ENODATA;
    out->reference_reads = fills.memory;
    return fills_beyond(&fills, times_of(facts), &out->reference_occupancy);
}

int counts_sums(const struct window_sum *sum, enum group group, const struct facts *facts,
                struct core_latency_sums *out)
{
    struct core_latency_sums sums = {.reads = 0};
    enum role role = group == GROUP_FILLS ? ROLE_L1D_FILLS_MEMORY : ROLE_L3_MISS_READS;
    if (!window_count(sum, group, role, &sums.reads) || sums.reads == 0)
        return -ENODATA;
    if (sum->clockless > 0)
        return -ERANGE;
    int err = 0;
    if (group == GROUP_FILLS) {
        err = sums_of_fills(sum, facts, &sums);
    } else {
        sums.reference_reads = sum->reference[group_index(group, ROLE_L3_MISS_READS)];
        sums.reference_occupancy = sum->reference[group_index(group, ROLE_L3_MISS_READ_OCCUPANCY)];
        err = sums.reference_occupancy > 0 ? 0 : -ERANGE;
    }
    if (!err)
        *out = sums;
    return err;
}
