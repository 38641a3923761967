/*
 * Log lines on a file descriptor, logfmt or JSON.
 *
 * A line is one write(2), so threads may share a struct log. Logging never waits and never fails
 * its caller: a line that cannot be written at once is dropped, and so is one that comes too often
 * where there are limits.
 *
 * Limits: each message (a constant format of a module) may appear LOG_BURST times, and then once in
 * LOG_REFILL_NS. A line that is let through again says how many were left out before it. Messages
 * beyond LOG_MESSAGES share one allowance.
 */
#ifndef IE_BASE_LOG_H
#define IE_BASE_LOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
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

/* Lines that this process dropped since the start. Any thread. NULL: none. */
void log_limits_read(struct log_limits *limits, uint64_t dropped[LOG_DROPS]);

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };

struct log {
    int fd;               /* borrowed; -1 discards everything */
    enum log_level level; /* lines below this level are discarded */
    enum log_format format;
    struct log_limits *limits; /* borrowed; NULL: none, for tests and tools */
};

/* 'module' is a short constant word such as "containers", 'format' a constant too: together they
 * are the message that the limits know. The text is escaped here. */
void log_write(const struct log *log, enum log_level level, const char *module, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

#define log_debug(log, ...) log_write((log), LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(log, ...) log_write((log), LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(log, ...) log_write((log), LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(log, ...) log_write((log), LOG_LEVEL_ERROR, __VA_ARGS__)

#endif
