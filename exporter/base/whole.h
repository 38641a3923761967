/* Reading and writing all of it, however often the kernel interrupts. */
#ifndef IE_BASE_WHOLE_H
#define IE_BASE_WHOLE_H

#include <stddef.h>

/* Up to the end of the file, or 'size' bytes; *len is how many. 0 or -errno. */
int read_whole(int fd, void *bytes, size_t size, size_t *len);
/* 0 or -errno; then some of it may be written. */
int write_whole(int fd, const void *bytes, size_t len);

#endif
