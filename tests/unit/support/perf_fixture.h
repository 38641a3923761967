/*
 * A perf source on the fake PMU: two CPUs online, Cascade Lake's table, cgroups as directories.
 */
#ifndef IE_TESTS_PERF_FIXTURE_H
#define IE_TESTS_PERF_FIXTURE_H

#include "tests/unit/support/fake_pmu.h"
#include "tests/unit/support/fixture.h"

struct perf_fixture {
    struct fixture tree;
    struct fake_pmu pmu;
    struct log log;
    struct events_file file; /* used where its 'event' has text */
    struct perf_config config;
    struct source *source;
};

/* The core group: the index of each role, ... */
enum {
    CYCLES,
    REF_CYCLES,
    INSTRUCTIONS,
    READS,
    OCCUPANCY,
    LLC,
    ACTIVE,
    CORE_ROLES,
    /* ... and sets of roles, as bits. */
    FULL = 0x7f,
    WITHOUT_SLOWDOWN = 0x1f,
    REQUIRED = 0x1b,
};

/* A reading with room for every CPU of the fake. */
struct perf_reading {
    struct reading reading;
    uint64_t space[FAKE_PMU_CPUS * (3 + GROUP_MAX_ROLES)];
};

/* cmocka setup and teardown: a fresh one per test; the teardown wants nothing left open. */
int perf_fixture_setup(void **state);
int perf_fixture_teardown(void **state);
#define PERF_TEST(name)                                                                            \
    TEST_ON(name, struct perf_fixture *fixture, perf_fixture_setup, perf_fixture_teardown)

/* Makes the source, in place of one that is there; call after changing tree, pmu, config. */
void perf_fixture_start(struct perf_fixture *fixture);

/* A cgroup: an open directory, to be closed by the caller, and its inode. */
int perf_fixture_cgroup(struct perf_fixture *fixture, const char *name, uint64_t *inode);
/* Opens the group for it, which must work. */
uint64_t perf_fixture_open(struct perf_fixture *fixture, const char *name, enum group group,
                           uint64_t *inode);

/* read() that must work; the row of a CPU, which must be there. */
const struct reading_row *perf_fixture_row(struct perf_fixture *fixture, uint64_t handle,
                                           enum group group, int cpu, struct perf_reading *out);
int perf_fixture_read(struct perf_fixture *fixture, uint64_t handle, enum group group,
                      struct perf_reading *out);
void perf_fixture_begin(struct perf_fixture *fixture);

/* How often the log has the text. */
size_t perf_fixture_logged(struct perf_fixture *fixture, const char *text);

/* check(), with 'why' filled with rubbish before. */
bool perf_fixture_check(struct perf_fixture *fixture, enum scope_kind kind, enum group group,
                        struct verdict *why);

/* check() that must say so, for this reason, in words among which these are. */
void perf_fixture_allows(struct perf_fixture *fixture, enum scope_kind kind, enum group group,
                         enum reason reason, const char *words);
void perf_fixture_refuses(struct perf_fixture *fixture, enum scope_kind kind, enum group group,
                          enum reason reason, const char *words);

/* What a role of the core group counts per nanosecond on the fake with Cascade Lake's table. */
uint64_t perf_fixture_core_rate(int role);
/* A row of the core group that counted all the time it ran. */
void perf_fixture_assert_core(const struct reading_row *row, uint32_t present, uint64_t enabled,
                              uint64_t running);

#endif
