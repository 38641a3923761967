/*
 * What this machine and its CPU are, found without any privilege.
 */
#ifndef IE_SOURCE_PERF_DETECT_H
#define IE_SOURCE_PERF_DETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/source/machine.h"

/*
 * The kernel's list of distances of a NUMA node (devices/system/node/node0/distance): one number
 * for each node that is online, by ascending number, as the firmware's SLIT has them: 10 is the
 * node itself, 20 takes twice as long. Pure.
 */

/* 0 with exactly n distances in out; -EINVAL for any other number of them, for one that is not
 * between 1 and 255, and for what is no number, with *out as it was. */
int numa_distances_parse(const char *text, size_t len, uint8_t *out, size_t n);

/*
 * Machine facts that can be measured here without any privilege: base frequency (CPUID 15H, or
 * perf's time_mult), sockets, nodes, CPUs. Unknown facts stay 0; what belongs to the event table
 * (microarchitecture, cache_cycles, llc_hit_cycles) is left for the caller to fill in.
 */
void machine_detect(const struct fsroot *fs, struct machine *out);

/* The CPU's socket; 0 when the kernel does not say. */
int cpu_socket(const struct fsroot *fs, int cpu);

/* Who the CPU is, from cpuinfo; for event_table_for_cpu(). 0; -ENOENT when it does not say (other
 * architectures); other -errno when it cannot be read. */
struct cpu_identity {
    char vendor[16];
    int family, model, stepping;
};
int cpu_identify(const struct fsroot *fs, struct cpu_identity *out);

/* What all of Arm's cores here say that they are, MIDR_EL1; -ENOENT on other architectures, and
 * where they are of several kinds. */
int cpu_midr(const struct fsroot *fs, uint64_t *midr);

/* What the kernel calls the PMU of the cores, in one line; false when it does not say. */
enum { CPU_PMU_NAME = 32 };
bool cpu_pmu_name(const struct fsroot *fs, char name[CPU_PMU_NAME]);

/* Whether there is a PMU of the cores: on x86, or as Arm's are most often called. */
bool cpu_has_pmu(const struct fsroot *fs);

/* Cores of two kinds, each with a PMU of its own. */
bool cpu_is_hybrid(const struct fsroot *fs);

#endif
