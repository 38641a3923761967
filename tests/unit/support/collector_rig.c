#include "tests/unit/support/collector_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/workload.h"
#include "exporter/store/internal.h" /* families by name */

static const struct collector_config no_flags;

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "the rig could not be built: %s\n", what);
    abort();
}

/* A collector that is not in the table has no flags. */
static void parse_flags(struct rig *rig)
{
    char error[256];
    must(options_parse(&rig->options, rig->n_flags, (char *const *)rig->flags, error,
                       sizeof error) == 0,
         error);
    for (size_t i = 0; collector_table[i]; i++)
        if (collector_table[i] == rig->flags_of)
            rig->env.config = &rig->options.config[i];
}

void rig_flag(struct rig *rig, const char *flag)
{
    must(rig->n_flags < RIG_FLAGS, "room for a flag");
    rig->flags[rig->n_flags++] = flag;
    parse_flags(rig);
}

void rig_init(struct rig *rig, const struct collector_ops *ops)
{
    memset(rig, 0, sizeof *rig);
    rig->ops = rig->flags_of = ops;
    rig->log.fd = -1;
    fake_source_init(&rig->fake);
    rig->sources = source_set_new(&rig->log);
    must(rig->sources != NULL, "source set");
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        for (int group = 0; group < GROUP_COUNT; group++)
            must(source_set_route(rig->sources, (enum scope_kind)kind, (enum group)group,
                                  &rig->fake.source) == 0,
                 "route");
    must(source_set_route_probes(rig->sources, &rig->fake.source) == 0, "probes");
    must(source_set_route_samples(rig->sources, &rig->fake.source) == 0, "samples");
    must(store_new(&rig->store) == 0, "store");
    must(container_labels_new(rig->store, &rig->labels) == 0, "labels");
    rig->facts.machine.base_frequency_hz = 2.1e9;
    rig->facts.machine.cache_cycles = 44;
    rig->facts.cache_cycles_final = true;
    rig->tick = (struct tick){.mono_ns = 1000000000u, .interval_ns = 1000000000u};
    rig->env = (struct collector_env){
        .sources = rig->sources,
        .inventory = &rig->inventory,
        .store = rig->store,
        .labels = rig->labels,
        .thresholds = &rig->thresholds,
        .facts = &rig->facts,
        .log = &rig->log,
    };
    rig->env.config = &no_flags;
    rig_flag(rig, "the program's name");
}

void rig_flags_of(struct rig *rig, const struct collector_ops *ops)
{
    rig->flags_of = ops;
    parse_flags(rig);
}

void rig_start(struct rig *rig)
{
    must(rig->ops->probe(&rig->env, &rig->status.verdict), "probe");
    must(rig->ops->start(&rig->env, &rig->status, &rig->collector) == 0, "start");
}

void rig_release(struct rig *rig)
{
    rig->ops->stop(rig->collector);
    container_labels_free(rig->labels);
    store_free(rig->store);
    source_set_free(rig->sources);
    inventory_release(&rig->inventory);
    must(rig->fake.ledger.frees == 1, "the source set frees its source");
}

int rig_teardown(void **state)
{
    rig_release(*state);
    free(*state);
    return 0;
}

void rig_reconcile(struct rig *rig, const struct container_diff *diff)
{
    must(container_labels_reconcile(rig->labels, diff) == 0, "labels");
    if (rig->ops->reconcile)
        rig->ops->reconcile(rig->collector, diff);
}

struct container *rig_unnamed(struct rig *rig, const char *name)
{
    must(rig->n_containers < RIG_CONTAINERS, "room for a container");
    const char *pod = "pod-0";
    char *workload = rig->workloads[rig->n_containers];
    snprintf(workload, sizeof rig->workloads[0], "%.*s", (int)workload_owner_len(pod, name), pod);
    struct container *container = &rig->containers[rig->n_containers];
    *container = (struct container){
        .slot = (uint32_t)rig->n_containers++,
        .gen = 1,
        .cgroup_fd = rig->live ? 0 : -1,
        .path = name,
        .id = "",
        .namespace_ = "shop",
        .pod = pod,
        .name = name,
        .workload = workload,
        .image = "image:1",
        .pod_uid = "",
        .runtime = "",
        .qos_class = "",
        .found_mono_ns = rig->tick.mono_ns,
    };
    snprintf(container->key, sizeof container->key, "%s", name);
    snprintf(container->short_id, sizeof container->short_id, "%012x", container->slot);
    const struct container_diff diff = {.added = {&container, 1}};
    rig_reconcile(rig, &diff);
    return container;
}

void rig_name(struct rig *rig, struct container *container)
{
    container->named = true;
    const struct container_diff diff = {.named = {&container, 1}};
    rig_reconcile(rig, &diff);
}

struct container *rig_container(struct rig *rig, const char *name)
{
    struct container *container = rig_unnamed(rig, name);
    rig_name(rig, container);
    return container;
}

void rig_rename(struct rig *rig, struct container *container, const char *name)
{
    container->name = name;
    const struct container_diff diff = {.renamed = {&container, 1}};
    rig_reconcile(rig, &diff);
}

void rig_take_name(struct rig *rig, const char *family, const struct container *container,
                   const char *name)
{
    const struct label labels[] = {{"namespace", container->namespace_},
                                   {"pod", container->pod},
                                   {"container", name},
                                   {"container_id", container->short_id}};
    struct labelset *set;
    struct series *taken = NULL;
    must(labelset_new(labels, sizeof labels / sizeof *labels, &set) == 0, "a labelset");
    for (size_t i = 0; i < rig->store->n_families; i++)
        if (strcmp(rig->store->families[i]->desc->name, family) == 0)
            must(series_new(rig->store->families[i], set, NULL, 0, &taken) == 0, "a series");
    must(taken != NULL, family);
    labelset_unref(set);
}

void rig_end(struct rig *rig, struct container *container)
{
    container->state = CONTAINER_ENDED;
    container->ended_mono_ns = rig->tick.mono_ns;
    const struct container_diff diff = {.ended = {&container, 1}};
    rig_reconcile(rig, &diff);
}

void rig_forget(struct rig *rig, struct container *container)
{
    const struct container_diff diff = {.forgotten = {&container, 1}};
    rig_reconcile(rig, &diff);
}

void rig_nothing_changed(struct rig *rig)
{
    const struct container_diff diff = {0};
    if (rig->status.wants_reconcile)
        rig_reconcile(rig, &diff);
}

int rig_tick(struct rig *rig)
{
    rig->tick.number++;
    rig->tick.mono_ns += 1000000000u;
    rig->tick.wall_ns += 1000000000u;
    must(source_set_begin(rig->sources, &rig->tick) == 0, "begin");
    int err = rig->ops->collect(rig->collector, &rig->tick);
    if (rig->status.wants_reconcile && rig->ops->reconcile && !rig->reconciled_by_hand)
        rig->ops->reconcile(rig->collector, &(struct container_diff){0});
    container_labels_settle(rig->labels);
    must(store_publish(rig->store, &rig->tick) == 0, "publish");
    return err;
}

static bool carries(const struct sample *sample, const char *label)
{
    size_t len = 0;
    const char *common = sample->common ? labelset_text(sample->common, &len) : "";
    return strstr(common, label) || strstr(sample->own, label);
}

static double number_of(const struct metric_desc *desc, const struct sample *sample)
{
    if (desc->type == METRIC_HISTOGRAM)
        return (double)sample->histogram->count;
    return desc->number == METRIC_U64 ? (double)sample->u64 : sample->number;
}

double rig_value_of(struct rig *rig, const char *family, const char *label, const char *more)
{
    struct snapshot *snapshot = store_acquire(rig->store);
    size_t n;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    double value = NAN;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(families[i].desc->name, family) != 0)
            continue;
        struct sample sample;
        for (size_t at = 0; snapshot_next(&families[i], &at, &sample);)
            if (carries(&sample, label) && carries(&sample, more))
                value = number_of(families[i].desc, &sample);
    }
    snapshot_release(snapshot);
    return value;
}

double rig_value(struct rig *rig, const char *family, const char *label)
{
    return rig_value_of(rig, family, label, "");
}

size_t rig_series(struct rig *rig, const char *label)
{
    struct snapshot *snapshot = store_acquire(rig->store);
    size_t n, count = 0;
    const struct snapshot_family *families = snapshot_families(snapshot, &n);
    struct sample sample;
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0;
             families[i].desc->type != METRIC_NOTE && snapshot_next(&families[i], &at, &sample);)
            count += carries(&sample, label);
    snapshot_release(snapshot);
    return count;
}
