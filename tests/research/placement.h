/*
 * Serrano 2011 on the simulated node, and what one sample predicts: a container runs the same
 * instructions with its memory in one place after another.
 */
#ifndef IE_RESEARCH_PLACEMENT_H
#define IE_RESEARCH_PLACEMENT_H

#include "collectors/formulas/placement.h"
#include "tests/research/reproduce.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Parts of a scenario, as JSON. */
struct placement_machine {
    const char *name;
    const char *machine, *effects; /* members of these objects */
};

struct placement_subject {
    const char *name;
    const char *workloads; /* members of that object; "w" is what runs */
    unsigned threads;
    unsigned seed; /* 0: the same for all of them */
};

/* From the warm-up's end on. Counters of all threads, in core cycles. */
struct placement_run {
    /* By instructions, so that another placement can repeat them. */
    uint64_t warm_up, instructions;
    double cycles; /* T, CPU time */
    double reads, occupancy, active, stalls, llc_misses, rfos;
    double store_stalls;         /* truth, as no role counts them */
    double reads_from[3];        /* by node's DRAM */
    double lines_from[3];        /* the same, whatever asked for them */
    double pmm_reads, pmm_lines; /* of node 0 */
    double written_back, nt_lines;
};

/* What to run: by cycles or, where given, by instructions. */
struct placement_window {
    uint64_t warm_up_cycles, cycles;
    uint64_t warm_up, instructions;
};

/* 'memory': a container's placements. 0, or -errno when it cannot be run. */
int placement_run(const struct placement_machine *machine, const struct placement_subject *subject,
                  const char *memory, const struct placement_window *window,
                  struct placement_run *out);
/* The same instructions as 'now', elsewhere. */
int placement_repeat(const struct placement_machine *machine,
                     const struct placement_subject *subject, const char *memory,
                     const struct placement_run *now, struct placement_run *out);

/* Where memory can be: nodes 0 to 2, of which 0 is the own. */
enum { PLACES = 3 };
extern const char *const placement_places[PLACES];

/* In core cycles. */
struct placement_latencies {
    double of[PLACES]; /* what a chase sees, from the address known to the value usable */
    double cache;      /* of it, the look through the caches */
};
int placement_latency(const struct placement_machine *machine, const char *memory, double *cycles);
int placement_latencies(const struct placement_machine *machine, struct placement_latencies *out);

/* T elsewhere, of T in the own memory, by the serial reads; their MLP, too, unless NULL. */
double placement_ratio(const struct placement_run *now, const struct placement_latencies *latencies,
                       double target, double *mlp);

/* The same, with as many serial reads as the counters say, whether or not they fit into T. */
double placement_unbound_ratio(const struct placement_run *now,
                               const struct placement_latencies *latencies, double target);

/* T in the own memory, of T where it is now: at 'place'. */
double placement_return_ratio(const struct placement_run *now,
                              const struct placement_latencies *latencies, int place);

struct placement_errors {
    unsigned n;
    double sum, worst; /* of the magnitude, in per cent */
    double worst_signed;
};
void placement_add_error(struct placement_errors *errors, double estimate, double truth);
double placement_mean_error(const struct placement_errors *errors);

/* A subject, in the own memory and at each other place. */
struct placement_row {
    const struct placement_subject *subject;
    struct placement_run runs[PLACES];
};

enum { PLACEMENT_MAX_ROWS = 32 };

/* Out of order: what runs on one machine. */
struct placement_set {
    const char *name;
    const struct placement_machine *machine;
    const struct placement_subject *subjects;
    struct placement_latencies latencies;
    struct placement_row rows[PLACEMENT_MAX_ROWS];
    size_t n;
};

enum { HELD_OUT, FRESH, GENERATORS, PREFETCHING, WRITERS, WRITERS_PREFETCHING, PLACEMENT_SETS };

/* Sections of the page. */
int placement_regions(struct reproduction *r);
int placement_in_order_samples(struct reproduction *r);
void placement_samples(struct reproduction *r, const struct placement_set *sets);
void placement_returns(struct reproduction *r, const struct placement_set *sets);
int placement_shares(struct reproduction *r, const struct placement_set *generators);
void placement_lines(struct reproduction *r, const struct placement_set *sets);
int placement_persistent(struct reproduction *r);

struct placement_window placement_window_of(const struct reproduction *r, unsigned warm_up_cycles,
                                            unsigned cycles);

/* placement_subjects.c; each set ends with a name NULL. */
extern const struct placement_machine serrano_machines[4]; /* constant and DDR3, 1 MB and 128 KB */
extern const struct placement_machine xeon, xeon_small, xeon_prefetching;
extern const struct placement_subject placement_kernels[];    /* on Serrano's machine */
extern const struct placement_subject placement_in_order[];   /* generators, there as well */
extern const struct placement_subject placement_generators[]; /* the form was chosen on such */
extern const struct placement_subject placement_held_out[];   /* not on these; but mended on them */
extern const struct placement_subject placement_fresh[];      /* neither */
extern const char placement_missed[]; /* the one of them that is not within the aim */
extern const struct placement_subject placement_writers[]; /* where demand reads say little */

#endif
