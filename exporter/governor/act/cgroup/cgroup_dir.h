/*
 * The directory of a claim's cgroup, and of no other that has come under the same path.
 */
#ifndef IE_GOVERNOR_CGROUP_DIR_H
#define IE_GOVERNOR_CGROUP_DIR_H

#include "exporter/governor/terms/claim.h"

/* Of the claim's path below 'root', a hierarchy's mount: a descriptor (O_PATH), and what it and the
 * root are goes into the claim; or -errno, -EINVAL for a path that leads elsewhere. The last name
 * may be no link. */
int cgroup_dir_claim(const char *root, struct claim *claim);

/* The same for a claim that is open. -ENODEV: the cgroup has ended; another one may have its path.
 * -EXDEV: this root is not the one that it was claimed below, or cannot be opened, so nothing is
 * known. */
int cgroup_dir_open_claimed(const char *root, const struct claim *claim);

#endif
