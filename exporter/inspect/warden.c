#include "exporter/inspect/warden.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/inspect/worker.h"
#include "exporter/service/channel.h"
#include "exporter/service/children.h"
#include "exporter/service/confine.h"
#include "exporter/service/privileges.h"

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
