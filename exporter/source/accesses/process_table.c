#include "exporter/source/accesses/process_table.h"

#include <errno.h>
#include <stdlib.h>

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
