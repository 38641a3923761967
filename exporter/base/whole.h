/* Whole files: read and written however often the kernel interrupts, or sealed in memory. */
#ifndef IE_BASE_WHOLE_H
#define IE_BASE_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

/* Up to the end of the file, or 'size' bytes; *len is how many. 0 or -errno. */
int read_whole(int fd, void *bytes, size_t size, size_t *len);
/* 0 or -errno; then some of it may be written. */
int write_whole(int fd, const void *bytes, size_t len);

/* A sealed memory file: bytes for another process, which neither side can change any more; for the
 * caller to close. 0 or -errno. */
int sealed_file_new(const void *bytes, size_t len, int *fd);
/* Whether it is one, and len bytes long: then a mapping of it can neither change nor fault. */
bool sealed_file_is(int fd, size_t len);

#endif
