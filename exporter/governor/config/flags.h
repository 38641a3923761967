/* The governor's flags. */
#ifndef IE_GOVERNOR_FLAGS_H
#define IE_GOVERNOR_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "exporter/base/log.h"
#include "exporter/governor/config/config.h"

/* Of the addresses that HTTP is served on: how many at most, and the length of their list. */
enum { FLAGS_LISTEN_MAX = 8, FLAGS_LISTEN_BYTES = 1024 };

enum report { REPORT_NONE, REPORT_TABLE, REPORT_JSON };

/* Texts point into argv or are constants. */
struct flags {
    const char *config_file;               /* NULL for help and version, and may be for restore */
    const char *state_directory;           /* absolute, shorter than CONFIG_DIRECTORY_MAX */
    const char *replay_file;               /* NULL: not given */
    enum report report;                    /* there is one if and only if there is such a file */
    const char *listen;                    /* "127.0.0.1:10067" */
    const char *web_config_file;           /* NULL: not given */
    const char *procfs, *sysfs, *cgroupfs; /* NULL: the default */
    enum log_level log_level;
    enum log_format log_format;
    bool enforce, experiment, restore, check, allow_replay;
    bool help, version;
};

/* -EINVAL with one line in error. */
int flags_parse(struct flags *out, int argc, char *const *argv, char *error, size_t error_size);
void flags_print_help(FILE *file);
/* What the configuration is to be read with. */
struct config_given flags_given(const struct flags *flags);

#endif
