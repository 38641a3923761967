#include "exporter/inspect/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/inspect/question.h"
#include "exporter/service/channel.h"
#include "exporter/service/children.h"
#include "exporter/service/confine.h"
#include "exporter/service/privileges.h"
#include "exporter/source/accesses/own_reader.h"
#include "exporter/source/pmem/pmem.h"

/* ---- a worker's work ---- */

/* Answers questions about processes, one after the other, until the other end is closed. */

struct worker_config {
    int channel;
    const struct fsroot *fs;
    struct medium_rule *rule; /* NULL: pmem.h's */
};

/* What a worker gives up before it answers: all system calls but these. */
extern const char worker_calls[];

/* Files to read, memory of others, datagrams, memory of one's own, clocks, and the end. */
const char worker_calls[] =
    "openat read pread64 lseek close newfstatat fstat statx access faccessat faccessat2 readlink "
    "readlinkat getdents64 fcntl "
    "process_vm_readv ioctl sendto recvfrom sendmsg recvmsg brk mmap munmap mremap mprotect "
    "madvise "
    "memfd_create clock_gettime futex getrandom getpid gettid rt_sigaction rt_sigprocmask "
    "rt_sigreturn restart_syscall sigaltstack tgkill write exit exit_group";

struct worker {
    struct worker_config config;
    struct process_reader *reader;
    struct pmem *pmem; /* NULL: another rule is configured */
    bool maps_open;
    const char *held; /* a piece that did not fit into the last answer; NULL: none */
    size_t held_len;
    uint8_t in[QUESTION_BYTES], out[ANSWER_BYTES];
};

/* ---- maps ---- */

static void close_maps(struct worker *worker)
{
    if (worker->maps_open)
        worker->reader->ops->close_maps(worker->reader);
    worker->maps_open = false;
    worker->held = NULL;
}

/* As many pieces as fit: 1, 0 when it was the last one, or -errno. */
static int collect_maps(struct worker *worker, uint8_t *out, size_t *len)
{
    int more = worker->maps_open ? 1 : -EINVAL;
    while (more > 0) {
        if (!worker->held)
            more = worker->reader->ops->next_maps(worker->reader, &worker->held, &worker->held_len);
        if (more <= 0)
            break;
        if (worker->held_len > ANSWER_TEXT_BYTES - *len)
            return 1;
        memcpy(out + *len, worker->held, worker->held_len);
        *len += worker->held_len;
        worker->held = NULL;
    }
    close_maps(worker);
    return more;
}

static int open_maps(struct worker *worker, uint32_t number)
{
    close_maps(worker);
    int err = worker->reader->ops->open_maps(worker->reader, number);
    worker->maps_open = err == 0;
    return err;
}

/* ---- answers ---- */

static int read_code(struct worker *worker, const struct question *question, uint8_t *out,
                     size_t *len)
{
    int n = worker->reader->ops->code(worker->reader, question->number, question->address, out);
    *len = n > 0 ? (size_t)n : 0;
    return n;
}

static int is_wide(struct worker *worker, uint32_t number)
{
    bool wide;
    int err = worker->reader->ops->is_wide(worker->reader, number, &wide);
    return err ? err : wide;
}

static int refresh(struct medium_rule *rule)
{
    if (rule->refresh)
        rule->refresh(rule);
    return 0;
}

static int answer(struct worker *worker, const struct question *question, uint8_t *out, size_t *len)
{
    struct medium_rule *rule = worker->config.rule;
    int err;
    switch (question->kind) {
    case QUESTION_MAPS:
        err = open_maps(worker, question->number);
        return err ? err : collect_maps(worker, out, len);
    case QUESTION_MORE:
        return collect_maps(worker, out, len);
    case QUESTION_CODE:
        return read_code(worker, question, out, len);
    case QUESTION_WIDTH:
        return is_wide(worker, question->number);
    case QUESTION_MEDIUM:
        return (int)rule->mapping(rule, (pid_t)question->number, &question->line, question->access);
    case QUESTION_REFRESH:
        return refresh(rule);
    }
    return -EINVAL;
}

/* Who asks cannot name this process in a procfs of another PID namespace: it gets the file. */
static int greet(const struct worker_config *config)
{
    const uint8_t nothing[GREETING_BYTES] = {0};
    int state = fsroot_open(config->fs, FSROOT_PROC, "self/stat", O_RDONLY);
    int err = channel_send(config->channel, nothing, sizeof nothing, &state, state >= 0 ? 1 : 0);
    if (state >= 0)
        close(state);
    return err;
}

static int serve(struct worker *worker)
{
    for (;;) {
        struct question question;
        struct answer reply = {0};
        ssize_t n = recv(worker->config.channel, worker->in, sizeof worker->in, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        reply.result = question_read(worker->in, (size_t)n, &question);
        if (reply.result == 0)
            reply.result = answer(worker, &question, worker->out + ANSWER_HEAD, &reply.len);
        reply.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        size_t len = answer_write(&reply, worker->out);
        while ((n = send(worker->config.channel, worker->out, len, MSG_NOSIGNAL)) < 0 &&
               errno == EINTR)
            ;
        if (n < 0)
            return errno == EPIPE ? 0 : -errno; /* nobody waits for it any more */
    }
}

/* 0 at the end, or -errno. Does not close the channel. */
static int worker_run(const struct worker_config *config)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return -ENOMEM;
    worker->config = *config;
    int err = greet(config);
    if (!err)
        err = own_reader_new(config->fs, &worker->reader);
    if (!err && !config->rule)
        err = pmem_new(config->fs, &pmem_files_linux, &worker->pmem);
    if (worker->pmem)
        worker->config.rule = pmem_rule(worker->pmem);
    if (!err)
        err = serve(worker);
    close_maps(worker);
    pmem_free(worker->pmem);
    own_reader_free(worker->reader);
    free(worker);
    return err;
}

/* Between two starts: doubled while workers live for less than steady_ns. Of those that nobody can
 * end there are at most STUCK_MAX at a time. */
static const uint64_t first_pause_ns = 50000000, last_pause_ns = 12800000000,
                      steady_ns = 10000000000;
enum { STUCK_MAX = 16 };

struct warden {
    struct warden_config config;
    int children; /* a signalfd for SIGCHLD */
    pid_t worker; /* 0: none runs */
    unsigned stuck;
    uint64_t started_ns, pause_ns;
};

/* ---- what they may do ---- */

/* Waiting for children, starting them, and what a worker needs until it works. */
static const char warden_calls[] =
    "clone clone3 fork wait4 waitid kill socketpair poll ppoll prctl "
    "prlimit64 seccomp uname getppid set_robust_list rseq";

static int drop_privileges(void)
{
    /* The last one opens the directory of mapped files, which is its user's alone. */
    int keep[3] = {CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_DAC_READ_SEARCH};
    /* Before Linux 5.9 it takes this one to identify mapped files. */
    if (!privileges_has(CAP_CHECKPOINT_RESTORE) && privileges_has(CAP_SYS_ADMIN))
        keep[1] = CAP_SYS_ADMIN;
    return privileges_drop(keep, 3);
}

unsigned warden_confine(void)
{
    char calls[1024];
    struct stat log;
    unsigned done = drop_privileges() == 0 ? CONFINED_CAPABILITIES : 0;
    if (confine_supported()) /* a sanitizer's report of leaks traces its own process */
        (void)privileges_enclose(fstat(STDERR_FILENO, &log) == 0 && S_ISREG(log.st_mode));
    snprintf(calls, sizeof calls, "%s %s", worker_calls, warden_calls);
    return done | confine_calls(calls);
}

unsigned worker_confine(void)
{
    return confine_calls(worker_calls);
}

/* ---- a worker ---- */

/* It may outlive all others, in a read that nobody can end: so it holds nothing of theirs. */
static int work(struct warden *warden, int channel)
{
    close(warden->config.control);
    close(warden->children);
    warden->config.control = warden->children = -1;
    if (confine_supported()) { /* a sanitizer reports there */
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
    }
    worker_confine();
    const struct worker_config config = {
        .channel = channel, .fs = warden->config.fs, .rule = warden->config.rule};
    int err = worker_run(&config);
    close(channel);
    return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void fail(const struct warden *warden, int err)
{
    log_error(warden->config.log, "inspect", "cannot start the process that looks into others: %s",
              strerror(err));
}

/* Whether this is the worker, with its status; the warden goes on. */
static bool start_worker(struct warden *warden, int *status)
{
    const pid_t parent = getpid();
    int ends[2];
    warden->started_ns = clock_mono_ns();
    int err = channel_open(ends);
    if (err) {
        fail(warden, -err);
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        *status = getppid() == parent ? work(warden, ends[1]) : EXIT_FAILURE;
        return true;
    }
    const struct warden_message message = {.worker = pid};
    if (pid < 0)
        fail(warden, errno);
    else
        channel_send(warden->config.control, &message, sizeof message, &ends[0], 1);
    warden->worker = pid > 0 ? pid : 0;
    close(ends[0]);
    close(ends[1]);
    return false;
}

/* ---- the warden ---- */

/* The next one comes later if this one was short-lived. */
static void end_of_worker(struct warden *warden)
{
    warden->worker = 0;
    if (clock_mono_ns() - warden->started_ns >= steady_ns)
        warden->pause_ns = first_pause_ns;
    else if (warden->pause_ns < last_pause_ns)
        warden->pause_ns *= 2;
}

static void collect(struct warden *warden)
{
    struct signalfd_siginfo seen;
    pid_t pid;
    while (read(warden->children, &seen, sizeof seen) > 0)
        ;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        if (pid != warden->worker) {
            warden->stuck--;
            continue;
        }
        log_error(warden->config.log, "inspect",
                  "the process that looks into others has ended; starting it again");
        end_of_worker(warden);
    }
}

/* The reader waits for it no longer. It ends as soon as the kernel lets it. */
static void obey(struct warden *warden)
{
    struct warden_message message;
    size_t no_fds = 0;
    if (channel_receive(warden->config.control, 0, &message, sizeof message, NULL, &no_fds) !=
            (int)sizeof message ||
        message.worker != warden->worker || warden->worker == 0)
        return;
    kill(warden->worker, SIGKILL);
    if (++warden->stuck == STUCK_MAX)
        log_error(warden->config.log, "inspect",
                  "%d processes that look into others wait for file systems that do not answer: no "
                  "further one is started until one of them ends, and samples are not resolved",
                  STUCK_MAX);
    end_of_worker(warden);
}

/* Until the next thing to do: never, or when a worker may be started again. */
static int wait_ms(const struct warden *warden)
{
    if (warden->worker != 0 || warden->stuck >= STUCK_MAX)
        return -1;
    uint64_t age_ns = clock_mono_ns() - warden->started_ns;
    return age_ns >= warden->pause_ns ? 0 : (int)((warden->pause_ns - age_ns) / 1000000) + 1;
}

static int keep(struct warden *warden)
{
    int status = EXIT_SUCCESS;
    if (start_worker(warden, &status))
        return status;
    for (;;) {
        struct pollfd events[] = {{.fd = warden->config.control, .events = POLLIN | POLLRDHUP},
                                  {.fd = warden->children, .events = POLLIN}};
        if (poll(events, 2, wait_ms(warden)) < 0 && errno != EINTR)
            break;
        if (events[0].revents & (POLLRDHUP | POLLHUP | POLLERR))
            break;
        if (events[0].revents)
            obey(warden);
        collect(warden);
        if (wait_ms(warden) == 0 && start_worker(warden, &status))
            return status;
    }
    if (warden->worker != 0)
        kill(warden->worker, SIGKILL);
    return EXIT_SUCCESS;
}

int warden_run(const struct warden_config *config)
{
    struct warden warden = {
        .config = *config, .children = children_watch(), .pause_ns = first_pause_ns};
    int status = EXIT_FAILURE;
    unsigned confined = warden_confine();
    log_info(config->log, "inspect", "the process that looks into others: %s, %s",
             confined & CONFINED_CAPABILITIES ? "with the capabilities for that only"
                                              : "capabilities as given",
             confined & CONFINED_CALLS ? "few system calls" : "all system calls (no seccomp)");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (warden.children >= 0 && getppid() == config->reader)
        status = keep(&warden);
    if (warden.children >= 0)
        close(warden.children);
    if (warden.config.control >= 0)
        close(warden.config.control);
    return status;
}
