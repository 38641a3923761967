/*
 * Which file has a container's or the machine's CPU time, and what to say of it.
 */
#ifndef IE_SOURCE_ACTIVITY_FILE_H
#define IE_SOURCE_ACTIVITY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/source/activity/activity.h"

/*
 * The kernel's files that say for how long CPUs ran something. Pure.
 *
 * Each function returns 0, or -EINVAL for text that no kernel writes, with the out parameters
 * untouched. Times that do not fit 64 bits of nanoseconds are refused too.
 */

/* cpu.stat of cgroup v2: usage_usec. Without that line, as in v1's file of this name, -ENODATA. */
int cpu_stat_parse(const char *text, size_t len, uint64_t *usage_ns);

/* cpuacct.usage. */
int cpuacct_usage_parse(const char *text, size_t len, uint64_t *usage_ns);

/* cpuacct.usage_percpu: one number for each possible CPU, ascending. Stores up to 'cap' of them,
 * and their full number in *n, which is at least 1. */
int cpuacct_percpu_parse(const char *text, size_t len, uint64_t *usage_ns, size_t cap, size_t *n);

struct cpu_time {
    int cpu;
    uint64_t ns;
};

/*
 * The CPUs of /proc/stat, with the time in which each ran something: user, nice and system, with
 * guests in the first two, and irq and softirq, which load memory as well. Not what a hypervisor
 * took (steal): then nothing ran here.
 *
 * 'ticks' a second are the file's unit. The text may end in the middle, behind the CPUs: only whole
 * lines count. Stores up to 'cap' CPUs, and their full number in *n. -ENODATA: no line of a CPU.
 */
int proc_stat_parse(const char *text, size_t len, unsigned ticks, struct cpu_time *out, size_t cap,
                    size_t *n);

/*
 * An open file of the kernel with CPU times, read as rows of CPUs.
 */

/* Buffers for one reading, and what they need to know of the machine; one for all files. */
struct activity_buffer {
    char *text;
    size_t size; /* of the longest text */
    uint64_t *numbers;
    int *possible; /* the CPU of each number of cpuacct.usage_percpu */
    struct cpu_time *times;
    size_t n; /* of 'possible', and room in the other two */
    unsigned ticks;
};

/* 0 or -ENOMEM. */
int activity_buffer_init(struct activity_buffer *buffer, const struct fsroot *fs);
void activity_buffer_release(struct activity_buffer *buffer);

/*
 * Reads into buffer->times: one entry per CPU, or one with CPU -1 for a sum. 0 with *n; -ESRCH when
 * the cgroup is gone; other -errno. Allocates nothing.
 */
int activity_file_read(int fd, enum activity_way way, struct activity_buffer *buffer, size_t *n);

/* "cpuacct.usage_percpu, per CPU" and so on. */
const char *activity_way_words(enum activity_way way);

/*
 * Opens the file of a way and reads it once, into the buffer. A descriptor of the caller's, with
 * *n; or -errno, -ENOENT when the way is not there for this scope, -ESRCH when its cgroup is gone.
 */
int activity_file_open(const struct activity_config *config, const struct scope *scope,
                       enum activity_way way, struct activity_buffer *buffer, size_t *n);

#endif
