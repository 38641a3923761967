/* The episodes of a ledger: found, judged, committed (ONSETS.md L4, L5). Internal to the ledger. */
#ifndef IE_COLLECTORS_ATTRIBUTION_EPISODES_H
#define IE_COLLECTORS_ATTRIBUTION_EPISODES_H

#include "collectors/attribution/ledger.h"

/* Whose activity has jumped. */
void episodes_find(struct ledger *ledger);
/* Those whose time has come are held against the latency. */
void episodes_judge(struct ledger *ledger);
void episodes_forget(struct ledger *ledger, uint32_t workload);

/* Whether somebody who makes memory slow, more likely than not, jumped within `near` readings. */
bool episodes_explain(const struct ledger *ledger, uint64_t reading, unsigned near);

/* Log latency of a reading without what those explain who are named, but for this one. */
double episodes_unexplained(const struct ledger *ledger, uint64_t reading, uint32_t but);
/* The same from a reading to now, ready for fits. */
void episodes_window(const struct ledger *ledger, uint64_t first, uint32_t but,
                     struct onset_window *out);

/* Mean activity in n readings from this one on. */
double episodes_mean_x(const struct ledger_workload *workload, uint64_t first, unsigned n);

/* Evidence is bounded, so that who begins to do otherwise is seen within a few times. */
static const double least_evidence = -6, most_evidence = 8;

/* What was known of a workload before the last minute: its evidence without that of episodes that
 * are still in windows. */
double episodes_past_evidence(const struct ledger *ledger, uint32_t workload);

/* Of what these logarithms of Bayes factors add up to. */
double ledger_probability(double evidence);

#endif
