/*
 * Pointers by a hash of what they point to: open addressing, linear probing, at most three quarters
 * full. The owner decides what is equal, by looking at all that have the same hash.
 *
 * The pointers are the owner's. One thread at a time.
 */
#ifndef IE_BASE_HASH_TABLE_H
#define IE_BASE_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct hash_slot {
    uint64_t hash;
    void *value; /* NULL: free */
};

/* All zero is an empty table. */
struct hash_table {
    struct hash_slot *slots;
    size_t cap; /* a power of two, or 0 */
    size_t n;
};

void hash_table_release(struct hash_table *table);

/* Room for n in all, so that inserting cannot fail. 0 or -ENOMEM. */
int hash_table_reserve(struct hash_table *table, size_t n);
/* 'value' is not NULL; the low bits of 'hash' are mixed. */
void hash_table_insert(struct hash_table *table, uint64_t hash, void *value);
/* Does nothing when it is not there. */
void hash_table_remove(struct hash_table *table, uint64_t hash, const void *value);

/* The next one with this hash, or NULL; *at is 0 before the first. */
void *hash_table_next(const struct hash_table *table, uint64_t hash, size_t *at);

#endif
