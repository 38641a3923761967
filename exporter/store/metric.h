/*
 * What a metric is: one definition makes the exposition, the documentation and the checks.
 */
#ifndef IE_STORE_METRIC_H
#define IE_STORE_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric_type {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_INFO,
    METRIC_HISTOGRAM,
    METRIC_NOTE, /* for the JSON API only: never in the exposition formats */
};

/* How values are kept: counts must stay exact beyond 2^53. */
enum metric_number { METRIC_U64, METRIC_DOUBLE };

struct metric_desc {
    const char *name; /* OpenMetrics family name: without _total and _info */
    enum metric_type type;
    enum metric_number number; /* counters and gauges */
    const char *help;          /* says what a high value means */
    const char *labels;        /* for the reference: "container" stands for the container's labels,
                                  e.g. "container, model" */
    const double *edges;       /* histograms: ascending upper bounds above 0, without
                                  +Inf */
    size_t n_edges;
};

/* One that is no histogram, as an initialiser: METRIC(COUNTER, U64, "t_reads", "container", "...").
 * 'labels' may be NULL. */
#define METRIC(kind, numbers, name_, labels_, help_)                                               \
    {                                                                                              \
        .name = name_, .type = METRIC_##kind, .number = METRIC_##numbers, .labels = labels_,       \
        .help = help_                                                                              \
    }

/* The UNIT of a family, from its name's ending (seconds, bytes, hertz, ratio, cycles), or "". */
const char *metric_unit(const struct metric_desc *desc);

/* Whether a scraper would take it: a proper name without a suffix that the formats add, a help
 * text, and for histograms finite ascending edges above 0. */
enum { METRIC_NAME_MAX = 200 };
bool metric_valid(const struct metric_desc *desc);

/* What may follow the family's name in its samples' names, "" first; returns how many. The names
 * so made must differ between all families. */
enum { METRIC_SUFFIXES = 5 };
size_t metric_suffixes(enum metric_type type, const char *out[METRIC_SUFFIXES]);

#endif
