/*
 * The last minutes of what was read, in memory: of each reading what it grew by, in chunks of a
 * minute that can be read by themselves, the older ones compressed. The oldest go.
 *
 * What is taken out again is a recording that begins where the oldest chunk does, which is one that
 * begins with what collectors had learned, if there is any. Its totals begin there, too, as if
 * everything had been opened then, so that every window in it is the one that was live; levels
 * (pages, bounds) are as they were. One thread.
 */
#ifndef IE_BLACKBOX_RING_H
#define IE_BLACKBOX_RING_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/source/recording/recorder.h"

struct ring_limits {
    uint64_t span_ns; /* what is older, goes by the chunk */
    size_t max_bytes; /* of chunks and of what is known of readings and containers; the oldest chunk
                         goes first, the newest never */
};

struct ring;

/* 0 or -ENOMEM. */
int ring_new(const struct ring_limits *limits, struct ring **out);
void ring_free(struct ring *ring);

/* The next line: header, units and threads first, then as a recorder is given them. For want of
 * memory all that is older is forgotten. */
void ring_take(struct ring *ring, const struct recording_line *line);
/* The tick is whole. */
void ring_flush(struct ring *ring);
/* Between ticks: what collectors know now, a block of 'whole' bytes: of that the next 'len', at
 * most RECORDING_LEARNED_PIECE. With the tick after the first ones (at 0) a chunk begins; a
 * recording may begin there when the last ones have come. */
void ring_learn(struct ring *ring, const uint8_t *bytes, size_t len, uint64_t at, uint64_t whole);
/* What is read for the first time in the next tick was counted before, too: the ring leaves that
 * earlier part out. */
void ring_resume(struct ring *ring);

struct ring_figures {
    size_t bytes;
    uint64_t ticks, begin_mono_ns, end_mono_ns; /* first and last tick; 0: there is none */
};
void ring_figures(const struct ring *ring, struct ring_figures *out);

/* The header as it was given; NULL: not yet. */
const struct recording_line *ring_header(const struct ring *ring);

/* Takes out what is there, and then what comes. */
struct ring_player;

/* 'recorder' is given all from the oldest tick on, and is borrowed. 0, -ENODATA before the first
 * whole tick, or -ENOMEM. */
int ring_player_new(struct ring *ring, struct recorder *recorder, struct ring_player **out);
/* All whole ticks up to now, flushed one by one. Not less often than once in a chunk, or there is a
 * gap. 0 or -ENOMEM. */
int ring_player_run(struct ring_player *player);
/* What it holds between runs: of the readings of containers that are there. */
size_t ring_player_bytes(const struct ring_player *player);
void ring_player_free(struct ring_player *player);

#endif
