/*
 * A group counted by BPF on this machine's kernel, on which each event counts page faults.
 *
 * Takes root, and a kernel that takes the program; software events stand in for the PMU's.
 */
#ifndef IE_TESTS_BPF_RIG_H
#define IE_TESTS_BPF_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exporter/source/bpf/counter.h"

enum { BPF_RIG_CONTAINERS = 4, BPF_RIG_ROLES = 3, BPF_RIG_FAULTS = 20000 };

/* The kernel, but for what a test asks for. */
struct bpf_rig_kernel {
    bool gone;    /* CPUs are offline when their events are opened */
    bool of_task; /* events are of this task: nothing reads them while another one runs */
    bool ahead;   /* the next to be opened have counted BPF_RIG_FAULTS when they are first read */
    /* Events are of this task on another CPU: enabled with it, and never running. */
    bool starved;
    int elsewhere; /* that CPU; -1: there is none where this process may run */
    size_t page_size;
};

struct bpf_rig {
    struct bpf_rig_kernel fake;
    struct perf_kernel kernel;
    struct perf_context context;
    struct perf_ladder ladder;
    struct log log;
    struct bpf_counter *counter; /* of GROUP_CPI; NULL: not here */
    int cpu;                     /* where this process runs */
    char cgroup[4160];           /* "": none can be made */
    char other[4160];            /* beside it */
    int level;                   /* its depth, once it is counted */
};

extern struct perf_cpus bpf_rig_cpus;

/* cmocka setup and teardown of all tests together, and of each. */
int bpf_rig_setup_all(void **state);
int bpf_rig_teardown_all(void **state);
int bpf_rig_setup(void **state);
/* As on a kernel that does not say where tasks have their cgroup. */
int bpf_rig_setup_unknowing(void **state);
int bpf_rig_teardown(void **state);

/* Skips the test where there is no such group. */
struct bpf_rig *bpf_rig_of(void **state);
void bpf_rig_start(struct bpf_rig *rig);
void bpf_rig_tick(struct bpf_rig *rig);
/* Counts a cgroup of its own, which this process enters; its slot. */
uint32_t bpf_rig_add(struct bpf_rig *rig, bool level_known);
/* A process goes there (0: this one), or to the other cgroup, which is not counted. */
bool bpf_rig_move(const struct bpf_rig *rig, pid_t pid, bool there);
/* This process goes back to the hierarchy's root. */
void bpf_rig_leave(void);
/* Another one goes there. */
bool bpf_rig_leave_too(pid_t pid);
/* Where this machine's tasks have what is asked of them. */
const struct bpf_task *bpf_rig_task(void);
/* As bpf_rig_setup(), and it counts how long tasks wait; the state of one that leaves is read from
 * the task, as before Linux 5.18. */
int bpf_rig_setup_delays(void **state);
int bpf_rig_setup_delays_by_task(void **state);
/* A container where that cgroup is, in which nothing runs; its slot. */
uint32_t bpf_rig_other(struct bpf_rig *rig);
/* A new cgroup where memory, or what else a controller of v1 has, can be limited, if it can be
 * here; to be removed. */
bool bpf_rig_controlled(const char *controller, char *out, size_t size);
/* Into a file that is there. */
bool bpf_rig_write(const char *path, const char *text);
/* BPF_RIG_FAULTS page faults of this process. */
void bpf_rig_fault(const struct bpf_rig *rig);
/* What the slot has on this process's CPU, as of now. */
struct bpf_cell bpf_rig_read(const struct bpf_rig *rig, uint32_t slot);

#endif
