/*
 * What happens to containers in one tick of a recording, in the order of the file.
 */
#ifndef IE_SOURCE_RECORDING_REPLAY_EVENTS_H
#define IE_SOURCE_RECORDING_REPLAY_EVENTS_H

#include "exporter/source/recording/format.h"

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
