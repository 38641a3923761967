/*
 * What a tick of the collector placement costs beside the ones whose counters it reads:
 * bench_placement CONTAINERS CPUS BUSY NODES TICKS
 *
 * The source only writes rows: each container runs on BUSY of the CPUs, which are dealt out to
 * NODES NUMA nodes; with several of them its memory is on all. The core group has been read before
 * the clock starts, as by core_latency. Prints one line of JSON: CPU microseconds of a tick, and
 * for how many containers there is a prediction.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/table.h"
#include "exporter/options/options.h"
#include "tests/bench/bench.h"

struct synthetic {
    struct source source;
    size_t cpus, busy;
    int nodes;
    uint64_t tick;
};

static struct synthetic *self_of(struct source *source)
{
    return (struct synthetic *)source;
}

static bool check(struct source *source, enum scope_kind kind, enum group group,
                  struct verdict *why)
{
    return group == GROUP_CORE || group == GROUP_PAGES;
}

/* A handle is the number of the container and whether it is of its pages. */
static int open_group(struct source *source, const struct scope *scope, enum group group,
                      uint64_t *handle, struct verdict *why)
{
    *handle = 2 * strtoull(scope->key + 1, NULL, 10) + (group == GROUP_PAGES);
    return 0;
}

static size_t width(struct source *source, uint64_t handle)
{
    return handle % 2 ? (size_t)self_of(source)->nodes : self_of(source)->cpus;
}

static int read_pages(const struct synthetic *self, uint64_t container, struct reading *out)
{
    if ((self->tick + container) % 30)
        return -ENODATA;
    out->n = (size_t)self->nodes;
    for (int node = 0; node < self->nodes; node++) {
        struct reading_row *row = reading_row(out, (size_t)node);
        *row = (struct reading_row){.cpu = node, .present = 1};
        row->count[0] = (container + (uint64_t)node) << 20;
    }
    return 0;
}

static int read_group(struct source *source, uint64_t handle, struct reading *out)
{
    static const uint64_t window[] = {1000000000, 1000000000, 500000000, 2000000,
                                      600000000,  4000000,    400000000};
    const struct synthetic *self = self_of(source);
    uint64_t container = handle / 2;
    if (handle % 2)
        return read_pages(self, container, out);
    out->n = self->cpus;
    for (size_t cpu = 0; cpu < self->cpus; cpu++) {
        struct reading_row *row = reading_row(out, cpu);
        bool here = (cpu + self->cpus - container % self->cpus) % self->cpus < self->busy;
        row->cpu = (int32_t)cpu;
        row->present = 0x7f;
        row->enabled_ns = row->running_ns = here ? self->tick * 500000000 : 0;
        for (size_t i = 0; i < sizeof window / sizeof *window; i++)
            row->count[i] = here ? self->tick * window[i] : 0;
    }
    return 0;
}

/* One burst of each pair a tick. */
static int probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    const struct synthetic *self = self_of(source);
    *n = 0;
    for (int from = 0; from < self->nodes; from++)
        for (int to = 0; to < self->nodes && *n < cap; to++)
            out[(*n)++] = (struct probe_reading){.initiator_numa_node = from,
                                                 .target_numa_node = to,
                                                 .latency_ns = (from == to ? 90 : 150) +
                                                               (double)(self->tick * 31 % 7),
                                                 .cpu = -1};
    return 0;
}

static void close_group(struct source *source, uint64_t handle)
{
}

static void free_source(struct source *source)
{
}

static const struct source_ops ops = {
    .name = "synthetic",
    .check = check,
    .open = open_group,
    .width = width,
    .read = read_group,
    .close = close_group,
    .probes = probes,
    .free = free_source,
};

static const void *flags_of(struct options *options)
{
    char *flags[] = {"bench", "--collector.placement.tier=cxl=250ns"};
    char error[256];
    size_t i = 0;
    must(options_parse(options, 2, flags, error, sizeof error) == 0, error);
    while (collector_table[i] != &placement_collector)
        i++;
    return &options->config[i];
}

static void route(struct source_set *sources, struct source *source)
{
    must(source_set_route(sources, SCOPE_CGROUP, GROUP_CORE, source) == 0 &&
             source_set_route(sources, SCOPE_CGROUP, GROUP_PAGES, source) == 0 &&
             source_set_route_probes(sources, source) == 0,
         "route");
}

static void describe(struct container *c, size_t i)
{
    *c = (struct container){.slot = (uint32_t)i, .gen = 1, .named = true, .cgroup_fd = 3};
    snprintf(c->key, sizeof c->key, "c%zu", i);
    snprintf(c->short_id, sizeof c->short_id, "%012x", (unsigned)i);
    c->path = c->key;
    c->namespace_ = c->pod = c->image = c->pod_uid = c->runtime = c->qos_class = c->id = "";
    c->name = c->workload = c->key;
}

/* How many of them have predicted seconds for the tier. */
static size_t predictions(struct store *store, const struct tick *tick)
{
    size_t n_families, found = 0;
    must(store_publish(store, tick) == 0, "publish");
    struct snapshot *snapshot = store_acquire(store);
    const struct snapshot_family *families = snapshot_families(snapshot, &n_families);
    struct sample sample;
    for (size_t f = 0; f < n_families; f++)
        if (strcmp(families[f].desc->name, "interference_container_placement_predicted_seconds") ==
            0)
            for (size_t at = 0; snapshot_next(&families[f], &at, &sample);)
                found += sample.number > 0 && strstr(sample.own, "cxl") != NULL;
    snapshot_release(snapshot);
    return found;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 250;
    struct synthetic synthetic = {.source.ops = &ops,
                                  .cpus = argc > 2 ? strtoul(argv[2], NULL, 10) : 128,
                                  .busy = argc > 3 ? strtoul(argv[3], NULL, 10) : 8,
                                  .nodes = argc > 4 ? atoi(argv[4]) : 1};
    uint64_t ticks = argc > 5 ? strtoull(argv[5], NULL, 10) : 300;
    struct log log = {.fd = -1};
    static struct facts facts;
    facts = (struct facts){
        .machine = {.base_frequency_hz = 2.1e9, .cache_cycles = 44, .numa_nodes = synthetic.nodes},
        .cache_cycles_final = true};
    for (size_t cpu = 0; cpu < synthetic.cpus; cpu++)
        machine_place_cpu_on_node(&facts.machine, (int)cpu, (int)cpu % synthetic.nodes);
    struct thresholds thresholds = {0};
    struct inventory inventory = {0};
    struct collector_status status = {0};
    static struct options options;
    struct collector_env env = {.sources = source_set_new(&log),
                                .inventory = &inventory,
                                .config = flags_of(&options),
                                .thresholds = &thresholds,
                                .facts = &facts,
                                .log = &log};
    must(env.sources && store_new(&env.store) == 0 &&
             container_labels_new(env.store, &env.labels) == 0 && live_new(&env.live) == 0 &&
             live_reserve(env.live, n) == 0,
         "out of memory");
    route(env.sources, &synthetic.source);
    struct container *containers = calloc(n, sizeof *containers);
    struct container **all = calloc(n, sizeof *all);
    group_handle *shared = calloc(n, sizeof *shared);
    const struct collector_ops *collector = &placement_collector;
    void *self;
    must(containers && all && shared, "out of memory");
    must(collector->probe(&env, &status.verdict) && collector->start(&env, &status, &self) == 0,
         "start");
    for (size_t i = 0; i < n; i++) {
        describe(all[i] = &containers[i], i);
        const struct scope scope = {.kind = SCOPE_CGROUP, .key = containers[i].key};
        must(source_set_open(env.sources, &scope, GROUP_CORE, &shared[i], NULL) == 0, "open");
    }
    const struct container_diff diff = {.added = {all, n}, .named = {all, n}};
    must(container_labels_reconcile(env.labels, &diff) == 0, "labels");
    collector->reconcile(self, &diff);

    double total = 0, worst = 0;
    struct tick tick = {.interval_ns = 1000000000};
    const uint64_t warm = 60;
    for (uint64_t t = 1; t <= warm + ticks; t++) {
        struct group_window window;
        tick.number = synthetic.tick = t;
        tick.mono_ns = t * 1000000000;
        source_set_begin(env.sources, &tick);
        live_begin(env.live);
        for (size_t i = 0; i < n; i++)
            must(source_set_read(env.sources, shared[i], &window) == 0, "read");
        double before = cpu_us();
        collector->collect(self, &tick);
        double own = cpu_us() - before;
        if (status.wants_reconcile)
            collector->reconcile(self, &(struct container_diff){0});
        if (t <= warm)
            continue;
        total += own;
        worst = own > worst ? own : worst;
    }
    printf("{\"containers\":%zu,\"cpus\":%zu,\"nodes\":%d,\"tick_us\":%.1f,\"worst_us\":%.1f,"
           "\"predictions\":%zu}\n",
           n, synthetic.cpus, synthetic.nodes, total / (double)ticks, worst,
           predictions(env.store, &tick));
    collector->stop(self);
    free(containers);
    free(all);
    free(shared);
    container_labels_free(env.labels);
    store_free(env.store);
    live_free(env.live);
    source_set_free(env.sources);
    return 0;
}
