/*
 * Reading a cgroup's control files.
 */
#ifndef IE_GOVERNOR_CONTROL_FILE_H
#define IE_GOVERNOR_CONTROL_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The first line, without its end. -ENOENT: there is no such file. */
int control_file_text(int directory, const char *name, char *out, size_t size);
/* -EINVAL: it is no whole number. */
int control_file_number(int directory, const char *name, uint64_t *out);

#endif
