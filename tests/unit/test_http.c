#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/http/http.h"

/* A server whose handlers keep count of what they gave out and got back. */

enum { LARGE = 8 << 20 };

struct fixture {
    struct http_server *server;
    uint16_t port;
    atomic_int handed_out, released, live, most_live;
    char *large;
    size_t large_len;
};

static void release_counted(void *context)
{
    struct fixture *f = context;
    atomic_fetch_add(&f->released, 1);
}

static void serve_hello(void *context, const struct http_request *request,
                        struct http_response *response)
{
    struct fixture *f = context;
    static const char gzip[] = "gzip", text[] = "text/plain";
    bool packed = request->accept_encoding && strstr(request->accept_encoding, gzip);
    atomic_fetch_add(&f->handed_out, 1);
    *response = (struct http_response){
        .status = 200,
        .content_type = text,
        .content_encoding = packed ? gzip : NULL,
        .bytes = request->accept ? "accepted\n" : "hello\n",
        .len = request->accept ? 9 : 6,
        .release = release_counted,
        .release_context = f,
        .format = packed ? "openmetrics" : "text",
    };
}

static void serve_large(void *context, const struct http_request *request,
                        struct http_response *response)
{
    struct fixture *f = context;
    (void)request;
    atomic_fetch_add(&f->handed_out, 1);
    *response = (struct http_response){.status = 200,
                                       .content_type = "text/plain",
                                       .bytes = f->large,
                                       .len = f->large_len,
                                       .release = release_counted,
                                       .release_context = f};
}

/* Each response with a body of its own. */
struct body {
    struct fixture *f;
    char bytes[LARGE];
};

static void release_body(void *context)
{
    struct body *body = context;
    atomic_fetch_sub(&body->f->live, 1);
    free(body);
}

static void serve_fresh(void *context, const struct http_request *request,
                        struct http_response *response)
{
    struct fixture *f = context;
    (void)request;
    struct body *body = malloc(sizeof *body);
    if (!body)
        return;
    body->f = f;
    memset(body->bytes, 'f', sizeof body->bytes);
    int live = atomic_fetch_add(&f->live, 1) + 1;
    if (live > atomic_load(&f->most_live))
        atomic_store(&f->most_live, live);
    *response = (struct http_response){.status = 200,
                                       .content_type = "text/plain",
                                       .bytes = body->bytes,
                                       .len = LARGE,
                                       .release = release_body,
                                       .release_context = body};
}

static void serve_nothing(void *context, const struct http_request *request,
                          struct http_response *response)
{
    struct fixture *f = context;
    (void)request;
    atomic_fetch_add(&f->handed_out, 1);
    response->release = release_counted;
    response->release_context = f;
}

/* Answers with what it was asked. */
static void serve_query(void *context, const struct http_request *request,
                        struct http_response *response)
{
    static char text[512];
    const char *values[3] = {"-", "-", "-"};
    static const char *const known[] = {"collect[]"};
    size_t n = request->query(request, "collect[]", values, 3);
    (void)context;
    snprintf(text, sizeof text, "%zu %s %s %s %s\n", n, values[0], values[1], values[2],
             request->query_only(request, known, 1) ? "only" : "others");
    *response = (struct http_response){
        .status = 200, .content_type = "text/plain", .bytes = text, .len = strlen(text)};
}

static const struct http_route routes[] = {
    {"/metrics", "metrics", serve_hello, true}, {"/", "landing", serve_hello, false},
    {"/large", "large", serve_large, true},     {"/fresh", "fresh", serve_fresh, false},
    {"/query", "query", serve_query, false},    {"/nothing", "nothing", serve_nothing, false},
};

static struct fixture *start(struct http_config config)
{
    static const char *const listen[] = {"127.0.0.1:0"};
    char error[256] = "";
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->large_len = LARGE;
    f->large = calloc(1, f->large_len);
    assert_non_null(f->large);
    config.listen = listen;
    config.n_listen = 1;
    config.routes = routes;
    config.n_routes = sizeof routes / sizeof *routes;
    config.context = f;
    if (http_server_start(&config, &f->server, error, sizeof error))
        fail_msg("%s", error);
    f->port = http_server_port(f->server, 0);
    assert_true(f->port > 0);
    return f;
}

static void stop(struct fixture *f)
{
    http_server_stop(f->server);
    assert_int_equal(atomic_load(&f->released), atomic_load(&f->handed_out));
    assert_int_equal(atomic_load(&f->live), 0);
    free(f->large);
    free(f);
}

/* A client. */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int dial(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    const struct timeval patience = {60, 0}; /* a hang fails the test */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static int send_bytes(int fd, const char *bytes, size_t n)
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

struct reply {
    int status;
    char head[4096];
    char body[4096];
    size_t body_len;
};

/* One response: the head, and as many bytes as it promises (or all up to the end). */
static bool receive(int fd, bool head_only, struct reply *reply)
{
    size_t n = 0;
    *reply = (struct reply){0};
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

static struct reply ask(uint16_t port, const char *request)
{
    struct reply reply = {0};
    int fd = dial(port);
    send_bytes(fd, request, strlen(request));
    receive(fd, strncmp(request, "HEAD", 4) == 0, &reply);
    close(fd);
    return reply;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static void assert_served(struct fixture *f)
{
    struct reply reply = ask(f->port, GET("/metrics"));
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "hello\n");
}

static void assert_closed(int fd)
{
    char bytes[65536];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        ;
    assert_true(n == 0 || errno == ECONNRESET);
    close(fd);
}

/* Tests. */

static void test_parse_listen(void **state)
{
    (void)state;
    static const struct {
        const char *text, *address;
        uint16_t port;
    } good[] = {
        {":10066", "", 10066},           {"127.0.0.1:0", "127.0.0.1", 0},
        {"[::1]:65535", "::1", 65535},   {"[fe80::1%eth0]:80", "fe80::1%eth0", 80},
        {"localhost:9", "localhost", 9}, {"my-host.example_1:00080", "my-host.example_1", 80},
    };
    char address[64];
    uint16_t port;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(http_parse_listen(good[i].text, address, sizeof address, &port), 0);
        assert_string_equal(address, good[i].address);
        assert_int_equal(port, good[i].port);
    }
    static const char *const bad[] = {
        "",       "80",        ":",        "host:",   "host:65536",  "host:-1",   "host:8x",
        "::1:80", "[::1]",     "[]:80",    "[::1:80", "::1]:80",     "[host]:80", "a b:80",
        "a/b:80", "[::1]x:80", "h:000080", "\n:80",   "http://h:80", "[[::1]]:80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (http_parse_listen(bad[i], address, sizeof address, &port) != -EINVAL)
            fail_msg("took %s", bad[i]);
    assert_int_equal(http_parse_listen("abcd:1", address, 4, &port), -EINVAL);
    assert_int_equal(http_parse_listen("abc:1", address, 4, &port), 0);
}

static void test_get_and_head(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){0});
    struct reply reply = ask(f->port, GET("/metrics"));
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "hello\n");
    assert_non_null(strcasestr(reply.head, "Content-Type: text/plain\r\n"));
    assert_non_null(strcasestr(reply.head, "Vary: Accept, Accept-Encoding\r\n"));
    assert_non_null(strcasestr(reply.head, "X-Content-Type-Options: nosniff\r\n"));
    assert_null(strcasestr(reply.head, "Content-Encoding"));
    assert_null(strcasestr(reply.head, "Server:"));
    reply = ask(f->port, "GET / HTTP/1.1\r\nHost: h\r\nAccept: x\r\nAccept-Encoding: gzip\r\n\r\n");
    assert_string_equal(reply.body, "accepted\n");
    assert_non_null(strcasestr(reply.head, "Content-Encoding: gzip\r\n"));
    reply = ask(f->port, "GET /metrics HTTP/1.0\r\n\r\n");
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "hello\n");

    /* On one connection: after a HEAD nothing but the next response may come. */
    int fd = dial(f->port);
    for (int i = 0; i < 3; i++) {
        static const char head[] = "HEAD /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
        send_bytes(fd, head, sizeof head - 1);
        assert_true(receive(fd, true, &reply));
        assert_int_equal(reply.status, 200);
        assert_non_null(strcasestr(reply.head, "Content-Length: 6\r\n"));
        send_bytes(fd, GET("/"), strlen(GET("/")));
        assert_true(receive(fd, false, &reply));
        assert_string_equal(reply.body, "hello\n");
    }
    close(fd);
    stop(f);
}

static void test_query(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){0});
    static const char *const cases[][2] = {
        {GET("/query"), "0 - - - only\n"},
        {GET("/query?collect[]=a&collect%5B%5D=b%20c"), "2 a b c - only\n"},
        {GET("/query?collect[]"), "1  - - only\n"},
        {GET("/query?collect[]=1&collect[]=2&collect[]=3&collect[]=4"), "4 1 2 3 only\n"},
        {GET("/query?x=1&collect[]=a"), "1 a - - others\n"},
        {GET("/query?"), "0 - - - only\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(f->port, cases[i][0]);
        assert_string_equal(reply.body, cases[i][1]);
    }
    stop(f);
}

static void test_refusals(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){0});
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {GET("/other"), 404},
        {GET("/metrics/"), 404},
        {GET("/nothing"), 500},
        {"POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", 405},
        {"POST /other HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", 404},
        {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n", 405},
        {"DELETE / HTTP/1.1\r\nHost: h\r\n\r\n", 405},
        {"OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n", 405},
        {"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 405},
        {"get / HTTP/1.1\r\nHost: h\r\n\r\n", 405},
        {"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 405},
        {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", 413},
        {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\nhello", 413},
        {"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         413},
        {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\n\r\n", 400}, /* no Host */
        {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(f->port, cases[i].request);
        if (reply.status != cases[i].status)
            fail_msg("%d instead of %d for %s", reply.status, cases[i].status, cases[i].request);
        if (reply.status == 405)
            assert_non_null(strcasestr(reply.head, "Allow: GET, HEAD\r\n"));
        assert_null(strcasestr(reply.head, "Server:"));
        assert_served(f);
    }
    stop(f);
}

static void test_too_long(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){0});
    static char request[200000];
    char *filler = malloc(100001);
    assert_non_null(filler);
    memset(filler, 'a', 100000);
    filler[100000] = '\0';
    snprintf(request, sizeof request, "GET /%s HTTP/1.1\r\nHost: h\r\n\r\n", filler);
    assert_int_equal(ask(f->port, request).status, 414);
    assert_served(f);
    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n", filler);
    assert_int_equal(ask(f->port, request).status, 431);
    assert_served(f);
    /* Thousands of small headers. */
    size_t n = (size_t)snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 5000; i++)
        n += (size_t)snprintf(request + n, sizeof request - n, "H%d: v\r\n", i);
    snprintf(request + n, sizeof request - n, "\r\n");
    assert_int_equal(ask(f->port, request).status, 431);
    assert_served(f);
    free(filler);
    /* What a proxy with a fat token sends still passes. */
    filler = malloc(6001);
    assert_non_null(filler);
    memset(filler, 'b', 6000);
    filler[6000] = '\0';
    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: %s\r\n\r\n",
             filler);
    assert_int_equal(ask(f->port, request).status, 200);
    free(filler);
    stop(f);
}

/* Whatever bytes come, there is an answer or an end, and the next one is served. */
static void test_garbage(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){.timeout_seconds = 1});
    uint64_t random = 7;
    for (int i = 0; i < 60; i++) {
        char bytes[2048];
        for (size_t j = 0; j < sizeof bytes; j++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[j] = (char)(random >> 56);
        }
        static const char *const starts[] = {"",
                                             "GET / HTTP/1.1\r\n",
                                             "GET ",
                                             "\r\n\r\n",
                                             "GET /\x01\x02 HTTP/1.1\r\nHost: \xff\r\n",
                                             "\x16\x03\x01\x02"};
        size_t len = strlen(starts[i % 6]);
        memcpy(bytes, starts[i % 6], len);
        memcpy(bytes + sizeof bytes - 4, "\r\n\r\n", 4);
        int fd = dial(f->port);
        send_bytes(fd, bytes, sizeof bytes);
        shutdown(fd, SHUT_WR);
        assert_closed(fd);
        if (i % 10 == 0)
            assert_served(f);
    }
    assert_served(f);
    stop(f);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Those who connect and say nothing, or half of it, keep nobody out. */
static void test_idle_connections(void **state)
{
    (void)state;
    enum { IDLE = 1000 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < 2 * IDLE)
        skip();
    struct fixture *f = start((struct http_config){.timeout_seconds = 600});
    int before = open_descriptors();
    static int fds[IDLE];
    for (int i = 0; i < IDLE; i++) {
        fds[i] = dial(f->port);
        if (i % 2)
            send_bytes(fds[i], "GET /metrics HTTP/1.1\r\nHos", 26);
        if (i % 50 == 0)
            assert_served(f);
    }
    for (int i = 0; i < 20; i++)
        assert_served(f);
    assert_in_range(open_descriptors() - before, IDLE, IDLE + HTTP_DEFAULT_CONNECTIONS);
    assert_closed(fds[0]); /* the oldest went first */
    for (int i = 1; i < IDLE; i++)
        close(fds[i]);
    assert_served(f);
    stop(f);
}

/* Someone else took the last descriptors: who waits is served once there are some again. */
static void test_out_of_descriptors(void **state)
{
    (void)state;
    struct rlimit limit, low;
    getrlimit(RLIMIT_NOFILE, &limit);
    struct fixture *f = start((struct http_config){.timeout_seconds = 600});
    for (int with_other = 0; with_other < 2; with_other++) {
        int other = dial(f->port), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), n = 0;
        struct reply reply = {0};
        static int taken[256];
        if (with_other) {
            send_bytes(other, GET("/"), strlen(GET("/")));
            assert_true(receive(other, false, &reply));
        } else {
            close(other);
        }
        low = limit;
        low.rlim_cur = 200;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        while (n < 256 && (taken[n] = dup(fd)) >= 0)
            n++;
        const struct sockaddr_in address = {.sin_family = AF_INET,
                                            .sin_port = htons(f->port),
                                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
        assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
        send_bytes(fd, GET("/"), strlen(GET("/")));
        usleep(100000); /* the server finds that it cannot accept */
        while (n > 0)
            close(taken[--n]);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        double start_s = seconds();
        assert_true(receive(fd, false, &reply));
        print_message("           served after %.3f s\n", seconds() - start_s);
        close(fd);
        if (with_other)
            close(other);
    }
    stop(f);
}

static void test_too_many_requests(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){.max_requests = 2, .timeout_seconds = 600});
    int slow[2];
    struct reply reply;
    for (int i = 0; i < 2; i++) {
        slow[i] = dial(f->port);
        send_bytes(slow[i], GET("/large"), strlen(GET("/large")));
        assert_true(receive(slow[i], true, &reply)); /* the head only: it is under way */
        assert_int_equal(reply.status, 200);
    }
    reply = ask(f->port, GET("/metrics"));
    assert_int_equal(reply.status, 503);
    assert_non_null(strcasestr(reply.head, "Retry-After: "));
    assert_int_equal(ask(f->port, GET("/")).status, 200); /* not limited */
    close(slow[0]);
    while (ask(f->port, GET("/metrics")).status == 503) /* once the server has seen it close */
        ;
    assert_served(f);
    close(slow[1]);
    stop(f);
}

static void test_slow_readers(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){.timeout_seconds = 600});
    enum { SLOW = 40 };
    int fds[SLOW];
    struct reply reply;
    for (int i = 0; i < SLOW; i++) {
        fds[i] = dial(f->port);
        send_bytes(fds[i], GET("/fresh"), strlen(GET("/fresh")));
        assert_true(receive(fds[i], true, &reply));
        assert_int_equal(reply.status, 200);
        assert_served(f);
    }
    /* 64 MiB of bodies at most, one that is about to be judged, one whose end is not yet seen. */
    assert_in_range(atomic_load(&f->most_live), 2, 64 / 8 + 3);
    for (int i = 0; i < SLOW; i++)
        close(fds[i]);
    assert_served(f);
    stop(f);
}

/* Many readers of one page are no burden on memory: all of them are let finish. */
static void test_shared_body(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){.timeout_seconds = 600});
    enum { READERS = 30 };
    int fds[READERS];
    struct reply reply;
    for (int i = 0; i < READERS; i++) {
        fds[i] = dial(f->port);
        send_bytes(fds[i], GET("/large"), strlen(GET("/large")));
        assert_true(receive(fds[i], true, &reply));
    }
    assert_served(f);
    for (int i = 0; i < READERS; i++) {
        static char bytes[65536];
        size_t total = 0;
        while (total < LARGE) {
            ssize_t n = recv(fds[i], bytes, sizeof bytes, 0);
            assert_true(n > 0);
            total += (size_t)n;
        }
        close(fds[i]);
    }
    stop(f);
}

/* A reader that keeps taking a little, and so never is idle, is cut off too when its time is up. */
static void test_trickling_reader(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){.timeout_seconds = 1});
    static char bytes[131072];
    free(f->large);
    f->large_len = (size_t)20 * LARGE;
    f->large = calloc(1, f->large_len);
    assert_non_null(f->large);
    int fd = dial(f->port);
    send_bytes(fd, GET("/large"), strlen(GET("/large")));
    size_t total = 0;
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        const struct timespec pause = {0, 10000000};
        total += (size_t)n;
        nanosleep(&pause, NULL);
        assert_served(f);
    }
    assert_int_equal(n, -1);
    assert_int_equal(errno, ECONNRESET);
    assert_true(total < f->large_len);
    close(fd);
    stop(f);
}

static void test_idle_timeout(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){.timeout_seconds = 1});
    int silent = dial(f->port), half = dial(f->port), used = dial(f->port);
    struct reply reply;
    send_bytes(half, "GET / HT", 8);
    send_bytes(used, GET("/"), strlen(GET("/")));
    assert_true(receive(used, false, &reply));
    assert_closed(silent);
    assert_closed(half);
    assert_closed(used);
    stop(f);
}

/* Clients that leave early: no SIGPIPE, and every body comes back. */
static void test_early_leavers(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){0});
    for (int i = 0; i < 50; i++) {
        int fd = dial(f->port);
        send_bytes(fd, GET("/large"), strlen(GET("/large")));
        if (i % 2) {
            const struct linger hard = {1, 0}; /* RST */
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        }
        if (i % 3 == 0) {
            struct reply reply;
            receive(fd, true, &reply);
        }
        close(fd);
    }
    assert_served(f);
    stop(f);
}

static void test_stop_with_open_connections(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){.timeout_seconds = 600});
    int fds[30];
    struct reply reply;
    for (int i = 0; i < 30; i++) {
        fds[i] = dial(f->port);
        if (i % 3 == 0) {
            send_bytes(fds[i], GET("/large"), strlen(GET("/large")));
            assert_true(receive(fds[i], true, &reply));
        } else if (i % 3 == 1) {
            send_bytes(fds[i], "GET /", 5);
        }
    }
    double start_s = seconds();
    stop(f);
    double took = seconds() - start_s;
    assert_true(took < 5); /* 100 ms are promised; a machine under test may be busy */
    print_message("           stopped in %.1f ms\n", took * 1e3);
    for (int i = 0; i < 30; i++)
        assert_closed(fds[i]);
}

struct counted {
    uint64_t metrics_text, metrics_open, other_404, landing_405, all;
};

static void count(void *context, const char *handler, const char *format, int code, uint64_t n)
{
    struct counted *c = context;
    c->all += n;
    if (strcmp(handler, "metrics") == 0 && code == 200)
        *(strcmp(format, "text") == 0 ? &c->metrics_text : &c->metrics_open) += n;
    if (strcmp(handler, "other") == 0 && code == 404 && strcmp(format, "text") == 0)
        c->other_404 += n;
    if (strcmp(handler, "landing") == 0 && code == 405)
        c->landing_405 += n;
}

static void test_request_counts(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){0});
    for (int i = 0; i < 3; i++) {
        ask(f->port, GET("/metrics"));
        ask(f->port, GET("/x"));
    }
    ask(f->port, "GET /metrics HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n");
    ask(f->port, "DELETE / HTTP/1.1\r\nHost: h\r\n\r\n");
    struct counted counted = {0};
    http_server_requests(f->server, count, &counted);
    assert_int_equal(counted.metrics_text, 3);
    assert_int_equal(counted.metrics_open, 1);
    assert_int_equal(counted.other_404, 3);
    assert_int_equal(counted.landing_405, 1);
    assert_int_equal(counted.all, 8);
    stop(f);
}

static void test_start_errors(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){0});
    char taken[32], error[256];
    snprintf(taken, sizeof taken, "127.0.0.1:%u", f->port);
    const char *listen[] = {"127.0.0.1:0", taken};
    struct http_server *server;
    struct http_config config = {.listen = listen, .n_listen = 2, .routes = routes, .n_routes = 1};
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EADDRINUSE);
    assert_non_null(strstr(error, taken));
    listen[1] = "127.0.0.1";
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "127.0.0.1 is not"));
    listen[1] = "no such host:80";
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EINVAL);
    listen[1] = "192.0.2.1:0"; /* an address for documentation: nobody has it */
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EADDRNOTAVAIL);
    config.n_listen = 0;
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EINVAL);
    config.systemd_socket = true;
    unsetenv("LISTEN_FDS");
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "LISTEN_FDS"));
    http_server_stop(NULL);
    stop(f);
}

static void test_two_listeners(void **state)
{
    (void)state;
    struct fixture f = {0};
    char error[256];
    static const char *const listen[] = {"127.0.0.1:0", "localhost:0"};
    const struct http_config config = {.listen = listen,
                                       .n_listen = 2,
                                       .routes = routes,
                                       .n_routes = sizeof routes / sizeof *routes,
                                       .context = &f};
    assert_int_equal(http_server_start(&config, &f.server, error, sizeof error), 0);
    f.port = http_server_port(f.server, 0);
    assert_served(&f);
    assert_int_not_equal(http_server_port(f.server, 1), f.port);
    assert_true(http_server_port(f.server, 1) > 0);
    assert_int_equal(http_server_port(f.server, 2), 0);
    http_server_stop(f.server);
}

/* In a process of its own, since descriptor 3 must be the socket. */
static void inherited_child(int listening, int report)
{
    char text[32];
    int kept = dup(report);
    if (listening != 3)
        dup2(listening, 3);
    snprintf(text, sizeof text, "%ld", (long)getpid());
    setenv("LISTEN_PID", text, 1);
    setenv("LISTEN_FDS", "1", 1);
    struct fixture f = {0};
    char error[256] = "";
    const struct http_config config = {.systemd_socket = true,
                                       .routes = routes,
                                       .n_routes = sizeof routes / sizeof *routes,
                                       .context = &f};
    int err = http_server_start(&config, &f.server, error, sizeof error);
    char byte = err ? 'e' : 'k';
    if (write(kept, &byte, 1) == 1 && !err)
        while (atomic_load(&f.released) == 0)
            usleep(1000);
    if (!err)
        http_server_stop(f.server);
    _exit(err ? 1 : 0);
}

static void test_systemd_socket(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0), fds[2];
    assert_int_equal(bind(listening, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listening, 5), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        inherited_child(listening, fds[1]);
    close(fds[1]);
    char byte = 0;
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(byte, 'k');
    struct fixture f = {.port = ntohs(address.sin_port)};
    assert_served(&f);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(fds[0]);
    close(listening);
}

/* A signal to the process must find the thread that waits for it. */
static void test_signals_are_not_taken(void **state)
{
    (void)state;
    struct fixture *f = start((struct http_config){0});
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    kill(getpid(), SIGUSR1); /* would end the process in any other thread */
    assert_served(f);
    const struct timespec none = {0, 0};
    assert_int_equal(sigtimedwait(&set, NULL, &none), SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systemd_socket),
        cmocka_unit_test(test_parse_listen),
        cmocka_unit_test(test_get_and_head),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_idle_connections),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_too_many_requests),
        cmocka_unit_test(test_slow_readers),
        cmocka_unit_test(test_shared_body),
        cmocka_unit_test(test_trickling_reader),
        cmocka_unit_test(test_idle_timeout),
        cmocka_unit_test(test_early_leavers),
        cmocka_unit_test(test_stop_with_open_connections),
        cmocka_unit_test(test_request_counts),
        cmocka_unit_test(test_start_errors),
        cmocka_unit_test(test_two_listeners),
        cmocka_unit_test(test_signals_are_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
