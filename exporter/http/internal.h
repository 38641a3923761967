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

#include "exporter/http/http.h"

enum connection_state {
    CONNECTION_IDLE,    /* between requests, or while one is coming in */
    CONNECTION_ACTIVE,  /* a response is going out */
    CONNECTION_LEAVING, /* shut down by us, to be closed by the daemon */
    CONNECTION_STATES
};

struct connection {
    struct connection *previous, *next; /* within its state, by age */
    enum connection_state state;
    int fd;
    uint64_t since_ns; /* in this state */
    const void *body;  /* of the response that is going out */
    size_t body_len;
    bool limited; /* counted against max_requests */
};

struct connection_list {
    struct connection *first, *last;
};

/* All connections of one listener. One thread. */
struct connections {
    struct connection_list lists[CONNECTION_STATES];
    unsigned n, limit;
    uint64_t timeout_ns;
};

/* NULL without memory: such a connection is served, but not tracked. Makes room when there are too
 * many: *evicted says whether another connection was closed for it. */
struct connection *connections_add(struct connections *all, int fd, uint64_t now_ns, bool *evicted);
void connections_remove(struct connections *all, struct connection *connection);
void connections_idle(struct connections *all, struct connection *connection, uint64_t now_ns);
void connections_active(struct connections *all, struct connection *connection, uint64_t now_ns,
                        const void *body, size_t body_len);
/* Closes the one that was idle longest, otherwise the slowest reader. */
bool connections_make_room(struct connections *all);
/* Cuts off responses older than the timeout, and the oldest of those that hold too much memory. */
void connections_hurry(struct connections *all, uint64_t now_ns);
/* Cuts off the slowest reader that holds a place for limited requests, and leaves the place to the
 * caller. False when none of them is slow. */
bool connections_take_place(struct connections *all, uint64_t now_ns);

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

/* A listening socket, non-blocking. On failure error says what and where. */
int listen_open(const char *text, int *out, char *error, size_t error_size);
/* The sockets that systemd passed: the first descriptor and their number. */
int listen_inherited(int *first, size_t *n, char *error, size_t error_size);
uint16_t listen_port(int fd);

struct MHD_Daemon;

struct listener {
    struct http_server *server;
    struct MHD_Daemon *daemon;
    int fd; /* owned by the daemon, once there is one */
    uint16_t port;
    struct connections connections;
};

struct http_server {
    const struct http_route *routes;
    size_t n_routes;
    void *context;
    const struct log *log;
    unsigned max_requests;
    unsigned timeout_seconds;
    atomic_uint limited; /* requests of limited routes under way */
    atomic_bool complained;
    struct request_counts counts;
    size_t n_listeners;
    struct listener listeners[];
};

#endif
