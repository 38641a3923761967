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
    {.name = "web.max-requests",
     .type = FLAG_COUNT,
     .offset = MEMBER(max_requests),
     .min = 0,
     .max = 100000,
     .fallback = "40",
     .unit = "REQUESTS",
     .help = "Maximum number of scrapes served at the same time; others get status 503. 0 means no "
             "limit."},
    {.name = "web.api",
     .type = FLAG_BOOL,
     .offset = MEMBER(api),
     .help = "Serve the documents below /api/v1/ that name containers and processes to everybody "
             "who reaches the port. Without it, only to clients on this machine, and to those with "
             "a password or "
             "a verified certificate. /api/v1/status is "
             "for everybody."},
    {.name = "web.disable-exporter-metrics",
     .type = FLAG_BOOL,
     .offset = MEMBER(disable_exporter_metrics),
     .help = "Leave out process_* and the count of HTTP requests. The metrics that show whether "
             "the others can be trusted (collectors, source, ticks) stay."},
    {.name = "web.systemd-socket",
     .type = FLAG_BOOL,
     .offset = MEMBER(systemd_socket),
     .help = "Serve on the sockets that systemd passes, instead of --web.listen-address."},
    {.name = "web.openmetrics-created",
     .type = FLAG_BOOL,
     .offset = MEMBER(openmetrics_created),
     .help = "Add _created samples to the OpenMetrics format."},
    {.name = "web.config.file",
     .type = FLAG_TEXT,
     .offset = MEMBER(web_config_file),
     .unit = "FILE",
     .help = "TLS, client certificates, passwords, headers and a rate limit: the YAML of "
             "Prometheus' exporter-toolkit."},

    {.name = FLAG_OF_ALL_COLLECTORS,
     .type = FLAG_BOOL,
     .offset = MEMBER(disable_defaults),
     .help = "Run only the collectors that a --collector.NAME flag switches on."},

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
     .help = "Where the host's cgroups are mounted. Detected automatically if not given."},
    {.name = "path.rootfs",
     .type = FLAG_TEXT,
     .offset = MEMBER(rootfs),
     .unit = "DIRECTORY",
     .help = "Where the host's root file system is mounted. The state and logs of container "
             "runtimes are read below it."},
    {.name = "path.resctrl",
     .type = FLAG_TEXT,
     .offset = MEMBER(resctrl),
     .unit = "DIRECTORY",
     .help = "Where the host's resctrl is mounted, if not at fs/resctrl of sysfs. The monitoring "
             "groups that others made there are read; nothing is made or changed."},

    {.name = "sampling.interval",
     .type = FLAG_DURATION,
     .offset = MEMBER(interval_ns),
     .min = 100 * MS,
     .max = HOUR,
     .fallback = "1s",
     .unit = "DURATION",
     .help = "Time between two ticks. Each tick reads the counters."},

    {.name = "containers.include",
     .type = FLAG_REGEX,
     .offset = MEMBER(include),
     .unit = "REGEX",
     .help = "Monitor only containers whose full namespace/pod/container name matches."},
    {.name = "containers.exclude",
     .type = FLAG_REGEX,
     .offset = MEMBER(exclude),
     .unit = "REGEX",
     .help = "Do not monitor containers whose full namespace/pod/container name matches. While a "
             "container is not monitored, no time counts as calm, unless the memory controllers' "
             "traffic is counted: baselines then rest on what is usual, and slowdown has no "
             "estimate."},
    {.name = "containers.max",
     .type = FLAG_COUNT,
     .offset = MEMBER(containers_max),
     .min = 1,
     .max = 100000,
     .fallback = "4096",
     .unit = "CONTAINERS",
     .help = "Maximum number of live containers monitored; others wait. Fewer where the limit of "
             "file descriptors or of memory holds fewer: the log says so."},
    {.name = "containers.linger",
     .type = FLAG_DURATION,
     .offset = MEMBER(linger_ns),
     .min = 0,
     .max = 24 * HOUR,
     .fallback = "2m",
     .unit = "DURATION",
     .help = "How long the counters of an ended container are still served, so that a scrape gets "
             "its last counts."},
    {.name = "containers.linger-max",
     .type = FLAG_COUNT,
     .offset = MEMBER(linger_max),
     .min = 0,
     .max = 1000000,
     .fallback = "2048",
     .unit = "CONTAINERS",
     .help = "Maximum number of ended containers whose counters are still served; the oldest are "
             "dropped first."},
    {.name = "containers.all-cgroups",
     .type = FLAG_BOOL,
     .offset = MEMBER(all_cgroups),
     .help = "Count every cgroup that has processes of its own, not only containers. The counts of "
             "a parent include its descendants."},
    {.name = "containers.nested",
     .type = FLAG_BOOL,
     .offset = MEMBER(nested),
     .help = "Count containers inside containers (docker in docker, nodes in containers) also by "
             "themselves, at most 16 in each. Who runs a container may make such cgroups in it, "
             "under any name; their names are those of their cgroups."},
    {.name = "containers.names",
     .type = FLAG_CHOICE,
     .offset = MEMBER(names),
     .fallback = "auto",
     .choices = names_words,
     .help = "Where container names come from. runtime: the state files of the container runtimes; "
             "logs: the kubelet's log links; auto: runtime, otherwise logs; none: ids instead of "
             "names."},

    {.name = "thresholds.file",
     .type = FLAG_TEXT,
     .offset = MEMBER(thresholds_file),
     .unit = "FILE",
     .help = "Latency thresholds by namespace, pod and container (JSON). SIGHUP reloads the file."},
    {.name = "state.file",
     .type = FLAG_TEXT,
     .offset = MEMBER(state_file),
     .unit = "FILE",
     .help = "Keep in this file what is learned about the containers and the machine, so that "
             "baselines, thresholds and the calibration survive a restart of the exporter (not of "
             "the machine). Its directory must be writable."},
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
     .help = "Where counts come from: this machine's kernel, by its cgroup events (perf) or by a "
             "program in it (bpf: fewer descriptors; where it cannot run, perf takes over and the "
             "log says why), or a recording (replay). auto means replay if --source.replay.file "
             "is given; otherwise bpf where cgroup events would be too many (twice the containers "
             "that run at the start, at least 110, on all CPUs), else perf."},
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
     .help = "Replay at the speed of the recording, or as fast as possible."},
    {.name = "source.replay.skip",
     .type = FLAG_DURATION,
     .offset = MEMBER(replay_skip_ns),
     .min = 0,
     .max = 24 * HOUR,
     .fallback = "0s",
     .unit = "DURATION",
     .help = "Replay this much of the recording's beginning as fast as possible. Nothing in it is "
             "left out: what can be learned from it is known at once."},
    {.name = "source.record.file",
     .type = FLAG_TEXT,
     .offset = MEMBER(record_file),
     .unit = "FILE",
     .help = "Write everything that is read to this file, for a later replay. It must not be a "
             "link, nor another user's. Compressed where its name ends with .gz."},
    {.name = "source.record.max-bytes",
     .type = FLAG_COUNT,
     .offset = MEMBER(record_max_bytes),
     .min = 0,
     .max = 1e15,
     .fallback = "0",
     .unit = "BYTES",
     .help = "Stop the recording before the file gets longer. 0 means no limit."},

    {.name = "blackbox.directory",
     .type = FLAG_TEXT,
     .offset = MEMBER(blackbox_directory),
     .unit = "DIRECTORY",
     .help = "Hold the last fifteen minutes of what was read in memory (64 MiB at most), and write "
             "them to a recording in this directory when something begins: a container waits for "
             "memory or loses time, somebody is named or nobody can be; at SIGUSR2, too, and where "
             "POST /api/v1/blackbox asks for it. The file goes on until five minutes after the "
             "end."},
    {.name = "blackbox.max-files",
     .type = FLAG_COUNT,
     .offset = MEMBER(blackbox_max_files),
     .min = 1,
     .max = 64,
     .fallback = "20",
     .unit = "FILES",
     .help = "How many files there may be in --blackbox.directory; the oldest go."},
    {.name = "blackbox.max-bytes",
     .type = FLAG_COUNT,
     .offset = MEMBER(blackbox_max_bytes),
     .min = 1048576,
     .max = 1e15,
     .fallback = "268435456",
     .unit = "BYTES",
     .help = "How large all files in --blackbox.directory may be together; the oldest go."},

    {.name = "open",
     .type = FLAG_TEXT,
     .offset = MEMBER(open_file),
     .unit = "FILE",
     .help = "Look at a recording, of the black box or another one: replay it at once, and serve "
             "the page of the node with a slider over its time, and the documents below /api/v1/ "
             "with ?at=SECONDS; on 127.0.0.1 unless --web.listen-address says otherwise."},
    {.name = "report",
     .type = FLAG_TEXT,
     .offset = MEMBER(report),
     .unit = "FORMAT",
     .help =
         "With --open: instead of serving, print one page that needs nothing else, for a ticket: "
         "the node as it was at the first mark, with the minutes before. The format is html."},
    {.name = "anonymise",
     .type = FLAG_BOOL,
     .offset = MEMBER(anonymise),
     .help = "With --open: show numbers in the place of the names of namespaces, pods, containers, "
             "images and ids; the same ones whenever the recording is opened."},
    {.name = "once",
     .type = FLAG_BOOL,
     .offset = MEMBER(once),
     .help = "Print the metrics after two ticks (replay: after the last tick) and exit, without "
             "opening a socket."},
    {.name = "doctor",
     .type = FLAG_BOOL,
     .offset = MEMBER(doctor),
     .help = "Say in ten lines what this machine can tell and what not, why, and what would change "
             "it; then exit, with 3 while something would, otherwise 0. Opens no socket."},
    {.name = "json",
     .type = FLAG_BOOL,
     .offset = MEMBER(json),
     .help = "With --doctor: as a JSON document."},
    {.name = "table",
     .type = FLAG_BOOL,
     .offset = MEMBER(table),
     .help = "With --once: instead of the metrics, print what each container waits for and what to "
             "do, after ten seconds (replay: after the last tick)."},
    {.name = "process.user",
     .type = FLAG_COUNT,
     .offset = MEMBER(user),
     .min = 0,
     .max = 4294967294,
     .fallback = "0",
     .unit = "UID",
     .help = "Become this user after the start, and keep what counting needs (CAP_PERFMON); takes "
             "CAP_SETUID. The group stays: the kubelet's folder of logs is for root's. What only "
             "root can read is then out of reach: the runtimes' state (--containers.names) and "
             "other processes (samples). 0 means as started."},
    {.name = "log.level",
     .type = FLAG_CHOICE,
     .offset = MEMBER(log_level),
     .fallback = "info",
     .choices = level_words,
     .help = "Minimum severity of the lines logged to standard error."},
    {.name = "log.format",
     .type = FLAG_CHOICE,
     .offset = MEMBER(log_format),
     .fallback = "logfmt",
     .choices = format_words,
     .help = "Format of the log lines."},
    {.name = "healthcheck",
     .type = FLAG_ACTION,
     .offset = MEMBER(healthcheck),
     .help = "Ask the exporter that runs at --web.listen-address for /-/healthy, and exit: with 0 "
             "if it is well. With --web.config.file, only whether it accepts a connection."},
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
