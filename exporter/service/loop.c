#include "exporter/service/loop.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "exporter/base/clock.h"

struct loop {
    struct loop_callbacks callbacks;
    void *context;
    int epoll_fd, timer_fd, signal_fd, stop_fd, watched_fd;
    atomic_bool stopped;
};

uint64_t loop_now_ns(void)
{
    return clock_mono_ns();
}

uint64_t loop_wall_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

static int watch(struct loop *loop, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int loop_new(const struct loop_callbacks *callbacks, void *context, const sigset_t *signals, int fd,
             struct loop **out)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return -ENOMEM;
    int err;
    loop->callbacks = *callbacks;
    loop->context = context;
    loop->timer_fd = loop->signal_fd = loop->stop_fd = -1;
    loop->watched_fd = fd;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0)
        goto fail_errno;
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->timer_fd < 0)
        goto fail_errno;
    loop->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->stop_fd < 0)
        goto fail_errno;
    if (signals) {
        loop->signal_fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
        if (loop->signal_fd < 0)
            goto fail_errno;
    }
    const int fds[] = {loop->timer_fd, loop->stop_fd, loop->signal_fd, loop->watched_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        err = fds[i] >= 0 ? watch(loop, fds[i]) : 0;
        if (err)
            goto fail;
    }
    *out = loop;
    return 0;

fail_errno:
    err = -errno;
fail:
    loop_free(loop);
    return err;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    const int fds[] = {loop->epoll_fd, loop->timer_fd, loop->stop_fd, loop->signal_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(loop);
}

/* Arms the timer for whatever is due first. */
static int arm(struct loop *loop)
{
    uint64_t tick = loop->callbacks.tick_due(loop->context);
    uint64_t deadline = loop->callbacks.deadline(loop->context);
    uint64_t due = tick < deadline ? tick : deadline;
    struct itimerspec when = {{0, 0}, {0, 0}};
    if (due != UINT64_MAX) {
        due = due ? due : 1; /* all zeros would disarm */
        when.it_value.tv_sec = (time_t)(due / 1000000000u);
        when.it_value.tv_nsec = (long)(due % 1000000000u);
    }
    return timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? -errno : 0;
}

static void drain_signals(struct loop *loop)
{
    struct signalfd_siginfo info;
    while (read(loop->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        loop->callbacks.on_signal(loop->context, (int)info.ssi_signo);
}

static void dispatch(struct loop *loop, int fd)
{
    uint64_t count;
    if (fd == loop->signal_fd) {
        drain_signals(loop);
    } else if (fd == loop->watched_fd) {
        loop->callbacks.readable(loop->context, loop_now_ns());
    } else if (fd == loop->timer_fd) {
        /* EAGAIN here only means that the timer was armed anew meanwhile. */
        ssize_t n = read(fd, &count, sizeof count);
        (void)n;
    }
}

/* Work that is due by the clock, whichever event woke us. */
static void run_due(struct loop *loop)
{
    if (loop->callbacks.deadline(loop->context) <= loop_now_ns())
        loop->callbacks.on_deadline(loop->context, loop_now_ns());
    if (!atomic_load(&loop->stopped) && loop->callbacks.tick_due(loop->context) <= loop_now_ns())
        loop->callbacks.tick(loop->context, loop_now_ns());
}

int loop_run(struct loop *loop)
{
    while (!atomic_load(&loop->stopped)) {
        int err = arm(loop);
        if (err)
            return err;
        struct epoll_event events[8];
        int n = epoll_wait(loop->epoll_fd, events, sizeof events / sizeof *events, -1);
        if (n < 0 && errno != EINTR)
            return -errno;
        for (int i = 0; i < n && !atomic_load(&loop->stopped); i++)
            dispatch(loop, events[i].data.fd);
        if (!atomic_load(&loop->stopped))
            run_due(loop);
    }
    return 0;
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stopped, true);
    const uint64_t one = 1;
    ssize_t n = write(loop->stop_fd, &one, sizeof one);
    (void)n; /* only a full counter refuses, and then the loop wakes anyway */
}

/* ---- ticks ---- */

void ticker_init(struct ticker *ticker, uint64_t interval_ns, uint64_t now_ns)
{
    *ticker = (struct ticker){.interval_ns = interval_ns, .due_ns = now_ns + interval_ns};
}

bool ticker_take(struct ticker *ticker, uint64_t now_ns, uint64_t wall_ns, struct tick *out)
{
    if (now_ns < ticker->due_ns)
        return false;
    uint64_t late = (now_ns - ticker->due_ns) / ticker->interval_ns;
    ticker->missed += late;
    ticker->due_ns += (late + 1) * ticker->interval_ns;
    *out = (struct tick){
        .number = ++ticker->number,
        .mono_ns = now_ns,
        .wall_ns = wall_ns,
        .interval_ns = ticker->interval_ns,
    };
    return true;
}
