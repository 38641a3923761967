/* Where a container's memory is: what a recording says of it, and what is written of it; and what
 * all together moved, which is read as a container's is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/source/source_set.h"
#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/recordings.h"

#define PAGES(key, node, bytes)                                                                    \
    "{\"pages\":\"" key "\",\"numa_node\":" #node ",\"bytes\":" #bytes "}\n"

static struct source_set *set_of(struct source *source)
{
    struct source_set *set = source_set_new(NULL);
    assert_non_null(set);
    assert_int_equal(source_set_route(set, SCOPE_CGROUP, GROUP_PAGES, source), 0);
    return set;
}

static group_handle open_pages(struct source_set *set)
{
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "c1", .cgroup_fd = -1};
    group_handle handle;
    assert_int_equal(source_set_open(set, &scope, GROUP_PAGES, &handle, NULL), 0);
    return handle;
}

static void assert_bytes(const struct group_window *window, size_t i, int node, uint64_t bytes)
{
    const struct reading_row *row = reading_row(window->after, i);
    assert_int_equal(row->cpu, node);
    assert_int_equal(row->count[0], bytes);
    assert_int_equal(row->enabled_ns, 0);
}

/* Ticks without a line have no reading; a node without a line keeps what it had. */
static void lines_of_nodes(void **state)
{
    (void)state;
    static const char text[] = HEADER CONTAINER("c1") TICK(1) PAGES("c1", 0, 700)
        PAGES("c1", 3, 300) TICK(2) TICK(3) PAGES("c1", 3, 0);
    char path[64];
    struct tick tick;
    struct source *source;
    struct group_window window;
    recording_write(path, text, strlen(text));
    struct replay *replay = recording_open(path);
    assert_int_equal(replay_source_new(replay, &source), 0);
    struct source_set *set = set_of(source);
    group_handle handle = open_pages(set);
    static const int want[] = {0, -ENODATA, 0};
    for (int i = 0; i < 3; i++) {
        assert_true(recording_next(replay, &tick));
        assert_int_equal(source_set_begin(set, &tick), 0);
        assert_int_equal(source_set_read(set, handle, &window), want[i]);
        if (want[i])
            continue;
        assert_int_equal(window.after->n, 2);
        assert_bytes(&window, 0, 0, 700);
        assert_bytes(&window, 1, 3, i == 0 ? 300 : 0);
    }
    source_set_free(set);
    replay_free(replay);
    unlink(path);
}

static void what_is_wrong(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {HEADER CONTAINER("c1") PAGES("c1", 0, 1), ":3: pages: before the first tick"},
        {HEADER TICK(1) PAGES("c1", 0, 1),
         ":3: pages: no container, unit or thread line has the key \"c1\""},
        {HEADER CONTAINER("c1") TICK(1) PAGES("c1", 0, 1) PAGES("c1", 0, 1),
         ":5: pages: a second reading of \"c1\" pages in this tick"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        recording_assert_refused(texts[i][0], texts[i][1]);
}

#define MOVED(values)                                                                              \
    "{\"read\":\"host\",\"group\":\"bandwidth\",\"cpu\":2,\"enabled_ns\":5000,"                    \
    "\"running_ns\":5000,\"values\":{" values "}}\n"

/* A value that is not known keeps its total, which goes on. */
static void what_the_machine_moved(void **state)
{
    (void)state;
    static const char text[] =
        HEADER TICK(1) MOVED("\"mbm_total_bytes\":700") TICK(2) MOVED("\"mbm_local_bytes\":5");
    const struct scope scope = {.kind = SCOPE_MACHINE, .key = "machine", .cgroup_fd = -1};
    char path[64];
    struct tick tick;
    struct source *source;
    struct group_window window;
    group_handle handle;
    recording_write(path, text, strlen(text));
    struct replay *replay = recording_open(path);
    assert_int_equal(replay_source_new(replay, &source), 0);
    struct source_set *set = source_set_new(NULL);
    assert_int_equal(source_set_route(set, SCOPE_MACHINE, GROUP_BANDWIDTH, source), 0);
    assert_int_equal(source_set_open(set, &scope, GROUP_BANDWIDTH, &handle, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(recording_next(replay, &tick));
        assert_int_equal(source_set_begin(set, &tick), 0);
        assert_int_equal(source_set_read(set, handle, &window), 0);
        const struct reading_row *row = reading_row(window.after, 0);
        assert_int_equal(row->cpu, 2);
        assert_int_equal(row->count[MON_TOTAL_BYTES], 700);
        assert_int_equal(row->present, i ? 1u << MON_LOCAL_BYTES : 1u << MON_TOTAL_BYTES);
    }
    source_set_free(set);
    replay_free(replay);
    unlink(path);
    recording_assert_refused(HEADER MOVED("\"mbm_total_bytes\":1"),
                             ":2: read: before the first tick");
}

/* What the recorder writes of readings that come now and then. */
static void lines_of_the_recorder(void **state)
{
    (void)state;
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
    struct source_set *set = set_of(wrapped);
    group_handle handle = open_pages(set);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_nodes),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(what_the_machine_moved),
        cmocka_unit_test(lines_of_the_recorder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
