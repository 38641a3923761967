/*
 * A recording in memory, as far as attribution needs it: latencies of the probe, and CPU time of
 * the containers and of the machine, tick by tick. What is read by the replay source can be
 * changed here, so that real noise and real activity meet an effect that is known.
 *
 * What cannot be done ends the program with a message.
 */
#ifndef IE_TESTS_ATTRIBUTION_TAPE_H
#define IE_TESTS_ATTRIBUTION_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/clock.h"
#include "exporter/source/machine.h"
#include "exporter/source/recording/replay_keys.h"
#include "exporter/source/source.h"

enum { TAPE_KEYS = 64, TAPE_CPUS = 64, TAPE_BURSTS = 8 };

/* CPU time of a key on a CPU: a total per tick, which stands still where nothing was read. */
struct tape_row {
    int cpu; /* -1: the sum over all CPUs */
    uint64_t *ns;
};

struct tape_key {
    char name[32];
    size_t n_rows;
    struct tape_row rows[TAPE_CPUS];
    bool *read; /* per tick: there was a reading */
    /* Ticks: 0 for who is there at the start; the last one in which it may be read. */
    size_t came, went;
    uint64_t found_mono_ns; /* not of who is there at the start */
};

struct tape_tick {
    struct tick tick;
    size_t n_bursts;
    struct probe_reading bursts[TAPE_BURSTS]; /* of more, the first */
    size_t end_events;                        /* of the tape's, those up to here have happened */
};

struct tape {
    struct machine machine;
    struct source_thread thread; /* the probe's first */
    uint64_t interval_ns;
    size_t n;
    struct tape_tick *ticks;
    size_t n_keys;
    struct tape_key keys[TAPE_KEYS]; /* the first is the machine, "host" */
    struct replay_events events;     /* the lines of containers, in the order of the file */
    size_t start_events;             /* so many of them before the first tick */
};

/* The whole file. A key stands for one container: who comes again has another one. */
void tape_load(struct tape *tape, const char *path);
void tape_release(struct tape *tape);

/* The key of this name. */
size_t tape_find(const struct tape *tape, const char *name);

bool tape_is_there(const struct tape *tape, size_t key, size_t tick);
/* CPU seconds per second that a key used in the tick on CPUs other than the probe's; NaN: not
 * read, or the first reading of who is there at the start. */
double tape_activity(const struct tape *tape, size_t key, size_t tick);

/* What is put in. */

/* The latency grows by this share for each CPU that the container uses beside the probe. */
void tape_put_in(struct tape *tape, size_t key, double effect);
/* Everybody's activity comes so many ticks later; what is beyond the end comes first. */
void tape_shift_activity(struct tape *tape, size_t ticks);
/* The latency comes so many ticks later; what is beyond the end comes first. */
void tape_shift_latency(struct tape *tape, size_t ticks);
/* The latency of another recording. Shortens the tape to the shorter of the two. */
void tape_take_latency(struct tape *tape, const struct tape *other);
/* Somebody who is not monitored makes latency higher by this share: on and off for 10 to 60 s. */
void tape_add_unseen(struct tape *tape, double effect, uint64_t seed);

#endif
