/*
 * Where the probe runs and what it measures: initiator nodes with a CPU each, and target nodes.
 *
 * The CPU of an initiator is the lowest-numbered one of its node that this process may use and that
 * the administrator has not isolated (cpu/isolated, cpu/nohz_full). Lowest, because the convention
 * is to leave the first CPUs of a socket to the system and to give the later ones to workloads. A
 * node whose every CPU is isolated or forbidden is no initiator; it stays a target.
 */
#ifndef IE_SOURCE_PROBE_TOPOLOGY_H
#define IE_SOURCE_PROBE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"

enum { CHASE_MAX_CPUS = 65536, CHASE_MAX_NODES = 1024 };

/* What this process may use, as bitmaps: bit i of byte i / 8. */
struct chase_allowed {
    uint8_t cpus[CHASE_MAX_CPUS / 8];
    uint8_t nodes[CHASE_MAX_NODES / 8];
};

static inline bool chase_bit(const uint8_t *bits, int i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

static inline void chase_bit_set(uint8_t *bits, int i)
{
    bits[i / 8] = (uint8_t)(bits[i / 8] | 1U << (i % 8));
}

/* The affinity of the process's first thread, which is never pinned by us, and the cpuset's memory
 * nodes. Where a kernel or a seccomp filter refuses to say, everything is allowed. */
void chase_allowed_read(struct chase_allowed *out);

struct chase_node {
    int node;
    int cpu; /* -1: no usable CPU on this node */
};

/* Both lists ascend by node. Owned. */
struct chase_topology {
    struct chase_node *initiators; /* every cpu >= 0 */
    size_t n_initiators;
    struct chase_node *targets; /* nodes with memory that may be used */
    size_t n_targets;
};

/*
 * 0, -ENOMEM, or -EINVAL when sysfs holds what no kernel writes. A kernel without NUMA is one node,
 * 0, with every online CPU. Lists may come out empty. What is left out is logged; log may be NULL.
 */
int chase_topology_init(struct chase_topology *topology, const struct fsroot *fs,
                        const struct chase_allowed *allowed, const struct log *log);
void chase_topology_release(struct chase_topology *topology);

/* The CPU to use on a node, by the same choice. 0, -ENODEV when there is none, or as init. */
int chase_topology_cpu(const struct fsroot *fs, const struct chase_allowed *allowed, int node,
                       int *cpu);

#endif
