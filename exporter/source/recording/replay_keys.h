/*
 * What a recording has said so far about its keys: which are known, and the last totals of each of
 * their groups.
 *
 * Totals hold: a CPU without a line in this tick keeps those of its last one. Memory is that of the
 * keys not yet gone and of the groups still open.
 */
#ifndef IE_SOURCE_RECORDING_REPLAY_KEYS_H
#define IE_SOURCE_RECORDING_REPLAY_KEYS_H

#include <stdbool.h>

#include "exporter/base/hash_table.h"
#include "exporter/source/recording/format.h"
#include "exporter/source/source.h"

/* One group of one key. References: one by its key, one by each handle. */
struct replay_group {
    unsigned refs;
    enum group group;
    uint64_t owner;      /* of the scope it is open with; 0: its samples are not wanted */
    struct reading rows; /* in the order in which the CPUs first had a line */
    uint64_t *row_turn;  /* beside each row: the tick of its last line */
    uint64_t turn;       /* the tick of the last line of any row; 0: none yet */
    size_t next;         /* where the next line probably belongs: CPUs come in order */
};

struct replay_key {
    char key[RECORDING_MAX_KEY + 1];
    enum scope_kind kind;
    bool gone; /* in this tick: its last reads may still follow */
    struct replay_key *next_gone;
    struct replay_group *groups[GROUP_COUNT]; /* NULL: no line and no handle yet */
};

struct replay_keys {
    struct hash_table map; /* of struct replay_key, by its key */
    struct replay_key *gone;
    struct replay_key *machine; /* of RECORDING_MACHINE_KEY; in no map, which is the containers' */
};

/* All zero is empty. Groups that handles still hold outlive it. */
void replay_keys_release(struct replay_keys *keys);

struct replay_key *replay_keys_find(const struct replay_keys *keys, const char *key);
/* 0 or -ENOMEM; the key must not be known. */
int replay_keys_add(struct replay_keys *keys, const char *key, enum scope_kind kind);
/* The machine's, made when it is not there; NULL: out of memory. */
struct replay_key *replay_keys_machine(struct replay_keys *keys);
/* The key stays known until replay_keys_settle. */
void replay_keys_gone(struct replay_keys *keys, struct replay_key *key);
/* At the start of a tick: forgets what went in the last one. */
void replay_keys_settle(struct replay_keys *keys);

/* The group of a key, made when it is not there; NULL: out of memory. Borrowed. */
struct replay_group *replay_key_group(struct replay_key *key, enum group group);

void replay_group_hold(struct replay_group *group);
void replay_group_drop(struct replay_group *group);

/*
 * A read line of tick 'turn' (from 1). -EEXIST: this CPU had a line in this tick already; -EINVAL:
 * a sum beside lines per CPU, which would count everything twice; -ENOMEM.
 */
int replay_group_put(struct replay_group *group, const struct recording_read *read, uint64_t turn);

/* As the read op of a source: -ENODATA without a line in tick 'turn', -ENOSPC. */
int replay_group_read(const struct replay_group *group, uint64_t turn, struct reading *out);

/*
 * The samples of a recording's current tick, and how sampling went.
 *
 * Lines below a tick belong to the window that ends with it, unless the recording says otherwise: a
 * line without a time gets the tick's last nanosecond. Memory is that of the fullest tick, up to
 * REPLAY_MAX_SAMPLES; samples beyond count as lost.
 */

enum { REPLAY_MAX_SAMPLES = 1 << 20 };

struct replay_samples {
    struct replay_sample {
        struct access_sample sample;
        const struct replay_key *key;
    } * at;
    size_t n, cap, next;
    uint64_t tick_ns;
    struct sampling sampling[ACCESS_KINDS];
    bool told[ACCESS_KINDS]; /* settled_ns comes from the recording's own lines */
};

/* All zero is empty. */
void replay_samples_release(struct replay_samples *samples);

/* A tick begins: the last one's samples are gone, before their keys are. NULL: it was the last. */
void replay_samples_begin(struct replay_samples *samples, const struct tick *tick);

/* A line of the tick. 0 or -ENOMEM. */
int replay_samples_put(struct replay_samples *samples, const struct recording_sample *line,
                       const struct replay_key *key);
void replay_samples_lost(struct replay_samples *samples, const struct recording_lost *lost);

/* As the drain op of a source. */
size_t replay_samples_take(struct replay_samples *samples, struct access_sample *out, size_t cap);

/*
 * What happens to containers in one tick of a recording, in the order of the file.
 */

struct replay_container_event {
    bool gone;
    struct recording_container container; /* with gone only .key is set, the others are "" */
};

struct replay_events {
    struct replay_container_event *at; /* .container.key owns all strings of its event */
    size_t n, cap;
};

/* All zero is empty. */
void replay_events_release(struct replay_events *events);
/* Empties it; the memory for as many is kept. */
void replay_events_clear(struct replay_events *events);

/* Copies the strings. 0 or -ENOMEM. */
int replay_events_add(struct replay_events *events, const struct recording_container *container);
int replay_events_add_gone(struct replay_events *events, const char *key);

#endif
