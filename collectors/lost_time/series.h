/*
 * The series of lost_time: each is there from when it would not be 0.
 */
#ifndef IE_COLLECTORS_LOST_TIME_SERIES_H
#define IE_COLLECTORS_LOST_TIME_SERIES_H

#include <stdbool.h>

#include "exporter/base/loss.h"
#include "exporter/store/store.h"

enum lost_metric { LOST_SECONDS, LOST_EXPOSED, LOST_TAKEN, LOST_METRICS };

extern const struct metric_desc *const lost_metrics[];

/* The causes, then the other two. */
enum { LOST_SERIES = LOSSES + LOST_METRICS - 1, LOST_OF_EXPOSED = LOSSES, LOST_OF_TAKEN };

struct lost_series {
    double total[LOST_SERIES];      /* seconds */
    struct series *at[LOST_SERIES]; /* owned; NULL: not made yet */
};

/* One of them is above 0 and has no series. */
bool lost_series_lacks(const struct lost_series *series);
/* Makes those; 0 or the store's error. Allocates. */
int lost_series_extend(struct lost_series *series, struct family *const family[LOST_METRICS],
                       struct labelset *labels);
void lost_series_show(struct lost_series *series);
/* Under new labels; without some, or where the store refuses them, none has a series any more. */
void lost_series_relabel(struct lost_series *series, struct labelset *labels);
void lost_series_release(struct lost_series *series);

#endif
