/*
 * The HTTP server in a process of its own, which holds nothing.
 *
 *   reader    the exporter: counters, containers, pages; opens the listening sockets, serves nobody
 *   keeper    its child: waits for the server and starts it again; one thread, no work
 *   server    the keeper's child: libmicrohttpd and whatever comes from strangers
 *
 * The two children are forked before the reader has anything that is worth taking, and give up
 * every privilege, file and system call that serving does not need (confine.h). The server passes
 * each request to the reader as a datagram; pages come back as sealed memory files that it maps
 * read-only. When the server dies, or has not moved for six seconds, its clients lose their
 * connections and the keeper starts another; when the keeper dies, the server goes with it and the
 * reader is told; when the reader ends, both end.
 */
#ifndef IE_FRONT_FRONT_H
#define IE_FRONT_FRONT_H

#include <sys/types.h>

#include "exporter/http/http.h"

struct front;

/*
 * Forks the keeper; for main, before there are threads. Returns 0 in the reader, 1 in the keeper
 * and in servers: these have done their work then, and end with *status. -errno. The file may be
 * NULL, and must outlive them.
 */
int front_fork(const char *web_config_file, const struct log *log, struct front **out, int *status);

struct front_config {
    /* Without 'answered'; handlers run on a thread of the reader. */
    struct http_config http;
    /* The keeper has ended, so that nobody serves any more. Any thread, once; may be NULL. */
    void (*lost)(void *context);
    void *lost_context;
};

/* In the reader: opens the listening sockets and waits until they are served. Errors as
 * http_server_start. */
int front_start(struct front *front, const struct front_config *config, char *error,
                size_t error_size);
/* No handler is called from then on. Accepts NULL. */
void front_stop(struct front *front);
/* Ends server and keeper, within a second. Accepts NULL. */
void front_free(struct front *front);

/* The keeper's process, which front_free() may have to end; 0: there is none. */
pid_t front_keeper(const struct front *front);
/* As http_server_port and http_server_requests. */
uint16_t front_port(const struct front *front, size_t i);
void front_requests(const struct front *front,
                    void (*each)(void *context, const char *handler, const char *format, int code,
                                 uint64_t count),
                    void *context);
/* Adds the log lines that server and keeper dropped since the start. */
void front_log_dropped(const struct front *front, uint64_t dropped[LOG_DROPS]);

#endif
