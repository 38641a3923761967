/*
 * What a tick of the collector attribution costs: bench_attribution_tick CONTAINERS CPUS TICKS
 *
 * The source only writes rows: containers run on one CPU each, and half of them go on and off.
 * Prints one line of JSON: CPU microseconds of a tick, and of it the source's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/table.h"

struct synthetic {
    struct source source;
    size_t cpus;
    uint64_t opened, tick;
};

static struct synthetic *self_of(struct source *source)
{
    return (struct synthetic *)source;
}

static bool check(struct source *source, enum scope_kind kind, enum group group,
                  struct verdict *why)
{
    (void)source;
    (void)kind;
    (void)why;
    return group == GROUP_ACTIVITY;
}

static int open_group(struct source *source, const struct scope *scope, enum group group,
                      uint64_t *handle, struct verdict *why)
{
    (void)group;
    (void)why;
    *handle = scope->kind == SCOPE_MACHINE ? 0 : ++self_of(source)->opened;
    return 0;
}

static size_t width(struct source *source, uint64_t handle)
{
    (void)handle;
    return self_of(source)->cpus;
}

static bool is_on(uint64_t handle, uint64_t tick)
{
    uint64_t period = 20 + handle % 41;
    return handle % 2 || (tick + 7 * handle) % period < period / 2;
}

/* Half of a CPU for as many ticks as the container was on. */
static uint64_t time_of(uint64_t handle, uint64_t tick)
{
    uint64_t sum = 0;
    for (uint64_t t = tick > 2 ? tick - 1 : 1; t <= tick; t++)
        sum += is_on(handle, t) ? 500000000 : 0;
    return sum + tick * 1000000000;
}

static int read_group(struct source *source, uint64_t handle, struct reading *out)
{
    const struct synthetic *self = self_of(source);
    for (size_t cpu = 0; cpu < self->cpus; cpu++) {
        struct reading_row *row = reading_row(out, cpu);
        bool here = handle == 0 || handle % self->cpus == cpu;
        row->cpu = (int32_t)cpu;
        row->present = 1;
        row->enabled_ns = here ? time_of(handle, self->tick) : 0;
        row->running_ns = row->count[0] = row->enabled_ns;
    }
    out->n = self->cpus;
    return 0;
}

static int probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    uint64_t tick = self_of(source)->tick;
    for (*n = 0; *n < 3 && *n < cap; ++*n)
        out[*n] = (struct probe_reading){
            .latency_ns = (is_on(2, tick) ? 120 : 100) + (double)(tick * 31 % 7), .cpu = 0};
    return 0;
}

static void close_group(struct source *source, uint64_t handle)
{
    (void)source;
    (void)handle;
}

static void free_source(struct source *source)
{
    (void)source;
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

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    exit(1);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 250;
    size_t cpus = argc > 2 ? strtoul(argv[2], NULL, 10) : 16;
    uint64_t ticks = argc > 3 ? strtoull(argv[3], NULL, 10) : 300;
    struct synthetic synthetic = {.source.ops = &ops, .cpus = cpus};
    struct log log = {.fd = -1};
    struct facts facts = {.machine.numa_nodes = 1};
    struct thresholds thresholds = {0};
    struct inventory inventory = {0};
    struct collector_status status = {0};
    struct collector_config config = {0};
    struct collector_env env = {.sources = source_set_new(&log),
                                .inventory = &inventory,
                                .config = &config,
                                .thresholds = &thresholds,
                                .facts = &facts,
                                .log = &log};
    must(env.sources && store_new(&env.store) == 0 &&
             container_labels_new(env.store, &env.labels) == 0,
         "out of memory");
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        must(source_set_route(env.sources, (enum scope_kind)kind, GROUP_ACTIVITY,
                              &synthetic.source) == 0,
             "route");
    must(source_set_route_probes(env.sources, &synthetic.source) == 0, "route");
    struct container *containers = calloc(n, sizeof *containers);
    struct container **all = calloc(n, sizeof *all);
    void *self;
    must(containers && all, "out of memory");
    const struct collector_ops *collector = &attribution_collector;
    must(collector->probe(&env, &status.verdict) && collector->start(&env, &status, &self) == 0,
         "start");
    for (size_t i = 0; i < n; i++) {
        struct container *c = all[i] = &containers[i];
        *c = (struct container){.slot = (uint32_t)i, .gen = 1, .named = true, .cgroup_fd = 3};
        snprintf(c->key, sizeof c->key, "c%zu", i);
        snprintf(c->short_id, sizeof c->short_id, "%012x", (unsigned)i);
        c->path = c->key;
        c->namespace_ = c->pod = c->image = c->pod_uid = c->runtime = c->qos_class = c->id = "";
        c->name = c->key;
    }
    const struct container_diff diff = {.added = {all, n}, .named = {all, n}};
    must(container_labels_reconcile(env.labels, &diff) == 0, "labels");
    collector->reconcile(self, &diff);

    double total = 0, reads = 0, worst = 0;
    struct reading row = {.cap = cpus, .stride_bytes = reading_stride(GROUP_ACTIVITY)};
    row.rows = calloc(cpus, row.stride_bytes);
    must(row.rows, "out of memory");
    const uint64_t warm = 100;
    for (uint64_t t = 1; t <= warm + ticks; t++) {
        struct tick tick = {.number = t, .mono_ns = t * 1000000000, .interval_ns = 1000000000};
        synthetic.tick = t;
        source_set_begin(env.sources, &tick);
        double before = cpu_us();
        collector->collect(self, &tick);
        double after = cpu_us(), own = after - before;
        if (status.wants_reconcile)
            collector->reconcile(self, &(struct container_diff){0});
        before = cpu_us();
        for (size_t i = 0; i <= n; i++)
            read_group(&synthetic.source, i, &row);
        if (t <= warm)
            continue;
        total += own;
        worst = own > worst ? own : worst;
        reads += cpu_us() - before;
    }
    printf(
        "{\"containers\":%zu,\"cpus\":%zu,\"tick_us\":%.1f,\"worst_us\":%.1f,\"source_us\":%.1f}\n",
        n, cpus, total / (double)ticks, worst, reads / (double)ticks);
    collector->stop(self);
    free(row.rows);
    free(containers);
    free(all);
    container_labels_free(env.labels);
    store_free(env.store);
    source_set_free(env.sources);
    return 0;
}
