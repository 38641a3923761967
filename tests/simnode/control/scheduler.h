/*
 * CPUs that threads share: a scheduler on a simulated node.
 *
 * Each container of the scenario is one thread with a core of its own, caches included, and all but
 * those that have a CPU are halted: a switch costs nothing and spoils no cache. As the kernel's,
 * each CPU has a queue, of which the thread runs next that has run least; a thread moves from a
 * queue to one that is at least two shorter, and from a CPU that it may not use any more.
 *
 * A slice is a tick of the scenario.
 */
#ifndef IE_SIMNODE_CONTROL_SCHEDULER_H
#define IE_SIMNODE_CONTROL_SCHEDULER_H

#include <sched.h>

#include "exporter/governor/act/restore.h"
#include "tests/simnode/model/simnode.h"

enum { SCHEDULER_THREADS = 64, SCHEDULER_FIRST_TID = 100 };

struct scheduled {
    cpu_set_t allowed;
    unsigned cpu;
    uint64_t ran; /* slices, as the queue counts them: one that comes has run no less than others */
    uint64_t work; /* slices that it had a CPU in */
    bool runs;     /* in this slice */
};

struct scheduler {
    struct simnode *node; /* borrowed */
    unsigned n_threads, n_cpus;
    struct scheduled threads[SCHEDULER_THREADS];
};

/* All of the scenario's containers, each on the shortest queue; they may use all CPUs. 0, -EINVAL:
 * too many, or -errno of the node. */
int scheduler_init(struct scheduler *scheduler, struct simnode *node, unsigned n_threads,
                   unsigned n_cpus);
/* 0 or -errno of the node. */
int scheduler_run_slice(struct scheduler *scheduler);

/* The governor's actuator of threads, whose numbers begin with SCHEDULER_FIRST_TID. Nothing has to
 * be closed. */
struct scheduler_knobs {
    struct scheduler *scheduler;
    const cpu_set_t *cpus; /* that they are kept on; borrowed */
};
void scheduler_actuators(struct scheduler_knobs *knobs, struct actuators *out);

#endif
