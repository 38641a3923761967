/*
 * From (key, tag) to a pointer: open scopes of a source set, groups of a recording.
 *
 * Keys are borrowed: the caller keeps the text alive and unchanged until the key is removed. One
 * thread at a time.
 */
#ifndef IE_SOURCE_KEYMAP_H
#define IE_SOURCE_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

struct keymap_slot {
    const char *key; /* NULL: free */
    void *value;
    uint64_t hash;
    uint32_t tag;
};

/* All zero is an empty map. */
struct keymap {
    struct keymap_slot *slots;
    size_t cap; /* a power of two, or 0 */
    size_t n;
};

void keymap_release(struct keymap *map);

/* NULL when absent. */
void *keymap_get(const struct keymap *map, const char *key, uint32_t tag);
/* Adds a pair that must not be there yet. 0 or -ENOMEM. */
int keymap_put(struct keymap *map, const char *key, uint32_t tag, void *value);
/* Nothing happens when absent. */
void keymap_remove(struct keymap *map, const char *key, uint32_t tag);

#endif
