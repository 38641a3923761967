/*
 * Core specialisation of Schmidt 2022 (control/control_nvmm.h): threads that store to persistent
 * memory are kept on a few CPUs, while there are many of them.
 *
 * The exporter tells of threads that have stored, and when; the time of a thread's latest store is
 * the sample. How often it tells bounds how soon a thread can be forgotten. A list that is not made
 * anew says nothing.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/decide/control/control_nvmm.h"
#include "exporter/governor/decide/policies/policy.h"

enum { THREADS = 512 };

/* Whose a thread is; struct control_nvmm knows numbers only. */
struct owned {
    int tid;
    uint64_t cgroup_id;
    char container_id[16];
};

struct nvmm_policy {
    const struct config *config;
    struct control_nvmm table;
    struct control_nvmm_thread threads[THREADS];
    struct control_nvmm_config control;
    struct control_nvmm_engage engage;
    struct owned owned[THREADS];
    size_t n_owned;
    struct policy_writers writers; /* of the last tick */
    bool told;                     /* there was a list that could be gone by */
};

static int init(const struct config *config, void **self)
{
    struct nvmm_policy *policy = calloc(1, sizeof *policy);
    if (!policy)
        return -ENOMEM;
    policy->config = config;
    policy->table = (struct control_nvmm){.threads = policy->threads, .room = THREADS};
    policy->writers.expiry_seconds = config->nvmm.expiry_seconds;
    *self = policy;
    return 0;
}

/* ---- whose threads ---- */

static const struct governed *find_container(const struct policy_tick *tick,
                                             const char *container_id)
{
    for (size_t i = 0; i < tick->n; i++)
        if (tick->governed[i].threads == POLICY_NVMM_CORES &&
            strcmp(tick->governed[i].container->container_id, container_id) == 0)
            return &tick->governed[i];
    return NULL;
}

static struct owned *find_owned(struct nvmm_policy *policy, int tid)
{
    for (size_t i = 0; i < policy->n_owned; i++)
        if (policy->owned[i].tid == tid)
            return &policy->owned[i];
    return NULL;
}

static void own(struct nvmm_policy *policy, int tid, const struct view_container *container)
{
    struct owned *owned = find_owned(policy, tid);
    if (!owned && policy->n_owned == THREADS)
        return;
    if (!owned)
        owned = &policy->owned[policy->n_owned++];
    *owned = (struct owned){.tid = tid, .cgroup_id = container->cgroup_id};
    snprintf(owned->container_id, sizeof owned->container_id, "%s", container->container_id);
}

static void disown(struct nvmm_policy *policy, size_t i)
{
    policy->owned[i] = policy->owned[--policy->n_owned];
}

/* ---- samples ---- */

/* Exporters that do not say how often they tell do so once in a window. */
static double told_every(const struct policy_tick *tick)
{
    const struct writers *writers = tick->writers;
    uint64_t ns = !writers ? 0 : writers->interval_ns ? writers->interval_ns : writers->window_ns;
    return fmax(tick->interval, (double)ns * 1e-9);
}

static void set_expiry(struct nvmm_policy *policy, const struct policy_tick *tick)
{
    uint64_t told_every_ms = (uint64_t)ceil(told_every(tick) * 1e3);
    control_nvmm_defaults(&policy->control, told_every_ms);
    uint64_t *expiry_ms = &policy->control.expiry_ms[CONTROL_NVMM_WRITERS];
    uint64_t configured_ms = (uint64_t)llround(policy->config->nvmm.expiry_seconds * 1e3);
    if (*expiry_ms < configured_ms)
        *expiry_ms = configured_ms;
    policy->writers.expiry_seconds = (double)*expiry_ms * 1e-3;
}

/* How long before this tick it stored last, in milliseconds. */
static double age_ms(const struct policy_tick *tick, const struct writer *writer)
{
    double made = (double)tick->writers->monotonic_ns * 1e-9;
    return fmax(0, tick->now - made + writer->stored_seconds_ago) * 1e3;
}

static void take_sample(struct nvmm_policy *policy, const struct policy_tick *tick,
                        const struct governed *governed, const struct writer *writer,
                        uint64_t now_ms)
{
    double age = age_ms(tick, writer);
    uint64_t sampled_ms = now_ms > (uint64_t)age ? now_ms - (uint64_t)age : 0;
    if (control_nvmm_associate(&policy->table, &policy->control, sampled_ms, writer->tid,
                               CONTROL_NVMM_WRITERS) == CONTROL_NVMM_FULL)
        enforcer_leave_out(tick->enforcer);
    else
        own(policy, writer->tid, governed->container);
}

/* All of the node count; those that may be moved are kept in mind. */
static void take_samples(struct nvmm_policy *policy, const struct policy_tick *tick,
                         uint64_t now_ms)
{
    const struct governed *governed = NULL;
    const char *container_id = "";
    double expiry_ms = policy->writers.expiry_seconds * 1e3;
    policy->writers.n = 0;
    for (size_t i = 0; tick->writers && i < tick->writers->n; i++) {
        const struct writer *writer = &tick->writers->list[i];
        if (age_ms(tick, writer) >= expiry_ms)
            continue;
        policy->writers.n++;
        if (strcmp(container_id, writer->container_id) != 0)
            governed = find_container(tick, writer->container_id);
        container_id = writer->container_id;
        if (governed)
            take_sample(policy, tick, governed, writer, now_ms);
    }
}

/* ---- what is done ---- */

static struct holding *see(const struct nvmm_policy *policy, const struct policy_tick *tick,
                           const struct owned *owned)
{
    const struct governed *governed = find_container(tick, owned->container_id);
    char name[CLAIM_NAME_MAX];
    if (!governed || governed->container->cgroup_id != owned->cgroup_id)
        return NULL;
    const struct view_container *container = governed->container;
    view_name(container, name);
    const struct subject subject = {
        .container_id = container->container_id,
        .name = name,
        .path = container->path,
        .tid = owned->tid,
        .floor = config_floor(policy->config, governed->class, KNOB_AFFINITY),
        .policy = POLICY_NVMM_CORES};
    return enforcer_see(tick->enforcer, KNOB_AFFINITY, &subject);
}

static void act(struct nvmm_policy *policy, const struct policy_tick *tick, double per_dimm)
{
    const struct because because = {
        .cause = "", .measured = per_dimm, .limit = policy->config->nvmm.engage.engage_writers};
    for (size_t i = policy->n_owned; i-- > 0;) {
        const struct owned *owned = &policy->owned[i];
        const struct control_nvmm_thread *thread = control_nvmm_find(&policy->table, owned->tid);
        struct holding *holding = thread ? see(policy, tick, owned) : NULL;
        if (!thread)
            disown(policy, i);
        if (!holding)
            continue; /* who is not seen is let go */
        if (!policy->engage.engaged)
            enforcer_let_go(tick->enforcer, holding, RELEASE_UNMANAGED, &because);
        else if (thread->group != CONTROL_NVMM_WRITERS)
            enforcer_let_go(tick->enforcer, holding, RELEASE_CALM, &because);
        else if (holding->known)
            enforcer_want(holding, holding->claim.least, &because);
    }
}

static void decide(void *self, const struct policy_tick *tick)
{
    struct nvmm_policy *policy = self;
    uint64_t now_ms = (uint64_t)llround(tick->now * 1e3);
    set_expiry(policy, tick);
    policy->told = tick->writers && tick->writers->monotonic_ns > 0;
    control_nvmm_expire(&policy->table, &policy->control, now_ms, NULL, NULL);
    take_samples(policy, tick, now_ms);
    double per_dimm = (double)policy->writers.n / policy->config->nvmm.dimms;
    control_nvmm_engage_step(&policy->engage, &policy->config->nvmm.engage, tick->now, per_dimm);
    act(policy, tick, per_dimm);
}

static void report(const void *self, struct policy_report *out)
{
    const struct nvmm_policy *policy = self;
    out->active[POLICY_NVMM_CORES] = policy->told;
    out->writers = &policy->writers;
}

const struct policy_ops nvmm_policy = {
    .init = init,
    .decide = decide,
    .report = report,
    .free = free,
};
