#include "tests/research/amd.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "collectors/events/events.h"
#include "collectors/formulas/core_latency.h"
#include "collectors/probe/calibration.h"

#define CHASE "\"chase\":{\"kind\":\"chase\",\"bytes\":268435456,\"sequential\":true}"
#define HITS                                                                                       \
    "\"l2_hits\":{\"kind\":\"chase\",\"bytes\":262144},"                                           \
    "\"l3_hits\":{\"kind\":\"chase\",\"bytes\":2097152}"
/* A NUMA node of four, as the firmware divides such an EPYC on demand: three complexes, three
 * channels. */
#define QUARTER "\"preset\":\"zen4\",\"cores_per_socket\":24,\"memory\":{\"channels\":6}"
#define LOADS                                                                                      \
    "\"stress\":{\"kind\":\"stream\",\"bytes\":134217728,\"streams\":2,"                           \
    "\"instructions_per_access\":30,\"store_share\":0.3},"                                         \
    "\"hitter\":{\"kind\":\"random\",\"bytes\":2097152,\"instructions_per_access\":50}"

static const char LOCAL_CHASE[] = "\"key\":\"chase\",\"workload\":\"chase\",\"prefetch\":false,"
                                  "\"cpus\":[0]";

/* Totals at one moment. */
struct totals {
    double in_flight, l2, l3, memory, loads;
    uint64_t cycles, ref_cycles;
    struct simnode_truth truth;
};

unsigned amd_windows(const struct reproduction *r)
{
    return r->reduced ? AMD_REDUCED_WINDOWS : AMD_WINDOWS;
}

static unsigned warm_up(const struct reproduction *r, const struct amd_experiment *e)
{
    return e->warm_up ? e->warm_up : r->reduced ? AMD_REDUCED_WARM_UP : AMD_WARM_UP;
}

static int tick_cycles(const struct reproduction *r, const struct amd_experiment *e)
{
    return e->tick_cycles ? e->tick_cycles : r->reduced ? AMD_REDUCED_TICK_CYCLES : AMD_TICK_CYCLES;
}

double amd_l1_cycles(void)
{
    return event_table_zen4.l1d_hit_cycles;
}

double amd_error_percent(double estimate, double truth)
{
    return (estimate / truth - 1) * 100;
}

const char *amd_error_text(double estimate, double truth, char *out, size_t size)
{
    if (isnan(estimate) || isnan(truth))
        snprintf(out, size, "-");
    else
        snprintf(out, size, "%+.2f %%", amd_error_percent(estimate, truth));
    return out;
}

/* --- the scenario --- */

static size_t add_cpus(char *out, size_t size, int from, int to)
{
    size_t n = 0;

    for (int cpu = from; cpu <= to && n < size; cpu++)
        n += (size_t)snprintf(out + n, size - n, "%s%d", cpu > from ? "," : "", cpu);
    return n;
}

static void load_text(unsigned load, unsigned start_tick, char *out, size_t size)
{
    static const struct {
        unsigned bit;
        const char *workload;
        int from, to;
    } loads[] = {
        {AMD_LOAD_MEMORY, "stress", 9, 23},
        {AMD_LOAD_COMPLEX, "stress", 1, 7},
        {AMD_LOAD_L3, "hitter", 1, 7},
    };
    size_t n = 0;

    *out = '\0';
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        char cpus[512];

        if (!(load & loads[i].bit))
            continue;
        add_cpus(cpus, sizeof(cpus), loads[i].from, loads[i].to);
        n += (size_t)snprintf(out + n, size - n,
                              ",{\"key\":\"load%u\",\"workload\":\"%s\",\"prefetch\":false,"
                              "\"cpus\":[%s],\"start_tick\":%u}",
                              loads[i].bit, loads[i].workload, cpus, start_tick);
    }
}

static int parse(const struct reproduction *r, const struct amd_experiment *e,
                 struct scenario **out)
{
    char load[2048], json[8192];

    load_text(e->load, warm_up(r, e) > 2 && e->warm_up ? warm_up(r, e) - 1 : 1, load, sizeof(load));
    snprintf(json, sizeof(json),
             "{\"scenario\":1,\"ticks\":%u,\"tick_cycles\":%d,\"machine\":{%s" QUARTER "},"
             "\"effects\":{%s},\"workloads\":{" CHASE "," HITS "," LOADS "%s},"
             "\"containers\":[{%s}%s]}",
             warm_up(r, e) + amd_windows(r), tick_cycles(r, e), e->machine ? e->machine : "",
             e->effects ? e->effects : "", e->workloads ? e->workloads : "",
             e->target ? e->target : LOCAL_CHASE, load);
    return make_scenario(json, out);
}

/* --- windows --- */

static void read_totals(struct simnode *node, struct totals *out)
{
    struct simnode_reading reading;

    *out = (struct totals){0};
    if (simnode_read_container(node, 0, GROUP_FILLS, &reading) == 0) {
        const uint64_t *values = reading.values;

        out->cycles = values[group_index(GROUP_FILLS, ROLE_CYCLES)];
        out->ref_cycles = values[group_index(GROUP_FILLS, ROLE_REF_CYCLES)];
        out->in_flight = (double)values[group_index(GROUP_FILLS, ROLE_L1D_MISS_OCCUPANCY)];
        out->l2 = (double)values[group_index(GROUP_FILLS, ROLE_L1D_FILLS_L2)];
        out->l3 = (double)values[group_index(GROUP_FILLS, ROLE_L1D_FILLS_L3)];
        out->memory = (double)values[group_index(GROUP_FILLS, ROLE_L1D_FILLS_MEMORY)];
    }
    if (simnode_read_container(node, 0, GROUP_LOADS, &reading) == 0)
        out->loads = (double)reading.values[0];
    simnode_truth(node, 0, &out->truth);
}

static double mean_ns(double sum_a, double sum_b, uint64_t n_a, uint64_t n_b)
{
    return n_b > n_a ? (sum_b - sum_a) / (double)(n_b - n_a) : NAN;
}

/* As core_latency and the probe do it: what is beyond the caches stands in for Intel's occupancy.
 */
static void estimate(double base_hz, struct fill_times times, const struct fills *fills,
                     const struct totals *a, const struct totals *b, struct amd_window *out)
{
    struct core_latency_counts counts = {.cycles = b->cycles - a->cycles,
                                         .ref_cycles = b->ref_cycles - a->ref_cycles,
                                         .reads = (uint64_t)fills->memory};
    const struct core_cache cache = {amd_l1_cycles() + times.l3, 0};
    double beyond, hz, served = fills->l2 * times.l2 + fills->l3 * times.l3;
    struct core_latency latency;

    out->estimate_ns = out->unruled_ns = NAN;
    out->cache_share = served / fills->in_flight;
    if (core_frequency_hz(counts.cycles, counts.ref_cycles, base_hz, &hz) == 0 && fills->memory > 0)
        out->unruled_ns =
            (amd_l1_cycles() + (fills->in_flight - served) / fills->memory) / hz * 1e9;
    out->err = fills_beyond(fills, times, &beyond);
    if (out->err)
        return;
    counts.occupancy = (uint64_t)beyond;
    out->err = core_latency_estimate(&counts, base_hz, cache, &latency);
    if (!out->err)
        out->estimate_ns = latency.latency_seconds * 1e9;
}

static void make_window(const struct scenario *scenario, struct fill_times times,
                        const struct totals *a, const struct totals *b, struct amd_window *out)
{
    const struct fills fills = {.in_flight = b->in_flight - a->in_flight,
                                .l2 = b->l2 - a->l2,
                                .l3 = b->l3 - a->l3,
                                .memory = b->memory - a->memory};

    *out = (struct amd_window){
        .truth_ns = mean_ns(a->truth.latency_ns_sum, b->truth.latency_ns_sum, a->truth.reads,
                            b->truth.reads),
        .own_ns = mean_ns(a->truth.own_latency_ns_sum, b->truth.own_latency_ns_sum,
                          a->truth.own_reads, b->truth.own_reads),
        .l2_fills = fills.l2,
        .l3_fills = fills.l3,
        .memory_fills = fills.memory,
        .in_flight = fills.in_flight,
        .cycles = (double)(b->cycles - a->cycles),
        .loads = b->loads - a->loads,
    };
    estimate(scenario->machine.base_hz, times, &fills, a, b, out);
}

static void average(struct amd_measurement *m)
{
    double l2 = 0, l3 = 0, memory = 0, in_flight = 0, cycles = 0, n = 0;

    m->truth_ns = m->own_ns = m->estimate_ns = 0;
    m->unruled_ns = m->all_truth_ns = m->cache_share = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct amd_window *w = &m->windows[i];

        m->unknown += w->err == -ENODATA;
        m->implausible += w->err == -ERANGE;
        m->unruled_ns += w->unruled_ns / (double)m->n;
        m->all_truth_ns += w->truth_ns / (double)m->n;
        m->cache_share += w->cache_share / (double)m->n;
        l2 += w->l2_fills;
        l3 += w->l3_fills;
        memory += w->memory_fills;
        in_flight += w->in_flight;
        cycles += w->cycles;
        if (w->err)
            continue;
        n++;
        m->truth_ns += w->truth_ns;
        m->own_ns += w->own_ns;
        m->estimate_ns += w->estimate_ns;
    }
    m->truth_ns = n > 0 ? m->truth_ns / n : NAN;
    m->own_ns = n > 0 ? m->own_ns / n : NAN;
    m->estimate_ns = n > 0 ? m->estimate_ns / n : NAN;
    m->buffers = in_flight / cycles;
    m->l2_per_memory_fill = l2 / memory;
    m->l3_per_memory_fill = l3 / memory;
}

int amd_run(const struct reproduction *r, const struct amd_experiment *e,
            struct amd_measurement *out)
{
    struct totals before, after;
    struct scenario *scenario;
    struct simnode *node;
    struct fill_times times = e->times;
    int err = parse(r, e, &scenario);

    if (err)
        return err;
    if (!(times.l3 > 0))
        times = (struct fill_times){.l2 = (double)scenario_l2_fill_cycles(&scenario->machine),
                                    .l3 = (double)scenario_l3_fill_cycles(&scenario->machine)};
    *out = (struct amd_measurement){.n = 0};
    err = simnode_new(scenario, &node);
    if (!err) {
        for (unsigned tick = 0; !err && tick < warm_up(r, e); tick++)
            err = simnode_run_tick(node);
        read_totals(node, &before);
        while (!err && out->n < amd_windows(r)) {
            err = simnode_run_tick(node);
            read_totals(node, &after);
            make_window(scenario, times, &before, &after, &out->windows[out->n++]);
            before = after;
        }
        simnode_free(node);
    }
    if (!err)
        average(out);
    scenario_free(scenario);
    return err;
}

/* --- hits --- */

/* Cycles a load of a chase. The second shortest of as many windows as the probe wants: those of the
 * run, again and again where there are fewer. */
static int measure_hits(const struct reproduction *r, const struct amd_experiment *e,
                        const char *workload, double *out)
{
    struct hit_calibration calibration = {.n = 0};
    struct amd_experiment chase = *e;
    struct amd_measurement m;
    char target[128];

    snprintf(target, sizeof(target),
             "\"key\":\"hits\",\"workload\":\"%s\",\"prefetch\":false,\"cpus\":[0]", workload);
    chase.target = target;
    /* Its first lap takes 14 million cycles. */
    chase.warm_up = 16;
    chase.tick_cycles = 1000000;
    int err = amd_run(r, &chase, &m);
    if (err)
        return err;
    for (size_t i = 0; i < CALIBRATION_HITS; i++) {
        const struct amd_window *w = &m.windows[i % m.n];

        (void)hit_calibration_add(&calibration, w->cycles / w->loads, out);
    }
    return 0;
}

int amd_measure_times(const struct reproduction *r, const struct amd_experiment *e,
                      struct fill_times *out)
{
    double l2 = 0, l3 = 0;
    int err = measure_hits(r, e, "l2_hits", &l2);

    if (!err)
        err = measure_hits(r, e, "l3_hits", &l3);
    *out = (struct fill_times){.l2 = l2 - amd_l1_cycles(), .l3 = l3 - amd_l1_cycles()};
    return err;
}
