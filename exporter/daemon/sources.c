#include "exporter/daemon/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/events/events.h"
#include "exporter/daemon/units.h"
#include "exporter/source/accesses/accesses.h"
#include "exporter/source/perf/detect.h"
#include "exporter/source/perf/perf.h"
#include "exporter/source/probe/chase.h"

/* The source itself, or the recorder around it. Takes it over also on failure. */
static int wrapped(struct sources *sources, struct source *source, struct source **out)
{
    if (!sources->recorder) {
        *out = source;
        return 0;
    }
    return recorder_wrap(sources->recorder, source, out);
}

static int route_all(struct sources *sources, struct source *source)
{
    int err = 0;
    for (int kind = 0; kind < SCOPE_KINDS && !err; kind++)
        for (int group = 0; group < GROUP_COUNT && !err; group++)
            err = source_set_route(sources->set, (enum scope_kind)kind, (enum group)group, source);
    return err;
}

/* ---- the CPU's event table ---- */

static const struct event_table *table_by_name(const char *microarchitecture)
{
    size_t n;
    const struct event_table *const *tables = event_tables(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(tables[i]->microarchitecture, microarchitecture) == 0)
            return tables[i];
    return NULL;
}

static const struct event_table *table_of_this_cpu(const struct fsroot *fs)
{
    struct cpu_identity cpu;
    if (cpu_identify(fs, &cpu) != 0)
        return NULL;
    return event_table_for_cpu(cpu.family, cpu.model, cpu.stepping, cpu.vendor);
}

/* ---- a recording ---- */

static int init_replay(struct sources *sources, const struct options *options, struct facts *facts,
                       char *error, size_t error_size)
{
    sources->name = "replay";
    int err = replay_open(options->replay_file, &sources->replay, error, error_size);
    if (err)
        return -EINVAL;
    facts->machine = *replay_machine(sources->replay);
    facts->cache_cycles_final = facts->machine.cache_cycles > 0;
    const struct event_table *table = table_by_name(facts->machine.microarchitecture);
    if (table && facts->machine.cache_cycles == 0)
        facts->machine.cache_cycles = table->cache_cycles;
    if (table && facts->machine.llc_hit_cycles == 0)
        facts->machine.llc_hit_cycles = table->llc_hit_cycles;

    size_t n;
    const struct source_unit *units = replay_units(sources->replay, &n);
    for (size_t i = 0; i < n && !err; i++)
        err = inventory_add_unit(&sources->inventory, &units[i]);
    const struct source_thread *threads = replay_threads(sources->replay, &n);
    for (size_t i = 0; i < n && !err; i++)
        err = inventory_add_thread(&sources->inventory, &threads[i]);

    struct source *source = NULL;
    if (!err)
        err = replay_source_new(sources->replay, &source);
    if (!err)
        err = wrapped(sources, source, &source);
    if (!err)
        err = route_all(sources, source);
    if (!err)
        err = source_set_route_probes(sources->set, source);
    if (!err)
        err = source_set_route_samples(sources->set, source);
    if (err)
        snprintf(error, error_size, "cannot replay %s: %s", options->replay_file, strerror(-err));
    return err;
}

/* ---- this machine ---- */

static void learn_machine(const struct sources *sources, const struct fsroot *fs,
                          const struct event_table *table, struct facts *facts)
{
    machine_detect(fs, &facts->machine);
    if (table) {
        snprintf(facts->machine.microarchitecture, sizeof facts->machine.microarchitecture, "%s",
                 table->microarchitecture);
        facts->machine.cache_cycles = table->cache_cycles;
        facts->machine.llc_hit_cycles = table->llc_hit_cycles;
    }
    const struct events_file *file = &sources->events;
    if (file->base_frequency_hz > 0)
        facts->machine.base_frequency_hz = file->base_frequency_hz;
    if (file->llc_hit_cycles > 0)
        facts->machine.llc_hit_cycles = file->llc_hit_cycles;
    if (file->cache_cycles > 0) {
        facts->machine.cache_cycles = file->cache_cycles;
        facts->cache_cycles_final = true;
    }
    facts->chase_must_miss = !file->event[ROLE_L3_MISS_READS];
    struct pmem_node node;
    pmem_node_detect(fs, &node);
    facts->machine.pmem_dimms = (int)node.dimms;
}

static int start_recorder(struct sources *sources, const struct options *options,
                          const struct facts *facts, const struct log *log, char *error,
                          size_t error_size)
{
    if (!options->record_file)
        return 0;
    /* A constant that the probe may still replace is not written: a replay then calibrates from
     * the same readings. */
    struct machine machine = facts->machine;
    if (!facts->cache_cycles_final)
        machine.cache_cycles = 0;
    int err =
        recorder_new(options->record_file, &machine, options->interval_ns, log, &sources->recorder);
    if (err)
        snprintf(error, error_size, "cannot write the recording %s: %s", options->record_file,
                 strerror(-err));
    return err && err != -ENOMEM ? -EINVAL : err;
}

static int start_probe(struct sources *sources, const struct options *options,
                       const struct fsroot *fs, const struct log *log, struct facts *facts)
{
    struct source *chase;
    const struct chase_config config = {.fs = fs, .log = log, .interval_ns = options->interval_ns};
    if (chase_source_new(&config, &chase, &facts->probe) != 0)
        return 0; /* the verdict says why; the rest of the exporter works */
    verdict_clear(&facts->probe);
    size_t n;
    const struct source_thread *threads = chase_source_threads(chase, &n);
    struct source *source;
    int err = wrapped(sources, chase, &source);
    if (err)
        return err;
    for (size_t i = 0; i < n && !err; i++) {
        err = inventory_add_thread(&sources->inventory, &threads[i]);
        if (!err && sources->recorder)
            recorder_thread(sources->recorder, &threads[i]);
    }
    if (err) {
        source->ops->free(source);
        return err;
    }
    sources->chase = chase;
    return source_set_route_probes(sources->set, source);
}

/* Whether there is persistent memory; tests say what stands for it. */
static bool memory_to_sample(const struct options *options, const struct fsroot *fs,
                             struct verdict *why)
{
    struct pmem_node node;
    if (options->medium_rule)
        return true;
    pmem_node_detect(fs, &node);
    return pmem_node_usable(&node, why);
}

bool sources_can_sample(const struct options *options)
{
    struct fsroot fs;
    struct verdict why;
    if (options->source == SOURCE_REPLAY ||
        fsroot_init(&fs, options->procfs, options->sysfs, options->cgroupfs, options->rootfs) != 0)
        return false;
    bool can = memory_to_sample(options, &fs, &why);
    fsroot_release(&fs);
    return can;
}

/* Nothing is opened before the collector asks. */
static int add_samples(struct sources *sources, const struct options *options,
                       const struct fsroot *fs, const struct log *log,
                       const struct event_table *table, const struct sources_needs *needs)
{
    struct perf_samples_config config = {
        .fs = fs,
        .log = log,
        .kernel = &perf_kernel_linux,
        .table = table,
        .file = &sources->events,
        .rule = options->medium_rule,
        .owners = &sources->owners.owners,
        .period = options->config.pebs_nvmm_period,
        .loads = options->config.pebs_nvmm_loads,
        .asked_for = needs->samples_by_name,
    };
    char error[512];
    struct source *source;
    int err = 0;
    if (memory_to_sample(options, fs, &config.nothing)) {
        if (container_owners_init(&sources->owners, fs, needs->map, error, sizeof error) != 0)
            verdict_set(&config.nothing, REASON_NO_DEVICE,
                        "cannot tell which containers samples belong to: %s", error);
        else if (!options->medium_rule)
            err = pmem_new(fs, &pmem_files_linux, &sources->pmem);
    }
    if (sources->pmem)
        config.rule = pmem_rule(sources->pmem);
    if (!err)
        err = perf_samples_new(&config, &source);
    if (!err)
        err = wrapped(sources, source, &source);
    return err ? err : source_set_route_samples(sources->set, source);
}

static int init_live(struct sources *sources, const struct options *options,
                     const struct fsroot *fs, const struct log *log, struct facts *facts,
                     const struct sources_needs *needs, char *error, size_t error_size)
{
    sources->name = "perf";
    int err;
    if (options->events_file) {
        err = events_file_load(options->events_file, &sources->events, error, error_size);
        if (err)
            return -EINVAL;
    }
    const struct event_table *table = table_of_this_cpu(fs);
    learn_machine(sources, fs, table, facts);
    err = start_recorder(sources, options, facts, log, error, error_size);
    if (err)
        return err;

    struct source *perf;
    const struct perf_config config = {
        .fs = fs,
        .log = log,
        .table = table,
        .file = options->events_file ? &sources->events : NULL,
        .kernel = &perf_kernel_linux,
        .fd_limit = needs->counters_max,
    };
    err = perf_source_new(&config, &perf);
    if (err) {
        snprintf(error, error_size, "cannot set up the kernel's counters: %s", strerror(-err));
        return err;
    }
    struct source *source = NULL;
    err = wrapped(sources, perf, &source);
    if (!err)
        err = route_all(sources, source);
    if (!err)
        err = units_add(&sources->inventory, fs, table, sources->recorder);
    if (!err && needs->probe)
        err = start_probe(sources, options, fs, log, facts);
    if (!err && needs->samples)
        err = add_samples(sources, options, fs, log, table, needs);
    if (err)
        snprintf(error, error_size, "cannot set up the counters: %s", strerror(-err));
    return err;
}

int sources_init(struct sources *sources, const struct options *options, const struct fsroot *fs,
                 const struct log *log, struct facts *facts, const struct sources_needs *needs,
                 char *error, size_t error_size)
{
    *sources = (struct sources){0};
    *facts = (struct facts){0};
    if (!needs->probe)
        verdict_set(&facts->probe, REASON_DISABLED, "switched off by a flag");
    sources->set = source_set_new(log);
    if (!sources->set) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    int err = options->source == SOURCE_REPLAY
                  ? init_replay(sources, options, facts, error, error_size)
                  : init_live(sources, options, fs, log, facts, needs, error, error_size);
    if (err)
        sources_release(sources);
    return err;
}

void sources_release(struct sources *sources)
{
    source_set_free(sources->set);
    inventory_release(&sources->inventory);
    replay_free(sources->replay);
    recorder_free(sources->recorder);
    pmem_free(sources->pmem);
    events_file_release(&sources->events);
    *sources = (struct sources){0};
}
