/*
 * CPU quotas: cpu.cfs_quota_us of v1, cpu.max of v2. The period is never changed, and neither is
 * the burst: a quota below it is refused by the kernel, hence it bounds from below.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "exporter/base/cpulist.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/governor/actuator.h"
#include "exporter/governor/cgroup_cpus.h"
#include "exporter/governor/cgroup_dir.h"
#include "exporter/governor/quota.h"

enum { ROOT_MAX = 2048 };

struct cpu {
    const struct actuator_env *env;
    int version;
    char root[ROOT_MAX]; /* of the hierarchy with the controller cpu */
    struct cgroup_cpus cpus;
};

/* What differs between the versions. */
struct names {
    const char *quota, *burst, *request;
};
static const struct names names_v1 = {"cpu.cfs_quota_us", "cpu.cfs_burst_us", "cpu.shares"};
static const struct names names_v2 = {"cpu.max", "cpu.max.burst", "cpu.weight"};

static const struct names *names_of(const struct cpu *cpu)
{
    return cpu->version == 1 ? &names_v1 : &names_v2;
}

/* ---- files ---- */

static int gone_or(int err)
{
    return err == -ENOENT || err == -ENOTDIR ? -ENODEV : err;
}

static int open_claimed(const struct cpu *cpu, const struct claim *claim)
{
    return cgroup_dir_open_claimed(cpu->root, claim);
}

/* The first line, without its end. */
static int read_text(int directory, const char *name, char *out, size_t size)
{
    size_t len;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int err = fsroot_read_fd(fd, out, size, &len);
    close(fd);
    if (!err)
        out[strcspn(out, "\n")] = '\0';
    return err;
}

static int read_number(int directory, const char *name, uint64_t *out)
{
    char text[CLAIM_TEXT_MAX], *end;
    int err = read_text(directory, name, text, sizeof text);
    if (err)
        return err;
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno || *end ? -EINVAL : 0;
}

/* ---- opening ---- */

static int find_roots(struct cpu *cpu)
{
    const struct fsroot *fs = cpu->env->fs;
    cpu->version = 1;
    if (cgroup_mount_find(fs, "cpu", cpu->root, sizeof cpu->root) == 0)
        return 0;
    cpu->version = 2;
    return cgroup_mount_find(fs, "", cpu->root, sizeof cpu->root);
}

/* Control files are user 0's to write, also without a capability; directories need not be. */
static int check_writable(const struct cpu *cpu, struct verdict *why)
{
    struct statvfs st;
    char file[ROOT_MAX + 16];
    snprintf(file, sizeof file, "%s/cgroup.procs", cpu->root);
    if (statvfs(cpu->root, &st) == 0 && (st.f_flag & ST_RDONLY)) {
        verdict_set(why, REASON_NO_PERMISSION, "%s is mounted read-only: mount it read-write",
                    cpu->root);
        return -EACCES;
    }
    if (faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) && errno == EACCES) {
        verdict_set(why, REASON_NO_PERMISSION, "%s: %s: quotas need user 0", file, strerror(errno));
        return -EACCES;
    }
    return 0;
}

static int cpu_open(const struct actuator_env *env, void **self, struct verdict *why)
{
    struct cpu *cpu = calloc(1, sizeof *cpu);
    if (!cpu)
        return -ENOMEM;
    cpu->env = env;
    int err = find_roots(cpu);
    if (err) {
        verdict_set(why, REASON_NO_DEVICE,
                    "no cgroup hierarchy with the controller cpu is mounted: mount one, or set "
                    "--path.cgroupfs");
        err = -ENODEV;
    } else {
        cgroup_cpus_init(&cpu->cpus, env->fs);
        err = check_writable(cpu, why);
    }
    if (err)
        free(cpu);
    else
        *self = cpu;
    return err;
}

static void cpu_close(void *self)
{
    free(self);
}

/* ---- limits ---- */

static int count_cpus(const struct cpu *cpu, int directory, const char *path, size_t *n)
{
    char text[4096];
    int err = cgroup_cpus_read(&cpu->cpus, directory, path, text, sizeof text);
    if (!err && (cpulist_parse(text, strlen(text), NULL, 0, n) || *n == 0))
        err = -EINVAL;
    return err;
}

static int parse_original(const struct cpu *cpu, int directory, const char *text, struct quota *out)
{
    uint64_t period;
    if (cpu->version == 2)
        return quota_parse_v2(text, out);
    int err = read_number(directory, "cpu.cfs_period_us", &period);
    return err ? err : quota_parse_v1(text, period, out);
}

/* v1 refuses a quota above the parent's; INFINITY where there is none. */
static double parent_cores(const struct cpu *cpu, int directory)
{
    char text[CLAIM_TEXT_MAX];
    struct quota quota;
    if (cpu->version != 1)
        return INFINITY;
    int parent = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return INFINITY;
    bool known = read_text(parent, names_v1.quota, text, sizeof text) == 0 &&
                 parse_original(cpu, parent, text, &quota) == 0;
    close(parent);
    return known ? quota_cores(quota) : INFINITY;
}

/* A pod that cannot be read bounds nothing. */
static double request_in_pod(int directory, uint64_t weight)
{
    uint64_t pod_weight;
    int pod = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool known = pod >= 0 && read_number(pod, names_v2.request, &pod_weight) == 0 && pod_weight > 0;
    if (pod >= 0)
        close(pod);
    return known ? quota_request_in_pod(weight, pod_weight) : quota_request_v2(weight, true);
}

static double request_cores(const struct cpu *cpu, int directory, const char *path)
{
    uint64_t number;
    if (read_number(directory, names_of(cpu)->request, &number))
        return 0;
    if (cpu->version == 1)
        return quota_request_v1(number);
    return strstr(path, "kubepods") ? request_in_pod(directory, number)
                                    : quota_request_v2(number, false);
}

static int set_limits(const struct cpu *cpu, int directory, double floor, struct claim *claim)
{
    size_t cpus;
    uint64_t burst_us;
    struct quota quota;
    int err = parse_original(cpu, directory, claim->original, &quota);
    if (!err)
        err = count_cpus(cpu, directory, claim->path, &cpus);
    if (err)
        return err;
    if (read_number(directory, names_of(cpu)->burst, &burst_us))
        burst_us = 0; /* kernels before 5.14 have none */
    double period = (double)quota.period_us;
    double least = fmax(floor, request_cores(cpu, directory, claim->path));
    least = fmax(least, fmax((double)burst_us, QUOTA_LEAST_US) / period);
    double most = fmin(quota_cores(quota), fmin((double)cpus, parent_cores(cpu, directory)));
    if (least >= most)
        return -ERANGE;
    claim->least = least;
    claim->most = most;
    return 0;
}

static int cpu_limit(void *self, double floor, struct claim *claim)
{
    int directory = open_claimed(self, claim);
    if (directory < 0)
        return directory;
    int err = set_limits(self, directory, floor, claim);
    close(directory);
    return err;
}

static int cpu_claim(void *self, double floor, struct claim *claim)
{
    const struct cpu *cpu = self;
    int directory = cgroup_dir_claim(cpu->root, claim);
    if (directory < 0)
        return directory;
    int err = read_text(directory, names_of(cpu)->quota, claim->original, sizeof claim->original);
    if (!err)
        err = set_limits(cpu, directory, floor, claim);
    close(directory);
    if (err)
        return err;
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return 0;
}

/* ---- reading and changing ---- */

static int cpu_check(void *self, const struct claim *claim, enum claim_state *state,
                     char now[CLAIM_TEXT_MAX])
{
    const struct cpu *cpu = self;
    now[0] = '\0';
    int directory = open_claimed(cpu, claim);
    int err = directory < 0
                  ? directory
                  : gone_or(read_text(directory, names_of(cpu)->quota, now, CLAIM_TEXT_MAX));
    if (directory >= 0)
        close(directory);
    if (err == -ENODEV) {
        *state = CLAIM_GONE;
        return 0;
    }
    if (err)
        return err;
    if (strcmp(now, claim->set[0] ? claim->set : claim->original) == 0)
        *state = CLAIM_OURS;
    else
        *state = strcmp(now, claim->original) == 0 ? CLAIM_RESET : CLAIM_CHANGED;
    return 0;
}

static void cpu_format(void *self, const struct claim *claim, double value,
                       char out[CLAIM_TEXT_MAX])
{
    const struct cpu *cpu = self;
    struct quota quota;
    int directory = cpu->version == 1 ? open_claimed(cpu, claim) : -1;
    if (value < claim->most && parse_original(cpu, directory, claim->original, &quota) == 0)
        quota_format(cpu->version, value, quota.period_us, out);
    else /* also where the period is not known: what is right for another one is wrong here */
        memcpy(out, claim->original, CLAIM_TEXT_MAX);
    if (directory >= 0)
        close(directory);
}

static int write_text(const struct cpu *cpu, int directory, const char *text)
{
    char line[CLAIM_TEXT_MAX + 1];
    int len = snprintf(line, sizeof line, "%s\n", text);
    const struct fswrite *write = cpu->env->write;
    return gone_or(
        write->write_at(write->context, directory, names_of(cpu)->quota, line, (size_t)len));
}

static int change(const struct cpu *cpu, int directory, const char *from, const char *to)
{
    char now[CLAIM_TEXT_MAX];
    int err = gone_or(read_text(directory, names_of(cpu)->quota, now, sizeof now));
    if (!err && strcmp(now, from) != 0)
        err = -ESTALE;
    if (!err)
        err = write_text(cpu, directory, to);
    if (!err)
        err = gone_or(read_text(directory, names_of(cpu)->quota, now, sizeof now));
    if (!err && strcmp(now, to) != 0)
        err = -ESTALE;
    return err;
}

static int cpu_apply(void *self, const struct claim *claim)
{
    int directory = open_claimed(self, claim);
    if (directory < 0)
        return directory;
    int err = change(self, directory, claim->from, claim->set);
    close(directory);
    return err;
}

/* The parent has been lowered meanwhile: what it allows is more than what we had set. */
static int put_back_below_parent(const struct cpu *cpu, int directory, const struct claim *claim)
{
    char text[CLAIM_TEXT_MAX];
    struct quota quota;
    double parent = parent_cores(cpu, directory);
    int err = parse_original(cpu, directory, claim->original, &quota);
    if (err || !isfinite(parent))
        return -EINVAL;
    quota_format(cpu->version, parent, quota.period_us, text);
    return write_text(cpu, directory, text);
}

static int put_back(const struct cpu *cpu, int directory, const struct claim *claim,
                    enum claim_restored *out)
{
    char now[CLAIM_TEXT_MAX];
    int err = gone_or(read_text(directory, names_of(cpu)->quota, now, sizeof now));
    if (err)
        return err;
    bool ours = claim->set[0] && (strcmp(now, claim->set) == 0 || strcmp(now, claim->from) == 0);
    if (strcmp(now, claim->original) == 0) {
        *out = RESTORED_ALREADY;
        return 0;
    }
    if (!ours) {
        *out = RESTORED_FOREIGN;
        return 0;
    }
    err = write_text(cpu, directory, claim->original);
    if (err == -EINVAL)
        err = put_back_below_parent(cpu, directory, claim);
    if (!err)
        *out = RESTORED;
    return err;
}

static int cpu_release(void *self, const struct claim *claim, enum claim_restored *out)
{
    int directory = open_claimed(self, claim);
    int err = directory < 0 ? directory : put_back(self, directory, claim, out);
    if (directory >= 0)
        close(directory);
    if (err != -ENODEV)
        return err;
    *out = RESTORED_GONE;
    return 0;
}

const struct actuator_ops cpu_actuator = {
    .name = "cpu",
    .knob = KNOB_CPU,
    .open = cpu_open,
    .close = cpu_close,
    .claim = cpu_claim,
    .check = cpu_check,
    .limit = cpu_limit,
    .format = cpu_format,
    .apply = cpu_apply,
    .release = cpu_release,
};
