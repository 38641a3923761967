/* CPU time, memory and bandwidth in recordings: lines of containers and of the machine, as the
 * source set hands them out. */
#include <unistd.h>

#include "exporter/source/source_set.h"
#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/wanderer.h"

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

TEST(test_containers_and_the_machine)
{
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
TEST(test_a_container_called_host)
{
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

TEST(test_only_activity_of_the_machine)
{
    struct verdict why;
    struct playing p;
    play(&p, HEADER TICK(1));
    assert_true(source_set_check(p.set, SCOPE_MACHINE, GROUP_ACTIVITY, &why));
    assert_false(source_set_check(p.set, SCOPE_MACHINE, GROUP_CORE, &why));
    assert_string_equal(why.words, "the recording has no such counters of whole CPUs");
    stop(&p);
}

/* As a live run writes them: a line for each CPU whose time grew. */
TEST(test_lines_of_the_recorder)
{
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

/* ---- where a container's memory is, and what all together moved ---- */

static void assert_bytes(const struct group_window *window, size_t i, int node, uint64_t bytes)
{
    const struct reading_row *row = reading_row(window->after, i);
    assert_int_equal(row->cpu, node);
    assert_int_equal(row->count[0], bytes);
    assert_int_equal(row->enabled_ns, 0);
}

/* Ticks without a line have no reading; a node without a line keeps what it had. */
TEST(test_pages_of_nodes)
{
    struct group_window window;
    struct playing p;
    play(&p, HEADER CONTAINER("c1") TICK(1) PAGES("c1", 0, 700) PAGES("c1", 3, 300) TICK(2) TICK(3)
                 PAGES("c1", 3, 0));
    group_handle handle = open_key(p.set, SCOPE_CGROUP, "c1", GROUP_PAGES);
    static const int want[] = {0, -ENODATA, 0};
    for (int i = 0; i < 3; i++) {
        advance(&p);
        assert_int_equal(source_set_read(p.set, handle, &window), want[i]);
        if (want[i])
            continue;
        assert_int_equal(window.after->n, 2);
        assert_bytes(&window, 0, 0, 700);
        assert_bytes(&window, 1, 3, i == 0 ? 300 : 0);
    }
    stop(&p);
}

/* A value that is not known keeps its total, which goes on. */
TEST(test_what_the_machine_moved)
{
    struct group_window window;
    struct playing p;
    play(&p,
         HEADER TICK(1) MOVED("\"mbm_total_bytes\":700") TICK(2) MOVED("\"mbm_local_bytes\":5"));
    group_handle handle = open_key(p.set, SCOPE_MACHINE, "machine", GROUP_BANDWIDTH);
    for (int i = 0; i < 2; i++) {
        advance(&p);
        assert_int_equal(source_set_read(p.set, handle, &window), 0);
        const struct reading_row *row = reading_row(window.after, 0);
        assert_int_equal(row->cpu, 2);
        assert_int_equal(row->count[MON_TOTAL_BYTES], 700);
        assert_int_equal(row->present, i ? 1u << MON_LOCAL_BYTES : 1u << MON_TOTAL_BYTES);
    }
    stop(&p);
}

/* What the recorder writes of readings that come now and then. */
TEST(test_pages_of_the_recorder)
{
    char path[64];
    struct source *wrapped;
    struct group_window window;
    struct fake_source fake;
    fake_source_init(&fake);
    struct fake_group *group = fake_group(&fake, "c1", GROUP_PAGES);
    group->count[0][0] = 700;
    group->count[1][0] = 300;
    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    struct recording_container c1 = recording_named("c1", "p");
    recorder_container(recorder, &c1);
    assert_int_equal(recorder_wrap(recorder, &fake.source, &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    group_handle handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_PAGES);
    for (uint64_t t = 1; t <= 4; t++) {
        const struct tick at = {.number = t, .mono_ns = t * 1000, .wall_ns = t};
        group->no_reading = t % 2 == 0;
        group->count[1][0] += t == 3;
        recorder_tick(recorder, &at);
        assert_int_equal(source_set_begin(set, &at), 0);
        (void)source_set_read(set, handle, &window);
        recorder_flush(recorder);
    }
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);
    char *text = recording_contents(path);
    assert_int_equal(occurrences(text, "{\"pages\":\"c1\","), 3);
    assert_int_equal(occurrences(text, PAGES("c1", 0, 700)), 1);
    assert_int_equal(occurrences(text, PAGES("c1", 1, 300)), 1);
    assert_int_equal(occurrences(text, PAGES("c1", 1, 301)), 1);
    assert_int_equal(occurrences(text, "enabled_ns"), 0);
    free(text);
    unlink(path);
}
