/*
 * The core counters of the probe's own threads, held against what the probe measured meanwhile:
 * they calibrate c_cache once (FORMULAS.md section 1, "Calibration"), or what AMD's and Arm's fills
 * take; then they say how wrong the estimate is, and always whether a counter is dead. Loop thread
 * only.
 */
#ifndef IE_COLLECTORS_PROBE_SELF_TEST_H
#define IE_COLLECTORS_PROBE_SELF_TEST_H

#include "collectors/contract/collector.h"

/* A gauge without a new burst for this many ticks is stale, and goes. */
enum { PROBE_STALE_TICKS = 60 };

struct self_test;

/* Opens the counters: a machine without them still has the probe, and a test that says nothing. The
 * family is that of the error's gauges; 'env' outlives it. 0 or -errno. */
int self_test_new(const struct collector_env *env, struct collector_status *status,
                  struct family *errors, struct self_test **out);
/* Accepts NULL. */
void self_test_free(struct self_test *test);

/* One tick, with its bursts. 0, or the first error of reading. */
int self_test_take(struct self_test *test, const struct tick *tick,
                   const struct probe_reading *bursts, size_t n);

/* Across a restart, as collectors/learned/serialise.h says; after reading, the second one: what did
 * not fit is not known. */
void self_test_serialise(struct self_test *test, struct state_fields *fields);
void self_test_recall(struct self_test *test, bool fits);

#endif
