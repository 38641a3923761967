/*
 * Requests by (route, format, code), and log lines that were dropped, counted by the server's
 * process (and its keeper) in memory that the reader sees too. The reader believes nothing but
 * numbers in range. In the same memory the server shows its keeper that it goes on.
 */
#ifndef IE_FRONT_SERVER_COUNTS_H
#define IE_FRONT_SERVER_COUNTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/log.h"

enum { SERVER_COUNTS_CELLS = 256 };

struct server_counts {
    struct {
        _Atomic uint64_t key; /* 0: free */
        _Atomic uint64_t count;
    } cells[SERVER_COUNTS_CELLS];
    _Atomic uint64_t log_dropped[LOG_DROPS];
    _Atomic uint64_t beats; /* of servers' first threads, once a second */
};

/* Zeroed memory that children share, or NULL without any. */
struct server_counts *server_counts_new(void);
/* Accepts NULL. */
void server_counts_free(struct server_counts *counts);

/* 'route' is an index, or the number of routes for any other path. Any thread of one process at a
 * time. Formats that are none of the server's are not counted. */
void server_counts_add(struct server_counts *counts, size_t route, const char *format, int code);

/* Calls 'each' for what was counted on at most n_routes routes, and on other paths (route ==
 * n_routes); 'format' is a constant. Any thread. */
void server_counts_read(const struct server_counts *counts, size_t n_routes,
                        void (*each)(void *context, size_t route, const char *format, int code,
                                     uint64_t count),
                        void *context);

/* Adds the lines that were dropped. Any thread. */
void server_counts_add_log_dropped(const struct server_counts *counts, uint64_t dropped[LOG_DROPS]);

/* The constant that equals 'format', or NULL. Pure. */
const char *server_counts_format(const char *format);

#endif
