/* The collector of persistent memory: counts and samples in, series and the page's list out. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "collectors/nvmm/processes.h"
#include "collectors/nvmm/threads.h"
#include "collectors/table.h"
#include "tests/unit/support/collector_rig.h"
#include "tests/unit/support/malloc_count.h"

#define C "interference_container_"
#define S "interference_sampler_"

static const uint64_t second = 1000000000u;

/* In place of the C library's: the board is its only user here. */
static bool board_is_held;

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return board_is_held ? EBUSY : pthread_mutex_lock(mutex);
}

static void assert_is(double got, double want)
{
    if (!(got == want) && !(isnan(got) && isnan(want)))
        fail_msg("got %.12g, want %.12g", got, want);
}

static struct rig *setup_common(bool loads, bool rfo)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &pebs_nvmm_collector);
    if (!loads)
        rig->fake.sampled[ACCESS_LOAD] = (struct verdict){.reason = REASON_DISABLED};
    for (int access = 0; access < ACCESS_KINDS; access++)
        rig->fake.sampling[access].period = 10007;
    if (rfo)
        rig_flag(rig, "--collector.pebs_nvmm.rfo");
    rig_start(rig);
    return rig;
}

static int setup(void **state)
{
    *state = setup_common(false, false);
    return 0;
}

static int setup_loads(void **state)
{
    *state = setup_common(true, false);
    return 0;
}

static int setup_processes(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &pebs_nvmm_collector);
    rig->fake.sampled[ACCESS_LOAD] = (struct verdict){.reason = REASON_DISABLED};
    rig->fake.sampling[ACCESS_STORE].period = 1;
    rig_flag(rig, "--collector.pebs_nvmm.per-process");
    rig_start(rig);
    *state = rig;
    return 0;
}

static int setup_rfo(void **state)
{
    *state = setup_common(false, true);
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    rig_release(rig);
    free(rig);
    return 0;
}

/* ---- playing ---- */

static uint64_t tag(const struct container *container)
{
    return container_tag(container->slot, container->gen);
}

/* A sample in the window that ends with the next tick, 'ago_ns' before that. */
static struct access_sample *sample(struct rig *rig, const struct container *container,
                                    enum medium medium, uint32_t bytes, uint64_t ago_ns)
{
    assert_true(rig->fake.n_samples < FAKE_SAMPLES);
    struct access_sample *s = &rig->fake.samples[rig->fake.n_samples++];
    *s = (struct access_sample){
        .time_ns = rig->tick.mono_ns + second - ago_ns,
        .owner = tag(container),
        .pid = 7,
        .tid = 7,
        .medium = medium,
        .bytes = bytes,
        .size = bytes ? ACCESS_SIZE_KNOWN : ACCESS_SIZE_REPEATED,
    };
    return s;
}

static void samples(struct rig *rig, const struct container *container, enum medium medium,
                    uint32_t bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sample(rig, container, medium, bytes, 1 + i);
}

static void count(struct rig *rig, const char *key, enum access access, uint64_t events)
{
    struct fake_group *group = fake_group(&rig->fake, key, access_group(access));
    fake_group_run(group, 0, second);
    fake_group_add(group, 0, access == ACCESS_STORE ? ROLE_STORES : ROLE_LOADS, events);
}

/* A tick by which everything of before is there. */
static int tick(struct rig *rig)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        rig->fake.sampling[access].settled_ns = rig->tick.mono_ns + second;
    return rig_tick(rig);
}

/* A tick by which the sampler is so much behind. */
static int tick_behind(struct rig *rig, uint64_t behind_ns)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        rig->fake.sampling[access].settled_ns = rig->tick.mono_ns + second - behind_ns;
    return rig_tick(rig);
}

static double stores(struct rig *rig)
{
    return rig_value(rig, C "nvmm_accesses", "access=\"store\"");
}

/* ---- the estimate ---- */

static void the_worked_number(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 500000000);
    samples(rig, c, MEDIUM_NVMM, 64, 125);
    samples(rig, c, MEDIUM_OTHER, 8, 375);
    samples(rig, c, MEDIUM_UNKNOWN, 0, 9);
    assert_int_equal(tick(rig), 0);
    assert_is(stores(rig), 1.25e8);
    assert_is(rig_value(rig, C "nvmm_bytes", "access=\"store\""), 8.0e9);
    assert_is(rig_value(rig, C "memory_samples", "medium=\"nvmm\""), 125);
    assert_is(rig_value(rig, C "memory_samples", "medium=\"other\""), 375);
    assert_is(rig_value(rig, C "memory_samples", "medium=\"unknown\""), 9);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), 1);
    count(rig, "a", ACCESS_STORE, 1000);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    tick(rig);
    assert_is(stores(rig), 1.25e8 + 1000);
}

/* Ten tenths of a store are a store, whatever their sum is in binary. */
static void parts_of_stores(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    for (int i = 0; i < 10; i++) {
        count(rig, "a", ACCESS_STORE, 1);
        samples(rig, c, MEDIUM_NVMM, 10, 1);
        samples(rig, c, MEDIUM_OTHER, 8, 9);
        tick(rig);
    }
    assert_is(stores(rig), 1);
    assert_is(rig_value(rig, C "nvmm_bytes", "access=\"store\""), 10);
}

static void all_labels_are_there_from_the_start(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 0);
    tick(rig);
    assert_is(stores(rig), 0);
    assert_is(rig_value(rig, C "nvmm_bytes", "access=\"store\""), 0);
    assert_is(rig_value(rig, C "memory_samples", "medium=\"unknown\""), 0);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), 0);
    assert_is(rig_value(rig, S "samples_lost", "store"), 0);
    assert_is(rig_value(rig, S "throttles", "store"), 0);
    assert_is(rig_value(rig, S "samples_undecoded", "unreadable"), 0);
    assert_is(rig_value(rig, "interference_pmem_dimms", ""), NAN);
    /* accesses, bytes, three media, writers; and info */
    assert_int_equal(rig_series(rig, "container_id=\"000000000000\""), 7);
    assert_is(rig_value(rig, S "samples_lost", "load"), NAN);
}

static void ticks_without_samples_are_carried(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    for (int i = 0; i < 9; i++) {
        count(rig, "a", ACCESS_STORE, 1000);
        tick(rig);
        assert_is(stores(rig), 0);
    }
    count(rig, "a", ACCESS_STORE, 1000);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    tick(rig);
    assert_is(stores(rig), 10000);
    assert_is(rig_value(rig, C "nvmm_bytes", ""), 80000);
}

/* The sampler's thread is a tick behind: its samples still meet the counts of their own time. */
static void late_samples_meet_their_counts(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    sample(rig, c, MEDIUM_NVMM, 8, 900000000);
    tick_behind(rig, second / 2);
    assert_is(stores(rig), 0); /* held back */
    /* Now 1,000,000 events, all to other memory, and the first window's other three samples. */
    count(rig, "a", ACCESS_STORE, 1000000);
    for (int i = 0; i < 3; i++)
        sample(rig, c, MEDIUM_OTHER, 8, second + 1);
    samples(rig, c, MEDIUM_OTHER, 8, 4);
    tick_behind(rig, second / 2);
    assert_is(stores(rig), 25);
    count(rig, "a", ACCESS_STORE, 0);
    tick(rig);
    assert_is(stores(rig), 25);
}

static void samples_of_after_the_reading_are_of_the_next_window(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 1000);
    sample(rig, c, MEDIUM_OTHER, 8, 1);
    sample(rig, c, MEDIUM_NVMM, 8, 0)->time_ns += 5; /* behind the tick */
    tick(rig);
    assert_is(stores(rig), 0);
    count(rig, "a", ACCESS_STORE, 40);
    tick(rig);
    assert_is(stores(rig), 40);
}

static void a_sampler_that_stands_still_loses_nothing(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    for (int i = 0; i < 10; i++) {
        count(rig, "a", ACCESS_STORE, 100);
        sample(rig, c, i < NVMM_HELD ? MEDIUM_OTHER : MEDIUM_NVMM, 8, 1);
        rig_tick(rig); /* settled stays 0 */
        assert_is(stores(rig), 0);
    }
    count(rig, "a", ACCESS_STORE, 100);
    tick(rig);
    count(rig, "a", ACCESS_STORE, 0);
    tick(rig);
    assert_is(stores(rig), (11 - NVMM_HELD) * 100);
}

static void windows_that_were_discarded(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    tick(rig);
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_STORES);
    group->enabled_ns[0] += second; /* starved */
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    tick(rig);
    assert_is(stores(rig), 100);
    assert_int_equal(rig->status.discarded[DISCARD_STARVED], 1);
    group->read_error = -EIO;
    assert_int_equal(tick(rig), -EIO);
    assert_int_equal(rig->status.discarded[DISCARD_READ_ERROR], 1);
    group->read_error = 0;
    group->no_reading = true; /* the next one reaches back */
    count(rig, "a", ACCESS_STORE, 50);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    assert_int_equal(tick(rig), 0);
    assert_is(stores(rig), 100);
    group->no_reading = false;
    count(rig, "a", ACCESS_STORE, 50);
    samples(rig, c, MEDIUM_OTHER, 8, 1);
    tick(rig);
    assert_is(stores(rig), 150); /* of the two samples of 100 events one */
}

static void loads_have_series_of_their_own(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 10);
    count(rig, "a", ACCESS_LOAD, 400);
    sample(rig, c, MEDIUM_NVMM, 16, 1)->access = ACCESS_LOAD;
    sample(rig, c, MEDIUM_OTHER, 8, 1);
    tick(rig);
    assert_is(stores(rig), 0);
    assert_is(rig_value(rig, C "nvmm_accesses", "access=\"load\""), 400);
    assert_is(rig_value(rig, C "nvmm_bytes", "access=\"load\""), 6400);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), 0); /* it only reads */
    assert_int_equal(rig_series(rig, "container_id=\"000000000000\""), 12);
}

/* ---- what the sampler says of itself ---- */

static void losses_are_told(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    rig->fake.sampling[ACCESS_STORE].lost = 12;
    rig->fake.sampling[ACCESS_STORE].throttles = 3;
    count(rig, "a", ACCESS_STORE, 10);
    samples(rig, c, MEDIUM_NVMM, 0, 2);
    samples(rig, c, MEDIUM_OTHER, 0, 5); /* where it did not matter nobody looked */
    tick(rig);
    assert_is(rig_value(rig, S "samples_lost", "store"), 12);
    assert_is(rig_value(rig, S "throttles", "store"), 3);
    assert_is(rig_value(rig, S "samples_undecoded", "repeated"), 2);
    assert_is(rig_value(rig, S "samples_undecoded", "masked"), 0);
}

static void modules_are_counted_where_there_are_some(void **state)
{
    struct rig *rig = *state;
    rig->facts.machine.pmem_dimms = 6;
    tick(rig);
    assert_is(rig_value(rig, "interference_pmem_dimms", ""), 6);
}

/* ---- threads ---- */

static void writers_of_the_last_second(void **state)
{
    struct rig *rig = *state;
    struct container *a = rig_container(rig, "a"), *b = rig_container(rig, "b");
    count(rig, "a", ACCESS_STORE, 10);
    count(rig, "b", ACCESS_STORE, 10);
    for (uint32_t i = 0; i < 6; i++)
        sample(rig, a, MEDIUM_NVMM, 8, 1 + i)->tid = i % 5;
    sample(rig, a, MEDIUM_OTHER, 8, 1)->tid = 77;
    sample(rig, b, MEDIUM_NVMM, 8, 1)->tid = 3; /* of another container: another thread */
    tick(rig);
    assert_is(rig_value(rig, C "nvmm_writer_threads", "container=\"a\""), 5);
    assert_is(rig_value(rig, C "nvmm_writer_threads", "container=\"b\""), 1);
    count(rig, "a", ACCESS_STORE, 10);
    sample(rig, a, MEDIUM_NVMM, 8, 1)->tid = 2;
    tick(rig);
    assert_is(rig_value(rig, C "nvmm_writer_threads", "container=\"a\""), 1);
    assert_is(rig_value(rig, C "nvmm_writer_threads", "container=\"b\""), 0);
}

/* 4096 threads are kept, those of the last tick among them; what has no room is not counted as 0.
 */
static void more_writers_than_are_kept(void **state)
{
    struct rig *rig = *state;
    struct container *a = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 10);
    for (uint32_t i = 0; i < NVMM_MAX_THREADS; i++)
        sample(rig, a, MEDIUM_NVMM, 8, 1)->tid = i;
    tick(rig);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), NVMM_MAX_THREADS);
    for (int i = 0; i < 2; i++) {
        count(rig, "a", ACCESS_STORE, 10);
        for (uint32_t tid = 0; tid < 3; tid++)
            sample(rig, a, MEDIUM_NVMM, 8, 1)->tid = 5000 + tid;
        tick(rig);
        assert_is(rig_value(rig, C "nvmm_writer_threads", ""), i == 0 ? NAN : 3);
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
    count(rig, "a", ACCESS_STORE, 1000);
    count(rig, "b", ACCESS_STORE, 10);
    for (uint32_t i = 0; i < 4; i++) {
        struct access_sample *s = sample(rig, a, MEDIUM_NVMM, i < 3 ? 8 : 64, 1 + i);
        s->pid = 100 + i / 2;
        s->tid = 200 + i / 2 * 2;
    }
    sample(rig, b, MEDIUM_NVMM, 32, 1)->tid = 300;
    sample(rig, a, MEDIUM_OTHER, 8, 1)->tid = 999;
    tick(rig);
    json_t *root;
    struct shown thread = {0};
    assert_true(page(rig, &root));
    assert_is(of_window(root), 1);
    assert_true(json_is_false(json_object_get(root, "truncated")));
    assert_int_equal(json_array_size(json_object_get(root, "containers")), 2);
    assert_int_equal(find_thread(root, 200, &thread), 3);
    assert_string_equal(thread.container, "a");
    assert_int_equal(thread.pid, 100);
    assert_is(thread.accesses, 400); /* 2 of 5 samples */
    assert_is(thread.bytes, 3200);
    find_thread(root, 202, &thread);
    assert_int_equal(thread.pid, 101);
    assert_is(thread.accesses, 400);
    assert_is(thread.bytes, 14400);
    assert_is(rig_value(rig, C "nvmm_accesses", "container=\"b\""), 10);
    find_thread(root, 300, &thread);
    assert_string_equal(thread.container, "b");
    assert_is(thread.bytes, 320);
    json_decref(root);
    /* A second later others use it, or none do. */
    tick(rig);
    assert_true(page(rig, &root));
    assert_int_equal(find_thread(root, 0, &thread), 0);
    json_decref(root);
}

static void a_list_that_is_being_copied_is_not_waited_for(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    board_is_held = true;
    for (int i = 0; i < 2; i++) {
        count(rig, "a", ACCESS_STORE, 100);
        samples(rig, c, MEDIUM_NVMM, 8, 1);
        tick(rig);
        assert_nothing_is_shown(rig);
    }
    board_is_held = false;
    count(rig, "a", ACCESS_STORE, 100);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    tick(rig);
    json_t *root;
    struct shown thread = {0};
    assert_true(page(rig, &root));
    assert_is(of_window(root), 3);
    assert_int_equal(find_thread(root, 0, &thread), 1);
    assert_is(thread.accesses, 100);
    json_decref(root);
}

static void short_ticks_are_listed_by_the_second(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    rig->tick.interval_ns = second / 4; /* and yet the rig's ticks are a second apart */
    count(rig, "a", ACCESS_STORE, 100);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    rig->tick.mono_ns -= second * 3 / 4;
    tick(rig);
    assert_nothing_is_shown(rig); /* a quarter of a second so far */
    for (int i = 0; i < 3; i++) {
        count(rig, "a", ACCESS_STORE, 100);
        samples(rig, c, MEDIUM_NVMM, 8, 1);
        rig->tick.mono_ns -= second * 3 / 4;
        tick(rig);
    }
    json_t *root;
    struct shown thread = {0};
    assert_true(page(rig, &root));
    assert_is(of_window(root), 1);
    find_thread(root, 0, &thread);
    assert_is(thread.accesses, 400);
    json_decref(root);
}

/* ---- series by process ---- */

static double process(struct rig *rig, const char *pid)
{
    return rig_value(rig, "interference_process_nvmm_accesses", pid);
}

static void of_process(struct rig *rig, const struct container *container, uint32_t pid)
{
    sample(rig, container, MEDIUM_NVMM, 16, 1)->pid = pid;
}

static void processes_have_series_when_asked_for(void **state)
{
    struct rig *rig = *state;
    struct container *a = rig_container(rig, "a"), *b = rig_unnamed(rig, "b");
    count(rig, "a", ACCESS_STORE, 300);
    count(rig, "b", ACCESS_STORE, 10);
    of_process(rig, a, 100);
    of_process(rig, a, 100);
    of_process(rig, a, 101);
    of_process(rig, b, 100); /* of another container, which has no name yet */
    tick(rig);
    assert_is(process(rig, "pid=\"100\""), NAN); /* made when allocating is allowed */
    rig_nothing_changed(rig);
    tick(rig);
    assert_is(process(rig, "pid=\"100\""), 200);
    assert_is(process(rig, "pid=\"101\""), 100);
    assert_is(rig_value(rig, "interference_process_nvmm_bytes", "pid=\"101\""), 1600);
    rig_name(rig, b);
    rig_rename(rig, a, "z");
    count(rig, "a", ACCESS_STORE, 50);
    of_process(rig, a, 101);
    tick(rig);
    assert_is(process(rig, "container=\"b\""), 10);
    assert_is(process(rig, "pid=\"101\""), 150);
    assert_is(process(rig, "container=\"a\""), NAN);
    rig_end(rig, b);
    tick(rig);
    assert_is(process(rig, "container=\"b\""), 10); /* a counter, which lingers */
    rig_forget(rig, b);
    tick(rig);
    assert_is(process(rig, "container=\"b\""), NAN);
}

static void processes_that_stopped_make_room(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    for (uint32_t pid = 0; pid < NVMM_MAX_PROCESSES + 1; pid++)
        of_process(rig, c, 10000 + pid);
    count(rig, "a", ACCESS_STORE, NVMM_MAX_PROCESSES + 1);
    tick(rig);
    rig_nothing_changed(rig);
    tick(rig);
    assert_int_equal(rig_series(rig, "pid="), 2 * NVMM_MAX_PROCESSES);
    assert_is(process(rig, "pid=\"10000\""), 1);
    rig->tick.mono_ns += 60 * second;
    count(rig, "a", ACCESS_STORE, 7);
    of_process(rig, c, 10001);
    tick(rig);
    rig->tick.mono_ns += 61 * second;
    tick(rig);
    rig_nothing_changed(rig); /* all but one have not been heard of for two minutes */
    count(rig, "a", ACCESS_STORE, 1);
    of_process(rig, c, 5);
    tick(rig);
    rig_nothing_changed(rig);
    tick(rig);
    assert_int_equal(rig_series(rig, "pid="), 4);
    assert_is(process(rig, "pid=\"10001\""), 8);
    assert_is(process(rig, "pid=\"5\""), 1);
    assert_is(process(rig, "pid=\"10000\""), NAN);
}

/* ---- containers come and go ---- */

static void an_ended_container_waits_for_its_samples(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    sample(rig, c, MEDIUM_NVMM, 8, second);
    tick_behind(rig, second / 2);
    count(rig, "a", ACCESS_STORE, 300);
    rig_end(rig, c);
    tick_behind(rig, second / 2);
    assert_is(stores(rig), 100);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), NAN); /* gauges end at once */
    assert_int_equal(rig->fake.n_open, 1);
    count(rig, "a", ACCESS_STORE, 5000); /* what a cgroup of the same name would do */
    sample(rig, c, MEDIUM_NVMM, 8, second + 1);
    tick(rig);
    assert_is(stores(rig), 400);
    assert_int_equal(rig->fake.n_open, 0);
    rig_forget(rig, c);
    sample(rig, c, MEDIUM_NVMM, 8, 1); /* of nobody */
    tick(rig);
    assert_is(stores(rig), NAN);
}

static void a_sampler_that_is_stuck_is_told(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    assert_int_equal(tick(rig), 0);
    for (int i = 0; i < 5; i++) {
        count(rig, "a", ACCESS_STORE, 100);
        assert_int_equal(rig_tick(rig), 0);
    }
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), 1);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    for (int i = 0; i < 30; i++) { /* also when nothing more is read */
        count(rig, "a", ACCESS_STORE, 100);
        assert_int_equal(rig_tick(rig), -ETIMEDOUT);
    }
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), NAN);
    assert_is(stores(rig), 100);
    assert_false(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(rig->status.verdict.words, "stuck"));
    assert_int_equal(tick(rig), 0);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_string_equal(rig->status.verdict.words, "");
}

/* Five ticks, where these are long; and what a recording says of a time without stores is no
 * sign of anything. */
static void a_sampler_is_given_time(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    tick(rig);
    for (int i = 0; i < 20; i++) {
        count(rig, "a", ACCESS_STORE, 0);
        assert_int_equal(rig_tick(rig), 0);
    }
    count(rig, "a", ACCESS_STORE, 1);
    tick(rig);
    rig->tick.interval_ns = 2 * second;
    for (int i = 0; i < 6; i++) {
        count(rig, "a", ACCESS_STORE, 1);
        rig->tick.mono_ns += second; /* beside the rig's own */
        assert_int_equal(rig_tick(rig), i < 5 ? 0 : -ETIMEDOUT);
    }
}

static void an_error_of_the_sampler_is_told(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    rig->fake.sampling[ACCESS_STORE].error = -EMFILE;
    assert_int_equal(tick(rig), -EMFILE);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), NAN);
    rig->fake.sampling[ACCESS_STORE].error = 0;
    assert_int_equal(tick(rig), 0);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), 0);
}

static void a_dead_sampler_does_not_keep_descriptors(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    rig_tick(rig);
    rig_end(rig, c);
    for (int i = 0; i < 10; i++)
        rig_tick(rig);
    assert_int_equal(rig->fake.n_open, 0);
}

/* The slot's next container is another one, whoever still has samples of the first. */
static void a_slot_changes_hands(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    const uint64_t old = tag(c);
    count(rig, "a", ACCESS_STORE, 100);
    tick(rig);
    rig_end(rig, c);
    tick(rig);
    rig_forget(rig, c);
    rig->n_containers--;
    c = rig_unnamed(rig, "b");
    c->gen = 2;
    rig_forget(rig, c);
    const struct container_diff diff = {.added = {&c, 1}};
    rig->ops->reconcile(rig->collector, &diff);
    rig_name(rig, c);
    count(rig, "b", ACCESS_STORE, 100);
    sample(rig, c, MEDIUM_OTHER, 8, 1);
    sample(rig, c, MEDIUM_NVMM, 8, 1)->owner = old;
    tick(rig);
    assert_is(stores(rig), 0);
    assert_is(rig_value(rig, C "memory_samples", "medium=\"nvmm\""), 0);
}

static void new_names_keep_the_numbers(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_unnamed(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    tick(rig);
    assert_is(stores(rig), NAN);
    rig_name(rig, c);
    count(rig, "a", ACCESS_STORE, 0);
    tick(rig);
    assert_is(stores(rig), 100);
    rig_rename(rig, c, "z");
    tick(rig);
    assert_is(rig_value(rig, C "nvmm_accesses", "container=\"z\""), 100);
    assert_is(rig_value(rig, C "nvmm_accesses", "container=\"a\""), NAN);
}

static void without_file_descriptors_it_says_so_and_tries_again(void **state)
{
    struct rig *rig = *state;
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many");
    rig_container(rig, "a");
    struct container *ended = rig_container(rig, "b");
    tick(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    assert_true(rig->status.open_failures[REASON_FD_LIMIT] >= 2);
    rig->fake.open_error.reason = REASON_OK;
    rig_end(rig, ended);
    assert_int_equal(rig->fake.n_open, 1);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    count(rig, "a", ACCESS_STORE, 1);
    tick(rig);
    assert_is(stores(rig), 0);
}

/* Its stores are counted; it is tried again, and said, until its loads are as well. */
static void loads_alone_that_could_not_be_opened(void **state)
{
    struct rig *rig = *state;
    verdict_set(&rig->fake.open_error, REASON_FD_LIMIT, "too many");
    rig->fake.open_error_of = GROUP_LOADS;
    rig_container(rig, "a");
    struct container *ended = rig_container(rig, "b");
    assert_int_equal(rig->fake.n_open, 2);
    rig_end(rig, ended);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    tick(rig);
    rig->status.wants_reconcile = true;
    rig_nothing_changed(rig);
    assert_int_equal(rig->status.verdict.reason, REASON_FD_LIMIT);
    rig->fake.open_error.reason = REASON_OK;
    rig->status.wants_reconcile = true;
    rig_nothing_changed(rig);
    assert_int_equal(rig->fake.n_open, 2); /* both of a; b is closed */
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
}

/* The same reason, but one of them is everyday. */
static void one_that_is_gone_and_one_that_cannot_be_counted(void **state)
{
    struct rig *rig = *state;
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "cgroup a is gone");
    rig->fake.open_errno = -ESRCH;
    rig_container(rig, "a");
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    verdict_set(&rig->fake.open_error, REASON_NO_DEVICE, "perf cannot count per cgroup");
    rig->fake.open_errno = -ENOENT;
    rig_container(rig, "b");
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    assert_string_equal(rig->status.verdict.words, "perf cannot count per cgroup");
}

static void a_source_that_counts_nothing_is_told(void **state)
{
    struct rig *rig = *state;
    rig_container(rig, "a");
    fake_group(&rig->fake, "a", GROUP_STORES)->no_reading = true;
    assert_false(rig->status.unavailable);
    tick(rig);
    assert_true(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_NO_DEVICE);
    assert_is(stores(rig), NAN);
    assert_is(rig_value(rig, S "samples_lost", ""), NAN);
    fake_group(&rig->fake, "a", GROUP_STORES)->no_reading = false;
    count(rig, "a", ACCESS_STORE, 1);
    tick(rig);
    assert_false(rig->status.unavailable);
    assert_int_equal(rig->status.verdict.reason, REASON_OK);
    assert_is(stores(rig), 0);
}

/* As a recording without sample lines: counts alone are no estimate of 0. */
static void without_samples_there_is_no_estimate(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    rig->fake.sampling[ACCESS_STORE].period = 0;
    count(rig, "a", ACCESS_STORE, 100);
    tick(rig);
    assert_is(stores(rig), NAN);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), NAN);
    assert_true(rig->status.unavailable);
    count(rig, "a", ACCESS_STORE, 100);
    samples(rig, c, MEDIUM_NVMM, 8, 1);
    tick(rig);
    assert_is(stores(rig), 200);
    assert_false(rig->status.unavailable);
}

/* ---- reads for ownership ---- */

static void reads_for_ownership(void **state)
{
    struct rig *rig = *state;
    struct container *c = rig_container(rig, "a");
    count(rig, "a", ACCESS_STORE, 100);
    tick(rig);
    assert_int_equal(rig_series(rig, "container_id=\"000000000000\""), 8);
    struct fake_group *group = fake_group(&rig->fake, "a", GROUP_PMM_RFO);
    fake_group_run(group, 1, second);
    fake_group_add(group, 1, ROLE_PMM_RFO, 12345);
    tick(rig);
    assert_is(rig_value(rig, C "nvmm_rfo_accesses", ""), 12345);
    fake_group_run(group, 0, second);
    fake_group_add(group, 0, ROLE_PMM_RFO, 5);
    rig_end(rig, c);
    tick(rig);
    assert_is(rig_value(rig, C "nvmm_rfo_accesses", ""), 12350);
    assert_int_equal(rig->fake.n_open, 0);
}

static struct verdict probed(bool samples, bool rfo, bool checks, struct collector_status *status)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_init(rig, &pebs_nvmm_collector);
    if (rfo)
        rig_flag(rig, "--collector.pebs_nvmm.rfo");
    if (!samples)
        for (int access = 0; access < ACCESS_KINDS; access++)
            verdict_set(&rig->fake.sampled[access], REASON_NO_DEVICE, "no modules");
    if (!checks)
        verdict_set(&rig->fake.check, REASON_UNSUPPORTED_CPU, "no such event");
    struct verdict why = {0};
    if (pebs_nvmm_collector.probe(&rig->env, &why)) {
        rig_start(rig);
        *status = rig->status;
    } else {
        *status = (struct collector_status){.unavailable = true};
    }
    rig_release(rig);
    free(rig);
    return why;
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    struct collector_status status;
    struct verdict why = probed(false, false, true, &status);
    assert_true(status.unavailable);
    assert_string_equal(why.words, "no modules");
    probed(false, true, false, &status);
    assert_true(status.unavailable);
    probed(false, true, true, &status);
    assert_false(status.unavailable);
    assert_int_equal(status.verdict.reason, REASON_NO_DEVICE);
    assert_non_null(strstr(status.verdict.words, "only reads for ownership"));
    probed(true, true, false, &status);
    assert_int_equal(status.verdict.reason, REASON_UNSUPPORTED_CPU);
    assert_non_null(strstr(status.verdict.words, "reads for ownership are not counted"));
    probed(true, true, true, &status);
    assert_int_equal(status.verdict.reason, REASON_OK);
}

/* ---- cost ---- */

static void a_steady_tick_allocates_nothing(void **state)
{
    struct rig *rig = *state;
    if (!malloc_count_works())
        skip();
    struct container *c = rig_container(rig, "a");
    for (int i = 0; i < 3; i++) {
        count(rig, "a", ACCESS_STORE, 100);
        tick(rig);
    }
    uint64_t before = malloc_count();
    for (uint32_t i = 0; i < 20; i++) {
        count(rig, "a", ACCESS_STORE, 100);
        samples(rig, c, MEDIUM_NVMM, 8, 1000);
        for (size_t k = 0; k < rig->fake.n_samples; k++) /* new threads all the time */
            rig->fake.samples[k].tid = i * 1000 + (uint32_t)k;
        tick(rig);
    }
    assert_int_equal(malloc_count() - before, 0);
    assert_is(stores(rig), 2300);
    assert_is(rig_value(rig, C "nvmm_writer_threads", ""), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(the_worked_number),
        T(all_labels_are_there_from_the_start),
        T(ticks_without_samples_are_carried),
        T(late_samples_meet_their_counts),
        T(samples_of_after_the_reading_are_of_the_next_window),
        T(a_sampler_that_stands_still_loses_nothing),
        T(windows_that_were_discarded),
        cmocka_unit_test_setup_teardown(loads_have_series_of_their_own, setup_loads, teardown),
        T(losses_are_told),
        T(modules_are_counted_where_there_are_some),
        T(writers_of_the_last_second),
        T(more_writers_than_are_kept),
        T(processes_and_threads_are_listed),
        T(a_list_that_is_being_copied_is_not_waited_for),
        T(short_ticks_are_listed_by_the_second),
        cmocka_unit_test_setup_teardown(processes_have_series_when_asked_for, setup_processes,
                                        teardown),
        cmocka_unit_test_setup_teardown(processes_that_stopped_make_room, setup_processes,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_steady_tick_allocates_nothing, setup_processes, teardown),
        T(an_ended_container_waits_for_its_samples),
        T(a_sampler_that_is_stuck_is_told),
        T(a_sampler_is_given_time),
        T(an_error_of_the_sampler_is_told),
        T(a_dead_sampler_does_not_keep_descriptors),
        T(a_slot_changes_hands),
        T(new_names_keep_the_numbers),
        T(parts_of_stores),
        T(without_file_descriptors_it_says_so_and_tries_again),
        cmocka_unit_test_setup_teardown(loads_alone_that_could_not_be_opened, setup_loads,
                                        teardown),
        T(one_that_is_gone_and_one_that_cannot_be_counted),
        T(a_source_that_counts_nothing_is_told),
        T(without_samples_there_is_no_estimate),
        cmocka_unit_test_setup_teardown(reads_for_ownership, setup_rfo, teardown),
        cmocka_unit_test(what_is_missing_is_said),
        T(a_steady_tick_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
