#include "exporter/options/table.h"

#include <string.h>

#include "exporter/options/options.h"

#define MEMBER(member) offsetof(struct options, member)

#define MS 1e6
#define HOUR (3600 * 1e9)

static const char *const source_words[] = {"auto", "perf", "replay", NULL};
static const char *const speed_words[] = {"1", "max", NULL};
static const char *const names_words[] = {"auto", "runtime", "logs", "none", NULL};
static const char *const level_words[] = {"debug", "info", "warn", "error", NULL};
static const char *const format_words[] = {"logfmt", "json", NULL};
static const char *const histogram_words[] = {"node", "container", NULL};

const struct flag flag_table[] = {
    {.name = "web.listen-address",
     .type = FLAG_LISTEN,
     .fallback = ":10066",
     .unit = "ADDRESS:PORT",
     .help = "Address to serve HTTP on; may be given several times. Port 0 takes any free port."},
    {.name = "web.telemetry-path",
     .type = FLAG_URL_PATH,
     .offset = MEMBER(telemetry_path),
     .fallback = "/metrics",
     .unit = "PATH",
     .help = "Path of the metrics endpoint."},
    {.name = "web.max-requests",
     .type = FLAG_COUNT,
     .offset = MEMBER(max_requests),
     .min = 0,
     .max = 100000,
     .fallback = "40",
     .unit = "REQUESTS",
     .help = "Scrapes served at the same time; further ones get 503. 0 means no limit."},
    {.name = "web.disable-exporter-metrics",
     .type = FLAG_BOOL,
     .offset = MEMBER(disable_exporter_metrics),
     .help = "Leave out process_* and the count of HTTP requests. What says whether the other "
             "metrics can be trusted (collectors, source, ticks) stays."},
    {.name = "web.systemd-socket",
     .type = FLAG_BOOL,
     .offset = MEMBER(systemd_socket),
     .help = "Serve on the sockets that systemd passes instead of --web.listen-address."},
    {.name = "web.openmetrics-created",
     .type = FLAG_BOOL,
     .offset = MEMBER(openmetrics_created),
     .help = "Add _created samples to the OpenMetrics format."},
    {.name = "web.config.file",
     .type = FLAG_UNSUPPORTED,
     .unit = "FILE",
     .help = "TLS and authentication as in the Prometheus exporter-toolkit: not supported yet."},

    {.name = "collector.disable-defaults",
     .type = FLAG_BOOL,
     .offset = MEMBER(disable_defaults),
     .help = "Run only the collectors that are switched on by a flag of their own."},
    {.name = "collector.core_latency.histogram",
     .type = FLAG_EITHER,
     .offset = MEMBER(config.core_latency_container_histogram),
     .fallback = "node",
     .choices = histogram_words,
     .help = "Who gets a histogram of latencies: the node, or every container as well, which adds "
             "20 series to each."},
    {.name = "collector.core_latency.threshold-factor",
     .type = FLAG_NUMBER,
     .offset = MEMBER(config.core_latency_threshold_factor),
     .min = 1,
     .max = 100,
     .fallback = "1.25",
     .unit = "FACTOR",
     .help = "Where the thresholds file says nothing, a container's threshold is its baseline "
             "times this."},
    {.name = "collector.imc_rpq.cas-latency",
     .type = FLAG_SECONDS,
     .offset = MEMBER(config.imc_rpq_cas_latency_seconds),
     .min = 1,
     .max = 1000,
     .unit = "DURATION",
     .help = "CAS latency of the DIMMs, for example 14.3ns for DDR4-2933 CL21; goes before a "
             "recording's. While it is neither given nor recorded, memory controllers have queue "
             "lengths but no latency."},
    {.name = "collector.slowdown.alone-rate",
     .type = FLAG_BOOL,
     .offset = MEMBER(config.slowdown_alone_rate),
     .help = "Also export, per container, the rate at which it would access the last-level cache "
             "if it were alone."},

    {.name = "collector.pebs_nvmm.period",
     .type = FLAG_COUNT,
     .offset = MEMBER(config.pebs_nvmm_period),
     .min = 1,
     .max = 2147483647,
     .fallback = "10007",
     .unit = "ACCESSES",
     .help = "One store of so many is sampled. A prime, or loops of a length that divides it are "
             "seen at one instruction only."},
    {.name = "collector.pebs_nvmm.loads",
     .type = FLAG_BOOL,
     .offset = MEMBER(config.pebs_nvmm_loads),
     .help = "Also sample loads, with the same period."},
    {.name = "collector.pebs_nvmm.per-process",
     .type = FLAG_BOOL,
     .offset = MEMBER(config.pebs_nvmm_per_process),
     .help = "Also export series by process, of at most 1024 processes at a time. What processes "
             "and threads did in the last second is at /api/v1/nvmm without it."},
    {.name = "collector.pebs_nvmm.rfo",
     .type = FLAG_BOOL,
     .offset = MEMBER(config.pebs_nvmm_rfo),
     .help = "Also count reads for ownership that persistent memory serves (Cascade Lake, Ice "
             "Lake). Blind for non-temporal stores of whole cache lines."},

    {.name = "path.procfs",
     .type = FLAG_TEXT,
     .offset = MEMBER(procfs),
     .unit = "DIRECTORY",
     .help = "Where the host's procfs is mounted, if not in the usual place."},
    {.name = "path.sysfs",
     .type = FLAG_TEXT,
     .offset = MEMBER(sysfs),
     .unit = "DIRECTORY",
     .help = "Where the host's sysfs is mounted, if not in the usual place."},
    {.name = "path.cgroupfs",
     .type = FLAG_TEXT,
     .offset = MEMBER(cgroupfs),
     .unit = "DIRECTORY",
     .help = "Where the host's cgroups are mounted; found by itself when not given."},
    {.name = "path.rootfs",
     .type = FLAG_TEXT,
     .offset = MEMBER(rootfs),
     .unit = "DIRECTORY",
     .help = "Where the host's root is mounted; container runtimes' state and logs are read "
             "below it."},

    {.name = "sampling.interval",
     .type = FLAG_DURATION,
     .offset = MEMBER(interval_ns),
     .min = 100 * MS,
     .max = HOUR,
     .fallback = "1s",
     .unit = "DURATION",
     .help = "Distance between ticks: how often counters are read."},

    {.name = "containers.include",
     .type = FLAG_REGEX,
     .offset = MEMBER(include),
     .unit = "REGEX",
     .help = "Monitor only containers whose namespace/pod/container matches as a whole."},
    {.name = "containers.exclude",
     .type = FLAG_REGEX,
     .offset = MEMBER(exclude),
     .unit = "REGEX",
     .help = "Do not monitor containers whose namespace/pod/container matches as a whole."},
    {.name = "containers.max",
     .type = FLAG_COUNT,
     .offset = MEMBER(containers_max),
     .min = 1,
     .max = 100000,
     .fallback = "512",
     .unit = "CONTAINERS",
     .help = "Live containers that are monitored at most; the rest waits for room."},
    {.name = "containers.linger",
     .type = FLAG_DURATION,
     .offset = MEMBER(linger_ns),
     .min = 0,
     .max = 24 * HOUR,
     .fallback = "2m",
     .unit = "DURATION",
     .help = "How long the counters of an ended container stay, so that its last counts are "
             "scraped."},
    {.name = "containers.linger-max",
     .type = FLAG_COUNT,
     .offset = MEMBER(linger_max),
     .min = 0,
     .max = 1000000,
     .fallback = "2048",
     .unit = "CONTAINERS",
     .help = "Ended containers that stay at most; beyond it the oldest go first."},
    {.name = "containers.all-cgroups",
     .type = FLAG_BOOL,
     .offset = MEMBER(all_cgroups),
     .help = "Count every cgroup that has processes of its own, not only containers. A parent "
             "includes its descendants."},
    {.name = "containers.names",
     .type = FLAG_CHOICE,
     .offset = MEMBER(names),
     .fallback = "auto",
     .choices = names_words,
     .help = "Where names come from: the runtimes' state files, the kubelet's log links, "
             "whichever is there, or nowhere."},

    {.name = "thresholds.file",
     .type = FLAG_TEXT,
     .offset = MEMBER(thresholds_file),
     .unit = "FILE",
     .help = "Latency thresholds by namespace, pod and container (JSON). Read again on SIGHUP."},
    {.name = "events.file",
     .type = FLAG_TEXT,
     .offset = MEMBER(events_file),
     .unit = "FILE",
     .help = "Machine facts and events that replace the built-in ones (JSON)."},

    {.name = "source",
     .type = FLAG_CHOICE,
     .offset = MEMBER(source),
     .fallback = "auto",
     .choices = source_words,
     .help = "Where counts come from: this machine's kernel, or a recording. auto means perf, or "
             "replay when --source.replay.file is given."},
    {.name = "source.replay.file",
     .type = FLAG_TEXT,
     .offset = MEMBER(replay_file),
     .unit = "FILE",
     .help = "Recording to replay."},
    {.name = "source.replay.speed",
     .type = FLAG_EITHER,
     .offset = MEMBER(replay_max_speed),
     .fallback = "1",
     .choices = speed_words,
     .help = "Replay as fast as it was recorded, or as fast as possible."},
    {.name = "source.record.file",
     .type = FLAG_TEXT,
     .offset = MEMBER(record_file),
     .unit = "FILE",
     .help = "Write everything that is read to this file, for replay."},

    {.name = "once",
     .type = FLAG_BOOL,
     .offset = MEMBER(once),
     .help = "Print the metrics after two ticks (replay: after all of them) and exit; no socket is "
             "opened."},
    {.name = "log.level",
     .type = FLAG_CHOICE,
     .offset = MEMBER(log_level),
     .fallback = "info",
     .choices = level_words,
     .help = "Least severity of the lines logged to standard error."},
    {.name = "log.format",
     .type = FLAG_CHOICE,
     .offset = MEMBER(log_format),
     .fallback = "logfmt",
     .choices = format_words,
     .help = "Format of the log lines."},
    {.name = "version",
     .type = FLAG_ACTION,
     .offset = MEMBER(version),
     .help = "Print the version and exit."},
    {.name = "help",
     .type = FLAG_ACTION,
     .offset = MEMBER(help),
     .help = "Print this text and exit."},
};

const size_t flag_count = sizeof flag_table / sizeof *flag_table;

bool flag_exists(const struct flag *flag)
{
    static const char prefix[] = "collector.";
    if (strncmp(flag->name, prefix, sizeof prefix - 1) != 0)
        return true;
    const char *name = flag->name + sizeof prefix - 1;
    const char *dot = strchr(name, '.');
    if (!dot)
        return true;
    size_t len = (size_t)(dot - name);
    for (size_t i = 0; collector_table[i]; i++) {
        if (strncmp(collector_table[i]->name, name, len) == 0 && !collector_table[i]->name[len])
            return true;
    }
    return false;
}
