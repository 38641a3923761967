#include "exporter/governor/act/actuators/threads.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/process_stat.h"
#include "exporter/governor/terms/cpus.h"

int thread_start(const struct actuator_env *env, int tid, uint64_t *out)
{
    char path[64], text[PROCESS_STAT_BYTES];
    snprintf(path, sizeof path, "%d/stat", tid);
    int err = fsroot_read(env->fs, FSROOT_PROC, path, text, sizeof text, NULL);
    if (err == -ENOENT || err == -ESRCH)
        err = -ENODEV;
    return err ? err : process_start_ticks(text, out);
}

int thread_cpus(const struct actuator_env *env, int tid, cpu_set_t *out)
{
    const struct fswrite *write = env->write;
    int err = write->get_affinity(write->context, tid, out);
    return err == -ESRCH ? -ENODEV : err;
}

int thread_set(const struct actuator_env *env, int tid, const cpu_set_t *cpus)
{
    const struct fswrite *write = env->write;
    int err = write->set_affinity(write->context, tid, cpus);
    return err == -ESRCH ? -ENODEV : err;
}

int thread_claimed(const struct actuator_env *env, const struct claim *claim, cpu_set_t *out)
{
    uint64_t start;
    int err = thread_start(env, claim->tid, &start);
    if (!err && start != claim->tid_start)
        err = -ENODEV;
    return err ? err : thread_cpus(env, claim->tid, out);
}

int thread_put_back(const struct actuator_env *env, int tid, const char *text)
{
    cpu_set_t cpus, any;
    memset(&any, 0xff, sizeof any);
    if (strcmp(text, CPUS_ALL) == 0 || cpus_parse(text, &cpus))
        cpus = any;
    int err = thread_set(env, tid, &cpus);
    return err == -EINVAL ? thread_set(env, tid, &any) : err;
}

uint64_t thread_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec * hz + (uint64_t)now.tv_nsec * hz / 1000000000u;
}
