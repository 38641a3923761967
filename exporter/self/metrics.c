#include "exporter/self/metrics.h"

#define EXPORTER(n) "interference_exporter_" n

const struct metric_desc self_descs[SELF_METRICS] = {
    [SELF_BUILD] = METRIC(INFO, U64, EXPORTER("build"), "version, revision, compiler",
                          "The exporter's version, the commit of its source (\"unknown\": not "
                          "built from a repository), and what compiled it."),
    [SELF_SOURCE] =
        METRIC(INFO, U64, EXPORTER("source"), "source, microarchitecture",
               "Where the counts come from: perf's cgroup events, or bpf, a program "
               "in the kernel (/api/v1/status says why). source=\"replay\": nothing here is "
               "measured now; everything comes from a recording. microarchitecture "
               "is \"unknown\" for a CPU that has no table of events."),

    [SELF_COLLECTOR_AVAILABLE] =
        METRIC(GAUGE, U64, EXPORTER("collector_available"), "collector",
               "1 while the collector runs. 0: it is switched off or cannot work here. "
               "collector_info says why, or what the collector cannot do for some containers."),
    [SELF_COLLECTOR_SUCCESS] =
        METRIC(GAUGE, U64, EXPORTER("collector_success"), "collector",
               "1 when the collector runs and its last collection succeeded. 0 while the "
               "collector is available: the log says what failed. Absent for a collector that "
               "was never started."),
    [SELF_COLLECTOR_DURATION] =
        METRIC(COUNTER, DOUBLE, EXPORTER("collector_duration_seconds"), "collector",
               "Time that the collector's collections took. A rate near 1: a tick takes as long "
               "as the interval, and ticks will be missed."),
    [SELF_COLLECTOR_LAST_SUCCESS] =
        METRIC(GAUGE, DOUBLE, EXPORTER("collector_last_success_timestamp_seconds"), "collector",
               "Time of the collector's last successful collection; absent until there is one. "
               "Long ago: its metrics no longer change. High means recent."),
    [SELF_COLLECTOR] = METRIC(INFO, U64, EXPORTER("collector"), "collector, reason",
                              "Whether a collector runs (reason ok), otherwise the reason why "
                              "not. /api/v1/status explains the reason and the remedy."),

    [SELF_TICKS] = METRIC(COUNTER, U64, EXPORTER("ticks"), NULL,
                          "Ticks taken. A rate below one per interval: ticks are missed."),
    [SELF_MISSED_TICKS] =
        METRIC(COUNTER, U64, EXPORTER("missed_ticks"), NULL,
               "Ticks that were due while an earlier tick still ran or the exporter got no CPU. "
               "High: latencies are means over longer windows than --sampling.interval."),
    [SELF_LAST_TICK] = METRIC(
        GAUGE, DOUBLE, EXPORTER("last_tick_timestamp_seconds"), NULL,
        "Time at which the last tick began; absent before the first tick. Long ago: the "
        "exporter hangs. High means recent. Under replay, the time comes from the recording."),
    [SELF_WINDOWS_DISCARDED] =
        METRIC(COUNTER, U64, EXPORTER("windows_discarded"), "collector, reason",
               "Windows, or runs of the probe, that gave no result. High for starved: other "
               "programs hold the PMU's counters. High for preempted, migrated or stolen: the "
               "probe's CPU is not quiet enough."),
    [SELF_CONTAINERS] = METRIC(GAUGE, U64, EXPORTER("containers"), "state",
                               "Containers by state. High for over_limit: containers are not "
                               "monitored; raise --containers.max."),
    [SELF_CONTAINERS_LIMIT] = METRIC(GAUGE, U64, EXPORTER("containers_limit"), NULL,
                                     "Maximum number of live containers monitored. High: many "
                                     "file descriptors may be needed."),
    [SELF_CGROUPS_REFUSED] =
        METRIC(COUNTER, U64, EXPORTER("cgroups_refused"), "reason",
               "Cgroups that were left alone because the container they lie in, or the user who "
               "made them, has had its share; each look at one counts. High: somebody makes "
               "very many; the others are not affected. directories: not looked at; places: not "
               "counted by themselves; watches: found by the slow rescan only."),
    [SELF_OPEN_COUNTERS] = METRIC(GAUGE, U64, EXPORTER("open_counters"), NULL,
                                  "File descriptors that counters use. Near process_max_fds: no "
                                  "further containers can be counted; by BPF it does not grow "
                                  "with containers."),
    [SELF_OPEN_FAILURES] = METRIC(COUNTER, U64, EXPORTER("perf_open_failures"), "collector, reason",
                                  "Counter groups that could not be opened. High: containers are "
                                  "not counted; the reason says what prevented it."),
    [SELF_PMU_ENABLED] = METRIC(COUNTER, DOUBLE, EXPORTER("pmu_enabled_seconds"), "collector",
                                "Time in which counter groups were supposed to count, summed "
                                "over groups and CPUs. High compared with pmu_running_seconds: "
                                "the counters are shared, and counts are extrapolated."),
    [SELF_PMU_RUNNING] = METRIC(COUNTER, DOUBLE, EXPORTER("pmu_running_seconds"), "collector",
                                "Part of pmu_enabled_seconds in which the hardware counted. As "
                                "high as pmu_enabled_seconds: nothing is extrapolated."),
    [SELF_RELOAD_SUCCESSFUL] =
        METRIC(GAUGE, U64, EXPORTER("config_last_reload_successful"), NULL,
               "1 when the exporter last read the thresholds file without an error. 0: the "
               "earlier thresholds stay in force; the log names the line."),
    [SELF_RELOAD_TIME] =
        METRIC(GAUGE, DOUBLE, EXPORTER("config_last_reload_success_timestamp_seconds"), NULL,
               "Time at which the thresholds file was last read without an "
               "error; absent without such a file. High means recent."),
    [SELF_LOG_DROPPED] =
        METRIC(COUNTER, U64, EXPORTER("log_lines_dropped"), "reason",
               "Lines that are missing in the log. High for blocked: nobody takes the lines, or "
               "the disk is full. High for rate: a message came more often than it is logged; "
               "its next line says how many were left out."),
    [SELF_RECORDING_ACTIVE] =
        METRIC(GAUGE, U64, EXPORTER("recording_active"), NULL,
               "1 while --source.record.file is written. 0: the recording has stopped; the log "
               "says why. Absent without that flag."),
    [SELF_BLACKBOX_ACTIVE] = METRIC(
        GAUGE, U64, EXPORTER("blackbox_active"), NULL,
        "1 while the black box holds what is read. 0: its process has ended for good, and no "
        "further file will be written until the exporter is started again. Absent, as all "
        "of it, without --blackbox.directory."),
    [SELF_BLACKBOX_MEMORY] = METRIC(GAUGE, U64, EXPORTER("blackbox_memory_bytes"), NULL,
                                    "What the black box holds in memory. Near 56 million: it holds "
                                    "less than fifteen minutes."),
    [SELF_BLACKBOX_HELD] = METRIC(GAUGE, DOUBLE, EXPORTER("blackbox_held_seconds"), NULL,
                                  "How far back the black box reaches. High is good: 900 to 1020."),
    [SELF_BLACKBOX_DROPPED] =
        METRIC(COUNTER, U64, EXPORTER("blackbox_ticks_dropped"), NULL,
               "Ticks that are missing in the black box because it did not keep up. High: the disk "
               "of --blackbox.directory is slow, or the CPUs are busy."),
    [SELF_BLACKBOX_RESTARTS] =
        METRIC(COUNTER, U64, EXPORTER("blackbox_restarts"), NULL,
               "Processes of the black box that were killed, each with what it held, and had "
               "another one in their place. High: memory is short; after nine there is none."),
    [SELF_BLACKBOX_WRITTEN] = METRIC(COUNTER, U64, EXPORTER("blackbox_files_written"), NULL,
                                     "Files that the black box completed. High: much begins here."),
    [SELF_BLACKBOX_FAILURES] =
        METRIC(COUNTER, U64, EXPORTER("blackbox_failures"), NULL,
               "Files that the black box could not write, or not to their end. High: the disk is "
               "full, or --blackbox.max-bytes is too small; the log and /api/v1/blackbox say why."),
    [SELF_BLACKBOX_FILES] =
        METRIC(GAUGE, U64, EXPORTER("blackbox_files"), NULL,
               "Files of the black box that are there. High, at --blackbox.max-files: "
               "each further one takes the place of the oldest."),
    [SELF_BLACKBOX_FILE_BYTES] =
        METRIC(GAUGE, U64, EXPORTER("blackbox_file_bytes"), NULL,
               "What these files take of the disk. Near --blackbox.max-bytes: the oldest go."),

    [SELF_BLACKBOX_NEWEST] =
        METRIC(INFO, U64, EXPORTER("blackbox_newest_file"), "file",
               "The newest file of the black box, which may still be written; absent while there "
               "is none. Alerts name it."),

    [SELF_HTTP_REQUESTS] = METRIC(COUNTER, U64, EXPORTER("http_requests"), "handler, format, code",
                                  "HTTP requests answered. High for code 503: more scrapes at "
                                  "once than --web.max-requests allows."),
    [SELF_CPU_SECONDS] = METRIC(
        COUNTER, DOUBLE, "process_cpu_seconds", NULL,
        "CPU time of the exporter, user and system. High: sampling or scraping costs a lot."),
    [SELF_OPEN_FDS] = METRIC(GAUGE, U64, "process_open_fds", NULL,
                             "Open file descriptors of the exporter. Near process_max_fds: no "
                             "further containers can be counted."),
    [SELF_MAX_FDS] = METRIC(GAUGE, U64, "process_max_fds", NULL,
                            "Maximum number of file descriptors that the exporter may open. "
                            "High: there is room for many containers."),
    [SELF_VIRTUAL_MEMORY] =
        METRIC(GAUGE, U64, "process_virtual_memory_bytes", NULL,
               "Virtual memory of the exporter. A high value alone is no problem."),
    [SELF_RESIDENT_MEMORY] =
        METRIC(GAUGE, U64, "process_resident_memory_bytes", NULL,
               "Resident memory of the exporter, including the probe's buffers. "
               "High: there are many containers; with few containers, a leak."),
    [SELF_START_TIME] =
        METRIC(GAUGE, DOUBLE, "process_start_time_seconds", NULL,
               "Time at which the exporter started. High means recent: the counters began then."),
};
