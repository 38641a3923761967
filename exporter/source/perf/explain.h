/*
 * Why events could not be opened, in words and with a remedy.
 */
#ifndef IE_SOURCE_PERF_EXPLAIN_H
#define IE_SOURCE_PERF_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/reason.h"
#include "exporter/source/event/encode.h"
#include "exporter/source/event/table.h"
#include "exporter/source/perf/group.h"
#include "exporter/source/perf/kernel.h"
#include "exporter/source/source.h"

/*
 * The sentence for a failed open: a different one, with its remedy, for each of ENOENT, EACCES,
 * EPERM, EMFILE, ENODEV and others; pure. 'what' is what was opened, e.g. "group core". 'paranoid'
 * is kernel.perf_event_paranoid, or PERF_PARANOID_UNKNOWN.
 */
enum { PERF_PARANOID_UNKNOWN = -2 };
void perf_explain(int err, const char *what, int paranoid, struct verdict *out);

/* kernel.perf_event_paranoid, or PERF_PARANOID_UNKNOWN. */
int perf_paranoid_level(const struct fsroot *fs);

/* No text says how the role is counted. */
void perf_explain_no_event(const struct fsroot *fs, const struct event_table *table,
                           enum group group, enum role role, struct verdict *why);

/* False when the directory is no cgroup, or one that was removed. */
bool perf_cgroup_alive(int cgroup_fd);
/* False when the kernel has no counters for this cgroup, though it lives: on v2, as long as no
 * controller was ever enabled at the root. */
bool perf_counts_cgroup(const struct perf_kernel *kernel, int cgroup_fd);
/* What the kernel said, or -ESRCH when it said so because the cgroup is gone. */
int perf_open_error(const struct scope *scope, int err);

/* Why opening a group failed, with what the kernel's error alone does not say: limits, cgroups,
 * kinds of events. May open an event to find out. */
void perf_explain_open(struct perf_context *context, const struct scope *scope, enum group group,
                       const struct encoded_event *const *events, size_t failed, int err,
                       struct verdict *why);

#endif
