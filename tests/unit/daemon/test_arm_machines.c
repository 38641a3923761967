/*
 * Whole exporters on Arm's servers: their files, and a kernel that counts by Arm's event numbers.
 * Which collectors run, the reason of every other, and what the page then has: tests/machines/.
 */
#include "tests/unit/support/arm_machine.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/whole_machine.h"

static const struct {
    const char *name; /* of the file below tests/machines */
    struct arm_machine machine;
} machines[] = {
    {"neoverse-v3", {.midr = 0x410fd840, .in_flight = true, .stalls = true, .last_level = true}},
    {"neoverse-v2-basic", {.midr = 0x410fd4f0, .basic = true}},
    {"neoverse-n2", {.midr = 0x6d0fd490, .stalls = true, .last_level = true}},
    {"neoverse-v1", {.midr = 0x411fd401, .stalls = true, .last_level = true}},
    {"neoverse-n1", {.midr = 0x413fd0c1, .last_level = true}},

    {"grace", {.midr = 0x410fd4f0, .stalls = true, .last_level = true}},
    {"ampereone", {.midr = 0xc00fac30, .stalls = true}},
};

TEST_WITH(every_machine, perf_fixture_setup, perf_fixture_teardown)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        if (i > 0) {
            perf_fixture_teardown(state);
            perf_fixture_setup(state);
        }
        arm_machine_install(&machines[i].machine, *state);
        whole_machine_check(*state, machines[i].name, ARM_MACHINE_TIMES);
    }
}
