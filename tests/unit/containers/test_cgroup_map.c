#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "exporter/containers/cgroup_map.h"
#include "tests/unit/support/unit.h"

TEST(set_find_remove)
{
    struct cgroup_map *map;
    assert_int_equal(cgroup_map_new(&map), 0);
    uint32_t slot = 11, gen = 12;
    assert_false(cgroup_map_find(map, 5, &slot, &gen));
    assert_int_equal(slot, 11);
    assert_int_equal(gen, 12);
    assert_int_equal(cgroup_map_set(map, 5, 0, 1), 0);
    assert_true(cgroup_map_find(map, 5, &slot, &gen));
    assert_int_equal(slot, 0);
    assert_int_equal(gen, 1);
    assert_int_equal(cgroup_map_set(map, 5, UINT32_MAX, UINT32_MAX), 0);
    assert_true(cgroup_map_find(map, 5, &slot, &gen));
    assert_int_equal(slot, UINT32_MAX);
    assert_int_equal(gen, UINT32_MAX);
    assert_int_equal(cgroup_map_size(map), 1);
    cgroup_map_remove(map, 5);
    cgroup_map_remove(map, 5);
    cgroup_map_remove(map, 6);
    assert_int_equal(cgroup_map_size(map), 0);
    assert_false(cgroup_map_find(map, 5, &slot, &gen));
    assert_int_equal(cgroup_map_set(map, 5, 3, 4), 0);
    assert_true(cgroup_map_find(map, 5, &slot, &gen));
    assert_int_equal(slot, 3);
    assert_int_equal(cgroup_map_set(map, 0, 1, 1), -EINVAL);
    assert_int_equal(cgroup_map_set(map, 1, 1, 0), -EINVAL);
    assert_false(cgroup_map_find(map, 0, &slot, &gen));
    cgroup_map_remove(map, 0);
    cgroup_map_free(map);
    cgroup_map_free(NULL);
}

TEST(grows)
{
    struct cgroup_map *map;
    assert_int_equal(cgroup_map_new(&map), 0);
    for (uint32_t i = 1; i <= 50000; i++)
        assert_int_equal(cgroup_map_set(map, (uint64_t)i << 20 | 1, i, i + 1), 0);
    assert_int_equal(cgroup_map_size(map), 50000);
    for (uint32_t i = 1; i <= 50000; i++) {
        uint32_t slot = 0, gen = 0;
        assert_true(cgroup_map_find(map, (uint64_t)i << 20 | 1, &slot, &gen));
        assert_int_equal(slot, i);
        assert_int_equal(gen, i + 1);
        assert_false(cgroup_map_find(map, (uint64_t)i << 20 | 2, &slot, &gen));
    }
    cgroup_map_free(map);
}

/* Ids that come and go for ever leave nothing behind. */
TEST(churn_does_not_grow)
{
    struct cgroup_map *map;
    assert_int_equal(cgroup_map_new(&map), 0);
    size_t used = 0;
    for (uint64_t id = 1; id <= 200000; id++) {
        assert_int_equal(cgroup_map_set(map, id, (uint32_t)id, 1), 0);
        if (id > 50)
            cgroup_map_remove(map, id - 50);
        if (id == 10000)
            used = mallinfo2().uordblks;
    }
    assert_int_equal(cgroup_map_size(map), 50);
    assert_true(mallinfo2().uordblks <= used + 65536); /* 0 under a sanitizer */
    cgroup_map_free(map);
}

/* ---- readers while the map is written ---- */

enum { STABLE = 64, CHURNED = 400, READERS = 3 };

struct shared {
    struct cgroup_map *map;
    _Atomic bool stop;
    _Atomic uint64_t found, wrong;
};

/* For id i the writer only ever writes slot i with gens that are multiples of i. */
static bool value_is_right(uint64_t id, uint32_t slot, uint32_t gen)
{
    return slot == (uint32_t)id && gen % (uint32_t)id == 0;
}

static void *reader(void *arg)
{
    struct shared *s = arg;
    uint64_t id = 1;
    while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
        uint32_t slot, gen;
        bool found = cgroup_map_find(s->map, id, &slot, &gen);
        if (found ? !value_is_right(id, slot, gen) : id <= STABLE)
            atomic_fetch_add(&s->wrong, 1);
        atomic_fetch_add_explicit(&s->found, found, memory_order_relaxed);
        id = id % (STABLE + CHURNED) + 1;
    }
    return NULL;
}

/* Ids up to STABLE are always there, though their values change and arrays are replaced around
 * them; the others come and go. */
TEST(readers_and_a_writer)
{
    struct shared s = {0};
    assert_int_equal(cgroup_map_new(&s.map), 0);
    for (uint32_t id = 1; id <= STABLE; id++)
        assert_int_equal(cgroup_map_set(s.map, id, id, id), 0);
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &s), 0);
    uint32_t round = 1;
    uint64_t fresh = 1000000; /* ids that are used once: they wear the arrays out */
    /* On a busy machine the readers may come late: a writer that was alone would show nothing. */
    while (round < 3000 || atomic_load(&s.found) < 1000) {
        if (++round % 1000 == 0)
            sched_yield();
        uint32_t id = STABLE + 1 + round % CHURNED;
        if (round / CHURNED % 2)
            cgroup_map_remove(s.map, id);
        else
            assert_int_equal(cgroup_map_set(s.map, id, id, id * (round % 7 + 1)), 0);
        uint32_t stable = round % STABLE + 1;
        assert_int_equal(cgroup_map_set(s.map, stable, stable, stable * (round % 9 + 1)), 0);
        assert_int_equal(cgroup_map_set(s.map, ++fresh, 1, 1), 0);
        cgroup_map_remove(s.map, fresh);
    }
    atomic_store(&s.stop, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&s.wrong), 0);
    cgroup_map_free(s.map);
}
