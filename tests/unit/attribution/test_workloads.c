/* Workloads: of whom there is a history when their containers come and go. */
#include <stdio.h>
#include <string.h>

#include "collectors/attribution/lanes/workloads.h"
#include "tests/unit/support/unit.h"

static const uint64_t hour_ns = 3600 * UINT64_C(1000000000);

/* Static storage: used before the next one is made. */
static struct container *pod(const char *name, bool named)
{
    static struct container container;
    static uint32_t slot;
    container = (struct container){.slot = slot++,
                                   .gen = 1,
                                   .named = named,
                                   .namespace_ = "shop",
                                   .pod = name,
                                   .name = "main",
                                   .image = "i:1"};
    return &container;
}

static uint32_t join(struct workloads *all, const char *name, int wanted)
{
    uint32_t number = UINT32_MAX;
    assert_int_equal(workloads_join(all, pod(name, true), &number), wanted);
    return number;
}

TEST(replicas_and_runs_are_one)
{
    (void)state;
    struct workloads all = {0};
    uint32_t cart = join(&all, "cart-6d4cf56db6-x7x2p", WORKLOADS_NEW), number;
    assert_int_equal(join(&all, "cart-6d4cf56db6-zk5vp", WORKLOADS_OLD), cart);
    assert_int_equal(join(&all, "cart-7c8d9f5b44-b9gxt", WORKLOADS_OLD), cart);
    uint32_t job = join(&all, "sort-28911240-bcdfg", WORKLOADS_NEW);
    assert_int_not_equal(job, cart);
    assert_false(workloads_leave(&all, job, 10));
    assert_int_equal(join(&all, "sort-28911241-xz245", WORKLOADS_OLD), job);
    assert_false(workloads_expire(&all, 100 * hour_ns, &number));
    workloads_release(&all);
}

TEST(who_ended_is_kept_for_six_hours)
{
    (void)state;
    struct workloads all = {0};
    uint32_t number, job = join(&all, "sort-28911240-bcdfg", WORKLOADS_NEW);
    assert_false(workloads_leave(&all, job, hour_ns));
    assert_false(workloads_expire(&all, 7 * hour_ns - 1, &number));
    assert_true(workloads_expire(&all, 7 * hour_ns, &number));
    assert_int_equal(number, job);
    assert_false(workloads_expire(&all, 100 * hour_ns, &number));
    assert_int_equal(join(&all, "other-0", WORKLOADS_NEW), job); /* the number is used again */
    workloads_release(&all);
}

/* Of those that ended, only so many: the oldest go first. */
TEST(no_more_than_so_many_that_ended)
{
    (void)state;
    struct workloads all = {0};
    uint32_t number;
    char name[32];
    for (unsigned i = 0; i < WORKLOADS_ENDED + 3; i++) {
        snprintf(name, sizeof name, "w%u.x", i);
        assert_false(workloads_leave(&all, join(&all, name, WORKLOADS_NEW), i + 1));
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_true(workloads_expire(&all, WORKLOADS_ENDED + 4, &number));
        assert_int_equal(number, i);
    }
    assert_false(workloads_expire(&all, WORKLOADS_ENDED + 4, &number));
    workloads_release(&all);
}

TEST(without_names_each_is_its_own)
{
    (void)state;
    struct workloads all = {0};
    uint32_t first, second, number;
    struct container one = *pod("cart-6d4cf56db6-x7x2p", false);
    struct container other = *pod("cart-6d4cf56db6-zk5vp", false);
    assert_int_equal(workloads_join(&all, &one, &first), WORKLOADS_NEW);
    assert_int_equal(workloads_join(&all, &other, &second), WORKLOADS_NEW);
    assert_int_not_equal(first, second);
    assert_false(workloads_has_name(&all, first));
    one.named = other.named = true;
    assert_true(workloads_is_alone(&all, first));
    assert_int_equal(workloads_name(&all, &one, first, &number), 0);
    assert_int_equal(number, first); /* what it has done is the workload's */
    assert_true(workloads_has_name(&all, first));
    assert_int_equal(workloads_name(&all, &one, first, &number), 0);
    assert_int_equal(number, first);
    assert_true(workloads_is_alone(&all, first));
    assert_int_equal(workloads_name(&all, &other, second, &number), 0);
    assert_int_equal(number, first); /* that is there already */
    assert_true(workloads_leave(&all, second, 1));
    assert_false(workloads_is_alone(&all, first));
    workloads_release(&all);
}
