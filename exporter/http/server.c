#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/http/internal.h"
#include "exporter/http/web_config/web.h"

/* Request line and headers must fit; more is answered with 414 or 431. */
static const size_t connection_memory = 16384;

/*
 * Without a descriptor for a new connection the daemon stops accepting until one is closed, which
 * for an idle connection may take its whole timeout. The daemon says so here, on its own thread;
 * also when no client is waiting, since the kernel looks for a descriptor first.
 */
static void log_daemon(void *context, const char *format, va_list args)
{
    struct listener *listener = context;
    char message[256];
    vsnprintf(message, sizeof message, format, args);
    message[strcspn(message, "\r\n")] = '\0';
    log_debug(listener->server->log, "http", "%s", message);
    struct pollfd waiting = {.fd = listener->fd, .events = POLLIN};
    if (strstr(format, "suspending accept") && poll(&waiting, 1, 0) > 0)
        connections_make_room(&listener->connections, clock_mono_ns());
}

/* The library cannot go on, and would end the process without a word. Nothing of ours is locked: it
 * calls this from nothing that we call with a lock held. */
static void end_with_words(void *log, const char *file, unsigned line, const char *reason)
{
    const char *words = reason ? reason : "no reason given";
    log_error(log, "http", "libmicrohttpd gave up: %.*s (%s:%u)", (int)strcspn(words, "\r\n"),
              words, file ? file : "", line);
    abort();
}

static int start_daemon(struct listener *listener)
{
    struct http_server *server = listener->server;
    /* A strict library refuses no more than request.c does (spaces, a missing Host), but up to 1.0
     * it sends the header of some refusals twice; the only one left is of a length that is none. */
    const int strict = 0;
    bool tls = server->web && web_has_tls(server->web) && !listener->local;
    /* In a handshake, libmicrohttpd 0.9.75 forgets that it waits for the client: by epoll it goes
     * round and round, by poll it asks the kernel each time. */
    unsigned flags =
        MHD_USE_ITC | MHD_USE_ERROR_LOG |
        (tls ? MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_TLS : MHD_USE_EPOLL_INTERNAL_THREAD) |
        (server->web ? MHD_ALLOW_SUSPEND_RESUME : 0);
    /* Sessions get credentials of their own as they begin; this is for those that got none. */
    struct MHD_OptionItem credentials[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)web_no_certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    errno = 0;
    listener->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, answer_request, listener, MHD_OPTION_EXTERNAL_LOGGER, log_daemon,
        listener, MHD_OPTION_URI_LOG_CALLBACK, request_begins, listener, MHD_OPTION_LISTEN_SOCKET,
        listener->fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
        MHD_OPTION_CONNECTION_LIMIT, listener->connections.limit, MHD_OPTION_CONNECTION_TIMEOUT,
        server->timeout_seconds, MHD_OPTION_NOTIFY_COMPLETED, answer_completed, listener,
        MHD_OPTION_NOTIFY_CONNECTION, answer_connection, listener, MHD_OPTION_STRICT_FOR_CLIENT,
        strict, MHD_OPTION_ARRAY, tls ? credentials : &credentials[1], MHD_OPTION_END);
    if (listener->daemon)
        return 0;
    listener->fd = -1; /* the library may have closed it */
    return errno ? -errno : -EIO;
}

static int open_web(struct http_server *server, const struct http_config *config, char *error,
                    size_t error_size)
{
    if (!config->web_config_file)
        return 0;
    int err =
        web_new(config->web_config_file, &gate_ops, config->log, &server->web, error, error_size);
    if (!err && web_has_tls(server->web) && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
        snprintf(error, error_size, "libmicrohttpd was built without TLS");
        err = -ENOTSUP;
    }
    return err;
}

/* Signals are for the thread that waits for them, never for the server's. */
static int start_daemons(struct http_server *server, char *error, size_t error_size)
{
    sigset_t all, before;
    int err = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < server->n_listeners && !err; i++)
        err = start_daemon(&server->listeners[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        snprintf(error, error_size, "cannot start the HTTP server: %s", strerror(-err));
    return err;
}

static bool is_unix(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &len) == 0 && address.ss_family == AF_UNIX;
}

static void take_sockets(struct http_server *server, const int *sockets)
{
    for (size_t i = 0; i < server->n_listeners; i++) {
        server->listeners[i].fd = sockets[i];
        server->listeners[i].port = http_listen_port(sockets[i]);
        server->listeners[i].local = is_unix(sockets[i]);
        listen_bound(sockets[i], server->timeout_seconds);
    }
}

static int share_limits(struct http_server *server, const struct http_config *config)
{
    unsigned all = config->max_connections ? config->max_connections : HTTP_DEFAULT_CONNECTIONS;
    unsigned each = all / (unsigned)server->n_listeners;
    server->timeout_seconds =
        config->timeout_seconds ? config->timeout_seconds : HTTP_DEFAULT_TIMEOUT_SECONDS;
    int err = 0;
    for (size_t i = 0; i < server->n_listeners; i++) {
        server->listeners[i].server = server;
        server->listeners[i].fd = -1;
        int one = connections_init(&server->listeners[i].connections, each > 8 ? each : 8,
                                   (uint64_t)server->timeout_seconds * 1000000000);
        err = one ? one : err;
    }
    return err;
}

static struct http_server *new_server(const struct http_config *config, size_t n)
{
    struct http_server *server = calloc(1, sizeof *server + n * sizeof *server->listeners);
    if (!server || pthread_mutex_init(&server->counts.lock, NULL)) {
        free(server);
        return NULL;
    }
    server->routes = config->routes;
    server->n_routes = config->n_routes;
    server->context = config->context;
    server->answered = config->answered;
    server->log = config->log;
    server->max_requests = config->max_requests;
    server->n_listeners = n;
    if (share_limits(server, config) == 0)
        return server;
    http_server_stop(server);
    return NULL;
}

static void close_all(const int *sockets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        close(sockets[i]);
}

int http_server_start(const struct http_config *config, struct http_server **out, char *error,
                      size_t error_size)
{
    int opened[HTTP_SOCKETS_MAX];
    const int *sockets = config->sockets;
    size_t n = config->n_sockets;
    int err = 0;
    if (!sockets) {
        err = http_listen(config, opened, &n, error, error_size);
        sockets = opened;
    }
    if (err)
        return err;
    struct http_server *server = new_server(config, n);
    if (!server) {
        close_all(sockets, n);
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    take_sockets(server, sockets);
    MHD_set_panic_func(end_with_words, (void *)(uintptr_t)config->log);
    err = open_web(server, config, error, error_size);
    if (!err)
        err = start_daemons(server, error, error_size);
    if (err) {
        http_server_stop(server);
        return err;
    }
    *out = server;
    return 0;
}

void http_server_stop(struct http_server *server)
{
    if (!server)
        return;
    if (server->web) /* a daemon may stop only when no request waits */
        passwords_stop(web_passwords(server->web));
    for (size_t i = 0; i < server->n_listeners; i++) {
        struct listener *listener = &server->listeners[i];
        if (listener->daemon)
            MHD_stop_daemon(listener->daemon);
        else if (listener->fd >= 0)
            close(listener->fd);
        connections_release(&listener->connections);
    }
    web_free(server->web);
    pthread_mutex_destroy(&server->counts.lock);
    free(server);
}

uint16_t http_server_port(const struct http_server *server, size_t i)
{
    return i < server->n_listeners ? server->listeners[i].port : 0;
}

void http_server_requests(const struct http_server *server,
                          void (*each)(void *context, const char *handler, const char *format,
                                       int code, uint64_t count),
                          void *context)
{
    struct request_count items[COUNTERS_CAP];
    struct request_counts *counts = (struct request_counts *)(uintptr_t)&server->counts;
    pthread_mutex_lock(&counts->lock);
    size_t n = counts->n;
    memcpy(items, counts->items, n * sizeof *items);
    pthread_mutex_unlock(&counts->lock);
    for (size_t i = 0; i < n; i++)
        each(context, items[i].handler, items[i].format, items[i].code, items[i].count);
}
