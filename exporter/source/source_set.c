#include "exporter/source/source_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

/* ---- samples of a tick ---- */

enum { BEYOND = 64 };

void tick_samples_release(struct tick_samples *samples)
{
    free(samples->at);
    *samples = (struct tick_samples){0};
}

int tick_samples_reserve(struct tick_samples *samples)
{
    if (!samples->at)
        samples->at = malloc(TICK_SAMPLES_MAX * sizeof *samples->at);
    return samples->at ? 0 : -ENOMEM;
}

/* Samples are dropped here rather than left for the next tick: what is settled by now would
 * otherwise come after its time. Returns whether there may be more. */
static bool drop_some(struct tick_samples *samples, struct source *source)
{
    struct access_sample beyond[BEYOND];
    size_t n = source->ops->drain(source, beyond, BEYOND);
    for (size_t i = 0; i < n; i++)
        samples->dropped[beyond[i].access]++;
    return n == BEYOND;
}

/* Returns whether there may be more. */
static bool take_some(struct tick_samples *samples, struct source *source)
{
    size_t room = TICK_SAMPLES_MAX - samples->n;
    if (room == 0 || tick_samples_reserve(samples) != 0)
        return drop_some(samples, source);
    size_t n = source->ops->drain(source, samples->at + samples->n, room);
    samples->n += n;
    return n == room;
}

static void ask_sampling(struct tick_samples *samples, struct source *source, enum access access)
{
    struct verdict why;
    samples->sampling[access] = (struct sampling){0};
    if (source && source->ops->samples(source, access, &why))
        source->ops->sampling(source, access, &samples->sampling[access]);
}

void tick_samples_drain(struct tick_samples *samples, struct source *source)
{
    samples->n = 0;
    for (int access = 0; access < ACCESS_KINDS; access++)
        ask_sampling(samples, source, (enum access)access);
    while (source && take_some(samples, source))
        ;
    for (int access = 0; access < ACCESS_KINDS; access++)
        samples->sampling[access].lost += samples->dropped[access];
}

struct backend {
    struct source *source;
    int last_err; /* of begin, so that a lasting failure is logged once */
};

struct source_set {
    const struct log *log;
    struct source *routes[SCOPE_KINDS][GROUP_COUNT];
    struct source *others[SCOPE_KINDS][GROUP_COUNT]; /* what a route has replaced, and may again */
    bool fell_back[SCOPE_KINDS][GROUP_COUNT];
    bool began; /* ticks */
    struct source *probe_source;
    struct source *sample_source;
    struct backend *backends; /* every routed source, each once */
    size_t n_backends, cap_backends;
    struct open_groups groups;
    struct probe_reading *probes;
    size_t n_probes, cap_probes;
    struct tick_samples samples;
    bool drained; /* in this tick */
};

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
    open_groups_init(&set->groups);
    return set;
}

int source_set_end(struct source_set *set)
{
    int result = 0;
    for (size_t i = 0; set && i < set->n_backends; i++) {
        struct source *source = set->backends[i].source;
        int err = source->ops->end ? source->ops->end(source) : 0;
        result = result ? result : err;
    }
    return result;
}

void source_set_free(struct source_set *set)
{
    if (!set)
        return;
    open_groups_release(&set->groups);
    for (size_t i = 0; i < set->n_backends; i++)
        set->backends[i].source->ops->free(set->backends[i].source);
    free(set->backends);
    free(set->probes);
    tick_samples_release(&set->samples);
    free(set);
}

/* ---- routes ---- */

static int adopt(struct source_set *set, struct source *source)
{
    for (size_t i = 0; i < set->n_backends; i++)
        if (set->backends[i].source == source)
            return 0;
    if (array_reserve(&set->backends, &set->cap_backends, set->n_backends + 1,
                      sizeof *set->backends)) {
        source->ops->free(source);
        return -ENOMEM;
    }
    set->backends[set->n_backends++] = (struct backend){.source = source};
    return 0;
}

int source_set_route(struct source_set *set, enum scope_kind kind, enum group group,
                     struct source *source)
{
    int err = adopt(set, source);
    if (!err)
        set->routes[kind][group] = source;
    return err;
}

int source_set_route_over(struct source_set *set, enum scope_kind kind, enum group group,
                          struct source *source)
{
    struct source *other = set->routes[kind][group];
    int err = source_set_route(set, kind, group, source);
    if (!err)
        set->others[kind][group] = other;
    return err;
}

void source_set_route_back(struct source_set *set, enum scope_kind kind, enum group group)
{
    struct source **other = &set->others[kind][group];
    if (!*other)
        return;
    set->routes[kind][group] = *other;
    *other = NULL;
    set->fell_back[kind][group] = true;
}

bool source_set_fell_back(const struct source_set *set, enum scope_kind kind, enum group group)
{
    return set->fell_back[kind][group];
}

int source_set_route_probes(struct source_set *set, struct source *source)
{
    int err = adopt(set, source);
    if (!err)
        set->probe_source = source;
    return err;
}

int source_set_route_samples(struct source_set *set, struct source *source)
{
    int err = adopt(set, source);
    if (!err)
        set->sample_source = source;
    return err;
}

static const char *kind_words(enum scope_kind kind)
{
    static const char *const words[SCOPE_KINDS] = {
        [SCOPE_CGROUP] = "containers",         [SCOPE_THREAD] = "threads",
        [SCOPE_UNIT] = "memory controllers",   [SCOPE_CPU] = "CPUs",
        [SCOPE_MACHINE] = "the whole machine",
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
    verdict_set(why, REASON_NO_DEVICE, "no source here counts the group %s for %s",
                group_descs[group].name, kind_words(kind));
    return NULL;
}

/* The source of the route has said no, and why. */
static bool fall_back(struct source_set *set, enum scope_kind kind, enum group group,
                      struct verdict *why)
{
    struct source *other = set->others[kind][group];
    struct verdict unused;
    if (set->began || !other || !counts(other) || !other->ops->check(other, kind, group, &unused))
        return false;
    log_warn(set->log, "source", "group %s of %s: %s; %s counts it instead",
             group_descs[group].name, kind_words(kind), why->words, other->ops->name);
    source_set_route_back(set, kind, group);
    verdict_clear(why);
    return true;
}

bool source_set_check(struct source_set *set, enum scope_kind kind, enum group group,
                      struct verdict *why)
{
    struct verdict unused;
    if (!why)
        why = &unused;
    verdict_clear(why); /* for backends that only speak up when they cannot */

    struct source *source = route(set, kind, group, why);
    return source &&
           (source->ops->check(source, kind, group, why) || fall_back(set, kind, group, why));
}

/* ---- open and close ---- */

int source_set_open(struct source_set *set, const struct scope *scope, enum group group,
                    group_handle *handle, struct verdict *why)
{
    struct verdict unused;
    if (!why)
        why = &unused;

    if (open_groups_share(&set->groups, scope, group, handle))
        return 0;
    struct source *source = route(set, scope->kind, group, why);
    if (!source)
        return -ENODEV;
    return open_groups_open(&set->groups, source, scope, group, handle, why);
}

void source_set_close(struct source_set *set, group_handle handle)
{
    open_groups_close(&set->groups, handle);
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
        int err = source->ops->probes(source, set->probes + set->n_probes, room, &got);
        if (err)
            return err;
        set->n_probes += got;
        if (got < room)
            return 0;
        err =
            array_reserve(&set->probes, &set->cap_probes, set->cap_probes + 1, sizeof *set->probes);
        if (err)
            return err;
    }
}

int source_set_begin(struct source_set *set, const struct tick *tick)
{
    int first = 0;
    set->began = true;
    set->drained = false;
    for (size_t i = 0; i < set->n_backends; i++) {
        struct backend *backend = &set->backends[i];
        struct source *source = backend->source;
        int err = source->ops->begin ? source->ops->begin(source, tick) : 0;
        if (err && err != backend->last_err)
            log_warn(set->log, "source", "%s cannot start the tick: %s", source->ops->name,
                     strerror(-err));
        backend->last_err = err;
        if (!first)
            first = err;
    }
    open_groups_begin(&set->groups);
    int err = collect_probes(set);
    return first ? first : err;
}

int source_set_read(struct source_set *set, group_handle handle, struct group_window *out)
{
    return open_groups_read(&set->groups, handle, out);
}

const struct probe_reading *source_set_probes(struct source_set *set, size_t *n)
{
    *n = set->n_probes;
    return set->probes;
}

bool source_set_probe_discards(struct source_set *set, uint64_t discarded[PROBE_DISCARDS])
{
    struct source *source = set->probe_source;
    if (!source || !source->ops->probe_discards)
        return false;
    source->ops->probe_discards(source, discarded);
    return true;
}

size_t source_set_takings(struct source_set *set, struct cpu_taking *out, size_t cap)
{
    struct source *source = set->routes[SCOPE_CGROUP][GROUP_DELAYS];
    return source && source->ops->takings ? source->ops->takings(source, out, cap) : 0;
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
    verdict_clear(why);

    if (!source)
        verdict_set(why, REASON_NO_DEVICE, "no source here samples %ss", access_name(access));
    else if (source->ops->samples(source, access, why) && tick_samples_reserve(&set->samples) == 0)
        return true;
    else if (why->reason == REASON_OK)
        verdict_set(why, REASON_NO_DEVICE, "out of memory for samples of %ss", access_name(access));
    return false;
}

static void drain_once(struct source_set *set)
{
    if (set->drained)
        return;
    set->drained = true;
    tick_samples_drain(&set->samples, sampler(set));
}

const struct access_sample *source_set_read_samples(struct source_set *set, size_t *n)
{
    drain_once(set);
    *n = set->samples.n;
    return set->samples.at;
}

void source_set_sampling(struct source_set *set, enum access access, struct sampling *out)
{
    drain_once(set);
    *out = set->samples.sampling[access];
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

uint64_t source_set_unread(struct source_set *set)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < set->n_backends; i++) {
        struct source *source = set->backends[i].source;
        if (source->ops->unread)
            sum += source->ops->unread(source);
    }
    return sum;
}
