#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/governor/see/client.h"
#include "tests/unit/support/unit.h"

#define OK "HTTP/1.1 200 OK\r\nDate: now\r\n"

/* The answer fed byte by byte: nothing before it is whole, and then the same result for ever. */
static void expect_answer(const char *text, bool ended, int result, const char *body)
{
    const char *at = NULL, *why = NULL;
    size_t len = 0, need;
    for (size_t i = 0; i < strlen(text); i++) {
        int early = client_answer(text, i, false, &at, &len, &need, &why);
        assert_true(early == 0 || early == result);
    }
    assert_int_equal(client_answer(text, strlen(text), ended, &at, &len, &need, &why), result);
    if (result == 1) {
        assert_int_equal(len, strlen(body));
        assert_memory_equal(at, body, len);
    }
}

TEST(answers)
{
    expect_answer(OK "Content-Length: 2\r\n\r\nhi", false, 1, "hi");
    expect_answer(OK "content-length:   2  \r\n\r\nhi", false, 1, "hi");
    expect_answer(OK "Content-Length: 0\r\n\r\n", false, 1, "");
    expect_answer("HTTP/1.0 200 \r\nContent-Length: 2\r\n\r\nhi", false, 1, "hi");
    expect_answer(OK "\r\nhi", true, 1, "hi");
    expect_answer(OK "\r\nhi", false, 0, NULL);
    expect_answer(OK "Content-Length: 3\r\n\r\nhi", false, 0, NULL);
    expect_answer(OK "Content-Length: 3\r\n\r\nhi", true, -EPROTO, NULL);
    expect_answer(OK "Content-Length: x\r\n\r\nhi", false, -EPROTO, NULL);
    expect_answer(OK "Content-Length: \r\n\r\nhi", false, -EPROTO, NULL);
    expect_answer(OK "Content-Length: 99999999999\r\n\r\n", false, -EFBIG, NULL);
    expect_answer(OK "Content-Length: 104857600\r\n\r\n", false, -EFBIG, NULL);
    expect_answer(OK "Transfer-Encoding: chunked\r\n\r\n", false, -EPROTO, NULL);
    expect_answer(OK "Content-Encoding: gzip\r\n\r\n", false, -EPROTO, NULL);
    expect_answer("HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nhi", false, -EPROTO, NULL);
    static const char *const refused[] = {
        "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200\tOK\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
        OK "Content-Length: 2\r\ncontent-length: 3\r\n\r\nhi!",
        OK "Content-Length : 2\r\n\r\nhi",
        OK "Content-Length: +2\r\n\r\nhi",
        OK "Content-Length: 2, 2\r\n\r\nhi",
        OK "Content-Length: 2\r\n 3\r\n\r\nhi",
        OK "A: b\nContent-Length: 2\r\n\r\nhi",
        OK "no header\r\nContent-Length: 2\r\n\r\nhi",
        OK ": 2\r\n\r\nhi",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect_answer(refused[i], true, -EPROTO, NULL);
    expect_answer(OK, true, -EPROTO, NULL);
    expect_answer("", true, -EPROTO, NULL);
    expect_answer("SSH-2.0-OpenSSH", false, -EPROTO, NULL);
}

/* Of each answer only the bytes that there are, as a sanitizer sees. */
TEST(nothing_is_read_behind_the_end)
{
    static const char *const answers[] = {OK "Content-Length: 2\r\n\r\nhi", "\316\236\r\n\r\nhi",
                                          "HTTP", "HTTP/1.1 2", "HTTP/1.1"};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        for (size_t len = 0; len <= strlen(answers[i]); len++)
            for (int ended = 0; ended < 2; ended++) {
                const char *body, *why;
                size_t body_len, need;
                char *bytes = malloc(len + !len);
                memcpy(bytes, answers[i], len);
                int result = client_answer(bytes, len, ended, &body, &body_len, &need, &why);
                assert_true(ended ? result != 0 : i != 1 || len == 0 || result == -EPROTO);
                free(bytes);
            }
}

TEST(long_headers_are_refused)
{
    const char *body, *why;
    size_t len, need;
    char *text = malloc(20000);
    memset(text, 'a', 20000);
    memcpy(text, OK, strlen(OK));
    assert_int_equal(client_answer(text, 20000, false, &body, &len, &need, &why), -EPROTO);
    free(text);
}

TEST(addresses)
{
    struct client_address address;
    const char *why;
    static const char *const good[] = {"http://127.0.0.1:10066", "http://localhost:1/",
                                       "http://[::1]:65535", "http://127.1.2.3:80"};
    static const char *const bad[] = {"",
                                      "127.0.0.1:10066",
                                      "http://",
                                      "http://127.0.0.1",
                                      "http://127.0.0.1:",
                                      "http://127.0.0.1:0",
                                      "http://127.0.0.1:65536",
                                      "http://127.0.0.1:10066/metrics",
                                      "http://127.0.0.1:-1",
                                      "http://128.0.0.1:10066",
                                      "http://0.0.0.0:10066",
                                      "http://[::]:10066",
                                      "http://node1:10066",
                                      "https://127.0.0.1:10066"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(client_address_of_url(good[i], &address, &why), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(client_address_of_url(bad[i], &address, &why), -EINVAL);
    assert_int_equal(client_address_of_socket("/run/e.sock", &address, &why), 0);
    assert_int_equal(client_address_of_socket("e.sock", &address, &why), -EINVAL);
}

/* ---- a server that says one thing ---- */

struct server {
    int fd;
    const char *answer; /* NULL: nothing, until the client goes away */
    size_t zeros;       /* behind it */
    pthread_t thread;
};

static void *serve(void *context)
{
    struct server *server = context;
    static const char zeros[65536];
    char request[1024];
    int fd = accept(server->fd, NULL, NULL);
    ssize_t n = recv(fd, request, sizeof request, 0);
    if (n > 0 && server->answer) {
        send(fd, server->answer, strlen(server->answer), MSG_NOSIGNAL);
        for (size_t sent = 0; sent < server->zeros; sent += sizeof zeros)
            if (send(fd, zeros, sizeof zeros, MSG_NOSIGNAL) < 0)
                break;
    } else {
        while (recv(fd, request, sizeof request, 0) > 0)
            ;
    }
    close(fd);
    return NULL;
}

static int ask(const char *answer, size_t zeros, char *body, size_t size)
{
    struct server server = {.answer = answer, .zeros = zeros};
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t any_len = sizeof any;
    struct client_address address;
    struct client_buffer buffer = {0};
    char url[64], error[256];
    const char *at, *why;
    size_t len;
    server.fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(listen(server.fd, 1), 0);
    getsockname(server.fd, (struct sockaddr *)&any, &any_len);
    assert_int_equal(pthread_create(&server.thread, NULL, serve, &server), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", ntohs(any.sin_port));
    assert_int_equal(client_address_of_url(url, &address, &why), 0);
    int err = client_get(&address, "/api/v1/containers", answer ? UINT64_C(20000000000) : 100000000,
                         &buffer, &at, &len, error, sizeof error);
    if (!err)
        snprintf(body, size, "%.*s", (int)len, at);
    pthread_join(server.thread, NULL);
    close(server.fd);
    assert_true(buffer.cap <= CLIENT_BUFFER_MAX);
    assert_int_equal(err == -EFBIG, buffer.cap == 0);
    client_buffer_release(&buffer);
    return err;
}

TEST(exchanges)
{
    char body[64];
    assert_int_equal(ask(OK "Content-Length: 5\r\n\r\nhello", 0, body, sizeof body), 0);
    assert_string_equal(body, "hello");
    assert_int_equal(ask(OK "\r\nhello", 0, body, sizeof body), 0);
    assert_int_equal(ask(OK "Content-Length: 6\r\n\r\nhello", 0, body, sizeof body), -EPROTO);
    assert_int_equal(ask("", 0, body, sizeof body), -EPROTO);
    assert_int_equal(ask(NULL, 0, body, sizeof body), -ETIMEDOUT);
    assert_int_equal(ask(OK "\r\n", CLIENT_BODY_MAX, body, sizeof body), 0);
    assert_int_equal(ask(OK "\r\n", 100 << 20, body, sizeof body), -EFBIG);
}

TEST(nobody_is_there)
{
    struct client_address address;
    struct client_buffer buffer = {0};
    const char *at, *why;
    char error[256] = "";
    size_t len;
    assert_int_equal(client_address_of_socket("/nonexistent/e.sock", &address, &why), 0);
    assert_int_equal(client_get(&address, "/", 1000000000, &buffer, &at, &len, error, sizeof error),
                     -ENOENT);
    assert_true(error[0] != '\0');
    client_buffer_release(&buffer);
}

/* By the kernel's word of who listens, whosever the file is. */
TEST(another_user_is_not_believed)
{
    char folder[] = "/tmp/governor-client-XXXXXX", path[64], error[256] = "";
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct client_address address;
    const char *body, *why;
    size_t len;
    int told[2];
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/socket", folder);
    strcpy(at.sun_path, path);
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(fd, (struct sockaddr *)&at, sizeof at) || setuid(65534) || listen(fd, 8) ||
            write(told[1], "", 1) != 1)
            _exit(1);
        for (;;) {
            int peer = accept(fd, NULL, NULL);
            send(peer, OK "Content-Length: 2\r\n\r\nhi", sizeof(OK) + 22, MSG_NOSIGNAL);
            shutdown(peer, SHUT_WR);
        }
    }
    assert_int_equal(read(told[0], error, 1), 1);
    assert_int_equal(client_address_of_socket(path, &address, &why), 0);
    for (int known = 0; known < 2; known++) {
        struct client_buffer buffer = {0};
        address.user = known ? 65534 : 65533;
        assert_int_equal(client_get(&address, "/", UINT64_C(20000000000), &buffer, &body, &len,
                                    error, sizeof error),
                         known ? 0 : -EPERM);
        assert_true(known || (strstr(error, path) && strstr(error, "user 65534 serves it")));
        client_buffer_release(&buffer);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    unlink(path);
    rmdir(folder);
    close(told[0]);
    close(told[1]);
}
