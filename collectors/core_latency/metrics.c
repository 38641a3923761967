#include "collectors/core_latency/metrics.h"

/* DESIGN.md, CONTRACT: metrics. */
static const double latency_edges[] = {60e-9,  70e-9,  80e-9,   90e-9,   100e-9, 120e-9,
                                       140e-9, 170e-9, 200e-9,  250e-9,  300e-9, 400e-9,
                                       500e-9, 700e-9, 1000e-9, 1400e-9, 2000e-9};
enum { LATENCY_EDGES_N = sizeof latency_edges / sizeof *latency_edges };

#define CONTAINER(n) "interference_container_" n
const struct metric_desc core_latency_container_descs[C_SERIES] = {
    [C_CYCLES] = METRIC(COUNTER, U64, CONTAINER("cpu_cycles"), "container",
                        "Unhalted core cycles of the container. High: it uses a lot of CPU."),
    [C_REF_CYCLES] = METRIC(COUNTER, U64, CONTAINER("cpu_reference_cycles"), "container",
                            "Unhalted cycles of the container, counted at the TSC's frequency. "
                            "High: it uses a lot of CPU time. cpu_cycles divided by this, times "
                            "the base frequency, is the mean core frequency."),
    [C_INSTRUCTIONS] = METRIC(
        COUNTER, U64, CONTAINER("cpu_instructions"), "container",
        "Instructions that the container retired. Few per cycle: the container often waits."),
    [C_READS] = METRIC(COUNTER, U64, CONTAINER("memory_reads"), "container",
                       "Demand data reads that missed the last-level cache: memory served them, or "
                       "another socket's cache or a CXL device. Reads of prefetchers, writes and "
                       "devices' traffic are not included. On AMD, lines that came into the "
                       "L1 data cache from beyond the core complex, its prefetcher's and those of "
                       "stores included. High: the container depends on memory, and its reads add "
                       "to the load on memory."),
    [C_OCCUPANCY] =
        METRIC(COUNTER, U64, CONTAINER("memory_read_occupancy_cycles"), "container",
               "Sum, over core cycles, of the container's outstanding memory reads. "
               "High: the reads are many, or each waits long. Divided by memory_reads: cycles that "
               "a read waits beyond the caches. On AMD, estimated from "
               "l1d_misses_in_flight_cycles, in windows with a latency only, so divide by "
               "memory_read_latency_reads; absent until the probe has measured the caches."),
    [C_LLC_READS] = METRIC(COUNTER, U64, CONTAINER("llc_reads"), "container",
                           "Demand data reads that left the core's own caches; on AMD as "
                           "memory_reads. High compared with memory_reads: the last-level cache "
                           "serves most of these reads, so the container has much to lose there."),
    [C_ACTIVE] = METRIC(COUNTER, U64, CONTAINER("memory_read_active_cycles"), "container",
                        "Core cycles with at least one outstanding memory read. Near cpu_cycles: "
                        "the container reads memory almost all the time."),
    [C_IN_FLIGHT] =
        METRIC(COUNTER, U64, CONTAINER("l1d_misses_in_flight_cycles"), "container",
               "Sum, over core cycles, of the container's misses of the L1 data cache in flight, "
               "wherever they are served. High: the container often waits for data. AMD only; "
               "memory_read_occupancy_cycles is what of it is beyond the caches."),
    [C_L2_FILLS] = METRIC(
        COUNTER, U64, CONTAINER("l1d_fills_from_l2"), "container",
        "Lines that came from the core's L2 into its L1 data cache, prefetched ones included. "
        "High: the container's data is in the L2, or is prefetched there. AMD only."),
    [C_LOADS_IN_FLIGHT] = METRIC(
        COUNTER, U64, CONTAINER("loads_in_flight_cycles"), "container",
        "Sum, over core cycles, of the container's loads in flight, wherever they are served, hits "
        "in the L1 included. High: the container often waits for data, or loads a lot. Some of "
        "Arm's cores only; memory_read_occupancy_cycles is what of it is beyond the caches."),
    [C_STALLS] =
        METRIC(COUNTER, U64, CONTAINER("memory_stall_cycles"), "container",
               "Core cycles in which the container could not go on for a load that missed the "
               "core's own caches. High compared with cpu_cycles: it mostly waits for memory, or "
               "for the last-level cache. Arm's cores that do not count loads in flight only."),
    [C_WAIT] = METRIC(COUNTER, DOUBLE, CONTAINER("memory_read_wait_seconds"), "container",
                      "Estimated latency of the container's memory reads, summed over the reads of "
                      "all windows that have one. High: the reads are many or slow. The rate of "
                      "this, divided by the rate of memory_read_latency_reads, is the mean latency "
                      "over any range. Absent until a latency was known."),
    [C_LATENCY_READS] =
        METRIC(COUNTER, U64, CONTAINER("memory_read_latency_reads"), "container",
               "Memory reads of windows that have a latency: the divisor of memory_read_wait. "
               "High: the container depends on memory. Lower than memory_reads: some windows have "
               "no latency. Absent until a latency was known."),
    [C_OBSERVED] = METRIC(
        COUNTER, DOUBLE, CONTAINER("memory_read_latency_observed_seconds"), "container",
        "Time covered by busy windows (at least 1000 reads and a tenth of a CPU) whose memory read "
        "latency is known. A rate near 1: nearly all windows. Low: the container hardly reads "
        "memory, or windows are discarded. Absent until a latency was known."),
    [C_OVER] = METRIC(
        COUNTER, DOUBLE, CONTAINER("memory_read_latency_over_threshold_seconds"), "container",
        "Part of the observed time in which the latency was above the threshold: two windows in a "
        "row, or one by as much again as the threshold is above the baseline. A high share of the "
        "observed time: reads often take longer than the threshold allows. Absent until there is a "
        "threshold better than basis machine, which is a lower bound only."),
    [C_LATENCY] = METRIC(GAUGE, DOUBLE, CONTAINER("memory_read_latency_seconds"), "container",
                         "Mean memory read latency of the container in the last window, estimated "
                         "from core counters. High compared with the baseline: reads take longer "
                         "than is normal for it. Ice Lake and later: unverified until "
                         "interference_core_latency_error_ratio was low on such a CPU."),
    [C_BASELINE] =
        METRIC(GAUGE, DOUBLE, CONTAINER("memory_read_latency_baseline_seconds"), "container, basis",
               "Memory read latency that is normal for the container at its present frequency, on "
               "the best basis known: calm (its neighbours use the memory little), extrapolated "
               "(to neighbours that read nothing), usual (the 20th percentile of its last day), "
               "machine (the probe's best twentieth, a lower bound). High: its memory is slow even "
               "on a good day, for example remote or persistent memory."),
    [C_THRESHOLD] = METRIC(GAUGE, DOUBLE, CONTAINER("memory_read_latency_threshold_seconds"),
                           "container, basis",
                           "Memory read latency above which a busy window counts as too high: from "
                           "the thresholds file (basis file), otherwise the baseline's part beyond "
                           "the caches times a factor. High: long reads are normal here."),
    [C_LACK] = METRIC(NOTE, U64, CONTAINER("memory_read_latency_no_baseline"), "container, reason",
                      "Why the container has no baseline: not_counted, no_latency, idle or "
                      "learning. Present with the value 1 for the reason that holds."),
    [C_HISTOGRAM] =
        {.name = CONTAINER("memory_read_window_latency_seconds"),
         .type = METRIC_HISTOGRAM,
         .labels = "container",
         .help =
             "Memory read latency of the container, one observation per window. A tail to the "
             "right: "
             "reads sometimes take long. Only with --collector.core_latency.histogram=container.",
         .edges = latency_edges,
         .n_edges = LATENCY_EDGES_N},
};

/* What a read stalls for, where no latency is counted. */
#define STALL(n) CONTAINER("memory_stall_per_read_" n)
const struct metric_desc core_latency_stall_descs[C_SERIES] = {
    [C_WAIT] = METRIC(COUNTER, DOUBLE, CONTAINER("memory_stall_seconds"), "container",
                      "Time in which the container could not go on for a load that missed the "
                      "core's own caches. High: it waits for memory, or for the last-level cache. "
                      "Its rate divided by the rate of memory_stall_reads is the mean stall per "
                      "read over any range. Arm's cores without a latency only."),
    [C_LATENCY_READS] = METRIC(COUNTER, U64, CONTAINER("memory_stall_reads"), "container",
                               "Memory reads of windows that have stalled cycles: the divisor of "
                               "memory_stall_seconds. High: the container depends on memory."),
    [C_OBSERVED] = METRIC(COUNTER, DOUBLE, STALL("observed_seconds"), "container",
                          "Time covered by busy windows (at least 1000 reads and a tenth of a "
                          "CPU) whose stall per read is known. A rate near 1: nearly all windows. "
                          "Low: the container hardly reads memory, or windows are discarded."),
    [C_OVER] =
        METRIC(COUNTER, DOUBLE, STALL("over_threshold_seconds"), "container",
               "Part of the observed time in which the stall per read was above the threshold, as "
               "for the latency. A high share of the observed time: reads hold the container up "
               "longer than is normal for it. Absent until there is a threshold."),
    [C_LATENCY] = METRIC(GAUGE, DOUBLE, STALL("seconds"), "container",
                         "Time that the container could not go on, divided by its memory reads, in "
                         "the last window. Less than a read's latency where reads overlap, and so "
                         "no measure of memory: high compared with its own baseline means that "
                         "reads hold the container up longer than is normal for it."),
    [C_BASELINE] = METRIC(GAUGE, DOUBLE, STALL("baseline_seconds"), "container, basis",
                          "Stall per read that is normal for the container, on the best basis "
                          "known: calm (its neighbours use the memory little), extrapolated (to "
                          "neighbours that read nothing), usual (the 20th percentile of its last "
                          "day). High: it depends on each single read, or its memory is slow."),
    [C_THRESHOLD] = METRIC(GAUGE, DOUBLE, STALL("threshold_seconds"), "container, basis",
                           "Stall per read above which a busy window counts as too high: the "
                           "baseline times a factor. High: long stalls are normal here."),
};

const char *lack_name(enum lack lack)
{
    static const char *const names[LACKS] = {
        [LACK_NOT_COUNTED] = "not_counted",
        [LACK_NO_LATENCY] = "no_latency",
        [LACK_IDLE] = "idle",
        [LACK_LEARNING] = "learning",
    };
    return names[lack];
}

const struct metric_desc core_latency_lacks_desc =
    METRIC(GAUGE, U64, "interference_exporter_containers_without_baseline", "reason",
           "Live containers without a baseline of their memory read latency, by reason: "
           "not_counted (no counters), no_latency (latencies of this machine are not known), idle "
           "(never at work), learning (at work for less than ten minutes). High for reasons other "
           "than idle: interference with these containers goes unseen.");

const struct metric_desc core_latency_basis_changes_desc =
    METRIC(COUNTER, U64, "interference_exporter_baseline_changes", "basis",
           "Baselines of containers that were exchanged for one on this basis (see "
           "interference_container_memory_read_latency_baseline_seconds); thresholds moved with "
           "them. High: what is normal here is not certain, and time over thresholds with it.");

const struct metric_desc core_latency_node_descs[N_METRICS] = {
    [N_CYCLES] = METRIC(COUNTER, U64, "interference_node_cpu_cycles", NULL,
                        "Unhalted core cycles of all monitored containers, including ended ones. "
                        "High: the node's CPUs are busy."),
    [N_REF_CYCLES] = METRIC(COUNTER, U64, "interference_node_cpu_reference_cycles", NULL,
                            "Unhalted cycles of all monitored containers, including ended ones, "
                            "counted at the TSC's frequency. High: the node's CPUs are busy."),
    [N_READS] = METRIC(COUNTER, U64, "interference_node_memory_reads", NULL,
                       "Demand data reads that missed the last-level cache, of all monitored "
                       "containers, including ended ones. High: the node's memory is busy."),
    [N_OCCUPANCY] =
        METRIC(COUNTER, U64, "interference_node_memory_read_occupancy_cycles", NULL,
               "Sum, over core cycles, of the outstanding memory reads of all monitored "
               "containers, including ended ones. High: the node's memory is busy or slow."),
    [N_WAIT] =
        METRIC(COUNTER, DOUBLE, "interference_node_memory_read_wait_seconds", NULL,
               "Estimated latency of the memory reads of all monitored containers, ended ones "
               "included, summed over the reads of all windows that have one. High: the node's "
               "memory is busy or slow. Its rate divided by the rate of memory_read_latency_reads "
               "is the node's mean latency. Absent until a latency was known."),
    [N_LATENCY_READS] =
        METRIC(COUNTER, U64, "interference_node_memory_read_latency_reads", NULL,
               "Memory reads of all monitored containers, ended ones included, in windows that "
               "have a latency: the divisor of memory_read_wait. "
               "High: the node's memory is busy. Absent until a latency was known."),
    [N_HISTOGRAM] =
        {.name = "interference_node_memory_read_window_latency_seconds",
         .type = METRIC_HISTOGRAM,
         .help =
             "Memory read latency, one observation per container and window; the exporter's own "
             "container, with the reads of its probe, is one of them. A tail to the right: reads "
             "of "
             "some containers take long.",
         .edges = latency_edges,
         .n_edges = LATENCY_EDGES_N},
    [N_BASE_FREQUENCY] = METRIC(
        GAUGE, DOUBLE, "interference_cpu_base_frequency_hertz", NULL,
        "Frequency of the TSC, at which reference cycles are counted. It never changes. High "
        "only means a fast clock."),
    [N_CACHE_CYCLES] =
        METRIC(GAUGE, DOUBLE, "interference_core_cache_lookup_cycles", NULL,
               "Core cycles that a memory read needs to look through the caches; every latency "
               "includes them. "
               "High: deep caches, or a calibration on a busy machine. The value is configured, "
               "calibrated by "
               "the probe, or published for the CPU model. From Ice Lake on only the part in the "
               "core's own "
               "caches, 16 cycles. On AMD what a hit in the L3 takes, which the probe measures."),
    [N_CACHE_SECONDS] = METRIC(
        GAUGE, DOUBLE, "interference_core_cache_lookup_seconds", NULL,
        "From Ice Lake on: time from leaving the core's own caches until a memory read is known to "
        "have missed the last-level cache, at the uncore's clock; every latency includes it. High: "
        "a "
        "slow uncore, or a calibration on a busy machine. Calibrated by the probe or configured. "
        "Absent where the whole look-up counts in core cycles, and until it is known."),
};

const struct metric_desc *const core_latency_metrics[] = {
    &core_latency_container_descs[C_CYCLES],
    &core_latency_container_descs[C_REF_CYCLES],
    &core_latency_container_descs[C_INSTRUCTIONS],
    &core_latency_container_descs[C_READS],
    &core_latency_container_descs[C_OCCUPANCY],
    &core_latency_container_descs[C_LLC_READS],
    &core_latency_container_descs[C_ACTIVE],
    &core_latency_container_descs[C_IN_FLIGHT],
    &core_latency_container_descs[C_L2_FILLS],
    &core_latency_container_descs[C_LOADS_IN_FLIGHT],
    &core_latency_container_descs[C_STALLS],
    &core_latency_container_descs[C_WAIT],
    &core_latency_container_descs[C_LATENCY_READS],
    &core_latency_container_descs[C_OBSERVED],
    &core_latency_container_descs[C_OVER],
    &core_latency_container_descs[C_LATENCY],
    &core_latency_container_descs[C_BASELINE],
    &core_latency_container_descs[C_THRESHOLD],
    &core_latency_container_descs[C_LACK],
    &core_latency_stall_descs[C_WAIT],
    &core_latency_stall_descs[C_LATENCY_READS],
    &core_latency_stall_descs[C_OBSERVED],
    &core_latency_stall_descs[C_OVER],
    &core_latency_stall_descs[C_LATENCY],
    &core_latency_stall_descs[C_BASELINE],
    &core_latency_stall_descs[C_THRESHOLD],
    &core_latency_lacks_desc,
    &core_latency_basis_changes_desc,
    &core_latency_container_descs[C_HISTOGRAM],
    &core_latency_node_descs[N_CYCLES],
    &core_latency_node_descs[N_REF_CYCLES],
    &core_latency_node_descs[N_READS],
    &core_latency_node_descs[N_OCCUPANCY],
    &core_latency_node_descs[N_WAIT],
    &core_latency_node_descs[N_LATENCY_READS],
    &core_latency_node_descs[N_HISTOGRAM],
    &core_latency_node_descs[N_BASE_FREQUENCY],
    &core_latency_node_descs[N_CACHE_CYCLES],
    &core_latency_node_descs[N_CACHE_SECONDS],
    NULL};
