/*
 * What one container, pod or socket moved, as series: each is there from when it was first known.
 */
#ifndef IE_COLLECTORS_BANDWIDTH_SERIES_H
#define IE_COLLECTORS_BANDWIDTH_SERIES_H

#include "exporter/source/bandwidth_window.h"
#include "exporter/store/store.h"

/* Whose they are. A pod's are among the containers', with no container's name. */
enum bandwidth_subject { BANDWIDTH_CONTAINER, BANDWIDTH_NODE, BANDWIDTH_SUBJECTS };

enum bandwidth_metric {
    BANDWIDTH_BYTES,
    BANDWIDTH_OCCUPANCY,
    BANDWIDTH_ENERGY,
    BANDWIDTH_STALLS,
    BANDWIDTH_CYCLES,
    BANDWIDTH_METRICS
};

extern const struct metric_desc *const bandwidth_metrics[];

struct bandwidth_families {
    struct family *at[BANDWIDTH_SUBJECTS][BANDWIDTH_METRICS];
};

int bandwidth_families_register(struct bandwidth_families *families, struct store *store);

/* All zero: nothing is known. */
struct bandwidth_series {
    uint64_t total[MON_VALUES];    /* a level: now */
    uint32_t seen;                 /* bit v: it was known once */
    uint32_t known;                /* in the last window */
    struct series *at[MON_VALUES]; /* owned; NULL: not made yet */
};

/* Before the rows of a window are added. */
void bandwidth_series_begin(struct bandwidth_series *series);
void bandwidth_series_add(struct bandwidth_series *series, const struct bandwidth_row *row);
/* The level is not known any more. */
void bandwidth_series_clear(struct bandwidth_series *series);
void bandwidth_series_show(struct bandwidth_series *series);

bool bandwidth_series_lacks(const struct bandwidth_series *series);
/* Makes what it lacks; 0 or the store's error. 'socket' is a label of a node's, else NULL. */
int bandwidth_series_extend(struct bandwidth_series *series,
                            const struct bandwidth_families *families,
                            enum bandwidth_subject subject, struct labelset *labels,
                            const char *socket);
/* Under new labels; without some, or where the store refuses them, none has a series any more. */
void bandwidth_series_relabel(struct bandwidth_series *series, struct labelset *labels);
void bandwidth_series_release(struct bandwidth_series *series);

#endif
