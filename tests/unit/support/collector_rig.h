/*
 * One collector with everything around it, except time and counters, which the test controls.
 */
#ifndef IE_TESTS_COLLECTOR_RIG_H
#define IE_TESTS_COLLECTOR_RIG_H

#include "collectors/contract/collector.h"
#include "exporter/options/options.h"
#include "tests/unit/support/fake_source.h"

enum { RIG_CONTAINERS = 32, RIG_FLAGS = 8 };

struct rig {
    bool reconciled_by_hand; /* what a tick wants is left to rig_nothing_changed() */
    struct fake_source fake;
    struct source_set *sources;
    struct inventory inventory;
    struct store *store;
    struct container_labels *labels;
    struct options options;
    const char *flags[RIG_FLAGS];
    int n_flags;
    struct thresholds thresholds;
    struct facts facts;
    struct log log;
    struct collector_env env;
    struct collector_status status;
    const struct collector_ops *ops, *flags_of;
    void *collector;
    struct tick tick;
    struct container containers[RIG_CONTAINERS];
    char workloads[RIG_CONTAINERS][64]; /* theirs */
    size_t n_containers;
    bool live; /* those that come have a cgroup, which in a replay they have not */
};

/* Asserts that everything could be built; machine: 2.1 GHz, c_cache 44. start runs the collector.
 */
void rig_init(struct rig *rig, const struct collector_ops *ops);
void rig_start(struct rig *rig);
/* Before start: a flag of the collector, as the user would give it. */
void rig_flag(struct rig *rig, const char *flag);
/* Before start: for ops made of others, the collector whose flags it is given. */
void rig_flags_of(struct rig *rig, const struct collector_ops *ops);
void rig_release(struct rig *rig);
/* For cmocka: releases and frees the rig in *state. */
int rig_teardown(void **state);
/* A test of what a setup made: a new rig, for rig_teardown(). */
#define RIG_TEST(name, setup) TEST_ON(name, struct rig *rig, setup, rig_teardown)

/* A container whose key and name are 'name'; found at the last tick, named at once. */
struct container *rig_container(struct rig *rig, const char *name);
/* The same, but without names yet. */
struct container *rig_unnamed(struct rig *rig, const char *name);
void rig_name(struct rig *rig, struct container *container);
void rig_rename(struct rig *rig, struct container *container, const char *name);
/* From now on the store refuses the container one series under this name: the family has one with
 * these labels. */
void rig_take_name(struct rig *rig, const char *family, const struct container *container,
                   const char *name);
void rig_end(struct rig *rig, struct container *container);
void rig_forget(struct rig *rig, struct container *container);
/* Containers that the test keeps itself came or went. */
void rig_reconcile(struct rig *rig, const struct container_diff *diff);
/* What the loop does before a tick when no container came or went. */
void rig_nothing_changed(struct rig *rig);

/* One tick of one second; returns what collect returned. Publishes. */
int rig_tick(struct rig *rig);

/* The published value of a series, found by its metric's family name and one piece of its labels
 * ("" for none); NaN when it is absent. Histograms: the count of observations. */
double rig_value(struct rig *rig, const char *family, const char *label);
/* The same, of the series with both pieces. */
double rig_value_of(struct rig *rig, const char *family, const char *label, const char *more);
/* Published series whose labels contain this piece. */
size_t rig_series(struct rig *rig, const char *label);

#endif
