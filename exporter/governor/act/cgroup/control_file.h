/*
 * Reading a cgroup's control files.
 */
#ifndef IE_GOVERNOR_CONTROL_FILE_H
#define IE_GOVERNOR_CONTROL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"

/* The first line, without its end. -ENOENT: there is no such file. */
int control_file_text(int directory, const char *name, char *out, size_t size);
/* -EINVAL: it is no whole number. */
int control_file_number(int directory, const char *name, uint64_t *out);

/* The CPUs that a cgroup may run on: of its cpuset, or else all that are online. */

/* Where the controller cpuset is. */
struct cgroup_cpus {
    const struct fsroot *fs; /* borrowed */
    char v1[2048];           /* its hierarchy of v1; "": of v2, if it is mounted at all */
};

void cgroup_cpus_init(struct cgroup_cpus *cpus, const struct fsroot *fs);

/* The list as the kernel writes it, of the cgroup that is this directory and has this path. Where
 * nothing says it, CPUs that are online. 0 or -errno. */
int cgroup_cpus_read(const struct cgroup_cpus *cpus, int directory, const char *path, char *out,
                     size_t size);

#endif
