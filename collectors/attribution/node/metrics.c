#include "collectors/attribution/node/metrics.h"

#include <stdio.h>

#include "collectors/parts/named_series.h"

const char *const attribution_by_name[ATTRIBUTION_PARTS] = {
    [BY_NAMED] = "named",
    [BY_GROUP] = "group",
    [BY_HOST] = "host",
    [BY_UNKNOWN] = "unknown",
};

/* A gauge and a counter of one name cannot be told apart in OpenMetrics, whose families are named
 * without _total: hence "current" in two of ATTRIBUTION.md's names. */
static const struct metric_desc descs[A_METRICS] = {
    [A_CAUSED] =
        {.name = "interference_container_caused_latency_current_seconds",
         .type = METRIC_GAUGE,
         .number = METRIC_DOUBLE,
         .labels = "container, numa_node",
         .help = "How much longer a read of the NUMA node's memory takes now because of this "
                 "container; only while it is named. High: moving or limiting the container makes "
                 "memory faster by so much for everybody there. An estimate from how the latency "
                 "follows the container's activity, see ..._uncertainty_seconds; who is always "
                 "equally active cannot be seen this way, so its absence proves nothing."},
    [A_UNCERTAINTY] =
        {.name = "interference_container_caused_latency_uncertainty_seconds",
         .type = METRIC_GAUGE,
         .number = METRIC_DOUBLE,
         .labels = "container, numa_node",
         .help = "One standard deviation of interference_container_caused_latency_current_seconds. "
                 "High compared with it: who it is is sure, how much it is is not."},
    [A_CAUSED_TOTAL] =
        {.name = "interference_container_caused_latency_seconds",
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .labels = "container, numa_node",
         .help = "Latency caused by this container, added up over the readings of the node's "
                 "latency in which it was named; not time that passed. Its rate divided by that of "
                 "interference_memory_attribution_readings_total is the mean over any range. High: "
                 "the container makes others wait, much or often. There from the first suspicion "
                 "on."},
    [A_CAUSED_WAIT] =
        {.name = "interference_container_caused_wait_seconds",
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .labels = "container",
         .help = "How long the memory reads of other containers waited because of this one, "
                 "added up over them: what each victim's reads took above its baseline, "
                 "shared out by memory traffic. Only by traffic "
                 "(--collector.attribution.traffic, or resctrl's groups), where the CPU "
                 "counts latencies, once the latency of a NUMA node has followed it. High: "
                 "waits add up, so 1 a second is much for one victim and little for fifty; "
                 "noise above a baseline counts as well."},
    [A_EXCESS] = {.name = "interference_memory_excess_latency_current_seconds",
                  .type = METRIC_GAUGE,
                  .number = METRIC_DOUBLE,
                  .labels = "numa_node, by",
                  .help =
                      "How much the latency of the node's memory is now above its calm one (the "
                      "10th percentile of the last hour, without what those cause who are named), "
                      "by cause: containers that are named, groups of which one or several are, "
                      "host (not monitored, or hardly varies), unknown. The four add up. Absent "
                      "until what is calm is known: for 60 readings, unless a restart kept it. "
                      "High for unknown: a neighbour outside of this machine, who is always "
                      "active, or too few changes yet to tell."},
    [A_EXCESS_TOTAL] =
        {.name = "interference_memory_excess_latency_seconds",
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .labels = "numa_node, by",
         .help = "Sum of interference_memory_excess_latency_current_seconds over the readings "
                 "of the node's latency; not time that passed. Its rate divided by that of "
                 "interference_memory_attribution_readings_total is the mean over any range. High: "
                 "memory is slower than when it is calm, much or often."},
    [A_READINGS] = {.name = "interference_memory_attribution_readings",
                    .type = METRIC_COUNTER,
                    .number = METRIC_U64,
                    .labels = "numa_node",
                    .help = "Readings of the node's memory latency from which causes were "
                            "estimated, at most one a tick; the divisor of the latencies that are "
                            "added up. High: nothing but a long time of running."},
    [A_CANDIDATES] =
        {.name = "interference_memory_attribution_candidates",
         .type = METRIC_GAUGE,
         .number = METRIC_U64,
         .labels = "numa_node",
         .help = "Workloads whose activity varies enough to be told apart as causes, at most 64. "
                 "High, near 64: others whose activity varies less are in by=\"host\"."},
    [A_NOISE] = {.name = "interference_memory_attribution_noise_ratio",
                 .type = METRIC_GAUGE,
                 .number = METRIC_DOUBLE,
                 .labels = "numa_node",
                 .help = "What of the node's latency no activity explains: the standard deviation "
                         "of one reading, as a share of the latency. High, above 0.05: it takes "
                         "longer until somebody is named, and small effects never are."},
    [A_INFLATION] =
        {.name = "interference_memory_attribution_inflation_ratio",
         .type = METRIC_GAUGE,
         .number = METRIC_DOUBLE,
         .labels = "numa_node",
         .help = "By how much uncertainty is raised because unexplained changes of the latency "
                 "last. High, above 3: something that the containers' activity does not show moves "
                 "the latency, such as other machines on the same host; naming takes longer."},
    [A_ACTIVITY] =
        {.name = "interference_memory_attribution_activity_ratio",
         .type = METRIC_GAUGE,
         .number = METRIC_DOUBLE,
         .labels = "numa_node",
         .help = "CPU time that is used on the NUMA node's CPUs beside the probe's, by containers "
                 "and the host, as a share of these CPUs; absent where the machine's CPU time is "
                 "not known, and with --collector.attribution.traffic. High, near 1: all of them "
                 "work. Below 0.05 hardly anybody does; processors then clock their caches and "
                 "memory controllers lower, and an excess of the latency is nobody's."},
    [A_STEPS] =
        {.name = "interference_memory_steps_outside",
         .type = METRIC_COUNTER,
         .number = METRIC_U64,
         .labels = "numa_node",
         .help = "How often the latency of the node's memory stepped up or down while no container "
                 "that makes memory slow began or ended. High, several an hour: neighbours outside "
                 "of this machine, or processes outside of the containers, move it; one start is "
                 "then not enough for a name."},
    [A_CPUS] = {.name = "cpus_used",
                .type = METRIC_NOTE,
                .number = METRIC_DOUBLE,
                .labels = "container",
                .help = "How many CPUs the container and what is inside of it used on average in "
                        "the last tick; absent with --collector.attribution.traffic. High: it "
                        "works, or waits for memory, on so many at once."},
};

const struct metric_desc *const attribution_metrics[] = {
    &descs[A_CAUSED],       &descs[A_UNCERTAINTY],
    &descs[A_CAUSED_TOTAL], &descs[A_CAUSED_WAIT],
    &descs[A_EXCESS],       &descs[A_EXCESS_TOTAL],
    &descs[A_READINGS],     &descs[A_CANDIDATES],
    &descs[A_NOISE],        &descs[A_INFLATION],
    &descs[A_ACTIVITY],     &descs[A_STEPS],
    &descs[A_CPUS],         NULL};

int attribution_families_register(struct attribution_families *families, struct store *store,
                                  const char *owner)
{
    int err = 0;
    for (int i = 0; i < A_METRICS && !err; i++)
        err = store_family(store, &descs[i], owner, &families->at[i]);
    return err;
}

/* ---- a node ---- */

int attribution_node_set_make(struct attribution_node_set *set,
                              const struct attribution_families *families, int numa_node)
{
    char number[12];
    snprintf(number, sizeof number, "%d", numa_node);
    struct label own[2] = {{"numa_node", number}};
    int err = 0;
    for (int by = 0; by < ATTRIBUTION_PARTS && !err; by++) {
        own[1] = (struct label){"by", attribution_by_name[by]};
        err = series_new(families->at[A_EXCESS], NULL, own, 2, &set->excess[by]);
        if (!err)
            err = series_new(families->at[A_EXCESS_TOTAL], NULL, own, 2, &set->excess_total[by]);
    }
    for (int i = A_READINGS; i <= A_STEPS && !err; i++)
        err = series_new(families->at[i], NULL, own, 1, &set->at[i]);
    if (err) {
        attribution_node_set_release(set);
        return err;
    }
    series_set_u64(set->at[A_CANDIDATES], 0);
    series_set_u64(set->at[A_STEPS], 0);
    return 0;
}

void attribution_node_set_release(struct attribution_node_set *set)
{
    named_series_release(set->excess, ATTRIBUTION_PARTS);
    named_series_release(set->excess_total, ATTRIBUTION_PARTS);
    named_series_release(set->at, A_CPUS);
}

void attribution_node_set_stale(struct attribution_node_set *set)
{
    for (int by = 0; by < ATTRIBUTION_PARTS; by++)
        series_clear(set->excess[by]);
    for (int i = A_CANDIDATES; i <= A_ACTIVITY; i++)
        series_clear(set->at[i]);
}

/* ---- a container ---- */

int attribution_container_set_make(struct series **at, const struct attribution_families *families,
                                   struct labelset *labels, int numa_node)
{
    char number[12];
    snprintf(number, sizeof number, "%d", numa_node);
    const struct label own[] = {{"numa_node", number}};
    int err = 0;
    for (int i = 0; i < A_CONTAINER_METRICS && !err; i++)
        err = series_new(families->at[i], labels, own, 1, &at[i]);
    if (err)
        named_series_release(at, A_CONTAINER_METRICS);
    return err;
}
