/*
 * What a governor that observes works on: one container's quota of four cores, in memory alone, and
 * a store to publish in.
 */
#ifndef IE_TESTS_DRY_RUN_H
#define IE_TESTS_DRY_RUN_H

#include "exporter/governor/act/enforcer.h"
#include "exporter/governor/see/liveness.h"
#include "exporter/store/store.h"
#include "tests/unit/support/fake_knobs.h"

struct dry_run {
    struct store *store;
    struct fake_knobs fake; /* one: "/0" */
    struct actuators actuators;
    struct journal journal;
    struct enforcer *enforcer;
    struct liveness liveness; /* since 1 ns */
};

void dry_run_init(struct dry_run *run);
void dry_run_release(struct dry_run *run);

#endif
