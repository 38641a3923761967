/*
 * The CPUs that single threads may run on, by sched_setaffinity(2).
 *
 * What a thread is kept on are those of the CPUs for it (actuator_env) that it may use anyhow.
 * Texts are lists, "0-3,8", or "all": every CPU that its cgroup allows, also those that are allowed
 * later.
 *
 * keep() and release() give those back that were born of it. What a thread has asked for
 * itself cannot be read, only what its cgroup allows of it: who has all of that is taken for one
 * who has asked for nothing.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/process_stat.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/governor/act/actuators/actuator.h"
#include "exporter/governor/act/cgroup/cgroup_dir.h"
#include "exporter/governor/act/cgroup/cgroup_tasks.h"
#include "exporter/governor/act/cgroup/control_file.h"
#include "exporter/governor/terms/cpus.h"
#include "exporter/service/privileges.h"

struct affinity {
    const struct actuator_env *env;
    struct cgroup_hierarchy hierarchy; /* that the exporter's paths and inodes are of */
    struct cgroup_cpus cpus;
};

/* ---- threads of others ----
 *
 * A thread is its number and the time at which it began, in clock ticks since boot. -ENODEV: there
 * is no such thread. */

static int thread_start(const struct actuator_env *env, int tid, uint64_t *out)
{
    char path[64], text[PROCESS_STAT_BYTES];
    snprintf(path, sizeof path, "%d/stat", tid);
    int err = fsroot_read(env->fs, FSROOT_PROC, path, text, sizeof text, NULL);
    if (err == -ENOENT || err == -ESRCH)
        err = -ENODEV;
    return err ? err : process_start_ticks(text, out);
}

static int thread_cpus(const struct actuator_env *env, int tid, cpu_set_t *out)
{
    const struct fswrite *write = env->write;
    int err = write->get_affinity(write->context, tid, out);
    return err == -ESRCH ? -ENODEV : err;
}

/* The kernel takes what the cgroup allows of it. -EINVAL: that is nothing. */
static int thread_set(const struct actuator_env *env, int tid, const cpu_set_t *cpus)
{
    const struct fswrite *write = env->write;
    int err = write->set_affinity(write->context, tid, cpus);
    return err == -ESRCH ? -ENODEV : err;
}

/* Of the claim's thread, and of no other that has its number now. */
static int thread_claimed(const struct actuator_env *env, const struct claim *claim, cpu_set_t *out)
{
    uint64_t start;
    int err = thread_start(env, claim->tid, &start);
    if (!err && start != claim->tid_start)
        err = -ENODEV;
    return err ? err : thread_cpus(env, claim->tid, out);
}

/* Back to a text of cpus.h: to what of it is allowed now, or to all where nothing of it is. */
static int thread_put_back(const struct actuator_env *env, int tid, const char *text)
{
    cpu_set_t cpus, any;
    memset(&any, 0xff, sizeof any);
    if (strcmp(text, CPUS_ALL) == 0 || cpus_parse(text, &cpus))
        cpus = any;
    int err = thread_set(env, tid, &cpus);
    return err == -EINVAL ? thread_set(env, tid, &any) : err;
}

/* Now, as thread_start() counts. */
static uint64_t thread_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec * hz + (uint64_t)now.tv_nsec * hz / 1000000000u;
}

/* ---- who is born of a thread ----
 *
 * Inherits its CPUs, in whichever process. Those that were born since a claim, have exactly what it
 * set and are not claimed themselves are given back with it; of several claims that have set the
 * same, the oldest one's original. */

enum { PASSES = 5 };

struct born {
    const struct actuator_env *env;
    const struct claim *claim;
    const char *set; /* what they were born with */
    cpu_set_t allowed;
    unsigned given;
};

static bool is_claimed(const struct actuator_env *env, int tid)
{
    const struct journal_claims *open = env->open;
    for (size_t i = 0; i < open->n; i++)
        if (open->claims[i].knob == KNOB_AFFINITY && open->claims[i].tid == tid)
            return true;
    return false;
}

static int give_back_one(void *context, unsigned tid)
{
    struct born *born = context;
    const struct claim *claim = born->claim;
    cpu_set_t cpus;
    uint64_t start;
    if ((int)tid == claim->tid || thread_cpus(born->env, (int)tid, &cpus) ||
        !cpus_are(born->set, &born->allowed, &cpus) || is_claimed(born->env, (int)tid) ||
        thread_start(born->env, (int)tid, &start) || start < claim->tid_claimed)
        return 0;
    int err = thread_put_back(born->env, (int)tid, claim->original);
    born->given += !err;
    return err == -ENODEV ? 0 : err;
}

static int give_back_in(void *context, int cgroup)
{
    return cgroup_tasks(cgroup, give_back_one, context);
}

/* Those in the cgroup, whose directory that is, and below it, that have 'set' of what is allowed
 * there. A cgroup or thread that has ended is no error. */
static int born_give_back(const struct actuator_env *env, const struct claim *claim,
                          const char *set, int directory, const cpu_set_t *allowed)
{
    struct born born = {.env = env, .claim = claim, .set = set, .allowed = *allowed};
    if (!set[0] || strcmp(set, claim->original) == 0)
        return 0;
    int err = 0;
    for (int i = 0; i < PASSES && !err; i++) { /* who was just given back may have had children */
        unsigned before = born.given;
        err = give_back_in(&born, directory);
        int below = cgroup_each_below(directory, give_back_in, &born);
        err = err ? err : below;
        if (born.given == before)
            break;
    }
    return err == -ENODEV || err == -ENOENT ? 0 : err; /* the cgroup has ended */
}

/* Whether it is the first of all open claims that have set the same in this cgroup. */
static bool born_are_of(const struct actuator_env *env, const struct claim *claim)
{
    const struct journal_claims *open = env->open;
    for (size_t i = 0; i < open->n; i++) {
        const struct claim *other = &open->claims[i];
        if (other->knob == KNOB_AFFINITY && other->ino == claim->ino && other->dev == claim->dev &&
            strcmp(other->set, claim->set) == 0)
            return other->id == claim->id;
    }
    return false;
}

/* ---- opening ---- */

static int affinity_open(const struct actuator_env *env, void **self, struct verdict *why)
{
    struct affinity *affinity = calloc(1, sizeof *affinity);
    char error[256] = "";
    if (!affinity)
        return -ENOMEM;
    affinity->env = env;
    cgroup_cpus_init(&affinity->cpus, env->fs);
    int err = cgroup_hierarchy_find(env->fs, &affinity->hierarchy, error, sizeof error);
    if (err) {
        verdict_set(why, REASON_NO_DEVICE, "%s", error);
        free(affinity);
        return err;
    }
    *self = affinity;
    return 0;
}

static int affinity_probe(void *self, struct verdict *why)
{
    const struct affinity *affinity = self;
    if (!affinity->env->cpus) {
        verdict_set(why, REASON_NO_DEVICE, "no CPUs are configured for threads");
        return -ENODEV;
    }
    const struct fswrite *write = affinity->env->write;
    int err = write->may_set_affinity        ? write->may_set_affinity(write->context)
              : privileges_has(CAP_SYS_NICE) ? 0
                                             : -EPERM;
    if (err)
        verdict_set(why, REASON_NO_PERMISSION,
                    "to move threads of others needs CAP_SYS_NICE: give it to the service or the "
                    "pod");
    return err;
}

static int read_allowed(const struct affinity *affinity, int directory, const char *path,
                        cpu_set_t *out)
{
    char text[4096];
    int err = cgroup_cpus_read(&affinity->cpus, directory, path, text, sizeof text);
    return err ? err : cpus_parse(text, out);
}

/* ---- limits ---- */

/* Those of 'text' that are for the thread. */
static void choose(const struct affinity *affinity, const char *text, const cpu_set_t *allowed,
                   cpu_set_t *out)
{
    if (!cpus_resolve(text, allowed, out))
        *out = *allowed;
    if (affinity->env->cpus)
        CPU_AND(out, out, affinity->env->cpus);
}

static int set_limits(const struct affinity *affinity, const cpu_set_t *allowed,
                      struct claim *claim)
{
    cpu_set_t whole, chosen;
    char text[CLAIM_TEXT_MAX];
    if (!cpus_resolve(claim->original, allowed, &whole))
        return -EINVAL;
    choose(affinity, claim->original, allowed, &chosen);
    if (CPU_COUNT(&chosen) == 0)
        return -EDOM;
    if (CPU_EQUAL(&chosen, &whole))
        return -ERANGE;
    int err = cpus_format(&chosen, text, sizeof text);
    if (err)
        return err;
    claim->least = CPU_COUNT(&chosen);
    claim->most = CPU_COUNT(&whole);
    return 0;
}

static int affinity_limit(void *self, double floor, struct claim *claim)
{
    const struct affinity *affinity = self;
    cpu_set_t allowed;
    (void)floor;
    int directory = cgroup_dir_open_claimed(affinity->hierarchy.path, claim);
    if (directory < 0)
        return directory;
    int err = read_allowed(affinity, directory, claim->path, &allowed);
    close(directory);
    if (!err)
        err = set_limits(affinity, &allowed, claim);
    return err == -EDOM && claim->id ? -ERANGE : err; /* what is held of it is let go */
}

static int is_this_one(void *context, unsigned tid)
{
    return tid == *(const unsigned *)context;
}

static int find_thread(const struct affinity *affinity, int directory, struct claim *claim,
                       cpu_set_t *cpus)
{
    unsigned tid = (unsigned)claim->tid;
    int found = cgroup_tasks(directory, is_this_one, &tid);
    if (found <= 0)
        return found ? found : -ENOENT;
    int err = thread_start(affinity->env, claim->tid, &claim->tid_start);
    if (!err)
        err = thread_cpus(affinity->env, claim->tid, cpus);
    return err == -ENODEV ? -ENOENT : err;
}

static int affinity_claim(void *self, double floor, struct claim *claim)
{
    const struct affinity *affinity = self;
    cpu_set_t cpus, allowed;
    (void)floor;
    int directory = cgroup_dir_claim(affinity->hierarchy.path, claim);
    if (directory < 0)
        return directory;
    claim->tid_claimed = thread_clock();
    int err = find_thread(affinity, directory, claim, &cpus);
    if (!err)
        err = read_allowed(affinity, directory, claim->path, &allowed);
    close(directory);
    if (!err)
        err = cpus_spell(&cpus, &allowed, claim->original, sizeof claim->original);
    if (!err)
        err = set_limits(affinity, &allowed, claim);
    if (err)
        return err;
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return 0;
}

/* ---- reading and changing ---- */

/* The claim's directory with what it allows; where it has ended -1, and all that is online. */
static int open_site(const struct affinity *affinity, const struct claim *claim, int *directory,
                     cpu_set_t *allowed)
{
    *directory = cgroup_dir_open_claimed(affinity->hierarchy.path, claim);
    if (*directory < 0 && *directory != -ENODEV)
        return *directory;
    int err = read_allowed(affinity, *directory, claim->path, allowed);
    if (err && *directory >= 0)
        close(*directory);
    return err;
}

static void close_site(int directory)
{
    if (directory >= 0)
        close(directory);
}

static int judge(const struct claim *claim, const cpu_set_t *allowed, const cpu_set_t *cpus,
                 enum claim_state *state, char now[CLAIM_TEXT_MAX])
{
    const char *ours = claim->set[0] ? claim->set : claim->original;
    *state = CLAIM_OURS;
    if (cpus_are(ours, allowed, cpus)) {
        memcpy(now, ours, CLAIM_TEXT_MAX);
        return 0;
    }
    *state = CLAIM_RESET;
    if (cpus_are(claim->original, allowed, cpus)) {
        memcpy(now, claim->original, CLAIM_TEXT_MAX);
        return 0;
    }
    *state = CLAIM_CHANGED;
    if (cpus_are(claim->from, allowed, cpus)) {
        memcpy(now, claim->from, CLAIM_TEXT_MAX);
        return 0;
    }
    return cpus_spell(cpus, allowed, now, CLAIM_TEXT_MAX);
}

static int affinity_check(void *self, const struct claim *claim, enum claim_state *state,
                          char now[CLAIM_TEXT_MAX])
{
    const struct affinity *affinity = self;
    cpu_set_t cpus, allowed;
    int directory;
    now[0] = '\0';
    int err = open_site(affinity, claim, &directory, &allowed);
    if (err)
        return err;
    close_site(directory);
    err = directory < 0 ? -ENODEV : thread_claimed(affinity->env, claim, &cpus);
    if (!err)
        return judge(claim, &allowed, &cpus, state, now);
    if (err != -ENODEV)
        return err;
    *state = CLAIM_GONE;
    return 0;
}

static void affinity_format(void *self, const struct claim *claim, double value,
                            char out[CLAIM_TEXT_MAX])
{
    const struct affinity *affinity = self;
    cpu_set_t allowed, chosen;
    int directory;
    memcpy(out, claim->original, CLAIM_TEXT_MAX);
    if (value >= claim->most || open_site(affinity, claim, &directory, &allowed))
        return;
    close_site(directory);
    choose(affinity, claim->original, &allowed, &chosen);
    if (CPU_COUNT(&chosen) == 0 || cpus_format(&chosen, out, CLAIM_TEXT_MAX))
        memcpy(out, claim->original, CLAIM_TEXT_MAX);
}

static int change(const struct affinity *affinity, const struct claim *claim,
                  const cpu_set_t *allowed)
{
    cpu_set_t cpus;
    int err = thread_claimed(affinity->env, claim, &cpus);
    if (!err && !cpus_are(claim->from, allowed, &cpus) && !cpus_are(claim->set, allowed, &cpus))
        err = -ESTALE;
    if (!err)
        err = cpus_parse(claim->set, &cpus);
    if (!err)
        err = thread_set(affinity->env, claim->tid, &cpus);
    if (!err)
        err = thread_claimed(affinity->env, claim, &cpus);
    if (!err && !cpus_are(claim->set, allowed, &cpus))
        err = -ESTALE;
    return err;
}

static int affinity_apply(void *self, const struct claim *claim)
{
    const struct affinity *affinity = self;
    cpu_set_t allowed;
    int directory;
    int err = open_site(affinity, claim, &directory, &allowed);
    if (err)
        return err;
    err = directory < 0 ? -ENODEV : change(affinity, claim, &allowed);
    if (!err) /* from now on nobody looks for those that were born with what there was before */
        born_give_back(affinity->env, claim, claim->from, directory, &allowed);
    close_site(directory);
    return err;
}

/* Threads that joined the container's work since, from one that is held. */
static int affinity_keep(void *self, struct claim *claim)
{
    const struct affinity *affinity = self;
    cpu_set_t allowed;
    int directory;
    if (!born_are_of(affinity->env, claim))
        return 0;
    int err = open_site(affinity, claim, &directory, &allowed);
    if (err || directory < 0)
        return err;
    err = born_give_back(affinity->env, claim, claim->set, directory, &allowed);
    close_site(directory);
    return err;
}

/* The same CPUs are set anew where ours are the original's by chance, as in a cpuset that shrank:
 * the kernel remembers what was asked for. */
static int put_thread_back(const struct affinity *affinity, const struct claim *claim,
                           const cpu_set_t *allowed, enum claim_restored *out)
{
    cpu_set_t cpus;
    int err = thread_claimed(affinity->env, claim, &cpus);
    if (err)
        return err;
    bool set = cpus_are(claim->set, allowed, &cpus);
    bool whole = cpus_are(claim->original, allowed, &cpus);
    *out = whole ? RESTORED_ALREADY : RESTORED_FOREIGN;
    if (!set && (whole || !claim->set[0] || !cpus_are(claim->from, allowed, &cpus)))
        return 0;
    err = thread_put_back(affinity->env, claim->tid, claim->original);
    if (!err)
        *out = RESTORED;
    return err;
}

static int affinity_release(void *self, const struct claim *claim, enum claim_restored *out)
{
    const struct affinity *affinity = self;
    cpu_set_t allowed;
    int directory;
    int err = open_site(affinity, claim, &directory, &allowed);
    if (err)
        return err;
    err = put_thread_back(affinity, claim, &allowed, out);
    if (err == -ENODEV) {
        *out = RESTORED_GONE;
        err = 0;
    }
    int born =
        directory < 0 ? 0 : born_give_back(affinity->env, claim, claim->set, directory, &allowed);
    close_site(directory);
    return err ? err : born;
}

const struct actuator_ops affinity_actuator = {
    .name = "affinity",
    .knob = KNOB_AFFINITY,
    .open = affinity_open,
    .close = free,
    .probe = affinity_probe,
    .claim = affinity_claim,
    .check = affinity_check,
    .limit = affinity_limit,
    .keep = affinity_keep,
    .format = affinity_format,
    .apply = affinity_apply,
    .release = affinity_release,
};
