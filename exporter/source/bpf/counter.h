/*
 * One group, counted on all CPUs for all containers: its program, and its events on each CPU.
 *
 * Loaded when the group is checked, for that takes privileges that are given up afterwards; its
 * events are opened with the first container.
 */
#ifndef IE_SOURCE_BPF_COUNTER_H
#define IE_SOURCE_BPF_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/bpf/set.h"
#include "exporter/source/bpf/slots.h"
#include "exporter/source/perf/cpus.h"
#include "exporter/source/perf/group.h"
#include "exporter/source/perf/ladder.h"

/* The events of one CPU. */
struct bpf_events {
    bool open;
    bool flushed; /* in the last flush */
    int fds[GROUP_MAX_ROLES];
    uint64_t enabled_ns, running_ns; /* the leader's, as of the last tick */
};

struct bpf_counter {
    struct perf_context *context; /* borrowed, like ladder and cpus */
    struct perf_ladder *ladder;
    const struct perf_cpus *cpus;
    enum group group;
    uint32_t roles;            /* that have events */
    bool started;              /* events are open, where they could be */
    bool retry;                /* some CPU could not be opened */
    bool warned;               /* that a CPU does not run the program */
    bool warned_beyond;        /* that a CPU is online which there could not be */
    size_t n_events;           /* CPUs have numbers below it (perf_cpus.possible) */
    struct bpf_events *events; /* owned, one for each such number */
    struct bpf_set *set;       /* owned */
    struct bpf_slots slots;
};

/* What all groups' programs are loaded for. */
struct bpf_needs {
    size_t slots;
    struct bpf_task task; /* bpf_task_find() */
    bool delays;          /* one of them counts how long tasks wait for CPUs */
};

/* Whether the kernel takes the program, with tables for a group of so many roles, and runs it where
 * we say. Nothing stays loaded. 0 or -errno, with *why; *knows_tasks as of the set. */
int bpf_counter_try(const struct perf_cpus *cpus, size_t n_roles, const struct bpf_needs *needs,
                    bool *knows_tasks, struct verdict *why);

/* Loads the program. 0 or -errno, with *why. */
int bpf_counter_new(struct perf_context *context, struct perf_ladder *ladder,
                    const struct perf_cpus *cpus, enum group group, const struct bpf_needs *needs,
                    struct bpf_counter **out, struct verdict *why);
/* Accepts NULL. */
void bpf_counter_free(struct bpf_counter *counter);

/* Opens the events, unless they are. 0 or -errno, with *why. */
int bpf_counter_start(struct bpf_counter *counter, struct verdict *why);

/* Opens and closes as CPUs came and went, and opens what could not be opened before. Returns how
 * many CPUs do not count, with *err; one that has just gone offline is none of them. */
size_t bpf_counter_sync(struct bpf_counter *counter, int *err);
/* All CPUs again, with other roles; what containers have counted stays. As sync. */
size_t bpf_counter_reopen(struct bpf_counter *counter, uint32_t roles, int *err);

/* What runs now is in the cells when this returns; slots that were left are free again. */
void bpf_counter_flush(struct bpf_counter *counter);
/* After a flush: tells the ladder for how long the group was enabled, and ran, on each CPU since
 * the call before. Where its clock stands, the CPU was offline meanwhile, which takes its events
 * apart for good: they are closed, and to be opened again (retry). */
void bpf_counter_account(struct bpf_counter *counter);

/* A container's slot, which it has for its counts and its delays together. 0; -ENOSPC: there is
 * none, and none was free after a flush; other -errno of the kernel. */
int bpf_counter_add(struct bpf_counter *counter, const struct bpf_cgroup *cgroup,
                    enum bpf_user user, uint32_t *slot);
/* Counts until the next flush, into a slot that nobody reads any more. */
void bpf_counter_remove(struct bpf_counter *counter, uint32_t slot, enum bpf_user user);

#endif
