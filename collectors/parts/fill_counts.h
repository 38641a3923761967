/*
 * What fill_latency.h takes, from a window of a group that counts what is in flight: AMD's
 * GROUP_FILLS or Arm's GROUP_IN_FLIGHT. Pure.
 */
#ifndef IE_COLLECTORS_PARTS_FILL_COUNTS_H
#define IE_COLLECTORS_PARTS_FILL_COUNTS_H

#include "collectors/contract/facts.h"
#include "collectors/formulas/fill_latency.h"
#include "exporter/source/window.h"

/* The counts, or each weighed by its CPU's frequency (window.h). -ENODATA: not all of them were
 * counted, for the PMU has too few counters; -ERANGE: they contradict each other. */
int fill_counts(const struct window_sum *sum, enum group group, struct fills *out);
int fill_counts_weighed(const struct window_sum *sum, enum group group, struct fills *out);

struct fill_times fill_times_of(const struct facts *facts);

#endif
