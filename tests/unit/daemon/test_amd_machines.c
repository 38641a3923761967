/*
 * Whole exporters on AMD's machines: their files, and a kernel that counts by AMD's event numbers.
 * Which collectors run, the reason of every other, and what the page then has: tests/machines/.
 */
#include "tests/unit/support/epyc_machine.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/whole_machine.h"

/* ---- the machines ---- */

static void nothing_from_the_l3(struct perf_fixture *fixture)
{
    fixture->pmu.uncore_silent = true;
}

/* Cycles and instructions only. */
static int basic_events(const void *context, const struct perf_event_attr *attr)
{
    bool basic = attr->config == 0x76 || attr->config == 0xc0;
    return attr->type == PERF_TYPE_RAW && !basic ? -ENOENT : 0;
}

static void basic_only(struct perf_fixture *fixture)
{
    fixture->pmu.event_error = basic_events;
}

static void no_counters(struct perf_fixture *fixture)
{
    fixture->pmu.no_pmu = true;
}

static void two_kinds_of_cores(struct perf_fixture *fixture)
{
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/cpu_core/type", "4\n");
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/cpu_atom/type", "10\n");
    fixture_write(&fixture->tree, "proc/cpuinfo",
                  "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 183\n"
                  "stepping\t: 1\n\n");
}

static const struct epyc_machine future = {NULL, 0x1c, 0x10, 32768, true};

static const struct machine_case {
    const char *name; /* of the file below tests/machines */
    const struct epyc_machine *cpu;
    unsigned pmus;                         /* of enum epyc_pmus */
    void (*change)(struct perf_fixture *); /* NULL: nothing */
} machines[] = {
    {"milan", &epyc_milan, EPYC_METAL & ~EPYC_UMC, NULL},
    {"genoa", &epyc_genoa, EPYC_METAL, NULL},
    {"turin", &epyc_turin, EPYC_METAL, NULL},
    {"rome", &epyc_rome, EPYC_METAL & ~EPYC_UMC, NULL},
    {"gcp-turin-guest", &epyc_turin, EPYC_CORE | EPYC_MSR | EPYC_L3, nothing_from_the_l3},
    {"aws-m7a-basic", &epyc_genoa, EPYC_CORE | EPYC_MSR, basic_only},
    {"zen4-guest-without-pmu", &epyc_genoa, EPYC_MSR, no_counters},
    {"future-family", &future, EPYC_METAL, NULL},
    {"hybrid", &epyc_genoa, EPYC_MSR, two_kinds_of_cores},
};

TEST_WITH(every_machine, perf_fixture_setup, perf_fixture_teardown)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        if (i > 0) {
            perf_fixture_teardown(state);
            perf_fixture_setup(state);
        }
        struct perf_fixture *fixture = *state;
        epyc_machine_install(machines[i].cpu, machines[i].pmus, fixture);
        if (machines[i].change)
            machines[i].change(fixture);
        whole_machine_check(
            fixture, machines[i].name,
            "{\"base_frequency_hz\":2.8e9,\"l2_fill_cycles\":10,\"l3_fill_cycles\":46}");
    }
}
