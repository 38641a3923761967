/*
 * Least privilege: what is not needed any more is given back after start.
 */
#ifndef IE_SERVICE_PRIVILEGES_H
#define IE_SERVICE_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the process may use a capability (CAP_... of linux/capability.h); false also where the
 * kernel does not know it. */
bool privileges_has(int capability);

/*
 * Drops every capability of the process but the n of 'keep', of which it keeps those that it has,
 * and forbids gaining new ones. Must run before threads start: it affects the calling thread and
 * its later children. 0 or -errno.
 */
int privileges_drop(const int *keep, size_t n);

#endif
