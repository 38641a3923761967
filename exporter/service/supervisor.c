#include "exporter/service/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/service/channel.h"

/* A worker that lived for so long was none of those that die at once. */
static const uint64_t steady_ns = 10000000000;

/* ---- in the parent ---- */

int supervisor_fork(int *end, pid_t *child)
{
    int ends[2];
    int err = channel_open(ends);
    if (err)
        return err;
    pid_t pid = fork();
    if (pid < 0) {
        err = -errno;
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    close(ends[pid != 0]);
    *end = ends[pid == 0];
    *child = pid;
    return pid == 0;
}

bool supervisor_wait(pid_t child, int ms)
{
    for (; ms > 0; ms -= 5) {
        if (waitpid(child, NULL, WNOHANG) != 0)
            return true;
        poll(NULL, 0, 5);
    }
    return false;
}

/* ---- in the supervisor ---- */

void supervisor_init(struct supervisor *self, const struct supervisor_ops *ops,
                     const struct log *log, int control)
{
    /* The last one asks the exporter for a file, but may reach all processes. */
    static const int others[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR2};
    sigset_t children;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        signal(others[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* who inherits it ignored hears of no child */
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_SETMASK, &children, NULL);
    *self = (struct supervisor){.ops = ops,
                                .log = log,
                                .control = control,
                                .children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK),
                                .pause_ns = ops->first_pause_ns};
}

/* Whether this is the worker, with its status; the supervisor goes on. */
static bool start(struct supervisor *self, int *status)
{
    const pid_t parent = getpid();
    self->starts++;
    self->started_ns = clock_mono_ns();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        bool done = getppid() == parent && self->ops->work(self) == 0;
        *status = done ? EXIT_SUCCESS : EXIT_FAILURE;
        return true;
    }
    if (pid < 0)
        log_error(self->log, self->ops->module, "cannot start %s: %s", self->ops->name,
                  strerror(errno));
    self->worker = pid > 0 ? pid : 0;
    return false;
}

/* The next one comes later if this one was short-lived. */
static void forget_worker(struct supervisor *self)
{
    self->worker = 0;
    if (clock_mono_ns() - self->started_ns >= steady_ns)
        self->pause_ns = self->ops->first_pause_ns;
    else if (self->pause_ns < self->ops->last_pause_ns)
        self->pause_ns *= 2;
}

void supervisor_leave(struct supervisor *self)
{
    kill(self->worker, SIGKILL);
    self->stuck++;
    forget_worker(self);
}

static void collect(struct supervisor *self)
{
    struct signalfd_siginfo seen;
    pid_t pid;
    int status;
    while (read(self->children, &seen, sizeof seen) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != self->worker) {
            self->stuck--;
            continue;
        }
        forget_worker(self);
        self->ops->ended(self, status);
    }
}

/* Until the next thing to do: a look, or when a worker may be started; -1: never. */
static int wait_ms(const struct supervisor *self)
{
    if (self->worker != 0)
        return self->ops->look_ms;
    if (self->stuck >= SUPERVISOR_STUCK_MAX)
        return -1;
    uint64_t age_ns = clock_mono_ns() - self->started_ns;
    return age_ns >= self->pause_ns ? 0 : (int)((self->pause_ns - age_ns) / 1000000) + 1;
}

/* False: nobody is at the other end. */
static bool attend(struct supervisor *self)
{
    const short heard = self->ops->heard ? POLLIN : 0;
    struct pollfd events[] = {{.fd = self->control, .events = heard | POLLRDHUP},
                              {.fd = self->children, .events = POLLIN}};
    int ready = poll(events, 2, wait_ms(self));
    if ((ready < 0 && errno != EINTR) || events[0].revents & ~POLLIN)
        return false;
    if (events[0].revents)
        self->ops->heard(self);
    if (ready == 0 && self->worker != 0)
        self->ops->look(self);
    collect(self);
    return true;
}

static void end_worker(const struct supervisor *self)
{
    const int ms = self->ops->patience_ms;
    struct pollfd ended = {.fd = self->children, .events = POLLIN};
    if (self->worker == 0)
        return;
    if (poll(&ended, 1, ms) <= 0)
        kill(self->worker, SIGKILL);
    waitpid(self->worker, NULL, ms ? 0 : WNOHANG);
}

int supervisor_run(struct supervisor *self)
{
    int status = EXIT_SUCCESS;
    if (self->children < 0)
        return EXIT_FAILURE;
    while (attend(self))
        if (wait_ms(self) == 0 && start(self, &status))
            return status;
    end_worker(self);
    return EXIT_SUCCESS;
}
