/*
 * --events.file: machine facts and event texts that replace rows of the CPU's table.
 */
#ifndef IE_SOURCE_EVENT_FILE_H
#define IE_SOURCE_EVENT_FILE_H

#include <stddef.h>

#include "exporter/source/event/table.h"
#include "exporter/source/role.h"

struct events_file {
    double base_frequency_hz; /* 0: not given */
    double cache_cycles;
    double cache_seconds; /* only with cache_cycles */
    double llc_hit_cycles;
    double l2_fill_cycles, l3_fill_cycles;
    char *event[ROLE_COUNT]; /* owned; NULL: not given */
};

/* -EINVAL with the reason ("line 3: unknown role "foo"") in error. Sizes over 1 MiB are refused. */
int events_file_parse(const char *text, size_t len, struct events_file *out, char *error,
                      size_t error_size);
/* Reads the file; errors name it. */
int events_file_load(const char *path, struct events_file *out, char *error, size_t error_size);
void events_file_release(struct events_file *file);

/* What to encode for a role of the cores: the file's text, or the table's, or the kernel's clock
 * for CPU time. NULL: there is none.
 * Either may be NULL: no --events.file, an unsupported CPU. */
const char *event_text(const struct events_file *file, const struct event_table *table,
                       enum role role);

#endif
