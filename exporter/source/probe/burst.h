/*
 * A burst: several short runs, and what they may cost.
 *
 * One run of 500 loads varies with refresh, interrupts and neighbours; the median of ten does not
 * care about the odd one. The CPU time of everything the probe's thread does is held below 0.1 % of
 * a CPU by an account that grows with the clock: on slow memory a burst gets fewer runs, and where
 * the interval is short some turns are skipped.
 */
#ifndef IE_SOURCE_PROBE_BURST_H
#define IE_SOURCE_PROBE_BURST_H

#include "exporter/source/probe/run.h"

enum {
    CHASE_RUN_LOADS = 500,
    CHASE_WARM_LOADS = 100, /* a first run that does not count: the CPU leaves its idle state */
    CHASE_RUNS = 10,
    CHASE_RUNS_NEEDED = 3, /* and half of those made, else there is no reading */
};

struct chase_burst {
    double latency_ns; /* median of the runs that count; 0 unless 'valid' */
    bool valid;
    uint32_t runs; /* made, without the warm one */
    uint32_t discarded[PROBE_DISCARDS];
};

/* Runs on the calling thread, which should be pinned to 'cpu', until CHASE_RUNS are made or the
 * next would exceed 'budget_ns' of CPU time. */
void chase_burst(struct chase_ring *ring, enum chase_flush how, int cpu, uint64_t budget_ns,
                 struct chase_burst *out);

/* CPU time earned and spent. Times are the caller's: it can be tested without a clock. */
struct chase_account {
    uint64_t credit_ns;
    uint64_t debt_ns;  /* paid off before there is credit again; one of the two is 0 */
    uint64_t share_ns; /* earned per interval */
    uint64_t seen_ns;  /* wall clock of the last earning */
    uint64_t load_ns;  /* CPU time per load of the last burst, everything included */
};

void chase_account_init(struct chase_account *account, uint64_t interval_ns, uint64_t now_ns);
/* What a burst at 'now_ns' may spend; 0 when it would not be enough for CHASE_RUNS_NEEDED runs. */
uint64_t chase_account_budget(struct chase_account *account, uint64_t now_ns);
/* How long to sleep, counted from the last earning, until there is a budget again: even waking up
 * to find none costs too much where intervals are short. */
uint64_t chase_account_wait_ns(const struct chase_account *account);
/* CPU time used, for a burst of this many loads (0: for something else). More than there is credit
 * for becomes a debt, up to what some seconds pay off. */
void chase_account_spend(struct chase_account *account, uint64_t cpu_ns, uint64_t loads);

uint64_t chase_thread_cpu_ns(void);

#endif
