/*
 * A recording read back: one cursor, from which ticks, containers, machine facts, counters, probe
 * readings and samples come.
 *
 * Streams the file, plain or as the recorder compresses it: memory does not grow with its length.
 */
#ifndef IE_SOURCE_RECORDING_REPLAY_H
#define IE_SOURCE_RECORDING_REPLAY_H

#include "exporter/source/recording/replay_keys.h"
#include "exporter/source/source.h"

struct replay;

/*
 * Opens the file and reads up to the first tick line: header, containers, units, threads. On
 * failure -errno and "FILE:LINE: what is wrong" in error.
 */
int replay_open(const char *path, struct replay **out, char *error, size_t error_size);
void replay_free(struct replay *replay);

const struct machine *replay_machine(const struct replay *replay);
uint64_t replay_interval_ns(const struct replay *replay);
/* The clock at the first tick; until then only. */
uint64_t replay_begin_ns(const struct replay *replay);
const struct source_unit *replay_units(const struct replay *replay, size_t *n);
const struct source_thread *replay_threads(const struct replay *replay, size_t *n);

/*
 * Moves to the next tick and reads all its lines. 1 with *out set; 0 at the end of the recording;
 * -errno with the message in error. After an error the cursor stays at its end.
 */
int replay_next(struct replay *replay, struct tick *out, char *error, size_t error_size);

/* Container lines of the current tick; before the first replay_next, those that describe the start.
 * Strings live until the next replay_next. */
const struct replay_container_event *replay_container_events(const struct replay *replay,
                                                             size_t *n);

/* The current tick's marks, of the most that are kept. Until the next replay_next. */
enum { REPLAY_MARKS_MAX = 64 };
struct replay_mark {
    char why[RECORDING_MAX_KEY + 1], key[RECORDING_MAX_KEY + 1]; /* as in the line */
};
const struct replay_mark *replay_marks(const struct replay *replay, size_t *n);

/* What had been learned when it begins, a block of exporter/state, as it is in the file; NULL: it
 * does not say. The cursor's. */
const uint8_t *replay_learned(const struct replay *replay, size_t *len);

/* A source that serves the current tick's reads, probes and samples. Owned by the caller (usually
 * given to a source set); must be freed before the cursor. */
int replay_source_new(struct replay *replay, struct source **out);
/* Groups, as bits, that the recorded machine could not count. */
void replay_source_lacks(struct source *source, uint32_t groups);

#endif
