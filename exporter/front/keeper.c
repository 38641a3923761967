#include "exporter/front/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/front/message.h"
#include "exporter/front/remote.h"
#include "exporter/http/web_config/config.h"
#include "exporter/http/web_config/file.h"
#include "exporter/service/channel.h"
#include "exporter/service/confine.h"
#include "exporter/service/descriptors.h"
#include "exporter/service/supervisor.h"

/* ---- which directories a server has to read ---- */

/* The directories that a server with a web config has to read: certificates are replaced while it
 * runs. */

enum { READABLE_MAX = 4 };

/* The directory of a file that the config names, or the one we are in. A relative name is below the
 * config's own directory, which is in the list already unless it climbs out of it with "..". */
static size_t add(const char *config, const char *file, int *directories, size_t n)
{
    char path[4096];
    const char *slash = strrchr(config, '/');
    if (!file || !*file)
        return n;
    snprintf(path, sizeof path, "%.*s%s", *file != '/' && slash ? (int)(slash - config) + 1 : 0,
             config, file);
    char *end = strrchr(path, '/');
    if (end)
        end[end == path] = '\0';
    int fd = open(end ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        directories[n++] = fd;
    return n;
}

/* Descriptors of the directories of the file, and of those that it names now; the caller closes
 * them. Returns how many. NULL: none. A file that is wrong is for the server to complain about. */
static size_t readable_directories(const char *web_config_file, int directories[READABLE_MAX])
{
    struct web_text text = {0};
    struct web_stamp stamp;
    struct web_config config;
    char error[256];
    if (!web_config_file)
        return 0;
    size_t n = add("", web_config_file, directories, 0);
    if (web_file_read(web_config_file, &text, &stamp) == 0 &&
        web_config_parse(text.bytes, text.len, &config, error, sizeof error) == 0) {
        n = add(web_config_file, config.tls.cert_file, directories, n);
        n = add(web_config_file, config.tls.key_file, directories, n);
        n = add(web_config_file, config.tls.client_ca_file, directories, n);
        web_config_release(&config);
    }
    web_text_release(&text);
    return n;
}

/* A server that has not moved for so many looks in a row hangs: it is ended, and another one
 * started.
 * One look is none of its fault: all may have stood still until then. */
enum { BEAT_MS = 1000, LOOK_MS = 1500, LOOKS = 4 };

struct keeper {
    struct supervisor supervisor; /* first */
    int dispatcher;
    struct server_counts *counts;
    const char *web_config_file;
    struct start_message start; /* points into bytes */
    int sockets[CHANNEL_FDS_MAX];
    size_t n_sockets;
    uint64_t beats; /* when they were looked at last */
    unsigned silent_looks;
    char bytes[MESSAGE_MAX];
};

/* ---- what they may do ---- */

/* libmicrohttpd's serving and its threads, memory, clocks and locks, log lines, and the end. A
 * thread that glibc cannot register (rseq) ends the process. */
#define SERVER_CALLS                                                                               \
    "accept accept4 brk clock_gettime clock_nanosleep close epoll_ctl epoll_pwait "                \
    "epoll_wait exit exit_group fcntl fstat futex getpeername getpid getrandom getsockname "       \
    "getsockopt gettid gettimeofday madvise membarrier mmap mprotect mremap munmap "               \
    "nanosleep newfstatat poll ppoll read recvfrom recvmsg restart_syscall rseq "                  \
    "rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield sendmsg sendto "       \
    "set_robust_list setsockopt shutdown sigaltstack tgkill time write writev"

/* Waiting for children, starting them, and what a server needs until it serves. */
#define KEEPER_CALLS                                                                               \
    "clone clone3 epoll_create1 eventfd2 fork getppid kill pipe2 prctl prlimit64 "                 \
    "seccomp uname wait4 waitid"

/* Looking at a file, and reading it. */
#define FILE_CALLS "openat read lseek statx pread64"

/* What the keeper forbids itself, it forbids its children. */
unsigned keeper_confine(const char *web_config_file)
{
    int directories[READABLE_MAX];
    size_t n = readable_directories(web_config_file, directories);
    unsigned done = confine_privileges(web_config_file != NULL) | confine_files(directories, n);
    while (n > 0)
        close(directories[--n]);
    const char *calls = web_config_file ? SERVER_CALLS " " KEEPER_CALLS " " FILE_CALLS
                                        : SERVER_CALLS " " KEEPER_CALLS;
    return done | confine_calls(calls);
}

unsigned server_confine(const char *web_config_file)
{
    return confine_calls(web_config_file ? SERVER_CALLS " " FILE_CALLS : SERVER_CALLS);
}

/* ---- the server's process ---- */

/* To the reader, which waits for it the first time and hears no more from then on. */
static void tell(const struct keeper *keeper, int err, const char *words)
{
    char bytes[sizeof err + 256];
    if (keeper->supervisor.starts > 1)
        return;
    memcpy(bytes, &err, sizeof err);
    snprintf(bytes + sizeof err, sizeof bytes - sizeof err, "%s", words);
    channel_send(keeper->supervisor.control, bytes, sizeof err + strlen(bytes + sizeof err) + 1,
                 NULL, 0);
}

static void wait_for_end(int control, struct server_counts *counts)
{
    struct pollfd end = {.fd = control, .events = POLLRDHUP};
    int ready;
    while ((ready = poll(&end, 1, BEAT_MS)) == 0 || (ready < 0 && errno == EINTR))
        atomic_fetch_add_explicit(&counts->beats, 1, memory_order_relaxed);
}

static int serve(struct supervisor *supervisor)
{
    struct keeper *keeper = (struct keeper *)supervisor;
    struct remote *remote;
    struct http_server *server;
    char error[256] = "";
    int err = remote_new(keeper->dispatcher, &keeper->start, keeper->counts, &remote);
    if (err) {
        tell(keeper, err, strerror(-err));
        return err;
    }
    struct http_config config = {
        .sockets = keeper->sockets,
        .n_sockets = keeper->n_sockets,
        .max_requests = keeper->start.max_requests,
        .max_connections = keeper->start.max_connections,
        .timeout_seconds = keeper->start.timeout_seconds,
        .web_config_file = keeper->web_config_file,
        .context = remote,
        .answered = remote_answered,
        .log = supervisor->log,
    };
    config.routes = remote_routes(remote, &config.n_routes);
    err = http_server_start(&config, &server, error, sizeof error);
    if (!err)
        server_confine(keeper->web_config_file);
    tell(keeper, err, error);
    if (!err) {
        wait_for_end(keeper->supervisor.control, keeper->counts);
        http_server_stop(server);
    }
    remote_free(remote);
    return supervisor->starts > 1 ? err : 0; /* else the reader says what is wrong */
}

/* ---- the keeper ---- */

static void ended(struct supervisor *supervisor, int status)
{
    ((struct keeper *)supervisor)->silent_looks = 0;
    if (WIFSIGNALED(status))
        log_error(supervisor->log, "front",
                  "the HTTP server was ended by signal %d; starting it again", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        log_error(supervisor->log, "front", "the HTTP server has failed; starting it again");
}

/* Its end is heard of as of any other. */
static void look(struct supervisor *supervisor)
{
    struct keeper *keeper = (struct keeper *)supervisor;
    uint64_t beats = atomic_load(&keeper->counts->beats);
    keeper->silent_looks = beats == keeper->beats ? keeper->silent_looks + 1 : 0;
    keeper->beats = beats;
    if (keeper->silent_looks < LOOKS)
        return;
    log_error(supervisor->log, "front", "the HTTP server has not moved for %d s: it is ended",
              LOOKS * LOOK_MS / 1000);
    kill(supervisor->worker, SIGKILL);
    keeper->silent_looks = 0;
}

static const struct supervisor_ops ops = {
    .module = "front",
    .name = "the HTTP server",
    .first_pause_ns = 1000000000,
    .last_pause_ns = 1000000000,
    .look_ms = LOOK_MS,
    .patience_ms = 800,
    .work = serve,
    .ended = ended,
    .look = look,
};

/* Whatever else the reader has, such as a way to whoever writes for it, is nothing that strangers
 * may talk to. */
int keeper_run(int control, int dispatcher, struct server_counts *counts,
               const char *web_config_file, const struct log *log)
{
    int keep[] = {control, dispatcher, log->fd};
    int status = EXIT_FAILURE;
    char words[160];
    struct keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        return status;
    descriptors_close_all_but(keep, sizeof keep / sizeof *keep);
    if (log->limits)
        log_limits_share(log->limits, counts->log_dropped);
    keeper->dispatcher = dispatcher;
    keeper->counts = counts;
    keeper->web_config_file = web_config_file;
    keeper->n_sockets = CHANNEL_FDS_MAX;
    supervisor_init(&keeper->supervisor, &ops, log, control);
    confine_words(keeper_confine(web_config_file), words, sizeof words);
    log_info(log, "front", "the HTTP server's process: %s", words);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of the user would forget it */
    int n = channel_receive(control, -1, keeper->bytes, sizeof keeper->bytes, keeper->sockets,
                            &keeper->n_sockets);
    if (n == 0) /* the reader did not come as far as serving */
        status = EXIT_SUCCESS;
    else if (n > 0 && start_message_read(keeper->bytes, (size_t)n, &keeper->start) == 0)
        status = supervisor_run(&keeper->supervisor);
    free(keeper);
    return status;
}
