#include "tests/simnode/recording/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct live_source {
    struct source source;
    struct simnode *node;
    const struct scenario *scenario;
    struct simnode_truth *probed; /* by container, when its last burst was handed out */
};

/* A handle is what is read: nothing has to be remembered or closed. */
static uint64_t make_handle(bool unit, size_t index, enum group group)
{
    return (index * 2 + unit) * GROUP_COUNT + group;
}

static struct live_source *live_of(struct source *source)
{
    return (struct live_source *)source;
}

static bool counts_of_intel(enum group group)
{
    return group == GROUP_CORE || group == GROUP_STALLS || group == GROUP_LOADS ||
           group == GROUP_STORES || group == GROUP_TRAFFIC;
}

static bool live_check(struct source *source, enum scope_kind kind, enum group group,
                       struct verdict *why)
{
    const struct scenario *scenario = live_of(source)->scenario;
    bool unit = group == GROUP_RPQ || group == GROUP_PMM_RPQ;
    bool fills = scenario->machine.mabs > 0; /* a core counts these, or what Intel's count */

    if (kind == SCOPE_CPU || kind == SCOPE_MACHINE || group == GROUP_ACTIVITY ||
        (group == GROUP_FILLS && !fills) || (fills && counts_of_intel(group)) ||
        unit != (kind == SCOPE_UNIT) || (group == GROUP_PMM_RPQ && !scenario->machine.pmm.dimms) ||
        (group == GROUP_ASM_EPOCHS && !scenario->epoch_cycles)) {
        verdict_set(why, REASON_NO_DEVICE, "the simulated node has no such counters");
        return false;
    }
    return true;
}

static bool find(const struct live_source *live, const struct scope *scope, bool *unit,
                 size_t *index)
{
    for (size_t i = 0; i < simnode_units(live->node) && scope->kind == SCOPE_UNIT; i++) {
        char key[32];

        snprintf(key, sizeof(key), "imc%zu", i);
        if (strcmp(key, scope->key) == 0 && scope->channel <= 0) {
            *unit = true;
            *index = i;
            return true;
        }
    }
    for (size_t i = 0; i < live->scenario->n_containers; i++) {
        const struct container_spec *spec = &live->scenario->containers[i];

        if (strcmp(spec->key, scope->key) == 0 &&
            scope->kind == (spec->probe ? SCOPE_THREAD : SCOPE_CGROUP)) {
            *unit = false;
            *index = i;
            return true;
        }
    }
    return false;
}

static int live_open(struct source *source, const struct scope *scope, enum group group,
                     uint64_t *handle, struct verdict *why)
{
    struct live_source *live = live_of(source);
    struct simnode_reading reading;
    size_t index;
    bool unit;

    if (!find(live, scope, &unit, &index)) {
        verdict_set(why, REASON_NO_DEVICE, "the simulated node has nothing with the key %s",
                    scope->key);
        return -ENOENT;
    }
    if (!live_check(source, scope->kind, group, why))
        return -ENOENT;
    if (unit && simnode_read_unit(live->node, index, group, &reading) != 0) {
        verdict_set(why, REASON_NO_DEVICE, "%s has no persistent memory", scope->key);
        return -ENOENT;
    }
    *handle = make_handle(unit, index, group);
    return 0;
}

static size_t live_width(struct source *source, uint64_t handle)
{
    (void)source;
    (void)handle;
    return 1;
}

static int live_begin(struct source *source, const struct tick *tick)
{
    (void)tick;
    return simnode_run_tick(live_of(source)->node);
}

static int live_read(struct source *source, uint64_t handle, struct reading *out)
{
    struct live_source *live = live_of(source);
    enum group group = (enum group)(handle % GROUP_COUNT);
    size_t which = handle / GROUP_COUNT;
    uint64_t stretch = (uint64_t)live->scenario->stretch;
    struct simnode_reading reading;
    int err;

    if (out->cap < 1)
        return -ENOSPC;
    if (which % 2)
        err = simnode_read_unit(live->node, which / 2, group, &reading);
    else
        err = simnode_read_container(live->node, which / 2, group, &reading);
    if (err)
        return err;
    struct reading_row *row = reading_row(out, 0);
    row->cpu = -1;
    row->present = reading.present;
    row->enabled_ns = row->running_ns = reading.enabled_ns * stretch;
    for (size_t i = 0; i < group_descs[group].n; i++)
        row->count[i] =
            reading.values[i] * (group_descs[group].roles[i] == ROLE_EPOCH_LENGTH ? 1 : stretch);
    out->n = 1;
    return 0;
}

static int live_probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct live_source *live = live_of(source);
    const struct scenario *scenario = live->scenario;

    *n = 0;
    for (size_t i = 0; i < scenario->n_containers && *n < cap; i++) {
        const struct container_spec *spec = &scenario->containers[i];
        struct simnode_truth *before = &live->probed[i], now;

        if (!spec->probe)
            continue;
        simnode_truth(live->node, i, &now);
        if (now.reads == before->reads)
            continue;
        out[(*n)++] = (struct probe_reading){
            .initiator_numa_node = (int)(spec->cpus[0] / scenario->machine.cores_per_socket),
            .target_numa_node = (int)spec->memory[0].node,
            .latency_ns =
                (now.latency_ns_sum - before->latency_ns_sum) / (double)(now.reads - before->reads),
            .cpu = -1,
        };
        *before = now;
    }
    return 0;
}

static void live_close(struct source *source, uint64_t handle)
{
    (void)source;
    (void)handle;
}

static void live_free(struct source *source)
{
    free(live_of(source)->probed);
    free(source);
}

static const struct source_ops live_ops = {
    .name = "simnode",
    .check = live_check,
    .open = live_open,
    .width = live_width,
    .begin = live_begin,
    .read = live_read,
    .probes = live_probes,
    .close = live_close,
    .free = live_free,
};

int simnode_source_new(struct simnode *node, const struct scenario *scenario, struct source **out)
{
    struct live_source *live = calloc(1, sizeof(*live));

    if (!live)
        return -ENOMEM;
    live->probed = calloc(scenario->n_containers, sizeof(*live->probed));
    if (!live->probed) {
        free(live);
        return -ENOMEM;
    }
    live->source.ops = &live_ops;
    live->node = node;
    live->scenario = scenario;
    *out = &live->source;
    return 0;
}
