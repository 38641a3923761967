#include "exporter/options/table.h"

#include <string.h>

#include "exporter/options/options.h"

#define MEMBER(member) offsetof(struct options, member)

#define MS 1e6
#define HOUR (3600 * 1e9)

static const char *const source_words[] = {"auto", "perf", "bpf", "replay", NULL};
static const char *const speed_words[] = {"1", "max", NULL};
static const char *const names_words[] = {"auto", "runtime", "logs", "none", NULL};
static const char *const level_words[] = {"debug", "info", "warn", "error", NULL};
static const char *const format_words[] = {"logfmt", "json", NULL};

/* The members of a flag by its type; the help comes last. */
#define FLAG(name_, type_, member_, ...)                                                           \
    {                                                                                              \
        .name = name_, .type = type_, .offset = MEMBER(member_), __VA_ARGS__                       \
    }
#define SWITCH(name_, member_, help_) FLAG(name_, FLAG_BOOL, member_, .help = help_)
#define ACTION(name_, member_, help_) FLAG(name_, FLAG_ACTION, member_, .help = help_)
#define TEXT(name_, member_, unit_, help_)                                                         \
    FLAG(name_, FLAG_TEXT, member_, .unit = unit_, .help = help_)
#define REGEX(name_, member_, help_)                                                               \
    FLAG(name_, FLAG_REGEX, member_, .unit = "REGEX", .help = help_)
#define COUNT(name_, member_, min_, max_, fallback_, unit_, help_)                                 \
    FLAG(name_, FLAG_COUNT, member_, .min = min_, .max = max_, .fallback = fallback_,              \
         .unit = unit_, .help = help_)
#define DURATION(name_, member_, min_, max_, fallback_, help_)                                     \
    FLAG(name_, FLAG_DURATION, member_, .min = min_, .max = max_, .fallback = fallback_,           \
         .unit = "DURATION", .help = help_)
#define CHOICE(name_, member_, fallback_, choices_, help_)                                         \
    FLAG(name_, FLAG_CHOICE, member_, .fallback = fallback_, .choices = choices_, .help = help_)

const struct option_flag flag_table[] = {
    {.name = "web.listen-address",
     .type = FLAG_LISTEN,
     .fallback = ":10066",
     .unit = "ADDRESS:PORT",
     .help = "Address on which HTTP is served; may be repeated. Port 0 selects any free port. "
             "unix:PATH is a socket that only the exporter's user may use (mode 0600); its "
             "directory must be root's or that user's, and writable to nobody else."},
    {.name = "web.telemetry-path",
     .type = FLAG_URL_PATH,
     .offset = MEMBER(telemetry_path),
     .fallback = "/metrics",
     .unit = "PATH",
     .help = "Path of the metrics endpoint."},
    COUNT("web.max-requests", max_requests, 0, 100000, "40", "REQUESTS",
          "Maximum number of scrapes served at the same time; others get status 503. 0 means no "
          "limit."),
    SWITCH("web.api", api,
           "Serve the documents below /api/v1/ that name containers and processes to everybody who "
           "reaches the port. Without it, only to clients on this machine, and to those with a "
           "password or a verified certificate. /api/v1/status is for everybody."),
    SWITCH("web.disable-exporter-metrics", disable_exporter_metrics,
           "Leave out process_* and the count of HTTP requests. The metrics that show whether the "
           "others can be trusted (collectors, source, ticks) stay."),
    SWITCH("web.systemd-socket", systemd_socket,
           "Serve on the sockets that systemd passes, instead of --web.listen-address."),
    SWITCH("web.openmetrics-created", openmetrics_created,
           "Add _created samples to the OpenMetrics format."),
    TEXT("web.config.file", web_config_file, "FILE",
         "TLS, client certificates, passwords, headers and a rate limit: the YAML of Prometheus' "
         "exporter-toolkit."),

    SWITCH(FLAG_OF_ALL_COLLECTORS, disable_defaults,
           "Run only the collectors that a --collector.NAME flag switches on."),

    TEXT("path.procfs", procfs, "DIRECTORY",
         "Where the host's procfs is mounted, if not in the usual place."),
    TEXT("path.sysfs", sysfs, "DIRECTORY",
         "Where the host's sysfs is mounted, if not in the usual place."),
    TEXT("path.cgroupfs", cgroupfs, "DIRECTORY",
         "Where the host's cgroups are mounted. Detected automatically if not given."),
    TEXT("path.rootfs", rootfs, "DIRECTORY",
         "Where the host's root file system is mounted. The state and logs of container runtimes "
         "are read below it."),
    TEXT("path.resctrl", resctrl, "DIRECTORY",
         "Where the host's resctrl is mounted, if not at fs/resctrl of sysfs. The monitoring "
         "groups that others made there are read; nothing is made or changed."),

    DURATION("sampling.interval", interval_ns, 100 * MS, HOUR, "1s",
             "Time between two ticks. Each tick reads the counters."),

    REGEX("containers.include", include,
          "Monitor only containers whose full namespace/pod/container name matches."),
    REGEX(
        "containers.exclude", exclude,
        "Do not monitor containers whose full namespace/pod/container name matches. While a "
        "container is not monitored, no time counts as calm, unless the memory controllers' "
        "traffic is counted: baselines then rest on what is usual, and slowdown has no estimate."),
    COUNT("containers.max", containers_max, 1, 100000, "4096", "CONTAINERS",
          "Maximum number of live containers monitored; others wait. Fewer where the limit of file "
          "descriptors or of memory holds fewer: the log says so."),
    DURATION("containers.linger", linger_ns, 0, 24 * HOUR, "2m",
             "How long the counters of an ended container are still served, so that a scrape gets "
             "its last counts."),
    COUNT("containers.linger-max", linger_max, 0, 1000000, "2048", "CONTAINERS",
          "Maximum number of ended containers whose counters are still served; the oldest are "
          "dropped first."),
    SWITCH("containers.all-cgroups", all_cgroups,
           "Count every cgroup that has processes of its own, not only containers. The counts of a "
           "parent include its descendants."),
    SWITCH("containers.nested", nested,
           "Count containers inside containers (docker in docker, nodes in containers) also by "
           "themselves, at most 16 in each. Who runs a container may make such cgroups in it, "
           "under any name; their names are those of their cgroups."),
    CHOICE("containers.names", names, "auto", names_words,
           "Where container names come from. runtime: the state files of the container runtimes; "
           "logs: the kubelet's log links; auto: runtime, otherwise logs; none: ids instead of "
           "names."),

    TEXT("thresholds.file", thresholds_file, "FILE",
         "Latency thresholds by namespace, pod and container (JSON). SIGHUP reloads the file."),
    TEXT("state.file", state_file, "FILE",
         "Keep in this file what is learned about the containers and the machine, so that "
         "baselines, thresholds and the calibration survive a restart of the exporter (not of the "
         "machine). Its directory must be writable."),
    TEXT("events.file", events_file, "FILE",
         "Machine facts and events that replace the built-in ones (JSON)."),

    CHOICE("source", source, "auto", source_words,
           "Where counts come from: this machine's kernel, by its cgroup events (perf) or by a "
           "program in it (bpf: fewer descriptors; where it cannot run, perf takes over and the "
           "log says why), or a recording (replay). auto means replay if --source.replay.file is "
           "given; otherwise bpf where cgroup events would be too many (twice the containers that "
           "run at the start, at least 110, on all CPUs), else perf."),
    TEXT("source.replay.file", replay_file, "FILE", "Recording to replay."),
    {.name = "source.replay.speed",
     .type = FLAG_EITHER,
     .offset = MEMBER(replay_max_speed),
     .fallback = "1",
     .choices = speed_words,
     .help = "Replay at the speed of the recording, or as fast as possible."},
    DURATION("source.replay.skip", replay_skip_ns, 0, 24 * HOUR, "0s",
             "Replay this much of the recording's beginning as fast as possible. Nothing in it is "
             "left out: what can be learned from it is known at once."),
    TEXT("source.record.file", record_file, "FILE",
         "Write everything that is read to this file, for a later replay. It must not be a link, "
         "nor another user's. Compressed where its name ends with .gz."),
    COUNT("source.record.max-bytes", record_max_bytes, 0, 1e15, "0", "BYTES",
          "Stop the recording before the file gets longer. 0 means no limit."),

    TEXT("blackbox.directory", blackbox_directory, "DIRECTORY",
         "Hold the last fifteen minutes of what was read in memory (64 MiB at most), and write "
         "them to a recording in this directory when something begins: a container waits for "
         "memory or loses time, somebody is named or nobody can be; at SIGUSR2, too, and where "
         "POST /api/v1/blackbox asks for it. The file goes on until five minutes after the end."),
    COUNT("blackbox.max-files", blackbox_max_files, 1, 64, "20", "FILES",
          "How many files there may be in --blackbox.directory; the oldest go."),
    COUNT("blackbox.max-bytes", blackbox_max_bytes, 1048576, 1e15, "268435456", "BYTES",
          "How large all files in --blackbox.directory may be together; the oldest go."),

    TEXT("open", open_file, "FILE",
         "Look at a recording, of the black box or another one: replay it at once, and serve the "
         "page of the node with a slider over its time, and the documents below /api/v1/ with "
         "?at=SECONDS; on 127.0.0.1 unless --web.listen-address says otherwise."),
    TEXT("report", report, "FORMAT",
         "With --open: instead of serving, print one page that needs nothing else, for a ticket: "
         "the node as it was at the first mark, with the minutes before. The format is html."),
    SWITCH("anonymise", anonymise,
           "With --open: show numbers in the place of the names of namespaces, pods, containers, "
           "images and ids; the same ones whenever the recording is opened."),
    SWITCH("once", once,
           "Print the metrics after two ticks (replay: after the last tick) and exit, without "
           "opening a socket."),
    SWITCH("doctor", doctor,
           "Say in ten lines what this machine can tell and what not, why, and what would change "
           "it; then exit, with 3 while something would, otherwise 0. Opens no socket."),
    SWITCH("json", json, "With --doctor: as a JSON document."),
    SWITCH("table", table,
           "With --once: instead of the metrics, print what each container waits for and what to "
           "do, after ten seconds (replay: after the last tick)."),
    COUNT("process.user", user, 0, 4294967294, "0", "UID",
          "Become this user after the start, and keep what counting needs (CAP_PERFMON); takes "
          "CAP_SETUID. The group stays: the kubelet's folder of logs is for root's. What only root "
          "can read is then out of reach: the runtimes' state (--containers.names) and other "
          "processes (samples). 0 means as started."),
    CHOICE("log.level", log_level, "info", level_words,
           "Minimum severity of the lines logged to standard error."),
    CHOICE("log.format", log_format, "logfmt", format_words, "Format of the log lines."),
    ACTION("healthcheck", healthcheck,
           "Ask the exporter that runs at --web.listen-address for /-/healthy, and exit: with 0 if "
           "it is well. With --web.config.file, only whether it accepts a connection."),
    ACTION("version", version, "Print the version and exit."),
    ACTION("help", help, "Print this text and exit."),
};

const size_t flag_count = sizeof flag_table / sizeof *flag_table;

/* The collectors' own flags stand behind the one about them all. */
static bool collectors_follow(size_t own)
{
    return own > 0 && strcmp(flag_table[own - 1].name, FLAG_OF_ALL_COLLECTORS) == 0;
}

const struct option_flag *flag_next(struct flag_walk *walk)
{
    while (collectors_follow(walk->own) && collector_table[walk->next_collector]) {
        const struct option_flag *options = collector_table[walk->next_collector]->options;
        if (options && options[walk->next_option].name) {
            walk->collector = (int)walk->next_collector;
            return &options[walk->next_option++];
        }
        walk->next_collector++;
        walk->next_option = 0;
    }
    walk->collector = FLAG_OWN;
    return walk->own < flag_count ? &flag_table[walk->own++] : NULL;
}
