/*
 * Memory controllers, refusals in words, and what the machine says about itself.
 */
#include <unistd.h>

#include "collectors/events/events.h"
#include "exporter/source/perf/detect.h"
#include "exporter/source/perf/explain.h"
#include "exporter/source/perf/unit.h"
#include "tests/unit/support/perf_fixture.h"
#include "tests/unit/support/unit.h"

static const char devices[] = "sys/bus/event_source/devices";

/* Two sockets with CPUs 0 and 1, one CPU of each in the cpumask of every controller. */
static void add_imcs(struct perf_fixture *fixture, int n)
{
    char path[160];
    for (int socket = 0; socket < 2; socket++) {
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id",
                 socket);
        fixture_write(&fixture->tree, path, "%d\n", socket);
    }
    for (int i = 0; i < n; i++) {
        const char *const files[][2] = {{"type", "14\n"},
                                        {"cpumask", "0-1\n"},
                                        {"format/event", "config:0-7\n"},
                                        {"format/umask", "config:8-15\n"}};
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            snprintf(path, sizeof path, "%s/uncore_imc_%d/%s", devices, i, files[f][0]);
            fixture_write(&fixture->tree, path, "%s", files[f][1]);
        }
    }
    snprintf(path, sizeof path, "%s/uncore_imc_free_running_0/cpumask", devices);
    fixture_write(&fixture->tree, path, "0-1\n");
}

PERF_TEST(test_units)
{
    struct source_unit units[32];
    size_t n = 99;
    assert_int_equal(perf_units(&fixture->tree.fs, units, 32, &n), 0);
    assert_int_equal(n, 0);
    add_imcs(fixture, 12);
    assert_int_equal(perf_units(&fixture->tree.fs, units, 32, &n), 0);
    assert_int_equal(n, 24);
    assert_string_equal(units[0].key, "socket0.imc0");
    assert_string_equal(units[23].key, "socket1.imc11");
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(units[i].kind, "imc");
        assert_int_equal(units[i].imc, i / 2); /* by number, not by spelling */
        assert_int_equal(units[i].socket, i % 2);
    }
    memset(units, 0x5a, sizeof units);
    assert_int_equal(perf_units(&fixture->tree.fs, units, 3, &n), 0);
    assert_int_equal(n, 24);
    assert_int_equal(units[3].socket, 0x5a5a5a5a);
}

/* The configs of what is open on a CPU, in order; returns how many. */
static size_t open_configs(const struct perf_fixture *fixture, int cpu, uint64_t *out)
{
    size_t n = 0;
    for (int i = 0; i < FAKE_PMU_EVENTS; i++) {
        const struct fake_event *event = &fixture->pmu.events[i];
        if (!event->used || event->cpu != cpu)
            continue;
        assert_int_equal(event->attr.type, FAKE_PMU_UNCORE_TYPE);
        assert_int_equal(event->pid, -1);
        out[n++] = event->attr.config;
    }
    return n;
}

/* Cascade Lake-AP: two dies per socket, each with controllers of the same numbers. */
PERF_TEST(test_dies)
{
    struct source_unit units[8];
    struct verdict why;
    size_t n;
    char path[160];
    add_imcs(fixture, 1);
    snprintf(path, sizeof path, "%s/uncore_imc_0/cpumask", devices);
    fixture_write(&fixture->tree, path, "0-3\n");
    for (int cpu = 0; cpu < 4; cpu++) {
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id",
                 cpu);
        fixture_write(&fixture->tree, path, "%d\n", cpu / 2);
        fixture->pmu.online[cpu] = true;
    }
    fixture_write(&fixture->tree, "sys/devices/system/cpu/online", "0-3\n");
    perf_fixture_start(fixture);
    assert_int_equal(perf_units(&fixture->tree.fs, units, 8, &n), 0);
    assert_int_equal(n, 4);
    static const char *const keys[] = {"socket0.imc0", "socket0.die1.imc0", "socket1.imc0",
                                       "socket1.die1.imc0"};
    for (int i = 0; i < 4; i++) {
        uint64_t handle, configs[16];
        struct scope scope = {
            .kind = SCOPE_UNIT, .key = units[i].key, .cgroup_fd = -1, .unit = &units[i]};
        assert_string_equal(units[i].key, keys[i]);
        assert_int_equal(units[i].socket, i / 2);
        assert_int_equal(open_configs(fixture, i, configs), 0);
        assert_int_equal(
            fixture->source->ops->open(fixture->source, &scope, GROUP_RPQ, &handle, &why), 0);
        assert_int_equal(open_configs(fixture, i, configs), 3);
    }
}

static int open_unit(struct perf_fixture *fixture, enum group group, int socket, int channel,
                     uint64_t *handle, struct verdict *why)
{
    struct source_unit unit = {.key = "u", .kind = "imc", .socket = socket, .imc = 1};
    struct scope scope = {
        .kind = SCOPE_UNIT, .key = "u", .cgroup_fd = -1, .channel = channel, .unit = &unit};
    memset(why, 0, sizeof *why);
    return fixture->source->ops->open(fixture->source, &scope, group, handle, why);
}

PERF_TEST(test_unit_channels)
{
    struct verdict why;
    uint64_t first, second, handle = 77, configs[16];
    add_imcs(fixture, 2);
    fixture->config.table = &event_table_gnr;
    perf_fixture_start(fixture);
    assert_true(fixture->source->ops->check(fixture->source, SCOPE_UNIT, GROUP_RPQ, &why));
    assert_int_equal(fixture->pmu.open, 0);
    assert_int_equal(fixture->pmu.opens, 4);

    assert_int_equal(open_unit(fixture, GROUP_RPQ, 1, 0, &first, &why), 0);
    assert_int_equal(open_configs(fixture, 1, configs), 4);
    assert_int_equal(open_configs(fixture, 0, configs), 0);
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 0, 1, &second, &why), 0);
    assert_int_equal(open_configs(fixture, 0, configs), 4);
    assert_int_equal(configs[0], 0x0101);
    assert_int_equal(configs[1], 0xc010);
    assert_int_equal(configs[2], 0x0082);
    assert_int_equal(configs[3], 0x0083);
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 0, 2, &handle, &why), -ENODEV);
    assert_non_null(strstr(why.words, "no channel 2"));
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 0, -1, &handle, &why), -ENODEV);
    assert_int_equal(handle, 77);
}

/* The two pseudo-channels' occupancies come as one count, of one group that always runs. */
PERF_TEST(test_events_of_a_role_are_summed)
{
    struct perf_reading out;
    struct verdict why;
    uint64_t handle;
    add_imcs(fixture, 2);
    fixture->config.table = &event_table_icx;
    perf_fixture_start(fixture);
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 1, 0, &handle, &why), 0);
    assert_int_equal(fixture->pmu.open, 4);
    for (uint64_t ns = 12; ns <= 24; ns += 12) {
        fake_pmu_run(&fixture->pmu, 0, 0, 1, 12);
        const struct reading_row *row = perf_fixture_row(fixture, handle, GROUP_RPQ, -1, &out);
        assert_int_equal(out.reading.n, 1);
        assert_int_equal(row->present, 7);
        assert_int_equal(row->enabled_ns, ns);
        assert_int_equal(row->running_ns, ns);
        assert_int_equal(row->count[0], ns * 5); /* rate of config 0 */
        assert_int_equal(row->count[1], ns * (5 + 0x0310 % 11));
        assert_int_equal(row->count[2], ns * (5 + 0x0080 % 11 + 5 + 0x0081 % 11));
    }
    fixture->source->ops->close(fixture->source, handle);
    assert_int_equal(fixture->pmu.open, 0);
    /* A failure names the role, whichever of its events it is. */
    fixture->pmu.fail_open = 4;
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 1, 0, &handle, &why), -EMFILE);
    assert_non_null(strstr(why.words, "role rpq_occupancy"));
    assert_int_equal(fixture->pmu.open, 0);
}

/* Zen 4: amd_umc_<n>, one per channel, numbered over the sockets; one CPU in each cpumask. */
PERF_TEST(test_amd_controllers)
{
    struct source_unit units[8];
    struct verdict why;
    uint64_t handle, configs[16];
    size_t n;
    char path[160];
    for (int i = 0; i < 4; i++) {
        const char *const files[][2] = {{"cpumask", i < 2 ? "0\n" : "1\n"},
                                        {"format/event", "config:0-7\n"},
                                        {"format/rdwrmask", "config:8-9\n"}};
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            snprintf(path, sizeof path, "%s/amd_umc_%d/%s", devices, i, files[f][0]);
            fixture_write(&fixture->tree, path, "%s", files[f][1]);
        }
        snprintf(path, sizeof path, "%s/amd_umc_%d/type", devices, i);
        fixture_write(&fixture->tree, path, "%d\n", FAKE_PMU_UNCORE_TYPE);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id",
                 i % 2);
        fixture_write(&fixture->tree, path, "%d\n", i % 2);
    }
    fixture->config.table = &event_table_zen4;
    perf_fixture_start(fixture);
    assert_int_equal(perf_units(&fixture->tree.fs, units, 8, &n), 0);
    assert_int_equal(n, 4);
    assert_string_equal(units[0].key, "socket0.imc0");
    assert_string_equal(units[3].key, "socket1.imc3");
    assert_true(fixture->source->ops->check(fixture->source, SCOPE_UNIT, GROUP_CAS, &why));
    struct scope scope = {
        .kind = SCOPE_UNIT, .key = units[3].key, .cgroup_fd = -1, .unit = &units[3]};
    assert_int_equal(fixture->source->ops->open(fixture->source, &scope, GROUP_CAS, &handle, &why),
                     0);
    assert_int_equal(open_configs(fixture, 1, configs), 2);
    assert_int_equal(configs[0], 0x10a);
    assert_int_equal(configs[1], 0x20a);
    /* They have no queue of reads to show. */
    assert_false(fixture->source->ops->check(fixture->source, SCOPE_UNIT, GROUP_RPQ, &why));
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
}

PERF_TEST(test_unit_refusals)
{
    struct verdict why;
    uint64_t handle;
    perf_fixture_start(fixture);
    assert_false(fixture->source->ops->check(fixture->source, SCOPE_UNIT, GROUP_RPQ, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "uncore_imc_"));
    add_imcs(fixture, 2);
    assert_true(fixture->source->ops->check(fixture->source, SCOPE_UNIT, GROUP_RPQ, &why));
    fixture->pmu.system_wide_error = -EACCES;
    assert_false(fixture->source->ops->check(fixture->source, SCOPE_UNIT, GROUP_RPQ, &why));
    assert_int_equal(why.reason, REASON_NO_PERMISSION);
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 0, 0, &handle, &why), -EACCES);
    fixture->config.table = &event_table_skx;
    perf_fixture_start(fixture);
    assert_int_equal(open_unit(fixture, GROUP_PMM_RPQ, 0, 0, &handle, &why), -ENODEV);
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
}

/* What the user says about memory controllers replaces the table's, all channels of it. */
PERF_TEST(test_unit_of_events_file)
{
    struct verdict why;
    uint64_t handle, configs[16];
    static char inserts[] = "pmu:NAME/event=0x77,umask=0x1/";
    static char too_long[] = "pmu:NAME/event=0x1/ + pmu:NAME/event=0x2/ + pmu:NAME/event=0x3/";
    char *sum = strchr(too_long, '+') + 2;
    add_imcs(fixture, 2);
    fixture->config.table = &event_table_icx;
    fixture->file.event[ROLE_RPQ_INSERTS] = inserts;
    perf_fixture_start(fixture);
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 0, 0, &handle, &why), 0);
    assert_int_equal(open_configs(fixture, 0, configs), 4);
    assert_int_equal(configs[1], 0x0177);
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 0, 1, &handle, &why), -ENODEV);
    /* A sum, and one too long. */
    fixture->file.event[ROLE_RPQ_INSERTS] = too_long;
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 1, 0, &handle, &why), -EINVAL);
    assert_non_null(strstr(why.words, "two summands"));
    fixture->file.event[ROLE_RPQ_INSERTS] = sum;
    fixture->file.event[ROLE_RPQ_OCCUPANCY] = inserts;
    assert_int_equal(open_unit(fixture, GROUP_RPQ, 1, 0, &handle, &why), 0);
    assert_int_equal(open_configs(fixture, 1, configs), 4);
    assert_int_equal(configs[3], 0x0003); /* opened last */
}

/* Without modules, their queue takes no counters from DRAM's; the user's file knows better. */
PERF_TEST(test_no_persistent_memory)
{
    struct verdict why;
    static char any[] = "pmu:NAME/event=0x77/";
    add_imcs(fixture, 2);
    fixture->config.table = &event_table_icx;
    fixture->config.no_pmem = true;
    perf_fixture_start(fixture);
    const struct source_ops *ops = fixture->source->ops;
    assert_true(ops->check(fixture->source, SCOPE_UNIT, GROUP_RPQ, &why));
    assert_false(ops->check(fixture->source, SCOPE_UNIT, GROUP_PMM_RPQ, &why));
    assert_int_equal(why.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(why.words, "no persistent memory modules"));
    fixture->file.event[ROLE_PMM_RPQ_INSERTS] = any;
    assert_true(ops->check(fixture->source, SCOPE_UNIT, GROUP_PMM_RPQ, &why));
}

/* A sentence of its own, with a remedy, for each. */
TEST(test_sentences)
{
    static const struct {
        int error;
        int paranoid;
        enum reason reason;
        const char *remedy;
    } rows[] = {
        {-ENOENT, 2, REASON_NO_PMU, "bare metal"},
        {-EACCES, 2, REASON_NO_PERMISSION, "kernel.perf_event_paranoid is 2 and CAP_PERFMON"},
        {-EACCES, 3, REASON_NO_PERMISSION, "sysctl kernel.perf_event_paranoid=2"},
        {-EACCES, PERF_PARANOID_UNKNOWN, REASON_NO_PERMISSION, "grant CAP_PERFMON"},
        {-EPERM, 2, REASON_NO_PERMISSION, "seccomp"},
        {-EMFILE, 2, REASON_FD_LIMIT, "LimitNOFILE"},
        {-ENFILE, 2, REASON_FD_LIMIT, "fs.file-max"},
        {-ENODEV, 2, REASON_NO_DEVICE, "offline"},
        {-ESRCH, 2, REASON_NO_DEVICE, "ended"},
        {-ENOSYS, 2, REASON_NO_PMU, "CONFIG_PERF_EVENTS"},
        {-EBUSY, 2, REASON_NO_DEVICE, "profiler"},
        {-EINVAL, 2, REASON_UNSUPPORTED_CPU, "CONFIG_CGROUP_PERF"},
        {-EIO, 2, REASON_NO_DEVICE, "Input/output error"},
    };
    const size_t n = sizeof rows / sizeof *rows;
    struct verdict why[sizeof rows / sizeof *rows];
    /* The longest thing that is ever explained. */
    const char *what = "group core, role l3_miss_read_occupancy";
    for (size_t i = 0; i < n; i++) {
        perf_explain(rows[i].error, what, rows[i].paranoid, &why[i]);
        assert_int_equal(why[i].reason, rows[i].reason);
        assert_non_null(strstr(why[i].words, rows[i].remedy));
        assert_ptr_equal(strstr(why[i].words, what), why[i].words);
        assert_true(strlen(why[i].words) < sizeof why[i].words - 1); /* not cut */
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(why[i].words, why[k].words);
    }
    struct verdict fine;
    perf_explain(0, what, 2, &fine);
    assert_int_equal(fine.reason, REASON_OK);
    assert_string_equal(fine.words, "");
}

PERF_TEST(test_cpu_identify)
{
    struct fixture *tree = &fixture->tree;
    struct cpu_identity cpu = {.family = -1};
    assert_int_equal(cpu_identify(&tree->fs, &cpu), -ENOENT);
    fixture_write(tree, "proc/cpuinfo",
                  "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
                  "model name\t: Intel(R) Xeon(R) Gold 6252 CPU @ 2.10GHz\nstepping\t: 7\n\n"
                  "processor\t: 1\nvendor_id\t: Other\nmodel\t\t: 99\n");
    assert_int_equal(cpu_identify(&tree->fs, &cpu), 0);
    assert_string_equal(cpu.vendor, "GenuineIntel");
    assert_int_equal(cpu.family, 6);
    assert_int_equal(cpu.model, 85);
    assert_int_equal(cpu.stepping, 7);
    assert_ptr_equal(event_table_for_cpu(cpu.family, cpu.model, cpu.stepping, cpu.vendor),
                     &event_table_clx);

    static const char *const odd[] = {
        "",
        "processor : 0\n\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 8\nstepping : 1\n",
        "vendor_id : GenuineIntel\ncpu family : 6\nmodel : x\nstepping : 1\n",
        "vendor_id : AnUnreasonablyLongVendorName\ncpu family : 6\nmodel : 1\nstepping : 1\n",
        "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 99999999999\nstepping : 1\n",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct cpu_identity untouched = {.family = 42};
        fixture_write(tree, "proc/cpuinfo", "%s", odd[i]);
        assert_int_equal(cpu_identify(&tree->fs, &untouched), -ENOENT);
        assert_int_equal(untouched.family, 42);
    }
}

PERF_TEST(test_machine)
{
    struct machine machine;
    memset(&machine, 0x5a, sizeof machine);
    machine_detect(&fixture->tree.fs, &machine);
    assert_int_equal(machine.cpus, 2);
    assert_int_equal(machine.sockets, 0); /* not told: not known */
    assert_int_equal(machine.numa_nodes, 0);
    assert_string_equal(machine.microarchitecture, "");
    assert_string_equal(machine.cpu_model, "");
    assert_true(machine.cache_cycles == 0 && machine.cas_latency_seconds == 0);
    /* The frequency comes from the CPU and kernel under the test: known and sane, or absent. */
    assert_true(machine.base_frequency_hz == 0 ||
                (machine.base_frequency_hz > 1e8 && machine.base_frequency_hz < 1e11));

    char path[96];
    for (int cpu = 0; cpu < 6; cpu++) {
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id",
                 cpu);
        fixture_write(&fixture->tree, path, "%d\n", cpu % 2 * 3);
    }
    fixture_write(&fixture->tree, "proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU\n\n");
    fixture_write(&fixture->tree, "sys/devices/system/cpu/online", "0-5\n");
    fixture_write(&fixture->tree, "sys/devices/system/node/online", "0,2-3\n");
    fixture_write(&fixture->tree, "sys/devices/system/node/node0/cpulist", "0,2-3\n");
    fixture_write(&fixture->tree, "sys/devices/system/node/node2/cpulist", "\n");
    fixture_write(&fixture->tree, "sys/devices/system/node/node3/cpulist", "1,4\n");
    fixture_write(&fixture->tree, "sys/devices/system/node/node0/distance", "10 21 17\n");
    fixture_write(&fixture->tree, "sys/devices/system/node/node3/distance", "17 28\n");
    machine_detect(&fixture->tree.fs, &machine);
    assert_true(machine.online_nodes == 13);
    assert_true(machine_has_node(&machine, 3));
    assert_false(machine_has_node(&machine, 1));
    assert_false(machine_has_node(&machine, 64));
    assert_int_equal(machine.numa_distance[0][0], 10);
    assert_int_equal(machine.numa_distance[0][2], 21);
    assert_int_equal(machine.numa_distance[0][3], 17);
    assert_int_equal(machine.numa_distance[0][1], 0);
    assert_int_equal(machine.numa_distance[2][0], 0); /* no file */
    assert_int_equal(machine.numa_distance[3][0], 0); /* of two nodes, where there are three */
    assert_string_equal(machine.cpu_model, "A CPU");
    assert_int_equal(machine.cpus, 6);
    assert_int_equal(machine.sockets, 2);
    assert_int_equal(machine.numa_nodes, 3);
    static const int node_of[] = {0, 3, 0, 0, 3, -1, -1}; /* of no list: not known */
    for (int cpu = 0; cpu < 7; cpu++)
        assert_int_equal(machine_numa_node_of(&machine, cpu), node_of[cpu]);
    assert_int_equal(machine_numa_node_of(&machine, -1), -1);
    assert_int_equal(machine_numa_node_of(&machine, MACHINE_CPUS), -1);
    assert_int_equal(machine_socket_of(&machine, 2), 0);
    assert_int_equal(machine_socket_of(&machine, 5), 3);
    assert_int_equal(machine_socket_of(&machine, 6), -1); /* offline, or not there */
    assert_int_equal(machine_socket_of(&machine, -1), -1);
    assert_int_equal(machine_socket_of(&machine, MACHINE_CPUS), -1);
}

PERF_TEST(test_distances)
{
    static const struct {
        const char *text;
        int err;
        uint8_t first, second;
    } rows[] = {
        {"10 21\n", 0, 10, 21},
        {" 10  255 ", 0, 10, 255},
        {"10", -EINVAL, 7, 7},
        {"10 21 21", -EINVAL, 7, 7},
        {"10 256", -EINVAL, 7, 7},
        {"10 0", -EINVAL, 7, 7},
        {"10 -1", -EINVAL, 7, 7},
        {"10 2x", -EINVAL, 7, 7},
        {"", -EINVAL, 7, 7},
        {"10\t21", -EINVAL, 7, 7},
        {"10 99999999999999999999", -EINVAL, 7, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t out[2] = {7, 7};
        assert_int_equal(numa_distances_parse(rows[i].text, strlen(rows[i].text), out, 2),
                         rows[i].err);
        assert_int_equal(out[0], rows[i].first);
        assert_int_equal(out[1], rows[i].second);
    }
    uint8_t many[MACHINE_NODES + 1] = {0};
    char text[3 * (MACHINE_NODES + 1) + 1] = "";
    for (int i = 0; i <= MACHINE_NODES; i++)
        memcpy(text + 3 * i, "10 ", 3);
    assert_int_equal(numa_distances_parse(text, sizeof text - 1, many, MACHINE_NODES + 1), -EINVAL);
}

/* A kernel that does not know the CPU puts events on counters that cannot count them. */
PERF_TEST(test_unknown_pmu)
{
    char name[CPU_PMU_NAME];
    struct verdict why;
    assert_false(cpu_pmu_name(&fixture->tree.fs, name));
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/cpu/caps/pmu_name",
                  "generic_arch_v5\n");
    assert_true(cpu_pmu_name(&fixture->tree.fs, name));
    assert_string_equal(name, "generic_arch_v5");
    fixture->config.table = NULL;
    perf_fixture_start(fixture);
    assert_false(perf_fixture_check(fixture, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "\"generic_arch_v5\""));
}

/* One clear reason each, for CPUs that no table knows. */
PERF_TEST(test_bad_machines)
{
    struct fixture *tree = &fixture->tree;
    struct cpu_identity cpu;
    struct verdict why;

    /* A family of the future. */
    fixture_write(tree, "proc/cpuinfo",
                  "vendor_id\t: AuthenticAMD\ncpu family\t: 27\nmodel\t\t: 1\nstepping\t: 0\n");
    assert_int_equal(cpu_identify(&tree->fs, &cpu), 0);
    assert_null(event_table_for_cpu(cpu.family, cpu.model, cpu.stepping, cpu.vendor));
    perf_explain_no_event(&tree->fs, &event_table_generic, GROUP_CORE, ROLE_L3_MISS_READS, &why);
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "Zen 3 to Zen 6"));

    /* A hybrid. */
    assert_false(cpu_is_hybrid(&tree->fs));
    fixture_write(tree, "sys/bus/event_source/devices/cpu_atom/type", "10\n");
    assert_true(cpu_is_hybrid(&tree->fs));
    perf_explain_no_event(&tree->fs, NULL, GROUP_CORE, ROLE_L3_MISS_READS, &why);
    assert_int_equal(why.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(why.words, "cores of two kinds"));
}

/* A hypervisor whose CPUID says Zen 4, and which gives no PMU. */
PERF_TEST(test_zen4_without_pmu)
{
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/software/type", "1\n");
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/msr/type", "11\n");
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/msr/events/tsc", "config=0\n");
    char cpu[512];
    snprintf(cpu, sizeof cpu, "%s/sys/bus/event_source/devices/cpu/type", fixture->tree.root);
    assert_int_equal(unlink(cpu), 0);
    fixture->pmu.no_pmu = true;
    fixture->config.table = &event_table_zen4;
    perf_fixture_start(fixture);
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_FILLS, REASON_NO_PMU, "");
    perf_fixture_refuses(fixture, SCOPE_CGROUP, GROUP_CPI, REASON_NO_PMU, "");
}
