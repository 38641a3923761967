/*
 * What bursts may cost: the CPU time of everything the probe's thread does stays below 0.1 % of a
 * CPU, by an account that grows with the clock. On slow memory, and where the interval is short,
 * some turns are skipped.
 *
 * Times are the caller's: it is tested without a clock.
 */
#ifndef IE_SOURCE_PROBE_ACCOUNT_H
#define IE_SOURCE_PROBE_ACCOUNT_H

#include <stdint.h>

/* CPU time earned and spent. */
struct chase_account {
    uint64_t credit_ns;
    uint64_t debt_ns;  /* paid off before there is credit again; one of the two is 0 */
    uint64_t share_ns; /* earned per interval */
    uint64_t seen_ns;  /* wall clock of the last earning */
    uint64_t load_ns;  /* CPU time per load of the last burst, everything included */
};

void chase_account_init(struct chase_account *account, uint64_t interval_ns, uint64_t now_ns);
/* What a burst at 'now_ns' may spend; 0 when it would not be enough for a whole one. */
uint64_t chase_account_budget(struct chase_account *account, uint64_t now_ns);
/* How long to sleep, counted from the last earning, until there is a budget again: even waking up
 * to find none costs too much where intervals are short. */
uint64_t chase_account_wait_ns(const struct chase_account *account);
/* CPU time used, for a burst of this many loads (0: for something else). More than there is credit
 * for becomes a debt, up to what some seconds pay off. */
void chase_account_spend(struct chase_account *account, uint64_t cpu_ns, uint64_t loads);

#endif
