/* What a ledger knows, without changing it: for its parts, and for who tells of it. */
#ifndef IE_COLLECTORS_ATTRIBUTION_LEDGER_READINGS_H
#define IE_COLLECTORS_ATTRIBUTION_LEDGER_READINGS_H

#include "collectors/attribution/ledger/ledger.h"

/* Of the last ONSET_WINDOW readings. */
double ledger_x(const struct ledger_workload *workload, uint64_t reading);

/* Whether it is told; what it does is then not in the windows of others. */
bool ledger_has_told(const struct ledger *ledger, uint32_t workload);

/* Whether the latency is higher than before the workload's last start, by enough of that effect.
 * True when that start is no longer in the window: what a day does to the latency is not known. */
bool ledger_shows(const struct ledger *ledger, const struct ledger_workload *w, double effect);

/* Whether a workload may be named yet. */
bool ledger_knows(const struct ledger *ledger);

/* How many groups are told: none while it learns. */
unsigned ledger_groups(const struct ledger *ledger);

/* Steps of the latency a second that nobody here makes: (1 + seen) / (2 h + watched). */
double ledger_lambda(const struct ledger *ledger);

/* The first reading that may be compared with the present ones, at most n readings ago. */
uint64_t ledger_first(const struct ledger *ledger, unsigned n);

/* Log latency of a reading without what those explain who are named, but for this one. */
double ledger_unexplained(const struct ledger *ledger, uint64_t reading, uint32_t but);

/* Its mean over n readings. */
double ledger_mean_y(const struct ledger *ledger, uint64_t first, unsigned n, uint32_t but);

/* The same from a reading to now, ready for fits. */
void ledger_window(const struct ledger *ledger, uint64_t first, uint32_t but,
                   struct onset_window *out);

/* Mean activity in n readings from this one on. */
double ledger_mean_x(const struct ledger_workload *workload, uint64_t first, unsigned n);

/* What was known of a workload before the last minute: its evidence without that of episodes that
 * are still in windows. */
double ledger_past_evidence(const struct ledger *ledger, uint32_t workload);

/* That it makes memory slow, of what these logarithms of Bayes factors add up to. */
double ledger_probability(const struct ledger_workload *workload, double evidence);
/* What has to add up to that. */
double ledger_evidence(const struct ledger_workload *workload, double probability);

#endif
