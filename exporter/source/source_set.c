#include "exporter/source/source_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/keymap.h"

/* A handle is a slot number plus one and the slot's generation, so that a handle kept beyond its
 * close finds nothing instead of somebody else's group. */
enum { SLOT_BITS = 20, MAX_SLOTS = (1 << SLOT_BITS) - 1, GENERATIONS = 1 << (32 - SLOT_BITS) };

/* One open group. Allocated once per slot and kept, so that readings do not move. */
struct entry {
    struct source *source;
    uint64_t backend;
    char *key; /* owned; NULL while the slot is free */
    enum scope_kind kind;
    enum group group;
    uint32_t index, generation;
    uint32_t refs;
    uint32_t next_free;
    uint64_t turn; /* of the last read */
    int error;     /* what that read gave */
    unsigned latest;
    struct reading readings[2];
    struct window_sum sum; /* of the window between them */
};

struct backend {
    struct source *source;
    int last_error; /* of begin, so that a lasting failure is logged once */
};

struct source_set {
    const struct log *log;
    struct source *routes[SCOPE_KINDS][GROUP_COUNT];
    struct source *probe_source;
    struct source *sample_source;
    struct backend *backends; /* every routed source, each once */
    size_t n_backends;
    struct entry **entries;
    uint32_t n_entries, cap_entries;
    uint32_t free_slots; /* index + 1 of the first free slot, 0: none */
    struct keymap map;   /* (key, kind and group) -> entry */
    uint64_t turn;       /* counts begins; entries start at 0, which is never current */
    struct probe_reading *probes;
    size_t n_probes, cap_probes;
    struct unit *units;
    size_t n_units;
    struct thread *threads;
    size_t n_threads;
};

static uint32_t map_tag(enum scope_kind kind, enum group group)
{
    return (uint32_t)kind * GROUP_COUNT + (uint32_t)group;
}

struct source_set *source_set_new(const struct log *log)
{
    struct source_set *set = calloc(1, sizeof *set);

    if (!set)
        return NULL;
    set->cap_probes = 64;
    set->probes = calloc(set->cap_probes, sizeof *set->probes);
    if (!set->probes) {
        free(set);
        return NULL;
    }
    set->log = log;
    set->turn = 1;
    return set;
}

static void entry_clear(struct entry *entry)
{
    entry->source->ops->close(entry->source, entry->backend);
    free(entry->key);
    entry->key = NULL;
    for (int i = 0; i < 2; i++) {
        free(entry->readings[i].rows);
        memset(&entry->readings[i], 0, sizeof entry->readings[i]);
    }
}

void source_set_free(struct source_set *set)
{
    if (!set)
        return;
    for (uint32_t i = 0; i < set->n_entries; i++) {
        if (set->entries[i]->key)
            entry_clear(set->entries[i]);
        free(set->entries[i]);
    }
    for (size_t i = 0; i < set->n_backends; i++)
        set->backends[i].source->ops->free(set->backends[i].source);
    keymap_release(&set->map);
    free(set->entries);
    free(set->backends);
    free(set->probes);
    free(set->units);
    free(set->threads);
    free(set);
}

/* ---- routes ---- */

static int adopt(struct source_set *set, struct source *source)
{
    for (size_t i = 0; i < set->n_backends; i++)
        if (set->backends[i].source == source)
            return 0;
    struct backend *grown = realloc(set->backends, (set->n_backends + 1) * sizeof *set->backends);
    if (!grown) {
        source->ops->free(source);
        return -ENOMEM;
    }
    set->backends = grown;
    set->backends[set->n_backends++] = (struct backend){.source = source};
    return 0;
}

int source_set_route(struct source_set *set, enum scope_kind kind, enum group group,
                     struct source *source)
{
    int error = adopt(set, source);

    if (!error)
        set->routes[kind][group] = source;
    return error;
}

int source_set_route_probes(struct source_set *set, struct source *source)
{
    int error = adopt(set, source);

    if (!error)
        set->probe_source = source;
    return error;
}

int source_set_route_samples(struct source_set *set, struct source *source)
{
    int error = adopt(set, source);

    if (!error)
        set->sample_source = source;
    return error;
}

int source_set_add_unit(struct source_set *set, const struct unit *unit)
{
    struct unit *grown = realloc(set->units, (set->n_units + 1) * sizeof *set->units);

    if (!grown)
        return -ENOMEM;
    set->units = grown;
    set->units[set->n_units++] = *unit;
    return 0;
}

int source_set_add_thread(struct source_set *set, const struct thread *thread)
{
    struct thread *grown = realloc(set->threads, (set->n_threads + 1) * sizeof *set->threads);

    if (!grown)
        return -ENOMEM;
    set->threads = grown;
    set->threads[set->n_threads++] = *thread;
    return 0;
}

const struct unit *source_set_units(const struct source_set *set, size_t *n)
{
    *n = set->n_units;
    return set->units;
}

const struct thread *source_set_threads(const struct source_set *set, size_t *n)
{
    *n = set->n_threads;
    return set->threads;
}

static const char *kind_words(enum scope_kind kind)
{
    static const char *const words[SCOPE_KINDS] = {
        [SCOPE_CGROUP] = "containers",
        [SCOPE_THREAD] = "threads",
        [SCOPE_UNIT] = "memory controllers",
        [SCOPE_CPU] = "CPUs",
    };
    return words[kind];
}

static bool counts(const struct source *source)
{
    const struct source_ops *ops = source->ops;
    return ops->check && ops->open && ops->width && ops->read && ops->close;
}

static struct source *route(const struct source_set *set, enum scope_kind kind, enum group group,
                            struct verdict *why)
{
    struct source *source = set->routes[kind][group];

    if (source && counts(source))
        return source;
    verdict_set(why, REASON_NO_DEVICE, "no source here counts the group %s of %s",
                group_descs[group].name, kind_words(kind));
    return NULL;
}

bool source_set_check(struct source_set *set, enum scope_kind kind, enum group group,
                      struct verdict *why)
{
    struct verdict unused;
    if (!why)
        why = &unused;
    memset(why, 0, sizeof *why); /* REASON_OK, for backends that only speak up when they cannot */

    struct source *source = route(set, kind, group, why);
    return source && source->ops->check(source, kind, group, why);
}

/* ---- open and close ---- */

static struct entry *entry_of(const struct source_set *set, group_handle handle)
{
    uint32_t slot = handle & MAX_SLOTS;

    if (slot == 0 || slot > set->n_entries)
        return NULL;
    struct entry *entry = set->entries[slot - 1];
    return entry->key && entry->generation == handle >> SLOT_BITS ? entry : NULL;
}

static group_handle handle_of(const struct entry *entry)
{
    return entry->generation << SLOT_BITS | (entry->index + 1);
}

/* Takes a free slot off the list, or makes one. */
static struct entry *take_slot(struct source_set *set)
{
    if (set->free_slots > 0) {
        struct entry *entry = set->entries[set->free_slots - 1];
        set->free_slots = entry->next_free;
        return entry;
    }
    if (set->n_entries == MAX_SLOTS)
        return NULL;
    if (set->n_entries == set->cap_entries) {
        uint32_t cap = set->cap_entries ? set->cap_entries * 2 : 64;
        struct entry **grown = realloc(set->entries, cap * sizeof *set->entries);
        if (!grown)
            return NULL;
        set->entries = grown;
        set->cap_entries = cap;
    }
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->index = set->n_entries;
    set->entries[set->n_entries++] = entry;
    return entry;
}

static void give_slot_back(struct source_set *set, struct entry *entry)
{
    entry->generation = (entry->generation + 1) % GENERATIONS;
    entry->next_free = set->free_slots;
    set->free_slots = entry->index + 1;
}

/* Room for n rows; what is in it stays. */
static int reading_reserve(struct reading *reading, size_t n)
{
    if (reading->cap >= n)
        return 0;
    void *rows = realloc(reading->rows, n * reading->stride_bytes);
    if (!rows)
        return -ENOMEM;
    reading->rows = rows;
    reading->cap = n;
    return 0;
}

static int reserve_both(struct entry *entry, size_t n)
{
    int error = reading_reserve(&entry->readings[0], n);

    return error ? error : reading_reserve(&entry->readings[1], n);
}

static int no_memory(const struct scope *scope, struct verdict *why)
{
    verdict_set(why, REASON_FD_LIMIT, "out of memory while opening the counters of %s", scope->key);
    return -ENOMEM;
}

static int entry_open(struct source_set *set, struct entry *entry, const struct scope *scope,
                      enum group group, struct verdict *why)
{
    char *key = strdup(scope->key);
    int error;

    if (!key)
        return no_memory(scope, why);
    error = entry->source->ops->open(entry->source, scope, group, &entry->backend, why);
    if (error) {
        free(key);
        return error;
    }
    entry->key = key;
    entry->kind = scope->kind;
    entry->group = group;
    entry->refs = 1;
    entry->turn = 0;
    entry->latest = 0;
    size_t width = entry->source->ops->width(entry->source, entry->backend);
    for (int i = 0; i < 2; i++)
        entry->readings[i] = (struct reading){.stride_bytes = reading_stride(group)};
    error = reserve_both(entry, width > 0 ? width : 1);
    if (!error)
        error = keymap_put(&set->map, entry->key, map_tag(scope->kind, group), entry);
    if (!error)
        return 0;
    entry_clear(entry);
    return no_memory(scope, why);
}

int source_set_open(struct source_set *set, const struct scope *scope, enum group group,
                    group_handle *handle, struct verdict *why)
{
    struct verdict unused;
    if (!why)
        why = &unused;

    struct entry *entry = keymap_get(&set->map, scope->key, map_tag(scope->kind, group));
    if (entry) {
        entry->refs++;
        *handle = handle_of(entry);
        return 0;
    }
    struct source *source = route(set, scope->kind, group, why);
    if (!source)
        return -ENODEV;
    entry = take_slot(set);
    if (!entry)
        return no_memory(scope, why);
    entry->source = source;
    int error = entry_open(set, entry, scope, group, why);
    if (error) {
        give_slot_back(set, entry);
        return error;
    }
    *handle = handle_of(entry);
    return 0;
}

void source_set_close(struct source_set *set, group_handle handle)
{
    struct entry *entry = entry_of(set, handle);

    if (!entry || --entry->refs > 0)
        return;
    keymap_remove(&set->map, entry->key, map_tag(entry->kind, entry->group));
    entry_clear(entry);
    give_slot_back(set, entry);
}

/* ---- the tick ---- */

static int collect_probes(struct source_set *set)
{
    struct source *source = set->probe_source;

    set->n_probes = 0;
    if (!source || !source->ops->probes)
        return 0;
    for (;;) {
        size_t room = set->cap_probes - set->n_probes, got = 0;
        int error = source->ops->probes(source, set->probes + set->n_probes, room, &got);
        if (error)
            return error;
        set->n_probes += got;
        if (got < room)
            return 0;
        struct probe_reading *grown =
            realloc(set->probes, set->cap_probes * 2 * sizeof *set->probes);
        if (!grown)
            return -ENOMEM;
        set->probes = grown;
        set->cap_probes *= 2;
    }
}

int source_set_begin(struct source_set *set, const struct tick *tick)
{
    int first = 0;

    set->turn++;
    for (size_t i = 0; i < set->n_backends; i++) {
        struct backend *backend = &set->backends[i];
        struct source *source = backend->source;
        int error = source->ops->begin ? source->ops->begin(source, tick) : 0;
        if (error && error != backend->last_error)
            log_warn(set->log, "source", "%s cannot start the tick: %s", source->ops->name,
                     strerror(-error));
        backend->last_error = error;
        if (!first)
            first = error;
    }
    int error = collect_probes(set);
    return first ? first : error;
}

static int read_spare(struct entry *entry, struct reading *spare)
{
    struct source *source = entry->source;

    for (int attempt = 0;; attempt++) {
        spare->n = 0;
        int error = source->ops->read(source, entry->backend, spare);
        if (error != -ENOSPC || attempt == 4)
            return error;
        /* More CPUs than at the opening. Both buffers grow now, so that the next tick need not. */
        size_t width = source->ops->width(source, entry->backend);
        error = reserve_both(entry, width > spare->cap ? width : spare->cap * 2);
        if (error)
            return error;
    }
}

int source_set_read(struct source_set *set, group_handle handle, struct group_window *out)
{
    struct entry *entry = entry_of(set, handle);

    if (!entry)
        return -EBADF;
    if (entry->turn != set->turn) {
        entry->turn = set->turn;
        entry->error = read_spare(entry, &entry->readings[!entry->latest]);
        if (!entry->error) {
            entry->latest = !entry->latest;
            window_sum_rows(&entry->sum, entry->group, &entry->readings[!entry->latest],
                            &entry->readings[entry->latest]);
        }
    }
    if (entry->error)
        return entry->error;
    out->group = entry->group;
    out->before = &entry->readings[!entry->latest];
    out->after = &entry->readings[entry->latest];
    out->sum = &entry->sum;
    return 0;
}

const struct probe_reading *source_set_probes(struct source_set *set, size_t *n)
{
    *n = set->n_probes;
    return set->probes;
}

/* ---- samples ---- */

/* The source to ask for samples; NULL: none here samples. */
static struct source *sampler(const struct source_set *set)
{
    struct source *source = set->sample_source;
    const struct source_ops *ops = source ? source->ops : NULL;

    return ops && ops->samples && ops->drain && ops->sampling ? source : NULL;
}

bool source_set_samples(struct source_set *set, enum access access, struct verdict *why)
{
    struct source *source = sampler(set);
    struct verdict unused;
    if (!why)
        why = &unused;
    memset(why, 0, sizeof *why);

    if (source)
        return source->ops->samples(source, access, why);
    verdict_set(why, REASON_NO_DEVICE, "no source here samples %ss", access_name(access));
    return false;
}

size_t source_set_drain(struct source_set *set, struct access_sample *out, size_t cap)
{
    struct source *source = sampler(set);

    return source ? source->ops->drain(source, out, cap) : 0;
}

void source_set_sampling(const struct source_set *set, enum access access, struct sampling *out)
{
    struct source *source = sampler(set);

    *out = (struct sampling){0};
    if (source)
        source->ops->sampling(source, access, out);
}

size_t source_set_open_counters(struct source_set *set)
{
    size_t sum = 0;

    for (size_t i = 0; i < set->n_backends; i++) {
        struct source *source = set->backends[i].source;
        if (source->ops->open_counters)
            sum += source->ops->open_counters(source);
    }
    return sum;
}
