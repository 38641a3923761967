/*
 * Who must not be framed (CONTROL.md D). CPU time does not show what a program does to memory: one
 * that always uses whole CPUs can stream whenever somebody innocent works, and so can a process of
 * the host. Whoever is named and moves with the host, or may be played upon by one whose CPU time
 * is high and constant, is a group with it.
 *
 * Not so where the name is older than the other's constancy, and not for a workload that has just
 * begun for the first time: nobody can know when that will be. Nor where activity is traffic.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_NODE_DOUBTS_H
#define IE_COLLECTORS_ATTRIBUTION_NODE_DOUBTS_H

#include "collectors/attribution/node/findings.h"

struct attribution_column;

/* After a column's activity of this reading is known: for how long it has been constant. */
void doubts_watch(struct attribution_column *column, uint64_t reading);

/* The same of the host's activity, NaN where it is not known: who moves with it. */
void doubts_watch_host(struct attribution_node *node, double host);

/* Who is constant, and whose reads of memory are counted, is nobody's shadow if they do not follow
 * the latency: streaming by turns would show in them. */
void doubts_watch_reads(struct attribution_node *node);

/* Makes groups of those who are named and may be framed; after everybody is judged. */
void doubts_raise(struct attribution_node *node);

#endif
