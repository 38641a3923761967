#include "tests/unit/support/imc_machine.h"

#include "collectors/events/events.h"
#include "collectors/table.h"
#include "exporter/daemon/sources.h"
#include "exporter/source/perf/detect.h"
#include "tests/unit/support/unit.h"

/* ---- the machines ---- */

#define DRAM_ONE_CHANNEL                                                                           \
    {0x00, 0x00, IMC_CLOCK, 0}, {0x10, 0x00, IMC_INSERTS, 0},                                      \
    {                                                                                              \
        0x80, 0x00, IMC_OCCUPANCY, 0                                                               \
    }
#define DRAM_TWO_CHANNELS                                                                          \
    {0x10, 0x01, IMC_INSERTS, 0}, {0x10, 0x02, IMC_INSERTS, 1}, {0x80, 0x00, IMC_OCCUPANCY, 0},    \
    {                                                                                              \
        0x81, 0x00, IMC_OCCUPANCY, 1                                                               \
    }
#define PMM_BY_SUBCHANNEL                                                                          \
    {0xe3, 0x00, IMC_PMM_INSERTS, 0}, {0xe0, 0x01, IMC_PMM_OCCUPANCY, 1},                          \
    {                                                                                              \
        0xe0, 0x02, IMC_PMM_OCCUPANCY, 2                                                           \
    }
#define PMM_ALL                                                                                    \
    {0xe3, 0x00, IMC_PMM_INSERTS, 0},                                                              \
    {                                                                                              \
        0xe0, 0x01, IMC_PMM_OCCUPANCY, 3                                                           \
    }

#define CAS(event, reads, writes)                                                                  \
    {event, reads, IMC_CAS_READS, 0},                                                              \
    {                                                                                              \
        event, writes, IMC_CAS_WRITES, 0                                                           \
    }

const struct imc_machine imc_skx = {.name = "skx",
                                    .model = 85,
                                    .stepping = 4,
                                    .boxes = 6,
                                    .channels = 1,
                                    {DRAM_ONE_CHANNEL, CAS(0x04, 0x03, 0x0c)}};
const struct imc_machine imc_clx = {.name = "clx",
                                    .model = 85,
                                    .stepping = 7,
                                    .boxes = 6,
                                    .channels = 1,
                                    {DRAM_ONE_CHANNEL, PMM_ALL, CAS(0x04, 0x03, 0x0c)}};
const struct imc_machine imc_icx = {
    .name = "icx",
    .model = 106,
    .stepping = 6,
    .boxes = 12,
    .channels = 1,
    {{0x00, 0x00, IMC_CLOCK, 0}, DRAM_TWO_CHANNELS, PMM_ALL, CAS(0x04, 0x0f, 0x30)},
};
const struct imc_machine imc_spr = {
    .name = "spr",
    .model = 143,
    .stepping = 8,
    .boxes = 8,
    .channels = 1,
    {{0x01, 0x01, IMC_CLOCK, 0}, DRAM_TWO_CHANNELS, PMM_BY_SUBCHANNEL, CAS(0x05, 0xcf, 0xf0)},
};
const struct imc_machine imc_emr = {
    .name = "emr",
    .model = 207,
    .stepping = 2,
    .boxes = 8,
    .channels = 1,
    {{0x01, 0x01, IMC_CLOCK, 0}, DRAM_TWO_CHANNELS, PMM_BY_SUBCHANNEL, CAS(0x05, 0xcf, 0xf0)},
};
const struct imc_machine imc_gnr = {
    .name = "gnr",
    .model = 173,
    .stepping = 1,
    .boxes = 12,
    .channels = 2,
    {{0x01, 0x01, IMC_CLOCK, 0},
     {0x10, 0x10, IMC_INSERTS, 0},
     {0x10, 0x20, IMC_INSERTS, 1},
     {0x10, 0x40, IMC_INSERTS, 2},
     {0x10, 0x80, IMC_INSERTS, 3},
     {0x80, 0x00, IMC_OCCUPANCY, 0},
     {0x81, 0x00, IMC_OCCUPANCY, 1},
     {0x82, 0x00, IMC_OCCUPANCY, 2},
     {0x83, 0x00, IMC_OCCUPANCY, 3},
     CAS(0x05, 0xcf, 0xf0),
     CAS(0x06, 0xcf, 0xf0)},
};

const struct imc_machine *const imc_machines[6] = {&imc_skx, &imc_clx, &imc_icx,
                                                   &imc_spr, &imc_emr, &imc_gnr};

/* Bits of an inserts' unit mask choose pseudo-channels, which add up. */
static bool counts(const struct imc_machine *machine, int i, uint64_t config)
{
    uint64_t umask = machine->event[i].umask;
    if (machine->event[i].what == IMC_INSERTS && umask)
        return (config & 0xff) == machine->event[i].event && (config >> 8 & umask);
    return config == (machine->event[i].event | umask << 8);
}

static uint64_t rate(const void *context, const struct perf_event_attr *attr, int cpu)
{
    const struct imc_machine *machine = context;
    uint64_t socket = (uint64_t)cpu / 2, box = attr->type - FAKE_PMU_UNCORE_TYPE;
    uint64_t sum = 0;
    for (int i = 0; i < IMC_EVENTS && machine->event[i].what; i++) {
        if (!counts(machine, i, attr->config))
            continue;
        uint64_t channel = (uint64_t)machine->event[i].channel, inserts = 10 * (1 + channel);
        switch (machine->event[i].what) {
        case IMC_CLOCK:
            return 1500;
        case IMC_INSERTS:
            sum += inserts;
            break;
        case IMC_OCCUPANCY:
            return inserts * (30 + 30 * socket + 6 * box + 12 * channel);
        case IMC_PMM_INSERTS:
            return 4;
        case IMC_PMM_OCCUPANCY:
            return (600 + 200 * socket) * channel;
        case IMC_CAS_READS:
            return 20 + 5 * socket;
        case IMC_CAS_WRITES:
            return 10;
        }
    }
    return sum; /* an event that these boxes do not have counts nothing */
}

/* ---- sysfs ---- */

static void add_pmu(struct fixture *tree, const char *name, int type)
{
    static const char *const formats[][2] = {{"event", "config:0-7\n"},
                                             {"umask", "config:8-15\n"},
                                             {"edge", "config:18\n"},
                                             {"inv", "config:23\n"},
                                             {"thresh", "config:24-31\n"}};
    char path[160];
    snprintf(path, sizeof path, "sys/bus/event_source/devices/%s/type", name);
    fixture_write(tree, path, "%d\n", type);
    snprintf(path, sizeof path, "sys/bus/event_source/devices/%s/cpumask", name);
    fixture_write(tree, path, "0,2\n");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        snprintf(path, sizeof path, "sys/bus/event_source/devices/%s/format/%s", name,
                 formats[i][0]);
        fixture_write(tree, path, "%s", formats[i][1]);
    }
}

/* The controllers, and what stands beside them. */
static void add_pmus(const struct imc_machine *machine, struct fixture *tree)
{
    static const char *const others[] = {"uncore_cha_0",
                                         "uncore_iio_0",
                                         "uncore_imc",
                                         "uncore_imc_free_running_0",
                                         "uncore_imc_free_running_1",
                                         "uncore_imc_free_running",
                                         "uncore_imcx_0",
                                         "uncore_m2m_0",
                                         "uncore_upi_0"};
    char name[32];
    for (int i = 0; i < machine->boxes; i++) {
        snprintf(name, sizeof name, "uncore_imc_%d", i);
        add_pmu(tree, name, FAKE_PMU_UNCORE_TYPE + i);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add_pmu(tree, others[i], FAKE_PMU_UNCORE_TYPE + 40 + (int)i);
}

void imc_machine_install(const struct imc_machine *machine, struct perf_fixture *fixture)
{
    struct fixture *tree = &fixture->tree;
    struct cpu_identity cpu;
    for (int i = 0; i < 4; i++) {
        char path[96];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", i);
        fixture_write(tree, path, "%d\n", i / 2);
        fixture->pmu.online[i] = true;
    }
    fixture_write(tree, "sys/devices/system/cpu/online", "0-3\n");
    fixture_write(tree, "proc/cpuinfo",
                  "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: %d\n"
                  "stepping\t: %d\n\n",
                  machine->model, machine->stepping);
    add_pmus(machine, tree);
    assert_int_equal(cpu_identify(&tree->fs, &cpu), 0);
    fixture->config.table = event_table_for_cpu(cpu.family, cpu.model, cpu.stepping, cpu.vendor);
    fixture->pmu.uncore_rate = rate;
    fixture->pmu.uncore_context = machine;
}

/* ---- both collectors ---- */

static bool both_probe(const struct collector_env *env, struct verdict *why)
{
    return imc_rpq_collector.probe(env, why);
}

static int both_start(const struct collector_env *env, struct collector_status *status, void **self)
{
    struct imc_both *both = calloc(1, sizeof *both);
    assert_non_null(both);
    both->imc_status = status;
    assert_int_equal(imc_rpq_collector.start(env, status, &both->imc), 0);
    if (pmm_rpq_collector.probe(env, &both->pmm_status.verdict))
        assert_int_equal(pmm_rpq_collector.start(env, &both->pmm_status, &both->pmm), 0);
    *self = both;
    return 0;
}

static int both_collect(void *self, const struct tick *tick)
{
    struct imc_both *both = self;
    int err = imc_rpq_collector.collect(both->imc, tick);
    int other = both->pmm ? pmm_rpq_collector.collect(both->pmm, tick) : 0;
    return err ? err : other;
}

static void both_stop(void *self)
{
    struct imc_both *both = self;
    if (!both)
        return;
    imc_rpq_collector.stop(both->imc);
    pmm_rpq_collector.stop(both->pmm);
    free(both);
}

static const struct collector_ops both_collectors = {
    .name = "both",
    .probe = both_probe,
    .start = both_start,
    .collect = both_collect,
    .stop = both_stop,
};

static void route(struct imc_rig *rig, struct source *source)
{
    assert_int_equal(source_set_route(rig->rig.sources, SCOPE_UNIT, GROUP_RPQ, source), 0);
    assert_int_equal(source_set_route(rig->rig.sources, SCOPE_UNIT, GROUP_PMM_RPQ, source), 0);
    assert_int_equal(source_set_route(rig->rig.sources, SCOPE_UNIT, GROUP_CAS, source), 0);
}

static struct imc_rig *rig_new(void)
{
    struct imc_rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    rig_init(&rig->rig, &both_collectors);
    rig_flags_of(&rig->rig, &imc_rpq_collector);
    return rig;
}

struct imc_rig *imc_rig_live(struct perf_fixture *fixture, struct recorder *recorder)
{
    struct imc_rig *rig = rig_new();
    rig->fixture = fixture;
    perf_fixture_start(fixture);
    struct source *source = fixture->source;
    fixture->source = NULL; /* the set's from here on */
    if (recorder)
        assert_int_equal(recorder_wrap(recorder, source, &source), 0);
    route(rig, source);
    assert_int_equal(
        units_add(&rig->rig.inventory, &fixture->tree.fs, fixture->config.table, recorder), 0);
    return rig;
}

struct imc_rig *imc_rig_replay(struct replay *replay)
{
    struct imc_rig *rig = rig_new();
    struct source *source;
    size_t n;
    const struct source_unit *units = replay_units(replay, &n);
    assert_int_equal(replay_source_new(replay, &source), 0);
    route(rig, source);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(inventory_add_unit(&rig->rig.inventory, &units[i]), 0);
    rig->rig.facts.machine = *replay_machine(replay);
    return rig;
}

void imc_rig_start(struct imc_rig *rig)
{
    rig_start(&rig->rig);
}

struct imc_both *imc_rig_both(const struct imc_rig *rig)
{
    return rig->rig.collector;
}

void imc_rig_free(struct imc_rig *rig)
{
    rig_release(&rig->rig);
    free(rig);
}

int imc_rig_second(struct imc_rig *rig)
{
    fake_pmu_run(&rig->fixture->pmu, 0, 0, 0, 1000000000);
    fake_pmu_run(&rig->fixture->pmu, 0, 0, 2, 1000000000);
    return rig_tick(&rig->rig);
}
