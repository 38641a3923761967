/*
 * Where this kernel's tasks have what the program asks of them, as its own description of its types
 * says (BTF).
 */
#ifndef IE_SOURCE_BPF_TASK_H
#define IE_SOURCE_BPF_TASK_H

#include <stdint.h>

#include "exporter/base/fsroot.h"

/* Bytes from the beginning of a task_struct, unless it says otherwise; 0: the kernel does not say,
 * or has no such thing. */
struct bpf_task {
    uint32_t css_set_at; /* the pointer to its css_set */
    uint32_t waits_at;   /* how often it ran, and how long it waited before (CONFIG_SCHED_INFO) */
    uint32_t state_at;   /* what it waits for; 0 there: it wants to run */
    uint32_t state_argument; /* 1: the tracepoint of a switch is told that as its fourth argument */
    uint32_t cfs_rq_at;      /* the pointer to the queue of its cgroup on its CPU */
    uint32_t throttle_count_at; /* in that: not 0 while a limit of CPU time is reached. 0: there are
                                 * no such limits */
};

/* Reads some 6 MB; for the start. All 0 where there is no description. */
void bpf_task_find(const struct fsroot *fs, struct bpf_task *out);

#endif
