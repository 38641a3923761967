/*
 * The decider's own probe, for experiments alone: the exporter's makes three bursts in its
 * interval, and knows nothing of slots.
 *
 * On machines with one NUMA node that has memory, from whatever CPU the decider runs on; bursts
 * that are disturbed do not count. Five bursts are 5 x 1,600 reads: a millisecond. One thread.
 */
#ifndef IE_GOVERNOR_BURSTS_H
#define IE_GOVERNOR_BURSTS_H

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/governor/decide/experiment.h"

struct bursts;

/* Takes 4 MiB of memory; before the process is confined. 0; -ENOTSUP: several NUMA nodes, or no way
 * to flush a line; -errno. */
int bursts_new(const struct fsroot *fs, const struct log *log, struct bursts **out);
/* Accepts NULL. */
void bursts_free(struct bursts *bursts);
/* Of these bursts, which are borrowed. */
struct experiment_meter bursts_meter(struct bursts *bursts);

#endif
