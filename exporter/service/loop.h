/*
 * The event loop: one thread, epoll, one timer, signals.
 *
 * Knows when to call, not what is done: the ticks' work is behind the callbacks. Between ticks it
 * serves one file descriptor (containers appearing) and one deadline (names arriving late).
 */
#ifndef IE_SERVICE_LOOP_H
#define IE_SERVICE_LOOP_H

#include <signal.h>
#include <stdint.h>

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

#endif
