/*
 * Log lines on a file descriptor, logfmt or JSON.
 *
 * A line is one write(2), so threads may share a struct log. Logging never waits and never fails
 * its caller: a line that cannot be written at once is dropped, and so is one that comes too often
 * where there are limits.
 */
#ifndef IE_BASE_LOG_H
#define IE_BASE_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/log_limits.h"

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
