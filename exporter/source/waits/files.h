/*
 * The open files of one container, and its totals since they were opened.
 */
#ifndef IE_SOURCE_WAITS_FILES_H
#define IE_SOURCE_WAITS_FILES_H

#include "exporter/source/waits/waits.h"

/* The first four may say how often a limit of CPU time was reached. */
enum waits_file {
    WAITS_USAGE,       /* v2's cpu.stat, or cpuacct.usage */
    WAITS_QUOTA,       /* v1's cpu.stat */
    WAITS_QUOTA_ABOVE, /* that of the nearest cgroup above with a limit */
    WAITS_QUOTA_TOP,   /* and of the next */
    WAITS_CPU,
    WAITS_MEMORY,
    WAITS_IO,
    WAITS_FILES
};

/* Who waited for memory or disks is read more of for a minute of windows of 5 s. */
enum { SUSPECT_READINGS = 12 };

/* In the order of the group's roles. */
enum waits_total {
    TOTAL_CPU_TIME,
    TOTAL_PERIODS,
    TOTAL_THROTTLED,
    TOTAL_CPU_SOME,
    TOTAL_CPU_FULL,
    TOTAL_MEMORY_SOME,
    TOTAL_IO_SOME,
    TOTAL_LIMIT_EVENTS,
    TOTAL_REFAULTS,
    TOTAL_RUN_DELAY,
    TOTAL_STEAL,
    TOTAL_NODE_MEMORY,
    TOTAL_NODE_RECLAIMED,
    TOTALS
};

struct waits_delays;

struct waits_files {
    const struct waits_config *config;
    const char *path;    /* of the cgroup */
    int fd[WAITS_FILES]; /* -1: not there */
    bool usage_is_v1;
    struct waits_delays *delays; /* owned; NULL: there is pressure of a CPU */
    struct {
        uint64_t periods, throttled;
        bool known;
    } quota[WAITS_QUOTA_TOP + 1];    /* as the kernel said last */
    uint64_t limit_events, refaults; /* likewise */
    bool had_limit_events, had_refaults;
    uint64_t waits_ns, read_ns; /* for memory and disks, at the last reading, and when it was */
    unsigned suspected;         /* readings for which what its memory does is read, too */
    uint64_t total[TOTALS]; /* as the kernel counts, but periods, events, refaults and delays, which
                               begin at 0 */
    uint32_t present;       /* bits */
};

/* Opens what is there. 0 with *opened descriptors; -ENOENT: not even the CPU time; -ESRCH; -ENOMEM;
 * -EMFILE, -ENFILE. 'config' and 'path' are borrowed; 'text' is room for a file. */
int waits_files_open(struct waits_files *files, const struct waits_config *config,
                     const struct scope *scope, const char *path, char *text, size_t size,
                     size_t *opened);
/* Limits that were not there: runtimes make a container's cgroups one after the other, and change
 * limits. Returns how many more are open. */
size_t waits_files_open_later(struct waits_files *files, char *text, size_t size);
/* All closed; accepts one that is closed already. Returns how many there were. */
size_t waits_files_close(struct waits_files *files);

/* Brings the totals up to date, but for the machine's. 0; -ESRCH; other -errno. */
int waits_files_read(struct waits_files *files, uint64_t now_ns, char *text, size_t size);

#endif
