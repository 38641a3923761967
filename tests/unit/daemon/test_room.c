/* For how many containers descriptors are enough, by who counts them: what each really takes. */
#include <unistd.h>

#include "exporter/daemon/sources.h"
#include "exporter/service/descriptors.h"
#include "tests/unit/support/perf_fixture.h"
#include "tests/unit/support/unit.h"

enum { CONTAINERS = 3, CPUS = 2 };

static int setup(void **state)
{
    int err = perf_fixture_setup(state);
    perf_fixture_start(*state);
    return err;
}

static size_t room(struct perf_fixture *fixture, size_t limit, size_t others, size_t *each)
{
    struct sources sources = {.perf = fixture->source};
    const struct source_ops *ops = fixture->source->ops;
    size_t all;
    (void)perf_source_each(fixture->source, &all);
    assert_true(all >= ops->open_counters(fixture->source));
    sources.pool.counters = all + others;
    return sources_room(&sources, descriptors_share(limit, SIZE_MAX, false, true).counters, each);
}

/* Nothing of perf's is open for a container, as where a program counts it: all have room. */
TEST_WITH(test_none, setup, perf_fixture_teardown)
{
    size_t each = 77;
    assert_int_equal(room(*state, 20000, 14, &each), SIZE_MAX);
    assert_int_equal(each, 0);
}

/* Seven events on each of two CPUs and its directory; three more and the directory once more. Each
 * one that is open has so many, and a counter of the machine's takes one container's place. */
TEST_WITH(test_each, setup, perf_fixture_teardown)
{
    struct perf_fixture *fixture = *state;
    const struct source_ops *ops = fixture->source->ops;
    const enum group groups[] = {GROUP_CORE, GROUP_TRAFFIC};
    const size_t want[] = {CPUS * CORE_ROLES + 1, CPUS * CORE_ROLES + 1 + CPUS * 3 + 1};
    const size_t counters = 20000 - 2500 - 512;
    uint64_t handles[2 * CONTAINERS], inode;
    size_t n = 0, each;
    for (size_t i = 0; i < 2; i++) {
        for (int container = 0; container < CONTAINERS; container++) {
            char name[] = {(char)('a' + container), '\0'};
            size_t before = ops->open_counters(fixture->source);
            handles[n++] = perf_fixture_open(fixture, name, groups[i], &inode);
            assert_int_equal(ops->open_counters(fixture->source) - before + 1,
                             want[i] - (i ? want[0] : 0));
        }
        assert_int_equal(room(fixture, 20000, 0, &each), counters / want[i]);
        assert_int_equal(each, want[i]);
        assert_int_equal(room(fixture, 20000, counters % want[i] + 1, &each),
                         counters / want[i] - 1);
    }
    assert_int_equal(room(fixture, 20000, 20000, &each), 0);
    while (n > 0)
        ops->close(fixture->source, handles[--n]);
    assert_int_equal(room(fixture, 20000, 0, &each), SIZE_MAX);
}
