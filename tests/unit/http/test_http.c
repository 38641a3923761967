/* Requests and answers, addresses and sockets. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/http/internal.h"
#include "tests/unit/support/http_rig.h"
#include "tests/unit/support/unit.h"

TEST(test_parse_listen)
{
    static const struct {
        const char *text, *address;
        uint16_t port;
    } good[] = {
        {":10066", "", 10066},
        {"127.0.0.1:0", "127.0.0.1", 0},
        {"[::1]:65535", "::1", 65535},
        {"[fe80::1%eth0]:80", "fe80::1%eth0", 80},
        {"[10.0.0.7]:80", "10.0.0.7", 80},
        {"localhost:9", "localhost", 9},
        {"my-host.example_1:00080", "my-host.example_1", 80},
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

TEST(test_parse_unix)
{
    char text[200] = "unix:/", address[64];
    uint16_t port;
    assert_string_equal(http_unix_path("unix:/run/x.sock"), "/run/x.sock");
    assert_int_equal(http_parse_listen("unix:/run/x.sock", address, sizeof address, &port),
                     -EINVAL);
    static const char *const bad[] = {"unix:",  "unix:x", "unix:/", "unix:/run/",
                                      "/run/x", ":1",     ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_null(http_unix_path(bad[i]));
    memset(text + 6, 'a', 107 - 1); /* as long as a socket's path may be */
    assert_non_null(http_unix_path(text));
    text[6 + 106] = 'a';
    assert_null(http_unix_path(text));
}

/* ---- unix sockets ---- */

static char directory[64], path[96], listen_text[128];

static void make_directory(void)
{
    strcpy(directory, "/tmp/ie-unix-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/http", directory);
    snprintf(listen_text, sizeof listen_text, "unix:%s", path);
}

static void remove_directory(void)
{
    unlink(path);
    assert_int_equal(rmdir(directory), 0);
}

/* 0 with the socket, or the error, of which the words must be a part. */
static int open_unix(const char *words)
{
    char error[256] = "";
    int fd = -1;
    int err = listen_open(listen_text, &fd, error, sizeof error);
    if (words && (!err || !strstr(error, words)))
        fail_msg("%s instead of ... %s ...", err ? error : "no error", words);
    if (!words && err)
        fail_msg("%s", error);
    return fd;
}

TEST(test_unix_is_for_its_user)
{
    struct stat st;
    make_directory();
    mode_t mask = umask(0);
    int fd = open_unix(NULL);
    umask(mask);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode) && (st.st_mode & 07777) == 0600 && st.st_uid == geteuid());
    open_unix("another program serves it");
    close(fd);
    close(open_unix(NULL)); /* what is left behind is replaced */
    remove_directory();
}

TEST(test_unix_replaces_nothing_else)
{
    make_directory();
    assert_int_equal(close(creat(path, 0600)), 0);
    open_unix("something else is there");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/nowhere", path), 0);
    open_unix("something else is there");
    assert_int_equal(unlink(path), 0);
    if (geteuid() == 0) {
        close(open_unix(NULL));
        assert_int_equal(lchown(path, 65534, 65534), 0);
        open_unix("another user's socket is there");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(chown(directory, 65534, 65534), 0);
        open_unix("neither root's nor this user's");
        assert_int_equal(chown(directory, 0, 0), 0);
    }
    assert_int_equal(chmod(directory, 0770), 0);
    open_unix("others may write to its directory");
    assert_int_equal(chmod(directory, 01777), 0); /* also where nobody may remove it */
    open_unix("others may write to its directory");
    assert_int_equal(chmod(directory, 0755), 0);
    remove_directory();
    open_unix("No such file or directory");
}

TEST(test_unix_is_served)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char reply[512] = "";
    make_directory();
    struct http_rig *f = http_rig_start((struct http_config){
        .listen = (const char *const[]){"127.0.0.1:0", listen_text}, .n_listen = 2});
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_int_equal(write(fd, request, sizeof request - 1), sizeof request - 1);
    size_t len = 0;
    for (ssize_t n; (n = read(fd, reply + len, sizeof reply - 1 - len)) > 0;)
        len += (size_t)n;
    assert_true(strncmp(reply, "HTTP/1.1 200", 12) == 0);
    assert_non_null(strstr(reply, "hello\n"));
    close(fd);
    http_assert_served(f);
    http_rig_stop(f);
    remove_directory();
}

TEST(test_get_and_head)
{
    struct http_rig *f = http_rig_start((struct http_config){0});
    struct http_reply reply = http_ask(f->port, HTTP_GET("/metrics"));
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "hello\n");
    assert_non_null(strcasestr(reply.head, "Content-Type: text/plain\r\n"));
    assert_non_null(strcasestr(reply.head, "Vary: Accept, Accept-Encoding\r\n"));
    assert_non_null(strcasestr(reply.head, "X-Content-Type-Options: nosniff\r\n"));
    assert_null(strcasestr(reply.head, "Content-Encoding"));
    assert_null(strcasestr(reply.head, "Server:"));
    reply = http_ask(f->port,
                     "GET / HTTP/1.1\r\nHost: h\r\nAccept: x\r\nAccept-Encoding: gzip\r\n\r\n");
    assert_string_equal(reply.body, "accepted\n");
    assert_non_null(strcasestr(reply.head, "Content-Encoding: gzip\r\n"));
    reply = http_ask(f->port, "GET /metrics HTTP/1.0\r\n\r\n");
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "hello\n");

    /* On one connection: after a HEAD nothing but the next response may come. */
    int fd = http_dial(f->port);
    for (int i = 0; i < 3; i++) {
        static const char head[] = "HEAD /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
        http_send(fd, head, sizeof head - 1);
        assert_true(http_receive(fd, true, &reply));
        assert_int_equal(reply.status, 200);
        assert_non_null(strcasestr(reply.head, "Content-Length: 6\r\n"));
        http_send(fd, HTTP_GET("/"), strlen(HTTP_GET("/")));
        assert_true(http_receive(fd, false, &reply));
        assert_string_equal(reply.body, "hello\n");
    }
    close(fd);
    http_rig_stop(f);
}

TEST(test_query)
{
    struct http_rig *f = http_rig_start((struct http_config){0});
    static const char *const cases[][2] = {
        {HTTP_GET("/query"), "0 - - -\n"},
        {HTTP_GET("/query?collect[]=a&collect%5B%5D=b%20c"), "2 a b c -\n"},
        {HTTP_GET("/query?collect[]"), "1  - -\n"},
        {HTTP_GET("/query?collect[]=1&collect[]=2&collect[]=3&collect[]=4"), "4 1 2 3\n"},
        {HTTP_GET("/query?x=1&collect[]=a"), "1 a - -\n"},
        {HTTP_GET("/query?"), "0 - - -\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_reply reply = http_ask(f->port, cases[i][0]);
        assert_string_equal(reply.body, cases[i][1]);
    }
    http_rig_stop(f);
}

TEST(test_refusals)
{
    struct http_rig *f = http_rig_start((struct http_config){0});
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {HTTP_GET("/other"), 404},
        {HTTP_GET("/metrics/"), 404},
        {HTTP_GET("/nothing"), 500},
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
#define ASK(headers) "POST /asked HTTP/1.1\r\nHost: h:1\r\n" headers "\r\n"
        {ASK(""), 200},
        {ASK("Sec-Fetch-Site: same-origin\r\nOrigin: http://h:1\r\n"), 200},
        {ASK("Sec-Fetch-Site: none\r\n"), 200},
        {ASK("Sec-Fetch-Site: cross-site\r\n"), 403},
        {ASK("Sec-Fetch-Site: same-site\r\nOrigin: http://h:1\r\n"), 403},
        {ASK("Origin: https://H:1\r\n"), 200},
        {ASK("Origin: http://h\r\n"), 403},
        {ASK("Origin: http://evil.example\r\n"), 403},
        {ASK("Origin: null\r\n"), 403},
        {"GET / HTTP/1.1\r\nHost: h\r\nSec-Fetch-Site: cross-site\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\n\r\n", 400}, /* no Host */
        {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_reply reply = http_ask(f->port, cases[i].request);
        if (reply.status != cases[i].status)
            fail_msg("%d instead of %d for %s", reply.status, cases[i].status, cases[i].request);
        if (reply.status == 405)
            assert_non_null(strcasestr(reply.head, "Allow: GET, HEAD\r\n"));
        assert_null(strcasestr(reply.head, "Server:"));
        http_assert_served(f);
    }
    http_rig_stop(f);
}

/* All that comes back for these bytes, which may hold 0. */
static size_t talk(uint16_t port, const char *bytes, size_t n, char *out, size_t cap)
{
    int fd = http_dial(port);
    size_t total = 0;
    ssize_t got;
    http_send(fd, bytes, n);
    while ((got = recv(fd, out + total, cap - 1 - total, 0)) > 0)
        total += (size_t)got;
    out[total] = '\0';
    close(fd);
    return total;
}

/* What a proxy could understand otherwise gets one answer, and the connection ends: nothing behind
 * it is taken for another request. */
TEST(test_ambiguous)
{
#define BEHIND "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define LENGTH(n) "Content-Length: " #n "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
#define CASE(text) {text, sizeof(text) - 1}
        CASE("GET / HTTP/1.1\r\nHost: h\r\n" LENGTH(0) LENGTH(47) "\r\n" BEHIND),
        CASE("GET / HTTP/1.1\r\nHost: h\r\n" LENGTH(0) LENGTH(0) "\r\n" BEHIND),
        CASE("GET / HTTP/1.1\r\nHost: h\r\n" LENGTH(47) LENGTH(0) "\r\n" BEHIND),
        CASE("GET / HTTP/1.1\r\nHost: h\r\n" LENGTH(0) CHUNKED "\r\n" BEHIND),
        CASE("GET / HTTP/1.1\r\nHost: h\r\n" CHUNKED CHUNKED "\r\n" BEHIND),
        CASE("GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n" BEHIND),
        CASE("GET / HTTP/1.1\r\nhost: h\r\nHOST: h\r\n\r\n" BEHIND),
        CASE("GET /metrics%00x HTTP/1.1\r\nHost: h\r\n\r\n" BEHIND),
        CASE("GET /%6detrics HTTP/1.1\r\nHost: h\r\n\r\n" BEHIND),
        CASE("GET %2Fmetrics HTTP/1.1\r\nHost: h\r\n\r\n" BEHIND),
        CASE("GET /metrics\0x HTTP/1.1\r\nHost: h\r\n\r\n" BEHIND),
        CASE("GET /metrics\0?x HTTP/1.1\r\nHost: h\r\n\r\n" BEHIND),
        CASE("GET / HTTP/1.1\r\n\r\n" BEHIND),
        CASE("GET / HTTP/1.1\r\nAccept: */*\r\n folded\r\n\r\n" BEHIND),
        CASE("GET /metrics HTTP/1.1 HTTP/1.1\r\nHost: h\r\n\r\n" BEHIND),
        CASE("GET /metrics?a=b c HTTP/1.1\r\nHost: h\r\n\r\n" BEHIND),
    };
    struct http_rig *f = http_rig_start((struct http_config){0});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char answer[4096];
        talk(f->port, cases[i].bytes, cases[i].n, answer, sizeof answer);
        if (strncmp(answer, "HTTP/1.1 400 ", 13) != 0 || strstr(answer + 1, "HTTP/1.1"))
            fail_msg("case %zu: %s", i, answer);
        http_assert_served(f);
    }
    http_rig_stop(f);
}

/* Before 1.0, libmicrohttpd answers these itself, with its header twice; but that is the end, too.
 */
TEST(test_a_length_that_is_none)
{
    static const char *const lengths[] = {"x", "-1", "0x10", "99999999999999999999", "1 1", ""};
    struct http_rig *f = http_rig_start((struct http_config){0});
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char bytes[256], answer[4096];
        int n =
            snprintf(bytes, sizeof bytes,
                     "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: %s\r\n\r\n" BEHIND, lengths[i]);
        talk(f->port, bytes, (size_t)n, answer, sizeof answer);
        if (strncmp(answer, "HTTP/1.1 4", 10) != 0 || strstr(answer, " 200 "))
            fail_msg("length %s: %s", lengths[i], answer);
        http_assert_served(f);
    }
    http_rig_stop(f);
}

TEST(test_many_arguments)
{
    static const int counts[] = {64, 65, 900, 3000, 7000};
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 600});
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        static char request[16384];
        int n = snprintf(request, sizeof request, "GET /metrics?a");
        for (int j = 1; j < counts[i]; j++)
            n += snprintf(request + n, sizeof request - (size_t)n, "&%s", i < 3 ? "collect[]" : "");
        snprintf(request + n, sizeof request - (size_t)n, " HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_int_equal(http_ask(f->port, request).status, i == 0 ? 200 : 414);
        http_assert_served(f);
    }
    http_rig_stop(f);
}

TEST(test_too_long)
{
    struct http_rig *f = http_rig_start((struct http_config){0});
    static char request[200000];
    char *filler = malloc(100001);
    assert_non_null(filler);
    memset(filler, 'a', 100000);
    filler[100000] = '\0';
    snprintf(request, sizeof request, "GET /%s HTTP/1.1\r\nHost: h\r\n\r\n", filler);
    assert_int_equal(http_ask(f->port, request).status, 414);
    http_assert_served(f);
    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n", filler);
    assert_int_equal(http_ask(f->port, request).status, 431);
    http_assert_served(f);
    /* Thousands of small headers. */
    size_t n = (size_t)snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h\r\n");
    for (int i = 0; i < 5000; i++)
        n += (size_t)snprintf(request + n, sizeof request - n, "H%d: v\r\n", i);
    snprintf(request + n, sizeof request - n, "\r\n");
    assert_int_equal(http_ask(f->port, request).status, 431);
    http_assert_served(f);
    free(filler);
    /* What a proxy with a fat token sends still passes. */
    filler = malloc(6001);
    assert_non_null(filler);
    memset(filler, 'b', 6000);
    filler[6000] = '\0';
    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: %s\r\n\r\n",
             filler);
    assert_int_equal(http_ask(f->port, request).status, 200);
    free(filler);
    http_rig_stop(f);
}

/* Whatever bytes come, there is an answer or an end, and the next one is served. */
TEST(test_garbage)
{
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 1});
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
        int fd = http_dial(f->port);
        http_send(fd, bytes, sizeof bytes);
        shutdown(fd, SHUT_WR);
        http_assert_closed(fd);
        if (i % 10 == 0)
            http_assert_served(f);
    }
    http_assert_served(f);
    http_rig_stop(f);
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

TEST(test_request_counts)
{
    struct http_rig *f = http_rig_start((struct http_config){0});
    for (int i = 0; i < 3; i++) {
        http_ask(f->port, HTTP_GET("/metrics"));
        http_ask(f->port, HTTP_GET("/x"));
    }
    http_ask(f->port, "GET /metrics HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n");
    http_ask(f->port, "DELETE / HTTP/1.1\r\nHost: h\r\n\r\n");
    struct counted counted = {0};
    http_server_requests(f->server, count, &counted);
    assert_int_equal(counted.metrics_text, 3);
    assert_int_equal(counted.metrics_open, 1);
    assert_int_equal(counted.other_404, 3);
    assert_int_equal(counted.landing_405, 1);
    assert_int_equal(counted.all, 8);
    http_rig_stop(f);
}

TEST(test_start_errors)
{
    struct http_rig *f = http_rig_start((struct http_config){0});
    char taken[32], error[256];
    snprintf(taken, sizeof taken, "127.0.0.1:%u", f->port);
    const char *listen[] = {"127.0.0.1:0", taken};
    struct http_server *server;
    struct http_config config = {.listen = listen, .n_listen = 2};
    config.routes = http_rig_routes(&config.n_routes);
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EADDRINUSE);
    assert_non_null(strstr(error, taken));
    listen[1] = "127.0.0.1";
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "127.0.0.1 is not"));
    listen[1] = "no such host:80";
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EINVAL);
    listen[1] = "192.0.2.1:0"; /* an address for documentation: no host has it */
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EADDRNOTAVAIL);
    config.n_listen = 0;
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EINVAL);
    config.systemd_socket = true;
    unsetenv("LISTEN_FDS");
    assert_int_equal(http_server_start(&config, &server, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "LISTEN_FDS"));
    http_server_stop(NULL);
    http_rig_stop(f);
}

TEST(test_two_listeners)
{
    struct http_rig f = {0};
    char error[256];
    static const char *const listen[] = {"127.0.0.1:0", "localhost:0"};
    struct http_config config = {.listen = listen, .n_listen = 2, .context = &f};
    config.routes = http_rig_routes(&config.n_routes);
    assert_int_equal(http_server_start(&config, &f.server, error, sizeof error), 0);
    f.port = http_server_port(f.server, 0);
    http_assert_served(&f);
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
    struct http_rig f = {0};
    char error[256] = "";
    struct http_config config = {.systemd_socket = true, .context = &f};
    config.routes = http_rig_routes(&config.n_routes);
    int err = http_server_start(&config, &f.server, error, sizeof error);
    char byte = err ? 'e' : 'k';
    if (write(kept, &byte, 1) == 1 && !err)
        while (atomic_load(&f.released) == 0)
            usleep(1000);
    if (!err)
        http_server_stop(f.server);
    _exit(err ? 1 : 0);
}

TEST(test_systemd_socket)
{
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
    struct http_rig f = {.port = ntohs(address.sin_port)};
    http_assert_served(&f);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(fds[0]);
    close(listening);
}

/* The descriptor of the other end of this connection, in the same process. */
static int accepted_end(int client)
{
    struct sockaddr_in ours, peer;
    socklen_t len = sizeof ours;
    assert_int_equal(getsockname(client, (struct sockaddr *)&ours, &len), 0);
    for (int fd = 3; fd < 1024; fd++) {
        len = sizeof peer;
        if (fd != client && getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
            peer.sin_port == ours.sin_port)
            return fd;
    }
    return -1;
}

/* A socket of the library's is closed behind its back, which it takes for the end of all. */
static void break_the_library(int words)
{
    const struct log log = {.fd = words, .level = LOG_LEVEL_ERROR};
    const struct rlimit no_core = {0, 0};
    struct http_rig *f = http_rig_start((struct http_config){.log = &log});
    int client = http_dial(f->port);
    struct http_reply reply;
    setrlimit(RLIMIT_CORE, &no_core);
    http_send(client, HTTP_GET("/"), strlen(HTTP_GET("/")));
    if (http_receive(client, false, &reply))
        close(accepted_end(client));
    http_server_stop(f->server);
    _exit(0);
}

TEST(test_the_library_gives_up)
{
    int words[2], status;
    char text[512] = "";
    assert_int_equal(pipe(words), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        break_the_library(words[1]);
    }
    close(words[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_true(read(words[0], text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "level=error module=http msg=\"libmicrohttpd gave up: "));
    assert_non_null(strstr(text, ")\"\n")); /* the library's reasons end lines themselves */
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    close(words[0]);
}

/* A signal to the process must find the thread that waits for it. */
TEST(test_signals_are_not_taken)
{
    struct http_rig *f = http_rig_start((struct http_config){0});
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    kill(getpid(), SIGUSR1); /* would end the process in any other thread */
    http_assert_served(f);
    const struct timespec none = {0, 0};
    assert_int_equal(sigtimedwait(&set, NULL, &none), SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    http_rig_stop(f);
}
