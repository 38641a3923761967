/*
 * What else the host suffers from, beside slow memory: tasks that wait for CPUs, for free memory or
 * for disks (pressure stall information, PSI), and CPU time that the hypervisor gives to others.
 *
 * For people only, beside what is measured: it helps to tell slow memory from no memory. Files are
 * opened once and read every few seconds, since /proc/stat is long on large machines; nothing here
 * allocates. In a container they are the host's, too: the kernel has no others. Loop thread only.
 */
#ifndef IE_HOST_HOST_H
#define IE_HOST_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/live/live.h"

/*
 * What the kernel's files say of the whole host. Pure.
 *
 * Each function returns 0, or -EINVAL for text that no kernel writes, with the out parameters
 * untouched.
 */

/* A file of pressure stall information (/proc/pressure/cpu): the share of the last ten seconds in
 * which some task waited for the resource. Of other lines nothing is taken. */
int pressure_parse(const char *text, size_t len, double *some_ratio);

/*
 * The first line of /proc/stat, all of it: what all CPUs did since boot, and how much of that the
 * hypervisor gave to others (steal). Guests' time is in user and nice already. -ENODATA: a kernel
 * that does not count steal.
 */
int cpu_times_parse(const char *text, size_t len, uint64_t *all_ticks, uint64_t *steal_ticks);

enum { HOST_EVERY_SECONDS = 5 };

enum host_file { HOST_CPU, HOST_MEMORY, HOST_IO, HOST_STAT, HOST_FILES };

/* Embedded. */
struct host {
    int fd[HOST_FILES]; /* -1: cannot be read */
    bool read;          /* at all */
    uint64_t read_ns;   /* when, by the monotonic clock */
    uint64_t all_ticks, steal_ticks;
    struct live_host known; /* as of then */
};

/* 'fs' is used for this call only. What cannot be opened stays unknown. */
void host_init(struct host *host, const struct fsroot *fs);
/* Also of one that was never initialised but all zero. */
void host_release(struct host *host);

/* Reads again if it is time. */
void host_tick(struct host *host, uint64_t mono_ns);

#endif
