/*
 * Looks into other processes from a process of its own, which can be left alone when a read does
 * not end: memory whose file is served by a program that never answers.
 *
 *   warden   a child of the exporter's: keeps the privileges, starts workers; no work
 *   worker   the warden's child: reads mappings, code and what is behind them, as it is asked
 *
 * One question at a time, and a worker has INSPECT_DEADLINE_MS to answer; INSPECT_PATIENCE_MS while
 * it only waits for a CPU, as on a node that is busy. Then it is left alone (the kernel may not let
 * anybody end it), and the warden starts another, later each time if they do not live long. When a
 * worker dies it is replaced likewise; when the warden dies, the worker goes with it; when the
 * exporter ends, both end.
 */
#ifndef IE_INSPECT_INSPECTOR_H
#define IE_INSPECT_INSPECTOR_H

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/source/accesses/medium.h"
#include "exporter/source/accesses/process_reader.h"

enum { INSPECT_DEADLINE_MS = 200, INSPECT_PATIENCE_MS = 2000 };

struct inspector;

/*
 * Forks the warden; for main, before there are threads and before privileges are dropped. Returns 0
 * in the reader, 1 in the warden and in workers: these have done their work then, and end with
 * *status. -errno. 'fs' and 'log' are borrowed. 'rule' is for programs of tests and works in the
 * worker; NULL: that of pmem.h.
 */
int inspector_fork(const struct fsroot *fs, struct medium_rule *rule, const struct log *log,
                   struct inspector **out, int *status);
/* Ends both, or leaves those alone that cannot be ended; nobody asks any more. Accepts NULL. */
void inspector_free(struct inspector *inspector);

/* For one thread, until the inspector is freed. */
struct process_reader *inspector_reader(struct inspector *inspector);
struct medium_rule *inspector_rule(struct inspector *inspector);

/* Whether the warden has ended, so that nobody will look any more. Any thread. */
bool inspector_is_lost(const struct inspector *inspector);

#endif
