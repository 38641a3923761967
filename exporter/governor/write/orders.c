#include "exporter/governor/write/orders.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/service/confine.h"

/* Files, control files, groups, threads; and the same again to give back what a decider left. */
static const char calls[] =
    "access brk clock_gettime clock_nanosleep close dup3 exit exit_group faccessat faccessat2 "
    "fcntl flock fstat fstatfs ftruncate futex getdents64 geteuid getpid getrandom gettid lseek "
    "madvise mkdirat mmap mprotect mremap munmap nanosleep newfstatat openat poll ppoll pread64 "
    "read readlink readlinkat recvfrom renameat renameat2 restart_syscall rt_sigaction "
    "rt_sigprocmask rt_sigreturn sched_getaffinity sched_setaffinity sendto shutdown stat statfs "
    "statx "
    "tgkill unlinkat wait4 waitid write";

unsigned orders_confine(pid_t decider, const int *directories, size_t n)
{
    return confine_changes(directories, n) | confine_writer(calls, decider);
}

static void tell(const struct orders *orders, const char *words)
{
    if (orders->notify >= 0)
        (void)send(orders->notify, words, strlen(words), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* False: the decider is gone, or says what it never would. */
static bool take(const struct orders *orders, struct order *order, bool *ready)
{
    ssize_t n = recv(orders->channel, order, sizeof *order, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n != (ssize_t)sizeof *order)
        return false;
    bool beats = order->kind == ORDER_READY || order->kind == ORDER_BEAT;
    struct answer answer = {.err = beats || orders->writer ? 0 : ORDER_REFUSED};
    if (orders->writer)
        answer.err = writer_obey(orders->writer, order);
    if (answer.err == ORDER_REFUSED)
        log_warn(orders->log, "writer", "an order is refused: kind %u", order->kind);
    *ready |= order->kind == ORDER_READY;
    if (beats)
        tell(orders, order->kind == ORDER_READY ? orders->ready : "WATCHDOG=1");
    return send(orders->channel, &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)sizeof answer;
}

static void pass_on(const struct orders *orders)
{
    struct signalfd_siginfo seen;
    if (read(orders->signals, &seen, sizeof seen) != (ssize_t)sizeof seen)
        return;
    kill(orders->decider, seen.ssi_signo == SIGUSR1 ? SIGUSR2 : (int)seen.ssi_signo);
}

/* It has a moment to end by itself. */
static int wait_for_end(pid_t decider)
{
    enum { TRIES = 150, PAUSE_MS = 20 };
    int status = 0;
    pid_t ended;
    /* What cannot even be killed now is not waited for: all is to be given back. */
    for (int i = 0; (ended = waitpid(decider, &status, WNOHANG)) == 0 && i < 2 * TRIES; i++) {
        if (i == TRIES - 1)
            kill(decider, SIGKILL);
        poll(NULL, 0, PAUSE_MS);
    }
    return ended == decider && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int orders_take(const struct orders *orders)
{
    struct order order;
    bool ready = false;
    unsigned silent = 0;
    for (;;) {
        struct pollfd events[] = {{.fd = orders->channel, .events = POLLIN},
                                  {.fd = orders->signals, .events = POLLIN}};
        int n = poll(events, 2, ORDER_LOOK_MS);
        if (n < 0 && errno != EINTR)
            break;
        silent = n != 0 ? silent : silent + ready;
        if (silent >= ORDER_LOOKS) {
            log_error(orders->log, "writer",
                      "the process that decides has not moved for %d s: it "
                      "is ended",
                      ORDER_LOOKS * ORDER_LOOK_MS / 1000);
            kill(orders->decider, SIGKILL);
            break;
        }
        if (n > 0 && events[1].revents)
            pass_on(orders);
        if (n > 0 && events[0].revents) {
            silent = 0;
            if (!take(orders, &order, &ready))
                break;
        }
    }
    shutdown(orders->channel, SHUT_RDWR); /* whoever waits for an answer hears of it */
    return wait_for_end(orders->decider);
}
