#include "exporter/self/metrics.h"

#define EXPORTER(n) "interference_exporter_" n

const struct metric_desc self_descs[SELF_METRICS] = {
    [SELF_BUILD] = {.name = EXPORTER("build"),
                    .type = METRIC_INFO,
                    .labels = "version",
                    .help = "The exporter's version."},
    [SELF_SOURCE] = {.name = EXPORTER("source"),
                     .type = METRIC_INFO,
                     .labels = "source, microarchitecture",
                     .help = "Where the counts come from. source=\"replay\": nothing here is "
                             "measured now, all comes from a recording. microarchitecture is "
                             "\"unknown\" for a CPU without a table of events."},

    [SELF_COLLECTOR_AVAILABLE] =
        {.name = EXPORTER("collector_available"),
         .type = METRIC_GAUGE,
         .labels = "collector",
         .help = "1 while the collector runs. 0: it is switched off or cannot work here. Why, or "
                 "what it cannot do for some containers, is in collector_info."},
    [SELF_COLLECTOR_SUCCESS] = {.name = EXPORTER("collector_success"),
                                .type = METRIC_GAUGE,
                                .labels = "collector",
                                .help = "1 when the collector runs and its last collection did "
                                        "not fail. 0 while it is available: the log says what "
                                        "failed."},
    [SELF_COLLECTOR_DURATION] = {.name = EXPORTER("collector_duration_seconds"),
                                 .type = METRIC_COUNTER,
                                 .number = METRIC_DOUBLE,
                                 .labels = "collector",
                                 .help = "Time spent in the collector's collections. A rate near "
                                         "1: a tick takes as long as the interval, and ticks will "
                                         "be missed."},
    [SELF_COLLECTOR_LAST_SUCCESS] = {.name = EXPORTER("collector_last_success_timestamp_seconds"),
                                     .type = METRIC_GAUGE,
                                     .number = METRIC_DOUBLE,
                                     .labels = "collector",
                                     .help = "When a collection last succeeded; absent while none "
                                             "did. Long ago: its metrics stand still. High means "
                                             "recent."},
    [SELF_COLLECTOR] = {.name = EXPORTER("collector"),
                        .type = METRIC_INFO,
                        .labels = "collector, reason",
                        .help = "Why a collector runs (ok) or does not. /api/v1/status says it in "
                                "words, with the remedy."},

    [SELF_TICKS] = {.name = EXPORTER("ticks"),
                    .type = METRIC_COUNTER,
                    .help = "Ticks taken. A rate below one per interval: ticks are missed."},
    [SELF_MISSED_TICKS] = {.name = EXPORTER("missed_ticks"),
                           .type = METRIC_COUNTER,
                           .help = "Ticks that were due while an earlier one was still at work or "
                                   "the exporter got no CPU. High: latencies are means over longer "
                                   "windows than asked for."},
    [SELF_LAST_TICK] = {.name = EXPORTER("last_tick_timestamp_seconds"),
                        .type = METRIC_GAUGE,
                        .number = METRIC_DOUBLE,
                        .help = "When the last tick began; absent before the first. Long ago: the "
                                "exporter hangs. High means recent. Under replay it is the "
                                "recording's time."},
    [SELF_WINDOWS_DISCARDED] = {.name = EXPORTER("windows_discarded"),
                                .type = METRIC_COUNTER,
                                .labels = "collector, reason",
                                .help = "Windows, or runs of the probe, that gave no result. High "
                                        "for starved: others hold the PMU's counters. High for "
                                        "preempted, migrated or stolen: the probe's CPU is not "
                                        "quiet enough."},
    [SELF_CONTAINERS] = {.name = EXPORTER("containers"),
                         .type = METRIC_GAUGE,
                         .labels = "state",
                         .help = "Containers by what is done with them. High for over_limit: "
                                 "containers go unseen, raise --containers.max."},
    [SELF_CONTAINERS_LIMIT] = {.name = EXPORTER("containers_limit"),
                               .type = METRIC_GAUGE,
                               .help = "Live containers that are monitored at most. High: many "
                                       "file descriptors may be needed."},
    [SELF_OPEN_COUNTERS] = {.name = EXPORTER("open_counters"),
                            .type = METRIC_GAUGE,
                            .help = "File descriptors held for counters. Near process_max_fds: "
                                    "further containers cannot be counted."},
    [SELF_OPEN_FAILURES] = {.name = EXPORTER("perf_open_failures"),
                            .type = METRIC_COUNTER,
                            .labels = "collector, reason",
                            .help = "Counter groups that could not be opened. High: containers go "
                                    "uncounted; the reason tells whose limit it is."},
    [SELF_PMU_ENABLED] = {.name = EXPORTER("pmu_enabled_seconds"),
                          .type = METRIC_COUNTER,
                          .number = METRIC_DOUBLE,
                          .labels = "collector",
                          .help = "Time in which counter groups were to count, summed over groups "
                                  "and CPUs. High beside pmu_running_seconds: counters are shared "
                                  "with other users, and counts are extrapolated."},
    [SELF_PMU_RUNNING] = {.name = EXPORTER("pmu_running_seconds"),
                          .type = METRIC_COUNTER,
                          .number = METRIC_DOUBLE,
                          .labels = "collector",
                          .help = "Of pmu_enabled_seconds, the time in which the hardware counted. "
                                  "As high as that: nothing is extrapolated."},
    [SELF_RELOAD_SUCCESSFUL] = {.name = EXPORTER("config_last_reload_successful"),
                                .type = METRIC_GAUGE,
                                .help = "1 when the thresholds file could be read the last time. "
                                        "0: earlier thresholds are in force; the log names the "
                                        "line."},
    [SELF_RELOAD_TIME] = {.name = EXPORTER("config_last_reload_success_timestamp_seconds"),
                          .type = METRIC_GAUGE,
                          .number = METRIC_DOUBLE,
                          .help = "When the thresholds file was last read without an error; "
                                  "absent without one. High means recent."},

    [SELF_HTTP_REQUESTS] = {.name = EXPORTER("http_requests"),
                            .type = METRIC_COUNTER,
                            .labels = "handler, format, code",
                            .help = "HTTP requests answered. High for code 503: more scrapes at "
                                    "once than --web.max-requests."},
    [SELF_CPU_SECONDS] = {.name = "process_cpu_seconds",
                          .type = METRIC_COUNTER,
                          .number = METRIC_DOUBLE,
                          .help = "CPU time of the exporter, user and system. High: sampling or "
                                  "scraping costs much."},
    [SELF_OPEN_FDS] = {.name = "process_open_fds",
                       .type = METRIC_GAUGE,
                       .help = "Open file descriptors of the exporter. Near process_max_fds: "
                               "further containers cannot be counted."},
    [SELF_MAX_FDS] = {.name = "process_max_fds",
                      .type = METRIC_GAUGE,
                      .help = "File descriptors that the exporter may have open. High: room for "
                              "many containers."},
    [SELF_VIRTUAL_MEMORY] = {.name = "process_virtual_memory_bytes",
                             .type = METRIC_GAUGE,
                             .help = "Address space of the exporter. High alone means nothing."},
    [SELF_RESIDENT_MEMORY] = {.name = "process_resident_memory_bytes",
                              .type = METRIC_GAUGE,
                              .help = "Memory of the exporter, the probe's buffers included. High: "
                                      "many containers, or a leak where they are not many."},
    [SELF_START_TIME] = {.name = "process_start_time_seconds",
                         .type = METRIC_GAUGE,
                         .number = METRIC_DOUBLE,
                         .help = "When the exporter started. High means recent: counters began "
                                 "then."},
};
