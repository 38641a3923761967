#include "collectors/core_latency/metrics.h"

#include "collectors/parts/latency_edges.h"

static const double latency_edges[LATENCY_EDGES_N] = {LATENCY_EDGES};

#define CONTAINER(n) "interference_container_" n
const struct metric_desc core_latency_container_descs[C_METRICS] = {
    [C_CYCLES] = {.name = CONTAINER("cpu_cycles"),
                  .type = METRIC_COUNTER,
                  .number = METRIC_U64,
                  .labels = "container",
                  .help = "Unhalted core cycles of the container. High: it uses much CPU."},
    [C_REF_CYCLES] = {.name = CONTAINER("cpu_reference_cycles"),
                      .type = METRIC_COUNTER,
                      .number = METRIC_U64,
                      .labels = "container",
                      .help = "Unhalted cycles at the TSC's frequency. High: it uses much CPU "
                              "time. cpu_cycles divided by this, "
                              "times the base frequency, is the mean core frequency."},
    [C_INSTRUCTIONS] = {.name = CONTAINER("cpu_instructions"),
                        .type = METRIC_COUNTER,
                        .number = METRIC_U64,
                        .labels = "container",
                        .help = "Instructions retired. Few per cycle: the container waits much."},
    [C_READS] = {.name = CONTAINER("memory_reads"),
                 .type = METRIC_COUNTER,
                 .number = METRIC_U64,
                 .labels = "container",
                 .help = "Demand data reads that missed the last-level cache and went to memory. "
                         "High: it depends on memory, and loads it for others."},
    [C_OCCUPANCY] = {.name = CONTAINER("memory_read_occupancy_cycles"),
                     .type = METRIC_COUNTER,
                     .number = METRIC_U64,
                     .labels = "container",
                     .help = "Sum over core cycles of memory reads outstanding. High: its reads "
                             "are many or wait long. Divided by "
                             "memory_reads: cycles that a read waits beyond the caches."},
    [C_LLC_READS] = {.name = CONTAINER("llc_reads"),
                     .type = METRIC_COUNTER,
                     .number = METRIC_U64,
                     .labels = "container",
                     .help = "Demand data reads that left the core's own caches. High beside "
                             "memory_reads: the last-level cache serves it well, and it has much "
                             "to lose there."},
    [C_ACTIVE] = {.name = CONTAINER("memory_read_active_cycles"),
                  .type = METRIC_COUNTER,
                  .number = METRIC_U64,
                  .labels = "container",
                  .help = "Core cycles with at least one memory read outstanding. Near cpu_cycles: "
                          "the container lives on memory."},
    [C_WAIT] = {.name = CONTAINER("memory_read_wait_seconds"),
                .type = METRIC_COUNTER,
                .number = METRIC_DOUBLE,
                .labels = "container",
                .help = "Sum over memory reads of their estimated latency. High: its reads are "
                        "many or slow. rate(wait) / "
                        "rate(memory_reads) is the mean latency over any range."},
    [C_OBSERVED] =
        {.name = CONTAINER("memory_read_latency_observed_seconds"),
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .labels = "container",
         .help = "Time in windows for which a memory read latency is known. A rate near 1: nearly "
                 "always. Low: the container hardly reads memory, or windows are discarded."},
    [C_OVER] = {.name = CONTAINER("memory_read_latency_over_threshold_seconds"),
                .type = METRIC_COUNTER,
                .number = METRIC_DOUBLE,
                .labels = "container",
                .help = "Of the observed time, the part with the latency above the threshold. A "
                        "high share: a neighbour makes the container wait. Absent until there is a "
                        "threshold."},
    [C_LATENCY] = {.name = CONTAINER("memory_read_latency_seconds"),
                   .type = METRIC_GAUGE,
                   .number = METRIC_DOUBLE,
                   .labels = "container",
                   .help = "Mean memory read latency of the last window, estimated from core "
                           "counters. High against the baseline: memory is contended."},
    [C_BASELINE] = {.name = CONTAINER("memory_read_latency_baseline_seconds"),
                    .type = METRIC_GAUGE,
                    .number = METRIC_DOUBLE,
                    .labels = "container",
                    .help = "Mean latency of the container's busy windows in which its neighbours "
                            "were calm: what it sees when left alone. High: its memory is slow by "
                            "itself, such as remote or persistent memory."},
    [C_THRESHOLD] = {.name = CONTAINER("memory_read_latency_threshold_seconds"),
                     .type = METRIC_GAUGE,
                     .number = METRIC_DOUBLE,
                     .labels = "container",
                     .help = "The latency that counts as too high: from the thresholds file, else "
                             "the baseline times a factor."},
};

const struct metric_desc core_latency_container_histogram_desc = {
    .name = CONTAINER("memory_read_window_latency_seconds"),
    .type = METRIC_HISTOGRAM,
    .labels = "container",
    .help = "Memory read latency, one observation per window. A tail to the right: it waits long "
            "at times. Only with "
            "--collector.core_latency.histogram=container.",
    .edges = latency_edges,
    .n_edges = LATENCY_EDGES_N};

const struct metric_desc core_latency_node_descs[N_METRICS] = {
    [N_CYCLES] = {.name = "interference_node_cpu_cycles",
                  .type = METRIC_COUNTER,
                  .number = METRIC_U64,
                  .help = "Unhalted core cycles of all monitored containers, ended ones included. "
                          "High: the node's CPUs are busy."},
    [N_REF_CYCLES] = {.name = "interference_node_cpu_reference_cycles",
                      .type = METRIC_COUNTER,
                      .number = METRIC_U64,
                      .help = "Unhalted cycles at the TSC's frequency of all monitored containers, "
                              "ended ones included. High: the node's CPUs are busy."},
    [N_READS] = {.name = "interference_node_memory_reads",
                 .type = METRIC_COUNTER,
                 .number = METRIC_U64,
                 .help = "Memory reads of all monitored containers, ended ones included. High: the "
                         "node's memory is busy."},
    [N_OCCUPANCY] =
        {.name = "interference_node_memory_read_occupancy_cycles",
         .type = METRIC_COUNTER,
         .number = METRIC_U64,
         .help = "Sum over core cycles of memory reads outstanding, of all monitored containers, "
                 "ended ones included. High: the node's memory is busy or slow."},
    [N_WAIT] = {.name = "interference_node_memory_read_wait_seconds",
                .type = METRIC_COUNTER,
                .number = METRIC_DOUBLE,
                .help = "Sum over memory reads of their estimated latency, of all monitored "
                        "containers, ended ones included. High: the node's memory is busy or slow. "
                        "Divided by memory_reads: the node's mean "
                        "latency."},
};

const struct metric_desc core_latency_node_histogram_desc = {
    .name = "interference_node_memory_read_window_latency_seconds",
    .type = METRIC_HISTOGRAM,
    .help = "Memory read latency, one observation per container and window. A tail to the right: "
            "some containers wait long.",
    .edges = latency_edges,
    .n_edges = LATENCY_EDGES_N};

const struct metric_desc core_latency_base_frequency_desc = {
    .name = "interference_cpu_base_frequency_hertz",
    .type = METRIC_GAUGE,
    .number = METRIC_DOUBLE,
    .help = "The TSC's frequency, at which reference cycles count. It never changes; high only "
            "means a fast clock."};

const struct metric_desc core_latency_cache_cycles_desc = {
    .name = "interference_core_cache_lookup_cycles",
    .type = METRIC_GAUGE,
    .number = METRIC_DOUBLE,
    .help = "Core cycles to look through the caches, which every memory read's latency includes. "
            "High: deep caches, or a calibration on a busy machine. It is given, calibrated by the "
            "probe, or the CPU model's published value."};

const struct metric_desc *const core_latency_metrics[] = {
    &core_latency_container_descs[C_CYCLES],
    &core_latency_container_descs[C_REF_CYCLES],
    &core_latency_container_descs[C_INSTRUCTIONS],
    &core_latency_container_descs[C_READS],
    &core_latency_container_descs[C_OCCUPANCY],
    &core_latency_container_descs[C_LLC_READS],
    &core_latency_container_descs[C_ACTIVE],
    &core_latency_container_descs[C_WAIT],
    &core_latency_container_descs[C_OBSERVED],
    &core_latency_container_descs[C_OVER],
    &core_latency_container_descs[C_LATENCY],
    &core_latency_container_descs[C_BASELINE],
    &core_latency_container_descs[C_THRESHOLD],
    &core_latency_container_histogram_desc,
    &core_latency_node_descs[N_CYCLES],
    &core_latency_node_descs[N_REF_CYCLES],
    &core_latency_node_descs[N_READS],
    &core_latency_node_descs[N_OCCUPANCY],
    &core_latency_node_descs[N_WAIT],
    &core_latency_node_histogram_desc,
    &core_latency_base_frequency_desc,
    &core_latency_cache_cycles_desc,
    NULL};
