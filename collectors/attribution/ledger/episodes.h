/* The episodes of a ledger: found, judged, committed (ONSETS.md L4), and what the latency around
 * one says of its workload (L5, L6; evidence.c). Internal to the ledger. */
#ifndef IE_COLLECTORS_ATTRIBUTION_LEDGER_EPISODES_H
#define IE_COLLECTORS_ATTRIBUTION_LEDGER_EPISODES_H

#include "collectors/attribution/ledger/ledger.h"

/* Whose activity has jumped. */
void episodes_find(struct ledger *ledger);
/* Those whose time has come are held against the latency. */
void episodes_judge(struct ledger *ledger);
/* Drops all episodes: no later window contains one. */
void episodes_cut(struct ledger *ledger);
/* Drops the workload's open episode, since its activity is not known any more. */
void episodes_lose(struct ledger *ledger, uint32_t workload);
void episodes_forget(struct ledger *ledger, uint32_t workload);

/* As far as can be told now, and for good: then the episode is no longer open. */
void evidence_provisional(struct ledger *ledger, struct ledger_episode *episode);
void evidence_commit(struct ledger *ledger, struct ledger_episode *episode);

/* Whether somebody who makes memory slow, more likely than not, jumped within `near` readings. */
bool episodes_explain(const struct ledger *ledger, uint64_t reading, unsigned near);

/* Evidence is bounded, so that who begins to do otherwise is seen within a few times. */
static const double least_evidence = -6, most_evidence = 8;

#endif
