/*
 * File systems whose pages come without asking a program: the kernel's own, on disks and in memory.
 *
 * Reading another process's memory can read a page of a file, which waits for whoever serves that
 * file, and cannot be ended. So only what is known to be local is read: the device is mounted where
 * the first process of the node sees it, with a type that is on the list. A tenant's own mounts are
 * not there, among them overlays, whose lower layer may be served by a program of the tenant's
 * while their type tells nothing. A runtime mounts its containers' root file systems on the node.
 */
#ifndef IE_SOURCE_ACCESSES_LOCAL_MOUNTS_H
#define IE_SOURCE_ACCESSES_LOCAL_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"

/* A number goes to another file system when the one that had it is unmounted. */
#define LOCAL_MOUNTS_MAX_AGE_NS 1000000000u

struct local_mounts;

/* 'fs' is borrowed for its life. 0 or -ENOMEM. */
int local_mounts_new(const struct fsroot *fs, struct local_mounts **out);
void local_mounts_free(struct local_mounts *mounts);

/*
 * Whether a mapping of this device may be read, by a table of at most LOCAL_MOUNTS_MAX_AGE_NS. What
 * is not in it is not local: also when the table could not be read. Memory without a file (no
 * device) is not asked about.
 */
bool local_mounts_has(struct local_mounts *mounts, uint32_t major, uint32_t minor, uint64_t now_ns);

#endif
