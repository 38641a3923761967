/*
 * What the kernel says about this process, for the process_* metrics: its CPU time, memory, file
 * descriptors and start.
 *
 * Always from this process's own /proc, never from --path.procfs, which may be another machine's.
 * Files are opened once; reading neither allocates nor opens.
 */
#ifndef IE_SERVICE_OWN_PROCESS_H
#define IE_SERVICE_OWN_PROCESS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"

struct own_process {
    int memory_fd;      /* -1: cannot be read */
    DIR *fds;           /* NULL: cannot be read */
    bool fds_have_size; /* Linux 6.2 and later: the directory's size is the number of its entries */
    uint64_t fds_counted;
    unsigned fds_age; /* readings since fds_counted */
    double start_time_seconds;
};

enum process_known {
    PROCESS_MEMORY = 1,
    PROCESS_OPEN_FDS = 2,
    PROCESS_MAX_FDS = 4,
    PROCESS_START_TIME = 8,
};

struct process_numbers {
    unsigned known; /* bits of enum process_known */
    double cpu_seconds;
    uint64_t virtual_memory_bytes, resident_memory_bytes;
    uint64_t open_fds; /* on older kernels, where counting is expensive, up to 15 readings old */
    uint64_t max_fds;
    double start_time_seconds; /* since the epoch */
};

/* 'fs' is used for this call only; it is a parameter for tests. Numbers whose files cannot be
 * opened stay unknown. */
void process_init(struct own_process *process, const struct fsroot *fs);
void process_release(struct own_process *process);
void process_read(struct own_process *process, struct process_numbers *out);

#endif
