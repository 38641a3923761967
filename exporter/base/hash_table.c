#include "exporter/base/hash_table.h"

#include <errno.h>
#include <stdlib.h>

void hash_table_release(struct hash_table *table)
{
    free(table->slots);
    *table = (struct hash_table){0};
}

int hash_table_reserve(struct hash_table *table, size_t n)
{
    struct hash_table larger = {.cap = table->cap ? table->cap : 16};
    if (n <= table->cap / 4 * 3)
        return 0;
    while (n > larger.cap / 4 * 3)
        larger.cap *= 2;
    larger.slots = calloc(larger.cap, sizeof *larger.slots);
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < table->cap; i++)
        if (table->slots[i].value)
            hash_table_insert(&larger, table->slots[i].hash, table->slots[i].value);
    free(table->slots);
    *table = larger;
    return 0;
}

void hash_table_insert(struct hash_table *table, uint64_t hash, void *value)
{
    size_t mask = table->cap - 1, i = hash & mask;
    while (table->slots[i].value)
        i = (i + 1) & mask;
    table->slots[i] = (struct hash_slot){hash, value};
    table->n++;
}

void *hash_table_next(const struct hash_table *table, uint64_t hash, size_t *at)
{
    if (table->n == 0)
        return NULL;
    for (;;) {
        const struct hash_slot *slot = &table->slots[(hash + (*at)++) & (table->cap - 1)];
        if (!slot->value || slot->hash == hash)
            return slot->value;
    }
}

/* Later members of the probe sequence move up, so that no search ends too early. */
void hash_table_remove(struct hash_table *table, uint64_t hash, const void *value)
{
    if (table->n == 0)
        return;
    size_t mask = table->cap - 1, hole = hash & mask;
    while (table->slots[hole].value != value) {
        if (!table->slots[hole].value)
            return;
        hole = (hole + 1) & mask;
    }
    for (size_t i = (hole + 1) & mask; table->slots[i].value; i = (i + 1) & mask) {
        if (((i - table->slots[i].hash) & mask) < ((i - hole) & mask))
            continue;
        table->slots[hole] = table->slots[i];
        hole = i;
    }
    table->slots[hole] = (struct hash_slot){0};
    table->n--;
}
