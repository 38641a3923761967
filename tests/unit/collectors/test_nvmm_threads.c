/* Who uses persistent memory: threads, the page of them, and series by process. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "collectors/nvmm/processes.h"
#include "collectors/nvmm/threads.h"
#include "tests/unit/support/nvmm_rig.h"

/* In place of the C library's: the board is its only user here. */
static bool board_is_held;

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return board_is_held ? EBUSY : pthread_mutex_lock(mutex);
}

/* ---- threads ---- */

static void writers_of_the_last_second(void **state)
{
    struct rig *rig = *state;
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
static void more_writers_than_are_kept(void **state)
{
    struct rig *rig = *state;
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

static void processes_and_threads_are_listed(void **state)
{
    struct rig *rig = *state;
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
static void how_long_ago_each_thread_stored(void **state)
{
    struct rig *rig = *state;
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

static void a_list_that_is_being_copied_is_not_waited_for(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    board_is_held = true;
    for (int i = 0; i < 2; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
        nvmm_tick(rig);
        assert_nothing_is_shown(rig);
    }
    board_is_held = false;
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

static void short_ticks_are_listed_by_the_second(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    rig->tick.interval_ns = second / 4; /* and yet the rig's ticks are a second apart */
    nvmm_count(rig, "a", ACCESS_STORE, 100);
    nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
    rig->tick.mono_ns -= second * 3 / 4;
    nvmm_tick(rig);
    assert_nothing_is_shown(rig); /* a quarter of a second so far */
    for (int i = 0; i < 3; i++) {
        nvmm_count(rig, "a", ACCESS_STORE, 100);
        nvmm_samples(rig, c, MEDIUM_NVMM, 8, 1);
        rig->tick.mono_ns -= second * 3 / 4;
        nvmm_tick(rig);
    }
    json_t *root;
    struct shown thread = {0};
    assert_true(page(rig, &root));
    nvmm_is(of_window(root), 1);
    find_thread(root, 0, &thread);
    nvmm_is(thread.accesses, 400);
    json_decref(root);
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

static void processes_have_series_when_asked_for(void **state)
{
    struct rig *rig = *state;
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

static void processes_that_stopped_make_room(void **state)
{
    struct rig *rig = *state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, nvmm_setup, nvmm_teardown)
        T(writers_of_the_last_second),
        T(more_writers_than_are_kept),
        T(processes_and_threads_are_listed),
        T(how_long_ago_each_thread_stored),
        T(a_list_that_is_being_copied_is_not_waited_for),
        T(short_ticks_are_listed_by_the_second),
        cmocka_unit_test_setup_teardown(processes_have_series_when_asked_for, nvmm_setup_processes,
                                        nvmm_teardown),
        cmocka_unit_test_setup_teardown(processes_that_stopped_make_room, nvmm_setup_processes,
                                        nvmm_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
