#include "exporter/daemon/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/events/events.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/inspect/inspector.h"
#include "exporter/source/accesses/accesses.h"
#include "exporter/source/activity/activity.h"
#include "exporter/source/memory/memory.h"
#include "exporter/source/perf/detect.h"
#include "exporter/source/perf/perf.h"
#include "exporter/source/probe/probe.h"
#include "exporter/source/resctrl/resctrl.h"
#include "exporter/source/waits/waits.h"

/* The generic one where there is a PMU and no verified table for it; NULL where the kernel's
 * generic events would count on some CPUs only. */
static const struct event_table *table_of_this_cpu(const struct fsroot *fs)
{
    struct cpu_identity cpu;
    char pmu[CPU_PMU_NAME];
    const struct event_table *table = NULL;
    uint64_t midr;
    if (cpu_is_hybrid(fs))
        return NULL;
    if (cpu_identify(fs, &cpu) == 0)
        table = event_table_for_cpu(cpu.family, cpu.model, cpu.stepping, cpu.vendor);
    else if (cpu_midr(fs, &midr) == 0)
        table = event_table_for_midr(midr);
    if (table && cpu_pmu_name(fs, pmu) && !event_table_fits_pmu(table, pmu))
        table = NULL;
    return !table && cpu_has_pmu(fs) ? &event_table_generic : table;
}

/* What the kernel shows, then what the CPU's table knows, then what the user says. */
static void learn_machine(const struct plan *plan, const struct event_table *table,
                          struct facts *facts)
{
    struct machine *machine = &facts->machine;
    const struct events_file *file = &plan->events;
    machine_detect(&plan->fs, machine);
    if (table) {
        snprintf(machine->microarchitecture, sizeof machine->microarchitecture, "%s",
                 table->microarchitecture);
        machine->cache_cycles = table->cache_cycles;
        facts->cache_core_cycles = table->cache_core_cycles;
        machine->llc_hit_cycles = table->llc_hit_cycles;
        facts->l1d_hit_cycles = table->l1d_hit_cycles;
        facts->l1d_hits_in_flight = table->l1d_hits_in_flight;
        facts->no_stalls = !table->event[ROLE_MEMORY_STALLS] && !file->event[ROLE_MEMORY_STALLS];
        if (table->ref_is_time)
            machine->base_frequency_hz = 1e9;
    }
    if (file->base_frequency_hz > 0)
        machine->base_frequency_hz = file->base_frequency_hz;
    if (file->llc_hit_cycles > 0)
        machine->llc_hit_cycles = file->llc_hit_cycles;
    if (file->cache_cycles > 0) {
        machine->cache_cycles = file->cache_cycles;
        machine->cache_seconds = file->cache_seconds;
        facts->cache_cycles_final = true;
    }
    machine->l2_fill_cycles = file->l2_fill_cycles;
    machine->l3_fill_cycles = file->l3_fill_cycles;
    facts_settle_fills(facts);
    facts->chase_must_miss =
        !file->event[ROLE_L3_MISS_READS] && !file->event[ROLE_L3_MISS_READ_OCCUPANCY] &&
        !file->event[ROLE_L1D_FILLS_MEMORY] && !file->event[ROLE_L1D_MISS_OCCUPANCY] &&
        !file->event[ROLE_LOADS_IN_FLIGHT];
    machine->own_events = !facts->chase_must_miss;
    struct pmem_node node;
    pmem_node_detect(&plan->fs, &node);
    machine->pmem_dimms = (int)node.dimms;
}

/* The kernel's counters: of containers, threads, CPUs and memory controllers. */
static int add_counters(struct sources *sources, const struct sources_config *config,
                        const struct event_table *table, struct source **counters)
{
    struct source *source = NULL;
    const struct perf_config perf = {
        .fs = &config->plan->fs,
        .log = config->log,
        .table = table,
        .file = config->plan->options->events_file ? &config->plan->events : NULL,
        .kernel = config->plan->kernel,
        .fd_limit = config->counters_max,
        .pool = &sources->pool,
        .said = &sources->said,
        .no_pmem = config->facts->machine.pmem_dimms == 0,
    };
    descriptor_pool_limit(&sources->pool, config->counters_max);
    int err = perf_source_new(&perf, &source);
    *counters = sources->perf = source;
    if (!err)
        err = sources_wrap(sources, source, &source);
    if (!err)
        err = sources_route_all(sources, source);
    if (!err)
        err = sources_add_bpf(sources, config, &perf);
    if (!err)
        err = units_add(&sources->inventory, &config->plan->fs, table, sources->recorder);
    return err;
}

/* As sources_wrap(), with routes for groups, a bit each, of containers and of the machine. */
static int add(struct sources *sources, struct source *source, uint32_t of_cgroups,
               uint32_t of_machine)
{
    int err = sources_wrap(sources, source, &source);
    for (int group = 0; group < GROUP_COUNT && !err; group++) {
        if (of_cgroups >> group & 1)
            err = source_set_route(sources->set, SCOPE_CGROUP, (enum group)group, source);
        if (!err && (of_machine >> group & 1))
            err = source_set_route(sources->set, SCOPE_MACHINE, (enum group)group, source);
    }
    return err;
}

/* CPU time, of containers and of the machine. Its clocks are counted by a perf source of its own,
 * for they keep to another share of the descriptors. */
static int add_activity(struct sources *sources, const struct sources_config *config,
                        struct source *counters)
{
    const struct fsroot *fs = &config->plan->fs;
    struct activity_config activity = {
        .fs = fs,
        .cpuacct = sources->cpuacct,
        .unified = sources->unified,
        .counters = counters,
        .pool = &sources->pool,
    };
    const struct perf_config clocks = {
        .fs = fs, .log = config->log, .kernel = config->plan->kernel};
    struct source *source;
    (void)cgroup_mount_find(fs, "cpuacct", sources->cpuacct, sizeof sources->cpuacct);
    (void)cgroup_mount_find(fs, "", sources->unified, sizeof sources->unified);
    int err = perf_source_new(&clocks, &activity.clocks);
    if (!err)
        err = activity_source_new(&activity, &source);
    return err ? err : add(sources, source, 1u << GROUP_ACTIVITY, 1u << GROUP_ACTIVITY);
}

/* Where containers' memory is. */
static int add_memory(struct sources *sources, const struct sources_config *config)
{
    const struct memory_config memory = {
        .memory = sources->memory,
        .unified = sources->unified,
        .pool = &sources->pool,
    };
    struct source *source;
    (void)cgroup_mount_find(&config->plan->fs, "memory", sources->memory, sizeof sources->memory);
    int err = memory_source_new(&memory, &source);
    return err ? err : add(sources, source, 1u << GROUP_PAGES, 0);
}

/* What containers wait for. */
static int add_waits(struct sources *sources, const struct sources_config *config)
{
    const struct fsroot *fs = &config->plan->fs;
    const struct waits_config waits = {
        .fs = fs,
        .mounts = {sources->unified, sources->cpu, sources->cpuacct, sources->cpuset,
                   sources->memory},
        .pool = &sources->pool,
    };
    struct source *source;
    (void)cgroup_mount_find(fs, "cpu", sources->cpu, sizeof sources->cpu);
    (void)cgroup_mount_find(fs, "cpuset", sources->cpuset, sizeof sources->cpuset);
    int err = waits_source_new(&waits, &source);
    return err ? err : add(sources, source, 1u << GROUP_WAITS | 1u << GROUP_BOUNDS, 0);
}

/* What containers move, as far as others made monitoring groups. */
static int add_resctrl(struct sources *sources, const struct sources_config *config)
{
    const struct resctrl_config resctrl = {.fs = &config->plan->fs, .pool = &sources->pool};
    struct source *source;
    int err = resctrl_source_new(&resctrl, &source);
    return err ? err
               : add(sources, source, 1u << GROUP_BANDWIDTH | 1u << GROUP_POD_BANDWIDTH,
                     1u << GROUP_BANDWIDTH);
}

static int add_probe(struct sources *sources, const struct sources_config *config)
{
    struct source *chase, *source;
    const struct probe_config chase_config = {
        .fs = &config->plan->fs,
        .log = config->log,
        .interval_ns = config->plan->options->interval_ns,
    };
    if (probe_source_new(&chase_config, &chase, &config->facts->probe) != 0)
        return 0; /* the verdict says why; the rest of the exporter works */
    verdict_clear(&config->facts->probe);
    size_t n;
    const struct source_thread *threads = probe_source_threads(chase, &n);
    int err = sources_wrap(sources, chase, &source);
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
    return source_set_route_probes(sources->set, source);
}

/* Whose samples are, and which memory they went to. */
static int learn_owners_and_media(struct sources *sources, const struct sources_config *config,
                                  struct perf_samples_config *samples)
{
    const struct plan *plan = config->plan;
    char error[512];
    if (container_owners_init(&sources->owners, &plan->fs, config->map, error, sizeof error) != 0) {
        verdict_set(&samples->nothing, REASON_NO_DEVICE,
                    "cannot tell which containers samples belong to: %s", error);
        return 0;
    }
    samples->rule = plan->inspector ? inspector_rule(plan->inspector) : plan->medium_rule;
    samples->reader = plan->inspector ? inspector_reader(plan->inspector) : NULL;
    if (samples->rule)
        return 0;
    int err = pmem_new(&plan->fs, &pmem_files_linux, &sources->pmem);
    if (!err)
        samples->rule = pmem_rule(sources->pmem);
    return err;
}

/* Nothing is opened before a collector asks. */
static int add_samples(struct sources *sources, const struct sources_config *config,
                       const struct event_table *table)
{
    const struct plan *plan = config->plan;
    struct source *source;
    struct perf_samples_config samples = {
        .fs = &plan->fs,
        .log = config->log,
        .kernel = plan->kernel,
        .table = table,
        .file = &plan->events,
        .nothing = plan->nothing_to_sample,
        .owners = &sources->owners.owners,
        .period = plan->sampling.period,
        .loads = plan->sampling.wanted[ACCESS_LOAD],
        .asked_for = plan->samples_by_name,
    };
    int err = 0;
    if (samples.nothing.reason == REASON_OK)
        err = learn_owners_and_media(sources, config, &samples);
    if (!err)
        err = perf_samples_new(&samples, &source);
    if (!err)
        err = sources_wrap(sources, source, &source);
    return err ? err : source_set_route_samples(sources->set, source);
}

static int init_live(struct sources *sources, const struct sources_config *config, char *error,
                     size_t error_size)
{
    const struct plan *plan = config->plan;
    const struct event_table *table = table_of_this_cpu(&plan->fs);
    sources->name = "perf";
    learn_machine(plan, table, config->facts);
    int err =
        sources_start_recorder(sources, config, plan->options->interval_ns, error, error_size);
    if (err)
        return err;
    struct source *counters;
    err = add_counters(sources, config, table, &counters);
    if (!err)
        err = add_activity(sources, config, counters);
    if (!err)
        err = add_memory(sources, config);
    if (!err)
        err = add_waits(sources, config);
    if (!err)
        err = add_resctrl(sources, config);
    if (!err && plan->probe)
        err = add_probe(sources, config);
    if (!err && plan->samples)
        err = add_samples(sources, config, table);
    if (err)
        snprintf(error, error_size, "cannot set up the counters: %s", strerror(-err));
    return err;
}

/* ---- either ---- */

int sources_init(struct sources *sources, const struct sources_config *config, char *error,
                 size_t error_size)
{
    *sources = (struct sources){0};
    *config->facts = (struct facts){0};
    if (!config->plan->probe)
        verdict_set(&config->facts->probe, REASON_DISABLED, "switched off by a flag");
    sources->set = source_set_new(config->log);
    if (!sources->set) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    int err = config->plan->options->source == SOURCE_REPLAY
                  ? sources_init_replayed(sources, config, error, error_size)
                  : init_live(sources, config, error, error_size);
    if (err)
        sources_release(sources);
    return err;
}

size_t sources_room(const struct sources *sources, size_t counters, size_t *each)
{
    size_t all = 0;
    *each = sources->perf ? perf_source_each(sources->perf, &all) : 0;
    size_t others = sources->pool.counters > all ? sources->pool.counters - all : 0;
    if (*each == 0)
        return SIZE_MAX;
    return counters > others ? (counters - others) / *each : 0;
}

int sources_release(struct sources *sources)
{
    int err = source_set_end(sources->set);
    if (err) {
        recorder_free(sources->recorder);
        return err;
    }
    source_set_free(sources->set);
    inventory_release(&sources->inventory);
    replay_free(sources->replay);
    recorder_free(sources->recorder);
    pmem_free(sources->pmem);
    *sources = (struct sources){0};
    return 0;
}
