/*
 * The event loop: one thread, epoll, one timer, signals.
 *
 * Knows when to call, not what is done: the ticks' work is behind the callbacks. Between ticks it
 * serves one file descriptor (containers appearing) and one deadline (names arriving late).
 */
#ifndef IE_SERVICE_LOOP_H
#define IE_SERVICE_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "exporter/base/clock.h"

struct loop_callbacks {
    /* CLOCK_MONOTONIC of the next tick; UINT64_MAX: none will come. */
    uint64_t (*tick_due)(void *context);
    /* A tick is due. */
    void (*tick)(void *context, uint64_t now_ns);
    /* As tick_due, for work between ticks. */
    uint64_t (*deadline)(void *context);
    void (*on_deadline)(void *context, uint64_t now_ns);
    /* The watched descriptor is readable. */
    void (*readable)(void *context, uint64_t now_ns);
    /* A signal of the set came. */
    void (*on_signal)(void *context, int signo);
};

struct loop;

/*
 * 'signals' (may be NULL) must be blocked in every thread by the caller; 'fd' may be -1. 0 or
 * -errno.
 */
int loop_new(const struct loop_callbacks *callbacks, void *context, const sigset_t *signals, int fd,
             struct loop **out);
void loop_free(struct loop *loop);

/* Runs until loop_stop. 0, or -errno when the kernel's calls fail. */
int loop_run(struct loop *loop);
/* From a callback, or from any thread. */
void loop_stop(struct loop *loop);

uint64_t loop_now_ns(void);
uint64_t loop_wall_ns(void);

/*
 * When ticks are due: drift-free, with missed ones counted. Pure; time comes in.
 *
 * Tick n is due at start + n * interval, whenever tick n - 1 really ran. A tick that comes so late
 * that the next ones are due as well swallows them: they count as missed.
 */

struct ticker {
    uint64_t interval_ns;
    uint64_t due_ns; /* CLOCK_MONOTONIC of the next tick */
    uint64_t number; /* of the last tick taken */
    uint64_t missed;
};

/* The first tick is due one interval after now_ns. */
void ticker_init(struct ticker *ticker, uint64_t interval_ns, uint64_t now_ns);

/* False when no tick is due yet. Otherwise *out is the tick, and the next one is due later than
 * now. */
bool ticker_take(struct ticker *ticker, uint64_t now_ns, uint64_t wall_ns, struct tick *out);

#endif
