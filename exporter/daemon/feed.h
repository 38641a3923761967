/*
 * Containers in and out of recordings: a recording's lines feed the table; the table's diffs feed
 * the recorder, under the tick at which the collectors first could read them.
 */
#ifndef IE_DAEMON_FEED_H
#define IE_DAEMON_FEED_H

#include "exporter/base/log.h"
#include "exporter/containers/table/table.h"
#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"

struct feed;

int feed_new(struct feed **out);
/* From now on containers of a recording have other names and ids. 0 or -ENOMEM. */
int feed_anonymise(struct feed *feed);
/* For state_rename(): the key of what was learned of one of them, by its other names. */
char *feed_learned_key(void *feed, const char *key);
void feed_free(struct feed *feed);

/* Applies the current tick's container lines. 0, or -ENOMEM. */
int feed_replay(struct feed *feed, const struct replay *replay, struct container_table *table,
                uint64_t now_ns);

/* The same of lines that the caller has. */
int feed_events(struct feed *feed, const struct replay_container_event *events, size_t n,
                struct container_table *table, uint64_t now_ns);

/* Tells the recorder what changed. The recorder puts it below the tick at which it can be read. */
void feed_record(struct recorder *recorder, const struct container_diff *diff);
/* Tells a recorder that knows none of them all live containers, as if they had been found now. */
void feed_record_all(struct recorder *recorder, struct container_table *table, uint64_t now_ns);

/*
 * Names in the place of names, for who shows others what happened and not to whom.
 *
 * The same name always gets the same other one: the kind and a number, in the order in which names
 * come, so that one recording always gives the same. One thread.
 */

struct pseudonyms;

/* 0 or -ENOMEM. */
int pseudonyms_new(struct pseudonyms **out);
void pseudonyms_free(struct pseudonyms *pseudonyms);

/* "KIND-NUMBER" for a name of this kind, a constant; "" stays "". Lives as long as they do; NULL:
 * out of memory. */
const char *pseudonym_of(struct pseudonyms *pseudonyms, const char *kind, const char *name);
/* In the place of an id: 64 hex digits that begin with the number, twelve digits long. */
const char *pseudonym_of_id(struct pseudonyms *pseudonyms, const char *id);

#endif
