/*
 * One initiator's thread: waits for its turn, pins itself, runs a burst, hands the reading over.
 *
 * The thread owns everything in struct chase_thread except what is atomic and what lies in
 * 'shared'.
 */
#ifndef IE_SOURCE_PROBE_THREAD_H
#define IE_SOURCE_PROBE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/burst.h"
#include "exporter/source/probe/hit.h"
#include "exporter/source/probe/targets.h"
#include "exporter/source/source.h"

enum { CHASE_QUEUE = 64 };

/* Finished readings: one thread puts, one takes, neither waits. A reading that finds the queue full
 * is dropped: by then none was taken for a minute. */
struct chase_queue {
    struct probe_reading slots[CHASE_QUEUE];
    atomic_uint put;   /* written by the probe's thread alone */
    atomic_uint taken; /* written by the reader alone */
};

/* Returns false when full. */
bool chase_queue_put(struct chase_queue *queue, const struct probe_reading *reading);
/* Returns false when empty. */
bool chase_queue_take(struct chase_queue *queue, struct probe_reading *out);

/* What all threads of one source share. */
struct chase_shared {
    const struct fsroot *fs;
    const struct log *log;
    enum chase_flush how;
    uint64_t turn_ns;  /* of one burst of each thread: the interval's CHASE_BURSTS-th part */
    uint64_t epoch_ns; /* CLOCK_MONOTONIC; turn k lies in [epoch + k, epoch + k + 1) turns */
    size_t n_threads;
    const struct chase_buffer *buffers; /* the targets */
    size_t n_buffers;
    pthread_mutex_t mutex; /* guards stop, and started of every thread */
    pthread_cond_t changed;
    bool stop;
    _Atomic uint64_t discarded[PROBE_DISCARDS];
};

struct chase_thread {
    struct chase_shared *shared; /* borrowed */
    size_t index;
    int node;
    int cpu;        /* where it is pinned; -1 when that failed */
    int tid;        /* written before 'started', like the next */
    int started_on; /* 'cpu' at the start, which the thread may change later */
    bool started;
    uint64_t random;
    struct chase_ring *rings; /* one per buffer; owned by the source */
    struct chase_hit hit;     /* in the buffer of its own node; released by the source */
    struct chase_targets targets;
    struct chase_queue queue;
    pthread_t handle;
};

/* Starts the thread with all signals blocked and returns once it runs. 0 or -errno. */
int chase_thread_start(struct chase_thread *thread);
/* Waits for its end; shared->stop must be set before. */
void chase_thread_join(struct chase_thread *thread);

/*
 * When turn 'turn' of thread 'index' of n begins, in ns after the epoch: each thread has its own
 * n-th of it, so that two never burst at once, and moves within four fifths of it by
 * 'random', so that it does not march in step with something periodic.
 */
uint64_t chase_turn_ns(uint64_t turn_ns, size_t index, size_t n, uint64_t turn, uint64_t random);

#endif
