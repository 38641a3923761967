/*
 * Tables of the schemes of `reproduce control`: what they reach, and how well it is known.
 */
#ifndef IE_RESEARCH_CONTROL_SCHEMES_H
#define IE_RESEARCH_CONTROL_SCHEMES_H

#include "tests/research/control.h"

enum { SCHEME_WORKLOADS = 200 };

struct scheme_machine {
    unsigned cores, channels, workloads, mega_cycles;
};

/* By workload. */
struct scheme_sample {
    unsigned n;
    double greatest[SCHEME_WORKLOADS]; /* slowdown */
    double speedup[SCHEME_WORKLOADS];  /* harmonic: applications over the sum of their slowdowns */
};

struct scheme_result {
    struct scheme_sample whole, warm; /* runs, and their part after the first quantum */
};

/* Means; NaN when it did not run. */
double scheme_unfairness(const struct scheme_sample *sample);
double scheme_performance(const struct scheme_sample *sample);

void scheme_put_results(struct reproduction *reproduction,
                        const struct scheme_result of[CONTROL_SCHEMES]);
/* Beside the paper's percentages; at least two workloads on each machine. */
void scheme_put_comparisons(struct reproduction *reproduction,
                            const struct scheme_machine *machines, size_t n,
                            struct scheme_result results[][CONTROL_SCHEMES]);

#endif
