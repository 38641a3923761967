/*
 * Facts about the machine that formulas need. A fact that is not known is 0 (or ""): formulas that
 * need it then have no result.
 */
#ifndef IE_SOURCE_MACHINE_H
#define IE_SOURCE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of more sockets, NUMA nodes or CPUs, what is per socket or node is not known. */
enum { MACHINE_SOCKETS = 8, MACHINE_NODES = 64, MACHINE_CPUS = 1024 };

struct machine {
    char microarchitecture[16]; /* "skx", "clx", "icx", "spr", "emr", "gnr", "zen2" to "zen5",
                                   "neoverse-v3" and so on; "" when unsupported */
    char cpu_model[64]; /* as /proc/cpuinfo names it; "" when it does not, and in recordings */
    double base_frequency_hz; /* the TSC's frequency, which ref_cycles counts at */
    double cache_cycles;      /* c_cache of FORMULAS.md section 1, or its part in the core */
    double cache_seconds;     /* its part outside the core, where it is told apart; else 0 */
    double l2_fill_cycles; /* t2 of FORMULAS.md section 1, "AMD": in flight when the L2 serves it */
    double l3_fill_cycles; /* t3 */
    double llc_hit_cycles; /* hit_cycles of FORMULAS.md section 3 */
    double cas_latency_seconds; /* l_CAS of FORMULAS.md section 2 */
    /* The user's --events.file says what reads of memory are counted by: the CPU does not tell. */
    bool own_events;
    bool guest; /* a hypervisor is under this kernel; false also where it does not say so */
    int sockets;
    int numa_nodes;
    int cpus;
    int pmem_dimms; /* persistent memory modules; 0: none that could be counted */
    /* The CPU's socket, plus 1; 0: not known, as for a CPU that was offline at the start. */
    uint8_t socket_of_cpu[MACHINE_CPUS];
    uint8_t numa_node_of_cpu[MACHINE_CPUS]; /* likewise */
    uint64_t online_nodes;                  /* bit n: NUMA node n is; 0 where they are not known */
    /* From a node to a node as the firmware says, 10 to itself; 0: not known. */
    uint8_t numa_distance[MACHINE_NODES][MACHINE_NODES];
};

static inline bool machine_has_node(const struct machine *machine, int numa_node)
{
    return numa_node >= 0 && numa_node < MACHINE_NODES && (machine->online_nodes >> numa_node & 1);
}

/* -1: not known. */
static inline int machine_socket_of(const struct machine *machine, int cpu)
{
    return cpu >= 0 && cpu < MACHINE_CPUS ? machine->socket_of_cpu[cpu] - 1 : -1;
}

/* What is out of range stays unknown. */
static inline void machine_place_cpu(struct machine *machine, int cpu, int socket)
{
    if (cpu >= 0 && cpu < MACHINE_CPUS && socket >= 0 && socket < MACHINE_SOCKETS)
        machine->socket_of_cpu[cpu] = (uint8_t)(socket + 1);
}

static inline int machine_numa_node_of(const struct machine *machine, int cpu)
{
    return cpu >= 0 && cpu < MACHINE_CPUS ? machine->numa_node_of_cpu[cpu] - 1 : -1;
}

static inline void machine_place_cpu_on_node(struct machine *machine, int cpu, int numa_node)
{
    if (cpu >= 0 && cpu < MACHINE_CPUS && numa_node >= 0 && numa_node < MACHINE_NODES)
        machine->numa_node_of_cpu[cpu] = (uint8_t)(numa_node + 1);
}

/* A memory controller or an L3, outside the cores; where a controller needs several groups of
 * counters, what one of them counts. */
struct source_unit {
    char key[32];  /* the recording's name for it, e.g. "imc0" */
    char kind[16]; /* "imc" or "l3" */
    int socket;
    int imc;     /* its number: of a controller on its socket, of an L3 on the machine */
    int die;     /* of the socket, where several have a box of this number; 0 under replay */
    int channel; /* which of the groups; 0 under replay, where the key tells them apart */
    uint64_t cache_bytes; /* of an L3; 0: not known */
};

/* A thread of our own whose counters are read, e.g. the probe's. */
struct source_thread {
    char key[32]; /* e.g. "p0" */
    char kind[16];
    int initiator_numa_node;
    int target_numa_node; /* the first target, where targets take turns */
    int tid;              /* 0 under replay */
    int cpu; /* where it was pinned at the start; -1: not known, as from recordings without it */
};

#endif
