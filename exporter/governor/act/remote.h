/*
 * The decider's side of the writer: what actuators and the journal write, as orders (order.h).
 *
 * A writer that does not answer within ORDER_PATIENCE_MS, or is gone, is lost for good: every call
 * fails with -EPIPE from then on, and a decider that holds anything must end, so that the next
 * start gives it back. One thread.
 */
#ifndef IE_GOVERNOR_REMOTE_H
#define IE_GOVERNOR_REMOTE_H

#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/act/journal/journal.h"

struct remote {
    int channel; /* borrowed */
    bool may_set_affinity;
    bool lost;
    struct fswrite write; /* of control files, groups and threads; opens nothing */
    struct journal_writer writer;
};

/* Not to be moved from then on. */
void remote_init(struct remote *remote, int channel, bool may_set_affinity);

/* Tells the writer that the decider goes on; 'ready': everything is up. 0, -EPIPE. */
int remote_beat(struct remote *remote, bool ready);

#endif
