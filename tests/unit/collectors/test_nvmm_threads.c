/* Who uses persistent memory: threads, the page of them, and series by process. */
#include <pthread.h>

#include <jansson.h>

#include "collectors/nvmm/processes.h"
#include "collectors/nvmm/threads.h"
#include "tests/unit/support/nvmm_rig.h"
#include "tests/unit/support/unit.h"

/* In place of the C library's: the double buffer is its only user here. */
static bool list_is_held;

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return list_is_held ? EBUSY : pthread_mutex_lock(mutex);
}

/* ---- threads ---- */

TEST_ON(writers_of_the_last_second, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *a = rig_container(rig, "a"), *b = rig_container(rig, "b");
    nvmm_count(rig, "a", ACCESS_STORE, 10);
    nvmm_count(rig, "b", ACCESS_STORE, 10);
    for (uint32_t i = 0; i < 6; i++)
        nvmm_sample(rig, a, MEDIUM_NVMM, 8, 1 + i)->tid = i % 5;
    nvmm_sample(rig, a, MEDIUM_OTHER, 8, 1)->tid = 77;
    nvmm_sample(rig, b, MEDIUM_NVMM, 8, 1)->tid = 3; /* of another container: another thread */
    nvmm_tick(rig);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", "container=\"a\""), 5);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", "container=\"b\""), 1);
    nvmm_count(rig, "a", ACCESS_STORE, 10);
    nvmm_sample(rig, a, MEDIUM_NVMM, 8, 1)->tid = 2;
    nvmm_tick(rig);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", "container=\"a\""), 1);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", "container=\"b\""), 0);
}

/* 4096 threads are kept, those of the last tick among them; what has no room is not counted as 0.
 */
TEST_ON(more_writers_than_are_kept, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *a = rig_container(rig, "a");
    nvmm_count(rig, "a", ACCESS_STORE, 10);
    for (uint32_t i = 0; i < NVMM_MAX_THREADS; i++)
        nvmm_sample(rig, a, MEDIUM_NVMM, 8, 1)->tid = i;
    nvmm_tick(rig);
    nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), NVMM_MAX_THREADS);
    for (int i = 0; i < 2; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 10);
        for (uint32_t tid = 0; tid < 3; tid++)
            nvmm_sample(rig, a, MEDIUM_NVMM, 8, 1)->tid = 5000 + tid;
        nvmm_tick(rig);
        nvmm_is(rig_value(rig, C "nvmm_writer_threads", ""), i == 0 ? NAN : 3);
    }
}

/* The page as it is now; false when it has shown nothing yet. */
static bool page(struct rig *rig, json_t **root)
{
    struct textbuf text;
    textbuf_init(&text);
    assert_int_equal(rig->ops->page->render(rig->collector, "perf", &text), 0);
    *root = json_loadb(text.data, text.len, 0, NULL);
    assert_non_null(*root);
    textbuf_release(&text);
    return !json_is_null(json_object_get(*root, "window_seconds"));
}

static void assert_nothing_is_shown(struct rig *rig)
{
    json_t *root;
    assert_false(page(rig, &root));
    json_decref(root);
}

static void near(double got, double want)
{
    if (fabs(got - want) > 1e-9 * fmax(1, fabs(want)))
        fail_msg("got %.12g, want %.12g", got, want);
}

static double of_window(const json_t *root)
{
    return json_number_value(json_object_get(root, "window_seconds"));
}

/* One thread of the page, and whose it is. */
struct shown {
    const char *container;
    json_int_t pid;
    double accesses, bytes; /* stores a second */
    double seconds_ago;     /* the last store */
};

/* The thread of this number, or of any for 0; returns how many threads there are in all. */
static size_t find_thread(const json_t *root, json_int_t tid, struct shown *out)
{
    size_t n = 0, i, k, m;
    json_t *container, *process, *thread;
    json_array_foreach(json_object_get(root, "containers"), i, container)
    {
        json_array_foreach(json_object_get(container, "processes"), k, process)
        {
            json_array_foreach(json_object_get(process, "threads"), m, thread)
            {
                const json_t *stores = json_object_get(thread, "store");
                n++;
                if (tid && json_integer_value(json_object_get(thread, "tid")) != tid)
                    continue;
                out->container = json_string_value(json_object_get(container, "container"));
                out->pid = json_integer_value(json_object_get(process, "pid"));
                out->accesses = json_number_value(json_object_get(stores, "accesses_per_second"));
                out->bytes = json_number_value(json_object_get(stores, "bytes_per_second"));
                out->seconds_ago =
                    json_number_value(json_object_get(thread, "last_store_seconds_ago"));
            }
        }
    }
    return n;
}

TEST_ON(processes_and_threads_are_listed, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *a = rig_container(rig, "a"), *b = rig_container(rig, "b");
    rig_container(rig, "idle");
    nvmm_count(rig, "a", ACCESS_STORE, 1000);
    nvmm_count(rig, "b", ACCESS_STORE, 10);
    for (uint32_t i = 0; i < 4; i++) {
        struct access_sample *s = nvmm_sample(rig, a, MEDIUM_NVMM, i < 3 ? 8 : 64, 1 + i);
        s->pid = 100 + i / 2;
        s->tid = 200 + i / 2 * 2;
    }
    nvmm_sample(rig, b, MEDIUM_NVMM, 32, 1)->tid = 300;
    nvmm_sample(rig, a, MEDIUM_OTHER, 8, 1)->tid = 999;
    nvmm_tick(rig);
    json_t *root;
    struct shown thread = {0};
    assert_true(page(rig, &root));
    nvmm_is(of_window(root), 1);
    assert_true(json_is_false(json_object_get(root, "truncated")));
    assert_int_equal(json_array_size(json_object_get(root, "containers")), 2);
    assert_int_equal(find_thread(root, 200, &thread), 3);
    assert_string_equal(thread.container, "a");
    assert_int_equal(thread.pid, 100);
    nvmm_is(thread.accesses, 400); /* 2 of 5 samples */
    nvmm_is(thread.bytes, 3200);
    find_thread(root, 202, &thread);
    assert_int_equal(thread.pid, 101);
    nvmm_is(thread.accesses, 400);
    nvmm_is(thread.bytes, 14400);
    nvmm_is(rig_value(rig, C "nvmm_accesses", "container=\"b\""), 10);
    find_thread(root, 300, &thread);
    assert_string_equal(thread.container, "b");
    nvmm_is(thread.bytes, 320);
    json_decref(root);
    /* A second later others use it, or none do. */
    nvmm_tick(rig);
    assert_true(page(rig, &root));
    assert_int_equal(find_thread(root, 0, &thread), 0);
    json_decref(root);
}

/* By the latest sample, in whatever order they come. */
TEST_ON(how_long_ago_each_thread_stored, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *a = rig_container(rig, "a");
    static const double ago_ms[] = {600, 250, 400};
    struct shown thread = {0};
    json_t *root;
    nvmm_count(rig, "a", ACCESS_STORE, 10);
    uint64_t now_ns = rig->tick.mono_ns + 1000000000u;
    for (int i = 0; i < 4; i++) {
        struct access_sample *s = nvmm_sample(rig, a, MEDIUM_NVMM, 8, 1);
        s->tid = i < 3 ? 200 : 201;
        s->time_ns = i < 3 ? now_ns - (uint64_t)(ago_ms[i] * 1e6) : now_ns - 1;
    }
    nvmm_tick(rig);
    assert_int_equal(rig->tick.mono_ns, now_ns);
    assert_true(page(rig, &root));
    assert_int_equal(find_thread(root, 200, &thread), 2);
    nvmm_is(thread.seconds_ago, 0.25);
    find_thread(root, 201, &thread);
    nvmm_is(thread.seconds_ago, 1e-9);
    json_decref(root);
}

TEST_ON(a_list_that_is_being_copied_is_not_waited_for, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    list_is_held = true;
    for (int i = 0; i < 2; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
        nvmm_tick(rig);
        assert_nothing_is_shown(rig);
    }
    list_is_held = false;
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    nvmm_tick(rig);
    json_t *root;
    struct shown thread = {0};
    assert_true(page(rig, &root));
    nvmm_is(of_window(root), 3);
    assert_int_equal(find_thread(root, 0, &thread), 1);
    nvmm_is(thread.accesses, 100);
    json_decref(root);
}

/* What is sampled from here on is of a tick of a tenth of a second; the rig's are a second. */
static void begin_tenth(struct rig *rig)
{
    rig->tick.interval_ns = second / 10;
    rig->tick.mono_ns -= second * 9 / 10;
}

/* Up to two seconds in all, of which a tenth at a time is new. */
TEST_ON(short_ticks_have_rates_of_seconds, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    static const double tenths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                    13, 14, 15, 16, 17, 18, 19, 10, 11, 12, 13};
    for (size_t i = 0; i < sizeof tenths / sizeof *tenths; i++) {
        json_t *root;
        struct shown thread = {0};
        begin_tenth(rig);
        nvmm_count(rig, "a", ACCESS_STORE, i < 20 ? 100 : 30);
        nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
        nvmm_tick(rig);
        assert_true(page(rig, &root));
        near(of_window(root), tenths[i] / 10);
        near(json_number_value(json_object_get(root, "interval_seconds")), 0.1);
        assert_int_equal(find_thread(root, 0, &thread), 1);
        near(thread.accesses,
             i < 20 ? 1000 : (100 * 10 + 30 * (tenths[i] - 10)) / (tenths[i] / 10));
        json_decref(root);
    }
}

/* It is seen in the tick of its store, whose window is not estimated before the next one; and then
 * in each, a tick older, until it is not in the window any more. */
TEST_ON(each_tick_says_anew_who_stored_when, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    json_t *root;
    struct shown thread = {0};
    for (int i = 0; i < 3; i++) {
        begin_tenth(rig);
        nvmm_count(rig, "a", ACCESS_STORE, 50);
        nvmm_tick(rig);
    }
    begin_tenth(rig);
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_sample(rig, c, MEDIUM_NVMM, 8, second / 20);
    nvmm_tick_behind(rig, second / 50);
    size_t listed = 0;
    for (int i = 0; i < 30; i++) {
        assert_true(page(rig, &root));
        size_t n = find_thread(root, 7, &thread);
        if (n > 0) {
            near(thread.seconds_ago, 0.05 + 0.1 * i);
            assert_true(thread.accesses > 0 || i == 0);
            assert_int_equal(listed, i); /* and not after it was gone */
            listed++;
        }
        json_decref(root);
        begin_tenth(rig);
        nvmm_tick(rig);
    }
    assert_int_equal(listed, 16); /* the rest of its second, and the next one */
}

/* Their samples come in turn. */
TEST_ON(threads_of_several_containers, struct rig *rig, nvmm_setup, nvmm_teardown)
{
    enum { CONTAINERS = 8, THREADS = 96 };
    struct container *containers[CONTAINERS];
    struct shown thread = {0};
    json_t *root;
    for (int i = 0; i < CONTAINERS; i++)
        containers[i] = rig_container(rig, (char[]){(char)('a' + i), '\0'});
    for (int round = 0; round < 3; round++) {
        begin_tenth(rig);
        for (uint32_t i = 0; i < THREADS; i++)
            nvmm_sample(rig, containers[i % CONTAINERS], MEDIUM_NVMM, 8, 1)->tid = 100 + i;
        for (int i = 0; i < CONTAINERS; i++)
            nvmm_count(rig, (char[]){(char)('a' + i), '\0'}, ACCESS_STORE, THREADS / CONTAINERS);
        nvmm_tick(rig);
        assert_true(page(rig, &root));
        assert_int_equal(json_array_size(json_object_get(root, "containers")), CONTAINERS);
        for (uint32_t i = 0; i < THREADS; i++) {
            assert_int_equal(find_thread(root, 100 + i, &thread), THREADS);
            assert_int_equal(thread.container[0], 'a' + i % CONTAINERS);
            near(thread.accesses, 10);
        }
        json_decref(root);
    }
}

/* ---- series by process ---- */

static double process(struct rig *rig, const char *pid)
{
    return rig_value(rig, "interference_process_nvmm_accesses", pid);
}

static void of_process(struct rig *rig, const struct container *container, uint32_t pid)
{
    nvmm_sample(rig, container, MEDIUM_NVMM, 16, 1)->pid = pid;
}

TEST_ON(processes_have_series_when_asked_for, struct rig *rig, nvmm_setup_processes, nvmm_teardown)
{
    struct container *a = rig_container(rig, "a"), *b = rig_unnamed(rig, "b");
    nvmm_count(rig, "a", ACCESS_STORE, 300);
    nvmm_count(rig, "b", ACCESS_STORE, 10);
    of_process(rig, a, 100);
    of_process(rig, a, 100);
    of_process(rig, a, 101);
    of_process(rig, b, 100); /* of another container, which has no name yet */
    nvmm_tick(rig);
    nvmm_is(process(rig, "pid=\"100\""), NAN); /* made when allocating is allowed */
    rig_nothing_changed(rig);
    nvmm_tick(rig);
    nvmm_is(process(rig, "pid=\"100\""), 200);
    nvmm_is(process(rig, "pid=\"101\""), 100);
    nvmm_is(rig_value(rig, "interference_process_nvmm_bytes", "pid=\"101\""), 1600);
    rig_name(rig, b);
    rig_rename(rig, a, "z");
    nvmm_count(rig, "a", ACCESS_STORE, 50);
    of_process(rig, a, 101);
    nvmm_tick(rig);
    nvmm_is(process(rig, "container=\"b\""), 10);
    nvmm_is(process(rig, "pid=\"101\""), 150);
    nvmm_is(process(rig, "container=\"a\""), NAN);
    rig_end(rig, b);
    nvmm_tick(rig);
    nvmm_is(process(rig, "container=\"b\""), 10); /* a counter, which lingers */
    rig_forget(rig, b);
    nvmm_tick(rig);
    nvmm_is(process(rig, "container=\"b\""), NAN);
}

TEST_ON(processes_that_stopped_make_room, struct rig *rig, nvmm_setup_processes, nvmm_teardown)
{
    struct container *c = rig_container(rig, "a");
    for (uint32_t pid = 0; pid < NVMM_MAX_PROCESSES + 1; pid++)
        of_process(rig, c, 10000 + pid);
    nvmm_count(rig, "a", ACCESS_STORE, NVMM_MAX_PROCESSES + 1);
    nvmm_tick(rig);
    rig_nothing_changed(rig);
    nvmm_tick(rig);
    assert_int_equal(rig_series(rig, "pid="), 2 * NVMM_MAX_PROCESSES);
    nvmm_is(process(rig, "pid=\"10000\""), 1);
    rig->tick.mono_ns += 60 * second;
    nvmm_count(rig, "a", ACCESS_STORE, 7);
    of_process(rig, c, 10001);
    nvmm_tick(rig);
    rig->tick.mono_ns += 61 * second;
    nvmm_tick(rig);
    rig_nothing_changed(rig); /* all but one have not been heard of for two minutes */
    nvmm_count(rig, "a", ACCESS_STORE, 1);
    of_process(rig, c, 5);
    nvmm_tick(rig);
    rig_nothing_changed(rig);
    nvmm_tick(rig);
    assert_int_equal(rig_series(rig, "pid="), 4);
    nvmm_is(process(rig, "pid=\"10001\""), 8);
    nvmm_is(process(rig, "pid=\"5\""), 1);
    nvmm_is(process(rig, "pid=\"10000\""), NAN);
}
