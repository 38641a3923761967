/*
 * CPU quotas and their bursts (quota.h). The period is one with the quota in v2, and may be shorter
 * while it is held; in v1, where it has a file of its own, it is never changed. A burst is lowered
 * as far as the quota takes it, for the kernel refuses a quota below it; what others make of it is
 * theirs, and only the quota says whether a claim is still ours.
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

#include "exporter/base/kernel_text.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/containers/cgroups/mounts.h"
#include "exporter/governor/act/actuators/actuator.h"
#include "exporter/governor/act/actuators/quota.h"
#include "exporter/governor/act/cgroup/cgroup_dir.h"
#include "exporter/governor/act/cgroup/control_file.h"

enum { ROOT_MAX = 2048 };

struct cpu {
    const struct actuator_env *env;
    int version;
    char root[ROOT_MAX]; /* of the hierarchy with the controller cpu */
    struct cgroup_cpus cpus;
};

/* ---- files ---- */

static int gone_or(int err)
{
    return err == -ENOENT || err == -ENOTDIR ? -ENODEV : err;
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
        char mounted[192];
        cgroup_mounts_tell(mounted, sizeof mounted);
        verdict_set(why, REASON_NO_DEVICE,
                    "no cgroup hierarchy with the controller cpu can be reached (mount one, or set "
                    "--path.cgroupfs); mounted: %s",
                    mounted);
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

/* ---- limits ---- */

static int count_cpus(const struct cpu *cpu, int directory, const char *path, size_t *n)
{
    char text[4096];
    int err = cgroup_cpus_read(&cpu->cpus, directory, path, text, sizeof text);
    if (!err && (cpulist_parse(text, strlen(text), NULL, 0, n) || *n == 0))
        err = -EINVAL;
    return err;
}

/* Of v1 the period is in a file of its own. */
static int parse_quota(const struct cpu *cpu, int directory, const char *text, struct quota *out)
{
    uint64_t period;
    if (cpu->version == 2)
        return quota_parse_v2(text, out);
    int err = control_file_number(directory, "cpu.cfs_period_us", &period);
    return err ? err : quota_parse_v1(text, period, out);
}

/* Of a quota that is set in place of one with this period. */
static uint64_t period_set(const struct cpu *cpu, uint64_t found_us)
{
    uint64_t period_us = cpu->version == 2 ? cpu->env->period_us : 0;
    return period_us && period_us < found_us ? period_us : found_us;
}

/* v1 refuses a quota above the parent's; INFINITY where there is none. */
static double parent_cores(const struct cpu *cpu, int directory)
{
    struct bandwidth bandwidth;
    struct quota quota;
    if (cpu->version != 1)
        return INFINITY;
    int parent = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return INFINITY;
    bool known = bandwidth_read(parent, 1, &bandwidth) == 0 &&
                 parse_quota(cpu, parent, bandwidth.quota, &quota) == 0;
    close(parent);
    return known ? quota_cores(quota) : INFINITY;
}

/* A pod that cannot be read bounds nothing. */
static double request_in_pod(int directory, uint64_t weight)
{
    uint64_t pod_weight;
    int pod = openat(directory, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool known =
        pod >= 0 && control_file_number(pod, "cpu.weight", &pod_weight) == 0 && pod_weight > 0;
    if (pod >= 0)
        close(pod);
    return known ? quota_request_in_pod(weight, pod_weight) : quota_request_v2(weight, true);
}

static double request_cores(const struct cpu *cpu, int directory, const char *path)
{
    uint64_t number;
    if (control_file_number(directory, cpu->version == 1 ? "cpu.shares" : "cpu.weight", &number))
        return 0;
    bool kubernetes = strstr(path, "kubepods") != NULL;
    if (cpu->version == 1)
        return quota_request_v1(number, kubernetes);
    return kubernetes ? request_in_pod(directory, number) : quota_request_v2(number, false);
}

static int set_limits(const struct cpu *cpu, int directory, double floor, struct claim *claim)
{
    size_t cpus;
    struct bandwidth original;
    struct quota quota;
    int err = bandwidth_parse(claim->original, &original);
    if (!err)
        err = parse_quota(cpu, directory, original.quota, &quota);
    if (!err)
        err = count_cpus(cpu, directory, claim->path, &cpus);
    if (err)
        return err;
    double least = fmax(floor, request_cores(cpu, directory, claim->path));
    least = fmax(least, QUOTA_LEAST_US / (double)period_set(cpu, quota.period_us));
    double most = fmin(quota_cores(quota), fmin((double)cpus, parent_cores(cpu, directory)));
    if (least >= most && !claim->id) /* what is held keeps the limits that it has */
        claim->most = most;
    if (least >= most)
        return -ERANGE;
    claim->least = least;
    claim->most = most;
    return 0;
}

static int cpu_limit(void *self, double floor, struct claim *claim)
{
    int directory = cgroup_dir_open_claimed(((const struct cpu *)self)->root, claim);
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
    struct bandwidth now;
    int err = bandwidth_read(directory, cpu->version, &now);
    if (!err) {
        bandwidth_spell(&now, claim->original);
        err = set_limits(cpu, directory, floor, claim);
    }
    close(directory);
    if (err)
        return err;
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return 0;
}

/* ---- reading and changing ---- */

static int read_now(const struct cpu *cpu, int directory, const struct claim *claim,
                    struct bandwidth_claim *parts, struct bandwidth *now, char text[CLAIM_TEXT_MAX])
{
    int err = bandwidth_claim_parse(claim, parts);
    if (!err)
        err = gone_or(bandwidth_read(directory, cpu->version, now));
    if (err)
        return err;
    const char *known = bandwidth_text(claim, parts, now);
    struct bandwidth other = *now; /* a new specification: a burst that we lowered is not of it */
    if (bandwidth_is_our_burst(parts, now->burst_us))
        other.burst_us = parts->original.burst_us;
    if (known)
        memcpy(text, known, CLAIM_TEXT_MAX);
    else
        bandwidth_spell(&other, text);
    return 0;
}

static int cpu_check(void *self, const struct claim *claim, enum claim_state *state,
                     char now[CLAIM_TEXT_MAX])
{
    struct bandwidth_claim parts;
    struct bandwidth found;
    now[0] = '\0';
    int directory = cgroup_dir_open_claimed(((const struct cpu *)self)->root, claim);
    int err = directory < 0 ? directory : read_now(self, directory, claim, &parts, &found, now);
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

/* A quota of that many cores, with as much of the original burst as it takes. */
static int spell_cores(const struct cpu *cpu, int directory, const struct claim *claim,
                       double cores, struct bandwidth *out)
{
    char text[CLAIM_TEXT_MAX];
    struct quota quota;
    struct bandwidth to;
    int err = bandwidth_parse(claim->original, &to);
    if (!err)
        err = parse_quota(cpu, directory, to.quota, &quota);
    if (err)
        return err;
    quota_format(cpu->version, cores, period_set(cpu, quota.period_us), text);
    snprintf(to.quota, sizeof to.quota, "%.*s", (int)sizeof to.quota - 1, text);
    uint64_t quota_us = strtoull(text, NULL, 10); /* both versions begin with it */
    if (to.burst_us > quota_us)
        to.burst_us = quota_us;
    *out = to;
    return 0;
}

static void cpu_format(void *self, const struct claim *claim, double value,
                       char out[CLAIM_TEXT_MAX])
{
    const struct cpu *cpu = self;
    struct bandwidth to;
    int directory = cpu->version == 1 ? cgroup_dir_open_claimed(cpu->root, claim) : -1;
    if (value < claim->most && spell_cores(cpu, directory, claim, value, &to) == 0)
        bandwidth_spell(&to, out);
    else /* also where the period is not known: what is right for another one is wrong here */
        memcpy(out, claim->original, CLAIM_TEXT_MAX);
    if (directory >= 0)
        close(directory);
}

static int change(const struct cpu *cpu, int directory, const struct claim *claim)
{
    char text[CLAIM_TEXT_MAX];
    struct bandwidth_claim parts;
    struct bandwidth now, to;
    int err = read_now(cpu, directory, claim, &parts, &now, text);
    if (err)
        return err;
    if (strcmp(text, claim->from) != 0)
        return -ESTALE;
    to = parts.set;
    if (!bandwidth_is_our_burst(&parts, now.burst_us) && to.burst_us > now.burst_us)
        to.burst_us = now.burst_us; /* somebody has lowered it */
    err = gone_or(bandwidth_write(cpu->env->write, directory, cpu->version, &now, &to));
    if (!err)
        err = gone_or(bandwidth_read(directory, cpu->version, &now));
    if (!err && (strcmp(now.quota, to.quota) != 0 || now.burst_us != to.burst_us))
        err = -ESTALE;
    return err;
}

static int cpu_apply(void *self, const struct claim *claim)
{
    int directory = cgroup_dir_open_claimed(((const struct cpu *)self)->root, claim);
    if (directory < 0)
        return directory;
    int err = change(self, directory, claim);
    close(directory);
    return err;
}

/* The parent has been lowered meanwhile: what it allows is more than what we had set. */
static int write_below_parent(const struct cpu *cpu, int directory, const struct claim *claim,
                              const struct bandwidth *now, uint64_t burst_us)
{
    struct bandwidth to;
    double parent = parent_cores(cpu, directory);
    if (!isfinite(parent) || spell_cores(cpu, directory, claim, parent, &to))
        return -EINVAL;
    if (to.burst_us > burst_us)
        to.burst_us = burst_us;
    return bandwidth_write(cpu->env->write, directory, cpu->version, now, &to);
}

/* Behind somebody else's quota: as much of it as that takes. */
static int give_burst_back(const struct cpu *cpu, int directory,
                           const struct bandwidth_claim *parts, const struct bandwidth *now)
{
    struct quota quota;
    struct bandwidth to = *now;
    if (!bandwidth_is_our_burst(parts, now->burst_us) ||
        parse_quota(cpu, directory, now->quota, &quota))
        return 0;
    to.burst_us = parts->original.burst_us;
    if (quota.quota_us >= 0 && to.burst_us > (uint64_t)quota.quota_us)
        to.burst_us = (uint64_t)quota.quota_us;
    return bandwidth_write(cpu->env->write, directory, cpu->version, now, &to);
}

static int put_back(const struct cpu *cpu, int directory, const struct claim *claim,
                    enum claim_restored *out)
{
    struct bandwidth_claim parts;
    struct bandwidth now, to;
    int err = bandwidth_claim_parse(claim, &parts);
    if (!err)
        err = gone_or(bandwidth_read(directory, cpu->version, &now));
    if (err)
        return err;
    bool reset = strcmp(now.quota, parts.original.quota) == 0;
    bool burst =
        bandwidth_is_our_burst(&parts, now.burst_us) && now.burst_us != parts.original.burst_us;
    *out = !reset ? RESTORED_FOREIGN : burst ? RESTORED : RESTORED_ALREADY;
    if (reset || !bandwidth_is_our_quota(&parts, now.quota))
        return gone_or(give_burst_back(cpu, directory, &parts, &now));
    to = parts.original;
    if (!bandwidth_is_our_burst(&parts, now.burst_us))
        to.burst_us = now.burst_us;
    err = gone_or(bandwidth_write(cpu->env->write, directory, cpu->version, &now, &to));
    if (!err)
        *out = RESTORED;
    if (err != -EINVAL)
        return err;
    *out = RESTORED_CLAMPED;
    return gone_or(write_below_parent(cpu, directory, claim, &now, to.burst_us));
}

static int cpu_release(void *self, const struct claim *claim, enum claim_restored *out)
{
    int directory = cgroup_dir_open_claimed(((const struct cpu *)self)->root, claim);
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
    .close = free,
    .claim = cpu_claim,
    .check = cpu_check,
    .limit = cpu_limit,
    .format = cpu_format,
    .apply = cpu_apply,
    .release = cpu_release,
};
