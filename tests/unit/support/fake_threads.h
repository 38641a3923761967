/*
 * Threads with CPUs, in cgroups of a governor_rig: what is asked for is given or refused as the
 * kernel does. A thread has of what was asked for last those that its cgroup's cpuset allows, and
 * all of these when none of them is; who is born has what its parent has.
 */
#ifndef IE_TESTS_FAKE_THREADS_H
#define IE_TESTS_FAKE_THREADS_H

#include <sched.h>

#include "exporter/governor/act/journal/journal.h"
#include "tests/unit/support/governor_rig.h"

enum { FAKE_THREADS = 64 };

struct fake_thread {
    int tid; /* 0: there is none */
    uint64_t start;
    char path[160];     /* of its cgroup */
    cpu_set_t asked;    /* for, last */
    cpu_set_t original; /* asked for by anybody but the governor */
};

struct fake_threads {
    struct governor_rig *rig;
    const struct journal *journal; /* what is set must be announced there; NULL: never mind */
    struct actuator_env env;
    cpu_set_t cpus; /* of the environment */
    struct fake_thread threads[FAKE_THREADS];
    int last_tid;
    unsigned fail_at; /* the so many-th set from now on fails; 0: none */
    int fail_with;
    bool fail_after; /* it has happened nevertheless */
    bool may_not;    /* move threads of others */
    unsigned sets;   /* the rig's calls leave them out */
    unsigned wrong;  /* sets that may never be: what was not announced, or more than the original */
};

/* Of a rig with v2 cgroups, whose fswrite moves threads from now on; CPUs 5 to 7 are for them. */
void fake_threads_init(struct fake_threads *fake, struct governor_rig *rig);
/* One with these CPUs, "all" or a list, that began long ago. Its tid. */
int fake_threads_join(struct fake_threads *fake, const char *path, const char *cpus);
/* Born now of another one. */
int fake_threads_fork(struct fake_threads *fake, int parent);
void fake_threads_end(struct fake_threads *fake, int tid);
/* Another one has its number now. */
void fake_threads_reuse(struct fake_threads *fake, int tid, const char *path);
void fake_threads_go(struct fake_threads *fake, int tid, const char *path);
/* Somebody else sets its CPUs. */
void fake_threads_take(struct fake_threads *fake, int tid, const char *cpus);
void fake_threads_cpuset(struct fake_threads *fake, const char *path, const char *cpus);
struct fake_thread *fake_threads_find(struct fake_threads *fake, int tid);
/* As the kernel writes it; "" for none. */
void fake_threads_cpus(struct fake_threads *fake, int tid, char out[CLAIM_TEXT_MAX]);
/* Whether it was asked for what it was asked for before the governor came. */
bool fake_threads_is_original(struct fake_threads *fake, int tid);

#endif
