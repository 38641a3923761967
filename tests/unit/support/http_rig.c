#include "tests/unit/support/http_rig.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/support/unit.h"

/* A server whose handlers keep count of what they gave out and got back. */

static void release_counted(void *context)
{
    struct http_rig *rig = context;
    atomic_fetch_add(&rig->released, 1);
}

static void serve_hello(void *context, const struct http_request *request,
                        struct http_response *response)
{
    struct http_rig *rig = context;
    static const char gzip[] = "gzip", text[] = "text/plain";
    bool packed = request->accept_encoding && strstr(request->accept_encoding, gzip);
    atomic_fetch_add(&rig->handed_out, 1);
    *response = (struct http_response){
        .status = 200,
        .content_type = text,
        .content_encoding = packed ? gzip : NULL,
        .bytes = request->accept ? "accepted\n" : "hello\n",
        .len = request->accept ? 9 : 6,
        .release = release_counted,
        .release_context = rig,
        .format = packed ? "openmetrics" : "text",
    };
}

static void serve_large(void *context, const struct http_request *request,
                        struct http_response *response)
{
    struct http_rig *rig = context;
    atomic_fetch_add(&rig->handed_out, 1);
    *response = (struct http_response){.status = 200,
                                       .content_type = "text/plain",
                                       .bytes = rig->large,
                                       .len = rig->large_len,
                                       .release = release_counted,
                                       .release_context = rig};
}

/* Each response with a body of its own. */
struct body {
    struct http_rig *rig;
    char bytes[HTTP_RIG_LARGE];
};

static void release_body(void *context)
{
    struct body *body = context;
    atomic_fetch_sub(&body->rig->live, 1);
    free(body);
}

static void serve_fresh(void *context, const struct http_request *request,
                        struct http_response *response)
{
    struct http_rig *rig = context;
    struct body *body = malloc(sizeof *body);
    if (!body)
        return;
    body->rig = rig;
    memset(body->bytes, 'f', sizeof body->bytes);
    int live = atomic_fetch_add(&rig->live, 1) + 1;
    if (live > atomic_load(&rig->most_live))
        atomic_store(&rig->most_live, live);
    *response = (struct http_response){.status = 200,
                                       .content_type = "text/plain",
                                       .bytes = body->bytes,
                                       .len = HTTP_RIG_LARGE,
                                       .release = release_body,
                                       .release_context = body};
}

static void serve_nothing(void *context, const struct http_request *request,
                          struct http_response *response)
{
    struct http_rig *rig = context;
    atomic_fetch_add(&rig->handed_out, 1);
    response->release = release_counted;
    response->release_context = rig;
}

/* Answers with the query. */
static void serve_query(void *context, const struct http_request *request,
                        struct http_response *response)
{
    static char text[512];
    const char *values[3] = {"-", "-", "-"};
    size_t n = request->query(request, "collect[]", values, 3);
    snprintf(text, sizeof text, "%zu %s %s %s\n", n, values[0], values[1], values[2]);
    *response = (struct http_response){
        .status = 200, .content_type = "text/plain", .bytes = text, .len = strlen(text)};
}

static const struct http_route routes[] = {
    {"/metrics", "metrics", serve_hello, true, false},
    {"/", "landing", serve_hello, false, false},
    {"/large", "large", serve_large, true, false},
    {"/fresh", "fresh", serve_fresh, false, false},
    {"/query", "query", serve_query, false, false},
    {"/nothing", "nothing", serve_nothing, false, false},
    {"/asked", "asked", serve_hello, false, true},
};

const struct http_route *http_rig_routes(size_t *n)
{
    *n = sizeof routes / sizeof *routes;
    return routes;
}

struct http_rig *http_rig_start(struct http_config config)
{
    static const char *const listen[] = {"127.0.0.1:0"};
    char error[256] = "";
    struct http_rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig->large_len = HTTP_RIG_LARGE;
    rig->large = calloc(1, rig->large_len);
    assert_non_null(rig->large);
    if (!config.listen) {
        config.listen = listen;
        config.n_listen = 1;
    }
    config.routes = http_rig_routes(&config.n_routes);
    config.context = rig;
    if (http_server_start(&config, &rig->server, error, sizeof error))
        fail_msg("%s", error);
    rig->port = http_server_port(rig->server, 0);
    assert_true(rig->port > 0);
    return rig;
}

void http_rig_stop(struct http_rig *rig)
{
    http_server_stop(rig->server);
    assert_int_equal(atomic_load(&rig->released), atomic_load(&rig->handed_out));
    assert_int_equal(atomic_load(&rig->live), 0);
    free(rig->large);
    free(rig);
}

/* A client. */

double http_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int http_dial(uint16_t port)
{
    return http_dial_from(1, 0, port);
}

int http_dial_from(unsigned host, int buffer_bytes, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct sockaddr_in own = {.sin_family = AF_INET,
                                    .sin_addr = {htonl(INADDR_LOOPBACK - 1 + host)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (buffer_bytes > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof own), 0);
    assert_true(fd >= 0);
    const struct timeval patience = {60, 0}; /* a hang fails the test */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    /* What a server does at once may come before this thread runs again: an end, a reset, both. */
    bool is_connected = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
                        errno == ECONNRESET || errno == EPIPE;
    if (!is_connected)
        fail_msg("connect: %s", strerror(errno));
    return fd;
}

int http_send(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0)
            return -errno;
        bytes += sent;
        n -= (size_t)sent;
    }
    return 0;
}

bool http_receive(int fd, bool head_only, struct http_reply *reply)
{
    size_t n = 0;
    *reply = (struct http_reply){0};
    while (n < sizeof reply->head - 1 && !strstr(reply->head, "\r\n\r\n"))
        if (recv(fd, reply->head + n, 1, 0) == 1)
            n++;
        else
            return false;
    if (sscanf(reply->head, "HTTP/1.%*d %d", &reply->status) != 1)
        return false;
    const char *length = strcasestr(reply->head, "Content-Length:");
    size_t promised = length ? strtoul(length + 15, NULL, 10) : SIZE_MAX;
    if (head_only)
        return true;
    while (reply->body_len < promised) {
        size_t room = sizeof reply->body - 1 - reply->body_len;
        if (room > promised - reply->body_len)
            room = promised - reply->body_len;
        if (room == 0)
            return false;
        ssize_t got = recv(fd, reply->body + reply->body_len, room, 0);
        if (got <= 0)
            return length == NULL && got == 0;
        reply->body_len += (size_t)got;
    }
    return true;
}

struct http_reply http_ask(uint16_t port, const char *request)
{
    struct http_reply reply = {0};
    int fd = http_dial(port);
    http_send(fd, request, strlen(request));
    http_receive(fd, strncmp(request, "HEAD", 4) == 0, &reply);
    close(fd);
    return reply;
}

void http_assert_served(struct http_rig *rig)
{
    struct http_reply reply = http_ask(rig->port, HTTP_GET("/metrics"));
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "hello\n");
}

void http_assert_closed(int fd)
{
    char bytes[65536];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        ;
    assert_true(n == 0 || errno == ECONNRESET);
    close(fd);
}
