#include "tests/simnode/control/closed_loop.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/expose/expose.h"
#include "tests/simnode/control/actuate.h"
#include "tests/simnode/control/measured.h"
#include "tests/simnode/control/sim_governor.h"
#include "tests/simnode/recording/live.h"
#include "tests/unit/support/collector_rig.h"

struct closed_loop {
    const struct scenario *scenario;
    struct simnode *node;
    struct rig *rig;
    char (*paths)[CLAIM_PATH_MAX]; /* of the containers' cgroups, as the exporter tells them */
    bool *known;                   /* containers that the exporter has */
    struct node_knobs *knobs;
    struct actuators actuators;
    struct sim_governor *governor; /* NULL: nobody governs */
};

/* --- the exporter --- */

/* The machine's facts as a recording's header has them. */
static struct rig *new_rig(const struct scenario *scenario, struct source *source)
{
    const struct machine_spec *machine = &scenario->machine;
    struct rig *rig = calloc(1, sizeof(*rig));

    if (!rig)
        return NULL;
    rig_init(rig, &measured_collectors);
    rig->facts.machine.base_frequency_hz = machine->base_hz;
    rig->facts.machine.cache_cycles = (double)scenario_cache_cycles(machine);
    rig->facts.machine.llc_hit_cycles = (double)scenario_hit_cycles(machine);
    rig->facts.machine.numa_nodes = (int)machine->sockets;
    if (source_set_route(rig->sources, SCOPE_CGROUP, GROUP_CORE, source) != 0 ||
        source_set_route(rig->sources, SCOPE_CGROUP, GROUP_ASM_EPOCHS, source) != 0) {
        free(rig);
        return NULL;
    }
    rig_start(rig);
    return rig;
}

static int start_exporter(struct closed_loop *loop)
{
    size_t n = loop->scenario->n_containers;
    struct source *source;

    loop->paths = calloc(n, sizeof(*loop->paths));
    loop->known = calloc(n, sizeof(*loop->known));
    if (!loop->paths || !loop->known || n > RIG_CONTAINERS)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        snprintf(loop->paths[i], sizeof(loop->paths[i]), "/%s", loop->scenario->containers[i].key);
    int err = simnode_source_new(loop->node, loop->scenario, &source);
    if (err)
        return err;
    loop->rig = new_rig(loop->scenario, source);
    return loop->rig ? 0 : -ENOMEM;
}

/* What starts with the next tick is found before it. */
static void find_containers(struct closed_loop *loop)
{
    int64_t tick = (int64_t)simnode_ticks(loop->node) + 1;

    for (size_t i = 0; i < loop->scenario->n_containers; i++) {
        const struct container_spec *spec = &loop->scenario->containers[i];

        if (loop->known[i] || spec->start_tick > tick)
            continue;

        struct container *container = rig_unnamed(loop->rig, spec->key);

        container->path = loop->paths[i];
        rig_name(loop->rig, container);
        loop->known[i] = true;
    }
}

/* As the exporter's page has it. */
static int render(const struct closed_loop *loop, struct textbuf *out)
{
    const struct containers_listing listing = {0};
    const struct tick *tick = &loop->rig->tick;
    struct snapshot *snapshot = store_acquire(loop->rig->store);
    struct textbuf list = TEXTBUF_INIT;
    size_t total;
    int err = expose_containers_json(snapshot, &listing, &list, &total);

    textbuf_printf(out,
                   "{\"source\":\"replay\",\"replay_ended\":false,\"base_frequency_hz\":%.0f,"
                   "\"tick\":{\"number\":%llu,\"monotonic_seconds\":%.9f,"
                   "\"interval_seconds\":%.9f},\"containers\":",
                   loop->rig->facts.machine.base_frequency_hz, (unsigned long long)tick->number,
                   (double)tick->mono_ns * 1e-9, (double)tick->interval_ns * 1e-9);
    textbuf_add(out, list.data, list.len);
    textbuf_str(out, "}");
    textbuf_release(&list);
    snapshot_release(snapshot);
    return err ? err : textbuf_finish(out);
}

/* --- the governor --- */

static int start_governor(struct closed_loop *loop, const char *policies)
{
    int err = node_knobs_new(loop->node, loop->scenario, &loop->knobs);

    if (err || !policies)
        return err;
    node_knobs_actuators(loop->knobs, &loop->actuators);
    return sim_governor_new(policies, &loop->actuators, loop->rig->tick.mono_ns, &loop->governor);
}

static int govern(struct closed_loop *loop)
{
    const struct tick *tick = &loop->rig->tick;
    struct textbuf text = TEXTBUF_INIT;
    int err = render(loop, &text);

    if (!err)
        err = sim_governor_take(loop->governor, text.data, text.len, tick->mono_ns, tick->wall_ns);
    textbuf_release(&text);
    return err;
}

/* --- the loop --- */

int closed_loop_new(const struct scenario *scenario, const char *config, struct closed_loop **out)
{
    struct closed_loop *loop = calloc(1, sizeof(*loop));

    if (!loop)
        return -ENOMEM;
    loop->scenario = scenario;
    int err = simnode_new(scenario, &loop->node);
    if (!err)
        err = start_exporter(loop);
    if (!err)
        err = start_governor(loop, config);
    if (err)
        closed_loop_free(loop);
    else
        *out = loop;
    return err;
}

void closed_loop_free(struct closed_loop *loop)
{
    if (!loop)
        return;
    sim_governor_free(loop->governor);
    node_knobs_free(loop->knobs);
    if (loop->rig)
        rig_release(loop->rig);
    free(loop->rig);
    simnode_free(loop->node);
    free(loop->paths);
    free(loop->known);
    free(loop);
}

int closed_loop_tick(struct closed_loop *loop)
{
    find_containers(loop);
    int err = rig_tick(loop->rig);
    return err || !loop->governor ? err : govern(loop);
}

struct simnode *closed_loop_node(struct closed_loop *loop)
{
    return loop->node;
}

double closed_loop_value(const struct closed_loop *loop, enum knob knob, size_t container)
{
    return node_knobs_value(loop->knobs, knob, container);
}

/* 'more': a further piece of the labels. */
static double told(const struct closed_loop *loop, size_t container, const char *family,
                   const char *more)
{
    char label[300];

    snprintf(label, sizeof(label), "container=\"%s\"", loop->scenario->containers[container].key);
    return rig_value_of(loop->rig, family, label, more);
}

static double told_ns(const struct closed_loop *loop, size_t container, const char *family)
{
    return told(loop, container, family, "") * 1e9;
}

double closed_loop_latency_ns(const struct closed_loop *loop, size_t container)
{
    return told_ns(loop, container, "interference_container_memory_read_latency_seconds");
}

double closed_loop_baseline_ns(const struct closed_loop *loop, size_t container)
{
    return told_ns(loop, container, "interference_container_memory_read_latency_baseline_seconds");
}

double closed_loop_learned_ns(const struct closed_loop *loop, size_t container)
{
    return loop->governor ? 1e9 * sim_governor_learned(loop->governor,
                                                       loop->scenario->containers[container].key)
                          : NAN;
}

double closed_loop_slowdown(const struct closed_loop *loop, size_t container, const char *model)
{
    char label[64];

    snprintf(label, sizeof(label), "model=\"%s\"", model);
    return told(loop, container, "interference_container_slowdown_ratio", label);
}

double closed_loop_measured(const struct closed_loop *loop, size_t container)
{
    return loop->governor
               ? sim_governor_slowdown(loop->governor, loop->scenario->containers[container].key)
               : NAN;
}

uint64_t closed_loop_missed(const struct closed_loop *loop)
{
    return loop->governor ? sim_governor_missed(loop->governor) : 0;
}

uint64_t closed_loop_changes(const struct closed_loop *loop)
{
    return loop->governor ? sim_governor_changes(loop->governor) : 0;
}
