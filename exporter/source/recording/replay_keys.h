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

#endif
