/*
 * The server's parts; for the files of this folder only.
 *
 * A listener is one daemon of libmicrohttpd with one thread; its list of connections is touched
 * by that thread alone. What listeners share is atomic or under the server's lock.
 */
#ifndef IE_HTTP_INTERNAL_H
#define IE_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

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

void request_counts_add(struct request_counts *counts, const char *handler, const char *format,
                        int code);

/* Bounds what the kernel holds for each connection that is accepted from now on. */
void listen_bound(int fd, unsigned timeout_seconds);
/* The same for one connection; for sockets that do not inherit it. */
void listen_bound_connection(int fd);
/* A listening socket, non-blocking. On failure error says what and where. */
int listen_open(const char *text, int *out, char *error, size_t error_size);

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

/* What is remembered of the connection; NULL: there was no room. */
static inline struct connection *tracked(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* What --web.config.file has to say about a request: whether it is let in, and with which headers
 * it is answered. In the order of the exporter-toolkit: the file, the rate limit, the headers, the
 * password. */
struct gate {
    struct web_snapshot *snapshot; /* NULL: no headers */
    bool known; /* the client gave a password, or a certificate that was verified */
};

enum { GATE_OPEN = 0, GATE_WAIT = -1 };

/*
 * GATE_OPEN, the status to refuse with, or GATE_WAIT: the connection is suspended, and the request
 * will come again, with *waited as it is left here. A request with a body, which gets no page in
 * any case, never waits.
 */
int gate_enter(struct gate *gate, struct listener *listener, struct MHD_Connection *connection,
               bool body, bool *waited);
bool gate_add_headers(const struct gate *gate, struct MHD_Response *response);
/* After the answer; not after GATE_WAIT. */
void gate_leave(struct gate *gate);

/* A TLS connection that begins, and one that has ended. */
void gate_session(struct listener *listener, struct MHD_Connection *connection,
                  struct connection *track);
void gate_session_end(struct connection *track);

/* How a request waits. */
extern const struct passwords_ops gate_ops;

/* The callbacks of libmicrohttpd; the closure is a struct listener. */
enum MHD_Result answer_request(void *closure, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **request);
void answer_completed(void *closure, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode why);
void answer_connection(void *closure, struct MHD_Connection *connection, void **socket_context,
                       enum MHD_ConnectionNotificationCode what);

/*
 * Requests that two programs could understand in two ways, and ones that cannot be answered.
 *
 * A proxy before the exporter decides by what it reads in a request; so does the exporter. What may
 * be read otherwise there (two lengths, an escaped path, no host) is refused here, and the
 * connection closed.
 */

/* What is known of a request before its headers are: the library keeps it with the request. */
enum {
    REQUEST_UNCLEAR = 1,  /* a percent sign in the path, or a space */
    REQUEST_ANSWERED = 2, /* by request_begins() */
    REQUEST_SEEN = 4,     /* the headers were looked at */
    REQUEST_WAITED = 8,   /* at the gate */
    REQUEST_LENGTH_SHIFT = 4
};

/* Of MHD_OPTION_URI_LOG_CALLBACK; the closure is the listener. The result holds the flags above,
 * and from REQUEST_LENGTH_SHIFT on the length of 'uri'. Answers 414 to more arguments than the
 * library has memory for, which would get no answer at all; within TLS there is none, but the
 * connection ends at once. */
void *request_begins(void *closure, const char *uri, struct MHD_Connection *connection);

/* Whether it is to be refused; 'begun' is what request_begins() returned. */
bool request_is_ambiguous(struct MHD_Connection *connection, const void *begun, const char *url,
                          const char *version);

#endif
