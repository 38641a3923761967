/*
 * What is normal for one container, and from where on its latency is too high: learned, or given by
 * the user's file; and the gauges that show it. Embedded in the container's lane. Loop thread only.
 */
#ifndef IE_COLLECTORS_CORE_LATENCY_LIMITS_H
#define IE_COLLECTORS_CORE_LATENCY_LIMITS_H

#include "collectors/contract/collector.h"
#include "collectors/core_latency/metrics.h"
#include "collectors/learned/normal.h"
#include "exporter/state/fields.h"
#include "exporter/store/store.h"

enum limit { LIMIT_BASELINE, LIMIT_THRESHOLD, LIMITS };

struct limits {
    double caches_seconds; /* the caches' part of its latency, when it last had one; 0: never */
    bool given;            /* a threshold, by the user's file */
    double given_seconds;

    /* Of this tick: the basis (BASES: not known), and the latency in all, as the gauge of the last
     * window's is. */
    enum basis basis[LIMITS];
    double seconds[LIMITS];
    enum lack lack;

    /* Of the busy window before: whether it counted as above the threshold, or for how long it was
     * and waits for another to be; 0: it does not. */
    bool over;
    double perhaps_over_seconds;

    /* The baseline's basis as it was told last, BASES: never; since when, by the tick's clock. */
    uint32_t told;
    uint64_t since_ns;

    /* What the series were made for: these values are labels. */
    enum basis shown[LIMITS];
    enum lack shown_lack;

    struct normal normal; /* last, as what it remembers of hours is large and seldom looked at */
};

void limits_init(struct limits *limits);

/* Finds this tick's limits. 'machine_seconds' is the probe's lower bound beyond the caches, and
 * 'machine_error' by how much that may be off; NaN when not known. The threshold is 'factor' times
 * what is normal beyond the caches, plus their part. */
void limits_update(struct limits *limits, double machine_seconds, double machine_error,
                   double factor);

/* What outlives a restart (learned/serialise.h). */
void limits_serialise(struct limits *limits, struct state_fields *fields);

/* Whether time above the threshold is counted. A lower bound (basis machine) is shown, but a busy
 * node is always above it: that is no incident. */
bool limits_judge(const struct limits *limits);
bool limits_are_exceeded(const struct limits *limits, double latency_seconds);

/*
 * The time to count as above the threshold, now that a busy window had this latency. One window
 * just above is within what windows scatter by: it counts if the one before it or behind it is
 * above, too, or at once if it is above by 'factor' again, as the threshold is above the baseline.
 */
double limits_over_seconds(struct limits *limits, double latency_seconds, double window_seconds,
                           double factor);

/*
 * Shows baseline, threshold and the note of what is lacking among the container's series. Their
 * labels change with the basis, which makes them other series, and only limits_make, called from
 * reconcile, may make series: true when it has to be. 'ending': no gauges any more.
 */
bool limits_show(const struct limits *limits, struct series *const *series, bool ending);
void limits_make(struct limits *limits, struct family *const *families, struct labelset *labels,
                 struct series **series, bool ending);

/*
 * Another basis of what is normal for a container moves its threshold, so it is told: in a counter,
 * in the log, and with its time in the API. Loop thread.
 */
struct basis_changes {
    struct series *to[BASES]; /* those that are learned; NULL: the others */
};

/* Zeroed before; released even after an error. */
int basis_changes_init(struct basis_changes *changes, struct store *store, const char *owner);
void basis_changes_release(struct basis_changes *changes);

/* After limits_update: counts and logs it, if there is another one than at the last call. */
void basis_changes_tell(struct basis_changes *changes, struct limits *limits,
                        const struct container *container, const struct tick *tick,
                        const struct log *log);

#endif
