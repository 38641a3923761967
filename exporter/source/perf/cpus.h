/*
 * Which CPUs are online, from a descriptor that stays open.
 */
#ifndef IE_SOURCE_PERF_CPUS_H
#define IE_SOURCE_PERF_CPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/fsroot.h"

struct perf_cpus {
    int fd;       /* -1: there is no list in sysfs */
    int possible; /* there can be 0 to this - 1 as the kernel numbers them, with holes or without */
    size_t n, cap;
    int *at; /* ascending; owned */
    size_t text_len;
    char text[4096];
};

/* 0 or -errno. Without a list in sysfs: the CPUs that the C library knows, and never a change. */
int perf_cpus_init(struct perf_cpus *cpus, const struct fsroot *fs);
void perf_cpus_release(struct perf_cpus *cpus);
/* Looks again; *changed says whether anything is different. One pread when nothing is. */
int perf_cpus_refresh(struct perf_cpus *cpus, bool *changed);
bool perf_cpus_has(const struct perf_cpus *cpus, int cpu);

#endif
