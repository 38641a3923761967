/*
 * Processes that were sampled, and their children: which cgroup each is in, and which program's
 * code it runs.
 *
 * For samples without a cgroup of their own. A child begins in its parent's cgroup; a process that
 * runs another program, or was not looked at for a while, is looked at again, for it may have been
 * moved: there is no record of that.
 *
 * One thread; times are of the records' clock.
 */
#ifndef IE_SOURCE_ACCESSES_PROCESS_TABLE_H
#define IE_SOURCE_ACCESSES_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/source/sampler/record.h"

/*
 * A table of processes by number, for tables that keep something of each: finding, closing the gaps
 * of open addressing, and how long those that ended are kept. What an entry has beyond its 'pid'
 * and 'died_ns' is its owner's.
 *
 * A process has ended when its first thread has, until an access says that others go on; from then
 * on whenever another of its threads ends, until the next access.
 *
 * One thread; times are of the records' clock. Pointers to entries are valid until the next add,
 * remove or settle.
 */

/* Embedded first in every entry. All zero is a free slot. */
struct pid_entry {
    uint32_t pid;     /* 0: free slot */
    bool headless;    /* its first thread has ended */
    uint64_t died_ns; /* 0: lives */
};

struct pid_table {
    unsigned char *at; /* owned: slots of 'size' bytes, at most half of them in use */
    size_t size, mask, n;
    /* What an entry owns beyond its bytes; NULL: nothing. */
    void (*release)(void *context, struct pid_entry *entry);
    void *context;
    size_t dead;
    uint64_t first_death_ns; /* where there are dead */
};

/* Room for 'max' entries of 'size' bytes. The members 'release' and 'context' stay as they are. 0
 * or -ENOMEM. */
int pid_table_init(struct pid_table *table, size_t max, size_t size);
/* Releases the entries as well. */
void pid_table_release(struct pid_table *table);

static inline size_t pid_table_slots(const struct pid_table *table)
{
    return table->at ? table->mask + 1 : 0;
}

/* A slot that is free has pid 0. */
static inline struct pid_entry *pid_table_slot(const struct pid_table *table, size_t i)
{
    return (struct pid_entry *)(table->at + i * table->size);
}

/* NULL when it is not there; there is never a pid 0. */
struct pid_entry *pid_table_find(const struct pid_table *table, uint32_t pid);
/* A pid that is not there, with all else 0. The caller has made room: n is below 'max'. */
struct pid_entry *pid_table_add(struct pid_table *table, uint32_t pid);
void pid_table_remove(struct pid_table *table, struct pid_entry *entry);

/* A thread of it ended; if the process did, it is kept until its last samples have come. */
void pid_table_on_exit(struct pid_table *table, struct pid_entry *entry, uint32_t tid,
                       uint64_t time_ns);
/* A thread of it ran at this time. If the process seemed to have ended before, it has not: another
 * one of its number would have begun, of which pid_table_on_life() tells. */
void pid_table_on_run(struct pid_table *table, struct pid_entry *entry, uint64_t time_ns);
/* It lives, with a first thread: another process has its number, or another of its threads has. */
void pid_table_on_life(struct pid_table *table, struct pid_entry *entry);
/* All records up to this time have been applied: removes those that ended a second before it. */
void pid_table_settle(struct pid_table *table, uint64_t time_ns);

enum code_width { WIDTH_UNKNOWN, WIDTH_32, WIDTH_64 };

struct known_process {
    struct pid_entry entry; /* first */
    uint32_t space;         /* of instruction.h; another one whenever its code may have changed */
    uint64_t cgroup_id;     /* 0: not known */
    uint64_t looked_ns;     /* when that was last found out; 0: not yet, or it may have changed */
    uint8_t width;          /* enum code_width */
    bool used;              /* since the search for one to replace last passed it */
};

struct process_table;

/* Beyond 'max', one not used for a while is forgotten. 0, -ENOMEM, or -EINVAL for none. */
int process_table_new(size_t max, struct process_table **out);
void process_table_free(struct process_table *table);

/* Valid until the next call that is not a find. NULL when it is not known. */
struct known_process *process_table_find(struct process_table *table, uint32_t pid);
/* As find, but makes it known: it runs at this time. NULL for pid 0: no process that can be seen
 * from here. */
struct known_process *process_table_get(struct process_table *table, uint32_t pid,
                                        uint64_t time_ns);

/* exec, exit, fork, and mappings with code. Of unknown processes only the fork is noted, and that
 * only of a known parent. */
void process_table_apply(struct process_table *table, const struct kernel_record *record);
/* Records were lost: what is known is to be found out again. */
void process_table_lost(struct process_table *table);
/* All records up to this time have been applied. */
void process_table_settle(struct process_table *table, uint64_t time_ns);

size_t process_table_count(const struct process_table *table);
size_t process_table_bytes(const struct process_table *table);

/*
 * Whose processes are not looked into for a while, since a look at one of them did not end: for
 * 10 s, then for 20 s, up to 640 s, each time that it happens again within an hour.
 *
 * Of the last REFUSALS_MAX owners. One thread.
 */

enum { REFUSALS_MAX = 64 };

/* All zero: none. */
struct refusals {
    size_t n, next; /* the oldest is replaced when all are in use */
    struct {
        uint64_t owner, until_ns;
        unsigned times;
    } at[REFUSALS_MAX];
};

/* Times are of any one clock. */
bool refusals_has(const struct refusals *refusals, uint64_t owner, uint64_t now_ns);
void refusals_add(struct refusals *refusals, uint64_t owner, uint64_t now_ns);
/* How many are refused now. */
size_t refusals_count(const struct refusals *refusals, uint64_t now_ns);

#endif
