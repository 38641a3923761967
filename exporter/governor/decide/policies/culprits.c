#include "exporter/governor/decide/policies/culprits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What may choose, the last of them first. */
enum sign { SIGN_READS, SIGN_LATENCY, SIGN_WAIT, SIGNS };

static const enum chosen_by chosen_by[SIGNS] = {
    [SIGN_READS] = CHOSEN_BY_READS,
    [SIGN_LATENCY] = CHOSEN_BY_LATENCY,
    [SIGN_WAIT] = CHOSEN_BY_WAIT,
};
static const double holds_seconds[SIGNS] = {[SIGN_LATENCY] = 10, [SIGN_WAIT] = 10};
static const double harm_seconds = 600;                      /* by then a harm counts 1/e */
static const double active_seconds = 10, active_part = 0.01; /* of the harm of a window */
static const double own_part = 0.1; /* of all that wait: less is not worth a cut */

enum { OWNERS_MAX = 2 * CLAIMS_MAX };

/* A container of the view, at the same index. */
struct entry {
    uint64_t key, owner;
    bool own;
    double counted[SIGNS]; /* NaN: not known */
    double grown[SIGNS];   /* in the last window; 0 where it is not known */
    size_t at;             /* its owner in the list; OWNERS_MAX: of others */
};

/* It keeps its index as long as it is remembered; harm is the policy's own containers'. */
struct owner {
    uint64_t key;
    double seen; /* when */
    double harm[SIGNS];
    double grown[SIGNS];  /* in the last window ... */
    double active[SIGNS]; /* ... and when it did its part last */
    bool left_out, chosen, held;
};

struct culprits {
    double share, sure, now;
    struct entry *entries, *before; /* VIEW_CONTAINERS_MAX; of this window, and of the last one */
    size_t n, n_before;
    struct owner *owners; /* OWNERS_MAX, of which so many are or were somebody's */
    size_t n_owners;
    size_t *ranked;         /* OWNERS_MAX; those that do harm, the greatest first */
    double answered[SIGNS]; /* when */
    double everybody;       /* waits, of all containers */
    enum sign chooser;      /* SIGNS: none */
    enum sign chose;        /* the chooser, or one below it */
};

int culprits_new(double share, double sure, struct culprits **out)
{
    struct culprits *culprits = calloc(1, sizeof *culprits);
    if (!culprits)
        return -ENOMEM;
    culprits->share = share;
    culprits->sure = sure;
    culprits->chooser = culprits->chose = SIGNS;
    culprits->entries = calloc(VIEW_CONTAINERS_MAX, sizeof *culprits->entries);
    culprits->before = calloc(VIEW_CONTAINERS_MAX, sizeof *culprits->before);
    culprits->owners = calloc(OWNERS_MAX, sizeof *culprits->owners);
    culprits->ranked = calloc(OWNERS_MAX, sizeof *culprits->ranked);
    if (!culprits->entries || !culprits->before || !culprits->owners || !culprits->ranked) {
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
    free(culprits->owners);
    free(culprits->ranked);
    free(culprits);
}

void culprits_inherit(struct culprits *culprits, struct culprits *before)
{
    struct culprits empty = *culprits;
    double share = culprits->share, sure = culprits->sure;
    *culprits = *before;
    culprits->share = share;
    culprits->sure = sure;
    *before = empty;
}

/* ---- containers and owners ---- */

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

/* Where all are taken, who was not seen for the longest time is forgotten. */
static size_t index_of(struct culprits *culprits, uint64_t key)
{
    size_t at = 0;
    for (size_t i = 0; i < culprits->n_owners; i++) {
        if (culprits->owners[i].key == key)
            return i;
        if (culprits->owners[i].seen < culprits->owners[at].seen)
            at = i;
    }
    if (culprits->n_owners < OWNERS_MAX)
        at = culprits->n_owners++;
    culprits->owners[at] = (struct owner){.key = key};
    for (int sign = 0; sign < SIGNS; sign++)
        culprits->owners[at].active[sign] = -INFINITY;
    return at;
}

static void read_entry(struct culprits *culprits, struct entry *entry,
                       const struct governed *governed, bool held, const struct entry *before)
{
    const struct view_container *container = governed->container;
    const double counted[SIGNS] = {[SIGN_READS] = container->memory_reads,
                                   [SIGN_LATENCY] = container->caused_latency_seconds,
                                   [SIGN_WAIT] = container->caused_wait_seconds};
    for (int sign = 0; sign < SIGNS; sign++) {
        double grown = view_grown(before ? before->counted[sign] : NAN, counted[sign]);
        entry->counted[sign] = counted[sign];
        entry->grown[sign] = isnan(grown) ? 0 : grown;
    }
    /* It keeps its name for longer than that. */
    if (container->probability < culprits->sure && !governed->confirmed)
        entry->grown[SIGN_LATENCY] = 0;
    entry->owner = before ? before->owner : view_owner(container);
    if (!entry->own)
        entry->at = OWNERS_MAX;
    else if (before && before->at < OWNERS_MAX && culprits->owners[before->at].key == entry->owner)
        entry->at = before->at;
    else
        entry->at = index_of(culprits, entry->owner);
    if (!entry->own)
        return;
    struct owner *owner = &culprits->owners[entry->at];
    owner->held = (owner->seen == culprits->now && owner->held) || held;
    owner->seen = culprits->now;
}

/* ---- a window ---- */

static void forget(struct culprits *culprits, double seconds)
{
    double keep = exp(-fmax(seconds, 0) / harm_seconds);
    culprits->everybody *= keep;
    for (size_t i = 0; i < culprits->n_owners; i++)
        for (int sign = 0; sign < SIGNS; sign++) {
            culprits->owners[i].harm[sign] *= keep;
            culprits->owners[i].grown[sign] = 0;
        }
}

static void add_up(struct culprits *culprits)
{
    double all[SIGNS] = {0};
    for (size_t i = 0; i < culprits->n; i++) {
        const struct entry *entry = &culprits->entries[i];
        culprits->everybody += entry->grown[SIGN_WAIT];
        if (entry->grown[SIGN_WAIT] > 0)
            culprits->answered[SIGN_WAIT] = culprits->now;
        for (int sign = 0; sign < SIGNS && entry->own; sign++) {
            culprits->owners[entry->at].grown[sign] += entry->grown[sign];
            all[sign] += entry->grown[sign];
        }
    }
    for (int sign = 0; sign < SIGNS; sign++)
        if (all[sign] > 0)
            culprits->answered[sign] = culprits->now;
    for (size_t i = 0; i < culprits->n_owners; i++)
        for (int sign = 0; sign < SIGNS; sign++) {
            struct owner *owner = &culprits->owners[i];
            owner->harm[sign] += owner->grown[sign];
            if (owner->grown[sign] > active_part * all[sign])
                owner->active[sign] = culprits->now;
        }
}

/* SIGNS: none has an answer. */
static enum sign find_chooser(const struct culprits *culprits)
{
    for (int sign = SIGNS; sign-- > 0;)
        if (culprits->now - culprits->answered[sign] <= holds_seconds[sign])
            return (enum sign)sign;
    return SIGNS;
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
    forget(culprits, tick->now - culprits->now);
    culprits->now = tick->now;
    for (size_t i = 0; i < tick->n; i++) {
        const struct governed *governed = &tick->governed[i];
        const struct holding *holding = governed->holdings[knob];
        struct entry *entry = &culprits->entries[i];
        entry->key = view_key(governed->container);
        entry->own = holding && holding->policy == policy;
        read_entry(culprits, entry, governed, holding && holding->claim.id,
                   find_before(culprits, entry->key, &behind));
    }
    add_up(culprits);
    culprits->chooser = find_chooser(culprits);
    culprits_choose(culprits, NULL, NULL);
}

/* ---- who ---- */

static void rank(const struct culprits *culprits, enum sign sign, size_t *ranked, size_t n,
                 size_t at)
{
    double harm = culprits->owners[at].harm[sign];
    for (; n > 0 && culprits->owners[ranked[n - 1]].harm[sign] < harm; n--)
        ranked[n] = ranked[n - 1];
    ranked[n] = at;
}

/* In the last window that had an answer; who is held, and does little meanwhile, for longer. */
static bool was_active(const struct culprits *culprits, const struct owner *owner, enum sign sign)
{
    double quiet = culprits->answered[sign] - owner->active[sign];
    return quiet <= (owner->held ? active_seconds : 0);
}

/* Whether anybody was. */
static bool choose_by(struct culprits *culprits, enum sign sign)
{
    double all = 0, sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < culprits->n_owners; i++) {
        const struct owner *owner = &culprits->owners[i];
        if (owner->left_out || owner->seen != culprits->now || !(owner->harm[sign] > 0) ||
            !was_active(culprits, owner, sign))
            continue;
        rank(culprits, sign, culprits->ranked, n++, i);
        all += owner->harm[sign];
    }
    if (sign == SIGN_WAIT && all < own_part * culprits->everybody)
        return true; /* it is known who, and it is none of these */
    for (size_t i = 0; i < n && sum < culprits->share * all; i++) {
        struct owner *owner = &culprits->owners[culprits->ranked[i]];
        owner->chosen = true;
        sum += owner->harm[sign];
    }
    return n > 0;
}

void culprits_choose(struct culprits *culprits, bool (*leave_out)(void *context, uint64_t owner),
                     void *context)
{
    for (size_t i = 0; i < culprits->n_owners; i++) {
        struct owner *owner = &culprits->owners[i];
        owner->chosen = false;
        owner->left_out = leave_out && leave_out(context, owner->key);
    }
    culprits->chose = culprits->chooser;
    /* Nobody whom that names is left: others may be. */
    while (culprits->chose != SIGNS && !choose_by(culprits, culprits->chose))
        culprits->chose = culprits->chose == 0 ? SIGNS : (enum sign)(culprits->chose - 1);
}

enum chosen_by culprits_chosen_by(const struct culprits *culprits)
{
    if (culprits->share == 0)
        return CHOSEN_BY_ALL;
    return culprits->chose == SIGNS ? CHOSEN_BY_NOTHING : chosen_by[culprits->chose];
}

bool culprits_include(const struct culprits *culprits, size_t i)
{
    const struct entry *entry = &culprits->entries[i];
    if (!entry->own)
        return false;
    const struct owner *owner = &culprits->owners[entry->at];
    return culprits->share == 0 ? !owner->left_out : owner->chosen;
}

uint64_t culprits_owner(const struct culprits *culprits, size_t i)
{
    return culprits->entries[i].owner;
}
