/*
 * What processes have mapped: which medium an address of a process belonged to at the time of a
 * sample, which arrives a little later than that.
 *
 * Loaded from /proc at the first query for a process, then kept current by perf's records of
 * mappings, exec, fork and exit. A sample may be older than what was loaded: it is answered only
 * when all records up to the loading have been seen, and only if none of them touched the address.
 * What has changed since is -ESTALE, never another mapping's medium.
 *
 * A child begins with what its parent had, if that is known as of then: it may be gone before
 * its own mappings could be read.
 *
 * Neither munmap nor mremap leaves a record. An address that is not mapped any more is not accessed
 * either; against mremap a process is loaded anew after max_age_ns.
 *
 * Loading and asking the rule take at most a twentieth of a CPU, over a second; what then must wait
 * is -EAGAIN. A process with more than 8 MiB of text or 65,536 mappings is -ESRCH, and is looked at
 * again after max_age_ns, then after twice that, up to 64 times.
 *
 * Where a process's first thread has ended, /proc shows its mappings only through its others: they
 * are read through the one that made the access.
 *
 * The caller merges the rings of all CPUs: whatever it asks or applies, all records before that
 * time are applied already.
 *
 * One thread. All times are of one clock, that of the records.
 */
#ifndef IE_SOURCE_ACCESSES_ADDRESS_SPACES_H
#define IE_SOURCE_ACCESSES_ADDRESS_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/source/accesses/medium.h"
#include "exporter/source/accesses/process_reader.h"
#include "exporter/source/sampler/record.h"

/*
 * CPU time that may be spent on what other programs can make expensive: a twentieth of the time
 * that passes, saved up to 50 ms. What has begun is ended, and paid back later.
 */

enum { BUDGET_SHARE = 20, BUDGET_SAVED_NS = 50000000 };

/* All zero is full. Times are of any one clock that does not go back. */
struct budget {
    uint64_t free_ns; /* when all is paid back; what is before now is saved */
};

static inline bool budget_allows(const struct budget *budget, uint64_t now_ns)
{
    return budget->free_ns <= now_ns;
}

static inline void budget_spend(struct budget *budget, uint64_t spent_ns, uint64_t now_ns)
{
    const uint64_t saved_ns = (uint64_t)BUDGET_SAVED_NS * BUDGET_SHARE;
    uint64_t earliest_ns = now_ns > saved_ns ? now_ns - saved_ns : 0;
    if (budget->free_ns < earliest_ns)
        budget->free_ns = earliest_ns;
    budget->free_ns += spent_ns * BUDGET_SHARE;
}

struct address_spaces;

struct address_spaces_config {
    struct process_reader *reader; /* borrowed, like the rule, which may ask the same process */
    struct medium_rule *rule;
    uint64_t (*now_ns)(void *context);
    uint64_t (*cpu_ns)(void *context); /* of this thread; NULL: the real one. For tests */
    void *context;
    size_t max_processes; /* beyond that, the one not asked for the longest is forgotten */
    size_t max_bytes;     /* of their mappings and paths, likewise; 0: no limit */
    uint64_t max_age_ns;
};

/* 0 or -ENOMEM; -EINVAL without room for a process. */
int address_spaces_new(const struct address_spaces_config *config, struct address_spaces **out);
void address_spaces_free(struct address_spaces *spaces);

/* Records in the order of their times. Kinds that say nothing about mappings are ignored. */
void address_spaces_apply(struct address_spaces *spaces, const struct kernel_record *record);
/* Records from before this time were lost: everything is loaded anew when next asked for, and of
 * accesses before it nothing is known any more. */
void address_spaces_lost(struct address_spaces *spaces, uint64_t time_ns);
/* All records up to this time have been applied. */
void address_spaces_settle(struct address_spaces *spaces, uint64_t time_ns);

/*
 * The medium of an access: of its pid, tid, address, time and kind. 0 with *out, which may be
 * MEDIUM_UNKNOWN: the rule does not know. Otherwise *out is untouched:
 * -EAGAIN  ask again after the next settle: the process was loaded after the access, or there is
 *          no time for it now, or no answer (process_reader.h)
 * -ESTALE  the process ran another program, or mapped something else there, since the access; or
 *          records were lost since, or came while the process was not known or forgotten
 * -ENXIO   nothing is mapped there any more
 * -ESRCH   the process is gone, or not for us to see
 * -ENOMEM
 */
int address_spaces_find(struct address_spaces *spaces, const struct access_sample *access,
                        enum medium *out);

/*
 * Whether the instructions at an address are a program's file, in a mapping of which nothing is
 * written: such code changes only by records. False for what is not known.
 */
bool address_spaces_has_fixed_code(const struct address_spaces *spaces, uint32_t pid,
                                   uint64_t address);

/* For tests and benchmarks: processes known, mappings kept, and bytes in use. */
struct address_spaces_size {
    size_t processes, mappings, bytes;
};
struct address_spaces_size address_spaces_size(const struct address_spaces *spaces);

/* One process's mappings, sorted by address. For address_spaces.c; nothing here reads files. */

struct mapping {
    uint64_t start, end;
    uint64_t since_ns; /* mapped at this time; 0: was there when the process was loaded */
    uint64_t offset, inode;
    uint32_t major, minor;
    uint32_t path; /* offset in the space's paths */
    uint16_t path_len;
    bool readable, writable, executable, shared;
    bool resolved[ACCESS_KINDS];
    uint8_t medium[ACCESS_KINDS]; /* enum medium, where resolved */
};

/* All zero is empty. */
struct address_space {
    struct mapping *at;
    size_t n, cap;
    char *paths;
    size_t paths_len, paths_cap;
};

void address_space_release(struct address_space *space);
void address_space_clear(struct address_space *space);

/* Puts a mapping in the place of whatever was there. 0, -ENOMEM, or -E2BIG for more mappings or
 * longer paths than any sane process has; the space is unchanged then. */
int address_space_put(struct address_space *space, const struct maps_line *line, uint64_t since_ns);

/* Into an empty one. 0 or -ENOMEM; it stays empty then. */
int address_space_copy(struct address_space *to, const struct address_space *from);

/* NULL when nothing is mapped there. */
struct mapping *address_space_find(const struct address_space *space, uint64_t address);

/* As the kernel would write it; borrows the path. */
struct maps_line address_space_line(const struct address_space *space,
                                    const struct mapping *mapping);

#endif
