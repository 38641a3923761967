/*
 * Who must not be framed (CONTROL.md D). CPU time does not show what a program does to memory: one
 * that always uses whole CPUs can stream whenever somebody innocent works, and so can a process of
 * the host. Whoever is named and moves with the host, or may be played upon by one whose CPU time
 * is high and constant, is a group with it.
 *
 * No such group is made where the name is older than the other's constancy, where the workload has
 * just begun for the first time (nobody can know when that will be), or where activity is traffic.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_NODE_DOUBTS_H
#define IE_COLLECTORS_ATTRIBUTION_NODE_DOUBTS_H

#include "collectors/attribution/node/findings.h"

struct attribution_column;

/* Notes for how long a column's activity has been constant, once that of this reading is known. */
void doubts_watch(struct attribution_column *column, uint64_t reading);

/* Notes which columns move with the host's activity; NaN: it is not known. */
void doubts_watch_host(struct attribution_node *node, double host);

/* Notes whether reads of memory follow the latency, where they are counted. A constant workload
 * whose reads do not follow it frames nobody: if it streamed while others work, its reads would
 * show that. */
void doubts_watch_reads(struct attribution_node *node);

/* Makes groups of those who are named and may be framed; after everybody is judged. */
void doubts_raise(struct attribution_node *node);

#endif
