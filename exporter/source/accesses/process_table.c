#include "exporter/source/accesses/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"

/* The dead are kept for this long after everything up to their end is settled: their last samples
 * may still be waiting. */
static const uint64_t keep_dead_ns = 1000000000;

int pid_table_init(struct pid_table *table, size_t max, size_t size)
{
    size_t slots = 16;
    while (slots < max * 2)
        slots *= 2;
    table->at = calloc(slots, size);
    if (!table->at)
        return -ENOMEM;
    table->size = size;
    table->mask = slots - 1;
    return 0;
}

static void release_entry(struct pid_table *table, struct pid_entry *entry)
{
    if (table->release)
        table->release(table->context, entry);
}

void pid_table_release(struct pid_table *table)
{
    for (size_t i = 0; i < pid_table_slots(table); i++)
        if (pid_table_slot(table, i)->pid != 0)
            release_entry(table, pid_table_slot(table, i));
    free(table->at);
    *table = (struct pid_table){0};
}

static size_t home_of(const struct pid_table *table, uint32_t pid)
{
    return (size_t)(hash_u64(pid) >> 32) & table->mask;
}

/* The slot of this pid, or the free one where it would be. */
static struct pid_entry *position_of(const struct pid_table *table, uint32_t pid)
{
    size_t i = home_of(table, pid);
    while (pid_table_slot(table, i)->pid != 0 && pid_table_slot(table, i)->pid != pid)
        i = (i + 1) & table->mask;
    return pid_table_slot(table, i);
}

struct pid_entry *pid_table_find(const struct pid_table *table, uint32_t pid)
{
    struct pid_entry *entry = position_of(table, pid);
    return entry->pid != 0 ? entry : NULL;
}

struct pid_entry *pid_table_add(struct pid_table *table, uint32_t pid)
{
    struct pid_entry *entry = position_of(table, pid);
    entry->pid = pid;
    table->n++;
    return entry;
}

/* Closes the gap, so that no probe sequence is cut. */
static void close_gap(struct pid_table *table, size_t hole)
{
    size_t mask = table->mask;
    for (size_t i = (hole + 1) & mask; pid_table_slot(table, i)->pid != 0; i = (i + 1) & mask) {
        size_t home = home_of(table, pid_table_slot(table, i)->pid);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        memcpy(pid_table_slot(table, hole), pid_table_slot(table, i), table->size);
        memset(pid_table_slot(table, i), 0, table->size);
        hole = i;
    }
}

void pid_table_remove(struct pid_table *table, struct pid_entry *entry)
{
    size_t hole = (size_t)((unsigned char *)entry - table->at) / table->size;
    release_entry(table, entry);
    table->dead -= entry->died_ns != 0;
    memset(entry, 0, table->size);
    table->n--;
    close_gap(table, hole);
}

void pid_table_on_exit(struct pid_table *table, struct pid_entry *entry, uint32_t tid,
                       uint64_t time_ns)
{
    entry->headless |= tid == entry->pid;
    if (!entry->headless)
        return;
    if (entry->died_ns == 0 && table->dead++ == 0)
        table->first_death_ns = time_ns;
    entry->died_ns = time_ns;
}

static void revive(struct pid_table *table, struct pid_entry *entry)
{
    table->dead -= entry->died_ns != 0;
    entry->died_ns = 0;
}

void pid_table_on_run(struct pid_table *table, struct pid_entry *entry, uint64_t time_ns)
{
    if (entry->died_ns < time_ns)
        revive(table, entry);
}

void pid_table_on_life(struct pid_table *table, struct pid_entry *entry)
{
    revive(table, entry);
    entry->headless = false;
}

void pid_table_settle(struct pid_table *table, uint64_t time_ns)
{
    if (table->dead == 0 || table->first_death_ns + keep_dead_ns >= time_ns)
        return;
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < pid_table_slots(table);) {
        struct pid_entry *entry = pid_table_slot(table, i);
        if (entry->pid != 0 && entry->died_ns != 0 && entry->died_ns + keep_dead_ns < time_ns) {
            pid_table_remove(table, entry); /* and look at the slot again */
            continue;
        }
        if (entry->died_ns != 0 && entry->died_ns < first)
            first = entry->died_ns;
        i++;
    }
    table->first_death_ns = first;
}

struct process_table {
    struct pid_table pids;
    size_t max;
    size_t hand; /* where the search for one that is not used goes on */
    uint32_t last_space;
};

int process_table_new(size_t max, struct process_table **out)
{
    if (max == 0 || max > 1u << 22)
        return -EINVAL;
    struct process_table *table = calloc(1, sizeof *table);
    if (!table)
        return -ENOMEM;
    table->max = max;
    if (pid_table_init(&table->pids, max, sizeof(struct known_process)) != 0) {
        free(table);
        return -ENOMEM;
    }
    *out = table;
    return 0;
}

void process_table_free(struct process_table *table)
{
    if (!table)
        return;
    pid_table_release(&table->pids);
    free(table);
}

/* NULL: a free slot. */
static struct known_process *slot_of(const struct process_table *table, size_t i)
{
    struct pid_entry *entry = pid_table_slot(&table->pids, i);
    return entry->pid != 0 ? (struct known_process *)entry : NULL;
}

struct known_process *process_table_find(struct process_table *table, uint32_t pid)
{
    return (struct known_process *)pid_table_find(&table->pids, pid);
}

/* Each gets a second chance: at the latest in its second round the hand finds one. */
static void make_room(struct process_table *table)
{
    for (;; table->hand = (table->hand + 1) & table->pids.mask) {
        struct known_process *process = slot_of(table, table->hand);
        if (process && !process->used) {
            pid_table_remove(&table->pids, &process->entry);
            return;
        }
        if (process)
            process->used = false;
    }
}

static uint32_t new_space(struct process_table *table)
{
    if (++table->last_space == 0) /* after years; 0 means no space */
        table->last_space = 1;
    return table->last_space;
}

static void begin_anew(struct process_table *table, struct known_process *process)
{
    pid_table_on_life(&table->pids, &process->entry);
    *process =
        (struct known_process){.entry = process->entry, .space = new_space(table), .used = true};
}

struct known_process *process_table_get(struct process_table *table, uint32_t pid, uint64_t time_ns)
{
    if (pid == 0 || pid == UINT32_MAX) /* idle; of another name space, or gone */
        return NULL;
    struct known_process *process = process_table_find(table, pid);
    if (process) {
        pid_table_on_run(&table->pids, &process->entry, time_ns);
        process->used = true;
        return process;
    }
    if (table->pids.n >= table->max)
        make_room(table);
    process = (struct known_process *)pid_table_add(&table->pids, pid);
    begin_anew(table, process);
    return process;
}

static void process_on_fork(struct process_table *table, const struct kernel_record *record)
{
    const struct known_process *parent = process_table_find(table, record->fork.parent_pid);
    struct known_process *child = process_table_find(table, record->pid);
    if (record->pid != record->tid)
        return; /* a thread */
    uint64_t cgroup_id = parent ? parent->cgroup_id : 0;
    uint64_t looked_ns = cgroup_id != 0 && parent->looked_ns != 0 ? record->time_ns : 0;
    uint8_t width = parent ? parent->width : WIDTH_UNKNOWN;
    if (!child && !parent)
        return;
    child = process_table_get(table, record->pid, record->time_ns);
    if (!child)
        return;
    begin_anew(table, child);
    child->cgroup_id = cgroup_id;
    child->looked_ns = looked_ns;
    child->width = width;
}

static void process_on_exit(struct process_table *table, const struct kernel_record *record)
{
    struct known_process *process = process_table_find(table, record->pid);
    if (process)
        pid_table_on_exit(&table->pids, &process->entry, record->tid, record->time_ns);
}

static void forget_program(struct process_table *table, struct known_process *process)
{
    process->space = new_space(table);
    process->width = WIDTH_UNKNOWN;
    process->looked_ns = 0;
}

static void process_on_exec(struct process_table *table, const struct kernel_record *record)
{
    struct known_process *process = process_table_find(table, record->pid);
    if (!process)
        return;
    forget_program(table, process);
    /* If it died: another thread ran it, and took the number of the first, which ended for that. */
    pid_table_on_life(&table->pids, &process->entry);
}

static void process_on_mmap(struct process_table *table, const struct kernel_record *record)
{
    struct known_process *process =
        record->mmap.executable ? process_table_find(table, record->pid) : NULL;
    if (process)
        process->space = new_space(table);
}

void process_table_apply(struct process_table *table, const struct kernel_record *record)
{
    switch (record->kind) {
    case KERNEL_RECORD_FORK:
        process_on_fork(table, record);
        break;
    case KERNEL_RECORD_EXIT:
        process_on_exit(table, record);
        break;
    case KERNEL_RECORD_EXEC:
        process_on_exec(table, record);
        break;
    case KERNEL_RECORD_MMAP:
        process_on_mmap(table, record);
        break;
    default:
        break;
    }
}

void process_table_lost(struct process_table *table)
{
    for (size_t i = 0; i < pid_table_slots(&table->pids); i++)
        if (slot_of(table, i))
            forget_program(table, slot_of(table, i));
}

void process_table_settle(struct process_table *table, uint64_t time_ns)
{
    pid_table_settle(&table->pids, time_ns);
}

size_t process_table_count(const struct process_table *table)
{
    return table->pids.n;
}

size_t process_table_bytes(const struct process_table *table)
{
    return pid_table_slots(&table->pids) * sizeof(struct known_process);
}

enum { DOUBLINGS = 6 };
static const uint64_t first_ns = 10000000000, forgiven_ns = 3600000000000;

static size_t index_of(const struct refusals *refusals, uint64_t owner)
{
    size_t i = 0;
    while (i < refusals->n && refusals->at[i].owner != owner)
        i++;
    return i;
}

bool refusals_has(const struct refusals *refusals, uint64_t owner, uint64_t now_ns)
{
    size_t i = index_of(refusals, owner);
    return i < refusals->n && now_ns < refusals->at[i].until_ns;
}

void refusals_add(struct refusals *refusals, uint64_t owner, uint64_t now_ns)
{
    size_t i = index_of(refusals, owner);
    if (i == refusals->n) {
        i = refusals->next;
        refusals->next = (i + 1) % REFUSALS_MAX;
        if (refusals->n < REFUSALS_MAX)
            refusals->n++;
        refusals->at[i].owner = owner;
        refusals->at[i].until_ns = now_ns;
        refusals->at[i].times = 0;
    }
    /* A machine without time for it may be the cause, now and then. */
    if (now_ns >= refusals->at[i].until_ns + forgiven_ns)
        refusals->at[i].times = 0;
    unsigned times = refusals->at[i].times;
    refusals->at[i].until_ns = now_ns + (first_ns << (times < DOUBLINGS ? times : DOUBLINGS));
    refusals->at[i].times = times + 1;
}

size_t refusals_count(const struct refusals *refusals, uint64_t now_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < refusals->n; i++)
        n += now_ns < refusals->at[i].until_ns;
    return n;
}
