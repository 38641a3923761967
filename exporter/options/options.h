/*
 * The flags: one table of name, type, range, default, unit and help makes parsing, --help and the
 * documentation (DESIGN.md, "CONTRACT: flags and endpoints").
 */
#ifndef IE_OPTIONS_OPTIONS_H
#define IE_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "collectors/contract/collector.h"
#include "exporter/base/log.h"
#include "exporter/containers/names/names.h"

enum option_source { SOURCE_AUTO, SOURCE_PERF, SOURCE_BPF, SOURCE_REPLAY };
enum option_switch { SWITCH_DEFAULT, SWITCH_ON, SWITCH_OFF };
enum { OPTIONS_MAX_LISTEN = 16 };

/* Strings point into argv or are constants, unless said otherwise. */
struct options {
    const char *listen[OPTIONS_MAX_LISTEN]; /* default {":10066"} */
    size_t n_listen;
    const char *telemetry_path; /* "/metrics" */
    size_t max_requests;        /* 40; 0: no limit */
    bool api;
    bool disable_exporter_metrics;
    bool systemd_socket;
    bool openmetrics_created;
    const char *web_config_file; /* NULL: not given */

    enum option_switch collector[COLLECTORS_MAX]; /* by index in collector_table */
    bool disable_defaults;
    struct collector_config config[COLLECTORS_MAX]; /* likewise */

    const char *procfs, *sysfs, *cgroupfs, *rootfs, *resctrl; /* NULL: the default */
    uint64_t interval_ns;

    const char *include, *exclude; /* NULL: not given */
    size_t containers_max;
    uint64_t linger_ns;
    size_t linger_max;
    bool all_cgroups, nested;
    enum names_mode names;

    const char *thresholds_file, *state_file, *events_file; /* NULL: not given */
    enum option_source source; /* a replay file makes it SOURCE_REPLAY */
    const char *replay_file, *record_file;
    size_t record_max_bytes;        /* 0: no limit */
    const char *blackbox_directory; /* NULL: not given */
    size_t blackbox_max_files, blackbox_max_bytes;
    bool replay_max_speed;   /* --source.replay.speed=max */
    uint64_t replay_skip_ns; /* of the recording's beginning: as fast as possible */

    bool anonymise;        /* with open_file: other names */
    const char *report;    /* with open_file: "html", on standard output; NULL: not given */
    const char *open_file; /* a recording to look at: replay_file, too; NULL: not given */
    bool once;             /* also where doctor is */
    bool doctor, json;
    bool table;  /* with once: for people, after ten seconds */
    size_t user; /* 0: as started */
    enum log_level log_level;
    enum log_format log_format;
    bool help, version, healthcheck;
};

/*
 * Fills *out with defaults and argv. --flag=value and --flag value, --[no-]flag for booleans. If a
 * flag is given twice, the last value counts; listen addresses all count. Contradictory flags are
 * rejected, unless help or version is requested. Opens no file. -EINVAL with one clear line in
 * error (exit 2), *out untouched.
 */
int options_parse(struct options *out, int argc, char *const *argv, char *error, size_t error_size);

/* --help, from the table. */
void options_print_help(FILE *file);

#endif
