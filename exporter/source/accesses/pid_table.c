#include "exporter/source/accesses/pid_table.h"

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
static struct pid_entry *place_of(const struct pid_table *table, uint32_t pid)
{
    size_t i = home_of(table, pid);
    while (pid_table_slot(table, i)->pid != 0 && pid_table_slot(table, i)->pid != pid)
        i = (i + 1) & table->mask;
    return pid_table_slot(table, i);
}

struct pid_entry *pid_table_find(const struct pid_table *table, uint32_t pid)
{
    struct pid_entry *entry = place_of(table, pid);
    return entry->pid != 0 ? entry : NULL;
}

struct pid_entry *pid_table_add(struct pid_table *table, uint32_t pid)
{
    struct pid_entry *entry = place_of(table, pid);
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
