#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/process_stat.h"
#include "exporter/governor/act/cgroup/cgroup_dir.h"
#include "exporter/governor/act/cgroup/cgroup_tasks.h"
#include "exporter/governor/write/writer_internal.h"

int look_text(int directory, const char *name, char *out, size_t size)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, out, size - 1);
    int err = n < 0 ? -errno : 0;
    close(fd);
    out[n > 0 ? n : 0] = '\0';
    return err;
}

int look_line(int directory, const char *name, char *out, size_t size)
{
    int err = look_text(directory, name, out, size);
    out[err ? 0 : strcspn(out, "\n")] = '\0';
    return err;
}

/* As a claim's text, with the period. */
int look_quota(const struct writer *writer, int directory, char text[CLAIM_TEXT_MAX],
               uint64_t *period_us)
{
    bool first = writer->config.version == 1;
    char quota[64], burst[32], period[32];
    struct rules_quota parsed;
    int err = look_line(directory, first ? "cpu.cfs_quota_us" : "cpu.max", quota, sizeof quota);
    if (err)
        return err;
    bool has = look_line(directory, first ? "cpu.cfs_burst_us" : "cpu.max.burst", burst,
                         sizeof burst) == 0 &&
               strcmp(burst, "0") != 0;
    snprintf(text, CLAIM_TEXT_MAX, "%s%s%s", quota, has ? " burst " : "", has ? burst : "");
    if (!rules_quota(writer->config.version, text, &parsed))
        return -EINVAL;
    *period_us = parsed.period_us;
    if (!first)
        return 0;
    err = look_line(directory, "cpu.cfs_period_us", period, sizeof period);
    return err ? err : rules_number(period, 10, UINT32_MAX, period_us) ? 0 : -EINVAL;
}

double look_cores(const struct rules_quota *quota, uint64_t period_us)
{
    return quota->unlimited ? INFINITY : (double)quota->us / (double)period_us;
}

int look_open(const struct writer *writer, const struct claim *claim)
{
    bool quota = claim->knob == KNOB_CPU;
    return cgroup_dir_open_claimed(quota ? writer->config.quotas : writer->config.hierarchy, claim);
}

static int is_this_one(void *context, unsigned tid)
{
    return tid == *(const unsigned *)context;
}

static int is_in(void *context, int cgroup)
{
    return cgroup_tasks(cgroup, is_this_one, context);
}

/* Whether the claim's cgroup has the thread; 'below': or one within it. */
bool look_is_member(const struct writer *writer, const struct claim *claim, int tid, bool below)
{
    unsigned number = (unsigned)tid;
    int directory = look_open(writer, claim);
    if (directory < 0)
        return false;
    bool found = is_in(&number, directory) == 1 ||
                 (below && cgroup_each_below(directory, is_in, &number) == 1);
    close(directory);
    return found;
}

int look_start(const struct writer *writer, int tid, uint64_t *start)
{
    char path[CLAIM_PATH_MAX], text[PROCESS_STAT_BYTES];
    int n = snprintf(path, sizeof path, "%s/%d/stat", writer->config.proc, tid);
    int err =
        n < 0 || (size_t)n >= sizeof path ? -EINVAL : look_text(AT_FDCWD, path, text, sizeof text);
    return err ? -ENODEV : process_start_ticks(text, start);
}

bool look_is_thread(const struct writer *writer, const struct claim *claim)
{
    uint64_t start;
    return look_start(writer, claim->tid, &start) == 0 && start == claim->tid_start;
}

int look_cpus(const struct writer *writer, int tid, cpu_set_t *out)
{
    const struct fswrite *write = writer->config.write;
    return write->get_affinity(write->context, tid, out);
}
