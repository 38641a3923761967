/*
 * The HTTP server: libmicrohttpd with epoll (with TLS: poll), one thread per listener. Knows bytes,
 * not metrics.
 *
 * Limits on connections, time and request size are enforced here; 400, 404, 405, 413, 414, 431 and
 * 503 are answered here where no handler needs to see the request. HEAD is answered as GET without
 * a body; POST only where a route is for it.
 *
 * A web_config_file (web_config/config.h) brings TLS, client certificates, passwords, headers and a
 * rate limit: 401, 429, and 500 while the file is wrong.
 *
 * Every client is let in: when connections run short, the address that has most loses the one that
 * was idle longest, and when none is idle, the slowest reader. An address has at most a quarter of
 * the connections, and three quarters of the places for limited requests. A response that is not
 * taken within the timeout is cut off as soon as another client asks for something, and so is the
 * oldest one when slow readers hold too many different bodies in memory. What the kernel holds for
 * clients is bounded too, also behind connections that are closed. So the server's descriptors and
 * memory stay bounded, and a scraper gets its answer whatever other clients do.
 */
#ifndef IE_HTTP_HTTP_H
#define IE_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/log.h"

/* The server uses up to max_connections descriptors, plus about six for each listener. */
enum { HTTP_DEFAULT_CONNECTIONS = 256, HTTP_DEFAULT_TIMEOUT_SECONDS = 20 };

struct http_request {
    const char *path;
    bool post;
    const char *accept;          /* NULL: not sent */
    const char *accept_encoding; /* NULL: not sent */
    bool local;                  /* from this machine: loopback, or a unix socket */
    bool known;                  /* with a password, or a certificate that was verified */
    /* All values of a query argument ("collect[]"), at most cap; returns how many there are. */
    size_t (*query)(const struct http_request *request, const char *name, const char **values,
                    size_t cap);
    /* The names and values of all of them, in the same way; values are "" where there is none. */
    size_t (*arguments)(const struct http_request *request, const char **names, const char **values,
                        size_t cap);
    void *connection; /* the server's own */
};

/* Filled in by a handler; all zero before. Bytes and content_type stay valid until
 * release(release_context) is called, once. A status left at 0 is answered as 500. */
struct http_response {
    int status;
    const char *content_type;
    const char *content_encoding; /* "gzip", or NULL */
    const void *bytes;
    size_t len;
    void (*release)(void *context); /* may be NULL */
    void *release_context;
    /* The same bytes as a sealed memory file, which stays release_context's: for a server in
     * another process. 0 or -errno. NULL: they are copied into one each time. */
    int (*file)(void *release_context, int *fd);
    const char *format; /* for the request counter's label: "text", "openmetrics", "protobuf",
                           "json", "html" */
};

/* Called on the server's thread; must not block. */
typedef void (*http_handler)(void *context, const struct http_request *request,
                             struct http_response *response);

struct http_route {
    const char *path;    /* exact match */
    const char *handler; /* for the request counter's label, e.g. "metrics" */
    http_handler handle;
    bool limited; /* counted against max_requests; beyond that it is answered 503 */
    bool post;    /* for POST, without a body, but not by a page of another site; else for GET and
                     HEAD. A path may have both */
};

struct http_config {
    const char *const *listen; /* "ADDR:PORT", ":PORT", "[V6]:PORT"; port 0: any */
    size_t n_listen;
    bool systemd_socket; /* take LISTEN_FDS instead; they are closed at the end */
    const int *sockets;  /* NULL: as above; else of http_listen, the server's from then on */
    size_t n_sockets;
    unsigned max_requests;       /* concurrent requests of limited routes; 0: no limit */
    unsigned max_connections;    /* for all listeners together, at least 8 each; 0: the default */
    unsigned timeout_seconds;    /* idle connections and slow readers; 0: the default */
    const char *web_config_file; /* NULL: neither TLS nor passwords */
    const struct http_route *routes; /* must outlive the server */
    size_t n_routes;
    void *context; /* for the handlers */
    /* Called after each answer, on the server's threads; may be NULL. 'handler' is a route's or
     * "other". */
    void (*answered)(void *context, const char *handler, const char *format, int code);
    const struct log *log;
};

enum { HTTP_SOCKETS_MAX = 64 };

/* Opens the listening sockets that a configuration names, for a server elsewhere: the caller closes
 * them. -EADDRINUSE, -EINVAL, ... with the message naming the address in error. */
int http_listen(const struct http_config *config, int sockets[HTTP_SOCKETS_MAX], size_t *n,
                char *error, size_t error_size);
/* The port of a listening socket; 0 when it has none. */
uint16_t http_listen_port(int fd);

struct http_server;

/* -EADDRINUSE, -EINVAL, ... with the message naming the address in error. */
int http_server_start(const struct http_config *config, struct http_server **out, char *error,
                      size_t error_size);
/* Ends within 100 ms, open connections included; where a password is being checked, within the time
 * of that. Accepts NULL. */
void http_server_stop(struct http_server *server);
/* The port of the i-th listener, for tests with port 0; 0 when there is none. */
uint16_t http_server_port(const struct http_server *server, size_t i);

/* Requests answered so far, by (handler, format, code), for interference_exporter_http_requests.
 * Any thread. Calls 'each' with the server's lock not held. Unknown paths have handler "other".
 * Bytes that are no request at all are not counted. */
void http_server_requests(const struct http_server *server,
                          void (*each)(void *context, const char *handler, const char *format,
                                       int code, uint64_t count),
                          void *context);

/* The absolute path in "unix:PATH", as a part of the text; NULL: it is none, or too long for a
 * socket. Pure. */
const char *http_unix_path(const char *text);

/* Splits "ADDR:PORT", "[V6]:PORT" ("[V4]:PORT", too) or ":PORT" (an empty address: any). 0 or
 * -EINVAL. Pure; the address is a host name or a numeric address without brackets. */
int http_parse_listen(const char *text, char *address, size_t address_size, uint16_t *port);

/*
 * What a container runtime's health check asks: whether a server on this machine or elsewhere is
 * well. The only client here; a program of its own run, with no threads.
 */

/*
 * Asks the server at "ADDR:PORT" (http_parse_listen; no address: this machine) or "unix:PATH" for
 * /-/healthy, and waits for a few seconds at most. 'connects': whether it accepts a connection is
 * enough, for a server that speaks TLS or asks for a password. 0, -EPROTO for an answer other than
 * 200, or another -errno.
 */
int healthcheck(const char *listen, bool connects);

#endif
