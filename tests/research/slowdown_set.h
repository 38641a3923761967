/*
 * Sets of workloads of `reproduce slowdown`: simulated by several processes, measured, summed up.
 */
#ifndef IE_RESEARCH_SLOWDOWN_SET_H
#define IE_RESEARCH_SLOWDOWN_SET_H

#include "tests/research/reproduce.h"
#include "tests/research/slowdown.h"

enum { SLOW_ALL_WAYS = 16 };

/* One application in one workload: means over its quanta with an estimate. Models that need no
 * epochs are judged on a run without. */
struct slow_instance {
    size_t app;
    double actual;             /* mean of the quanta's, with epochs */
    double plain_actual;       /* without */
    double error[SLOW_MODELS]; /* mean of |estimate - actual| / actual; NaN: no estimate */
    double bias[SLOW_MODELS];  /* the same with its sign */
    unsigned quanta, without[SLOW_MODELS];
    double terms[SLOW_TERMS]; /* means over its quanta, with epochs */
};

/* A set of workloads on one machine, and what the models say of them. */
struct slow_set {
    struct slow_variant variant;
    unsigned workloads, quantum_rows;
    size_t n; /* instances: applications of workloads */
    struct slow_instance *instances;
};

/*
 * Simulates what is missing in the folder, then measures with this length of a quantum. 'plain':
 * also without epochs, for the models that need none. The caller frees set.instances, also after
 * an error.
 */
int slow_set_make(const struct reproduction *reproduction, struct slow_variant variant, bool plain,
                  unsigned workloads, unsigned quantum_cycles, struct slow_set *out);

/* All applications alone on this machine; freed with the second, which accepts NULL. */
int slow_alone_all(const struct reproduction *reproduction, const struct slow_variant *variant,
                   struct slow_alone **out);
void slow_alone_free(struct slow_alone *alone);

/* --- tables: slowdown_tables.c --- */

/* Models, one a column. */
struct slow_columns {
    const int *models;
    size_t n;
};
extern const struct slow_columns slow_paper_columns;

void slow_table_models(struct reproduction *reproduction, const struct slow_set *set,
                       const struct slow_columns *columns);
void slow_table_distribution(struct reproduction *reproduction, const struct slow_set *set,
                             const struct slow_columns *columns);
void slow_tables_by_class(struct reproduction *reproduction, const struct slow_set *set,
                          const struct slow_columns *columns);

/* --- memory's part of model passive by serial reads: slowdown_serial.c --- */

/* Its section of the page, of runs without epochs. */
int slow_serial(struct reproduction *reproduction, const struct slow_variant *variant,
                unsigned workloads, unsigned burst_workloads);

/* --- statistics over instances --- */

typedef bool slow_chosen(const struct slow_instance *instance, double a, double b);
slow_chosen slow_everyone;       /* a, b are ignored */
slow_chosen slow_of_intensity;   /* a: enum intensity */
slow_chosen slow_of_sensitivity; /* a: enum sensitivity */
slow_chosen slow_slowed_between; /* a <= actual < b */
slow_chosen slow_one_stream;     /* reads one sequence of lines: drip, scan, quantum */
slow_chosen slow_of_app;         /* a: index */

/* Of the chosen instances with an estimate; the quanta are of all chosen ones. */
struct slow_statistics {
    size_t n;
    double mean, deviation, bias, largest, under_20, actual;
    unsigned quanta, without;
};
struct slow_statistics slow_statistics_of(const struct slow_set *set, int model,
                                          slow_chosen *choose, double a, double b);
/* Of the actual slowdowns: from 'from' to below 'to', which is INFINITY for the last one. 0 or
 * -ENOMEM. */
enum { SLOW_QUARTILES = 4 };
struct slow_quartile {
    double from, to;
    double largest; /* 'to', or the set's largest */
};
int slow_quartiles(const struct slow_set *set, struct slow_quartile out[SLOW_QUARTILES]);
double slow_mean_error(const struct slow_set *set, int model);

#endif
