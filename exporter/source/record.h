/*
 * Writes what a source set delivers as a recording, version 1.
 *
 * record_wrap() puts itself around a backend: every reading that passes is also written. The
 * exporter tells the rest (ticks, containers). A write error stops the recording with one log
 * line, never the exporter.
 */
#ifndef IE_SOURCE_RECORD_H
#define IE_SOURCE_RECORD_H

#include "exporter/base/log.h"
#include "exporter/source/recording.h"
#include "exporter/source/source.h"

struct recorder;

/* Creates the file (mode 0600, truncating) and writes the header. 'log' must outlive it. */
int recorder_new(const char *path, const struct machine *machine, uint64_t interval_ns,
                 const struct log *log, struct recorder **out);
/* Flushes and closes; returns the first write error, or 0. */
int recorder_free(struct recorder *recorder);

void recorder_unit(struct recorder *recorder, const struct unit *unit);
void recorder_thread(struct recorder *recorder, const struct thread *thread);
/* Before the first tick these describe the start. */
void recorder_container(struct recorder *recorder, const struct recording_container *container);
void recorder_gone(struct recorder *recorder, const char *key);
void recorder_tick(struct recorder *recorder, const struct tick *tick);
/* Once per tick, after all reads of it: lines reach the file. */
void recorder_flush(struct recorder *recorder);

/* Takes ownership of inner. Its reads and probe readings are written as they pass. */
int record_wrap(struct recorder *recorder, struct source *inner, struct source **out);

#endif
