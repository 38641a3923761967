/*
 * A source whose totals a test sets by hand: one row per CPU, by scope key and group. It keeps a
 * ledger of what was asked of it, and fails the running cmocka test when a group is read or closed
 * that is not open.
 */
#ifndef IE_TESTS_FAKE_SOURCE_H
#define IE_TESTS_FAKE_SOURCE_H

#include "exporter/source/source.h"

enum {
    FAKE_CPUS = 2, /* of a group, unless the test says otherwise */
    FAKE_MAX_CPUS = 8,
    FAKE_GROUPS = 64,
    FAKE_PROBES = 256,
    FAKE_SAMPLES = 4096
};

/* How often each op was called; of 'open', how often it worked. */
struct fake_ledger {
    int opens, closes, begins, reads, frees;
    uint32_t checks;   /* bit g: the group was asked for */
    char last_key[32]; /* opened */
};

struct fake_group {
    char key[32];
    enum group group;
    bool open;
    bool no_reading; /* -ENODATA at this tick */
    int read_error;
    uint32_t present;
    size_t cpus;
    uint64_t enabled_ns[FAKE_MAX_CPUS], running_ns[FAKE_MAX_CPUS];
    uint64_t count[FAKE_MAX_CPUS][GROUP_MAX_ROLES];
};

/* Owned by the test; the source set frees nothing of it. */
struct fake_source {
    struct source source;
    struct fake_ledger ledger;
    struct fake_group groups[FAKE_GROUPS];
    size_t n_groups;
    size_t n_open;
    struct probe_reading probes[FAKE_PROBES];
    size_t n_probes; /* handed out at the next begin, oldest first, then 0 */
    uint64_t probe_discards[PROBE_DISCARDS];
    struct access_sample samples[FAKE_SAMPLES];
    size_t n_samples; /* handed out by drains, oldest first, then 0 */
    struct sampling sampling[ACCESS_KINDS];
    struct verdict sampled[ACCESS_KINDS]; /* REASON_OK: this kind of access is sampled */
    struct verdict check;                 /* REASON_OK: everything works, perhaps with words */
    uint32_t lacks; /* bit g: the group is not here; after init nobody's monitoring groups */
    struct verdict open_error;  /* REASON_OK: opening works */
    enum group open_error_of;   /* this group's only; GROUP_COUNT after init: of all */
    const char *open_error_key; /* this key's only; NULL: of all */
    int open_errno;             /* what it fails with; 0: -EMFILE */
    int begin_error;
    uint64_t unread; /* intervals */
    struct cpu_taking takings[8];
    size_t n_takings; /* handed out once, then 0 */
};

void fake_source_init(struct fake_source *fake);

/* The group of a key, made when it is not there yet; all roles present, FAKE_CPUS rows. */
struct fake_group *fake_group(struct fake_source *fake, const char *key, enum group group);

/* Advances the clocks of one CPU by ns, running as long as enabled. */
void fake_group_run(struct fake_group *group, int cpu, uint64_t ns);
/* Adds to one role's total on one CPU. */
void fake_group_add(struct fake_group *group, int cpu, enum role role, uint64_t count);

/* Both: fake_window(group, 0, 1000, {ROLE_CYCLES, 10}, {ROLE_INSTRUCTIONS, 20}). */
struct fake_count {
    enum role role;
    uint64_t count;
};
void fake_group_window(struct fake_group *group, int cpu, uint64_t ns,
                       const struct fake_count *counts, size_t n);
#define fake_window(group, cpu, ns, ...)                                                           \
    fake_group_window(group, cpu, ns, (const struct fake_count[]){__VA_ARGS__},                    \
                      sizeof((const struct fake_count[]){__VA_ARGS__}) /                           \
                          sizeof(struct fake_count))

#endif
