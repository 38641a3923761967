/* What a memory limit holds: containers, and counters of perf's. */
#include "exporter/service/descriptors.h"
#include "tests/unit/support/unit.h"

static const uint64_t MIB = 1 << 20;

/* What the two shares are by the figures measured: never above the limit, and never far below. */
TEST(the_default_holds_in_the_daemonset)
{
    static const size_t cpus[] = {2, 16, 64, 128};
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++)
        assert_true(memory_share(512 * MIB, cpus[i]).containers >= 4096);
    struct memory_shares shares = memory_share(512 * MIB, 128);
    assert_int_equal(shares.containers, 4294);
    assert_int_equal(shares.counters, 384393);
    assert_int_equal(shares.counters / (128 * 7 + 1), 428); /* with a directory each */
}

TEST(less_holds_fewer)
{
    assert_int_equal(memory_share(512 * MIB, 256).containers, 2961);
    assert_int_equal(memory_share(64 * MIB, 2).containers, 631);
    assert_int_equal(memory_share(64 * MIB, 128).containers, 352);
    assert_int_equal(memory_share(64 * MIB, 128).counters, 31507);
    assert_int_equal(memory_share(1, 128).containers, 1);
    assert_int_equal(memory_share(1, 128).counters, 0);
}

TEST(without_a_limit)
{
    assert_true(memory_share(0, 128).containers == SIZE_MAX);
    assert_true(memory_share(0, 128).counters == SIZE_MAX);
}
