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
#ifndef IE_SOURCE_ACCESSES_PID_TABLE_H
#define IE_SOURCE_ACCESSES_PID_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * one of its number would have begun, of which on_life tells. */
void pid_table_on_run(struct pid_table *table, struct pid_entry *entry, uint64_t time_ns);
/* It lives, with a first thread: another process has its number, or another of its threads has. */
void pid_table_on_life(struct pid_table *table, struct pid_entry *entry);
/* All records up to this time have been applied: removes those that ended a second before it. */
void pid_table_settle(struct pid_table *table, uint64_t time_ns);

#endif
