#include "exporter/source/recording/replay_keys.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"

static void assert_event(const struct replay *replay, size_t i, bool gone, const char *key,
                         const char *pod, bool pending)
{
    size_t n;
    const struct replay_container_event *events = replay_container_events(replay, &n);
    assert_true(i < n);
    assert_int_equal(events[i].gone, gone);
    assert_string_equal(events[i].container.key, key);
    assert_string_equal(events[i].container.pod, pod);
    assert_int_equal(events[i].container.pending, pending);
}

static size_t count(const struct replay *replay)
{
    size_t n;
    replay_container_events(replay, &n);
    return n;
}

TEST(a_replay_tells_them_tick_by_tick)
{
    struct tick tick;
    struct replay *replay = recording_open(IE_SOURCE_DIR "/tests/replay/late.jsonl");
    assert_int_equal(count(replay), 1); /* the start */
    assert_event(replay, 0, false, "c1", "cart-0", false);
    size_t n;
    const struct recording_container *c1 = &replay_container_events(replay, &n)->container;
    assert_int_equal(strlen(c1->id), 64);
    assert_string_equal(c1->namespace_, "shop");
    assert_string_equal(c1->container, "cart");
    assert_string_equal(c1->image, "registry.example/cart:1");
    assert_string_equal(c1->pod_uid, "11111111-1111-1111-1111-111111111111");
    assert_string_equal(c1->runtime, "containerd");
    assert_string_equal(c1->qos_class, "burstable");
    assert_non_null(strstr(c1->cgroup, "/kubepods/burstable/pod1111"));

    assert_true(recording_next(replay, &tick));
    assert_int_equal(count(replay), 0);
    assert_true(recording_next(replay, &tick));
    assert_true(recording_next(replay, &tick));
    assert_int_equal(count(replay), 1);
    assert_event(replay, 0, false, "c2", "", true);
    assert_true(recording_next(replay, &tick));
    assert_int_equal(count(replay), 3);
    assert_event(replay, 0, false, "c2", "train-7", false);
    assert_event(replay, 1, false, "c3", "train-8", false);
    assert_event(replay, 2, true, "c3", "", false);
    assert_true(recording_next(replay, &tick));
    assert_int_equal(count(replay), 1);
    assert_event(replay, 0, true, "c2", "", false);
    assert_true(recording_next(replay, &tick));
    assert_int_equal(count(replay), 0);
    assert_false(recording_next(replay, &tick));
    assert_false(recording_next(replay, &tick));
    replay_free(replay);
}

TEST(strings_are_copied)
{
    struct replay_events events = {0};
    char key[] = "c1", pod[] = "cart-0";
    struct recording_container container = recording_named(key, pod);
    container.pending = true;
    container.found_mono_ns = 7;
    assert_int_equal(replay_events_add(&events, &container), 0);
    memset(key, 'x', 2);
    memset(pod, 'x', 6);
    assert_false(events.at[0].gone);
    assert_string_equal(events.at[0].container.key, "c1");
    assert_string_equal(events.at[0].container.pod, "cart-0");
    assert_true(events.at[0].container.pending);
    assert_int_equal(events.at[0].container.found_mono_ns, 7);
    replay_events_release(&events);
}

TEST(one_that_ended_is_a_key)
{
    struct replay_events events = {0};
    assert_int_equal(replay_events_add_gone(&events, "c1"), 0);
    assert_true(events.at[0].gone);
    const struct recording_container *c = &events.at[0].container;
    assert_string_equal(c->key, "c1");
    const char *const others[] = {c->cgroup, c->id,      c->namespace_, c->pod,      c->container,
                                  c->image,  c->pod_uid, c->runtime,    c->qos_class};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_string_equal(others[i], "");
    replay_events_release(&events);
}

TEST(room_is_kept_and_grows)
{
    struct replay_events events = {0};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            char key[8] = {'k', (char)('0' + i / 10), (char)('0' + i % 10), '\0'};
            assert_int_equal(replay_events_add_gone(&events, key), 0);
        }
        assert_int_equal(events.n, 100);
        assert_string_equal(events.at[0].container.key, "k00");
        assert_string_equal(events.at[99].container.key, "k99");
        const void *before = events.at;
        replay_events_clear(&events);
        assert_int_equal(events.n, 0);
        assert_ptr_equal(events.at, before);
    }
    replay_events_release(&events);
    assert_null(events.at);
}
