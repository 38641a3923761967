/*
 * One rendered label set per container, shared by all its series, and interference_container_info.
 *
 * Reconciled before the collectors on every diff: a container that is named has a label set when
 * the collectors look.
 */
#ifndef IE_COLLECTORS_CONTRACT_CONTAINER_LABELS_H
#define IE_COLLECTORS_CONTRACT_CONTAINER_LABELS_H

#include "exporter/containers/container.h"
#include "exporter/store/store.h"

struct container_labels;

int container_labels_new(struct store *store, struct container_labels **out);
void container_labels_free(struct container_labels *labels);

/* Before the collectors' reconcile. 0 or -ENOMEM: containers without a label set get no series. */
int container_labels_reconcile(struct container_labels *labels, const struct container_diff *diff);
/* Before publishing: info is there only where other series of the container are. */
void container_labels_settle(struct container_labels *labels);

/* NULL while the container is not named. Borrowed: series_new takes its own reference. */
struct labelset *container_labels_get(const struct container_labels *labels,
                                      const struct container *container);

extern const struct metric_desc container_info_desc;

#endif
