#include "collectors/placement/initiators.h"

#include <math.h>

#include "collectors/formulas/core_latency.h"
#include "collectors/parts/sockets.h"

/* One CPU's counts of the window, scaled alike. */
struct row {
    double cycles, ref_cycles, reads, occupancy, active;
};

static uint64_t since(const struct reading_row *then, const struct reading_row *now, enum role role)
{
    int i = group_index(GROUP_CORE, role);
    return now->count[i] - (then ? then->count[i] : 0);
}

/* False for a CPU that was idle or starved. */
static bool row_take(const struct reading_row *then, const struct reading_row *now, struct row *out)
{
    double scale = row_scale(then, now);
    if (!now->present || !(scale > 0))
        return false;
    *out = (struct row){
        .cycles = (double)since(then, now, ROLE_CYCLES) * scale,
        .ref_cycles = (double)since(then, now, ROLE_REF_CYCLES) * scale,
        .reads = (double)since(then, now, ROLE_L3_MISS_READS) * scale,
        .occupancy = (double)since(then, now, ROLE_L3_MISS_READ_OCCUPANCY) * scale,
        .active = (double)since(then, now, ROLE_L3_MISS_READ_ACTIVE) * scale,
    };
    return true;
}

static struct placement_counts *initiator_of(struct placement_window *out,
                                             const struct machine *machine, int cpu)
{
    int node = machine_numa_node_of(machine, cpu);
    return &out->of[node >= 0 && node < PLACEMENT_NODES ? node : PLACEMENT_ANYWHERE];
}

/* 'cache' is the sum over the reads until all CPUs are in. */
static void add(struct placement_window *out, const struct machine *machine, int cpu,
                const struct row *row)
{
    struct placement_counts *counts = initiator_of(out, machine, cpu);
    if (!(row->cycles > 0) || !(row->ref_cycles > 0)) {
        out->clockless |= row->reads > 0 || row->occupancy > 0 || row->active > 0;
        return;
    }
    double hz = row->cycles / row->ref_cycles * machine->base_frequency_hz;
    double cpu_seconds = row->ref_cycles / machine->base_frequency_hz;
    counts->reads += row->reads;
    counts->occupancy += row->occupancy / hz;
    counts->active += row->active / hz;
    counts->cpu += cpu_seconds;
    if (row->reads > 0)
        counts->cache += row->reads * core_cache_seconds(core_cache_of(machine), hz);
    out->cpu_seconds += cpu_seconds;
}

static bool is_counted(uint32_t present)
{
    static const enum role needed[] = {ROLE_CYCLES, ROLE_REF_CYCLES, ROLE_L3_MISS_READS,
                                       ROLE_L3_MISS_READ_OCCUPANCY, ROLE_L3_MISS_READ_ACTIVE};
    bool all = true;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        all &= present >> group_index(GROUP_CORE, needed[i]) & 1;
    return all;
}

void placement_window_take(const struct group_window *window, const struct facts *facts,
                           struct placement_window *out)
{
    *out = (struct placement_window){.counted = is_counted(window->sum->present)};
    if (!out->counted || !(facts->machine.base_frequency_hz > 0))
        return;
    for (size_t k = 0; k < window->after->n; k++) {
        const struct reading_row *now = reading_row(window->after, k);
        struct row row;
        if (row_take(row_before(window, k), now, &row))
            add(out, &facts->machine, now->cpu, &row);
    }
    for (int i = 0; i < PLACEMENT_INITIATORS; i++)
        if (out->of[i].reads > 0)
            out->of[i].cache /= out->of[i].reads;
}
