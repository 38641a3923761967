/*
 * What the kernel's files say of the whole host. Pure.
 *
 * Each function returns 0, or -EINVAL for text that no kernel writes, with the out parameters
 * untouched.
 */
#ifndef IE_HOST_PARSE_H
#define IE_HOST_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* A file of pressure stall information (/proc/pressure/cpu): the share of the last ten seconds in
 * which some task waited for the resource. Of other lines nothing is taken. */
int pressure_parse(const char *text, size_t len, double *some_ratio);

/*
 * The first line of /proc/stat, all of it: what all CPUs did since boot, and how much of that the
 * hypervisor gave to others (steal). Guests' time is in user and nice already. -ENODATA: a kernel
 * that does not count steal.
 */
int cpu_times_parse(const char *text, size_t len, uint64_t *all_ticks, uint64_t *steal_ticks);

#endif
