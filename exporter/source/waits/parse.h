/*
 * The kernel's files that say what a container waits for, and what it may have. Pure.
 *
 * Each function returns 0; -ENODATA where the file does not say it; or -EINVAL for text that no
 * kernel writes, with the out parameters untouched. Only whole lines count, so that a text may end
 * in the middle.
 */
#ifndef IE_SOURCE_WAITS_PARSE_H
#define IE_SOURCE_WAITS_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of a line "KEY N", as cpu.stat, memory.events, memory.stat and /proc/vmstat have. */
int flat_parse(const char *text, size_t len, const char *key, uint64_t *value);

struct pressure_totals {
    uint64_t some_ns, full_ns;
    bool has_full; /* of a CPU since Linux 5.13 only */
};

/* The totals of a file of pressure stall information. */
int pressure_totals_parse(const char *text, size_t len, struct pressure_totals *out);

/* cpu.max: nanoseconds per second, "20000 100000" is 200,000,000. -ENODATA: "max". */
int cpu_max_parse(const char *text, size_t len, uint64_t *quota_ns);

/* A file of one number. -ENODATA: "max", or v1's -1. */
int single_parse(const char *text, size_t len, uint64_t *value);

/* CPUs are folded into so many bits, by their numbers: as many bits are exact in a double. */
enum { CPU_BITS = 52 };

/* Time taken by the hypervisor, of all CPUs with one bit. */
struct steal_totals {
    uint64_t ns[CPU_BITS];
    unsigned cpus[CPU_BITS];
};

/* /proc/stat, of which 'ticks' a second are the unit. -ENODATA: no CPU, or a kernel that does not
 * count steal. */
int steal_parse(const char *text, size_t len, unsigned ticks, struct steal_totals *out);

/* The kernel's list of CPUs: the bits that they have, and how many CPUs there are. -ENODATA: none.
 * */
int cpu_set_parse(const char *text, size_t len, uint64_t *set, size_t *cpus);

/* /proc/PID/schedstat: time that the task waited for a CPU. */
int schedstat_parse(const char *text, size_t len, uint64_t *delay_ns);

#endif
