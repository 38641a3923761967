/* CPU time in recordings: lines of containers and of the machine, as the source set hands them out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/source/source_set.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/wanderer.h"

#define ACTIVITY(key, more, time) "{\"activity\":\"" key "\"," more "\"cpu_time_ns\":" #time "}\n"

struct playing {
    char path[64];
    struct replay *replay;
    struct source_set *set;
    struct tick tick;
};

static void play(struct playing *p, const char *text)
{
    struct source *source;
    recording_write(p->path, text, strlen(text));
    p->replay = recording_open(p->path);
    assert_int_equal(replay_source_new(p->replay, &source), 0);
    p->set = set_over(source);
}

static void advance(struct playing *p)
{
    assert_true(recording_next(p->replay, &p->tick));
    assert_int_equal(source_set_begin(p->set, &p->tick), 0);
}

static void stop(struct playing *p)
{
    source_set_free(p->set);
    replay_free(p->replay);
    unlink(p->path);
}

/* CPU time in the window, each CPU with all of it as its clocks. */
static uint64_t window_of(struct playing *p, group_handle handle, size_t rows)
{
    struct group_window window;
    assert_int_equal(source_set_read(p->set, handle, &window), 0);
    assert_int_equal(window.after->n, rows);
    assert_int_equal(window.sum->enabled_ns, window.sum->count[0]);
    assert_int_equal(window.sum->running_ns, window.sum->count[0]);
    assert_int_equal(window.sum->reset, 0);
    return window.sum->count[0];
}

static void test_containers_and_the_machine(void **state)
{
    (void)state;
    struct group_window window;
    struct playing p;
    play(&p, HEADER CONTAINER("c1") CONTAINER("c2") TICK(1)               /**/
         ACTIVITY("c1", "\"cpu\":0,", 5) ACTIVITY("c1", "\"cpu\":3,", 70) /**/
         ACTIVITY("c2", "", 1000) ACTIVITY("host", "\"cpu\":0,", 20)      /**/
         ACTIVITY("host", "\"cpu\":3,", 2000)                             /**/
         TICK(2) ACTIVITY("c1", "\"cpu\":3,", 90) ACTIVITY("host", "\"cpu\":3,", 2500) TICK(3));
    group_handle c1 = open_key(p.set, SCOPE_CGROUP, "c1", GROUP_ACTIVITY),
                 c2 = open_key(p.set, SCOPE_CGROUP, "c2", GROUP_ACTIVITY),
                 machine = open_key(p.set, SCOPE_MACHINE, "any", GROUP_ACTIVITY);

    advance(&p);
    assert_int_equal(window_of(&p, c1, 2), 75);
    assert_int_equal(window_of(&p, c2, 1), 1000);
    assert_int_equal(window_of(&p, machine, 2), 2020);
    advance(&p);
    assert_int_equal(window_of(&p, c1, 2), 20);
    assert_int_equal(window_of(&p, machine, 2), 500);
    assert_int_equal(source_set_read(p.set, c2, &window), -ENODATA);
    assert_int_equal(source_set_read(p.set, c1, &window), 0);
    assert_int_equal(reading_row(window.after, 0)->cpu, 0);
    assert_int_equal(reading_row(window.after, 0)->count[0], 5); /* without a line it holds */
    assert_int_equal(reading_row(window.after, 1)->cpu, 3);
    assert_int_equal(reading_row(window.after, 1)->count[0], 90);
    advance(&p);
    assert_int_equal(source_set_read(p.set, machine, &window), -ENODATA);
    stop(&p);
}

/* A container may be called like the machine. Its other counts are its own. */
static void test_a_container_called_host(void **state)
{
    (void)state;
    struct group_window window;
    struct playing p;
    play(&p, HEADER CONTAINER("host") TICK(1) READ("host", "") ACTIVITY("host", "", 7));
    group_handle core = open_key(p.set, SCOPE_CGROUP, "host", GROUP_CORE),
                 time = open_key(p.set, SCOPE_CGROUP, "host", GROUP_ACTIVITY),
                 machine = open_key(p.set, SCOPE_MACHINE, "host", GROUP_ACTIVITY);
    advance(&p);
    assert_int_equal(source_set_read(p.set, core, &window), 0);
    assert_int_equal(source_set_read(p.set, time, &window), -ENODATA);
    assert_int_equal(window_of(&p, machine, 1), 7);
    stop(&p);
}

static void test_only_activity_of_the_machine(void **state)
{
    (void)state;
    struct verdict why;
    struct playing p;
    play(&p, HEADER TICK(1));
    assert_true(source_set_check(p.set, SCOPE_MACHINE, GROUP_ACTIVITY, &why));
    assert_false(source_set_check(p.set, SCOPE_MACHINE, GROUP_CORE, &why));
    assert_string_equal(why.words, "the recording has no such counters of whole CPUs");
    stop(&p);
}

static void test_what_is_wrong(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {HEADER CONTAINER("c1") ACTIVITY("c1", "", 1), ":3: activity: before the first tick"},
        {HEADER ACTIVITY("host", "", 1), ":2: activity: before the first tick"},
        {HEADER TICK(1) ACTIVITY("c1", "", 1),
         ":3: activity: no container, unit or thread line has the key \"c1\""},
        {HEADER TICK(1) ACTIVITY("host", "", 1) ACTIVITY("host", "", 1),
         ":4: activity: a second reading of \"host\" activity in this tick"},
        {HEADER TICK(1) ACTIVITY("host", "", 1) ACTIVITY("host", "\"cpu\":1,", 1),
         ":4: activity: \"host\" activity comes both with and without \"cpu\""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        recording_assert_refused(texts[i][0], texts[i][1]);
}

/* As a live run writes them: a line for each CPU whose time grew. */
static void test_lines_of_the_recorder(void **state)
{
    (void)state;
    char path[64];
    struct source *wrapped;
    struct group_window window;
    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    struct recording_container c1 = recording_named("c1", "p");
    recorder_container(recorder, &c1);
    assert_int_equal(recorder_wrap(recorder, wanderer_new(), &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    group_handle of[] = {open_key(set, SCOPE_CGROUP, "c1", GROUP_ACTIVITY),
                         open_key(set, SCOPE_MACHINE, "m", GROUP_ACTIVITY)};
    for (uint64_t t = 1; t <= 5; t++) {
        const struct tick at = {.number = t, .mono_ns = t * 1000, .wall_ns = t};
        recorder_tick(recorder, &at);
        assert_int_equal(source_set_begin(set, &at), 0);
        for (int i = 0; i < 2; i++)
            (void)source_set_read(set, of[i], &window);
        recorder_flush(recorder);
    }
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);
    char *text = recording_contents(path);
    assert_int_equal(occurrences(text, "{\"read\":"), 0);
    assert_true(occurrences(text, "{\"activity\":\"c1\",\"cpu\":") > 0);
    assert_true(occurrences(text, "{\"activity\":\"host\",\"cpu\":") > 0);
    assert_int_equal(occurrences(text, "enabled_ns"), 0);
    free(text);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containers_and_the_machine),
        cmocka_unit_test(test_a_container_called_host),
        cmocka_unit_test(test_only_activity_of_the_machine),
        cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_lines_of_the_recorder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
