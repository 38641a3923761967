/*
 * Least privilege: what is not needed any more is given back after start.
 */
#ifndef IE_SERVICE_PRIVILEGES_H
#define IE_SERVICE_PRIVILEGES_H

#include <stdbool.h>

/*
 * Drops every capability of the process but PERFMON, and forbids gaining new ones. SYS_ADMIN stays
 * where it is needed for counters: without PERFMON, with perf_event_paranoid above 2, or with
 * uprobes in the events file ('events_path', NULL: none). With 'samples', what looking into other
 * processes takes stays as well: SYS_PTRACE for their code and mappings, CHECKPOINT_RESTORE for the
 * files behind those, which else are found by path, and not where a directory on it is closed to
 * us. Must run before threads start: it affects the calling thread and its later children. 'procfs'
 * as in fsroot_init. 0 or -errno.
 */
int privileges_drop(const char *procfs, const char *events_path, bool samples);

#endif
