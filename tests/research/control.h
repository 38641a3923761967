/*
 * The parts of `reproduce control`: policies that act on what is measured, on the simulated node.
 */
#ifndef IE_RESEARCH_CONTROL_H
#define IE_RESEARCH_CONTROL_H

#include "tests/research/reproduce.h"
#include "tests/research/slowdown.h"

/* --- the cache and memory, one decision a quantum: control_run.c --- */

enum control_scheme {
    SCHEME_NONE,
    SCHEME_UCP,           /* ways by misses: Qureshi and Patt 2006 */
    SCHEME_ASM_CACHE,     /* ways by slowdown */
    SCHEME_UNIFORM,       /* epochs, everybody's equally often */
    SCHEME_ASM_MEM,       /* epochs by slowdown */
    SCHEME_ASM_CACHE_MEM, /* both; epochs by the slowdowns that the ways will give */
    SCHEME_PARBS,         /* reads in batches: Mutlu and Moscibroda 2008 */
    SCHEME_PARBS_UCP,
    SCHEME_LATE_UNIFORM, /* as without LATE, with a controller that finishes open rows first */
    SCHEME_LATE_ASM_MEM,
    SCHEME_LATE_ASM_CACHE_MEM,
    SCHEME_UCP_EACH, /* UCP, but nobody shares a way: each has one at least */
    CONTROL_SCHEMES,
    SCHEME_NAIVE_QOS = CONTROL_SCHEMES, /* all ways to the first application */
    SCHEME_QOS,                         /* as few as keep it within its bound */
    SCHEME_FIXED                        /* a number of them to it, which the bound is */
};
extern const char *const control_scheme_names[];

enum { CONTROL_QUANTUM_ROWS = 5 }; /* of SLOW_ROW_CYCLES: 5 million cycles */

struct control_plan {
    enum control_scheme scheme;
    struct slow_variant variant; /* the scheme adds epochs and batches */
    const size_t *apps;          /* variant.cores of them */
    double bound;                /* of SCHEME_QOS, SCHEME_FIXED */
};

/* By quantum and core. */
struct control_row {
    uint64_t instructions, shadow_cycles; /* totals */
    uint64_t ways;                        /* that it had in this quantum; 0: the pool's */
    uint64_t predicted; /* slowdown in the next quantum, by the model, with the ways that it has
                           then; millionths; 0: nothing is divided */
};

struct control_outcome {
    unsigned cores, quanta;
    struct control_row *rows; /* quanta x cores */
};

/* From the folder if it is there, else simulated and written. 0 or -errno. */
int control_run(const char *folder, const struct control_plan *plan, struct control_outcome *out);
void control_outcome_release(struct control_outcome *outcome);

/* Slowdown of a core by its alone run, from the end of quantum 'from' (0: the start) to that of the
 * last. */
double control_slowdown(const struct control_outcome *outcome, unsigned core, unsigned from,
                        const struct slow_alone *alone);

/* Applications alone on a machine, as they are asked for. Zeroed at first; released by the caller.
 */
enum { CONTROL_APPS = 64 };
struct control_alone {
    struct slow_alone of[CONTROL_APPS];
    bool there[CONTROL_APPS];
};
/* 0 or -errno. */
int control_alone_get(struct control_alone *alone, const char *folder,
                      const struct slow_variant *variant, size_t app);
void control_alone_release(struct control_alone *alone);

/* --- threads that share CPUs with writers to persistent memory: control_nvmm_run.c --- */

enum { CONTROL_NVMM_CPUS = 16, CONTROL_NVMM_WORKERS = 16, CONTROL_NVMM_WRITER_CPUS = 3 };

struct control_nvmm_plan {
    unsigned writers;
    const char
        *policy; /* nvmm_cores of the governor's configuration, but classes and cpus; NULL: it
                           does not run */
};

struct control_nvmm_outcome {
    double rates[CONTROL_NVMM_WORKERS]; /* instructions a slice */
    double bytes;                       /* that writers stored */
    unsigned kept;                      /* writers on the writers' CPUs, at the end */
};

/* So many seconds, after some in which the policy begins. 0 or -errno. */
int control_nvmm_run(const struct control_nvmm_plan *plan, unsigned seconds,
                     struct control_nvmm_outcome *out);

/* --- tables --- */

int control_table_hours(struct reproduction *reproduction);
int control_table_threshold(struct reproduction *reproduction); /* A1 */

int control_table_schemes(struct reproduction *reproduction);   /* A3 */
int control_table_qos(struct reproduction *reproduction);       /* A4 */
int control_table_billing(struct reproduction *reproduction);   /* A6 */
int control_table_placement(struct reproduction *reproduction); /* A6 */
int control_table_nvmm(struct reproduction *reproduction);      /* A7 */

#endif
