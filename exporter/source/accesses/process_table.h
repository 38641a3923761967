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

#include "exporter/source/accesses/pid_table.h"
#include "exporter/source/sampler/record.h"

enum code_width { WIDTH_UNKNOWN, WIDTH_32, WIDTH_64 };

struct known_process {
    struct pid_entry entry; /* first */
    uint32_t space;         /* of code_cache.h; another one whenever its code may have changed */
    uint64_t cgroup_id;     /* 0: not known */
    uint64_t looked_ns;     /* when that was last found out; 0: not yet, or it may have changed */
    uint8_t width;          /* enum code_width */
    bool used;              /* since the search for a place last came by */
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

#endif
