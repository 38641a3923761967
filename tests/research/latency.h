/*
 * Parts of the reproduction of Shen & Li 2020: experiments on a machine modelled on theirs.
 *
 *   latency.c              the page; table 2, table 4, section 6
 *   latency_effects.c      section 7, what the method cannot see
 *   latency_calibration.c  c_cache from a probe
 *   latency_uncore.c       c_cache in two parts
 *   latency_run.c          one experiment as a scenario
 */
#ifndef IE_RESEARCH_LATENCY_H
#define IE_RESEARCH_LATENCY_H

#include "tests/research/reproduce.h"

/* Windows are simulated milliseconds; the paper's are seconds, of a machine that needs no
 * simulating. The first ones fill the caches. */
enum {
    TICK_CYCLES = 2100000,
    WARM_UP = 4,
    WINDOWS = 10,
    REDUCED_TICK_CYCLES = 525000,
    REDUCED_WARM_UP = 2,
    REDUCED_WINDOWS = 2,
};

struct experiment {
    const char *machine;   /* further keys of the machine, each followed by a comma */
    const char *effects;   /* inside of "effects" */
    const char *workloads; /* beside chase and stress; each preceded by a comma */
    const char *target;    /* the measured container, without braces */
    bool loaded;
    double mba_percent; /* of the load; 0: not throttled */
    int64_t load_from;  /* tick in which the load starts */
    unsigned warm_up, windows;
    struct core_cache cache; /* for the estimate; not known: the machine's true one */
    const char *changes;     /* "frequency_changes", inside of the list */
};

/* Windows of an experiment that does not say, and ticks before them. */
unsigned latency_warm_up(const struct reproduction *reproduction);
unsigned latency_windows(const struct reproduction *reproduction);
int latency_run(const struct reproduction *reproduction, const struct experiment *experiment,
                struct measurement *out);

double error_percent(double estimate, double truth);

/* The effects of section 7, by number; as text for struct experiment: one of them, none (-1) or
 * all (LATENCY_EFFECTS). */
enum { LATENCY_EFFECTS = 6 };
extern const char *const latency_effect_names[LATENCY_EFFECTS];
void latency_effects_text(int which, char *out, size_t size);
/* A machine on which each of them can show. */
extern const char LATENCY_EFFECTS_MACHINE[];

/* Sections of the page: 0 or -errno. */
int latency_limitations(struct reproduction *reproduction);
int latency_calibration(struct reproduction *reproduction);
int latency_uncore(struct reproduction *reproduction);

#endif
