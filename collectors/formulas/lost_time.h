/*
 * Where a container's time went, from what its cgroup says of one window (LOST_TIME.md, 1 to 3).
 *
 * Of the time in which some task waited for a CPU (P) the share of periods in which its limit was
 * reached is its own limit's. The rest is a neighbour's where none of its own tasks ran meanwhile
 * (full pressure, PF), and its own where one did; but who gets less than its share of CPUs on which
 * others take more than theirs waits for these, however many tasks it has.
 *
 *     quota = P q          q: throttled periods / periods, where that is at least the threshold
 *     rest  = P - quota    a neighbour's where PF - quota >= rest / 2
 *
 * Worked, measured on two busy CPUs, Linux 6.18 (quota / neighbour / itself):
 *
 *     alone                             q 0  P 0.06  PF 0.06 ->  0     0     0
 *     limit 0.2                         q 1  P 0.80  PF 0.80 ->  0.80  0     0
 *     limit 0.2, two tasks on two CPUs  q 1  P 0.90  PF 0.90 ->  0.90  0     0
 *     a neighbour on its CPU            q 0  P 0.51  PF 0.51 ->  0     0.51  0
 *     three tasks of its own on one     q 0  P 1.00  PF 0.07 ->  0     0     1.00
 *     limit 0.5, not reached, and a n.  q 0  P 0.51  PF 0.51 ->  0     0.51  0
 *
 * Where delays of tasks are counted (W), the seconds lost to a neighbour are W (1 - q): two tasks
 * that wait at once lose two. Causes are weighed and told as shares of time all the same. Worked:
 * two tasks that share a CPU with a neighbour of the same weight, q 0, P 1.00, W 1.33 -> 1.33; with
 * a limit that is reached in a quarter of the periods, 1.00.
 *
 * Throttled time is not asked for: it is summed over CPUs. The machine's pressure has each
 * container's in it, so that it does not tell a full machine from a limit that is reached; what the
 * machine itself reclaimed does. Not all who lack memory wait for it by name: pages of mapped files
 * that are read at random come back as waits for disks. Pure.
 */
#ifndef IE_COLLECTORS_FORMULAS_LOST_TIME_H
#define IE_COLLECTORS_FORMULAS_LOST_TIME_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/loss.h"

/* From which share of a window on each cause counts. */
struct lost_limits {
    double throttled, cpu, steal, memory, disk;
};

/* Shares of the window's time, unless it says otherwise; NaN: not known. */
struct lost_window {
    double cpus;               /* that it used; CPU seconds per second */
    double entitled_cpus;      /* likewise, what its weight and limit give it */
    double others_excess_cpus; /* likewise, of others on its CPUs above what theirs give them */
    double throttled;          /* of the periods under a limit */
    double cpu_some, cpu_full, memory_some, disk_some, steal, node_memory_some;
    double run_delay;      /* waits of its tasks for CPUs, added up, as they were counted */
    double limit_events;   /* how often its memory reached its limit, now or just before */
    double node_reclaimed; /* pages that the machine looked at to get free ones */
    double refaults;       /* pages a second that it had lost, and read again */
    double slow_reads;     /* what its reads took above normal; all of them, so it may be above 1 */
};

struct lost_split {
    bool holds[LOSSES];        /* the cause is at work */
    double per_second[LOSSES]; /* what it costs; 0 where it does not hold, or that is not known */
    /* What its tasks waited for others, added up, where that is counted and the cause holds; where
     * it is not, the share of time as above. */
    double neighbour_delay;
    bool waits_are_known; /* for a CPU, for memory and for disks: nothing may be said of none */
    bool unexplained;     /* it waits for a CPU or memory, and why cannot be told */
};

void lost_split_make(const struct lost_window *window, const struct lost_limits *limits,
                     struct lost_split *out);

/* A cause is the verdict if it holds in so many of the last windows, and none costs more in them,
 * not even one that holds in fewer: then it is not known yet. */
enum { LOST_WINDOWS = 5, LOST_ENOUGH = 3 };

struct lost_history {
    size_t n, next;
    struct lost_split at[LOST_WINDOWS];
};

void lost_history_add(struct lost_history *history, const struct lost_split *split);

struct lost_verdict {
    bool known;                /* there were enough windows to say a cause, or that there is none */
    enum loss cause;           /* the one that costs most; LOSSES: none */
    double per_second[LOSSES]; /* means of the windows */
};

void lost_verdict_make(const struct lost_history *history, struct lost_verdict *out);

#endif
