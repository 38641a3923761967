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
#include "exporter/front/tally.h"
#include "exporter/service/channel.h"
#include "exporter/service/supervisor.h"

/* ---- the desk ---- */

/*
 * The reader's side: a thread that answers what the server's process passes on.
 */

struct desk_config {
    int fd; /* the reader's end of a channel; borrowed */
    const struct http_route *routes;
    size_t n_routes;
    void *context; /* for the routes' handlers */
    /* Nobody is at the other end any more. On the desk's thread, once; may be NULL. */
    void (*lost)(void *context);
    void *lost_context;
    const struct log *log;
};

struct desk;

struct desk {
    struct desk_config config;
    pthread_t thread;
    atomic_bool ending;
    bool complained;
    struct request_message request;
    char bytes[MESSAGE_MAX];
};

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

static void handle(struct desk *desk, struct http_response *response)
{
    const struct http_route *route = &desk->config.routes[desk->request.route];
    const struct http_request request = {
        .path = route->path,
        .post = route->post,
        .accept = desk->request.accept,
        .accept_encoding = desk->request.accept_encoding,
        .local = desk->request.local,
        .known = desk->request.known,
        .query = query,
        .connection = &desk->request,
    };
    *response = (struct http_response){0};
    route->handle(desk->config.context, &request, response);
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

static int reply(struct desk *desk, const struct http_response *response)
{
    struct reply_message message = {
        .id = desk->request.id,
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
                  : channel_send(desk->config.fd, bytes, (size_t)len, &fd, message.has_fd ? 1 : 0);
    if (ours && fd >= 0)
        close(fd);
    return err;
}

static void refuse(struct desk *desk)
{
    const struct http_response failed = {
        .status = 500, .bytes = "500 internal error\n", .len = sizeof "500 internal error\n" - 1};
    reply(desk, &failed);
}

/* The server's process is told no more than that something failed. */
static void answer(struct desk *desk, size_t len)
{
    struct http_response response;
    int err = request_message_read(desk->bytes, len, &desk->request);
    if (!err && desk->request.route >= desk->config.n_routes)
        err = -EBADMSG;
    if (err) {
        if (!desk->complained)
            log_error(desk->config.log, "front",
                      "the server's process sent what is no request (logged once)");
        desk->complained = true;
        return;
    }
    handle(desk, &response);
    err = reply(desk, &response);
    if (response.release)
        response.release(response.release_context);
    if (err && err != -EPIPE)
        refuse(desk);
}

static void *work(void *context)
{
    struct desk *desk = context;
    for (;;) {
        size_t no_fds = 0;
        int n =
            channel_receive(desk->config.fd, -1, desk->bytes, sizeof desk->bytes, NULL, &no_fds);
        if (n > 0)
            answer(desk, (size_t)n);
        else if (n == 0 || n == -ECONNRESET)
            break;
    }
    if (!atomic_load(&desk->ending) && desk->config.lost)
        desk->config.lost(desk->config.lost_context);
    return NULL;
}

/* 0 or -errno. The configuration's pointers are borrowed. */
static int desk_new(const struct desk_config *config, struct desk **out)
{
    struct desk *desk = calloc(1, sizeof *desk);
    if (!desk)
        return -ENOMEM;
    desk->config = *config;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = -pthread_create(&desk->thread, NULL, work, desk);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        free(desk);
        return err;
    }
    *out = desk;
    return 0;
}

/* Ends the thread, and with it the channel. Accepts NULL. */
static void desk_free(struct desk *desk)
{
    if (!desk)
        return;
    atomic_store(&desk->ending, true);
    shutdown(desk->config.fd, SHUT_RDWR);
    pthread_join(desk->thread, NULL);
    free(desk);
}

enum { START_TIMEOUT_MS = 10000 };

struct front {
    pid_t keeper;
    int control, requests; /* the reader's ends; -1: closed */
    struct tally *tally;
    struct desk *desk;
    struct front_config config;
    uint16_t ports[HTTP_SOCKETS_MAX];
    size_t n_ports;
};

/* ---- the fork ---- */

int front_fork(const char *web_config_file, const struct log *log, struct front **out, int *status)
{
    int control = -1, requests[2] = {-1, -1};
    pid_t keeper = 0;
    struct front *front = calloc(1, sizeof *front);
    struct tally *tally = tally_new();
    int err = front && tally ? channel_open(requests) : -ENOMEM;
    if (!err)
        err = supervisor_fork(&control, &keeper);
    if (err > 0) {
        const struct keeper_config config = {.control = control,
                                             .desk = requests[1],
                                             .tally = tally,
                                             .web_config_file = web_config_file,
                                             .log = log};
        free(front);
        *status = keeper_run(&config);
        tally_free(tally);
        return 1;
    }
    if (requests[1] >= 0)
        close(requests[1]);
    if (err) {
        if (requests[0] >= 0)
            close(requests[0]);
        tally_free(tally);
        free(front);
        return err;
    }
    *front = (struct front){
        .keeper = keeper, .control = control, .requests = requests[0], .tally = tally};
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
    const struct desk_config desk = {
        .fd = front->requests,
        .routes = config->http.routes,
        .n_routes = config->http.n_routes,
        .context = config->http.context,
        .lost = config->lost,
        .lost_context = config->lost_context,
        .log = config->http.log,
    };
    err = desk_new(&desk, &front->desk);
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

void front_stop(struct front *front)
{
    if (!front)
        return;
    desk_free(front->desk);
    front->desk = NULL;
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
    tally_free(front->tally);
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
    tally_read(front->tally, front->config.http.n_routes, tell_request, &told);
}

void front_log_dropped(const struct front *front, uint64_t dropped[LOG_DROPS])
{
    tally_add_log_dropped(front->tally, dropped);
}
