/* Containers of a recording under other names: what is one workload stays one, and whose it is what
 * was learned before. */
#include <unistd.h>

#include "exporter/base/log.h"
#include "exporter/containers/workload.h"
#include "exporter/daemon/feed.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"

enum { MOST = 5 };

static const struct recording_container recorded[MOST] = {
#define OF(key, path, id, namespace, pod, name, image)                                             \
    {                                                                                              \
        key, path, id, namespace, pod, name, image, "", "", "", false, 0                           \
    }
    OF("c0", "/kubepods/a", "0a", "shop", "cart-5d78c9869d-4xg9x", "app", "reg:5000/cart:1.2"),
    OF("c1", "/kubepods/b", "0b", "shop", "cart-5d78c9869d-8h5zn", "app", "reg:5000/cart:1.3"),
    OF("c2", "/kubepods/c", "0c", "shop", "cache-0", "app", "reg:5000/cart:1.2"),
    OF("c3", "/kubepods/d", "0d", "shop", "cache-1", "app", "reg:5000/cart:1.2"),
    OF("c4", "/docker/e", "0e", "", "", "web-1", "nginx:1"),
};

static void assert_learned(struct feed *feed, const char *before, const char *learned,
                           const char *other)
{
    char from[WORKLOAD_KEY_BYTES + 64], to[WORKLOAD_KEY_BYTES + 64];
    snprintf(from, sizeof from, "%s%s", before, learned);
    snprintf(to, sizeof to, "%s%s", before, other);
    char *renamed = feed_learned_key(feed, from);
    assert_string_equal(renamed, to);
    free(renamed);
}

TEST(who_is_who_under_other_names)
{
    static const struct log silent = {.fd = -1};
    const struct container_limits limits = {.max = MOST};
    char error[128], keys[MOST][WORKLOAD_KEY_BYTES];
    struct feed *feed;
    struct container_table *table;
    assert_int_equal(feed_new(&feed), 0);
    assert_int_equal(feed_anonymise(feed), 0);
    assert_int_equal(container_table_new(&limits, &silent, &table, error, sizeof error), 0);
    size_t cursor = 0;
    for (int i = 0; i < MOST; i++) {
        struct replay_container_event event = {.container = recorded[i]};
        assert_int_equal(feed_events(feed, &event, 1, table, 1), 0);
        const struct container *c = container_table_next(table, &cursor);
        const struct container before = {.namespace_ = recorded[i].namespace_,
                                         .pod = recorded[i].pod,
                                         .name = recorded[i].container,
                                         .image = recorded[i].image};
        char learned[WORKLOAD_KEY_BYTES], lanes[2][128];
        workload_key(&before, learned);
        workload_key(c, keys[i]);
        assert_null(strstr(keys[i], "cart"));
        assert_null(strstr(keys[i], "cache"));
        assert_learned(feed, "numa_node 0 workload ", learned, keys[i]);
        assert_learned(feed, "numa_node 1 traffic workload ", learned, keys[i]);
        snprintf(lanes[0], sizeof lanes[0], "%s %s", recorded[i].id, recorded[i].cgroup);
        snprintf(lanes[1], sizeof lanes[1], "%s %s", c->id, c->path);
        assert_learned(feed, "", lanes[0], lanes[1]);
    }
    assert_string_equal(keys[0], keys[1]);
    assert_string_not_equal(keys[0], keys[2]);
    assert_string_equal(keys[2], keys[3]);
    assert_null(feed_learned_key(feed, "numa_node 0 ledger")); /* nobody's */
    container_table_free(table);
    feed_free(feed);
}

/* One that ended since the tick before is read once more: whoever is told all now knows whose that
 * is. */
TEST(everybody_who_is_still_read)
{
    static const struct log silent = {.fd = -1};
    const struct container_limits limits = {.max = MOST};
    char error[128], path[64];
    struct container_diff diff;
    struct container_table *table;
    struct feed *feed;
    struct tick tick;
    assert_int_equal(feed_new(&feed), 0);
    assert_int_equal(container_table_new(&limits, &silent, &table, error, sizeof error), 0);
    for (int i = 0; i < 2; i++) {
        struct replay_container_event event = {.container = recorded[i]};
        assert_int_equal(feed_events(feed, &event, 1, table, 1), 0);
    }
    struct replay_container_event end = {.gone = true, .container = recorded[1]};
    assert_int_equal(feed_events(feed, &end, 1, table, 2), 0);
    container_table_take_diff(table, &diff);
    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    feed_record_all(recorder, table, 3);
    recording_tick(recorder, 1);
    for (int i = 0; i < 2; i++)
        recorder_line(recorder, &(struct recording_line){
                                    .kind = RECORDING_READ,
                                    .read = {.key = recorded[i].key, .cpu = -1, .present = 1}});
    recorder_flush(recorder);
    assert_int_equal(recorder_free(recorder), 0);
    struct replay *replay = recording_open(path);
    assert_true(recording_next(replay, &tick));
    assert_false(recording_next(replay, &tick));
    replay_free(replay);
    unlink(path);
    container_table_free(table);
    feed_free(feed);
}
