#include "tests/unit/support/epyc_machine.h"

#include <unistd.h>

#include "collectors/events/events.h"
#include "exporter/source/perf/detect.h"
#include "tests/unit/support/unit.h"

const struct epyc_machine epyc_rome = {"zen2", 0x17, 0x31, 16384, false};
const struct epyc_machine epyc_milan = {"zen3", 0x19, 0x01, 32768, false};
const struct epyc_machine epyc_genoa = {"zen4", 0x19, 0x11, 32768, true};
const struct epyc_machine epyc_siena = {"zen4", 0x19, 0xa0, 16384, true};
const struct epyc_machine epyc_turin = {"zen5", 0x1a, 0x02, 32768, true};

/* ---- what the L3s count ---- */

static const uint64_t all_of_it = UINT64_C(0x0303c00000000000);

static uint64_t sampled_rate(const struct perf_event_attr *attr, uint64_t cpu)
{
    const uint64_t reads[] = {10, 4, 2, 3, 1, 1};
    const uint64_t wait[] = {10 * (12 + cpu), 80, 60, 60, 30, 30};
    uint64_t event = attr->config & 0xff, mask = attr->config >> 8 & 0xff, sum = 0;
    /* Without the fields it counts one slice, or nothing. */
    if ((attr->config & ~UINT64_C(0xffff)) != all_of_it || (event != 0xac && event != 0xad))
        return 0;
    for (int i = 0; i < 6; i++)
        sum += mask >> i & 1 ? (event == 0xac ? wait : reads)[i] : 0;
    return sum;
}

static uint64_t rate(const void *context, const struct perf_event_attr *attr, int cpu)
{
    const struct epyc_machine *machine = context;
    uint64_t mask = attr->config >> 8 & 0xff;
    if (attr->type != EPYC_L3_TYPE) /* a controller's reads, and its writes */
        return attr->config == 0x10a ? 30 : attr->config == 0x20a ? 10 : 0;
    if (machine->sampled)
        return sampled_rate(attr, (uint64_t)cpu);
    /* Zen 2 knows six kinds of requests; on Zen 3 nothing is counted without all eight. */
    if (attr->config == 0x90)
        return 16 * (10 + (uint64_t)cpu);
    bool engaged = machine->family == 0x17 ? mask == 0x3f : mask == 0xff;
    return (attr->config & 0xff) == 0x9a && attr->config >> 16 == 0 && engaged ? 16 : 0;
}

static uint64_t core_rate(const void *context, const struct perf_event_attr *attr, int cpu)
{
    static const struct {
        uint32_t type;
        uint64_t config, rate;
    } events[] = {
        {PERF_TYPE_RAW, 0x76, 2400},
        {PERF_TYPE_RAW, 0xc0, 1200},
        {PERF_TYPE_RAW, 0x5f, 1056},
        {PERF_TYPE_RAW, 0x0144, 8},
        {PERF_TYPE_RAW, 0x0244, 4},
        {PERF_TYPE_RAW, 0x5c44, 2},
        {PERF_TYPE_RAW, 0xdc44, 2},
        {PERF_TYPE_RAW, 0x0844, 1},
        {PERF_TYPE_RAW, 0x1444, 1},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 2400},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1200},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 2800},
        {EPYC_MSR_TYPE, 0, 2800},
        {EPYC_MSR_TYPE, 1, 2400},
        {EPYC_MSR_TYPE, 2, 2800},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i].type == attr->type && events[i].config == attr->config)
            return events[i].rate;
    return 0;
}

/* ---- sysfs ---- */

static void write_pmu(struct fixture *tree, const char *name, const char *const (*files)[2],
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char path[160];
        snprintf(path, sizeof path, "sys/bus/event_source/devices/%s/%s", name, files[i][0]);
        fixture_write(tree, path, "%s\n", files[i][1]);
    }
}

static void write_pmus(const struct epyc_machine *machine, unsigned pmus, struct fixture *tree)
{
    static const char *const l3[][2] = {
        {"type", "14"},
        {"cpumask", "0,2,4,6"},
        {"format/event", "config:0-7"},
        {"format/umask", "config:8-15"},
        {"format/coreid", "config:42-44"},
        {"format/enallslices", "config:46"},
        {"format/enallcores", "config:47"},
        {"format/sliceid", "config:48-50"},
        {"format/threadmask", "config:56-57"},
    };
    static const char *const old[][2] = {{"type", "14"},
                                         {"cpumask", "0,2,4,6"},
                                         {"format/event", "config:0-7"},
                                         {"format/umask", "config:8-15"},
                                         {"format/slicemask", "config:48-51"},
                                         {"format/threadmask", "config:56-63"}};
    static const char *const msr[][2] = {{"type", "11"},
                                         {"format/event", "config:0-63"},
                                         {"events/tsc", "event=0x00"},
                                         {"events/aperf", "event=0x01"},
                                         {"events/mperf", "event=0x02"}};
    static const char *const core[][2] = {{"type", "4"}};
    static const char *const software[][2] = {{"type", "1"}};
    static const char *const umc[][2] = {{"type", "15"},
                                         {"cpumask", "0,4"},
                                         {"format/event", "config:0-7"},
                                         {"format/rdwrmask", "config:8-9"}};
    if (pmus & EPYC_L3 && machine->family == 0x17)
        write_pmu(tree, "amd_l3", old, sizeof old / sizeof *old);
    else if (pmus & EPYC_L3)
        write_pmu(tree, "amd_l3", l3, sizeof l3 / sizeof *l3);
    if (pmus & EPYC_MSR)
        write_pmu(tree, "msr", msr, sizeof msr / sizeof *msr);
    if (pmus & EPYC_CORE) {
        write_pmu(tree, "cpu", core, 1);
    } else {
        char path[160];
        snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/cpu/type", tree->root);
        unlink(path); /* the fixture's own */
    }
    if (pmus & EPYC_UMC)
        write_pmu(tree, "amd_umc_0", umc, sizeof umc / sizeof *umc);
    write_pmu(tree, "software", software, 1);
}

static void write_cpus(const struct epyc_machine *machine, struct fixture *tree)
{
    static const int l3[EPYC_L3S] = {0, 1, 8, 9};
    for (int i = 0; i < EPYC_CPUS; i++) {
        char path[96];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", i);
        fixture_write(tree, path, "%d\n", i / 4);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cache/index3/id", i);
        fixture_write(tree, path, "%d\n", l3[i / 2]);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cache/index3/size", i);
        fixture_write(tree, path, "%dK\n", machine->l3_kib);
    }
    fixture_write(tree, "sys/devices/system/cpu/online", "0-7\n");
    fixture_write(tree, "proc/cpuinfo",
                  "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: %d\nmodel\t\t: %d\n"
                  "stepping\t: 1\n\n",
                  machine->family, machine->model);
}

void epyc_machine_install(const struct epyc_machine *machine, unsigned pmus,
                          struct perf_fixture *fixture)
{
    struct cpu_identity cpu;
    write_cpus(machine, &fixture->tree);
    write_pmus(machine, pmus, &fixture->tree);
    for (int i = 0; i < EPYC_CPUS; i++)
        fixture->pmu.online[i] = true;
    fixture->pmu.general = 6;
    fixture->pmu.no_fixed = true;
    fixture->pmu.box = 6;
    fixture->pmu.uncore_rate = rate;
    fixture->pmu.uncore_context = machine;
    fixture->pmu.core_rate = core_rate;
    assert_int_equal(cpu_identify(&fixture->tree.fs, &cpu), 0);
    fixture->config.table = event_table_for_cpu(cpu.family, cpu.model, cpu.stepping, cpu.vendor);
}
