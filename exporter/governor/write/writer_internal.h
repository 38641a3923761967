/* What the files of the writer share: writer.c has the claims, quota.c writes quotas, groups.c
 * resctrl, threads.c sets CPUs, all of them by look.c. */
#ifndef IE_GOVERNOR_WRITER_INTERNAL_H
#define IE_GOVERNOR_WRITER_INTERNAL_H

#include "exporter/governor/write/rules.h"
#include "exporter/governor/write/writer.h"

struct writer {
    struct writer_config config;
    struct journal_file file;
    struct journal_claims open; /* of claims */
    struct claim claims[CLAIMS_MAX];
    int groups;         /* that it has made, and that are there */
    size_t last_member; /* the claim that the last task was of, modulo their number */
};

/* What a file has, all that fits, or its first line. 0 or -errno; then "". */
int look_text(int directory, const char *name, char *out, size_t size);
int look_line(int directory, const char *name, char *out, size_t size);
int writer_write(const struct writer *writer, int directory, const struct order *order);
/* The claim's cgroup, and no other that is there now: a descriptor, or -errno. */
int look_open(const struct writer *writer, const struct claim *claim);

/* Of each kind of knob: whether what the claim says it had is what there is, ... */
int quota_check(const struct writer *writer, struct claim *claim, int directory);
int thread_check(const struct writer *writer, const struct claim *claim);
/* ... whether what was set, or was before that, is there, and not what it had at first, ... */
bool quota_is_held(const struct writer *writer, const struct claim *claim, int directory);
bool thread_is_held(const struct writer *writer, const struct claim *claim);
/* ... whether a text is a quota of no fewer cores than the least of all, and no more than at first,
 * in the same period, or a shorter one of at least 10 ms, ... */
bool quota_is_no_more(const struct writer *writer, const struct claim *claim, const char *text);
/* ... and orders. */
int quota_write(const struct writer *writer, struct claim *claim, const struct order *order);
int groups_obey(struct writer *writer, const struct order *order);
int threads_set(const struct writer *writer, int tid, const cpu_set_t *cpus);

/* Whether the claim's cgroup has the thread; 'below': or a cgroup within it. */
bool thread_is_member(const struct writer *writer, const struct claim *claim, int tid, bool below);

#endif
