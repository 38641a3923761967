#include "exporter/governor/decide/policies/culprits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"

/* What may choose, the last of them first. */
enum sign { SIGN_READS, SIGN_LATENCY, SIGN_WAIT, SIGNS };

static const enum chosen_by chosen_by[SIGNS] = {
    [SIGN_READS] = CHOSEN_BY_READS,
    [SIGN_LATENCY] = CHOSEN_BY_LATENCY,
    [SIGN_WAIT] = CHOSEN_BY_WAIT,
};
static const double holds_seconds[SIGNS] = {[SIGN_LATENCY] = 10, [SIGN_WAIT] = 10};

/* A container of the view, at the same place. */
struct entry {
    uint64_t key;
    bool own;
    double counted[SIGNS]; /* NaN: not known */
    double grown[SIGNS];   /* in the last window; 0 where it is not known */
    double share[SIGNS];   /* of what was done, in the last window that had an answer */
};

struct culprits {
    double share, now;
    struct entry *entries, *before; /* VIEW_CONTAINERS_MAX; of this window, and of the last one */
    size_t n, n_before;
    double answered[SIGNS]; /* when */
};

int culprits_new(double share, struct culprits **out)
{
    struct culprits *culprits = calloc(1, sizeof *culprits);
    if (!culprits)
        return -ENOMEM;
    culprits->share = share;
    culprits->entries = calloc(VIEW_CONTAINERS_MAX, sizeof *culprits->entries);
    culprits->before = calloc(VIEW_CONTAINERS_MAX, sizeof *culprits->before);
    if (!culprits->entries || !culprits->before) {
        culprits_free(culprits);
        return -ENOMEM;
    }
    for (int sign = 0; sign < SIGNS; sign++)
        culprits->answered[sign] = -INFINITY;
    *out = culprits;
    return 0;
}

void culprits_free(struct culprits *culprits)
{
    if (!culprits)
        return;
    free(culprits->entries);
    free(culprits->before);
    free(culprits);
}

void culprits_inherit(struct culprits *culprits, struct culprits *before)
{
    struct culprits empty = *culprits;
    double share = culprits->share;
    *culprits = *before;
    culprits->share = share;
    *before = empty;
}

/* ---- a window ---- */

/* A path may be reused, and then the inode is another. */
static uint64_t key_of(const struct view_container *container)
{
    uint64_t key = hash_bytes(HASH_START, container->path, strlen(container->path));
    return hash_bytes(key, &container->cgroup_id, sizeof container->cgroup_id);
}

/* Containers mostly come in the order of the last window: it is looked for behind the last one that
 * was found. NULL: it is new. */
static const struct entry *find_before(const struct culprits *culprits, uint64_t key,
                                       size_t *behind)
{
    for (size_t i = 0; i < culprits->n_before; i++) {
        size_t at = (*behind + i) % culprits->n_before;
        if (culprits->before[at].key != key)
            continue;
        *behind = at + 1;
        return &culprits->before[at];
    }
    return NULL;
}

static void read_entry(struct entry *entry, const struct view_container *container,
                       const struct entry *before)
{
    const double counted[SIGNS] = {[SIGN_READS] = container->memory_reads,
                                   [SIGN_LATENCY] = container->caused_latency_seconds,
                                   [SIGN_WAIT] = container->caused_wait_seconds};
    for (int sign = 0; sign < SIGNS; sign++) {
        double grown = view_grown(before ? before->counted[sign] : NAN, counted[sign]);
        entry->counted[sign] = counted[sign];
        entry->grown[sign] = isnan(grown) ? 0 : grown;
        entry->share[sign] = before ? before->share[sign] : 0;
    }
}

/* Keeps the last answer where there is no new one. */
static void answer(struct culprits *culprits, enum sign sign)
{
    double all = 0;
    for (size_t i = 0; i < culprits->n; i++)
        if (sign == SIGN_WAIT || culprits->entries[i].own)
            all += culprits->entries[i].grown[sign];
    if (!(all > 0))
        return;
    culprits->answered[sign] = culprits->now;
    for (size_t i = 0; i < culprits->n; i++)
        culprits->entries[i].share[sign] = culprits->entries[i].grown[sign] / all;
}

void culprits_window(struct culprits *culprits, const struct policy_tick *tick, enum knob knob,
                     enum policy_kind policy)
{
    struct entry *last = culprits->entries;
    size_t behind = 0;
    culprits->entries = culprits->before;
    culprits->before = last;
    culprits->n_before = culprits->n;
    culprits->n = tick->n;
    culprits->now = tick->now;
    for (size_t i = 0; i < tick->n; i++) {
        const struct governed *governed = &tick->governed[i];
        const struct holding *holding = governed->holdings[knob];
        struct entry *entry = &culprits->entries[i];
        entry->key = key_of(governed->container);
        entry->own = holding && holding->policy == policy;
        read_entry(entry, governed->container, find_before(culprits, entry->key, &behind));
    }
    for (int sign = 0; sign < SIGNS; sign++)
        answer(culprits, (enum sign)sign);
}

/* ---- who ---- */

/* SIGNS: none has an answer. */
static enum sign chooser(const struct culprits *culprits)
{
    for (int sign = SIGNS; sign-- > 0;)
        if (culprits->now - culprits->answered[sign] <= holds_seconds[sign])
            return (enum sign)sign;
    return SIGNS;
}

enum chosen_by culprits_chosen_by(const struct culprits *culprits)
{
    enum sign sign = chooser(culprits);
    if (culprits->share == 0)
        return CHOSEN_BY_ALL;
    return sign == SIGNS ? CHOSEN_BY_NOTHING : chosen_by[sign];
}

bool culprits_include(const struct culprits *culprits, size_t i)
{
    enum sign sign = chooser(culprits);
    if (culprits->share == 0)
        return true;
    return sign != SIGNS && culprits->entries[i].share[sign] >= culprits->share;
}
