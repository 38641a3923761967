/*
 * Sealed memory files: bytes for another process, which neither side can change any more.
 */
#ifndef IE_BASE_SEALED_FILE_H
#define IE_BASE_SEALED_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* A file with these bytes, for the caller to close. 0 or -errno. */
int sealed_file_new(const void *bytes, size_t len, int *fd);
/* Whether it is one, and len bytes long: then a mapping of it can neither change nor fault. */
bool sealed_file_is(int fd, size_t len);

#endif
