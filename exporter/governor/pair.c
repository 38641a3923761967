#include "exporter/governor/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/capability.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/governor/decide/governor.h"
#include "exporter/governor/write/orders.h"
#include "exporter/service/channel.h"
#include "exporter/service/confine.h"
#include "exporter/service/notify.h"
#include "exporter/service/privileges.h"
#include "exporter/service/supervisor.h"

/* ---- the fork ---- */

int pair_fork(struct pair *pair)
{
    const pid_t writer = getpid();
    int side = supervisor_fork(&pair->channel, &pair->decider);
    if (side <= 0)
        return side;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == writer ? 1 : -EPIPE;
}

void pair_end(const struct pair *pair)
{
    close(pair->channel);
    waitpid(pair->decider, NULL, 0);
}

bool pair_wait(const struct pair *pair, struct pair_begin *out)
{
    size_t no_fds = 0;
    return channel_receive(pair->channel, -1, out, sizeof *out, NULL, &no_fds) == (int)sizeof *out;
}

/* ---- the decider ---- */

/* Files to read; the exporter's socket; pages for the server, whose keeper ends by itself. */
static const char decider_calls[] =
    "access brk clock_gettime clock_nanosleep close connect epoll_create1 epoll_ctl epoll_pwait "
    "epoll_wait eventfd2 exit exit_group faccessat faccessat2 fcntl fstat fstatfs ftruncate futex "
    "getdents64 getegid geteuid getgid getpeername getpid getppid getrandom getrusage getsockname "
    "getsockopt gettid gettimeofday getuid lseek lstat madvise membarrier memfd_create mmap "
    "mprotect mremap munmap nanosleep newfstatat openat poll ppoll pread64 prlimit64 pselect6 read "
    "readlink readlinkat recvfrom recvmmsg recvmsg restart_syscall rseq rt_sigaction "
    "rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield select sendmmsg sendmsg sendto "
    "set_robust_list setsockopt shutdown sigaltstack signalfd4 socket stat statfs statx sysinfo "
    "tgkill time timerfd_create timerfd_settime uname wait4 waitid write writev";

static void open_folder(const char *path, int out[], size_t *n)
{
    int fd = path && path[0] ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0)
        out[(*n)++] = fd;
}

/* The file itself may be replaced, and be a link. */
static void open_folder_of(const char *file, int out[], size_t *n)
{
    char folder[4096];
    char *real = realpath(file, NULL);
    const char *const names[] = {file, real};
    for (size_t i = 0; i < 2 && names[i]; i++) {
        const char *slash = strrchr(names[i], '/');
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - names[i]) + 1 : 1,
                 slash ? names[i] : ".");
        open_folder(folder, out, n);
    }
    free(real);
}

static size_t open_read(const struct fsroot *fs, const char *config_file, int out[16])
{
    static const char *const controllers[] = {"cpu", "cpuset", ""};
    struct cgroup_hierarchy hierarchy;
    char path[4096];
    size_t n = 0;
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++)
        if (cgroup_mount_find(fs, controllers[i], path, sizeof path) == 0)
            open_folder(path, out, &n);
    if (cgroup_hierarchy_find(fs, &hierarchy, path, sizeof path) == 0)
        open_folder(hierarchy.path, out, &n);
    open_folder(fs->path[FSROOT_PROC], out, &n);
    open_folder(fs->path[FSROOT_SYS], out, &n);
    open_folder(fs->path[FSROOT_RESCTRL], out, &n);
    open_folder(fs->path[FSROOT_CGROUP], out, &n);
    open_folder_of(config_file, out, &n);
    return n;
}

static uint16_t port_of(const struct client_address *exporter)
{
    int family = exporter->address.any.sa_family;
    return family == AF_INET ? ntohs(((const struct sockaddr_in *)&exporter->address)->sin_port)
           : family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)&exporter->address)->sin6_port)
               : 0;
}

void pair_confine_decider(const struct log *log, const struct fsroot *fs, const char *config_file,
                          const struct client_address *exporter)
{
    int folders[16];
    size_t n = open_read(fs, config_file, folders);
    unsigned confined = confine_files(folders, n);
    bool tcp = confine_tcp(port_of(exporter));
    confined |= confine_caller(decider_calls, exporter->address.any.sa_family);
    while (n > 0)
        close(folders[--n]);
    log_info(log, "governor", "the process that decides: %s, %s, %s",
             confined & CONFINED_FILES ? "reads cgroups, /proc, /sys and the configuration's folder"
                                       : "files as given (no Landlock)",
             exporter->socket[0] ? "reaches unix sockets alone"
             : tcp               ? "reaches the exporter's port alone"
                                 : "any address of the exporter's kind",
             confined & CONFINED_CALLS ? "few system calls" : "all system calls (no seccomp)");
}

/* ---- what the writer may do ---- */

/* What is in no pod, by its name alone (config_class_of). */
static bool is_service(const struct match *match)
{
    return fnmatch(match->namespace_, "", 0) == 0 && fnmatch(match->pod, "", 0) == 0 &&
           match->container[0] && !strpbrk(match->container, "*?[");
}

static void bound(const struct config *config, bool any_path, const char **names,
                  struct writer_bounds *out)
{
    *out = (struct writer_bounds){.names = names, .any_path = any_path};
    for (int knob = 0; knob < KNOB_COUNT; knob++)
        out->least[knob] = INFINITY;
    for (size_t i = 0; i < config->n_classes; i++) {
        const struct class *class = &config->classes[i];
        if (class->role != CLASS_BEST_EFFORT)
            continue;
        for (int knob = 0; knob < KNOB_COUNT; knob++)
            if (config->owners[i][knob] != POLICY_NONE)
                out->least[knob] =
                    fmin(out->least[knob], config_floor(config, (int)i, (enum knob)knob));
        for (size_t m = 0; m < class->n_matches; m++)
            if (is_service(&class->matches[m]))
                names[out->n_names++] = class->matches[m].container;
    }
    if (config->enabled[POLICY_NVMM_CORES])
        out->cpus = config->nvmm.cpus;
}

static const char **new_names(void)
{
    return calloc(CONFIG_CLASSES_MAX * CONFIG_MATCHES_MAX, sizeof(char *));
}

static const char *more_than(const struct writer_bounds *first, const struct writer_bounds *other)
{
    for (int knob = 0; knob < KNOB_COUNT; knob++)
        if (other->least[knob] < first->least[knob])
            return "a class's floor below those at the start, or a policy of another kind";
    if (isfinite(other->least[KNOB_AFFINITY]) && !CPU_EQUAL(&other->cpus, &first->cpus))
        return "other CPUs for nvmm_cores";
    for (size_t i = 0; i < other->n_names; i++) {
        size_t at = 0;
        while (at < first->n_names && strcmp(first->names[at], other->names[i]) != 0)
            at++;
        if (at == first->n_names)
            return "the name of another service";
    }
    return NULL;
}

static bool reaches(const struct client_address *first, const struct client_address *other)
{
    return first->address.any.sa_family == other->address.any.sa_family &&
           port_of(first) == port_of(other);
}

int pair_may_change(const struct config *first, const struct config *config, bool writes,
                    char *error, size_t error_size)
{
    struct writer_bounds before, after;
    const char **names = new_names(), **other_names = new_names(), *what = NULL;
    int err = names && other_names ? 0 : -ENOMEM;
    if (err) {
        snprintf(error, error_size, "out of memory");
    } else if (!reaches(&first->exporter, &config->exporter)) {
        what = "another address of the exporter";
    } else if (writes) {
        bound(first, false, names, &before);
        bound(config, false, other_names, &after);
        what = more_than(&before, &after);
    }
    if (what) {
        snprintf(error, error_size, "%s needs a restart", what);
        err = -EINVAL;
    }
    free(names);
    free(other_names);
    return err;
}

/* Where the writer looks and writes. */
struct roots {
    char quotas[2048], resctrl[2048], proc[2048];
    struct cgroup_hierarchy hierarchy;
    int version;
};

static void find_roots(const struct fsroot *fs, struct roots *out)
{
    char error[256];
    *out = (struct roots){.version = 1};
    if (cgroup_mount_find(fs, "cpu", out->quotas, sizeof out->quotas)) {
        out->version = 2;
        cgroup_mount_find(fs, "", out->quotas, sizeof out->quotas);
    }
    if (cgroup_hierarchy_find(fs, &out->hierarchy, error, sizeof error))
        out->hierarchy.path[0] = '\0'; /* the decider says so */
    fsroot_path(fs, FSROOT_SYS, "fs/resctrl", out->resctrl, sizeof out->resctrl);
    fsroot_path(fs, FSROOT_PROC, "", out->proc, sizeof out->proc);
}

static size_t open_roots(const struct roots *roots, const char *state, int out[3])
{
    size_t n = 0;
    open_folder(roots->quotas, out, &n);
    open_folder(roots->resctrl, out, &n);
    open_folder(state, out, &n);
    return n;
}

/* ---- the writer ---- */

static int let_begin(const struct pair *pair, const struct restore_counts *restored)
{
    struct pair_begin begin;
    memset(&begin, 0, sizeof begin);
    begin.may_set_affinity = privileges_has(CAP_SYS_NICE);
    begin.restored = *restored;
    return channel_send(pair->channel, &begin, sizeof begin, NULL, 0);
}

static int obey(const struct pair *pair, const struct roots *roots, const char *state,
                struct writer *writer, const struct log *log, const sigset_t *signals)
{
    char ready[NOTIFY_READY_MAX];
    int directories[3];
    size_t n = open_roots(roots, state, directories);
    notify_ready_words(ORDER_WATCHDOG_US, ready, sizeof ready);
    const struct orders orders = {.channel = pair->channel,
                                  .decider = pair->decider,
                                  .signals = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK),
                                  .notify = notify_open(),
                                  .ready = ready,
                                  .writer = writer,
                                  .log = log};
    unsigned confined = orders_confine(pair->decider, directories, writer ? n : 0);
    while (n > 0)
        close(directories[--n]);
    log_info(log, "governor", "the process that writes: %s, %s",
             confined & CONFINED_FILES ? "no files of others to write"
                                       : "files as given (no Landlock)",
             confined & CONFINED_CALLS ? "few system calls" : "all system calls (no seccomp)");
    /* Without it nobody could end this: who decides hears that the channel is closed. */
    int status = orders.signals >= 0 ? orders_take(&orders) : -1;
    if (orders.signals >= 0)
        close(orders.signals);
    if (orders.notify >= 0)
        close(orders.notify);
    return status;
}

static int make_writer(const struct writer_bounds *bounds, const struct roots *roots,
                       const struct journal *journal, struct writer **out)
{
    const struct writer_config config = {.bounds = bounds,
                                         .write = &fswrite_real,
                                         .version = roots->version,
                                         .quotas = roots->quotas,
                                         .hierarchy = roots->hierarchy.path,
                                         .resctrl = roots->resctrl,
                                         .proc = roots->proc,
                                         .file = journal->file};
    return writer_new(&config, out);
}

/* What a decider's status means. */
static int result_of(int status)
{
    return status == 0 ? 0 : status == 3 ? -EAGAIN : -EIO;
}

/* The journal is open, and with it the lock; both are gone afterwards. */
static int write_journal(const struct pair *pair, const struct flags *flags,
                         const struct config *config, const struct governor_setup *setup,
                         struct journal *journal, const struct restore_counts *restored,
                         const sigset_t *signals, char *error, size_t error_size)
{
    struct writer_bounds bounds;
    struct writer *writer = NULL;
    struct roots roots;
    struct restore_counts counts = {0};
    const char *state = config->state_directory;
    const char **names = new_names();
    int err = names ? 0 : -ENOMEM;
    find_roots(setup->fs, &roots);
    if (!err) {
        bound(config, flags->allow_replay, names, &bounds);
        err = make_writer(&bounds, &roots, journal, &writer);
    }
    if (!err)
        err = let_begin(pair, restored);
    if (err)
        snprintf(error, error_size, "%s", strerror(-err));
    else
        err = result_of(obey(pair, &roots, state, writer, setup->log, signals));
    bool left = writer && writer_open(writer) > 0;
    writer_free(writer);
    free(names);
    journal_close(journal);
    if (!left && !err)
        return 0;
    if (left)
        log_warn(setup->log, "writer",
                 "the process that decided has left something: it is given back");
    int again = governor_restore(state, setup, &counts, error, error_size); /* groups, too */
    return again ? again : counts.failed ? -EAGAIN : -EIO;
}

static int write_nothing(const struct pair *pair, const struct config *config,
                         const struct governor_setup *setup, const sigset_t *signals, char *error,
                         size_t error_size)
{
    static const struct roots nowhere;
    struct restore_counts restored = {0};
    int err = governor_restore(config->state_directory, setup, &restored, error, error_size);
    if (err && err != -ENOENT)
        return err;
    error[0] = '\0'; /* where there is no journal, nothing is wrong */
    err = let_begin(pair, &restored);
    return err ? err : result_of(obey(pair, &nowhere, "", NULL, setup->log, signals));
}

/* Before a journal is made: whether anything can be done here at all. */
static int try_out(const struct governor_setup *setup, const struct flags *flags,
                   const struct config *config, char *error, size_t error_size)
{
    struct governor_setup look = *setup;
    struct governor *governor = NULL;
    look.config = config;
    look.allow_replay = flags->allow_replay;
    look.look_only = true;
    int err = governor_new(&look, clock_mono_ns(), &governor, error, error_size);
    governor_free(governor);
    return err;
}

int pair_write(const struct pair *pair, const struct flags *flags, const struct config *config,
               const struct fsroot *fs, const struct log *log, const sigset_t *signals, char *error,
               size_t error_size)
{
    const struct governor_setup setup = {.fs = fs, .write = &fswrite_real, .log = log};
    struct restore_counts restored = {0};
    struct journal journal;
    int err = try_out(&setup, flags, config, error, error_size);
    if (err)
        return err;
    if (!flags->enforce || !config->enforce)
        return write_nothing(pair, config, &setup, signals, error, error_size);
    err = governor_open_journal(config->state_directory, &setup, &journal, &restored, error,
                                error_size);
    if (err)
        return err;
    return write_journal(pair, flags, config, &setup, &journal, &restored, signals, error,
                         error_size);
}
