/* What the recorder writes replays to what was read, to the last bit. */
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"
#include "exporter/source/source_set.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/wanderer.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define REPLAYS IE_SOURCE_DIR "/tests/replay/"

/* ---- equality of readings ---- */

static const struct reading_row *row_of_cpu(const struct reading *reading, int32_t cpu)
{
    for (size_t i = 0; i < reading->n; i++)
        if (reading_row(reading, i)->cpu == cpu && reading_row(reading, i)->present)
            return reading_row(reading, i);
    return NULL;
}

static size_t rows_with_values(const struct reading *reading)
{
    size_t n = 0;
    for (size_t i = 0; i < reading->n; i++)
        n += reading_row(reading, i)->present != 0;
    return n;
}

static void assert_same_reading(const struct reading *live, const struct reading *replayed)
{
    assert_int_equal(rows_with_values(live), rows_with_values(replayed));
    for (size_t i = 0; i < live->n; i++) {
        const struct reading_row *row = reading_row(live, i);
        if (!row->present)
            continue;
        const struct reading_row *other = row_of_cpu(replayed, row->cpu);
        assert_non_null(other);
        assert_memory_equal(row, other, live->stride_bytes);
    }
}

static struct reading copy_of(const struct reading *reading)
{
    struct reading copy = *reading;
    copy.rows = malloc(reading->n * reading->stride_bytes + 1);
    memcpy(copy.rows, reading->rows, reading->n * reading->stride_bytes);
    return copy;
}

/* ---- round trips ---- */

struct opened {
    enum scope_kind kind;
    const char *key;
    enum group group;
};

static const struct opened opened[] = {
    {SCOPE_CGROUP, "c1", GROUP_CORE},     {SCOPE_CGROUP, "c1", GROUP_STALLS},
    {SCOPE_CGROUP, "c2", GROUP_CORE},     {SCOPE_CGROUP, "c2", GROUP_ASM_EPOCHS},
    {SCOPE_UNIT, "imc0", GROUP_RPQ},      {SCOPE_THREAD, "p0", GROUP_CORE},
    {SCOPE_CGROUP, "c1", GROUP_ACTIVITY}, {SCOPE_MACHINE, "m", GROUP_ACTIVITY},
};

enum { TICKS = 40 };

/* What a live run saw in each tick. */
struct seen {
    int error[COUNT(opened)];
    struct reading before[COUNT(opened)], after[COUNT(opened)];
    struct probe_reading probes[4];
    size_t n_probes;
};

static void see(struct source_set *set, const group_handle *handles, struct seen *seen)
{
    const struct probe_reading *probes = source_set_probes(set, &seen->n_probes);
    assert_true(seen->n_probes <= COUNT(seen->probes));
    memcpy(seen->probes, probes, seen->n_probes * sizeof *probes);
    for (size_t i = 0; i < COUNT(opened); i++) {
        struct group_window window;
        seen->error[i] = source_set_read(set, handles[i], &window);
        if (seen->error[i])
            continue;
        seen->before[i] = copy_of(window.before);
        seen->after[i] = copy_of(window.after);
    }
}

static void record_live(const char *path, struct seen *seen)
{
    const struct source_unit unit = {.key = "imc0", .kind = "imc", .socket = 1, .imc = 4};
    const struct source_thread thread = {
        .key = "p0", .kind = "probe", .initiator_numa_node = 1, .cpu = 6};
    struct recorder *recorder = recording_start(path);
    struct recording_container c1 = recording_named("c1", "cart-0"),
                               c2 = recording_named("c2", "cart-1");
    group_handle handles[COUNT(opened)];
    struct source *wrapped;

    recorder_unit(recorder, &unit);
    recorder_thread(recorder, &thread);
    recorder_container(recorder, &c1);
    recorder_container(recorder, &c2);
    assert_int_equal(recorder_wrap(recorder, wanderer_new(), &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    for (size_t i = 0; i < COUNT(opened); i++)
        handles[i] = open_key(set, opened[i].kind, opened[i].key, opened[i].group);
    for (uint64_t t = 1; t <= TICKS; t++) {
        const struct tick at = {.number = t, .mono_ns = t * 1000, .wall_ns = 7 * t};
        recorder_tick(recorder, &at);
        assert_int_equal(source_set_begin(set, &at), 0);
        see(set, handles, &seen[t - 1]);
        recorder_flush(recorder);
    }
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);
}

static void compare_replay(const char *path, const struct seen *seen)
{
    struct replay *replay = recording_open(path);
    group_handle handles[COUNT(opened)] = {0};
    struct source *source;
    struct tick at;
    size_t n;

    assert_int_equal(replay_threads(replay, &n)->cpu, 6);
    assert_int_equal(replay_source_new(replay, &source), 0);
    struct source_set *set = set_over(source);
    for (size_t i = 0; i < COUNT(opened); i++)
        handles[i] = open_key(set, opened[i].kind, opened[i].key, opened[i].group);
    for (uint64_t t = 1; t <= TICKS; t++, seen++) {
        struct seen again;
        assert_true(recording_next(replay, &at));
        assert_int_equal(at.number, t);
        assert_int_equal(at.mono_ns, t * 1000);
        assert_int_equal(at.wall_ns, 7 * t);
        assert_int_equal(source_set_begin(set, &at), 0);
        see(set, handles, &again);
        assert_int_equal(again.n_probes, seen->n_probes);
        assert_memory_equal(again.probes, seen->probes, seen->n_probes * sizeof *seen->probes);
        for (size_t i = 0; i < COUNT(opened); i++) {
            assert_int_equal(again.error[i], seen->error[i]);
            if (seen->error[i])
                continue;
            assert_same_reading(&seen->before[i], &again.before[i]);
            assert_same_reading(&seen->after[i], &again.after[i]);
            free(again.before[i].rows);
            free(again.after[i].rows);
        }
    }
    assert_false(recording_next(replay, &at));
    source_set_free(set);
    replay_free(replay);
}

TEST(test_round_trip)
{
    static struct seen seen[TICKS];
    char path[64];
    size_t readings = 0, gaps = 0;

    recording_temporary(path);
    record_live(path, seen);
    compare_replay(path, seen);
    for (size_t t = 0; t < TICKS; t++) {
        for (size_t i = 0; i < COUNT(opened); i++) {
            free(seen[t].before[i].rows);
            free(seen[t].after[i].rows);
            *(seen[t].error[i] ? &gaps : &readings) += 1;
        }
    }
    assert_true(readings > 100 && gaps > 10); /* the comparison compared something */
    unlink(path);
}

/* A recording of a replay says the same as the recording replayed, and a second copy is identical.
 */
static void copy_recording(const char *from, const char *to)
{
    struct replay *replay = recording_open(from);
    struct recorder *recorder;
    struct source *source, *wrapped;
    struct tick at;
    size_t n;
    assert_int_equal(
        recorder_new(to, replay_machine(replay), replay_interval_ns(replay), NULL, &recorder), 0);
    assert_int_equal(replay_source_new(replay, &source), 0);
    assert_int_equal(recorder_wrap(recorder, source, &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    const struct source_unit *units = replay_units(replay, &n);
    for (size_t i = 0; i < n; i++)
        recorder_unit(recorder, &units[i]);
    const struct source_thread *threads = replay_threads(replay, &n);
    for (size_t i = 0; i < n; i++)
        recorder_thread(recorder, &threads[i]);
    bool more = true, first = true;
    for (; more; first = false) {
        if (!first) {
            more = recording_next(replay, &at);
            if (!more)
                break;
            recorder_tick(recorder, &at);
            assert_int_equal(source_set_begin(set, &at), 0);
        }
        const struct replay_container_event *events = replay_container_events(replay, &n);
        for (size_t i = 0; i < n; i++) {
            if (events[i].gone)
                recorder_gone(recorder, events[i].container.key);
            else
                recorder_container(recorder, &events[i].container);
        }
        static const char *const keys[] = {"c1", "c2", "c3"};
        for (size_t k = 0; k < COUNT(keys); k++) {
            for (int group = 0; group < GROUP_COUNT && !first; group++) {
                const struct scope scope = {.kind = SCOPE_CGROUP, .key = keys[k]};
                struct group_window window;
                group_handle handle;
                if (source_set_open(set, &scope, group, &handle, NULL) == 0)
                    source_set_read(set, handle, &window);
            }
        }
        if (!first)
            recorder_flush(recorder);
    }
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);
    replay_free(replay);
}

TEST(test_recording_a_replay)
{
    static const char *const files[] = {"worked.jsonl", "multiplexed.jsonl", "starved.jsonl",
                                        "reset.jsonl",  "idle.jsonl",        "late.jsonl",
                                        "lines.jsonl"};
    for (size_t i = 0; i < COUNT(files); i++) {
        char from[512], once[64], twice[64];
        snprintf(from, sizeof from, REPLAYS "%s", files[i]);
        recording_temporary(once);
        recording_temporary(twice);
        copy_recording(from, once);
        copy_recording(once, twice);
        char *original = recording_contents(from), *a = recording_contents(once),
             *b = recording_contents(twice);
        assert_string_equal(a, b);
        assert_int_equal(occurrences(a, "{\"tick\":"), occurrences(original, "{\"tick\":"));
        assert_int_equal(occurrences(a, "{\"probe\":"), occurrences(original, "{\"probe\":"));
        assert_int_equal(occurrences(a, "{\"gone\":"), occurrences(original, "{\"gone\":"));
        assert_int_equal(occurrences(a, "{\"container\":"),
                         occurrences(original, "{\"container\":"));
        assert_true(occurrences(a, "{\"read\":\"c1\"") > 0);
        free(original);
        free(a);
        free(b);
        unlink(once);
        unlink(twice);
    }
}

TEST(test_facts_are_exact)
{
    char path[64];

    recording_temporary(path);
    assert_int_equal(recorder_free(recording_start(path)), 0);
    struct replay *replay = recording_open(path);
    assert_memory_equal(replay_machine(replay), &recorded_machine, sizeof recorded_machine);
    assert_int_equal(replay_interval_ns(replay), 1000);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    replay_free(replay);
    unlink(path);
}

/* ---- containers ---- */

TEST(test_container_lines)
{
    static const char odd[] = "a \"quoted\" \\ back\n\t\x01 \xc3\xa4 \xf0\x9f\x90\xa7 end";
    char path[64];
    size_t n;
    struct tick at;

    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    struct recording_container start = {.key = "c1",
                                        .cgroup = "/p",
                                        .id = "id",
                                        .namespace_ = "ns",
                                        .pod = odd,
                                        .container = "c",
                                        .image = "im",
                                        .pod_uid = "u",
                                        .runtime = "rt",
                                        .qos_class = "qos",
                                        .pending = true};
    recorder_container(recorder, &start);
    recording_tick(recorder, 1);
    struct recording_container found = recording_named("c2", "within tick 1");
    recorder_container(recorder, &found);
    recorder_flush(recorder);
    struct recording_container between = recording_named("c3", "after tick 1, \xff\xfe");
    recorder_container(recorder, &between);
    recorder_gone(recorder, "c1");
    recording_tick(recorder, 2);
    recorder_gone(recorder, "c2");
    recorder_flush(recorder);
    recorder_gone(recorder, "c3"); /* no tick follows: it belongs to no container */
    assert_int_equal(recorder_free(recorder), 0);

    struct replay *replay = recording_open(path);
    const struct replay_container_event *events = replay_container_events(replay, &n);
    assert_int_equal(n, 1);
    assert_string_equal(events[0].container.pod, odd);
    assert_string_equal(events[0].container.cgroup, "/p");
    assert_string_equal(events[0].container.id, "id");
    assert_string_equal(events[0].container.namespace_, "ns");
    assert_string_equal(events[0].container.container, "c");
    assert_string_equal(events[0].container.image, "im");
    assert_string_equal(events[0].container.pod_uid, "u");
    assert_string_equal(events[0].container.runtime, "rt");
    assert_string_equal(events[0].container.qos_class, "qos");
    assert_true(events[0].container.pending);
    assert_true(recording_next(replay, &at));
    events = replay_container_events(replay, &n);
    assert_int_equal(n, 1);
    assert_string_equal(events[0].container.key, "c2");
    assert_false(events[0].container.pending);
    assert_true(recording_next(replay, &at));
    events = replay_container_events(replay, &n);
    assert_int_equal(n, 3);
    assert_string_equal(events[0].container.key, "c3");
    assert_string_equal(events[0].container.pod, "after tick 1, \xef\xbf\xbd\xef\xbf\xbd");
    assert_true(events[1].gone);
    assert_string_equal(events[1].container.key, "c1");
    assert_true(events[2].gone);
    assert_string_equal(events[2].container.key, "c2");
    assert_false(recording_next(replay, &at));
    replay_free(replay);
    unlink(path);
}

/* Its last reads are the first tick's, so it may not be gone above that. */
TEST(test_gone_before_the_first_tick)
{
    char path[64];
    size_t n;
    struct tick at;

    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    struct recording_container start = recording_named("c1", "p");
    recorder_container(recorder, &start);
    recorder_gone(recorder, "c1");
    recording_tick(recorder, 1);
    recorder_flush(recorder);
    assert_int_equal(recorder_free(recorder), 0);

    struct replay *replay = recording_open(path);
    replay_container_events(replay, &n);
    assert_int_equal(n, 1);
    assert_true(recording_next(replay, &at));
    const struct replay_container_event *events = replay_container_events(replay, &n);
    assert_int_equal(n, 1);
    assert_true(events[0].gone);
    replay_free(replay);
    unlink(path);
}
