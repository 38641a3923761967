/* What the recorder writes, what it leaves out, and what happens when it cannot write. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"
#include "exporter/source/source_set.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/wanderer.h"

enum { TICKS = 40 };

/* ---- what is written, and what is not ---- */

static void see_no_line(void *context, const struct recording_line *line)
{
}

/* Who has no room for the fifth tick. */
static bool see_flush(void *context)
{
    return ++*(int *)context != 5;
}

TEST(test_unchanged_rows_are_left_out)
{
    char path[64];
    int flushed = 0;
    const struct recorder_sink sink = {see_no_line, see_flush, &flushed};
    struct source *wrapped;
    struct group_window window;

    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    struct recording_container c1 = recording_named("c1", "p");
    recorder_container(recorder, &c1);
    recorder_tee(recorder, &sink);
    struct source *inner = wanderer_new();
    ((struct wanderer *)inner)->frozen = true;
    assert_int_equal(recorder_wrap(recorder, inner, &wrapped), 0);
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

    /* Three of four CPUs have a reading (one wakes later): three lines, then one in each tick; but
     * again three after a tick that somebody could not take. */
    char *text = recording_contents(path);
    assert_int_equal(occurrences(text, "{\"read\":"), 3 + 9 + 2);
    free(text);

    struct replay *replay = recording_open(path);
    struct tick at;
    assert_int_equal(replay_source_new(replay, &wrapped), 0);
    set = set_over(wrapped);
    handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_CORE);
    while (recording_next(replay, &at)) {
        assert_int_equal(source_set_begin(set, &at), 0);
        assert_int_equal(source_set_read(set, handle, &window), 0);
        assert_int_equal(window.after->n, 3);
    }
    source_set_free(set);
    replay_free(replay);
    unlink(path);
}

TEST(test_readings_outside_of_ticks_are_not_written)
{
    char path[64];
    struct source *wrapped;
    uint64_t handle, storage[256];
    struct reading out = {
        .cap = WANDERER_CPUS, .stride_bytes = reading_stride(GROUP_LOADS), .rows = storage};
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "c1"};
    struct verdict why;

    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    struct source *inner = wanderer_new();
    ((struct wanderer *)inner)->frozen = true;
    assert_int_equal(recorder_wrap(recorder, inner, &wrapped), 0);
    assert_int_equal(wrapped->ops->open(wrapped, &scope, GROUP_LOADS, &handle, &why), 0);
    assert_int_equal(wrapped->ops->read(wrapped, handle, &out), 0);
    assert_int_equal(out.n, WANDERER_CPUS);
    recording_tick(recorder, 1);
    recorder_flush(recorder);
    assert_int_equal(wrapped->ops->read(wrapped, handle, &out), 0);
    wrapped->ops->close(wrapped, handle);
    wrapped->ops->free(wrapped);
    assert_int_equal(recorder_free(recorder), 0);
    char *text = recording_contents(path);
    assert_int_equal(occurrences(text, "{\"read\":"), 0);
    free(text);
    unlink(path);
}

TEST(test_the_wrapper_is_transparent)
{
    const struct source_ops bare_ops = {
        .name = "bare", .check = wanderer_ops.check, .free = wanderer_ops.free};
    const struct scope refused = {.kind = SCOPE_CGROUP, .key = "refused"};
    char path[64];
    struct source *wrapped;
    struct verdict why = {0};
    uint64_t handle = 77;

    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    assert_int_equal(recorder_wrap(recorder, wanderer_new(), &wrapped), 0);
    assert_string_equal(wrapped->ops->name, "wanderer");
    assert_int_equal(wrapped->ops->open_counters(wrapped), 42);
    assert_true(wrapped->ops->check(wrapped, SCOPE_CGROUP, GROUP_CORE, &why));
    assert_int_equal(wrapped->ops->open(wrapped, &refused, GROUP_CORE, &handle, &why), -EACCES);
    assert_int_equal(why.reason, REASON_NO_PERMISSION);
    assert_int_equal(handle, 77);
    wrapped->ops->free(wrapped);

    struct source *bare = calloc(1, sizeof *bare);
    bare->ops = &bare_ops;
    assert_int_equal(recorder_wrap(recorder, bare, &wrapped), 0);
    assert_null(wrapped->ops->begin);
    assert_null(wrapped->ops->probes);
    assert_null(wrapped->ops->open_counters);
    wrapped->ops->free(wrapped);
    assert_int_equal(recorder_free(recorder), 0);
    assert_int_equal(recorder_free(NULL), 0);
    unlink(path);
}

TEST(test_out_of_memory)
{
    if (!malloc_fail(0))
        skip();
    char path[64];
    struct source *wrapped;
    const struct scope scope = {.kind = SCOPE_CGROUP, .key = "c1", .owner = 5};
    struct verdict why;
    uint64_t handle = 77;
    int err = -ENOMEM, tries = 0;

    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    assert_int_equal(recorder_wrap(recorder, wanderer_new(), &wrapped), 0);
    for (; err; tries++) {
        malloc_fail((uint64_t)tries + 1);
        err = wrapped->ops->open(wrapped, &scope, GROUP_CORE, &handle, &why);
        malloc_fail(0);
        if (!err)
            break;
        assert_int_equal(err, -ENOMEM);
        assert_int_equal(handle, 77);
        assert_int_equal(why.reason, REASON_NO_DEVICE);
        assert_non_null(strstr(why.words, "out of memory"));
    }
    assert_true(tries > 1);
    wrapped->ops->close(wrapped, handle);
    wrapped->ops->free(wrapped);
    assert_int_equal(recorder_free(recorder), 0);
    unlink(path);
}

/* ---- errors ---- */

TEST(test_unwritable_files)
{
    struct recorder *recorder;

    assert_int_equal(recorder_new("/nonexistent/file", &recorded_machine, 1, NULL, &recorder),
                     -ENOENT);
    assert_int_equal(recorder_new("/dev/full", &recorded_machine, 1, NULL, &recorder), -ENOTSUP);
    assert_non_null(strstr(recorder_why(-ENOTSUP), "regular file"));
}

/* What a name may lead to besides a file of our own; none of it is touched, nothing waits. */
TEST(test_only_a_file_of_our_own)
{
    char path[64], name[80];
    struct recorder *recorder;
    struct stat st;

    recording_temporary(path);
    snprintf(name, sizeof name, "%s.other", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("precious", file);
    fclose(file);
    assert_int_equal(symlink(path, name), 0);
    assert_int_equal(recorder_new(name, &recorded_machine, 1, NULL, &recorder), -ELOOP);
    unlink(name);
    assert_int_equal(link(path, name), 0);
    assert_int_equal(recorder_new(name, &recorded_machine, 1, NULL, &recorder), -EPERM);
    unlink(name);
    assert_int_equal(mkfifo(name, 0600), 0);
    alarm(60); /* who waits for a reader fails */
    assert_int_equal(recorder_new(name, &recorded_machine, 1, NULL, &recorder), -ENOTSUP);
    int reader = open(name, O_RDONLY | O_NONBLOCK);
    assert_int_equal(recorder_new(name, &recorded_machine, 1, NULL, &recorder), -ENOTSUP);
    alarm(0);
    close(reader);
    unlink(name);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(recorder_new(path, &recorded_machine, 1, NULL, &recorder), -EPERM);
        assert_int_equal(chown(path, 0, 0), 0);
    }
    char *text = recording_contents(path);
    assert_string_equal(text, "precious");
    free(text);

    /* Our own is emptied, and closed to others. */
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(recorder_new(path, &recorded_machine, 1, NULL, &recorder), 0);
    assert_int_equal(recorder_free(recorder), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    text = recording_contents(path);
    assert_null(strstr(text, "precious"));
    free(text);
    unlink(path);
}

/* How many ticks a replay of it gives. */
static size_t replayed_ticks(const char *path)
{
    struct replay *replay = recording_open(path);
    struct tick at;
    size_t n = 0;
    while (recording_next(replay, &at))
        n++;
    replay_free(replay);
    return n;
}

/* The file has whole ticks only, also when a tick is written in several pieces; by our own limit
 * and by a file system's. */
static void check_whole_ticks(bool own)
{
    enum { LIMIT = 700 << 10 };
    char path[64];
    struct rlimit old, small;
    recording_temporary(path);
    struct recorder *recorder = recording_start(path);
    struct recording_container c1 = recording_named("c1", "p");
    const struct probe_reading probe = {.latency_ns = 81.5, .cpu = 1};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = old.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    if (own)
        recorder_limit(recorder, LIMIT);
    else
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    recorder_container(recorder, &c1);
    for (uint64_t t = 1; t <= 5; t++) {
        recording_tick(recorder, t);
        for (int i = 0; i < 5000; i++) /* more than one piece, less than the limit */
            recorder_probe(recorder, &probe);
        recorder_flush(recorder);
        assert_int_equal(recorder_is_active(recorder), t <= 1);
    }
    assert_int_equal(recorder_free(recorder), -EFBIG);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_in_range(st.st_size, LIMIT / 2, LIMIT);
    assert_int_equal(replayed_ticks(path), 1);
    char *text = recording_contents(path);
    assert_int_equal(occurrences(text, "{\"probe\""), 5000);
    free(text);
    unlink(path);
}

TEST(test_a_recording_that_stops_has_whole_ticks)
{
    check_whole_ticks(true);
    check_whole_ticks(false);
}

/* The file may grow to 4096 bytes: what was read goes on, the log says so once. */
TEST(test_write_error_stops_the_recording_only)
{
    char path[64], said[64];
    struct source *wrapped;
    struct group_window window;
    struct rlimit old, small;
    size_t readings = 0;

    recording_temporary(path);
    recording_temporary(said);
    const struct log log = {.fd = open(said, O_WRONLY | O_APPEND), .level = LOG_LEVEL_INFO};
    assert_true(log.fd >= 0);
    struct recorder *recorder;
    assert_int_equal(recorder_new(path, &recorded_machine, 1, &log, &recorder), 0);
    assert_int_equal(recorder_wrap(recorder, wanderer_new(), &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    struct recording_container c1 = recording_named("c1", "p");
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
    char *text = recording_contents(said);
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
    struct reading_row *row = reading_row(out, 0);
    out->n = 1;
    memset(row, 0, out->stride_bytes);
    row->present = 7;
    row->count[0] = INT64_MAX;
    row->count[1] = 1ull << 63;
    row->count[2] = 5;
    return 0;
}

TEST(test_counts_that_do_not_fit)
{
    struct source_ops ops = wanderer_ops;
    char path[64];
    struct source *wrapped;
    struct group_window window;
    const struct tick at = {.number = 1, .mono_ns = 1};
    struct tick replayed;

    recording_temporary(path);
    ops.read = huge_read;
    struct recorder *recorder = recording_start(path);
    struct recording_container c1 = recording_named("c1", "p");
    recorder_container(recorder, &c1);
    struct source *inner = wanderer_new();
    inner->ops = &ops;
    assert_int_equal(recorder_wrap(recorder, inner, &wrapped), 0);
    struct source_set *set = set_over(wrapped);
    group_handle handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_CORE);
    recorder_tick(recorder, &at);
    assert_int_equal(source_set_begin(set, &at), 0);
    assert_int_equal(source_set_read(set, handle, &window), 0);
    source_set_free(set);
    assert_int_equal(recorder_free(recorder), 0);

    struct replay *replay = recording_open(path);
    assert_int_equal(replay_source_new(replay, &wrapped), 0);
    set = set_over(wrapped);
    handle = open_key(set, SCOPE_CGROUP, "c1", GROUP_CORE);
    assert_true(recording_next(replay, &replayed));
    assert_int_equal(source_set_read(set, handle, &window), 0);
    const struct reading_row *row = reading_row(window.after, 0);
    assert_int_equal(row->present, 5);
    assert_true(row->count[0] == INT64_MAX);
    assert_int_equal(row->count[2], 5);
    source_set_free(set);
    replay_free(replay);
    unlink(path);
}
