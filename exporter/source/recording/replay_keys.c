#include "exporter/source/recording/replay_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/base/hash.h"

static void key_free(struct replay_key *key)
{
    for (int i = 0; i < GROUP_COUNT; i++)
        if (key->groups[i])
            replay_group_drop(key->groups[i]);
    free(key);
}

void replay_keys_release(struct replay_keys *keys)
{
    for (size_t i = 0; i < keys->map.cap; i++)
        if (keys->map.slots[i].value)
            key_free(keys->map.slots[i].value);
    hash_table_release(&keys->map);
    keys->gone = NULL;
    if (keys->machine)
        key_free(keys->machine);
    keys->machine = NULL;
}

struct replay_key *replay_keys_find(const struct replay_keys *keys, const char *key)
{
    uint64_t hash = hash_text(key, 0);
    struct replay_key *found;
    size_t at = 0;
    do
        found = hash_table_next(&keys->map, hash, &at);
    while (found && strcmp(found->key, key) != 0);
    return found;
}

static struct replay_key *key_new(const char *key, enum scope_kind kind)
{
    struct replay_key *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    strncpy(made->key, key, sizeof made->key - 1);
    made->kind = kind;
    return made;
}

struct replay_key *replay_keys_machine(struct replay_keys *keys)
{
    if (!keys->machine)
        keys->machine = key_new(RECORDING_MACHINE_KEY, SCOPE_MACHINE);
    return keys->machine;
}

int replay_keys_add(struct replay_keys *keys, const char *key, enum scope_kind kind)
{
    int err = hash_table_reserve(&keys->map, keys->map.n + 1);
    struct replay_key *made = err ? NULL : key_new(key, kind);
    if (!made)
        return -ENOMEM;
    hash_table_insert(&keys->map, hash_text(made->key, 0), made);
    return 0;
}

void replay_keys_gone(struct replay_keys *keys, struct replay_key *key)
{
    key->gone = true;
    key->next_gone = keys->gone;
    keys->gone = key;
}

void replay_keys_settle(struct replay_keys *keys)
{
    while (keys->gone) {
        struct replay_key *key = keys->gone;
        keys->gone = key->next_gone;
        hash_table_remove(&keys->map, hash_text(key->key, 0), key);
        key_free(key);
    }
}

struct replay_group *replay_key_group(struct replay_key *key, enum group group)
{
    struct replay_group *made = key->groups[group];
    if (made)
        return made;
    made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->refs = 1;
    made->group = group;
    made->rows.stride_bytes = reading_stride(group);
    key->groups[group] = made;
    return made;
}

void replay_group_hold(struct replay_group *group)
{
    group->refs++;
}

void replay_group_drop(struct replay_group *group)
{
    if (--group->refs > 0)
        return;
    free(group->rows.rows);
    free(group->row_turn);
    free(group);
}

static int add_row(struct replay_group *group, int32_t cpu)
{
    struct reading *rows = &group->rows;
    if (rows->n == rows->cap) {
        size_t cap = rows->cap ? rows->cap * 2 : 1;
        void *grown = realloc(rows->rows, cap * rows->stride_bytes);
        if (!grown)
            return -ENOMEM;
        rows->rows = grown;
        uint64_t *turns = realloc(group->row_turn, cap * sizeof *turns);
        if (!turns)
            return -ENOMEM;
        group->row_turn = turns;
        rows->cap = cap;
    }
    memset(reading_row(rows, rows->n), 0, rows->stride_bytes);
    reading_row(rows, rows->n)->cpu = cpu;
    group->row_turn[rows->n] = 0;
    rows->n++;
    return 0;
}

/* The index of the CPU's row, made when it is the CPU's first line. */
static int find_row(struct replay_group *group, int32_t cpu, size_t *out)
{
    struct reading *rows = &group->rows;
    size_t i = group->next < rows->n ? group->next : 0;
    for (size_t tried = 0; tried < rows->n; tried++, i = i + 1 < rows->n ? i + 1 : 0) {
        if (reading_row(rows, i)->cpu != cpu)
            continue;
        *out = i;
        return 0;
    }
    if (rows->n > 0 && (cpu == -1 || reading_row(rows, 0)->cpu == -1))
        return -EINVAL;
    *out = rows->n;
    return add_row(group, cpu);
}

int replay_group_put(struct replay_group *group, const struct recording_read *read, uint64_t turn)
{
    size_t i;
    int err = find_row(group, read->cpu, &i);
    if (err)
        return err;
    if (group->row_turn[i] == turn)
        return -EEXIST;
    struct reading_row *row = reading_row(&group->rows, i);
    row->present = read->present;
    row->enabled_ns = read->enabled_ns;
    row->running_ns = read->running_ns;
    for (size_t role = 0; role < group_descs[group->group].n; role++)
        if (read->present >> role & 1)
            row->count[role] = read->values[role];
    group->row_turn[i] = turn;
    group->turn = turn;
    group->next = i + 1;
    return 0;
}

int replay_group_read(const struct replay_group *group, uint64_t turn, struct reading *out)
{
    const struct reading *rows = &group->rows;
    if (group->turn != turn || turn == 0)
        return -ENODATA;
    if (out->cap < rows->n)
        return -ENOSPC;
    memcpy(out->rows, rows->rows, rows->n * rows->stride_bytes);
    out->n = rows->n;
    return 0;
}

void replay_samples_release(struct replay_samples *samples)
{
    free(samples->at);
    *samples = (struct replay_samples){0};
}

void replay_samples_begin(struct replay_samples *samples, const struct tick *tick)
{
    samples->n = samples->next = 0;
    if (!tick)
        return;
    samples->tick_ns = tick->mono_ns;
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (!samples->told[access])
            samples->sampling[access].settled_ns = tick->mono_ns;
}

int replay_samples_put(struct replay_samples *samples, const struct recording_sample *line,
                       const struct replay_key *key)
{
    struct sampling *sampling = &samples->sampling[line->sample.access];
    if (line->period > 0)
        sampling->period = line->period;
    if (samples->n == REPLAY_MAX_SAMPLES) {
        sampling->lost++;
        return 0;
    }
    if (array_reserve(&samples->at, &samples->cap, samples->n + 1, sizeof *samples->at))
        return -ENOMEM;
    struct replay_sample *sample = &samples->at[samples->n++];
    *sample = (struct replay_sample){.sample = line->sample, .key = key};
    if (!line->timed)
        sample->sample.time_ns = samples->tick_ns > 0 ? samples->tick_ns - 1 : 0;
    return 0;
}

void replay_samples_lost(struct replay_samples *samples, const struct recording_lost *lost)
{
    struct sampling *sampling = &samples->sampling[lost->access];
    sampling->lost += lost->count;
    sampling->throttles += lost->throttles;
    if (lost->period > 0)
        sampling->period = lost->period;
    if (lost->settled) {
        sampling->settled_ns = lost->settled_ns;
        samples->told[lost->access] = true;
    }
}

/* The owner of an open group that wants the sample; 0: there is none. */
static uint64_t owner_of(const struct replay_sample *sample)
{
    const struct replay_group *group = sample->key->groups[access_group(sample->sample.access)];
    return group ? group->owner : 0;
}

size_t replay_samples_take(struct replay_samples *samples, struct access_sample *out, size_t cap)
{
    size_t n = 0;
    for (; n < cap && samples->next < samples->n; samples->next++) {
        const struct replay_sample *sample = &samples->at[samples->next];
        uint64_t owner = owner_of(sample);
        if (owner == 0)
            continue;
        out[n] = sample->sample;
        out[n++].owner = owner;
    }
    return n;
}

void replay_events_clear(struct replay_events *events)
{
    for (size_t i = 0; i < events->n; i++)
        free((char *)events->at[i].container.key);
    events->n = 0;
}

void replay_events_release(struct replay_events *events)
{
    replay_events_clear(events);
    free(events->at);
    *events = (struct replay_events){0};
}

/* Copies the strings one behind the other into a single allocation, which .key points to. */
static int own_strings(struct recording_container *container)
{
    const char **all[] = {&container->key,        &container->cgroup,  &container->id,
                          &container->namespace_, &container->pod,     &container->container,
                          &container->image,      &container->pod_uid, &container->runtime,
                          &container->qos_class};
    size_t size = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        size += strlen(*all[i]) + 1;
    char *text = malloc(size);
    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t len = strlen(*all[i]) + 1;
        memcpy(text, *all[i], len);
        *all[i] = text;
        text += len;
    }
    return 0;
}

static int add(struct replay_events *events, const struct recording_container *container, bool gone)
{
    struct replay_container_event event = {.gone = gone, .container = *container};
    if (array_reserve(&events->at, &events->cap, events->n + 1, sizeof event) ||
        own_strings(&event.container))
        return -ENOMEM;
    events->at[events->n++] = event;
    return 0;
}

int replay_events_add(struct replay_events *events, const struct recording_container *container)
{
    return add(events, container, false);
}

int replay_events_add_gone(struct replay_events *events, const char *key)
{
    const struct recording_container container = {key, "", "", "", "",    "",
                                                  "",  "", "", "", false, 0};
    return add(events, &container, true);
}
