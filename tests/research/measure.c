#include <errno.h>
#include <math.h>
#include <string.h>

#include "collectors/formulas/core_latency.h"
#include "collectors/formulas/imc_latency.h"
#include "tests/research/reproduce.h"

/* Totals at one moment, of all that a window needs. */
struct totals {
    uint64_t cycles, ref_cycles, reads, occupancy, loads_local, loads_remote;
    uint64_t clockticks, inserts, queue_occupancy, pmm_inserts, pmm_occupancy, cas;
    uint64_t now_ns;
    struct simnode_truth truth;
};

static uint64_t value_of(const struct simnode_reading *reading, enum group group, enum role role)
{
    return reading->values[group_index(group, role)];
}

static void read_totals(struct simnode *node, const struct scenario *scenario, size_t index,
                        struct totals *out)
{
    struct simnode_reading reading;
    size_t channels = (size_t)scenario->machine.channels;
    size_t first = (size_t)scenario->containers[index].memory[0].node * channels;

    *out = (struct totals){.now_ns = simnode_now_ns(node)};
    if (simnode_read_container(node, index, GROUP_CORE, &reading) == 0) {
        out->cycles = value_of(&reading, GROUP_CORE, ROLE_CYCLES);
        out->ref_cycles = value_of(&reading, GROUP_CORE, ROLE_REF_CYCLES);
        out->reads = value_of(&reading, GROUP_CORE, ROLE_L3_MISS_READS);
        out->occupancy = value_of(&reading, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY);
    }
    if (simnode_read_container(node, index, GROUP_STALLS, &reading) == 0) {
        out->loads_local = value_of(&reading, GROUP_STALLS, ROLE_LOADS_LOCAL_DRAM);
        out->loads_remote = value_of(&reading, GROUP_STALLS, ROLE_LOADS_REMOTE_DRAM);
    }
    for (size_t i = first; i < first + channels; i++) {
        struct simnode_unit_totals unit;

        simnode_unit_totals(node, i, &unit);
        out->cas += unit.cas_reads + unit.cas_writes;
        if (simnode_read_unit(node, i, GROUP_RPQ, &reading) == 0) {
            out->clockticks = reading.values[0];
            out->inserts += reading.values[1];
            out->queue_occupancy += reading.values[2];
        }
        if (simnode_read_unit(node, i, GROUP_PMM_RPQ, &reading) == 0) {
            out->pmm_inserts += reading.values[1];
            out->pmm_occupancy += reading.values[2];
        }
    }
    simnode_truth(node, index, &out->truth);
}

static double controller_ns(const struct scenario *scenario, size_t index, const struct totals *a,
                            const struct totals *b)
{
    const struct dram_config *dram = &scenario->machine.dram;
    double cas_seconds = (double)dram->timing.cl / dram->clock_hz, hz, seconds;
    int err = imc_frequency_hz(b->clockticks - a->clockticks, b->now_ns - a->now_ns, &hz);

    if (!err && scenario->containers[index].memory[0].pmm)
        err = imc_pmm_latency_seconds(b->pmm_occupancy - a->pmm_occupancy,
                                      b->pmm_inserts - a->pmm_inserts, hz, &seconds);
    else if (!err)
        err = imc_dram_latency_seconds(b->queue_occupancy - a->queue_occupancy,
                                       b->inserts - a->inserts, hz, cas_seconds, &seconds);
    return err ? NAN : seconds * 1e9;
}

static int make_window(const struct scenario *scenario, size_t index, struct core_cache cache,
                       const struct totals *a, const struct totals *b, struct latency_window *out)
{
    struct core_latency_counts counts = {
        .cycles = b->cycles - a->cycles,
        .ref_cycles = b->ref_cycles - a->ref_cycles,
        .reads = b->reads - a->reads,
        .occupancy = b->occupancy - a->occupancy,
    };
    uint64_t true_reads = b->truth.reads - a->truth.reads;
    struct core_latency latency;
    int err = core_latency_estimate(&counts, scenario->machine.base_hz, cache, &latency);

    if (err)
        return err;
    *out = (struct latency_window){
        .truth_ns = (b->truth.latency_ns_sum - a->truth.latency_ns_sum) / (double)true_reads,
        .core_ns = latency.latency_seconds * 1e9,
        .core_cycles = latency.cycles,
        .controller_ns = controller_ns(scenario, index, a, b),
        .frequency_hz = latency.frequency_hz,
        .reads = counts.reads,
        .loads_local = b->loads_local - a->loads_local,
        .loads_remote = b->loads_remote - a->loads_remote,
        .dram_bytes_per_second = (double)(b->cas - a->cas) * 64e9 / (double)(b->now_ns - a->now_ns),
        .cycles = counts.cycles,
        .ref_cycles = counts.ref_cycles,
        .occupancy = counts.occupancy,
    };
    return 0;
}

static void average(struct measurement *m)
{
    struct latency_window sum = {0};
    double n = (double)m->n;

    for (size_t i = 0; i < m->n; i++) {
        const struct latency_window *w = &m->windows[i];

        sum.truth_ns += w->truth_ns / n;
        sum.core_ns += w->core_ns / n;
        sum.core_cycles += w->core_cycles / n;
        sum.controller_ns += w->controller_ns / n;
        sum.frequency_hz += w->frequency_hz / n;
        sum.dram_bytes_per_second += w->dram_bytes_per_second / n;
        sum.reads += w->reads;
        sum.loads_local += w->loads_local;
        sum.loads_remote += w->loads_remote;
        sum.cycles += w->cycles;
        sum.ref_cycles += w->ref_cycles;
        sum.occupancy += w->occupancy;
    }
    m->mean = sum;
}

static int run_windows(struct simnode *node, const struct scenario *scenario, size_t index,
                       unsigned warm_up, struct core_cache cache, struct measurement *out)
{
    struct totals before, after;
    int err = 0;

    read_totals(node, scenario, index, &before);
    for (int64_t tick = 1; tick <= scenario->ticks; tick++) {
        err = simnode_run_tick(node);
        if (err)
            return err;
        read_totals(node, scenario, index, &after);
        if (tick > warm_up && out->n < MEASURE_MAX_WINDOWS)
            err = make_window(scenario, index, cache, &before, &after, &out->windows[out->n++]);
        if (err)
            return err;
        before = after;
    }
    return 0;
}

int make_scenario(const char *json, struct scenario **out)
{
    char error[512];
    int err = scenario_parse("reproduction", json, strlen(json), out, error, sizeof(error));

    if (err)
        fprintf(stderr, "reproduce: %s\n", error);
    return err;
}

int measure(const char *scenario_json, size_t index, unsigned warm_up, struct core_cache cache,
            struct measurement *out)
{
    struct scenario *scenario;
    struct simnode *node;
    int err = make_scenario(scenario_json, &scenario);

    if (err)
        return err;
    if (!(cache.cycles > 0))
        cache = (struct core_cache){(double)scenario_cache_cycles(&scenario->machine),
                                    scenario_cache_seconds(&scenario->machine)};
    out->n = 0;
    err = simnode_new(scenario, &node);
    if (!err) {
        err = run_windows(node, scenario, index, warm_up, cache, out);
        simnode_free(node);
    }
    if (!err)
        average(out);
    scenario_free(scenario);
    return err;
}
