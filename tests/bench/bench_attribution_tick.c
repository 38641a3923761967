/*
 * What a tick of the collector attribution costs:
 * bench_attribution_tick CONTAINERS CPUS TICKS [traffic]
 *
 * The source only writes rows: containers run on one CPU each, and half of them go on and off. By
 * traffic all of them wait, and who makes whom wait is found as well.
 * Prints one line of JSON: CPU microseconds of a tick, and of it the source's; and whether it was
 * known who waits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/attribution/lanes/lane.h"
#include "collectors/table.h"
#include "exporter/options/options.h"
#include "tests/bench/bench.h"

struct synthetic {
    struct source source;
    enum group group; /* that is counted */
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
    return group == GROUP_ACTIVITY || group == self_of(source)->group;
}

static int open_group(struct source *source, const struct scope *scope, enum group group,
                      uint64_t *handle, struct verdict *why)
{
    *handle = scope->kind == SCOPE_MACHINE ? 0 : ++self_of(source)->opened;
    return 0;
}

static size_t width(struct source *source, uint64_t handle)
{
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

/* Since the start, 10 million in each tick in which the container was on. */
static uint64_t lines_of(uint64_t handle, uint64_t tick)
{
    uint64_t period = 20 + handle % 41, from = 7 * handle, to = from + tick;
    uint64_t on = (to / period - from / period) * (period / 2), half = period / 2;
    on += (to % period < half ? to % period : half) - (from % period < half ? from % period : half);
    return 10000000 * (handle % 2 ? tick : on);
}

static int read_group(struct source *source, uint64_t handle, struct reading *out)
{
    const struct synthetic *self = self_of(source);
    for (size_t cpu = 0; cpu < self->cpus; cpu++) {
        struct reading_row *row = reading_row(out, cpu);
        bool here = handle == 0 || handle % self->cpus == cpu;
        row->cpu = (int32_t)cpu;
        row->present = self->group == GROUP_TRAFFIC ? 7 : 1;
        row->enabled_ns = here ? time_of(handle, self->tick) : 0;
        row->running_ns = row->count[0] = row->enabled_ns;
        if (self->group == GROUP_TRAFFIC)
            row->count[1] = row->count[2] = here ? lines_of(handle, self->tick) : 0;
    }
    out->n = self->cpus;
    return 0;
}

/* The latency follows one container, or the traffic of all. */
static double latency_ns(const struct synthetic *self)
{
    double on = is_on(2, self->tick);
    if (self->group == GROUP_TRAFFIC) {
        on = 0;
        for (uint64_t handle = 1; handle <= self->opened; handle++)
            on += 10. * is_on(handle, self->tick) / (double)self->opened;
    }
    return 100 * exp(0.2 * on) + (double)(self->tick * 31 % 7);
}

static int probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    for (*n = 0; *n < 3 && *n < cap; ++*n)
        out[*n] = (struct probe_reading){.latency_ns = latency_ns(self_of(source)), .cpu = 0};
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

static const void *flags_of(struct options *options, bool traffic)
{
    char *flags[] = {"bench", "--collector.attribution.traffic"};
    char error[256];
    size_t i = 0;
    must(options_parse(options, traffic ? 2 : 1, flags, error, sizeof error) == 0, error);
    while (collector_table[i] != &attribution_collector)
        i++;
    return &options->config[i];
}

/* As core_latency would tell. */
static void all_wait(struct read_latencies *reads, uint64_t tick)
{
    reads->tick = tick;
    for (size_t i = 0; i < reads->n; i++)
        reads->at[i] = (struct read_latency){.tick = tick,
                                             .latency_seconds = (100 + (double)(i % 31)) * 1e-9,
                                             .baseline_seconds = 90e-9,
                                             .reads = 1e6};
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 250;
    size_t cpus = argc > 2 ? strtoul(argv[2], NULL, 10) : 16;
    uint64_t ticks = argc > 3 ? strtoull(argv[3], NULL, 10) : 300;
    bool traffic = argc > 4 && strcmp(argv[4], "traffic") == 0;
    enum group group = traffic ? GROUP_TRAFFIC : GROUP_ACTIVITY;
    struct synthetic synthetic = {.source.ops = &ops, .group = group, .cpus = cpus};
    struct log log = {.fd = -1};
    struct facts facts = {.machine.numa_nodes = 1};
    struct thresholds thresholds = {0};
    struct inventory inventory = {0};
    struct collector_status status = {0};
    static struct options options;
    struct collector_env env = {.sources = source_set_new(&log),
                                .inventory = &inventory,
                                .config = flags_of(&options, traffic),
                                .thresholds = &thresholds,
                                .facts = &facts,
                                .log = &log};
    must(env.sources && store_new(&env.store) == 0 &&
             container_labels_new(env.store, &env.labels) == 0,
         "out of memory");
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        must(source_set_route(env.sources, (enum scope_kind)kind, GROUP_ACTIVITY,
                              &synthetic.source) == 0 &&
                 source_set_route(env.sources, (enum scope_kind)kind, GROUP_TRAFFIC,
                                  &synthetic.source) == 0,
             "route");
    must(source_set_route_probes(env.sources, &synthetic.source) == 0, "route");
    struct container *containers = calloc(n, sizeof *containers);
    struct container **all = calloc(n, sizeof *all);
    void *self;
    must(containers && all && read_latencies_reserve(&facts.reads, n) == 0, "out of memory");
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
        c->name = c->workload = c->key;
    }
    const struct container_diff diff = {.added = {all, n}, .named = {all, n}};
    must(container_labels_reconcile(env.labels, &diff) == 0, "labels");
    collector->reconcile(self, &diff);

    double total = 0, reads = 0, worst = 0;
    struct reading row = {.cap = cpus, .stride_bytes = reading_stride(group)};
    row.rows = calloc(cpus, row.stride_bytes);
    must(row.rows, "out of memory");
    const uint64_t warm = 100;
    for (uint64_t t = 1; t <= warm + ticks; t++) {
        struct tick tick = {.number = t, .mono_ns = t * 1000000000, .interval_ns = 1000000000};
        synthetic.tick = t;
        source_set_begin(env.sources, &tick);
        all_wait(&facts.reads, t);
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
    const struct attribution_context *context = self; /* the collector begins with it */
    printf("{\"containers\":%zu,\"cpus\":%zu,\"tick_us\":%.1f,\"worst_us\":%.1f,"
           "\"source_us\":%.1f,\"waits\":%s}\n",
           n, cpus, total / (double)ticks, worst, reads / (double)ticks,
           context->node[0]->waits.state == WAITS_KNOWN ? "true" : "false");
    collector->stop(self);
    read_latencies_release(&facts.reads);
    free(row.rows);
    free(containers);
    free(all);
    container_labels_free(env.labels);
    store_free(env.store);
    source_set_free(env.sources);
    return 0;
}
