/* What the latency around an episode says of its workload (ONSETS.md L5, L6). Internal to the
 * ledger. */
#ifndef IE_COLLECTORS_ATTRIBUTION_LEDGER_EVIDENCE_H
#define IE_COLLECTORS_ATTRIBUTION_LEDGER_EVIDENCE_H

#include "collectors/attribution/ledger/ledger.h"

/* As far as can be told now, and for good: then the episode is no longer open. */
void evidence_provisional(struct ledger *ledger, struct ledger_episode *episode);
void evidence_commit(struct ledger *ledger, struct ledger_episode *episode);

#endif
