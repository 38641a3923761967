#include "tests/simnode/recording/record.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/model/rng.h"
#include "tests/simnode/model/simclock.h"
#include "tests/simnode/recording/caused.h"

/* Any fixed date: a recording depends on nothing but its scenario. */
#define WALL_START_NS 1790000000000000000LL

struct recorder {
    const struct scenario *scenario;
    struct simnode *node;
    struct alone_runs *runs;
    struct caused *caused; /* NULL: not asked for */
    FILE *out;
    struct simnode_truth *before; /* by container, at the tick's start */
    bool *present;                /* its container line was written, and it is not gone */
    int err;
};

static void put(struct recorder *recorder, json_t *line)
{
    if (!line)
        recorder->err = -ENOMEM;
    else if (json_dumpf(line, recorder->out, JSON_COMPACT) != 0 ||
             fputc('\n', recorder->out) == EOF)
        recorder->err = errno ? -errno : -EIO;
    json_decref(line);
}

static void put_header(struct recorder *recorder)
{
    const struct scenario *scenario = recorder->scenario;
    const struct machine_spec *machine = &scenario->machine;
    double tick_seconds =
        (double)scenario->tick_cycles / machine->core_hz * (double)scenario->stretch;
    double cache_seconds = scenario_cache_seconds(machine);
    json_t *facts =
        json_pack("{s:s,s:f,s:I,s:I,s:f,s:I,s:I,s:I}", "microarchitecture",
                  machine->microarchitecture, "base_frequency_hz", machine->base_hz, "cache_cycles",
                  (json_int_t)scenario_cache_cycles(machine), "llc_hit_cycles",
                  (json_int_t)scenario_hit_cycles(machine), "cas_latency_seconds",
                  (double)machine->dram.timing.cl / machine->dram.clock_hz, "sockets",
                  (json_int_t)machine->sockets, "numa_nodes", (json_int_t)machine->sockets, "cpus",
                  (json_int_t)(machine->sockets * machine->cores_per_socket));

    if (facts && cache_seconds > 0)
        json_object_set_new(facts, "cache_seconds", json_real(cache_seconds));
    if (facts && machine->pmm.dimms > 0)
        json_object_set_new(facts, "pmem_dimms",
                            json_integer(machine->pmm.dimms * machine->sockets));
    if (facts && machine->mabs) {
        json_object_set_new(facts, "l2_fill_cycles",
                            json_integer(scenario_l2_fill_cycles(machine)));
        json_object_set_new(facts, "l3_fill_cycles",
                            json_integer(scenario_l3_fill_cycles(machine)));
    }
    put(recorder, json_pack("{s:i,s:o,s:I}", "recording", 1, "machine", facts, "interval_ns",
                            (json_int_t)(tick_seconds * 1e9 + 0.5)));
    for (size_t i = 0; i < simnode_units(recorder->node); i++) {
        char key[32];

        snprintf(key, sizeof(key), "imc%zu", i);
        put(recorder,
            json_pack("{s:{s:s,s:s,s:I,s:I}}", "unit", "key", key, "kind", "imc", "socket",
                      (json_int_t)i / machine->channels, "imc", (json_int_t)i % machine->channels));
    }
}

static void pod_uid(size_t index, char out[40])
{
    uint64_t a = mix64(index + 1), b = mix64(index + 0x10001);

    snprintf(out, 40, "%08x-%04x-%04x-%04x-%08x%04x", (unsigned)(a >> 32),
             (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xffff, (unsigned)(b >> 48),
             (unsigned)(b >> 16), (unsigned)b & 0xffff);
}

void record_cgroup(const struct scenario *scenario, size_t container, char *out, size_t size)
{
    char uid[40];

    pod_uid(container, uid);
    snprintf(out, size, "/kubepods/burstable/pod%s/%.64s", uid, scenario->containers[container].id);
}

static void put_container(struct recorder *recorder, size_t index)
{
    const struct container_spec *spec = &recorder->scenario->containers[index];
    char uid[40], cgroup[160];

    if (spec->probe) {
        put(recorder,
            json_pack("{s:{s:s,s:s,s:I,s:I}}", "thread", "key", spec->key, "kind", "probe",
                      "initiator_numa_node",
                      (json_int_t)(spec->cpus[0] / recorder->scenario->machine.cores_per_socket),
                      "target_numa_node", (json_int_t)spec->memory[0].node));
        return;
    }
    pod_uid(index, uid);
    record_cgroup(recorder->scenario, index, cgroup, sizeof(cgroup));
    put(recorder,
        json_pack("{s:{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}}", "container", "key", spec->key, "cgroup",
                  cgroup, "id", spec->id, "namespace", spec->namespace_, "pod", spec->pod,
                  "container", spec->container, "image", "simnode", "pod_uid", uid));
}

/* Times and totals are those of 'stretch' ticks alike for each one simulated. */
static json_int_t stretched(const struct recorder *recorder, uint64_t total)
{
    return (json_int_t)total * recorder->scenario->stretch;
}

static void put_read(struct recorder *recorder, const char *key, enum group group,
                     const struct simnode_reading *reading)
{
    const struct group_desc *desc = &group_descs[group];
    json_int_t enabled_ns = stretched(recorder, reading->enabled_ns);
    json_t *values = json_object();

    for (size_t i = 0; i < desc->n; i++) {
        json_int_t value = desc->roles[i] == ROLE_EPOCH_LENGTH
                               ? (json_int_t)reading->values[i]
                               : stretched(recorder, reading->values[i]);

        if (reading->present & 1U << i)
            json_object_set_new(values, role_name(desc->roles[i]), json_integer(value));
    }
    put(recorder, json_pack("{s:s,s:s,s:I,s:I,s:o}", "read", key, "group", desc->name, "enabled_ns",
                            enabled_ns, "running_ns", enabled_ns, "values", values));
}

static void put_container_reads(struct recorder *recorder, size_t index)
{
    static const enum group groups[] = {GROUP_CORE,   GROUP_STALLS,     GROUP_LOADS,
                                        GROUP_STORES, GROUP_ASM_EPOCHS, GROUP_TRAFFIC};
    const struct container_spec *spec = &recorder->scenario->containers[index];
    size_t n = sizeof(groups) / sizeof(groups[0]) - !recorder->caused;
    struct simnode_reading reading;

    if (recorder->scenario->machine.mabs) {
        if (simnode_read_container(recorder->node, index, GROUP_FILLS, &reading) == 0)
            put_read(recorder, spec->key, GROUP_FILLS, &reading);
        return;
    }
    /* Of the probe's own thread the exporter reads one group only. */
    for (size_t i = 0; i < (spec->probe ? 1 : n); i++)
        if (simnode_read_container(recorder->node, index, groups[i], &reading) == 0)
            put_read(recorder, spec->key, groups[i], &reading);
}

/* As often as the exporter reads them. */
enum { MONITORING_TICKS = 5 };

static void put_monitored(struct recorder *recorder, const char *key, int64_t cpu,
                          const struct simnode_monitored *monitored)
{
    json_int_t now_ns = stretched(recorder, simnode_now_ns(recorder->node));

    put(recorder,
        json_pack("{s:s,s:s,s:I,s:I,s:I,s:{s:I,s:I,s:I}}", "read", key, "group", "bandwidth", "cpu",
                  (json_int_t)cpu, "enabled_ns", now_ns, "running_ns", now_ns, "values",
                  "mbm_total_bytes", stretched(recorder, monitored->total_bytes), "mbm_local_bytes",
                  stretched(recorder, monitored->local_bytes), "llc_occupancy_bytes",
                  (json_int_t)monitored->occupancy_bytes));
}

/* Of all containers, and of each socket what those who run there move. */
static void put_groups(struct recorder *recorder)
{
    const struct scenario *scenario = recorder->scenario;
    struct simnode_monitored sockets[SIMNODE_NODES] = {{0}}, one;
    int64_t cores = scenario->machine.cores_per_socket;

    for (size_t i = 0; i < scenario->n_containers; i++) {
        const struct container_spec *spec = &scenario->containers[i];
        int64_t socket = spec->cpus[0] / cores;

        simnode_monitored(recorder->node, i, &one);
        sockets[socket].total_bytes += one.total_bytes;
        sockets[socket].local_bytes += one.local_bytes;
        sockets[socket].occupancy_bytes += one.occupancy_bytes;
        if (!spec->probe && simnode_container_runs(recorder->node, i))
            put_monitored(recorder, spec->key, socket * cores, &one);
    }
    for (int64_t s = 0; s < scenario->machine.sockets; s++)
        put_monitored(recorder, "host", s * cores, &sockets[s]);
}

static void put_unit_reads(struct recorder *recorder)
{
    struct simnode_reading reading;
    char key[32];

    for (size_t i = 0; i < simnode_units(recorder->node); i++) {
        snprintf(key, sizeof(key), "imc%zu", i);
        for (int group = GROUP_RPQ; group <= GROUP_PMM_RPQ; group++)
            if (simnode_read_unit(recorder->node, i, (enum group)group, &reading) == 0)
                put_read(recorder, key, (enum group)group, &reading);
    }
}

static void put_samples(struct recorder *recorder)
{
    size_t n;
    const struct simnode_sample *samples = simnode_samples(recorder->node, &n);

    for (size_t i = 0; i < n; i++) {
        const struct container_spec *spec = &recorder->scenario->containers[samples[i].container];

        put(recorder, json_pack("{s:s,s:s,s:i,s:i,s:I,s:I,s:I,s:s,s:I}", "sample", spec->key,
                                "access", "store", "pid", (int)(1000 + samples[i].container * 100),
                                "tid", samples[i].tid, "ip", (json_int_t)samples[i].ip, "addr",
                                (json_int_t)samples[i].addr, "bytes", (json_int_t)samples[i].bytes,
                                "medium", samples[i].pmm ? "nvmm" : "other", "period",
                                stretched(recorder, (uint64_t)spec->sample_period)));
    }
}

static void put_probe(struct recorder *recorder, size_t index, double latency_ns)
{
    const struct scenario *scenario = recorder->scenario;
    const struct container_spec *spec = &scenario->containers[index];

    put(recorder,
        json_pack("{s:{s:I,s:I,s:f}}", "probe", "initiator_numa_node",
                  (json_int_t)(spec->cpus[0] / scenario->machine.cores_per_socket),
                  "target_numa_node", (json_int_t)spec->memory[0].node, "latency_ns", latency_ns));
}

/* What each of those who run causes of its latency, beside them as they are in this tick. */
static json_t *caused_by(const struct recorder *recorder, size_t index)
{
    const struct scenario *scenario = recorder->scenario;
    int64_t tick = (int64_t)simnode_ticks(recorder->node);
    double ns[SCENARIO_MAX_CAUSED];
    uint32_t there = 0;

    for (size_t i = 0; i < scenario->n_containers; i++)
        if (simnode_container_runs(recorder->node, i) &&
            !container_pause(&scenario->containers[i], tick))
            there |= 1U << i;
    if (!(there & 1U << index) || !caused_ns(recorder->caused, index, there, ns))
        return NULL;
    json_t *object = json_object();
    for (size_t i = 0; i < scenario->n_containers; i++)
        if (i != index && there & 1U << i)
            json_object_set_new(object, scenario->containers[i].key, json_real(ns[i]));
    return object;
}

static void put_truth(struct recorder *recorder, size_t index)
{
    const struct scenario *scenario = recorder->scenario;
    const struct container_spec *spec = &scenario->containers[index];
    struct simnode_truth *before = &recorder->before[index], now;
    json_t *truth =
        json_pack("{s:s,s:I}", "key", spec->key, "tick", (json_int_t)simnode_ticks(recorder->node));

    simnode_truth(recorder->node, index, &now);
    if (now.reads > before->reads) {
        double latency_ns =
            (now.latency_ns_sum - before->latency_ns_sum) / (double)(now.reads - before->reads);

        json_object_set_new(truth, "latency_ns", json_real(latency_ns));
        if (spec->probe)
            put_probe(recorder, index, latency_ns);
    }
    if (scenario->truth_slowdown && now.instructions > before->instructions) {
        double start, end;
        int err = alone_cycles(recorder->runs, scenario, index, before->instructions, &start);

        if (!err)
            err = alone_cycles(recorder->runs, scenario, index, now.instructions, &end);
        if (err)
            recorder->err = err;
        else
            json_object_set_new(truth, "slowdown",
                                json_real((double)scenario->tick_cycles / (end - start)));
    }
    if (recorder->caused) {
        json_t *caused = caused_by(recorder, index);

        if (caused)
            json_object_set_new(truth, "caused_ns", caused);
    }
    json_object_set_new(
        truth, "nvmm_store_bytes",
        json_integer(stretched(recorder, now.store_bytes[1] - before->store_bytes[1])));
    json_object_set_new(
        truth, "dram_store_bytes",
        json_integer(stretched(recorder, now.store_bytes[0] - before->store_bytes[0])));
    put(recorder, json_pack("{s:o}", "truth", truth));
    *before = now;
}

static void put_tick_line(struct recorder *recorder, uint64_t tick, uint64_t end_ns)
{
    json_int_t now_ns = stretched(recorder, end_ns);

    put(recorder, json_pack("{s:I,s:I,s:I}", "tick", (json_int_t)tick, "mono_ns", now_ns, "wall_ns",
                            (json_int_t)WALL_START_NS + now_ns));
}

static void put_counts(struct recorder *recorder)
{
    const struct scenario *scenario = recorder->scenario;

    for (size_t i = 0; i < scenario->n_containers; i++) {
        bool runs = simnode_container_runs(recorder->node, i);

        if (runs && !recorder->present[i])
            put_container(recorder, i);
        if (runs)
            put_container_reads(recorder, i);
        else if (recorder->present[i])
            put(recorder, json_pack("{s:s}", "gone", scenario->containers[i].key));
        recorder->present[i] = runs;
    }
    put_unit_reads(recorder);
    if (scenario->monitoring_groups && simnode_ticks(recorder->node) % MONITORING_TICKS == 0)
        put_groups(recorder);
    put_samples(recorder);
    for (size_t i = 0; i < scenario->n_containers; i++)
        if (recorder->present[i])
            put_truth(recorder, i);
}

static int begin(struct recorder *recorder)
{
    const struct scenario *scenario = recorder->scenario;

    recorder->before = calloc(scenario->n_containers, sizeof(*recorder->before));
    recorder->present = calloc(scenario->n_containers, sizeof(*recorder->present));
    if (!recorder->before || !recorder->present)
        return -ENOMEM;
    int err = scenario->truth_caused ? caused_new(scenario, &recorder->caused) : 0;
    if (!err)
        err = simnode_new(scenario, &recorder->node);
    if (err)
        return err;
    put_header(recorder);
    for (size_t i = 0; i < scenario->n_containers; i++) {
        recorder->present[i] = scenario->containers[i].start_tick <= 1;
        if (recorder->present[i])
            put_container(recorder, i);
    }
    return recorder->err;
}

static void release(struct recorder *recorder)
{
    simnode_free(recorder->node);
    caused_free(recorder->caused);
    free(recorder->before);
    free(recorder->present);
}

int record_run(const struct scenario *scenario, struct alone_runs *runs, FILE *out)
{
    struct recorder recorder = {.scenario = scenario, .runs = runs, .out = out};
    int err = begin(&recorder);

    for (int64_t tick = 0; !err && tick < scenario->ticks; tick++) {
        err = simnode_run_tick(recorder.node);
        if (err)
            break;
        put_tick_line(&recorder, simnode_ticks(recorder.node), simnode_now_ns(recorder.node));
        put_counts(&recorder);
        err = recorder.err;
    }
    release(&recorder);
    return err;
}

/* As simnode_now_ns() will be at its end. */
static uint64_t tick_end_ns(const struct scenario *scenario, int64_t tick)
{
    uint64_t tick_fs = (uint64_t)scenario->tick_cycles * period_of_hz(scenario->machine.core_hz);

    return (uint64_t)tick * tick_fs / FS_PER_NS;
}

static int begin_next(struct recorder *recorder, int64_t tick)
{
    put_tick_line(recorder, (uint64_t)tick, tick_end_ns(recorder->scenario, tick));
    if (!recorder->err && fflush(recorder->out) != 0)
        recorder->err = -errno;
    return recorder->err;
}

int record_follow(const struct scenario *scenario, const struct record_follower *follower,
                  FILE *out)
{
    struct recorder recorder = {.scenario = scenario, .out = out};
    int err = scenario->truth_slowdown ? -EINVAL : begin(&recorder);

    if (!err)
        err = begin_next(&recorder, 1);
    for (int64_t tick = 1; !err && tick <= scenario->ticks; tick++) {
        err = follower->begin(follower->context, recorder.node, tick);
        if (!err)
            err = simnode_run_tick(recorder.node);
        if (err)
            break;
        put_counts(&recorder);
        err = begin_next(&recorder, tick + 1);
    }
    release(&recorder);
    return err;
}
