#include "exporter/source/probe/topology.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"

enum { MEMORY_POLICY_MEMS_ALLOWED = 1 << 2 }; /* MPOL_F_MEMS_ALLOWED of linux/mempolicy.h */

struct list {
    int *numbers;
    size_t n;
};

void chase_allowed_read(struct chase_allowed *out)
{
    memset(out, 0, sizeof *out);
    if (sched_getaffinity(getpid(), sizeof out->cpus, (cpu_set_t *)(void *)out->cpus) < 0)
        memset(out->cpus, 0xff, sizeof out->cpus);
    unsigned long mask[CHASE_MAX_NODES / (8 * sizeof(unsigned long))] = {0};
    if (syscall(SYS_get_mempolicy, NULL, mask, (unsigned long)CHASE_MAX_NODES, NULL,
                (unsigned long)MEMORY_POLICY_MEMS_ALLOWED) < 0) {
        memset(out->nodes, 0xff, sizeof out->nodes);
        return;
    }
    for (int i = 0; i < CHASE_MAX_NODES; i++) {
        size_t bits = 8 * sizeof mask[0];
        if (mask[(size_t)i / bits] >> ((size_t)i % bits) & 1)
            chase_bit_set(out->nodes, i);
    }
}

/* An absent file is -ENOENT; "(null)", which kernels before 6.x print for an unset nohz_full, is an
 * empty list. */
static int list_read(const struct fsroot *fs, const char *path, struct list *out)
{
    char text[16384];
    size_t len;
    int err = fsroot_read(fs, FSROOT_SYS, path, text, sizeof text, &len);
    if (err)
        return err;
    *out = (struct list){0};
    if (strstr(text, "(null)"))
        return 0;
    err = cpulist_parse(text, len, NULL, 0, &out->n);
    if (err || out->n == 0)
        return err;
    out->numbers = malloc(out->n * sizeof *out->numbers);
    if (!out->numbers)
        return -ENOMEM;
    return cpulist_parse(text, len, out->numbers, out->n, &out->n);
}

static void list_release(struct list *list)
{
    free(list->numbers);
    *list = (struct list){0};
}

/* As list_read, but an absent file is an empty list. */
static int list_read_optional(const struct fsroot *fs, const char *path, struct list *out)
{
    int err = list_read(fs, path, out);
    if (err != -ENOENT)
        return err;
    *out = (struct list){0};
    return 0;
}

static bool list_has(const struct list *list, int number)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->numbers[i] == number)
            return true;
    return false;
}

static int node_cpus(const struct fsroot *fs, int node, struct list *out)
{
    char path[64];
    snprintf(path, sizeof path, "devices/system/node/node%d/cpulist", node);
    int err = list_read(fs, path, out);
    if (err == -ENOENT && node == 0)
        err = list_read(fs, "devices/system/cpu/online", out);
    return err;
}

/* *cpu is -1 when the node has none that may be used. */
static int choose_cpu(const struct fsroot *fs, const struct chase_allowed *allowed, int node,
                      int *cpu, size_t *have)
{
    struct list cpus = {0}, isolated = {0}, full = {0};
    int err = node_cpus(fs, node, &cpus);
    if (!err)
        err = list_read_optional(fs, "devices/system/cpu/isolated", &isolated);
    if (!err)
        err = list_read_optional(fs, "devices/system/cpu/nohz_full", &full);
    *cpu = -1;
    *have = cpus.n;
    for (size_t i = 0; i < cpus.n && *cpu < 0 && !err; i++) {
        int number = cpus.numbers[i];
        if (number < CHASE_MAX_CPUS && chase_bit(allowed->cpus, number) &&
            !list_has(&isolated, number) && !list_has(&full, number))
            *cpu = number;
    }
    list_release(&cpus);
    list_release(&isolated);
    list_release(&full);
    return err;
}

int chase_topology_cpu(const struct fsroot *fs, const struct chase_allowed *allowed, int node,
                       int *cpu)
{
    int chosen;
    size_t have;
    int err = choose_cpu(fs, allowed, node, &chosen, &have);
    if (err)
        return err;
    if (chosen < 0)
        return -ENODEV;
    *cpu = chosen;
    return 0;
}

static int read_nodes(const struct fsroot *fs, struct list *online, struct list *memory)
{
    static const char *const with_memory[] = {"devices/system/node/has_memory",
                                              "devices/system/node/has_normal_memory"};
    int err = list_read_optional(fs, "devices/system/node/online", online);
    if (!err && online->n == 0) {
        online->numbers = calloc(1, sizeof *online->numbers);
        if (!online->numbers)
            return -ENOMEM;
        online->n = 1;
    }
    for (size_t i = 0; i < 2 && !err && memory->n == 0; i++)
        err = list_read_optional(fs, with_memory[i], memory);
    return err;
}

static int add_node(struct chase_topology *topology, const struct fsroot *fs,
                    const struct chase_allowed *allowed, const struct log *log, int node,
                    bool memory)
{
    int cpu = -1;
    size_t have = 0;
    int err = choose_cpu(fs, allowed, node, &cpu, &have);
    if (err == -ENOENT)
        return 0; /* the node went offline between two reads */
    if (err)
        return err;
    if (cpu >= 0)
        topology->initiators[topology->n_initiators++] = (struct chase_node){node, cpu};
    else if (have > 0 && log)
        log_info(log, "probe",
                 "NUMA node %d starts no loads: each of its CPUs is isolated or outside the "
                 "exporter's affinity",
                 node);
    if (!memory)
        return 0;
    if (node < CHASE_MAX_NODES && chase_bit(allowed->nodes, node))
        topology->targets[topology->n_targets++] = (struct chase_node){node, cpu};
    else if (log)
        log_info(log, "probe",
                 "NUMA node %d is not measured: the exporter's cpuset forbids its memory", node);
    return 0;
}

int chase_topology_init(struct chase_topology *topology, const struct fsroot *fs,
                        const struct chase_allowed *allowed, const struct log *log)
{
    struct list online = {0}, memory = {0};
    *topology = (struct chase_topology){0};
    int err = read_nodes(fs, &online, &memory);
    if (err)
        goto out;
    topology->initiators = calloc(online.n, sizeof *topology->initiators);
    topology->targets = calloc(online.n, sizeof *topology->targets);
    if (!topology->initiators || !topology->targets) {
        err = -ENOMEM;
        goto out;
    }
    for (size_t i = 0; i < online.n && !err; i++)
        err = add_node(topology, fs, allowed, log, online.numbers[i],
                       memory.n == 0 || list_has(&memory, online.numbers[i]));
out:
    list_release(&online);
    list_release(&memory);
    if (err)
        chase_topology_release(topology);
    return err;
}

void chase_topology_release(struct chase_topology *topology)
{
    free(topology->initiators);
    free(topology->targets);
    *topology = (struct chase_topology){0};
}
