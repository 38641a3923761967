#include "exporter/governor/act/actuators/born.h"

#include <errno.h>
#include <string.h>

#include "exporter/governor/act/actuators/threads.h"
#include "exporter/governor/act/cgroup/cgroup_tasks.h"
#include "exporter/governor/terms/cpus.h"

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

int born_give_back(const struct actuator_env *env, const struct claim *claim, const char *set,
                   int directory, const cpu_set_t *allowed)
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

bool born_are_of(const struct actuator_env *env, const struct claim *claim)
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
