/* The server's process: messages, counts, bodies, and what it is still allowed to do. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/base/whole.h"
#include "exporter/front/keeper.h"
#include "exporter/front/message.h"
#include "exporter/front/remote.h"
#include "exporter/front/server_counts.h"
#include "exporter/service/channel.h"
#include "exporter/service/confine.h"
#include "tests/unit/support/tries.h"
#include "tests/unit/support/unit.h"

/* ---- messages ---- */

static int write_request(char *bytes, size_t size)
{
    static const struct request_message message = {
        .id = 7,
        .route = 3,
        .accept_encoding = "gzip",
        .known = true,
        .n_arguments = 2,
        .arguments = {{"collect[]", "probe"}, {"collect[]", ""}},
    };
    return request_message_write(&message, bytes, size);
}

TEST(test_request)
{
    static struct request_message out;
    char bytes[256];
    int len = write_request(bytes, sizeof bytes);
    assert_true(len > 0);
    assert_int_equal(request_message_read(bytes, (size_t)len, &out), 0);
    assert_int_equal(out.id, 7);
    assert_int_equal(out.route, 3);
    assert_null(out.accept);
    assert_string_equal(out.accept_encoding, "gzip");
    assert_true(out.known);
    assert_false(out.local);
    assert_int_equal(out.n_arguments, 2);
    assert_string_equal(out.arguments[0].value, "probe");
    assert_string_equal(out.arguments[1].value, "");
    assert_int_equal(write_request(bytes, (size_t)len - 1), -EMSGSIZE);
}

/* No part of a message is one, nor one with something behind it. */
TEST(test_request_cut)
{
    static struct request_message out;
    char bytes[256];
    size_t len = (size_t)write_request(bytes, sizeof bytes);
    for (size_t n = 0; n < len; n++) {
        char *part = malloc(n ? n : 1); /* so that a sanitizer sees a byte too many */
        memcpy(part, bytes, n);
        assert_int_equal(request_message_read(part, n, &out), -EBADMSG);
        free(part);
    }
    assert_int_equal(request_message_read(bytes, len + 1, &out), -EBADMSG);
    bytes[8] = MESSAGE_ROUTES_MAX;
    assert_int_equal(request_message_read(bytes, len, &out), -EBADMSG);
}

TEST(test_reply)
{
    struct reply_message out, message = {
                                  .id = UINT64_MAX,
                                  .status = 200,
                                  .len = 3,
                                  .content_type = "text/plain",
                                  .content_encoding = "gzip",
                                  .format = "text",
                                  .body = "abc",
                              };
    char bytes[256];
    int len = reply_message_write(&message, bytes, sizeof bytes);
    assert_int_equal(reply_message_read(bytes, (size_t)len, &out), 0);
    assert_int_equal(out.id, UINT64_MAX);
    assert_memory_equal(out.body, "abc", 3);
    assert_int_equal(reply_message_read(bytes, (size_t)len - 1, &out), -EBADMSG);
    message.has_fd = true;
    len = reply_message_write(&message, bytes, sizeof bytes);
    assert_int_equal(reply_message_read(bytes, (size_t)len, &out), 0);
    assert_null(out.body);
    message.status = 99;
    len = reply_message_write(&message, bytes, sizeof bytes);
    assert_int_equal(reply_message_read(bytes, (size_t)len, &out), -EBADMSG);
}

TEST(test_start)
{
    static struct start_message out, message = {
                                         .max_requests = 40,
                                         .max_connections = 256,
                                         .n_routes = 1,
                                         .routes = {{"/metrics", "metrics", true, false}},
                                     };
    char bytes[256];
    int len = start_message_write(&message, bytes, sizeof bytes);
    assert_int_equal(start_message_read(bytes, (size_t)len, &out), 0);
    assert_int_equal(out.max_requests, 40);
    assert_string_equal(out.routes[0].path, "/metrics");
    assert_string_equal(out.routes[0].handler, "metrics");
    assert_true(out.routes[0].limited);
}

/* ---- the channel ---- */

TEST(test_channel)
{
    int ends[2], fds[2], received[1];
    size_t n = 1;
    char bytes[8];
    assert_int_equal(channel_open(ends), 0);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(channel_receive(ends[1], 0, bytes, sizeof bytes, received, &n), -ETIMEDOUT);

    assert_int_equal(channel_send(ends[0], "abc", 3, &fds[1], 1), 0);
    n = 1;
    assert_int_equal(channel_receive(ends[1], -1, bytes, sizeof bytes, received, &n), 3);
    assert_int_equal(n, 1);
    assert_int_equal(write(received[0], "x", 1), 1);
    close(received[0]);

    /* More descriptors than asked for: none stays open. */
    int lowest = dup(fds[0]);
    close(lowest);
    assert_int_equal(channel_send(ends[0], "abc", 3, fds, 2), 0);
    n = 1;
    assert_int_equal(channel_receive(ends[1], -1, bytes, sizeof bytes, received, &n), -EMSGSIZE);
    assert_int_equal(n, 0);
    assert_int_equal(dup(fds[0]), lowest);
    close(lowest);

    assert_int_equal(channel_send(ends[0], "123456789", 9, NULL, 0), 0);
    n = 0;
    assert_int_equal(channel_receive(ends[1], -1, bytes, sizeof bytes, NULL, &n), -EMSGSIZE);
    /* A datagram of no bytes is not the end. */
    assert_int_equal(channel_send(ends[0], "", 0, NULL, 0), 0);
    assert_int_equal(channel_receive(ends[1], -1, bytes, sizeof bytes, NULL, &n), -EBADMSG);
    close(ends[0]);
    assert_int_equal(channel_receive(ends[1], -1, bytes, sizeof bytes, NULL, &n), 0);
    assert_int_equal(channel_send(ends[1], "abc", 3, NULL, 0), -EPIPE);
    close(ends[1]);
    close(fds[0]);
    close(fds[1]);
}

/* ---- counts ---- */

/* What a process of ours could not log is missed nowhere else. */
TEST(test_lines_that_nobody_takes)
{
    struct server_counts *counts = server_counts_new();
    struct log_limits limits;
    uint64_t dropped[LOG_DROPS] = {[LOG_DROPPED_RATE] = 5};
    int ends[2];
    assert_non_null(counts);
    assert_int_equal(log_limits_init(&limits), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]); /* writing fails */
    signal(SIGPIPE, SIG_IGN);
    const struct log log = {.fd = ends[1], .limits = &limits};
    log_error(&log, "test", "before");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        log_limits_share(&limits, counts->log_dropped);
        for (int i = 0; i < LOG_BURST + 3; i++)
            log_error(&log, "test", "the same again");
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    server_counts_add_log_dropped(counts, dropped);
    assert_int_equal(dropped[LOG_DROPPED_BLOCKED], LOG_BURST);
    assert_int_equal(dropped[LOG_DROPPED_RATE], 5 + 3);
    /* Nonsense makes no sum that turns over. */
    atomic_store(&counts->log_dropped[LOG_DROPPED_RATE], UINT64_MAX);
    server_counts_add_log_dropped(counts, dropped);
    assert_int_equal(dropped[LOG_DROPPED_RATE], 5 + 3 + (UINT64_C(1) << 53));
    close(ends[1]);
    log_limits_release(&limits);
    server_counts_free(counts);
}

struct seen {
    int calls;
    size_t route;
    const char *format;
    int code;
    uint64_t count;
};

static void see(void *context, size_t route, const char *format, int code, uint64_t count)
{
    struct seen *seen = context;
    *seen = (struct seen){seen->calls + 1, route, format, code, count};
}

TEST(test_server_counts)
{
    struct server_counts *counts = server_counts_new();
    struct seen seen = {0};
    assert_non_null(counts);
    server_counts_add(counts, 2, "html", 200);
    server_counts_add(counts, 2, "html", 200);
    server_counts_add(counts, 2, "made up", 200);
    server_counts_read(counts, 2, see, &seen);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.route, 2);
    assert_string_equal(seen.format, "html");
    assert_int_equal(seen.code, 200);
    assert_int_equal(seen.count, 2);

    /* A server's process that writes anything there shows nothing that is not a request. */
    memset(counts, 0xff, sizeof *counts);
    server_counts_read(counts, 2, see, &seen);
    assert_int_equal(seen.calls, 1);
    for (uint64_t key = 1; key < SERVER_COUNTS_CELLS; key++)
        counts->cells[key].key = key << 10;
    server_counts_read(counts, 2, see, &seen);
    assert_true(seen.route <= 2 && seen.code >= 100 && seen.code < 600);
    for (size_t i = 0; i < 2 * SERVER_COUNTS_CELLS; i++) /* full: nothing is overwritten */
        server_counts_add(counts, i, "text", 404);
    server_counts_free(counts);
}

/* ---- bodies ---- */

TEST(test_body)
{
    struct body_cache cache = {PTHREAD_MUTEX_INITIALIZER, NULL};
    struct body *one, *two, *none = NULL;
    int fd, open_fd;
    assert_int_equal(sealed_file_new("0123456789", 10, &fd), 0);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 0), -1);

    assert_int_equal(body_map(&cache, fd, 10, &one), 0);
    assert_int_equal(body_map(&cache, fd, 10, &two), 0);
    assert_ptr_equal(body_bytes(one), body_bytes(two)); /* one mapping for all clients */
    assert_memory_equal(body_bytes(one), "0123456789", 10);
    assert_int_equal(body_map(&cache, fd, 11, &none), -EBADMSG);
    close(fd);
    body_release(one);
    assert_memory_equal(body_bytes(two), "0123456789", 10);
    body_release(two);

    /* What could still shrink would end the process in the middle of an answer. */
    open_fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(write(open_fd, "0123456789", 10), 10);
    assert_int_equal(body_map(&cache, open_fd, 10, &none), -EBADMSG);
    assert_int_equal(fcntl(open_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW), 0);
    assert_int_equal(body_map(&cache, open_fd, 10, &none), -EBADMSG);
    assert_null(none);
    close(open_fd);
    assert_null(cache.first);
}

/* ---- what is forbidden ---- */

static int try_open(void)
{
    return open("/proc/self/status", O_RDONLY);
}

static const char *scratch(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/ie-front-%d", (int)getppid());
    return path;
}

static int try_write(void)
{
    return open(scratch(), O_WRONLY | O_CREAT, 0600);
}

static int try_memory(void)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {&byte, 1};
    return (int)process_vm_readv(getppid(), &here, 1, &there, 1, 0);
}

static int try_trace(void)
{
    return (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static int try_root(void)
{
    return setresuid(0, 0, 0);
}

/* In a process of its own: whether the try is refused, after the confinement and before it. */
static bool refused(int (*attempt)(void), bool confined)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (confined) {
            keeper_confine(NULL);
            server_confine(NULL);
        }
        _exit(attempt() < 0 ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
}

TEST(test_forbidden)
{
    static const struct {
        const char *what;
        int (*attempt)(void);
    } tries[] = {
        {"open a file", try_open},
        {"write a file", try_write},
        {"run a program", try_exec},
        {"make a socket", try_socket},
        {"make a process", try_fork},
        {"send a signal", try_kill},
        {"send a thread a signal", try_thread_kill},
        {"read another's memory", try_memory},
        {"trace another", try_trace},
        {"be root again", try_root},
        {"filter more", try_filter},
    };
    if (!confine_supported())
        skip();
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        if (!refused(tries[i].attempt, true))
            fail_msg("the server can still %s", tries[i].what);
        if (getuid() == 0 && tries[i].attempt != try_memory && tries[i].attempt != try_trace &&
            refused(tries[i].attempt, false))
            fail_msg("nobody can %s here, so that the test shows nothing", tries[i].what);
    }
}

/* ---- the reader ---- */

static int try_read(void)
{
    return open("/proc/self/status", O_RDONLY) >= 0 ? -1 : 0; /* this one must not be refused */
}

static int try_unlink(void)
{
    close(try_write());
    return unlink(scratch());
}

static int try_others(void)
{
    return kill(getppid(), 0);
}

/* Its own, which the kernel never refuses. */
static int try_overwrite(void)
{
    char byte = 0, other = 0;
    struct iovec here = {&byte, 1}, there = {&other, 1};
    return (int)process_vm_writev(getpid(), &here, 1, &there, 1, 0);
}

static int try_server(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0); /* systemd's, which it may have */
    struct sockaddr_un nameless = {.sun_family = AF_UNIX};
    return fd < 0 ? 0 : bind(fd, (struct sockaddr *)&nameless, sizeof nameless.sun_family);
}

/* Nobody listens there: but for the filter it would be ECONNREFUSED or ENOENT. */
static int try_connect(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un docker = {.sun_family = AF_UNIX, .sun_path = "/run/ie-front-none.sock"};
    return connect(fd, (struct sockaddr *)&docker, sizeof docker) != 0 && errno == EPERM ? -1 : 0;
}

enum { WRITES = 1, ACTIONS = 2 };

static bool reader_refused(int (*attempt)(void), int confined)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (confined & WRITES)
            confine_writes(NULL, 0);
        if (confined & ACTIONS)
            confine_actions(getpid(), false);
        _exit(attempt() < 0 ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
}

TEST(test_reader)
{
    static const struct {
        const char *what;
        int (*attempt)(void);
        int by; /* each alone, where both would do */
    } tries[] = {
        {"not read", try_read, WRITES | ACTIONS},
        {"write a file", try_write, WRITES},
        {"remove a file", try_unlink, WRITES},
        {"run a program", try_exec, WRITES},
        {"run a program", try_exec, ACTIONS},
        {"reach a network", try_socket, ACTIONS},
        {"serve", try_server, ACTIONS},
        {"signal others", try_others, ACTIONS},
        {"signal others' threads", try_thread_kill, ACTIONS},
        {"connect to a program of the node", try_connect, ACTIONS},
        {"write another's memory", try_overwrite, ACTIONS},
    };
    if (!confine_supported())
        skip();
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        if (!reader_refused(tries[i].attempt, tries[i].by))
            fail_msg("the reader can %s", tries[i].what);
    assert_false(reader_refused(try_write, 0));
    assert_false(reader_refused(try_unlink, 0));
    assert_false(reader_refused(try_others, 0));
    assert_false(reader_refused(try_thread_kill, 0));
    assert_false(reader_refused(try_connect, 0));
    assert_false(reader_refused(try_server, 0));
    assert_false(reader_refused(try_overwrite, 0));
}

/* Landlock alone: nothing but what is below the directories, and that only to read. */
static int try_files(void)
{
    int tmp = open("/tmp", O_PATH | O_DIRECTORY);
    int made = open(scratch(), O_WRONLY | O_CREAT, 0600);
    close(made);
    int open_before = open("/proc/self/status", O_RDONLY);
    char byte;
    if (!(confine_files(&tmp, 1) & CONFINED_FILES))
        return unlink(scratch()) == 0 ? 77 : 1;
    if (open("/proc/self/status", O_RDONLY) >= 0 || open(scratch(), O_WRONLY) >= 0)
        return 2;
    if (open(scratch(), O_RDONLY) < 0 || read(open_before, &byte, 1) != 1)
        return 3;
    return unlink(scratch()) == 0 ? 4 : 0;
}

TEST(test_files)
{
    int status;
    if (!confine_supported())
        skip();
    pid_t pid = fork();
    if (pid == 0)
        _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? try_files() : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    char left[64];
    snprintf(left, sizeof left, "/tmp/ie-front-%d", (int)getpid());
    unlink(left);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* a kernel without Landlock */
    assert_int_equal(WEXITSTATUS(status), 0);
}
