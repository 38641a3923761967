#include "tests/simnode/control/scheduler.h"

#include <errno.h>
#include <string.h>

#include "exporter/governor/terms/cpus.h"
#include "tests/simnode/control/actuate.h"

/* --- queues --- */

static unsigned length(const struct scheduler *s, unsigned cpu)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->n_threads; i++)
        n += s->threads[i].cpu == cpu;
    return n;
}

/* The least of a queue; of an empty one what the newcomer has. */
static uint64_t least_ran(const struct scheduler *s, unsigned cpu, uint64_t otherwise)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < s->n_threads; i++)
        if (s->threads[i].cpu == cpu && s->threads[i].ran < least)
            least = s->threads[i].ran;
    return least == UINT64_MAX ? otherwise : least;
}

static void move(struct scheduler *s, struct scheduled *thread, unsigned cpu)
{
    uint64_t least = least_ran(s, cpu, thread->ran);

    thread->cpu = cpu;
    thread->ran = least;
}

/* Of those that it may use; the first of equals. */
static unsigned shortest(const struct scheduler *s, const cpu_set_t *allowed)
{
    unsigned best = s->n_cpus;

    for (unsigned cpu = 0; cpu < s->n_cpus; cpu++)
        if (CPU_ISSET(cpu, allowed) && (best == s->n_cpus || length(s, cpu) < length(s, best)))
            best = cpu;
    return best;
}

/* Whether somebody went to a queue that is at least two shorter. */
static bool balance_one(struct scheduler *s)
{
    for (unsigned i = 0; i < s->n_threads; i++) {
        struct scheduled *thread = &s->threads[i];
        unsigned to = shortest(s, &thread->allowed);

        if (to == s->n_cpus || length(s, thread->cpu) < length(s, to) + 2)
            continue;
        move(s, thread, to);
        return true;
    }
    return false;
}

/* --- slices --- */

/* Of equals the first on one CPU, the last on the next: not everywhere the same at a time. */
static void pick(struct scheduler *s, unsigned cpu)
{
    struct scheduled *next = NULL;

    for (unsigned i = 0; i < s->n_threads; i++) {
        struct scheduled *thread = &s->threads[i];

        if (thread->cpu != cpu)
            continue;
        if (!next || thread->ran < next->ran || (cpu % 2 && thread->ran == next->ran))
            next = thread;
    }
    if (!next)
        return;
    next->runs = true;
    next->ran++;
    next->work++;
}

int scheduler_run_slice(struct scheduler *s)
{
    int err = 0;

    while (balance_one(s))
        ;
    for (unsigned i = 0; i < s->n_threads; i++)
        s->threads[i].runs = false;
    for (unsigned cpu = 0; cpu < s->n_cpus; cpu++)
        pick(s, cpu);
    for (unsigned i = 0; i < s->n_threads && !err; i++)
        err = simnode_set_paused(s->node, i, !s->threads[i].runs);
    return err ? err : simnode_run_tick(s->node);
}

int scheduler_init(struct scheduler *s, struct simnode *node, unsigned n_threads, unsigned n_cpus)
{
    if (n_threads > SCHEDULER_THREADS || n_cpus == 0 || n_cpus > CPU_SETSIZE)
        return -EINVAL;
    *s = (struct scheduler){.node = node, .n_cpus = n_cpus};
    for (; s->n_threads < n_threads; s->n_threads++) {
        struct scheduled *thread = &s->threads[s->n_threads];

        for (unsigned cpu = 0; cpu < n_cpus; cpu++)
            CPU_SET(cpu, &thread->allowed);
        thread->cpu = shortest(s, &thread->allowed);
    }
    return 0;
}

/* --- the governor's --- */

static struct scheduled *find(const struct scheduler_knobs *knobs, const struct claim *claim)
{
    unsigned i = (unsigned)(claim->tid - SCHEDULER_FIRST_TID);

    return i < knobs->scheduler->n_threads ? &knobs->scheduler->threads[i] : NULL;
}

static void everything(const struct scheduler_knobs *knobs, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (unsigned cpu = 0; cpu < knobs->scheduler->n_cpus; cpu++)
        CPU_SET(cpu, out);
}

static int knob_limit(void *self, double floor, struct claim *claim)
{
    const struct scheduler_knobs *knobs = self;
    cpu_set_t all, whole;

    everything(knobs, &all);
    if (!cpus_resolve(claim->original, &all, &whole))
        return -EINVAL;
    claim->most = CPU_COUNT(&whole);
    CPU_AND(&whole, &whole, knobs->cpus);
    claim->least = CPU_COUNT(&whole);
    return claim->least > 0 && claim->least < claim->most ? 0 : -ERANGE;
}

static int knob_claim(void *self, double floor, struct claim *claim)
{
    const struct scheduler_knobs *knobs = self;
    const struct scheduled *thread = find(knobs, claim);
    cpu_set_t all;

    if (!thread)
        return -ENOENT;
    everything(knobs, &all);
    int err = cpus_spell(&thread->allowed, &all, claim->original, sizeof(claim->original));
    if (!err)
        err = knob_limit(self, floor, claim);
    if (err)
        return err;
    claim->dev = claim->ino = 1;
    claim->value = claim->most;
    claim->from[0] = claim->set[0] = '\0';
    return 0;
}

static bool has(const struct scheduler_knobs *knobs, const struct claim *claim, const char *text)
{
    cpu_set_t all;

    everything(knobs, &all);
    return text[0] && cpus_are(text, &all, &find(knobs, claim)->allowed);
}

/* Nobody but the governor changes them, and no thread ends. */
static int knob_check(void *self, const struct claim *claim, enum claim_state *state,
                      char now[CLAIM_TEXT_MAX])
{
    const struct scheduler_knobs *knobs = self;
    const char *ours = claim->set[0] ? claim->set : claim->original;

    *state = has(knobs, claim, ours) ? CLAIM_OURS : CLAIM_RESET;
    memcpy(now, *state == CLAIM_OURS ? ours : claim->original, CLAIM_TEXT_MAX);
    return 0;
}

static void knob_format(void *self, const struct claim *claim, double value,
                        char out[CLAIM_TEXT_MAX])
{
    const struct scheduler_knobs *knobs = self;
    cpu_set_t all, cpus;

    memcpy(out, claim->original, CLAIM_TEXT_MAX);
    everything(knobs, &all);
    if (value >= claim->most || !cpus_resolve(claim->original, &all, &cpus))
        return;
    CPU_AND(&cpus, &cpus, knobs->cpus);
    cpus_format(&cpus, out, CLAIM_TEXT_MAX);
}

static void set_allowed(const struct scheduler_knobs *knobs, struct scheduled *thread,
                        const char *text)
{
    cpu_set_t all;

    everything(knobs, &all);
    cpus_resolve(text, &all, &thread->allowed);
    if (!CPU_ISSET(thread->cpu, &thread->allowed))
        move(knobs->scheduler, thread, shortest(knobs->scheduler, &thread->allowed));
}

static int knob_apply(void *self, const struct claim *claim)
{
    const struct scheduler_knobs *knobs = self;

    if (!has(knobs, claim, claim->from))
        return -ESTALE;
    set_allowed(knobs, find(knobs, claim), claim->set);
    return 0;
}

static int knob_release(void *self, const struct claim *claim, enum claim_restored *out)
{
    const struct scheduler_knobs *knobs = self;

    *out = has(knobs, claim, claim->original) ? RESTORED_ALREADY : RESTORED;
    set_allowed(knobs, find(knobs, claim), claim->original);
    return 0;
}

static const struct actuator_ops ops = {
    .name = "affinity",
    .knob = KNOB_AFFINITY,
    .open = node_knob_open,
    .close = node_knob_close,
    .claim = knob_claim,
    .check = knob_check,
    .limit = knob_limit,
    .format = knob_format,
    .apply = knob_apply,
    .release = knob_release,
};

void scheduler_actuators(struct scheduler_knobs *knobs, struct actuators *out)
{
    *out = (struct actuators){0};
    out->of[KNOB_AFFINITY] = (struct actuator){.ops = &ops, .self = knobs};
}
