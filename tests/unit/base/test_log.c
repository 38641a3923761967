/* The log never waits, and no message floods it. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/base/log.h"
#include "tests/unit/support/unit.h"

static struct log_limits limits;

static int setup(void **state)
{
    alarm(60); /* who waits for ever fails */
    return log_limits_init(&limits);
}

static int teardown(void **state)
{
    log_limits_release(&limits);
    alarm(0);
    return 0;
}

static uint64_t dropped(enum log_drop reason)
{
    uint64_t all[LOG_DROPS];
    log_limits_read(&limits, all);
    return all[reason];
}

/* ---- waiting ---- */

static void fill(int fd)
{
    static const char bytes[4096];
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
    while (write(fd, bytes, 1) > 0)
        ;
    fcntl(fd, F_SETFL, flags);
}

static void check_full(int ends[2])
{
    const struct log log = {.fd = ends[1], .level = LOG_LEVEL_INFO, .limits = &limits};
    static char bytes[1 << 20];
    fill(ends[1]);
    for (int i = 0; i < 20; i++)
        log_warn(&log, "test", "message %d", i);
    assert_int_equal(dropped(LOG_DROPPED_BLOCKED), 20);
    /* When somebody takes the lines again, they are whole. */
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while (read(ends[0], bytes, sizeof bytes) > 0)
        ;
    log_warn(&log, "test", "another %s", "message");
    ssize_t n = read(ends[0], bytes, sizeof bytes - 1);
    assert_true(n > 0);
    bytes[n] = '\0';
    assert_non_null(strstr(bytes, "msg=\"another message\"\n"));
    assert_int_equal(strncmp(bytes, "ts=", 3), 0);
    assert_int_equal(dropped(LOG_DROPPED_BLOCKED), 20);
    close(ends[0]);
    close(ends[1]);
}

TEST_WITH(a_full_pipe_is_not_waited_for, setup, teardown)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    check_full(ends);
}

TEST_WITH(a_full_socket_is_not_waited_for, setup, teardown)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    check_full(ends);
}

TEST_WITH(nobody_at_the_other_end, setup, teardown)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const struct log log = {.fd = ends[1], .limits = &limits};
    close(ends[0]);
    log_warn(&log, "test", "message"); /* SIGPIPE would end the test */
    assert_int_equal(dropped(LOG_DROPPED_BLOCKED), 1);
    close(ends[1]);
}

/* Threads that log at once into a pipe that fills up: no line is torn, and none of them waits. */

enum { THREADS = 4, LINES = 2000 };

static void *talk(void *context)
{
    const struct log *log = context;
    for (int i = 0; i < LINES; i++)
        log_warn(log, "test", "message %d of many", i);
    return NULL;
}

TEST_WITH(threads_do_not_wait_for_room, setup, teardown)
{
    int ends[2];
    char bytes[65536], *line = bytes;
    pthread_t threads[THREADS];
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 16384);
    struct log_message *message = limits.messages; /* no limit of rate for this one */
    const struct log log = {.fd = ends[1], .limits = &limits};
    log_warn(&log, "test", "message %d of many", -1);
    message->tokens = THREADS * LINES;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, talk, (void *)(uintptr_t)&log), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    ssize_t n = read(ends[0], bytes, sizeof bytes - 1);
    assert_true(n > 0);
    bytes[n] = '\0';
    uint64_t written = 0;
    for (char *end; (end = strchr(line, '\n')); line = end + 1, written++)
        assert_int_equal(strncmp(line, "ts=", 3), 0);
    assert_int_equal(line - bytes, n);
    assert_int_equal(written + dropped(LOG_DROPPED_BLOCKED), THREADS * LINES + 1);
    close(ends[0]);
    close(ends[1]);
}

/* ---- rates ---- */

static unsigned taken(const char *module, const char *format, unsigned n, uint64_t now_ns)
{
    unsigned sum = 0;
    uint64_t before;
    for (unsigned i = 0; i < n; i++)
        sum += log_limits_take(&limits, module, format, now_ns, &before);
    return sum;
}

TEST_WITH(every_message_has_a_rate, setup, teardown)
{
    static const char one[] = "one", other[] = "other", *const module = "module";
    const uint64_t start_ns = 1000;
    assert_int_equal(taken(module, one, 1000, start_ns), LOG_BURST);
    assert_int_equal(dropped(LOG_DROPPED_RATE), 1000 - LOG_BURST);
    assert_int_equal(taken(module, other, 5, start_ns), 5);
    assert_int_equal(taken("elsewhere", one, 5, start_ns), 5);
    assert_int_equal(taken(module, one, 5, start_ns + LOG_REFILL_NS - 1), 0);
    uint64_t before = 0;
    assert_true(log_limits_take(&limits, module, one, start_ns + LOG_REFILL_NS, &before));
    assert_int_equal(before, 1000 - LOG_BURST + 5);
    assert_int_equal(taken(module, one, 5, start_ns + LOG_REFILL_NS), 0);
    assert_int_equal(taken(module, one, 1000, start_ns + 4 * LOG_REFILL_NS), 3);
    /* However long it was silent, no more than at first. */
    assert_int_equal(taken(module, one, 1000, start_ns + 100000 * LOG_REFILL_NS), LOG_BURST);
}

TEST_WITH(many_different_messages_share_an_allowance, setup, teardown)
{
    static char formats[1000];
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof formats; i++)
        sum += taken("module", &formats[i], 1, 1000);
    assert_int_equal(sum, LOG_MESSAGES + LOG_BURST);
    assert_int_equal(taken("module", &formats[0], 1, 1000), 1); /* known ones keep theirs */
}

TEST_WITH(what_was_left_out_is_said, setup, teardown)
{
    int ends[2];
    char bytes[4096];
    assert_int_equal(pipe(ends), 0);
    const struct log log = {.fd = ends[1], .limits = &limits};
    static const char format[] = "it is %s";
    for (int i = 0; i < LOG_BURST + 7; i++)
        log_warn(&log, "test", format, "so");
    assert_int_equal(dropped(LOG_DROPPED_RATE), 7);
    assert_int_equal(dropped(LOG_DROPPED_BLOCKED), 0);
    while (read(ends[0], bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        ;
    limits.messages[0].tokens = 1; /* as after some time */
    log_warn(&log, "test", format, "again");
    ssize_t n = read(ends[0], bytes, sizeof bytes - 1);
    assert_true(n > 0);
    bytes[n] = '\0';
    assert_non_null(strstr(bytes, "\"it is again [7 more of these messages were left out]\""));
    close(ends[0]);
    close(ends[1]);
}
