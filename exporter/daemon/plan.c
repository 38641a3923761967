#include "exporter/daemon/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/http/http.h"
#include "exporter/service/confine.h"
#include "exporter/service/privileges.h"
#include "exporter/source/pmem/pmem.h"

/* A given tree that is not there would look like a machine without counters or containers. */
static int check_trees(const struct options *o, char *error, size_t error_size)
{
    const struct {
        const char *flag, *path;
    } trees[] = {
        {"procfs", o->procfs}, {"sysfs", o->sysfs},     {"cgroupfs", o->cgroupfs},
        {"rootfs", o->rootfs}, {"resctrl", o->resctrl},
    };
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        struct stat st;
        if (!trees[i].path || (stat(trees[i].path, &st) == 0 && S_ISDIR(st.st_mode)))
            continue;
        snprintf(error, error_size, "--path.%s: %s is not a directory here", trees[i].flag,
                 trees[i].path);
        return -EINVAL;
    }
    return 0;
}

/* ---- what collectors need ---- */

static bool is_wanted(const struct options *options, size_t i)
{
    if (options->collector[i] != SWITCH_DEFAULT)
        return options->collector[i] == SWITCH_ON;
    return !options->disable_defaults && collector_table[i]->default_on != COLLECTOR_OFF;
}

static void add_sampling(struct sampling_request *all, const struct sampling_request *one)
{
    if (all->period == 0 || (one->period > 0 && one->period < all->period))
        all->period = one->period;
    for (int access = 0; access < ACCESS_KINDS; access++)
        all->wanted[access] |= one->wanted[access];
}

static void add_needs(struct plan *plan, size_t i)
{
    const struct collector_ops *ops = collector_table[i];
    struct sampling_request request = {0};
    plan->probe |= (ops->needs & NEEDS_PROBE) != 0;
    if (!(ops->needs & NEEDS_SAMPLES))
        return;
    plan->samples = true;
    plan->samples_by_name |= plan->options->collector[i] == SWITCH_ON;
    ops->sampling(&plan->options->config[i], &request);
    add_sampling(&plan->sampling, &request);
}

static void choose_collectors(struct plan *plan)
{
    for (size_t i = 0; collector_table[i]; i++) {
        plan->wanted[i] = is_wanted(plan->options, i);
        if (plan->wanted[i])
            add_needs(plan, i);
    }
}

/* ---- the plan ---- */

int plan_init(struct plan *plan, const struct options *options, struct medium_rule *medium_rule,
              char *error, size_t error_size)
{
    *plan =
        (struct plan){.options = options, .kernel = &perf_kernel_linux, .medium_rule = medium_rule};
    int err = check_trees(options, error, error_size);
    if (err)
        return err;
    err =
        fsroot_init(&plan->fs, options->procfs, options->sysfs, options->cgroupfs, options->rootfs);
    if (!err && options->resctrl)
        err = fsroot_move(&plan->fs, FSROOT_RESCTRL, options->resctrl);
    if (err) {
        fsroot_release(&plan->fs);
        snprintf(error, error_size, "cannot start: %s", strerror(-err));
        return err;
    }
    if (options->source != SOURCE_REPLAY && options->events_file)
        err = events_file_load(options->events_file, &plan->events, error, error_size);
    if (err) {
        fsroot_release(&plan->fs);
        return err == -ENOMEM ? err : -EINVAL;
    }
    choose_collectors(plan);
    if (plan->samples && options->source != SOURCE_REPLAY && !medium_rule) {
        struct pmem_node node;
        pmem_node_detect(&plan->fs, &node);
        pmem_node_usable(&node, &plan->nothing_to_sample);
    }
    return 0;
}

void plan_release(struct plan *plan)
{
    events_file_release(&plan->events);
    fsroot_release(&plan->fs);
}

/* ---- privileges ---- */

/* Debian and Ubuntu know a level beyond the kernel's own, at which PERFMON is not enough. */
static bool paranoid_beyond_perfmon(const struct fsroot *fs)
{
    uint64_t level = 0;
    /* -1 does not parse as a number here, and is no reason to keep anything. */
    return fsroot_read_u64(fs, FSROOT_PROC, "sys/kernel/perf_event_paranoid", &level) == 0 &&
           level > 2;
}

static bool counts_uprobes(const struct events_file *file)
{
    static const char prefix[] = "uprobe:";
    bool found = false;
    for (int i = 0; i < ROLE_COUNT; i++)
        found |= file->event[i] && strncmp(file->event[i], prefix, sizeof prefix - 1) == 0;
    return found;
}

bool plan_samples(const struct plan *plan)
{
    return plan->samples && plan->options->source != SOURCE_REPLAY &&
           plan->nothing_to_sample.reason == REASON_OK;
}

/* Whether containers may come to be counted by a BPF program here. */
static bool plan_bpf(const struct plan *plan)
{
    return plan->options->source == SOURCE_BPF || plan->options->source == SOURCE_AUTO;
}

/*
 * PERFMON is enough for counters, but for the three cases below. Samples take a look into other
 * processes, which is the inspector's business where there is one: SYS_PTRACE for their code and
 * mappings, CHECKPOINT_RESTORE for the files behind those, which are otherwise found by path, and
 * not where a directory on it is closed to us.
 */
int plan_drop_privileges(const struct plan *plan)
{
    int keep[5] = {CAP_PERFMON};
    size_t n = 1;
    if (plan_bpf(plan))
        keep[n++] = CAP_BPF;
    if (paranoid_beyond_perfmon(&plan->fs) || counts_uprobes(&plan->events) ||
        !privileges_has(CAP_PERFMON))
        keep[n++] = CAP_SYS_ADMIN;
    if (plan_samples(plan) && !plan->inspector) {
        keep[n++] = CAP_SYS_PTRACE;
        keep[n++] = CAP_CHECKPOINT_RESTORE;
    }
    return privileges_drop(keep, n);
}

int plan_become_user(const struct plan *plan, char *error, size_t error_size)
{
    if (plan->options->user == 0)
        return 0;
    if (plan_samples(plan)) {
        snprintf(error, error_size,
                 "--process.user contradicts samples, which look into other "
                 "users' processes: switch their collector off");
        return -EINVAL;
    }
    int err = privileges_become((uid_t)plan->options->user);
    if (err)
        snprintf(error, error_size, "--process.user=%zu: %s%s", plan->options->user, strerror(-err),
                 err == -EPERM ? " (it takes CAP_SETUID)" : "");
    return err;
}

/* Where a file is made and written; -1: nowhere. */
static int directory_of(const char *file)
{
    char directory[4096];
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (!file)
        return -1;
    if (!slash)
        return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(directory, sizeof directory, "%.*s", slash == file ? 1 : (int)(slash - file), file);
    return open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void add_directory(int *directories, size_t *n, const char *file)
{
    int fd = directory_of(file);
    if (fd >= 0)
        directories[(*n)++] = fd;
}

unsigned plan_confine(const struct plan *plan)
{
    const struct options *options = plan->options;
    int directories[2 + OPTIONS_MAX_LISTEN];
    size_t n = 0;
    if (plan_samples(plan) && !plan->inspector)
        return 0;
    add_directory(directories, &n, options->state_file);
    add_directory(directories, &n, options->record_file);
    for (size_t i = 0; i < options->n_listen && !options->systemd_socket; i++)
        add_directory(directories, &n, http_unix_path(options->listen[i]));
    unsigned done = confine_writes(directories, n);
    while (n > 0)
        close(directories[--n]);
    return done;
}

static bool is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* What is printed and logged may go to a file, too. To the kernel a page for the server's process
 * is a file. */
int plan_enclose(const struct plan *plan)
{
    const struct options *o = plan->options;
    return privileges_enclose(!o->once || o->record_file || o->state_file ||
                              is_file(STDOUT_FILENO) || is_file(STDERR_FILENO));
}
