/* Which CPUs are online, and which numbers there can be. */
#include "exporter/source/perf/cpus.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

/* The highest number decides, not how many there are. */
TEST(test_possible)
{
    static const struct {
        const char *possible, *online;
        int result;
    } cases[] = {
        {"0-1,4-5\n", "0-1\n", 6}, /* as a board with holes has it */
        {"4-7\n", "4\n", 8},       {"0\n", "0\n", 1},
        {"0-1\n", "0-3\n", 4}, /* what is online, can be */
        {"nothing\n", "0-3\n", 4}, {NULL, "0,2\n", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture tree;
        struct perf_cpus cpus;
        fixture_init(&tree);
        fixture_write(&tree, "sys/devices/system/cpu/online", "%s", cases[i].online);
        if (cases[i].possible)
            fixture_write(&tree, "sys/devices/system/cpu/possible", "%s", cases[i].possible);
        assert_int_equal(perf_cpus_init(&cpus, &tree.fs), 0);
        assert_int_equal(cpus.possible, cases[i].result);
        perf_cpus_release(&cpus);
        fixture_release(&tree);
    }
}
