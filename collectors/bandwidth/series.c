#include "collectors/bandwidth/series.h"

#include "collectors/parts/named_series.h"

#define OF_BYTES                                                                                   \
    "to and from memory, in whole cache lines, as the caches' monitoring counts it: reads, "       \
    "prefetched lines and stores, but no devices. scope=\"local\" is the part of \"total\" that "  \
    "went to memory beside the L3 (what \"total\" has more crossed to another socket): never add " \
    "the two. "

#define OF_STALLS                                                                                  \
    "in which a core had nothing to do but wait for what missed the L3, as telemetry counts it "   \
    "(Linux 7.0, Intel's Clearwater Forest)."

static const struct metric_desc descs[BANDWIDTH_SUBJECTS][BANDWIDTH_METRICS] = {
    [BANDWIDTH_CONTAINER] =
        {
            [BANDWIDTH_BYTES] = METRIC(
                COUNTER, U64, "interference_container_memory_bandwidth_bytes", "container, scope",
                "Bytes that the container moved " OF_BYTES
                "A series without a container's name is of a whole pod. High: it loads "
                "memory for everybody on the socket."),
            [BANDWIDTH_OCCUPANCY] =
                METRIC(GAUGE, U64, "interference_container_llc_occupancy_bytes", "container",
                       "What of the last-level caches holds lines of the container's; without a "
                       "container's name, of the pod's. High: others find less room there."),
            [BANDWIDTH_ENERGY] =
                METRIC(COUNTER, DOUBLE, "interference_container_core_energy_joules", "container",
                       "Energy that cores used while they ran the container or, without a "
                       "container's name, the pod; where the CPU's telemetry tells it. High: it "
                       "works hard."),
            [BANDWIDTH_STALLS] =
                METRIC(COUNTER, U64, "interference_container_llc_miss_stall_cycles", "container",
                       "Cycles of the container or, without its name, the pod, " OF_STALLS
                       " High beside interference_container_unhalted_cycles_total: memory is what "
                       "it waits for."),
            [BANDWIDTH_CYCLES] =
                METRIC(COUNTER, U64, "interference_container_unhalted_cycles", "container",
                       "Cycles in which a core ran the container or, without its name, the pod, as "
                       "telemetry counts them: what stall cycles are a share of. High: it runs a "
                       "lot."),
        },
    [BANDWIDTH_NODE] =
        {
            [BANDWIDTH_BYTES] =
                METRIC(COUNTER, U64, "interference_node_memory_bandwidth_bytes", "socket, scope",
                       "Bytes that everybody on the socket's cores moved " OF_BYTES
                       "What containers have less is of others. High: the socket's memory is "
                       "busy."),
            [BANDWIDTH_OCCUPANCY] = METRIC(
                GAUGE, U64, "interference_node_llc_occupancy_bytes", "socket",
                "What of the socket's last-level caches holds anybody's lines. High: it is full."),
            [BANDWIDTH_ENERGY] =
                METRIC(COUNTER, DOUBLE, "interference_node_core_energy_joules", "socket",
                       "Energy that the socket's cores used for anybody, where telemetry tells it. "
                       "High: they work hard."),
            [BANDWIDTH_STALLS] = METRIC(
                COUNTER, U64, "interference_node_llc_miss_stall_cycles", "socket",
                "Cycles of the socket's cores " OF_STALLS " High: memory is what they wait for."),
            [BANDWIDTH_CYCLES] = METRIC(COUNTER, U64, "interference_node_unhalted_cycles", "socket",
                                        "Cycles in which the socket's cores ran anything, as "
                                        "telemetry counts them. High: they run a lot."),
        },
};

#define DESCS(subject)                                                                             \
    &descs[subject][BANDWIDTH_BYTES], &descs[subject][BANDWIDTH_OCCUPANCY],                        \
        &descs[subject][BANDWIDTH_ENERGY], &descs[subject][BANDWIDTH_STALLS],                      \
        &descs[subject][BANDWIDTH_CYCLES]

const struct metric_desc *const bandwidth_metrics[] = {DESCS(BANDWIDTH_CONTAINER),
                                                       DESCS(BANDWIDTH_NODE), NULL};

static const enum bandwidth_metric metric_of[MON_VALUES] = {
    [MON_TOTAL_BYTES] = BANDWIDTH_BYTES,
    [MON_LOCAL_BYTES] = BANDWIDTH_BYTES,
    [MON_OCCUPANCY_BYTES] = BANDWIDTH_OCCUPANCY,
    [MON_CORE_ENERGY] = BANDWIDTH_ENERGY,
    [MON_STALLS] = BANDWIDTH_STALLS,
    [MON_CYCLES] = BANDWIDTH_CYCLES,
};

int bandwidth_families_register(struct bandwidth_families *families, struct store *store)
{
    int err = 0;
    for (int s = 0; s < BANDWIDTH_SUBJECTS; s++)
        for (int m = 0; m < BANDWIDTH_METRICS && !err; m++)
            err = store_family(store, &descs[s][m], "bandwidth", &families->at[s][m]);
    return err;
}

/* ---- values ---- */

void bandwidth_series_begin(struct bandwidth_series *series)
{
    series->total[MON_OCCUPANCY_BYTES] = 0;
    series->known = UINT32_MAX;
}

void bandwidth_series_add(struct bandwidth_series *series, const struct bandwidth_row *row)
{
    for (int v = 0; v < MON_VALUES; v++)
        series->total[v] += row->known >> v & 1 ? row->value[v] : 0;
    series->known &= row->known;
    series->seen |= row->known;
}

void bandwidth_series_clear(struct bandwidth_series *series)
{
    series->known = 0;
}

void bandwidth_series_show(struct bandwidth_series *series)
{
    bool level = series->known >> MON_OCCUPANCY_BYTES & 1;
    for (int v = 0; v < MON_VALUES; v++) {
        if (!series->at[v])
            continue;
        if (v == MON_OCCUPANCY_BYTES)
            series_show_u64(series->at[v], level, series->total[v]);
        else if (v == MON_CORE_ENERGY)
            series_set(series->at[v], (double)series->total[v] * 1e-6);
        else
            series_set_u64(series->at[v], series->total[v]);
    }
}

/* ---- series ---- */

static bool is_lacking(const struct bandwidth_series *series, int v)
{
    return (series->seen >> v & 1) && !series->at[v];
}

bool bandwidth_series_lacks(const struct bandwidth_series *series)
{
    for (int v = 0; v < MON_VALUES; v++)
        if (is_lacking(series, v))
            return true;
    return false;
}

int bandwidth_series_extend(struct bandwidth_series *series,
                            const struct bandwidth_families *families,
                            enum bandwidth_subject subject, struct labelset *labels,
                            const char *socket)
{
    int err = 0;
    for (int v = 0; v < MON_VALUES && !err; v++) {
        struct label own[2];
        size_t n = 0;
        if (!is_lacking(series, v))
            continue;
        if (socket)
            own[n++] = (struct label){"socket", socket};
        if (v == MON_TOTAL_BYTES || v == MON_LOCAL_BYTES)
            own[n++] = (struct label){"scope", v == MON_LOCAL_BYTES ? "local" : "total"};
        err = series_new(families->at[subject][metric_of[v]], labels, own, n, &series->at[v]);
    }
    bandwidth_series_show(series);
    return err;
}

void bandwidth_series_relabel(struct bandwidth_series *series, struct labelset *labels)
{
    (void)named_series_relabel(series->at, MON_VALUES, labels);
}

void bandwidth_series_release(struct bandwidth_series *series)
{
    named_series_release(series->at, MON_VALUES);
}
