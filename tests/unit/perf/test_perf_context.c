/* Descriptors that contexts hold, and the pool in which they add up. */
#include "exporter/source/perf/group.h"
#include "tests/unit/support/unit.h"

/* Each context has a part of what the pool allows. */
TEST(test_contexts_add_up)
{
    struct descriptor_pool pool = {.limit = 10};
    struct perf_context one = {.fd_limit = 10, .pool = &pool}, other = one;
    struct verdict why;
    one.open_counters = 3;
    one.cgroup_handles = 1;
    other.open_counters = 2;
    other.shared = 1;
    perf_fd_account(&one);
    perf_fd_account(&other);
    perf_fd_account(&one);
    assert_int_equal(pool.counters, 4 + 3);
    assert_int_equal(perf_fd_budget(&other, GROUP_LOADS, 1, 3, &why), 0);
    assert_int_equal(perf_fd_budget(&other, GROUP_LOADS, 1, 4, &why), -EMFILE);
    assert_non_null(strstr(why.words, "or lower --containers.max"));
    one.open_counters = one.cgroup_handles = 0;
    perf_fd_account(&one);
    assert_int_equal(pool.counters, 3);
    other.open_counters = 4;
    assert_int_equal(perf_fd_budget(&one, GROUP_LOADS, 1, 7, &why), 0); /* as last told */
    perf_fd_account(&other);
    assert_int_equal(perf_fd_budget(&one, GROUP_LOADS, 1, 6, &why), -EMFILE);
    assert_int_equal(pool.counters, 5);
}
