/*
 * From a group's two readings to one scaled window, counted in the collector's status.
 */
#ifndef IE_COLLECTORS_PARTS_WINDOW_READ_H
#define IE_COLLECTORS_PARTS_WINDOW_READ_H

#include "collectors/contract/collector.h"
#include "exporter/source/window.h"

/*
 * Reads the group for this tick. 0 with *status and *sum, the window's sum over the CPUs; -ENODATA
 * when the source has no reading for this tick; -errno when reading failed. Discarded windows and
 * PMU times are counted in *self, the collector's own status.
 */
int window_read(struct source_set *sources, group_handle handle, struct collector_status *self,
                struct window_sum *sum, enum window_status *status);

/* As window_read(), with the rows, and without the PMU's times. */
int window_read_rows(struct source_set *sources, group_handle handle, struct collector_status *self,
                     struct group_window *window, enum window_status *status);

/* Adds a window's PMU times to *self, for whoever reads the group's rows itself. Not of a window
 * that was reset: it has none. */
void window_book_times(struct collector_status *self, const struct window_sum *sum);

/* While nothing is counted at all ('silent'), the collector is unavailable, and the caller writes
 * its verdict each time. *kept holds the verdict from before, which is restored afterwards. */
void status_silence(struct collector_status *status, bool silent, struct verdict *kept);

/* The count of a role in a window's sum. False when it was not counted. */
bool window_count(const struct window_sum *sum, enum group group, enum role role, uint64_t *out);

#endif
