/*
 * The threads of a cgroup, and the cgroups below it.
 *
 * All but cgroup_list() call 'found' until it returns something other than 0, and return that; or
 * -errno.
 */
#ifndef IE_GOVERNOR_CGROUP_TASKS_H
#define IE_GOVERNOR_CGROUP_TASKS_H

#include <dirent.h>

/* A directory by its descriptor (O_PATH); NULL: it cannot be listed. */
DIR *cgroup_list(int directory);

/* Each number in a file of one a line. */
int cgroup_tasks_in_file(int directory, const char *name, int (*found)(void *context, unsigned tid),
                         void *context);

/* All threads of a cgroup itself, v1 or v2. */
int cgroup_tasks(int cgroup, int (*found)(void *context, unsigned tid), void *context);

/* All cgroups below one, sixteen levels deep, by descriptors (O_PATH) that are closed afterwards.
 * One error stops nothing: the first is returned. */
int cgroup_each_below(int cgroup, int (*found)(void *context, int cgroup), void *context);

#endif
