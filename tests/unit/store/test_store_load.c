/* A fleet of containers: steady, churning, and read by many. */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "exporter/store/store.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/store_parts.h"
#include "tests/unit/support/unit.h"

enum { CONTAINERS = 300, PER_CONTAINER = 4 };

struct fleet {
    struct store *store;
    struct family *families[PER_CONTAINER];
    struct series *series[CONTAINERS][PER_CONTAINER];
};

static void fleet_start(struct fleet *fleet)
{
    static const struct metric_desc *const descs[PER_CONTAINER] = {&reads, &wait, &latency,
                                                                   &window};
    fleet->store = new_store();
    for (size_t i = 0; i < PER_CONTAINER; i++)
        fleet->families[i] = add_family(fleet->store, descs[i]);
}

static void fleet_add(struct fleet *fleet, size_t i, size_t generation)
{
    char name[32];
    snprintf(name, sizeof name, "c%zu-%zu", i, generation);
    struct labelset *set = new_set(name);
    for (size_t j = 0; j < PER_CONTAINER; j++)
        fleet->series[i][j] = add_series(fleet->families[j], set, j == 1 ? "model" : NULL, "asm");
    labelset_unref(set);
}

static void fleet_remove(struct fleet *fleet, size_t i)
{
    for (size_t j = 0; j < PER_CONTAINER; j++) {
        series_free(fleet->series[i][j]);
        fleet->series[i][j] = NULL;
    }
}

static void fleet_set(struct fleet *fleet, uint64_t value)
{
    for (size_t i = 0; i < CONTAINERS; i++) {
        if (!fleet->series[i][0])
            continue;
        series_set_u64(fleet->series[i][0], value);
        series_set(fleet->series[i][1], (double)value);
        series_set(fleet->series[i][2], (double)value);
        series_observe(fleet->series[i][3], 1);
    }
}

TEST(test_steady_publish_allocates_nothing)
{
    if (!malloc_count_works())
        skip();
    struct fleet fleet = {0};
    fleet_start(&fleet);
    for (size_t i = 0; i < CONTAINERS; i++)
        fleet_add(&fleet, i, 0);
    struct snapshot *held = NULL;
    uint64_t before = 0;
    for (uint64_t tick = 1; tick < 50; tick++) {
        if (tick == 10)
            before = malloc_count();
        fleet_set(&fleet, tick);
        struct snapshot *snapshot = publish(fleet.store, tick);
        snapshot_release(held); /* a reader lags one publication behind */
        held = snapshot;
    }
    assert_true(before > 0);
    assert_int_equal(malloc_count() - before, 0);
    snapshot_release(held);
    store_free(fleet.store);
}

TEST(test_churn_leaks_nothing)
{
    struct fleet fleet = {0};
    fleet_start(&fleet);
    size_t settled = 0;
    for (size_t round = 0; round < 40; round++) {
        for (size_t i = 0; i < CONTAINERS; i++)
            fleet_add(&fleet, i, round);
        fleet_set(&fleet, round);
        snapshot_release(publish(fleet.store, round + 1));
        for (size_t i = 0; i < CONTAINERS; i++)
            fleet_remove(&fleet, i);
        snapshot_release(publish(fleet.store, round + 1));
        snapshot_release(publish(fleet.store, round + 1));
        if (round == 10)
            settled = mallinfo2().uordblks;
    }
    if (malloc_count_works()) /* mallinfo knows nothing of a sanitizer's allocator */
        assert_in_range(mallinfo2().uordblks, 1, settled + 4096);
    store_free(fleet.store);
}

/* Every snapshot is of one moment, whatever readers do meanwhile. */

static atomic_bool stop_readers;
static atomic_uint readers_done_once;

static void *failed(char *problem)
{
    atomic_fetch_add(&readers_done_once, 1);
    return problem;
}

static void *reader(void *context)
{
    struct store *store = context;
    uint64_t last = 0, seen = 0;
    bool counted = false;
    while (!atomic_load(&stop_readers)) {
        struct snapshot *snapshot = store_acquire(store);
        if (!snapshot)
            continue;
        uint64_t number = snapshot_number(snapshot);
        if (number < last)
            return failed("went back");
        last = number;
        for (size_t f = 0; f < 3; f++) {
            const struct snapshot_family *family = family_at(snapshot, f);
            struct sample sample;
            for (size_t at = 0; snapshot_next(family, &at, &sample);) {
                size_t n;
                if (f == 0 ? sample.u64 != number : sample.number != (double)number)
                    return failed("torn");
                if (strncmp(labelset_text(sample.common, &n), "namespace=\"\",", 13) != 0 ||
                    strlen(sample.own) != sample.own_len)
                    return failed("labels gone");
                seen++;
            }
        }
        snapshot_release(snapshot);
        if (seen && !counted) {
            atomic_fetch_add(&readers_done_once, 1);
            counted = true;
        }
    }
    return NULL;
}

TEST(test_readers_and_writer)
{
    struct fleet fleet = {0};
    fleet_start(&fleet);
    for (size_t i = 0; i < CONTAINERS; i++)
        fleet_add(&fleet, i, 0);
    fleet_set(&fleet, 1);
    snapshot_release(publish(fleet.store, 1));
    pthread_t threads[4];
    atomic_store(&stop_readers, false);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reader, fleet.store), 0);
    for (uint64_t tick = 2; tick < 400; tick++) {
        size_t i = tick % CONTAINERS;
        fleet_remove(&fleet, i);
        fleet_add(&fleet, i, tick);
        fleet_set(&fleet, tick);
        snapshot_release(publish(fleet.store, tick));
    }
    while (atomic_load(&readers_done_once) < 4)
        sched_yield();
    atomic_store(&stop_readers, true);
    for (size_t i = 0; i < 4; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        assert_null(problem);
    }
    store_free(fleet.store);
}
