/*
 * Files of a cgroup, for sources that keep them open and read them again and again.
 */
#ifndef IE_SOURCE_CGROUP_FILE_H
#define IE_SOURCE_CGROUP_FILE_H

#include <stddef.h>

/* Opens 'file' of the cgroup below a hierarchy's mount; all texts are put together as they are. A
 * descriptor of the caller's or -errno; -ENOENT also where the hierarchy is mounted nowhere (NULL
 * or ""), or the cgroup's path is not known (NULL). */
int cgroup_file_open(const char *mount, const char *cgroup, const char *file);

/* The file's beginning, as far as it fits: the kernel makes such a file as one record, so that one
 * call gets it. 0 with *len; -ESRCH when the cgroup is gone; other -errno. */
int cgroup_file_read(int fd, char *text, size_t size, size_t *len);

#endif
