#include "tests/unit/support/arm_machine.h"

#include <unistd.h>

#include "collectors/events/events.h"
#include "exporter/source/perf/detect.h"
#include "tests/unit/support/unit.h"

enum { CPUS = 2 };

static uint64_t core_rate(const void *context, const struct perf_event_attr *attr, int cpu)
{
    const struct arm_machine *machine = context;
    const struct {
        uint32_t type;
        uint64_t config, rate;
    } events[] = {
        {PERF_TYPE_RAW, 0x11, 2600},
        {PERF_TYPE_RAW, 0x08, 1300},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 2600},
        {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1300},
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000},
        {PERF_TYPE_RAW, 0x36, !machine->basic && machine->last_level ? 7 : 0},
        {PERF_TYPE_RAW, 0x37, !machine->basic && machine->last_level ? 5 : 0},
        {PERF_TYPE_RAW, 0x4005, !machine->basic && machine->stalls ? 520 : 0},
        {PERF_TYPE_RAW, 0x8121, !machine->basic && machine->in_flight ? 3087 : 0},
        {PERF_TYPE_RAW, 0x66, !machine->basic ? 300 : 0},
        {PERF_TYPE_RAW, 0x42, !machine->basic ? 10 : 0},
        {PERF_TYPE_RAW, 0x39, !machine->basic ? 10 : 0},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i].type == attr->type && events[i].config == attr->config)
            return events[i].rate;
    return 0;
}

/* No counter has a constant frequency, and none reference cycles. */
static int event_error(const void *context, const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_REF_CPU_CYCLES ? -2
                                                                                            : 0;
}

void arm_machine_install(const struct arm_machine *machine, struct perf_fixture *fixture)
{
    char path[160];
    uint64_t midr;
    snprintf(path, sizeof path, "%s/sys/bus/event_source/devices/cpu/type", fixture->tree.root);
    unlink(path); /* the fixture's own */
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/armv8_pmuv3_0/type", "10\n");
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/software/type", "1\n");
    fixture_write(&fixture->tree, "sys/devices/system/cpu/online", "0-%d\n", CPUS - 1);
    fixture_write(&fixture->tree, "proc/cpuinfo",
                  "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU implementer\t: 0x%02x\n"
                  "CPU architecture: 8\nCPU part\t: 0x%03x\n\n",
                  (unsigned)(machine->midr >> 24 & 0xff), (unsigned)(machine->midr >> 4 & 0xfff));
    for (int i = 0; i < CPUS; i++) {
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", i);
        fixture_write(&fixture->tree, path, "0\n");
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/regs/identification/midr_el1", i);
        fixture_write(&fixture->tree, path, "0x%016llx\n", (unsigned long long)machine->midr);
        fixture->pmu.online[i] = true;
    }
    fixture->pmu.general = 7; /* that of cycles among them */
    fixture->pmu.no_fixed = true;
    fixture->pmu.uncore_context = machine;
    fixture->pmu.core_rate = core_rate;
    fixture->pmu.event_error = event_error;
    assert_int_equal(cpu_midr(&fixture->tree.fs, &midr), 0);
    fixture->config.table = event_table_for_midr(midr);
}
