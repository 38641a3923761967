/* Clients that are too many, too slow or too long: the server still serves the others. */
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/support/http_rig.h"
#include "tests/unit/support/unit.h"

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

/* Clients that connect and send nothing, or half a request, keep no other client out. */
TEST(test_idle_connections)
{
    enum { IDLE = 1000 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < 2 * IDLE)
        skip();
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 600});
    int before = open_descriptors();
    static int fds[IDLE];
    for (int i = 0; i < IDLE; i++) {
        fds[i] = http_dial(f->port);
        if (i % 2)
            http_send(fds[i], "GET /metrics HTTP/1.1\r\nHos", 26);
        if (i % 50 == 0)
            http_assert_served(f);
    }
    for (int i = 0; i < 20; i++)
        http_assert_served(f);
    assert_in_range(open_descriptors() - before, IDLE, IDLE + HTTP_DEFAULT_CONNECTIONS);
    http_assert_closed(fds[0]); /* the oldest went first */
    for (int i = 1; i < IDLE; i++)
        close(fds[i]);
    http_assert_served(f);
    http_rig_stop(f);
}

/* Another part of the process took the last descriptors: a waiting client is served once there are
 * some again. */
TEST(test_out_of_descriptors)
{
    struct rlimit limit, low;
    getrlimit(RLIMIT_NOFILE, &limit);
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 600});
    for (int with_other = 0; with_other < 2; with_other++) {
        int other = http_dial(f->port), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), n = 0;
        struct http_reply reply = {0};
        static int taken[256];
        if (with_other) {
            http_send(other, HTTP_GET("/"), strlen(HTTP_GET("/")));
            assert_true(http_receive(other, false, &reply));
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
        http_send(fd, HTTP_GET("/"), strlen(HTTP_GET("/")));
        usleep(100000); /* the server finds that it cannot accept */
        while (n > 0)
            close(taken[--n]);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        double start_s = http_seconds();
        assert_true(http_receive(fd, false, &reply));
        print_message("           served after %.3f s\n", http_seconds() - start_s);
        close(fd);
        if (with_other)
            close(other);
    }
    http_rig_stop(f);
}

TEST(test_too_many_requests)
{
    struct http_rig *f =
        http_rig_start((struct http_config){.max_requests = 2, .timeout_seconds = 600});
    int slow[2];
    struct http_reply reply;
    for (int attempt = 0;; attempt++) {
        for (int i = 0; i < 2; i++) {
            slow[i] = http_dial(f->port);
            http_send(slow[i], HTTP_GET("/large"), strlen(HTTP_GET("/large")));
            assert_true(http_receive(slow[i], true, &reply)); /* the head only: it is under way */
            assert_int_equal(reply.status, 200);
        }
        reply = http_ask(f->port, HTTP_GET("/metrics"));
        if (reply.status == 503 || attempt == 20)
            break;
        close(slow[0]); /* they were so slow that they lost a place */
        close(slow[1]);
    }
    assert_int_equal(reply.status, 503);
    assert_non_null(strcasestr(reply.head, "Retry-After: "));
    assert_int_equal(http_ask(f->port, HTTP_GET("/")).status, 200); /* not limited */
    close(slow[0]);
    while (http_ask(f->port, HTTP_GET("/metrics")).status ==
           503) /* once the server has seen it close */
        ;
    http_assert_served(f);
    close(slow[1]);
    http_rig_stop(f);
}

/* Those who hold all places and take their time lose them to the next. */
TEST(test_slow_readers_lose_their_places)
{
    struct http_rig *f =
        http_rig_start((struct http_config){.max_requests = 2, .timeout_seconds = 600});
    int slow[2];
    struct http_reply reply;
    for (int i = 0; i < 2; i++) {
        slow[i] = http_dial(f->port);
        http_send(slow[i], HTTP_GET("/large"), strlen(HTTP_GET("/large")));
        assert_true(http_receive(slow[i], true, &reply));
    }
    while (http_ask(f->port, HTTP_GET("/metrics")).status == 503)
        usleep(10000);
    for (int i = 0; i < 20; i++)
        http_assert_served(f);
    for (int i = 0; i < 2; i++)
        close(slow[i]);
    http_rig_stop(f);
}

TEST(test_slow_readers)
{
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 600});
    enum { SLOW = 40 };
    int fds[SLOW];
    struct http_reply reply;
    for (int i = 0; i < SLOW; i++) {
        fds[i] = http_dial(f->port);
        http_send(fds[i], HTTP_GET("/fresh"), strlen(HTTP_GET("/fresh")));
        assert_true(http_receive(fds[i], true, &reply));
        assert_int_equal(reply.status, 200);
        http_assert_served(f);
    }
    /* 64 MiB of bodies at most, one that is about to be judged, one whose end is not yet seen. */
    assert_in_range(atomic_load(&f->most_live), 2, 64 / 8 + 3);
    for (int i = 0; i < SLOW; i++)
        close(fds[i]);
    http_assert_served(f);
    http_rig_stop(f);
}

/* Many readers of one page are no burden on memory: all of them are let finish. */
TEST(test_shared_body)
{
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 600});
    enum { READERS = 30 };
    int fds[READERS];
    struct http_reply reply;
    for (int i = 0; i < READERS; i++) {
        fds[i] = http_dial(f->port);
        http_send(fds[i], HTTP_GET("/large"), strlen(HTTP_GET("/large")));
        assert_true(http_receive(fds[i], true, &reply));
    }
    http_assert_served(f);
    for (int i = 0; i < READERS; i++) {
        static char bytes[65536];
        size_t total = 0;
        while (total < HTTP_RIG_LARGE) {
            ssize_t n = recv(fds[i], bytes, sizeof bytes, 0);
            assert_true(n > 0);
            total += (size_t)n;
        }
        close(fds[i]);
    }
    http_rig_stop(f);
}

/* A reader that keeps taking a little, and so never is idle, is cut off too when its time is up. */
TEST(test_trickling_reader)
{
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 3});
    static char bytes[131072];
    free(f->large);
    f->large_len = (size_t)20 * HTTP_RIG_LARGE;
    f->large = calloc(1, f->large_len);
    assert_non_null(f->large);
    int fd = http_dial(f->port);
    http_send(fd, HTTP_GET("/large"), strlen(HTTP_GET("/large")));
    size_t total = 0;
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        const struct timespec pause = {0, 10000000};
        total += (size_t)n;
        nanosleep(&pause, NULL);
        http_assert_served(f);
    }
    assert_int_equal(n, -1);
    assert_int_equal(errno, ECONNRESET);
    assert_true(total < f->large_len);
    close(fd);
    http_rig_stop(f);
}

TEST(test_idle_timeout)
{
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 3});
    int silent = http_dial(f->port), half = http_dial(f->port), used = http_dial(f->port);
    struct http_reply reply;
    http_send(half, "GET / HT", 8);
    http_send(used, HTTP_GET("/"), strlen(HTTP_GET("/")));
    assert_true(http_receive(used, false, &reply));
    http_assert_closed(silent);
    http_assert_closed(half);
    http_assert_closed(used);
    http_rig_stop(f);
}

/* Clients that leave early: no SIGPIPE, and every body comes back. */
TEST(test_early_leavers)
{
    struct http_rig *f = http_rig_start((struct http_config){0});
    for (int i = 0; i < 50; i++) {
        int fd = http_dial(f->port);
        http_send(fd, HTTP_GET("/large"), strlen(HTTP_GET("/large")));
        if (i % 2) {
            const struct linger hard = {1, 0}; /* RST */
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        }
        if (i % 3 == 0) {
            struct http_reply reply;
            http_receive(fd, true, &reply);
        }
        close(fd);
    }
    http_assert_served(f);
    http_rig_stop(f);
}

TEST(test_stop_with_open_connections)
{
    struct http_rig *f = http_rig_start((struct http_config){.timeout_seconds = 600});
    int fds[30];
    struct http_reply reply;
    for (int i = 0; i < 30; i++) {
        fds[i] = http_dial(f->port);
        if (i % 3 == 0) {
            http_send(fds[i], HTTP_GET("/large"), strlen(HTTP_GET("/large")));
            assert_true(http_receive(fds[i], true, &reply));
        } else if (i % 3 == 1) {
            http_send(fds[i], "GET /", 5);
        }
    }
    double start_s = http_seconds();
    http_rig_stop(f);
    double took = http_seconds() - start_s;
    assert_true(took < 200); /* 100 ms are promised; a machine under test may be busy */
    print_message("           stopped in %.1f ms\n", took * 1e3);
    for (int i = 0; i < 30; i++)
        http_assert_closed(fds[i]);
}
