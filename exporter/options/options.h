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
#include "exporter/source/accesses/medium.h"

enum option_source { SOURCE_AUTO, SOURCE_PERF, SOURCE_REPLAY };
enum option_switch { SWITCH_DEFAULT, SWITCH_ON, SWITCH_OFF };
enum { OPTIONS_MAX_LISTEN = 16 };

/* Strings point into argv or are constants, unless said otherwise. */
struct options {
    const char *listen[OPTIONS_MAX_LISTEN]; /* default {":10066"} */
    size_t n_listen;
    const char *telemetry_path; /* "/metrics" */
    size_t max_requests;        /* 40; 0: no limit */
    bool disable_exporter_metrics;
    bool systemd_socket;
    bool openmetrics_created;

    enum option_switch collector[COLLECTORS_MAX]; /* by index in collector_table */
    bool disable_defaults;
    struct collector_config config;

    const char *procfs, *sysfs, *cgroupfs, *rootfs; /* NULL: the default */
    uint64_t interval_ns;

    const char *include, *exclude; /* NULL: not given */
    size_t containers_max;
    uint64_t linger_ns;
    size_t linger_max;
    bool all_cgroups;
    enum names_mode names;

    const char *thresholds_file, *events_file; /* NULL: not given */
    enum option_source source;                 /* a replay file makes it SOURCE_REPLAY */
    struct medium_rule *medium_rule; /* no flag: in programs of tests what is to be persistent
                                        memory; NULL: what really is */
    const char *replay_file, *record_file;
    bool replay_max_speed; /* --source.replay.speed=max */

    bool once;
    enum log_level log_level;
    enum log_format log_format;
    bool help, version;
};

/*
 * Fills *out with defaults and argv. --flag=value and --flag value, --[no-]flag for booleans. Of a
 * flag given twice the last counts, but every listen address does. What contradicts itself is
 * refused, unless help or version is asked for. Opens no file.
 * -EINVAL with one clear line in error (exit 2), *out untouched.
 */
int options_parse(struct options *out, int argc, char *const *argv, char *error, size_t error_size);

/* --help, from the table. */
void options_print_help(FILE *file);

/* "1s", "500ms", "1.5s", "2m", "1h30m"; units h, m, s, ms, us, ns, each at most once and larger
 * ones first; at most 213 days. A bare number is refused, so is what is no whole number of
 * nanoseconds. 0 or -EINVAL. Pure. */
int options_parse_duration(const char *text, uint64_t *out_ns);

#endif
