#include "exporter/inspect/warden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/inspect/question.h"
#include "exporter/service/channel.h"
#include "exporter/service/confine.h"
#include "exporter/service/descriptors.h"
#include "exporter/service/privileges.h"
#include "exporter/service/supervisor.h"
#include "exporter/source/accesses/own_reader.h"
#include "exporter/source/pmem/pmem.h"

/* ---- a worker's work ---- */

/* Answers questions about processes, one after the other, until the other end is closed. */

/* What a worker gives up before it answers: all system calls but these. Files to read, memory of
 * others, datagrams, memory of one's own, clocks, and the end. */
static const char worker_calls[] =
    "openat read pread64 lseek close newfstatat fstat statx access faccessat faccessat2 readlink "
    "readlinkat getdents64 fcntl "
    "process_vm_readv ioctl sendto recvfrom sendmsg recvmsg brk mmap munmap mremap mprotect "
    "madvise "
    "memfd_create clock_gettime futex getrandom getpid gettid rt_sigaction rt_sigprocmask "
    "rt_sigreturn restart_syscall sigaltstack tgkill write exit exit_group";

struct worker {
    int channel;
    struct medium_rule *rule;
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
        return (int)worker->rule->mapping(worker->rule, (pid_t)question->number, &question->line,
                                          question->access);
    case QUESTION_REFRESH:
        return refresh(worker->rule);
    }
    return -EINVAL;
}

/* Who asks cannot name this process in a procfs of another PID namespace: it gets the file. */
static int greet(const struct fsroot *fs, int channel)
{
    const uint8_t nothing[GREETING_BYTES] = {0};
    int state = fsroot_open(fs, FSROOT_PROC, "self/stat", O_RDONLY);
    int err = channel_send(channel, nothing, sizeof nothing, &state, state >= 0 ? 1 : 0);
    if (state >= 0)
        close(state);
    return err;
}

static int serve(struct worker *worker)
{
    for (;;) {
        struct question question;
        struct answer reply = {0};
        ssize_t n = recv(worker->channel, worker->in, sizeof worker->in, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        reply.result = question_read(worker->in, (size_t)n, &question);
        if (reply.result == 0)
            reply.result = answer(worker, &question, worker->out + ANSWER_HEAD, &reply.len);
        reply.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        size_t len = answer_write(&reply, worker->out);
        while ((n = send(worker->channel, worker->out, len, MSG_NOSIGNAL)) < 0 && errno == EINTR)
            ;
        if (n < 0)
            return errno == EPIPE ? 0 : -errno; /* nobody waits for it any more */
    }
}

/* 0 at the end, or -errno. */
static int worker_run(const struct fsroot *fs, struct medium_rule *rule, int channel)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return -ENOMEM;
    worker->channel = channel;
    worker->rule = rule;
    int err = greet(fs, channel);
    if (!err)
        err = own_reader_new(fs, &worker->reader);
    if (!err && !rule)
        err = pmem_new(fs, &pmem_files_linux, &worker->pmem);
    if (worker->pmem)
        worker->rule = pmem_rule(worker->pmem);
    if (!err)
        err = serve(worker);
    close_maps(worker);
    pmem_free(worker->pmem);
    own_reader_free(worker->reader);
    free(worker);
    return err;
}

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

/* For good, like what a worker gives up moreover. Bits of enum confined. */
static unsigned confine(void)
{
    char calls[1024];
    struct stat log;
    unsigned done = drop_privileges() == 0 ? CONFINED_CAPABILITIES : 0;
    if (confine_supported()) /* a sanitizer's report of leaks traces its own process */
        (void)privileges_enclose(fstat(STDERR_FILENO, &log) == 0 && S_ISREG(log.st_mode));
    snprintf(calls, sizeof calls, "%s %s", worker_calls, warden_calls);
    return done | confine_calls(calls);
}

/* ---- the warden ---- */

struct warden {
    struct supervisor supervisor; /* first */
    const struct fsroot *fs;
    struct medium_rule *rule;
};

/* It may outlive all others, in a read that nobody can end: so it holds nothing of theirs. */
static int work(struct supervisor *supervisor)
{
    const struct warden *warden = (struct warden *)supervisor;
    const struct warden_message message = {.worker = getpid()};
    int ends[2];
    int err = channel_open(ends);
    if (err) {
        log_error(supervisor->log, "inspect", "cannot start the process that looks into others: %s",
                  strerror(-err));
        return err;
    }
    channel_send(supervisor->control, &message, sizeof message, &ends[0], 1);
    close(ends[0]);
    close(supervisor->control);
    close(supervisor->children);
    if (confine_supported()) { /* a sanitizer reports there */
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
    }
    confine_calls(worker_calls);
    return worker_run(warden->fs, warden->rule, ends[1]);
}

static void ended(struct supervisor *supervisor, int status)
{
    (void)status;
    log_error(supervisor->log, "inspect",
              "the process that looks into others has ended; starting it again");
}

/* The reader waits for it no longer. */
static void obey(struct supervisor *supervisor)
{
    struct warden_message message;
    size_t no_fds = 0;
    if (channel_receive(supervisor->control, 0, &message, sizeof message, NULL, &no_fds) !=
            (int)sizeof message ||
        message.worker != supervisor->worker || supervisor->worker == 0)
        return;
    supervisor_leave(supervisor);
    if (supervisor->stuck == SUPERVISOR_STUCK_MAX)
        log_error(supervisor->log, "inspect",
                  "%d processes that look into others wait for file systems that do not answer: no "
                  "further one is started until one of them ends, and samples are not resolved",
                  SUPERVISOR_STUCK_MAX);
}

static const struct supervisor_ops ops = {
    .module = "inspect",
    .name = "the process that looks into others",
    .first_pause_ns = 50000000,
    .last_pause_ns = 12800000000,
    .look_ms = -1,
    .patience_ms = 0,
    .work = work,
    .ended = ended,
    .heard = obey,
};

/* Whatever the reader has open is nothing that a look into processes needs. */
int warden_run(int control, const struct fsroot *fs, struct medium_rule *rule,
               const struct log *log)
{
    int keep[] = {control};
    descriptors_close_all_but(keep, 1);
    struct warden warden = {.fs = fs, .rule = rule};
    supervisor_init(&warden.supervisor, &ops, log, control);
    unsigned confined = confine();
    log_info(log, "inspect", "the process that looks into others: %s, %s",
             confined & CONFINED_CAPABILITIES ? "with the capabilities for that only"
                                              : "capabilities as given",
             confined & CONFINED_CALLS ? "few system calls" : "all system calls (no seccomp)");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return supervisor_run(&warden.supervisor);
}
