#include "exporter/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "exporter/base/array.h"
#include "exporter/store/internal.h"

int store_new(struct store **out)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    int err = snapshot_pool_init(&store->pool);
    if (err) {
        free(store);
        return err;
    }
    /* Keeps users, who choose pods' names, from choosing collisions too; nothing else depends on
     * it, so a kernel without entropy yet does no harm. */
    if (getrandom(&store->seed, sizeof store->seed, GRND_NONBLOCK) < 0)
        store->seed = (uint64_t)(uintptr_t)store;
    *out = store;
    return 0;
}

static void family_free(struct family *family)
{
    for (struct chunk *chunk = family->first, *next; chunk; chunk = next) {
        next = chunk->next;
        for (size_t i = 0; i < chunk->n; i++) {
            labelset_unref(chunk->identities[i].common);
            free(chunk->identities[i].own);
            if (chunk->type == METRIC_HISTOGRAM)
                free(chunk->values[i].histogram);
        }
        free(chunk);
    }
    free(family);
}

void store_free(struct store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->n_families; i++)
        family_free(store->families[i]);
    free(store->families);
    snapshot_pool_release(&store->pool);
    hash_table_release(&store->index);
    free(store);
}

/* Whether two families could make samples of one name. */
static bool names_clash(const struct metric_desc *a, const struct metric_desc *b)
{
    const char *ends[METRIC_SUFFIXES], *other_ends[METRIC_SUFFIXES];
    size_t n = metric_suffixes(a->type, ends), m = metric_suffixes(b->type, other_ends);
    size_t len = strlen(a->name), other_len = strlen(b->name);
    size_t shared = len < other_len ? len : other_len;
    if (memcmp(a->name, b->name, shared) != 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            /* One name continues where the other's suffix begins. */
            const char *rest = len > other_len ? a->name + shared : b->name + shared;
            const char *longer = len > other_len ? ends[i] : other_ends[j];
            const char *shorter = len > other_len ? other_ends[j] : ends[i];
            size_t rest_len = strlen(rest);
            if (strncmp(shorter, rest, rest_len) == 0 && strcmp(shorter + rest_len, longer) == 0)
                return true;
        }
    }
    return false;
}

int store_family(struct store *store, const struct metric_desc *desc, const char *owner,
                 struct family **out)
{
    if (!metric_valid(desc))
        return -EINVAL;
    for (size_t i = 0; i < store->n_families; i++)
        if (names_clash(store->families[i]->desc, desc))
            return -EEXIST;
    if (array_reserve(&store->families, &store->families_cap, store->n_families + 1,
                      sizeof *store->families))
        return -ENOMEM;
    struct family *family = calloc(1, sizeof *family);
    if (!family)
        return -ENOMEM;
    *family = (struct family){.store = store,
                              .desc = desc,
                              .owner = owner,
                              .salt = labels_mix(store->seed, store->n_families + 1),
                              .next_chunk = 2};
    store->families[store->n_families++] = family;
    *out = family;
    return 0;
}
