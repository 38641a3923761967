/* What the files of the writer share: look.c reads what the kernel says, groups.c writes resctrl,
 * threads.c sets CPUs, writer.c does the rest. */
#ifndef IE_GOVERNOR_WRITER_INTERNAL_H
#define IE_GOVERNOR_WRITER_INTERNAL_H

#include <string.h>

#include "exporter/governor/write/rules.h"
#include "exporter/governor/write/writer.h"

/* What is known of a claim beside it. */
struct held {
    uint64_t period_us; /* of a quota */
    bool given_back;    /* by the last write */
};

struct writer {
    struct writer_config config;
    struct ledger ledger;
    struct claim *claims; /* CLAIMS_MAX, as 'held' */
    struct held *held;
    size_t n, last_member; /* of which the last task was */
    int groups;            /* that it has made, and that are there */
    uint64_t last_id;
};

static inline struct held *held_of(const struct writer *writer, const struct claim *claim)
{
    return &writer->held[claim - writer->claims];
}

static inline int writer_write(const struct writer *writer, int directory, const char *name,
                               const char *text)
{
    const struct fswrite *write = writer->config.write;
    return write->write_at(write->context, directory, name, text, strlen(text));
}

/* Of a file, all that fits, or its first line. 0 or -errno. */
int look_text(int directory, const char *name, char *out, size_t size);
int look_line(int directory, const char *name, char *out, size_t size);
/* A quota as a claim's text, with its period. */
int look_quota(const struct writer *writer, int directory, char text[CLAIM_TEXT_MAX],
               uint64_t *period_us);
double look_cores(const struct rules_quota *quota, uint64_t period_us);
/* The claim's cgroup, and no other that is there now: a descriptor, or -errno. */
int look_open(const struct writer *writer, const struct claim *claim);
/* Whether that has the thread; 'below': or a cgroup within it. */
bool look_is_member(const struct writer *writer, const struct claim *claim, int tid, bool below);
int look_start(const struct writer *writer, int tid, uint64_t *start);
/* Whether the claim's thread is still the one that was claimed. */
bool look_is_thread(const struct writer *writer, const struct claim *claim);
int look_cpus(const struct writer *writer, int tid, cpu_set_t *out);

int groups_obey(struct writer *writer, const struct order *order);
int threads_set(const struct writer *writer, int tid, const cpu_set_t *cpus);

#endif
