/* What the recorder writes replays to what was read, to the last bit. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/source/record.h"
#include "exporter/source/replay.h"
#include "exporter/source/source_set.h"
#include "tests/unit/support/malloc_count.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define REPLAYS IE_SOURCE_DIR "/tests/replay/"

static const struct machine machine = {.microarchitecture = "clx",
                                       .base_frequency_hz = 2100000000.1,
                                       .cache_cycles = 44.123456789012345,
                                       .cas_latency_seconds = 1.43e-8,
                                       .sockets = 2,
                                       .numa_nodes = 3,
                                       .cpus = 48};

static void temporary(char path[64])
{
    strcpy(path, "/tmp/ie-record-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static struct recorder *record_to(const char *path)
{
    struct recorder *recorder;

    assert_int_equal(recorder_new(path, &machine, 1000, NULL, &recorder), 0);
    return recorder;
}

static void tick(struct recorder *recorder, uint64_t number)
{
    const struct tick at = {.number = number, .mono_ns = number * 1000, .wall_ns = ~0ull >> 2};

    recorder_tick(recorder, &at);
}

static struct recording_container named(const char *key, const char *pod)
{
    return (struct recording_container){key, "/a", "0123", "shop", pod,  "cart",
                                        "i", "u",  "",     "",     false};
}

/* The whole file; freed by the caller. */
static char *contents(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;

    assert_non_null(file);
    if (getdelim(&text, &size, '\0', file) < 0 && text)
        text[0] = '\0';
    fclose(file);
    assert_non_null(text);
    return text;
}

static size_t occurrences(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static struct replay *open_replay(const char *path)
{
    struct replay *replay;
    char error[512];

    if (replay_open(path, &replay, error, sizeof error))
        fail_msg("%s", error);
    return replay;
}

static bool next(struct replay *replay, struct tick *out)
{
    char error[512];
    int got = replay_next(replay, out, error, sizeof error);

    if (got < 0)
        fail_msg("%s", error);
    return got == 1;
}

/* ---- a source whose totals wander ---- */

enum { CPUS = 4, MAX_OPEN = 16 };

struct wanderer {
    struct source source;
    enum group group[MAX_OPEN];
    size_t opened, cpus;
    uint64_t tick;
    bool frozen;
};

static uint64_t noise(uint64_t seed)
{
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9ull;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111ebull;
    return seed ^ seed >> 31;
}

static bool wanderer_check(struct source *source, enum scope_kind kind, enum group group,
                           struct verdict *why)
{
    (void)source;
    (void)kind;
    (void)group;
    (void)why;
    return true;
}

static int wanderer_open(struct source *source, const struct scope *scope, enum group group,
                         uint64_t *handle, struct verdict *why)
{
    struct wanderer *self = (struct wanderer *)source;

    if (strcmp(scope->key, "refused") == 0) {
        verdict_set(why, REASON_NO_PERMISSION, "refused");
        return -EACCES;
    }
    assert_true(self->opened < MAX_OPEN);
    self->group[self->opened] = group;
    *handle = self->opened++;
    return 0;
}

static size_t wanderer_width(struct source *source, uint64_t handle)
{
    (void)handle;
    return ((struct wanderer *)source)->cpus;
}

static int wanderer_begin(struct source *source, const struct tick *at)
{
    ((struct wanderer *)source)->tick = at->number;
    return 0;
}

/* CPU 1 wakes in tick 3; some roles are not counted; counts lie anywhere below 2^63. */
static int wanderer_read(struct source *source, uint64_t handle, struct reading *out)
{
    struct wanderer *self = (struct wanderer *)source;
    uint64_t now = self->frozen ? 1 : self->tick;

    if (noise(handle * 1000 + now) % 5 == 0 && !self->frozen)
        return -ENODATA;
    if (out->cap < self->cpus)
        return -ENOSPC;
    out->n = self->cpus;
    for (size_t i = 0; i < out->n; i++) {
        struct reading_row *row = reading_row(out, i);
        uint64_t seed = noise(now + 100 * i + 10000 * handle);
        size_t roles = group_descs[self->group[handle]].n;
        memset(row, 0, out->stride_bytes);
        row->cpu = (int32_t)(i * 3);
        if (i == 1 && now < 3)
            continue;
        row->present = (uint32_t)((1u << roles) - 1) & (handle % 2 ? 0x55u : 0xffu);
        if (i == 2) /* this CPU stands still */
            seed = noise(handle);
        row->enabled_ns = seed >> 1;
        row->running_ns = seed >> 2;
        for (size_t role = 0; role < roles; role++)
            if (row->present >> role & 1)
                row->count[role] = noise(seed + role) >> (1 + seed % 60);
    }
    return 0;
}

static int wanderer_probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct wanderer *self = (struct wanderer *)source;

    assert_true(cap > 0);
    *n = self->tick % 2;
    out[0] = (struct probe_reading){1, 2, (double)noise(self->tick) / 1e17};
    return 0;
}

static void wanderer_close(struct source *source, uint64_t handle)
{
    (void)source;
    (void)handle;
}

static size_t wanderer_counters(struct source *source)
{
    (void)source;
    return 42;
}

static void wanderer_free(struct source *source)
{
    free(source);
}

static const struct source_ops wanderer_ops = {
    .name = "wanderer",
    .check = wanderer_check,
    .open = wanderer_open,
    .width = wanderer_width,
    .begin = wanderer_begin,
    .read = wanderer_read,
    .probes = wanderer_probes,
    .close = wanderer_close,
    .open_counters = wanderer_counters,
    .free = wanderer_free,
};

static struct source *wanderer_new(void)
{
    struct wanderer *self = calloc(1, sizeof *self);

    assert_non_null(self);
    self->source.ops = &wanderer_ops;
    self->cpus = CPUS;
    return &self->source;
}

static struct source_set *set_over(struct source *source)
{
    struct source_set *set = source_set_new(NULL);

    assert_non_null(set);
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        for (int group = 0; group < GROUP_COUNT; group++)
            assert_int_equal(source_set_route(set, kind, group, source), 0);
    assert_int_equal(source_set_route_probes(set, source), 0);
    return set;
}

static group_handle open_key(struct source_set *set, enum scope_kind kind, const char *key,
                             enum group group)
{
    const struct scope scope = {.kind = kind, .key = key, .cgroup_fd = -1};
    group_handle handle = 0;
    struct verdict why;

    assert_int_equal(source_set_open(set, &scope, group, &handle, &why), 0);
    return handle;
}

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
    {SCOPE_CGROUP, "c1", GROUP_CORE}, {SCOPE_CGROUP, "c1", GROUP_STALLS},
    {SCOPE_CGROUP, "c2", GROUP_CORE}, {SCOPE_CGROUP, "c2", GROUP_ASM_EPOCHS},
    {SCOPE_UNIT, "imc0", GROUP_RPQ},  {SCOPE_THREAD, "p0", GROUP_CORE},
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
    const struct unit unit = {.key = "imc0", .kind = "imc", .socket = 1, .imc = 4};
    const struct thread thread = {.key = "p0", .kind = "probe", .initiator_numa_node = 1};
    struct recorder *recorder = record_to(path);
    struct recording_container c1 = named("c1", "cart-0"), c2 = named("c2", "cart-1");
    group_handle handles[COUNT(opened)];
    struct source *wrapped;

    recorder_unit(recorder, &unit);
    recorder_thread(recorder, &thread);
    recorder_container(recorder, &c1);
    recorder_container(recorder, &c2);
    assert_int_equal(record_wrap(recorder, wanderer_new(), &wrapped), 0);
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
    struct replay *replay = open_replay(path);
    group_handle handles[COUNT(opened)] = {0};
    struct source *source;
    struct tick at;

    assert_int_equal(replay_source_new(replay, &source), 0);
    struct source_set *set = set_over(source);
    for (size_t i = 0; i < COUNT(opened); i++)
        handles[i] = open_key(set, opened[i].kind, opened[i].key, opened[i].group);
    for (uint64_t t = 1; t <= TICKS; t++, seen++) {
        struct seen again;
        assert_true(next(replay, &at));
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
    assert_false(next(replay, &at));
    source_set_free(set);
    replay_free(replay);
}

static void test_round_trip(void **state)
{
    (void)state;
    static struct seen seen[TICKS];
    char path[64];
    size_t readings = 0, gaps = 0;

    temporary(path);
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
    struct replay *replay = open_replay(from);
    struct recorder *recorder;
    struct source *source, *wrapped;
    struct tick at;
    size_t n;

    assert_int_equal(
        recorder_new(to, replay_machine(replay), replay_interval_ns(replay), NULL, &recorder), 0);
    assert_int_equal(replay_source_new(replay, &source), 0);
    assert_int_equal(record_wrap(recorder, source, &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    const struct unit *units = replay_units(replay, &n);
    for (size_t i = 0; i < n; i++)
        recorder_unit(recorder, &units[i]);
    const struct thread *threads = replay_threads(replay, &n);
    for (size_t i = 0; i < n; i++)
        recorder_thread(recorder, &threads[i]);
    bool more = true, first = true;
    for (; more; first = false) {
        if (!first) {
            more = next(replay, &at);
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

static void test_recording_a_replay(void **state)
{
    (void)state;
    static const char *const files[] = {"worked.jsonl", "multiplexed.jsonl", "starved.jsonl",
                                        "reset.jsonl",  "idle.jsonl",        "late.jsonl",
                                        "lines.jsonl"};
    for (size_t i = 0; i < COUNT(files); i++) {
        char from[512], once[64], twice[64];

        snprintf(from, sizeof from, REPLAYS "%s", files[i]);
        temporary(once);
        temporary(twice);
        copy_recording(from, once);
        copy_recording(once, twice);
        char *original = contents(from), *a = contents(once), *b = contents(twice);
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

static void test_facts_are_exact(void **state)
{
    (void)state;
    char path[64];

    temporary(path);
    assert_int_equal(recorder_free(record_to(path)), 0);
    struct replay *replay = open_replay(path);
    assert_memory_equal(replay_machine(replay), &machine, sizeof machine);
    assert_int_equal(replay_interval_ns(replay), 1000);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    replay_free(replay);
    unlink(path);
}

/* ---- containers ---- */

static void test_container_lines(void **state)
{
    (void)state;
    static const char odd[] = "a \"quoted\" \\ back\n\t\x01 \xc3\xa4 \xf0\x9f\x90\xa7 end";
    char path[64];
    size_t n;
    struct tick at;

    temporary(path);
    struct recorder *recorder = record_to(path);
    struct recording_container start = {"c1", "/p", "id", "ns",  odd, "c",
                                        "im", "u",  "rt", "qos", true};
    recorder_container(recorder, &start);
    tick(recorder, 1);
    struct recording_container found = named("c2", "within tick 1");
    recorder_container(recorder, &found);
    recorder_flush(recorder);
    struct recording_container between = named("c3", "after tick 1, \xff\xfe");
    recorder_container(recorder, &between);
    recorder_gone(recorder, "c1");
    tick(recorder, 2);
    recorder_gone(recorder, "c2");
    recorder_flush(recorder);
    recorder_gone(recorder, "c3"); /* no tick follows: it happened to nobody */
    assert_int_equal(recorder_free(recorder), 0);

    struct replay *replay = open_replay(path);
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
    assert_true(next(replay, &at));
    events = replay_container_events(replay, &n);
    assert_int_equal(n, 1);
    assert_string_equal(events[0].container.key, "c2");
    assert_false(events[0].container.pending);
    assert_true(next(replay, &at));
    events = replay_container_events(replay, &n);
    assert_int_equal(n, 3);
    assert_string_equal(events[0].container.key, "c3");
    assert_string_equal(events[0].container.pod, "after tick 1, \xef\xbf\xbd\xef\xbf\xbd");
    assert_true(events[1].gone);
    assert_string_equal(events[1].container.key, "c1");
    assert_true(events[2].gone);
    assert_string_equal(events[2].container.key, "c2");
    assert_false(next(replay, &at));
    replay_free(replay);
    unlink(path);
}

/* ---- what is written, and what is not ---- */

static void test_unchanged_rows_are_left_out(void **state)
{
    (void)state;
    char path[64];
    struct source *wrapped;
    struct group_window window;

    temporary(path);
    struct recorder *recorder = record_to(path);
    struct recording_container c1 = named("c1", "p");
    recorder_container(recorder, &c1);
    struct source *inner = wanderer_new();
    ((struct wanderer *)inner)->frozen = true;
    assert_int_equal(record_wrap(recorder, inner, &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    group_handle handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_CORE);
    for (uint64_t t = 1; t <= 10; t++) {
        const struct tick at = {.number = t, .mono_ns = t};
        if (t == 2) /* the rows of the first tick are known, and the buffers are there */
            assert_int_equal(source_set_read(set, handle, &window), 0);
        uint64_t before = malloc_count();
        recorder_tick(recorder, &at);
        assert_int_equal(source_set_begin(set, &at), 0);
        assert_int_equal(source_set_read(set, handle, &window), 0);
        recorder_flush(recorder);
        if (t > 1)
            assert_int_equal(malloc_count(), before);
    }
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);

    /* Three of four CPUs have a reading (one wakes later): three lines, then one in each tick. */
    char *text = contents(path);
    assert_int_equal(occurrences(text, "{\"read\":"), 3 + 9);
    free(text);

    struct replay *replay = open_replay(path);
    struct tick at;
    assert_int_equal(replay_source_new(replay, &wrapped), 0);
    set = set_over(wrapped);
    handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_CORE);
    while (next(replay, &at)) {
        assert_int_equal(source_set_begin(set, &at), 0);
        assert_int_equal(source_set_read(set, handle, &window), 0);
        assert_int_equal(window.after->n, 3);
    }
    source_set_free(set);
    replay_free(replay);
    unlink(path);
}

static void test_readings_outside_of_ticks_are_not_written(void **state)
{
    (void)state;
    char path[64];
    struct source *wrapped;
    uint64_t handle, storage[256];
    struct reading out = {
        .cap = CPUS, .stride_bytes = reading_stride(GROUP_LOADS), .rows = storage};
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "c1"};
    struct verdict why;

    temporary(path);
    struct recorder *recorder = record_to(path);
    struct source *inner = wanderer_new();
    ((struct wanderer *)inner)->frozen = true;
    assert_int_equal(record_wrap(recorder, inner, &wrapped), 0);
    assert_int_equal(wrapped->ops->open(wrapped, &scope, GROUP_LOADS, &handle, &why), 0);
    assert_int_equal(wrapped->ops->read(wrapped, handle, &out), 0);
    assert_int_equal(out.n, CPUS);
    tick(recorder, 1);
    recorder_flush(recorder);
    assert_int_equal(wrapped->ops->read(wrapped, handle, &out), 0);
    wrapped->ops->close(wrapped, handle);
    wrapped->ops->free(wrapped);
    assert_int_equal(recorder_free(recorder), 0);
    char *text = contents(path);
    assert_int_equal(occurrences(text, "{\"read\":"), 0);
    free(text);
    unlink(path);
}

static void test_the_wrapper_is_transparent(void **state)
{
    (void)state;
    static const struct source_ops bare_ops = {
        .name = "bare", .check = wanderer_check, .free = wanderer_free};
    const struct scope refused = {.kind = SCOPE_CGROUP, .key = "refused"};
    char path[64];
    struct source *wrapped;
    struct verdict why = {0};
    uint64_t handle = 77;

    temporary(path);
    struct recorder *recorder = record_to(path);
    assert_int_equal(record_wrap(recorder, wanderer_new(), &wrapped), 0);
    assert_string_equal(wrapped->ops->name, "wanderer");
    assert_int_equal(wrapped->ops->open_counters(wrapped), 42);
    assert_true(wrapped->ops->check(wrapped, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(wrapped->ops->open(wrapped, &refused, GROUP_CORE, &handle, &why), -EACCES);
    assert_int_equal(why.reason, REASON_NO_PERMISSION);
    assert_int_equal(handle, 77);
    wrapped->ops->free(wrapped);

    struct source *bare = calloc(1, sizeof *bare);
    bare->ops = &bare_ops;
    assert_int_equal(record_wrap(recorder, bare, &wrapped), 0);
    assert_null(wrapped->ops->begin);
    assert_null(wrapped->ops->probes);
    assert_null(wrapped->ops->open_counters);
    wrapped->ops->free(wrapped);
    assert_int_equal(recorder_free(recorder), 0);
    assert_int_equal(recorder_free(NULL), 0);
    unlink(path);
}

/* ---- errors ---- */

static void test_unwritable_files(void **state)
{
    (void)state;
    struct recorder *recorder;

    assert_int_equal(recorder_new("/nonexistent/file", &machine, 1, NULL, &recorder), -ENOENT);
    assert_int_equal(recorder_new("/dev/full", &machine, 1, NULL, &recorder), -ENOSPC);
}

/* The file may grow to 4096 bytes: what was read goes on, the log says so once. */
static void test_write_error_stops_the_recording_only(void **state)
{
    (void)state;
    char path[64], said[64];
    struct source *wrapped;
    struct group_window window;
    struct rlimit old, small;
    size_t readings = 0;

    temporary(path);
    temporary(said);
    const struct log log = {.fd = open(said, O_WRONLY | O_APPEND), .level = LOG_LEVEL_INFO};
    assert_true(log.fd >= 0);
    struct recorder *recorder;
    assert_int_equal(recorder_new(path, &machine, 1, &log, &recorder), 0);
    assert_int_equal(record_wrap(recorder, wanderer_new(), &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    struct recording_container c1 = named("c1", "p");
    recorder_container(recorder, &c1);
    group_handle handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_CORE);

    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (uint64_t t = 1; t <= TICKS; t++) {
        const struct tick at = {.number = t, .mono_ns = t};
        recorder_tick(recorder, &at);
        assert_int_equal(source_set_begin(set, &at), 0);
        readings += source_set_read(set, handle, &window) == 0;
        recorder_flush(recorder);
        recorder_gone(recorder, "c1");
    }
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), -EFBIG);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    close(log.fd);

    assert_true(readings > TICKS / 2);
    char *text = contents(said);
    assert_int_equal(occurrences(text, "\n"), 1);
    assert_non_null(strstr(text, "level=error module=record"));
    assert_non_null(strstr(text, path));
    assert_non_null(strstr(text, "stops here: File too large"));
    free(text);
    unlink(path);
    unlink(said);
}

/* A count that the format cannot say is absent, never wrong. */
static int huge_read(struct source *source, uint64_t handle, struct reading *out)
{
    (void)source;
    (void)handle;
    struct reading_row *row = reading_row(out, 0);
    out->n = 1;
    memset(row, 0, out->stride_bytes);
    row->present = 7;
    row->count[0] = INT64_MAX;
    row->count[1] = 1ull << 63;
    row->count[2] = 5;
    return 0;
}

static void test_counts_that_do_not_fit(void **state)
{
    (void)state;
    struct source_ops ops = wanderer_ops;
    char path[64];
    struct source *wrapped;
    struct group_window window;
    const struct tick at = {.number = 1, .mono_ns = 1};
    struct tick replayed;

    temporary(path);
    ops.read = huge_read;
    struct recorder *recorder = record_to(path);
    struct recording_container c1 = named("c1", "p");
    recorder_container(recorder, &c1);
    struct source *inner = wanderer_new();
    inner->ops = &ops;
    assert_int_equal(record_wrap(recorder, inner, &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    group_handle handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_CORE);
    recorder_tick(recorder, &at);
    assert_int_equal(source_set_begin(set, &at), 0);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);

    struct replay *replay = open_replay(path);
    assert_int_equal(replay_source_new(replay, &wrapped), 0);
    set = set_over(wrapped);
    handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_CORE);
    assert_true(next(replay, &replayed));
    assert_int_equal(source_set_read(set, handle, &window), 0);
    const struct reading_row *row = reading_row(window.after, 0);
    assert_int_equal(row->present, 5);
    assert_true(row->count[0] == INT64_MAX);
    assert_int_equal(row->count[2], 5);
    source_set_free(set);
    replay_free(replay);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_recording_a_replay),
        cmocka_unit_test(test_facts_are_exact),
        cmocka_unit_test(test_container_lines),
        cmocka_unit_test(test_unchanged_rows_are_left_out),
        cmocka_unit_test(test_readings_outside_of_ticks_are_not_written),
        cmocka_unit_test(test_the_wrapper_is_transparent),
        cmocka_unit_test(test_unwritable_files),
        cmocka_unit_test(test_write_error_stops_the_recording_only),
        cmocka_unit_test(test_counts_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
