/*
 * Workloads under the governor that ships, in one process (control/closed_loop.h), and under the
 * paper's schemes in the simulator: the same applications, machine and length.
 */
#ifndef IE_RESEARCH_CONTROL_LOOP_H
#define IE_RESEARCH_CONTROL_LOOP_H

#include "tests/research/control.h"

enum { LOOP_CORES = 4 };

/* What estimates slowdowns. */
enum loop_model { LOOP_SHADOW, LOOP_PASSIVE, LOOP_MODELS };

struct loop_plan {
    unsigned cores;              /* at most LOOP_CORES */
    const size_t *apps;          /* as many; their containers are c0, c1, ... */
    unsigned ticks, tick_cycles; /* each is told as a second; 0: SLOW_ROW_CYCLES */
    unsigned from_tick;          /* whose end what is looked at begins; 0: half of them */
    unsigned alone_ticks;        /* in which only the first one runs */
    const char *policy;          /* of the governor's configuration; NULL: it does not run */
    bool epochs;                 /* the Application Slowdown Model's, by priority in memory */
};

/* Of the run from from_tick on, by application: by then a policy has had its way. */
struct loop_outcome {
    double cycles;
    uint64_t from[LOOP_CORES], to[LOOP_CORES]; /* instructions, in all, at its ends */
    double slowdown[LOOP_CORES];               /* true: time over that of an alone run */
    double ways[LOOP_CORES], percent[LOOP_CORES];
    struct loop_told {
        double sum;
        unsigned n;
    } told[LOOP_CORES][LOOP_MODELS]; /* by the exporter, over ticks in which it says something */
    double measured[LOOP_CORES];     /* by the governor's epochs, at the end */
    uint64_t changes, missed;        /* of the whole run */
};

/* The exporter's mean; NaN: it said nothing. */
double loop_told(const struct loop_outcome *outcome, unsigned app, enum loop_model model);

/* 0 or -errno. alone NULL: without slowdowns. */
int loop_run(struct control_alone *alone, const char *folder, const struct loop_plan *plan,
             struct loop_outcome *out);
/* The same under a scheme, of which only slowdowns and ways are known; without
 * tick_cycles, alone_ticks and policy. */
int loop_scheme(struct control_alone *alone, const char *folder, const struct loop_plan *plan,
                enum control_scheme scheme, double bound, struct loop_outcome *out);

/* Tables: all, of peers, of one that is protected. */
int control_table_loops(struct reproduction *reproduction);
int control_table_peers(struct reproduction *reproduction);
int control_table_bound(struct reproduction *reproduction);
int control_table_epochs(struct reproduction *reproduction);

#endif
