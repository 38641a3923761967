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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/source/probe/buffer.h"
#include "exporter/source/probe/hit.h"
#include "exporter/source/probe/run.h"
#include "exporter/source/source.h"

/*
 * A burst: a few short runs, of which one may be odd.
 *
 * One run of 500 loads varies with refresh, interrupts and neighbours. Most of that is slower than
 * a burst, so three short bursts in an interval, of which the reader takes the median, say more
 * than one long burst at the same cost (bench_bursts). The account says what a burst may cost.
 */

enum {
    CHASE_RUN_LOADS = 500,
    CHASE_WARM_LOADS = 100, /* a first run that does not count: the CPU leaves its idle state */
    CHASE_RUNS = 3,
    CHASE_RUNS_NEEDED = 2, /* otherwise there is no reading */
    CHASE_BURSTS = 3,      /* of an initiator, in an interval */
};

struct chase_burst {
    double latency_ns; /* median of the runs that count; 0 unless 'valid' */
    bool valid;
    uint32_t runs; /* made, without the warm one */
    uint32_t discarded[PROBE_DISCARDS];
};

/* Runs on the calling thread, which should be pinned to 'cpu', until CHASE_RUNS are made or the
 * next would exceed 'budget_ns' of CPU time. */
void chase_burst(struct chase_ring *ring, enum chase_flush how, int cpu, uint64_t budget_ns,
                 struct chase_burst *out);

/*
 * What bursts may cost: the CPU time of everything the probe's thread does stays below 0.1 % of a
 * CPU, by an account that grows with the clock. On slow memory, and where the interval is short,
 * some turns are skipped.
 *
 * Times are the caller's: it is tested without a clock.
 */

/* CPU time earned and spent. */
struct chase_account {
    uint64_t credit_ns;
    uint64_t debt_ns;  /* paid off before there is credit again; one of the two is 0 */
    uint64_t share_ns; /* earned per interval */
    uint64_t seen_ns;  /* wall clock of the last earning */
    uint64_t load_ns;  /* CPU time per load of the last burst, everything included */
};

void chase_account_init(struct chase_account *account, uint64_t interval_ns, uint64_t now_ns);
/* What a burst at 'now_ns' may spend; 0 when it would not be enough for a whole one. */
uint64_t chase_account_budget(struct chase_account *account, uint64_t now_ns);
/* How long to sleep, counted from the last earning, until there is a budget again: even waking up
 * to find none costs too much where intervals are short. */
uint64_t chase_account_wait_ns(const struct chase_account *account);
/* CPU time used, for a burst of this many loads (0: for something else). More than there is credit
 * for becomes a debt, up to what some seconds pay off. */
void chase_account_spend(struct chase_account *account, uint64_t cpu_ns, uint64_t loads);

/*
 * Which target comes next: a thread's own node every other time, since that is what its containers
 * use most, and the others in between, in turn. Each keeps the thread for some intervals, so that
 * there are intervals in which the thread's counters count loads to one target only.
 */

enum { CHASE_INTERVALS_PER_TARGET = 3 };

struct chase_targets {
    size_t n;       /* targets */
    size_t own;     /* index of the thread's own node; n: it has no memory */
    size_t other;   /* index of the one that is next, or now, beside the own one */
    bool at_own;    /* now */
    uint64_t since; /* turn of the first burst to the present one */
};

void chase_targets_init(struct chase_targets *targets, size_t n, size_t own, size_t first_other);
/* The target of the burst in this turn. */
size_t chase_targets_next(struct chase_targets *targets, uint64_t turn);

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
