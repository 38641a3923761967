/*
 * Where resctrl's domains are: a CPU of each, from which everybody else knows socket and NUMA node.
 */
#ifndef IE_SOURCE_RESCTRL_DOMAINS_H
#define IE_SOURCE_RESCTRL_DOMAINS_H

#include "exporter/base/fsroot.h"
#include "exporter/source/machine.h"

enum mon_domain {
    MON_L3,      /* mon_L3_XX: the id of an L3 */
    MON_NODE,    /* mon_sub_L3_XX: a NUMA node that has a part of an L3 */
    MON_PACKAGE, /* mon_PERF_PKG_XX */
};

struct mon_domains {
    bool loaded;
    int16_t l3[MACHINE_CPUS], package[MACHINE_CPUS]; /* of each CPU; -1: not known */
    int16_t first[MACHINE_NODES];                    /* CPU of each NUMA node; likewise */
};

/* Once; of CPUs that were offline then nothing is known. */
void mon_domains_load(struct mon_domains *domains, const struct fsroot *fs);

/* The first CPU of the domain with this number; -1: not known. */
int mon_domains_cpu(const struct mon_domains *domains, enum mon_domain kind, int id);

#endif
