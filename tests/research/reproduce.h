/*
 * Reproductions of the papers' experiments on the simulated node: tables in Markdown, and what is
 * computed beside them. What they mean is said in the pages, tests/simnode/RESULTS-*.md.
 */
#ifndef IE_RESEARCH_REPRODUCE_H
#define IE_RESEARCH_REPRODUCE_H

#include <stdbool.h>
#include <stdio.h>

#include "collectors/formulas/core_latency.h"
#include "tests/simnode/model/simnode.h"

struct reproduction {
    FILE *out;
    bool reduced; /* short windows, for the test suite */
    int failures; /* expectations that did not hold */
    /* slowdown, shadow, control: */
    const char *folder;         /* where finished runs are kept, to resume; of main */
    unsigned jobs;              /* processes at a time */
    unsigned seed;              /* of the draws */
    unsigned workloads;         /* 0: as many as the page has */
    unsigned variant_workloads; /* the same, on other machines */
};

/* An expectation of the page: said on stderr when it fails. */
__attribute__((format(printf, 3, 4))) void expect_that(struct reproduction *reproduction,
                                                       bool holds, const char *format, ...);

/* One of several runs that the folder keeps; the first is 0. 0 or -errno. */
typedef int reproduction_task(const void *context, unsigned index);

/* All n of them, in turn, by so many processes at a time. 0, or -EIO when one failed. */
int run_tasks(unsigned jobs, unsigned n, reproduction_task *task, const void *context);

/* The scenario of this JSON text, freed by scenario_free(). What is wrong with it is said. 0 or
 * -errno. */
int make_scenario(const char *json, struct scenario **out);

/*
 * Finished runs in the folder, by what they are and the text of their scenario: another machine is
 * another file. Another simulator is not: the folder is to be emptied then. The loader returns
 * -ENOENT where none of that size is there.
 */
int load_run(const char *folder, const char *what, const char *json, void *out, size_t size);
int save_run(const char *folder, const char *what, const char *json, const void *run, size_t size);

/* 0, or -errno when a simulation could not be run. */
int reproduce_latency(struct reproduction *reproduction);
int reproduce_slowdown(struct reproduction *reproduction);
int reproduce_bursts(struct reproduction *reproduction);
int reproduce_serial(struct reproduction *reproduction);
int reproduce_shadow(struct reproduction *reproduction);
int reproduce_nvmm(struct reproduction *reproduction);
int reproduce_amd(struct reproduction *reproduction);
int reproduce_arm(struct reproduction *reproduction);
int reproduce_attribution(struct reproduction *reproduction);
int reproduce_control(struct reproduction *reproduction);
int reproduce_placement(struct reproduction *reproduction);
int reproduce_delay(struct reproduction *reproduction);

/* --- measuring one container of a scenario, window by window --- */

enum { MEASURE_MAX_WINDOWS = 64 };

struct latency_window {
    double truth_ns;
    double core_ns, core_cycles; /* FORMULAS.md section 1 */
    double controller_ns;        /* section 2, at the node its memory is on; NaN: none */
    double frequency_hz;
    uint64_t reads, loads_local, loads_remote;
    double dram_bytes_per_second; /* of that node, all containers */
    /* What calibration needs. */
    uint64_t cycles, ref_cycles, occupancy;
};

struct measurement {
    size_t n;
    struct latency_window windows[MEASURE_MAX_WINDOWS];
    struct latency_window mean; /* of the windows' values, as the paper averages them */
};

/*
 * Runs the scenario (JSON text) and measures its container 'index' from tick 'warm_up' + 1 to the
 * last, with the machine's true look through the caches or, if it is known, with 'cache'.
 */
int measure(const char *scenario_json, size_t index, unsigned warm_up, struct core_cache cache,
            struct measurement *out);

#endif
