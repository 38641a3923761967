#include "exporter/containers/discovery/late_ids.h"
#include "tests/unit/support/unit.h"

static struct cgroup_map *map;
static struct late_ids late;

static int setup(void **state)
{
    late = (struct late_ids){0};
    return cgroup_map_new(&map);
}

static int teardown(void **state)
{
    late_ids_release(&late);
    cgroup_map_free(map);
    return 0;
}

static bool knows(uint64_t cgroup_id)
{
    uint32_t slot, gen;
    return cgroup_map_find(map, cgroup_id, &slot, &gen);
}

TEST_WITH(an_id_stays_for_a_while, setup, teardown)
{
    cgroup_map_set(map, 1, 10, 1);
    cgroup_map_set(map, 2, 11, 1);
    late_ids_add(&late, map, 1, 100);
    late_ids_add(&late, map, 2, 200);
    late_ids_forget(&late, map, LATE_IDS_NS + 99);
    assert_true(knows(1) && knows(2));
    late_ids_forget(&late, map, LATE_IDS_NS + 100);
    assert_false(knows(1));
    assert_true(knows(2));
    late_ids_forget(&late, map, LATE_IDS_NS + 200);
    assert_false(knows(2));
    late_ids_forget(&late, map, UINT64_MAX);
}

TEST_WITH(an_id_of_no_container_is_not_kept, setup, teardown)
{
    late_ids_add(&late, map, 1, 100);
    assert_int_equal(late.n, 0);
    cgroup_map_set(map, 1, 10, 1);
    late_ids_forget(&late, map, UINT64_MAX);
    assert_true(knows(1));
}

/* A directory that was renamed keeps its id, and is another container by then. */
TEST_WITH(an_id_that_another_one_has_stays, setup, teardown)
{
    cgroup_map_set(map, 1, 10, 1);
    cgroup_map_set(map, 2, 11, 1);
    late_ids_add(&late, map, 1, 100);
    late_ids_add(&late, map, 2, 100);
    cgroup_map_set(map, 1, 12, 1);
    cgroup_map_set(map, 2, 11, 2);
    late_ids_forget(&late, map, UINT64_MAX);
    assert_true(knows(1) && knows(2));
}

/* The ring goes round and grows on the way, and keeps the order. */
TEST_WITH(many_in_order, setup, teardown)
{
    uint64_t added = 0, gone = 0;
    for (uint64_t now = 1; now <= 300; now++) {
        for (int i = 0; i < 2; i++) {
            cgroup_map_set(map, ++added, 1, 1);
            late_ids_add(&late, map, added, now);
        }
        if (now % 3 == 0) {
            gone += 2;
            late_ids_forget(&late, map, LATE_IDS_NS + gone / 2);
            assert_false(knows(gone));
            assert_true(knows(gone + 1));
        }
    }
    assert_int_equal(late.n, added - gone);
    late_ids_forget(&late, map, UINT64_MAX);
    assert_int_equal(cgroup_map_size(map), 0);
}

TEST_WITH(beyond_the_limit_the_oldest_goes, setup, teardown)
{
    for (uint64_t id = 1; id <= LATE_IDS_MAX + 2; id++) {
        cgroup_map_set(map, id, 1, 1);
        late_ids_add(&late, map, id, 1);
    }
    assert_int_equal(late.n, LATE_IDS_MAX);
    assert_false(knows(1) || knows(2));
    assert_true(knows(3) && knows(LATE_IDS_MAX + 2));
}
