/* Slots of the cells: who has which, and when one is given away again. */
#include <fcntl.h>
#include <unistd.h>

#include "exporter/source/bpf/slots.h"
#include "tests/unit/support/unit.h"

static uint32_t take(struct bpf_slots *slots, uint64_t id, int level)
{
    const struct bpf_cgroup cgroup = {.id = id, .level = level};
    uint32_t slot = UINT32_MAX;
    bool shared;
    assert_int_equal(bpf_slots_take(slots, &cgroup, BPF_COUNTS, &slot, &shared), 0);
    assert_true(slot < slots->n);
    return slot;
}

static void refuse(struct bpf_slots *slots)
{
    const struct bpf_cgroup cgroup = {.id = 999, .level = 1};
    uint32_t slot = 77;
    bool shared;
    assert_int_equal(bpf_slots_take(slots, &cgroup, BPF_COUNTS, &slot, &shared), -ENOSPC);
    assert_int_equal(slot, 77);
}

/* Nothing but this one. */
static void forget(struct bpf_slots *slots, uint64_t id)
{
    uint64_t left = 0;
    assert_true(bpf_slots_forget(slots, &left));
    assert_int_equal(left, id);
    assert_false(bpf_slots_forget(slots, &left));
}

static void forget_none(struct bpf_slots *slots)
{
    uint64_t left = 5;
    assert_false(bpf_slots_forget(slots, &left));
    assert_int_equal(left, 5);
}

TEST(test_each_has_its_own)
{
    struct bpf_slots slots;
    assert_int_equal(bpf_slots_init(&slots, 3), 0);
    uint32_t a = take(&slots, 11, 2), b = take(&slots, 12, 2), c = take(&slots, 13, 4);
    assert_int_not_equal(a, b);
    assert_int_not_equal(b, c);
    assert_int_not_equal(a, c);
    refuse(&slots);
    bpf_slots_release(&slots);
}

/* The program may still write into what was left: not before it has run to its end. */
TEST(test_given_away_after_settling_only)
{
    struct bpf_slots slots;
    assert_int_equal(bpf_slots_init(&slots, 2), 0);
    uint32_t a = take(&slots, 11, 2);
    take(&slots, 12, 2);
    bpf_slots_leave(&slots, a, BPF_COUNTS);
    refuse(&slots);
    bpf_slots_settle(&slots); /* the ID is still there */
    refuse(&slots);
    forget(&slots, 11);
    refuse(&slots);
    bpf_slots_settle(&slots);
    assert_int_equal(take(&slots, 13, 2), a);
    refuse(&slots);
    bpf_slots_release(&slots);
}

TEST(test_left_twice)
{
    struct bpf_slots slots;
    assert_int_equal(bpf_slots_init(&slots, 2), 0);
    uint32_t a = take(&slots, 11, 2);
    bpf_slots_leave(&slots, a, BPF_COUNTS);
    bpf_slots_leave(&slots, a, BPF_COUNTS);
    forget(&slots, 11);
    bpf_slots_leave(&slots, a, BPF_COUNTS);
    forget_none(&slots);
    bpf_slots_settle(&slots);
    take(&slots, 12, 2);
    take(&slots, 13, 2);
    refuse(&slots);
    bpf_slots_release(&slots);
}

/* A cgroup that is gone has its slot until it was read; its ID may be another's by then. */
TEST(test_an_id_used_again)
{
    struct bpf_slots slots;
    assert_int_equal(bpf_slots_init(&slots, 4), 0);
    uint32_t old = take(&slots, 11, 2), new = take(&slots, 11, 2);
    assert_int_not_equal(old, new);
    bpf_slots_leave(&slots, old, BPF_COUNTS);
    forget_none(&slots); /* the ID stands for the new one */
    bpf_slots_leave(&slots, new, BPF_COUNTS);
    uint32_t newest = take(&slots, 11, 2); /* and now for this one, before it is forgotten */
    forget_none(&slots);
    bpf_slots_leave(&slots, newest, BPF_COUNTS);
    forget(&slots, 11);
    bpf_slots_settle(&slots);
    for (uint64_t id = 21; id < 25; id++)
        take(&slots, id, 2);
    bpf_slots_release(&slots);
}

/* A container has one slot for its counts and its delays, whoever comes first, and until both have
 * left it; one whose cgroup is gone shares it with no new one. */
TEST(test_two_users)
{
    static const enum bpf_user users[] = {BPF_DELAYS, BPF_COUNTS};
    const struct bpf_cgroup cgroup = {.id = 11, .level = 2};
    struct bpf_slots slots;
    bool shared;
    assert_int_equal(bpf_slots_init(&slots, 3), 0);
    for (int first = 0; first < 2; first++) {
        uint32_t slot = 77, same = 78, new = 79;
        assert_int_equal(bpf_slots_take(&slots, &cgroup, users[first], &slot, &shared), 0);
        assert_false(shared);
        assert_int_equal(bpf_slots_take(&slots, &cgroup, users[!first], &same, &shared), 0);
        assert_true(shared);
        assert_int_equal(same, slot);
        assert_int_equal(slots.used, 1);
        assert_int_equal(bpf_slots_take(&slots, &cgroup, users[first], &new, &shared), 0);
        assert_false(shared);
        assert_int_not_equal(new, slot);
        bpf_slots_leave(&slots, new, users[!first]); /* it has none there */
        bpf_slots_leave(&slots, new, users[first]);
        bpf_slots_leave(&slots, slot, users[first]);
        bpf_slots_leave(&slots, slot, users[first]);
        forget(&slots, 11);
        bpf_slots_settle(&slots);
        assert_int_equal(slots.used, 1);
        bpf_slots_leave(&slots, slot, users[!first]);
        forget_none(&slots); /* the ID stood for the new one */
        bpf_slots_settle(&slots);
        assert_int_equal(slots.used, 0);
    }
    bpf_slots_release(&slots);
}

/* The new one could not be told, and is left at once: what the map may still have of that ID, which
 * stands for the old slot, is gone before that one can be given away. */
TEST(test_an_id_that_was_not_told)
{
    struct bpf_slots slots;
    assert_int_equal(bpf_slots_init(&slots, 2), 0);
    uint32_t old = take(&slots, 11, 2), failed = take(&slots, 11, 2);
    bpf_slots_leave(&slots, failed, BPF_COUNTS);
    bpf_slots_leave(&slots, old, BPF_COUNTS);
    refuse(&slots);
    forget(&slots, 11);
    refuse(&slots);
    bpf_slots_settle(&slots);
    take(&slots, 12, 2);
    bpf_slots_release(&slots);
}

TEST(test_levels)
{
    struct bpf_slots slots;
    assert_int_equal(bpf_slots_init(&slots, 8), 0);
    assert_int_equal(bpf_slots_levels(&slots), 0);
    uint32_t a = take(&slots, 11, 2), b = take(&slots, 12, 2), c = take(&slots, 13, 15);
    assert_int_equal(bpf_slots_levels(&slots), 1 << 2 | 1 << 15);
    bpf_slots_leave(&slots, a, BPF_COUNTS);
    bpf_slots_leave(&slots, c, BPF_COUNTS);
    assert_int_equal(bpf_slots_levels(&slots), 1 << 2);
    uint32_t d = take(&slots, 14, BPF_LEVEL_UNKNOWN);
    assert_int_equal(bpf_slots_levels(&slots), 0xffff);
    bpf_slots_leave(&slots, d, BPF_COUNTS);
    bpf_slots_leave(&slots, b, BPF_COUNTS);
    assert_int_equal(bpf_slots_levels(&slots), 0);
    bpf_slots_release(&slots);
}

TEST(test_no_cgroup)
{
    struct bpf_cgroup cgroup = {.id = 5, .level = 6};
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(bpf_cgroup_of(fd, &cgroup), -EINVAL);
    close(fd);
    assert_int_equal(bpf_cgroup_of(-1, &cgroup), -EBADF);
    assert_int_equal(cgroup.id, 5);
    assert_int_equal(cgroup.level, 6);
}
