/*
 * The server's parts; for the files of this folder only.
 *
 * A listener is one daemon of libmicrohttpd with one thread; its list of connections is touched
 * by that thread alone. What listeners share is atomic or under the server's lock.
 */
#ifndef IE_HTTP_INTERNAL_H
#define IE_HTTP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "exporter/http/connections.h"
#include "exporter/http/http.h"

enum { COUNTERS_CAP = 256 };

struct request_count {
    const char *handler, *format;
    int code;
    uint64_t count;
};

/* Any thread. */
struct request_counts {
    pthread_mutex_t lock;
    struct request_count items[COUNTERS_CAP];
    size_t n;
};

int request_counts_init(struct request_counts *counts);
void request_counts_release(struct request_counts *counts);
void request_counts_add(struct request_counts *counts, const char *handler, const char *format,
                        int code);
/* Copies into out, which has room for COUNTERS_CAP; returns how many. */
size_t request_counts_read(struct request_counts *counts, struct request_count *out);

/* Bounds what the kernel holds for each connection that is accepted from now on. */
void listen_bound(int fd, unsigned timeout_seconds);
/* The same for one connection; for sockets that do not inherit it. */
void listen_bound_connection(int fd);
/*
 * A listening socket at this path, non-blocking, of mode 0600. In a directory of root's or of this
 * user's that nobody else may write to. What an earlier run has left there is replaced, if it is a
 * socket of this user's that nobody serves. It stays when this run ends.
 */
int listen_unix(const char *path, int *out, char *error, size_t error_size);
/* A listening socket, non-blocking. On failure error says what and where. */
int listen_open(const char *text, int *out, char *error, size_t error_size);
/* The sockets that systemd passed: the first descriptor and their number. */
int listen_inherited(int *first, size_t *n, char *error, size_t error_size);

struct MHD_Daemon;
struct web;

struct listener {
    struct http_server *server;
    struct MHD_Daemon *daemon;
    int fd; /* owned by the daemon, once there is one */
    uint16_t port;
    bool local; /* a unix socket: no TLS, nor passwords for this user's programs */
    struct connections connections;
};

struct http_server {
    const struct http_route *routes;
    size_t n_routes;
    void *context;
    void (*answered)(void *context, const char *handler, const char *format, int code);
    const struct log *log;
    struct web *web; /* NULL: no --web.config.file */
    unsigned max_requests;
    unsigned timeout_seconds;
    atomic_uint limited; /* requests of limited routes under way */
    atomic_bool complained;
    struct request_counts counts;
    size_t n_listeners;
    struct listener listeners[];
};

#endif
