#include "exporter/self/metrics.h"

#define EXPORTER(n) "interference_exporter_" n

const struct metric_desc self_descs[SELF_METRICS] = {
    [SELF_BUILD] = {.name = EXPORTER("build"),
                    .type = METRIC_INFO,
                    .labels = "version, revision, compiler",
                    .help = "The exporter's version, the commit of its source (\"unknown\": not "
                            "built from a repository), and what compiled it."},
    [SELF_SOURCE] =
        {.name = EXPORTER("source"),
         .type = METRIC_INFO,
         .labels = "source, microarchitecture",
         .help = "Where the counts come from: perf's cgroup events, or bpf, a program "
                 "in the kernel (/api/v1/status says why). source=\"replay\": nothing here is "
                 "measured now; everything comes from a recording. microarchitecture "
                 "is \"unknown\" for a CPU that has no table of events."},

    [SELF_COLLECTOR_AVAILABLE] =
        {.name = EXPORTER("collector_available"),
         .type = METRIC_GAUGE,
         .labels = "collector",
         .help = "1 while the collector runs. 0: it is switched off or cannot work here. "
                 "collector_info says why, or what the collector cannot do for some containers."},
    [SELF_COLLECTOR_SUCCESS] =
        {.name = EXPORTER("collector_success"),
         .type = METRIC_GAUGE,
         .labels = "collector",
         .help = "1 when the collector runs and its last collection succeeded. 0 while the "
                 "collector is available: the log says what failed. Absent for a collector that "
                 "was never started."},
    [SELF_COLLECTOR_DURATION] =
        {.name = EXPORTER("collector_duration_seconds"),
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .labels = "collector",
         .help = "Time that the collector's collections took. A rate near 1: a tick takes as long "
                 "as the interval, and ticks will be missed."},
    [SELF_COLLECTOR_LAST_SUCCESS] =
        {.name = EXPORTER("collector_last_success_timestamp_seconds"),
         .type = METRIC_GAUGE,
         .number = METRIC_DOUBLE,
         .labels = "collector",
         .help = "Time of the collector's last successful collection; absent until there is one. "
                 "Long ago: its metrics no longer change. High means recent."},
    [SELF_COLLECTOR] = {.name = EXPORTER("collector"),
                        .type = METRIC_INFO,
                        .labels = "collector, reason",
                        .help = "Whether a collector runs (reason ok), otherwise the reason why "
                                "not. /api/v1/status explains the reason and the remedy."},

    [SELF_TICKS] = {.name = EXPORTER("ticks"),
                    .type = METRIC_COUNTER,
                    .help = "Ticks taken. A rate below one per interval: ticks are missed."},
    [SELF_MISSED_TICKS] =
        {.name = EXPORTER("missed_ticks"),
         .type = METRIC_COUNTER,
         .help = "Ticks that were due while an earlier tick still ran or the exporter got no CPU. "
                 "High: latencies are means over longer windows than --sampling.interval."},
    [SELF_LAST_TICK] =
        {.name = EXPORTER("last_tick_timestamp_seconds"),
         .type = METRIC_GAUGE,
         .number = METRIC_DOUBLE,
         .help =
             "Time at which the last tick began; absent before the first tick. Long ago: the "
             "exporter hangs. High means recent. Under replay, the time comes from the recording."},
    [SELF_WINDOWS_DISCARDED] =
        {.name = EXPORTER("windows_discarded"),
         .type = METRIC_COUNTER,
         .labels = "collector, reason",
         .help = "Windows, or runs of the probe, that gave no result. High for starved: other "
                 "programs hold the PMU's counters. High for preempted, migrated or stolen: the "
                 "probe's CPU is not quiet enough."},
    [SELF_CONTAINERS] = {.name = EXPORTER("containers"),
                         .type = METRIC_GAUGE,
                         .labels = "state",
                         .help = "Containers by state. High for over_limit: containers are not "
                                 "monitored; raise --containers.max."},
    [SELF_CONTAINERS_LIMIT] = {.name = EXPORTER("containers_limit"),
                               .type = METRIC_GAUGE,
                               .help = "Maximum number of live containers monitored. High: many "
                                       "file descriptors may be needed."},
    [SELF_CGROUPS_REFUSED] =
        {.name = EXPORTER("cgroups_refused"),
         .type = METRIC_COUNTER,
         .labels = "reason",
         .help = "Cgroups that were left alone because the container they lie in, or the user who "
                 "made them, has had its share; each look at one counts. High: somebody makes "
                 "very many; the others are not affected. directories: not looked at; places: not "
                 "counted by themselves; watches: found by the slow rescan only."},
    [SELF_OPEN_COUNTERS] = {.name = EXPORTER("open_counters"),
                            .type = METRIC_GAUGE,
                            .help = "File descriptors that counters use. Near process_max_fds: no "
                                    "further containers can be counted; by BPF it does not grow "
                                    "with containers."},
    [SELF_OPEN_FAILURES] = {.name = EXPORTER("perf_open_failures"),
                            .type = METRIC_COUNTER,
                            .labels = "collector, reason",
                            .help = "Counter groups that could not be opened. High: containers are "
                                    "not counted; the reason says what prevented it."},
    [SELF_PMU_ENABLED] = {.name = EXPORTER("pmu_enabled_seconds"),
                          .type = METRIC_COUNTER,
                          .number = METRIC_DOUBLE,
                          .labels = "collector",
                          .help = "Time in which counter groups were supposed to count, summed "
                                  "over groups and CPUs. High compared with pmu_running_seconds: "
                                  "the counters are shared, and counts are extrapolated."},
    [SELF_PMU_RUNNING] = {.name = EXPORTER("pmu_running_seconds"),
                          .type = METRIC_COUNTER,
                          .number = METRIC_DOUBLE,
                          .labels = "collector",
                          .help = "Part of pmu_enabled_seconds in which the hardware counted. As "
                                  "high as pmu_enabled_seconds: nothing is extrapolated."},
    [SELF_RELOAD_SUCCESSFUL] =
        {.name = EXPORTER("config_last_reload_successful"),
         .type = METRIC_GAUGE,
         .help = "1 when the exporter last read the thresholds file without an error. 0: the "
                 "earlier thresholds stay in force; the log names the line."},
    [SELF_RELOAD_TIME] = {.name = EXPORTER("config_last_reload_success_timestamp_seconds"),
                          .type = METRIC_GAUGE,
                          .number = METRIC_DOUBLE,
                          .help = "Time at which the thresholds file was last read without an "
                                  "error; absent without such a file. High means recent."},
    [SELF_LOG_DROPPED] =
        {.name = EXPORTER("log_lines_dropped"),
         .type = METRIC_COUNTER,
         .labels = "reason",
         .help = "Lines that are missing in the log. High for blocked: nobody takes the lines, or "
                 "the disk is full. High for rate: a message came more often than it is logged; "
                 "its next line says how many were left out."},
    [SELF_RECORDING_ACTIVE] =
        {.name = EXPORTER("recording_active"),
         .type = METRIC_GAUGE,
         .help = "1 while --source.record.file is written. 0: the recording has stopped; the log "
                 "says why. Absent without that flag."},

    [SELF_HTTP_REQUESTS] = {.name = EXPORTER("http_requests"),
                            .type = METRIC_COUNTER,
                            .labels = "handler, format, code",
                            .help = "HTTP requests answered. High for code 503: more scrapes at "
                                    "once than --web.max-requests allows."},
    [SELF_CPU_SECONDS] =
        {.name = "process_cpu_seconds",
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .help =
             "CPU time of the exporter, user and system. High: sampling or scraping costs a lot."},
    [SELF_OPEN_FDS] = {.name = "process_open_fds",
                       .type = METRIC_GAUGE,
                       .help = "Open file descriptors of the exporter. Near process_max_fds: no "
                               "further containers can be counted."},
    [SELF_MAX_FDS] = {.name = "process_max_fds",
                      .type = METRIC_GAUGE,
                      .help = "Maximum number of file descriptors that the exporter may open. "
                              "High: there is room for many containers."},
    [SELF_VIRTUAL_MEMORY] =
        {.name = "process_virtual_memory_bytes",
         .type = METRIC_GAUGE,
         .help = "Virtual memory of the exporter. A high value alone is no problem."},
    [SELF_RESIDENT_MEMORY] = {.name = "process_resident_memory_bytes",
                              .type = METRIC_GAUGE,
                              .help =
                                  "Resident memory of the exporter, including the probe's buffers. "
                                  "High: there are many containers; with few containers, a leak."},
    [SELF_START_TIME] =
        {.name = "process_start_time_seconds",
         .type = METRIC_GAUGE,
         .number = METRIC_DOUBLE,
         .help = "Time at which the exporter started. High means recent: the counters began then."},
};
