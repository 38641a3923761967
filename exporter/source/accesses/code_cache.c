#include "exporter/source/accesses/code_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"

/* An entry may stand in any place of its row. */
enum { WAYS = 4 };

struct code_cache {
    size_t mask; /* rows minus one */
    struct code_size *at;
};

int code_cache_new(size_t entries, struct code_cache **out)
{
    if (entries == 0 || entries > 1u << 24)
        return -EINVAL;
    size_t rows = 1;
    while (rows * WAYS < entries)
        rows *= 2;
    struct code_cache *cache = malloc(sizeof *cache);
    struct code_size *at = calloc(rows * WAYS, sizeof *at);
    if (!cache || !at) {
        free(cache);
        free(at);
        return -ENOMEM;
    }
    *cache = (struct code_cache){.mask = rows - 1, .at = at};
    *out = cache;
    return 0;
}

void code_cache_free(struct code_cache *cache)
{
    if (!cache)
        return;
    free(cache->at);
    free(cache);
}

static struct code_size *row_of(const struct code_cache *cache, uint32_t space, uint64_t ip)
{
    uint64_t mixed = hash_u64(ip ^ (uint64_t)space << 40);
    return &cache->at[(size_t)(mixed >> 32 & cache->mask) * WAYS];
}

static bool is(const struct code_size *entry, uint32_t space, uint64_t ip, enum access access)
{
    return entry->ip == ip && entry->space == space && entry->access == access;
}

const struct code_size *code_cache_find(const struct code_cache *cache, uint32_t space, uint64_t ip,
                                        enum access access)
{
    const struct code_size *row = row_of(cache, space, ip);
    for (size_t i = 0; i < WAYS && space != 0; i++)
        if (is(&row[i], space, ip, access))
            return &row[i];
    return NULL;
}

/* Replaces an older reading of it, otherwise the one that was read the longest ago. */
void code_cache_put(struct code_cache *cache, const struct code_size *entry)
{
    struct code_size *row = row_of(cache, entry->space, entry->ip), *place = &row[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (is(&row[i], entry->space, entry->ip, (enum access)entry->access)) {
            place = &row[i];
            break;
        }
        if (row[i].read_ns < place->read_ns)
            place = &row[i];
    }
    *place = *entry;
}

size_t code_cache_bytes(const struct code_cache *cache)
{
    return (cache->mask + 1) * WAYS * sizeof *cache->at;
}
