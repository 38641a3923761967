/*
 * Least privilege: what is not needed any more is given back after start.
 */
#ifndef IE_SERVICE_PRIVILEGES_H
#define IE_SERVICE_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether the process may use a capability (CAP_... of linux/capability.h); false also where the
 * kernel does not know it. */
bool privileges_has(int capability);

/*
 * Drops every capability of the process but the n of 'keep', of which it keeps those that it has,
 * and forbids gaining new ones. Must run before threads start: it affects the calling thread and
 * its later children. 0 or -errno.
 */
int privileges_drop(const int *keep, size_t n);

/* Drops this one, too, where the process has it. As privileges_drop(). */
int privileges_forgo(int capability);

/*
 * Becomes another user and belongs to no groups but its own, which stays. Capabilities are kept, to
 * be dropped by privileges_drop(). Must run before threads start. 0, also when it is that user
 * already, or -errno: -EPERM without CAP_SETUID.
 */
int privileges_become(uid_t user);

/*
 * What is in memory stays there: no core file, and other processes of the same user may neither
 * trace this one nor read its memory. 'writes_files': otherwise it cannot make a file longer
 * either. After privileges_drop(), which lets the kernel decide anew about tracing. 0, or the first
 * error as -errno; what can be done is done.
 */
int privileges_enclose(bool writes_files);

#endif
