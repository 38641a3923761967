/* The kernel's list format for CPUs and nodes: "0-3,8,10-11\n". */
#ifndef IE_BASE_CPULIST_H
#define IE_BASE_CPULIST_H

#include <stddef.h>

/*
 * Parses text of 'len' bytes into ascending, distinct numbers. Stores up to 'cap' of them in out
 * (may be NULL when cap is 0), and their full number in *n. An empty list is valid. -EINVAL for
 * anything else; numbers above 65535 are refused, since no kernel has them.
 */
int cpulist_parse(const char *text, size_t len, int *out, size_t cap, size_t *n);

#endif
