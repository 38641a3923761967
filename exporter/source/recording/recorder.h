/*
 * Writes what a source set delivers as a recording, version 1.
 *
 * recorder_wrap() puts itself around a backend: every reading that passes is also written. The
 * exporter adds the rest (ticks, containers). A write error stops the recording with one log line,
 * never the exporter; the file then ends with the last whole tick. Loop thread only.
 *
 * The file replays to the same readings: counts and clocks are written as integers, other numbers
 * with 17 digits. Left out are rows of a group that did not change since their last line (a
 * replay's totals hold), and counts of 2^63 and more, which the format does not have. Samples keep
 * their times, and the time up to which they are complete is written with them, so that a replay
 * pairs them with counts as the exporter did.
 */
#ifndef IE_SOURCE_RECORDING_RECORDER_H
#define IE_SOURCE_RECORDING_RECORDER_H

#include "exporter/base/log.h"
#include "exporter/source/recording/format.h"
#include "exporter/source/source.h"

struct recorder;

/* Who else takes what is recorded, whether or not there is a file. */
struct recorder_sink {
    void (*line)(void *context, const struct recording_line *line); /* borrowed for the call */
    /* A tick is whole. False: it was not taken, and each reading is to have its lines again. */
    bool (*flush)(void *context);
    void *context;
};

/* Makes or empties the file (mode 0600; compressed, where its name ends with ".gz") and writes the
 * header; -errno when either fails, in words by recorder_why(). Refuses what is no regular file of
 * this user with this name only. Without a path (NULL) there is no file. 'log' must outlive it. */
int recorder_new(const char *path, const struct machine *machine, uint64_t interval_ns,
                 const struct log *log, struct recorder **out);
const char *recorder_why(int err);
/* From now on it is given every line, but the header. Borrowed. */
void recorder_tee(struct recorder *recorder, const struct recorder_sink *sink);
/* From the next tick on as if nothing had been written yet: each reading has its lines again. */
void recorder_repeat(struct recorder *recorder);
/* The file ends with the last whole tick before it would be longer; 0: no limit. */
void recorder_limit(struct recorder *recorder, uint64_t max_bytes);
/* False once it has stopped, and without a file. */
bool recorder_is_active(const struct recorder *recorder);
/* Of the file, so far. */
uint64_t recorder_bytes(const struct recorder *recorder);
/* Flushes and closes; returns the first write error, or 0. Accepts NULL. Sources that were wrapped
 * must be freed before. */
int recorder_free(struct recorder *recorder);

/* Before the first tick. */
void recorder_unit(struct recorder *recorder, const struct source_unit *unit);
void recorder_thread(struct recorder *recorder, const struct source_thread *thread);

/*
 * Before the first tick, containers describe the start. What happens between a flush and the next
 * tick is written below that tick: a replay then makes it known before that tick's reads, as the
 * exporter saw it.
 */
void recorder_container(struct recorder *recorder, const struct recording_container *container);
void recorder_gone(struct recorder *recorder, const char *key);
/* Before source_set_begin, whose probe readings belong to this tick. */
void recorder_tick(struct recorder *recorder, const struct tick *tick);
/* Once per tick, after all reads of it: lines reach the file, those of a compressed one some ticks
 * at a time. */
void recorder_flush(struct recorder *recorder);
/* A line of any kind but the header: as the functions above. */
void recorder_line(struct recorder *recorder, const struct recording_line *line);

/* Takes ownership of inner, also on failure. Its reads, probe readings and samples are written when
 * they pass between recorder_tick and recorder_flush; everything else, the name included, is
 * inner's. */
int recorder_wrap(struct recorder *recorder, struct source *inner, struct source **out);

/* Between recorder.c, which writes the file, and recorder_source.c, which sees the readings pass.
 */

/* Whether readings are written now: within a tick, while nothing has failed. */
bool recorder_takes_readings(const struct recorder *recorder);
/* Another one: what was written last is to be written again. */
unsigned recorder_repeats(const struct recorder *recorder);
void recorder_row(struct recorder *recorder, const char *key, enum group group,
                  const struct reading_row *row);
/* The key of an owner's scope is known while a group is open with that owner, in any of the
 * sources. 0 or -ENOMEM; an owner of 0 is ignored. */
int recorder_own(struct recorder *recorder, uint64_t owner, const char *key);
void recorder_disown(struct recorder *recorder, uint64_t owner);
const char *recorder_key(const struct recorder *recorder, uint64_t owner);
/* 'key' is the key of the sample's container. */
void recorder_sample(struct recorder *recorder, const char *key,
                     const struct access_sample *sample);
/* What was lost and how often sampling was paused since 'before'. */
void recorder_sampling(struct recorder *recorder, enum access access, const struct sampling *before,
                       const struct sampling *now);
void recorder_probe(struct recorder *recorder, const struct probe_reading *probe);

#endif
