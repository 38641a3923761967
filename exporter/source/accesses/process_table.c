#include "exporter/source/accesses/process_table.h"

#include <errno.h>
#include <stdlib.h>

#include "exporter/base/hash.h"

/* The dead stay so long: their last samples may still be waiting. */
static const uint64_t grave_ns = 1000000000;

struct process_table {
    size_t mask, max, n;
    struct known_process *at; /* open addressing, at most half full */
    size_t hand;              /* where the search for one that is not used goes on */
    uint32_t last_space;
    size_t dead;
    uint64_t first_death_ns; /* where there are dead */
};

int process_table_new(size_t max, struct process_table **out)
{
    if (max == 0 || max > 1u << 22)
        return -EINVAL;
    size_t cap = 16;
    while (cap < max * 2)
        cap *= 2;
    struct process_table *table = calloc(1, sizeof *table);
    struct known_process *at = calloc(cap, sizeof *at);
    if (!table || !at) {
        free(table);
        free(at);
        return -ENOMEM;
    }
    *table = (struct process_table){.mask = cap - 1, .max = max, .at = at};
    *out = table;
    return 0;
}

void process_table_free(struct process_table *table)
{
    if (!table)
        return;
    free(table->at);
    free(table);
}

static size_t home_of(const struct process_table *table, uint32_t pid)
{
    return (size_t)(hash_u64(pid) >> 32) & table->mask;
}

struct known_process *process_table_find(struct process_table *table, uint32_t pid)
{
    for (size_t i = home_of(table, pid); table->at[i].pid != 0; i = (i + 1) & table->mask)
        if (table->at[i].pid == pid)
            return &table->at[i];
    return NULL;
}

/* Closes the gap, so that no probe sequence is cut. */
static void forget(struct process_table *table, size_t hole)
{
    size_t mask = table->mask;
    table->dead -= table->at[hole].died_ns != 0;
    table->at[hole] = (struct known_process){0};
    table->n--;
    for (size_t i = (hole + 1) & mask; table->at[i].pid != 0; i = (i + 1) & mask) {
        size_t home = home_of(table, table->at[i].pid);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        table->at[hole] = table->at[i];
        table->at[i] = (struct known_process){0};
        hole = i;
    }
}

/* Each gets a second chance: at the latest in its second round the hand finds one. */
static void make_room(struct process_table *table)
{
    for (;; table->hand = (table->hand + 1) & table->mask) {
        struct known_process *process = &table->at[table->hand];
        if (process->pid == 0)
            continue;
        if (!process->used) {
            forget(table, table->hand);
            return;
        }
        process->used = false;
    }
}

static uint32_t new_space(struct process_table *table)
{
    if (++table->last_space == 0) /* after years; 0 is nobody's */
        table->last_space = 1;
    return table->last_space;
}

static void begin_anew(struct process_table *table, struct known_process *process)
{
    table->dead -= process->died_ns != 0;
    *process = (struct known_process){.pid = process->pid, .space = new_space(table), .used = true};
}

struct known_process *process_table_get(struct process_table *table, uint32_t pid)
{
    if (pid == 0 || pid == UINT32_MAX) /* idle; of another name space, or gone */
        return NULL;
    struct known_process *process = process_table_find(table, pid);
    if (process) {
        process->used = true;
        return process;
    }
    if (table->n >= table->max)
        make_room(table);
    size_t i = home_of(table, pid);
    while (table->at[i].pid != 0)
        i = (i + 1) & table->mask;
    table->at[i].pid = pid;
    table->n++;
    begin_anew(table, &table->at[i]);
    return &table->at[i];
}

static void bear(struct process_table *table, const struct kernel_record *record)
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
    child = process_table_get(table, record->pid);
    if (!child)
        return;
    begin_anew(table, child);
    child->cgroup_id = cgroup_id;
    child->looked_ns = looked_ns;
    child->width = width;
}

static void bury(struct process_table *table, const struct kernel_record *record)
{
    struct known_process *process = process_table_find(table, record->pid);
    if (!process || record->pid != record->tid || process->died_ns != 0)
        return;
    process->died_ns = record->time_ns;
    if (table->dead++ == 0)
        table->first_death_ns = record->time_ns;
}

static void run_another(struct process_table *table, struct known_process *process)
{
    process->space = new_space(table);
    process->width = WIDTH_UNKNOWN;
    process->looked_ns = 0;
}

void process_table_apply(struct process_table *table, const struct kernel_record *record)
{
    struct known_process *process;
    switch (record->kind) {
    case KERNEL_RECORD_FORK:
        bear(table, record);
        break;
    case KERNEL_RECORD_EXIT:
        bury(table, record);
        break;
    case KERNEL_RECORD_EXEC:
        process = process_table_find(table, record->pid);
        if (process)
            run_another(table, process);
        if (process && process->died_ns != 0) {
            /* Another thread ran it, and took the number of the first, which ended for that. */
            process->died_ns = 0;
            table->dead--;
        }
        break;
    case KERNEL_RECORD_MMAP:
        process = record->mmap.executable ? process_table_find(table, record->pid) : NULL;
        if (process)
            process->space = new_space(table);
        break;
    default:
        break;
    }
}

void process_table_lost(struct process_table *table)
{
    for (size_t i = 0; i <= table->mask; i++)
        if (table->at[i].pid != 0)
            run_another(table, &table->at[i]);
}

void process_table_settle(struct process_table *table, uint64_t time_ns)
{
    if (table->dead == 0 || table->first_death_ns + grave_ns >= time_ns)
        return;
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i <= table->mask;) {
        const struct known_process *process = &table->at[i];
        if (process->pid != 0 && process->died_ns != 0 && process->died_ns + grave_ns < time_ns) {
            forget(table, i); /* and look at the place again */
            continue;
        }
        if (process->died_ns != 0 && process->died_ns < first)
            first = process->died_ns;
        i++;
    }
    table->first_death_ns = first;
}

size_t process_table_count(const struct process_table *table)
{
    return table->n;
}

size_t process_table_bytes(const struct process_table *table)
{
    return (table->mask + 1) * sizeof *table->at;
}
