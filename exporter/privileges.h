/*
 * Least privilege: what is not needed any more is given back after start.
 */
#ifndef IE_EXPORTER_PRIVILEGES_H
#define IE_EXPORTER_PRIVILEGES_H

/*
 * Drops every capability of the process but PERFMON, and forbids gaining new ones. SYS_ADMIN stays
 * where this kernel demands it for counters: perf_event_paranoid above 2, or uprobes in the events
 * file ('events_path', NULL: none). Must run before threads start: it affects the calling thread
 * and its later children. 'procfs' as in fsroot_init. 0 or -errno.
 */
int privileges_drop(const char *procfs, const char *events_path);

#endif
