#include "exporter/front/front.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/base/log.h"
#include "exporter/base/whole.h"
#include "exporter/front/keeper.h"
#include "exporter/front/message.h"
#include "exporter/front/server_counts.h"
#include "exporter/service/channel.h"
#include "exporter/service/supervisor.h"

enum { START_TIMEOUT_MS = 10000 };

struct front {
    pid_t keeper;
    int control, requests; /* the reader's ends; -1: closed */
    struct server_counts *counts;
    struct front_config config;
    uint16_t ports[HTTP_SOCKETS_MAX];
    size_t n_ports;
    /* The dispatcher. */
    pthread_t dispatcher;
    bool has_desk;
    atomic_bool ending;
    bool complained;
    struct request_message request;
    char bytes[MESSAGE_MAX];
};

/* ---- the dispatcher ---- */

/* The reader's side: a thread that answers what the server's process passes on. */

static size_t query(const struct http_request *request, const char *name, const char **values,
                    size_t cap)
{
    const struct request_message *message = request->connection;
    size_t n = 0;
    for (size_t i = 0; i < message->n_arguments; i++) {
        if (strcmp(message->arguments[i].name, name) != 0)
            continue;
        if (n < cap)
            values[n] = message->arguments[i].value;
        n++;
    }
    return n;
}

static void handle(struct front *front, struct http_response *response)
{
    const struct http_config *http = &front->config.http;
    const struct http_route *route = &http->routes[front->request.route];
    const struct http_request request = {
        .path = route->path,
        .post = route->post,
        .accept = front->request.accept,
        .accept_encoding = front->request.accept_encoding,
        .local = front->request.local,
        .known = front->request.known,
        .query = query,
        .connection = &front->request,
    };
    *response = (struct http_response){0};
    route->handle(http->context, &request, response);
    if (response->status == 0)
        response->status = 500;
}

/* The body's own file where it has one, so that a page is copied once and not for each client. */
static int body_file(const struct http_response *response, int *fd, bool *ours)
{
    *ours = !response->file;
    return response->file ? response->file(response->release_context, fd)
                          : sealed_file_new(response->bytes, response->len, fd);
}

static int reply(const struct front *front, const struct http_response *response)
{
    struct reply_message message = {
        .id = front->request.id,
        .status = (uint16_t)response->status,
        .has_fd = response->len > MESSAGE_INLINE_MAX,
        .len = response->len,
        .content_type = response->content_type ? response->content_type : "text/plain",
        .content_encoding = response->content_encoding,
        .format = response->format ? response->format : "text",
        .body = response->bytes,
    };
    char bytes[2 * MESSAGE_INLINE_MAX];
    int fd = -1, err = 0;
    bool ours = false;
    if (message.has_fd)
        err = body_file(response, &fd, &ours);
    if (err)
        return err;
    int len = reply_message_write(&message, bytes, sizeof bytes);
    err = len < 0 ? len
                  : channel_send(front->requests, bytes, (size_t)len, &fd, message.has_fd ? 1 : 0);
    if (ours && fd >= 0)
        close(fd);
    return err;
}

static void refuse(const struct front *front)
{
    const struct http_response failed = {
        .status = 500, .bytes = "500 internal error\n", .len = sizeof "500 internal error\n" - 1};
    reply(front, &failed);
}

/* The server's process is told no more than that something failed. */
static void answer(struct front *front, size_t len)
{
    struct http_response response;
    int err = request_message_read(front->bytes, len, &front->request);
    if (err || front->request.route >= front->config.http.n_routes) {
        if (!front->complained)
            log_error(front->config.http.log, "front",
                      "the server's process sent what is no request (logged once)");
        front->complained = true;
        return;
    }
    handle(front, &response);
    err = reply(front, &response);
    if (response.release)
        response.release(response.release_context);
    if (err && err != -EPIPE)
        refuse(front);
}

static void *work(void *context)
{
    struct front *front = context;
    for (;;) {
        size_t no_fds = 0;
        int n =
            channel_receive(front->requests, -1, front->bytes, sizeof front->bytes, NULL, &no_fds);
        if (n > 0)
            answer(front, (size_t)n);
        else if (n == 0 || n == -ECONNRESET)
            break;
    }
    if (!atomic_load(&front->ending) && front->config.lost)
        front->config.lost(front->config.lost_context);
    return NULL;
}

/* 0 or -errno. */
static int start_desk(struct front *front)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = -pthread_create(&front->dispatcher, NULL, work, front);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    front->has_desk = !err;
    return err;
}

/* ---- the fork ---- */

int front_fork(const char *web_config_file, const struct log *log, struct front **out, int *status)
{
    int control = -1, requests[2] = {-1, -1};
    pid_t keeper = 0;
    struct front *front = calloc(1, sizeof *front);
    struct server_counts *counts = server_counts_new();
    int err = front && counts ? channel_open(requests) : -ENOMEM;
    if (!err)
        err = supervisor_fork(&control, &keeper);
    if (err > 0) {
        free(front);
        *status = keeper_run(control, requests[1], counts, web_config_file, log);
        server_counts_free(counts);
        return 1;
    }
    if (requests[1] >= 0)
        close(requests[1]);
    if (err) {
        if (requests[0] >= 0)
            close(requests[0]);
        server_counts_free(counts);
        free(front);
        return err;
    }
    front->keeper = keeper;
    front->control = control;
    front->requests = requests[0];
    front->counts = counts;
    *out = front;
    return 0;
}

/* ---- the start ---- */

static int send_start(const struct front *front, const int *sockets, size_t n)
{
    const struct http_config *http = &front->config.http;
    struct start_message message = {.max_requests = http->max_requests,
                                    .max_connections = http->max_connections,
                                    .timeout_seconds = http->timeout_seconds,
                                    .n_routes = http->n_routes};
    for (size_t i = 0; i < http->n_routes && i < MESSAGE_ROUTES_MAX; i++) {
        message.routes[i].path = http->routes[i].path;
        message.routes[i].handler = http->routes[i].handler;
        message.routes[i].limited = http->routes[i].limited;
        message.routes[i].post = http->routes[i].post;
    }
    char bytes[8192];
    int len = start_message_write(&message, bytes, sizeof bytes);
    return len < 0 ? len : channel_send(front->control, bytes, (size_t)len, sockets, n);
}

/* Its error and its words, as keeper.c sends them. */
static int wait_for_server(const struct front *front, char *error, size_t error_size)
{
    char bytes[512];
    int err;
    size_t no_fds = 0;
    int n = channel_receive(front->control, START_TIMEOUT_MS, bytes, sizeof bytes, NULL, &no_fds);
    if (n <= (int)sizeof err || bytes[n - 1] != '\0') {
        snprintf(error, error_size, "the HTTP server's process did not start");
        return n < 0 ? n : -EIO;
    }
    memcpy(&err, bytes, sizeof err);
    if (err)
        snprintf(error, error_size, "%s", bytes + sizeof err);
    return err > 0 ? -EIO : err;
}

int front_start(struct front *front, const struct front_config *config, char *error,
                size_t error_size)
{
    int sockets[HTTP_SOCKETS_MAX];
    size_t n;
    front->config = *config;
    int err = http_listen(&config->http, sockets, &n, error, error_size);
    if (err)
        return err;
    err = start_desk(front);
    if (!err)
        err = send_start(front, sockets, n);
    if (!err)
        err = wait_for_server(front, error, error_size);
    for (size_t i = 0; i < n; i++) {
        front->ports[i] = http_listen_port(sockets[i]);
        close(sockets[i]);
    }
    front->n_ports = n;
    if (err && !error[0])
        snprintf(error, error_size, "cannot start the HTTP server: %s", strerror(-err));
    return err;
}

/* ---- the end ---- */

/* Ends the thread, and with it the channel. */
void front_stop(struct front *front)
{
    if (!front || !front->has_desk)
        return;
    atomic_store(&front->ending, true);
    shutdown(front->requests, SHUT_RDWR);
    pthread_join(front->dispatcher, NULL);
    front->has_desk = false;
}

void front_free(struct front *front)
{
    if (!front)
        return;
    front_stop(front);
    close(front->requests);
    close(front->control);
    if (!supervisor_wait(front->keeper, 1000)) { /* not much longer than it waits for the server */
        kill(front->keeper, SIGKILL);
        waitpid(front->keeper, NULL, 0);
    }
    server_counts_free(front->counts);
    free(front);
}

/* ---- what it knows ---- */

pid_t front_keeper(const struct front *front)
{
    return front ? front->keeper : 0;
}

uint16_t front_port(const struct front *front, size_t i)
{
    return i < front->n_ports ? front->ports[i] : 0;
}

struct each_request {
    const struct front *front;
    void (*each)(void *context, const char *handler, const char *format, int code, uint64_t count);
    void *context;
};

static void tell_request(void *context, size_t route, const char *format, int code, uint64_t count)
{
    const struct each_request *told = context;
    const struct http_config *http = &told->front->config.http;
    told->each(told->context, route < http->n_routes ? http->routes[route].handler : "other",
               format, code, count);
}

void front_requests(const struct front *front,
                    void (*each)(void *context, const char *handler, const char *format, int code,
                                 uint64_t count),
                    void *context)
{
    struct each_request told = {.front = front, .each = each, .context = context};
    server_counts_read(front->counts, front->config.http.n_routes, tell_request, &told);
}

void front_log_dropped(const struct front *front, uint64_t dropped[LOG_DROPS])
{
    server_counts_add_log_dropped(front->counts, dropped);
}
