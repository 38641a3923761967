/*
 * How often a message is logged, and what was left out.
 *
 * Each message (a constant format of a module) may appear LOG_BURST times, and then once in
 * LOG_REFILL_NS. A line that is let through again says how many were left out before it. Messages
 * beyond LOG_MESSAGES share one allowance.
 */
#ifndef IE_BASE_LOG_LIMITS_H
#define IE_BASE_LOG_LIMITS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOG_BURST = 32, LOG_MESSAGES = 128 };
#define LOG_REFILL_NS UINT64_C(10000000000)

enum log_drop {
    LOG_DROPPED_RATE,    /* it came too often */
    LOG_DROPPED_BLOCKED, /* nobody takes the lines, or writing failed */
    LOG_DROPS
};

/* As in the label reason. */
const char *log_drop_name(enum log_drop why);

struct log_message {
    const char *module, *format; /* NULL: free */
    unsigned tokens;
    uint64_t since_ns; /* of the last refill */
    uint64_t dropped;  /* since the last line that was let through */
};

struct log_limits {
    pthread_mutex_t lock; /* of all below; held while a line is written, which never blocks */
    struct log_message messages[LOG_MESSAGES + 1];
    uint64_t dropped[LOG_DROPS];
    _Atomic uint64_t *shared; /* LOG_DROPS counts of other processes' too; NULL: none */
};

/* 0 or -errno. */
int log_limits_init(struct log_limits *limits);
void log_limits_release(struct log_limits *limits);

/* With the lock held: whether a line may be written now, and how many were left out before it. */
bool log_limits_take(struct log_limits *limits, const char *module, const char *format,
                     uint64_t now_ns, uint64_t *dropped_before);

/* From now on also counts in memory that another process reads; borrowed. */
void log_limits_share(struct log_limits *limits, _Atomic uint64_t *shared);

/* With the lock held: a line is dropped. */
void log_limits_drop(struct log_limits *limits, enum log_drop why);

/* Lines that this process dropped since the start. Any thread. NULL: none. */
void log_limits_read(struct log_limits *limits, uint64_t dropped[LOG_DROPS]);

#endif
