/*
 * The kernel's files that say for how long CPUs ran something. Pure.
 *
 * Each function returns 0, or -EINVAL for text that no kernel writes, with the out parameters
 * untouched. Times that do not fit 64 bits of nanoseconds are refused too.
 */
#ifndef IE_SOURCE_ACTIVITY_PARSE_H
#define IE_SOURCE_ACTIVITY_PARSE_H

#include <stddef.h>
#include <stdint.h>

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

#endif
