/* The cursor as its own source sees it: for replay.c and replay_source.c only. */
#ifndef IE_SOURCE_RECORDING_REPLAY_INTERNAL_H
#define IE_SOURCE_RECORDING_REPLAY_INTERNAL_H

#include "exporter/base/textbuf.h"
#include "exporter/source/recording/file/lines.h"
#include "exporter/source/recording/replay.h"
#include "exporter/source/recording/replay_keys.h"

struct replay {
    char *path;
    struct lines lines;
    struct machine machine;
    uint64_t interval_ns;
    struct source_unit *units;
    size_t n_units;
    struct source_thread *threads;
    size_t n_threads;

    bool have_ahead; /* the next tick's line was read: the one line of lookahead */
    struct tick ahead;
    uint64_t turn; /* counts calls of replay_next; lines before the first tick have turn 0 */

    struct replay_keys keys;
    /* Of the current tick; the buffers are kept from tick to tick. */
    struct replay_events events;
    struct probe_reading *probes;
    size_t n_probes, cap_probes;
    struct replay_samples samples;
    struct replay_mark marks[REPLAY_MARKS_MAX];
    size_t n_marks;
    struct textbuf learned;

    char *error; /* the caller's buffer, during replay_open and replay_next */
    size_t error_size;
};

#endif
