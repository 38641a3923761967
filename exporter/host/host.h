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

#include "exporter/base/fsroot.h"
#include "exporter/live/live.h"

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
