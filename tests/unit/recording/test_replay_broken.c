/* Rejected recordings, with file and line; and recordings that are short but complete. */
#include <unistd.h>

#include "exporter/source/recording/replay.h"
#include "tests/unit/support/recordings.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct broken_case {
    const char *text;
    int line;
    const char *says;
};

static const struct broken_case broken_cases[] = {
    {TICK(1), 1, "the first line must be the header, {\"recording\":1,...}"},
    {"{\"comment\":1}\n" HEADER, 1, "the first line must be the header, {\"recording\":1,...}"},
    {"garbage", 1, "malformed JSON at column"},
    {"{\"recording\":2,\"machine\":{},\"interval_ns\":1}\n", 1,
     "recording version 2 is not supported; only version 1 is"},
    {HEADER HEADER, 2, "a second header"},
    {HEADER "\n" TICK(1), 2, "the line is empty"},
    {HEADER READ("c1", ""), 2, "read: before the first tick"},
    {HEADER "{\"sample\":\"c1\",\"access\":\"load\"}\n", 2, "sample: before the first tick"},
    {HEADER "{\"probe\":{\"initiator_numa_node\":0,\"target_numa_node\":0,\"latency_ns\":1}}\n", 2,
     "probe: before the first tick"},
    {HEADER TICK(1) READ("c1", ""), 3,
     "read: no container, unit or thread line has the key \"c1\""},
    {HEADER CONTAINER("c1") TICK(1) "{\"sample\":\"c2\",\"access\":\"load\"}\n", 4,
     "sample: no container, unit or thread line has the key \"c2\""},
    {HEADER TICK(1) "{\"gone\":\"c1\"}\n", 3, "gone: no container line has the key \"c1\""},
    {HEADER CONTAINER("c1") TICK(1) "{\"gone\":\"c1\"}\n{\"gone\":\"c1\"}\n", 5,
     "gone: \"c1\" is gone already"},
    {HEADER CONTAINER("c1") TICK(1) "{\"gone\":\"c1\"}\n" CONTAINER("c1"), 5,
     "container: \"c1\" is gone in this same tick"},
    {HEADER CONTAINER("c1") TICK(1) "{\"gone\":\"c1\"}\n" TICK(2) READ("c1", ""), 6,
     "read: no container, unit or thread line has the key \"c1\""},
    {HEADER CONTAINER("c1") TICK(1) READ("c1", "") READ("c1", ""), 5,
     "read: a second reading of \"c1\" core in this tick"},
    {HEADER CONTAINER("c1") TICK(1) READ("c1", "\"cpu\":0,") READ("c1", "\"cpu\":1,")
         READ("c1", "\"cpu\":0,"),
     6, "read: a second reading of \"c1\" core in this tick"},
    {HEADER CONTAINER("c1") TICK(1) READ("c1", "") TICK(2) READ("c1", "\"cpu\":0,"), 6,
     "read: \"c1\" core comes both with and without \"cpu\""},
    {HEADER CONTAINER("c1") TICK(1) READ("c1", "\"cpu\":0,") READ("c1", ""), 5,
     "read: \"c1\" core comes both with and without \"cpu\""},
    {HEADER TICK(2) TICK(2), 3, "tick: 2 after 2"},
    {HEADER TICK(2) TICK(1), 3, "tick: 1 after 2"},
    {HEADER TICK(1) "{\"tick\":2,\"mono_ns\":999,\"wall_ns\":1}\n", 3,
     "tick: \"mono_ns\" does not grow (999 after 1000)"},
    {HEADER TICK(1) "{\"tick\":2,\"mono_ns\":1000,\"wall_ns\":1}\n", 3,
     "tick: \"mono_ns\" does not grow (1000 after 1000)"},
    {HEADER TICK(1) "{\"unit\":{\"key\":\"u\",\"kind\":\"imc\",\"socket\":0,\"imc\":0}}\n", 3,
     "unit: allowed only before the first tick"},
    {HEADER TICK(1) "{\"thread\":{\"key\":\"p\",\"kind\":\"probe\",\"initiator_numa_node\":0,"
                    "\"target_numa_node\":0}}\n",
     3, "thread: allowed only before the first tick"},
    {HEADER CONTAINER("u") "{\"unit\":{\"key\":\"u\",\"kind\":\"imc\",\"socket\":0,\"imc\":0}}\n",
     3, "unit: the key \"u\" is in use"},
    {HEADER "{\"unit\":{\"key\":\"u\",\"kind\":\"imc\",\"socket\":0,\"imc\":0}}\n" CONTAINER("u"),
     3, "container: \"u\" is the key of a unit or thread"},
    {HEADER TICK(1) "{\"learned\":\"00\"}\n", 3, "learned: allowed only before the first tick"},
    {HEADER "{\"learned\":\"0\"}\n", 2, "learned: must have at most 262144 bytes as hexadecimal"},
    {HEADER "{\"learned\":\"0G\"}\n", 2, "learned: must have at most 262144 bytes as hexadecimal"},
    {HEADER "{\"learned\":1}\n", 2, "learned: \"learned\" must be"},
    {HEADER CONTAINER("c1") ACTIVITY("c1", "", 1), 3, "activity: before the first tick"},
    {HEADER ACTIVITY("host", "", 1), 2, "activity: before the first tick"},
    {HEADER TICK(1) ACTIVITY("c1", "", 1), 3,
     "activity: no container, unit or thread line has the key \"c1\""},
    {HEADER TICK(1) ACTIVITY("host", "", 1) ACTIVITY("host", "", 1), 4,
     "activity: a second reading of \"host\" activity in this tick"},
    {HEADER TICK(1) ACTIVITY("host", "", 1) ACTIVITY("host", "\"cpu\":1,", 1), 4,
     "activity: \"host\" activity comes both with and without \"cpu\""},
    {HEADER CONTAINER("c1") PAGES("c1", 0, 1), 3, "pages: before the first tick"},
    {HEADER TICK(1) PAGES("c1", 0, 1), 3,
     "pages: no container, unit or thread line has the key \"c1\""},
    {HEADER CONTAINER("c1") TICK(1) PAGES("c1", 0, 1) PAGES("c1", 0, 1), 5,
     "pages: a second reading of \"c1\" pages in this tick"},
    {HEADER MOVED("\"mbm_total_bytes\":1"), 2, "read: before the first tick"},
    /* Not the end that a machine that went down leaves: whole, or the header. */
    {HEADER CONTAINER("c1") TICK(1) "{\"read\":\"c1\",\"group\":\"core\",\"enab\n", 4,
     "malformed JSON at column"},
    {"{\"recording\":1,\"machine\":{", 1, "malformed JSON at column"},
};

/* Plays a file to its end or to its first error, whose message it leaves in 'error'. */
static int play_through(const char *path, char *error, size_t error_size, int *ticks)
{
    struct replay *replay;
    struct tick tick;
    *ticks = 0;
    int got = replay_open(path, &replay, error, error_size);
    if (got)
        return got;
    while ((got = replay_next(replay, &tick, error, error_size)) == 1)
        ++*ticks;
    char again[64];
    assert_int_equal(replay_next(replay, &tick, again, sizeof again), 0);
    replay_free(replay);
    return got;
}

TEST(test_broken_recordings)
{
    for (size_t i = 0; i < COUNT(broken_cases); i++) {
        const struct broken_case *c = &broken_cases[i];
        char path[64], error[256] = "", want[256];
        int ticks;
        recording_write(path, c->text, strlen(c->text));
        snprintf(want, sizeof want, "%s:%d: %s", path, c->line, c->says);
        assert_int_equal(play_through(path, error, sizeof error, &ticks), -EINVAL);
        if (strncmp(error, want, strlen(want)) != 0)
            fail_msg("%s\n  says  %s\n  wants %s", c->text, error, want);
        unlink(path);
    }
}

TEST(test_unreadable_files)
{
    char path[64], error[256];
    int ticks;

    assert_int_equal(play_through("/nonexistent/file", error, sizeof error, &ticks), -ENOENT);
    assert_string_equal(error, "/nonexistent/file: No such file or directory");
    assert_int_equal(play_through("/tmp", error, sizeof error, &ticks), -EISDIR);
    assert_string_equal(error, "/tmp:1: Is a directory");
    recording_write(path, "", 0);
    assert_int_equal(play_through(path, error, sizeof error, &ticks), -EINVAL);
    assert_non_null(strstr(error, ": empty, not a recording"));
    unlink(path);
}

/* Ends without a newline, without a tick, right after a tick: all of that is a recording. */
TEST(test_short_recordings)
{
    static const struct {
        const char *text;
        int ticks;
    } cases[] = {
        {HEADER, 0},
        {HEADER CONTAINER("c1") "{\"gone\":\"c1\"}\n" TICK(1), 1},
        {HEADER TICK(7) TICK(9), 2},
        {HEADER TICK(1) "{\"lost\":3,\"access\":\"load\"}", 1},
        /* Written while the machine went down. */
        {HEADER CONTAINER("c1") TICK(1) "{\"read\":\"c1\",\"group\":\"core\",\"enab", 1},
        {HEADER CONTAINER("c1") TICK(1) TICK(2) "{", 2},
        /* A key may come back in a later tick: another container. */
        {HEADER CONTAINER("c1") TICK(1) READ("c1", "") "{\"gone\":\"c1\"}\n" TICK(2) CONTAINER("c1")
             READ("c1", "\"cpu\":0,"),
         2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[64], error[256] = "";
        int ticks;
        recording_write(path, cases[i].text, strlen(cases[i].text));
        if (play_through(path, error, sizeof error, &ticks))
            fail_msg("%s", error);
        assert_int_equal(ticks, cases[i].ticks);
        unlink(path);
    }
}

/* A line may have 1 MiB, and not a byte more. */
TEST(test_long_lines)
{
    for (size_t extra = 0; extra <= 1; extra++) {
        const char start[] = HEADER TICK(1) "{\"comment\":\"";
        size_t head = strlen(HEADER TICK(1)), len = head + RECORDING_MAX_LINE + extra;
        char path[64], error[256] = "", *text = malloc(len + 64);
        int ticks;
        memset(text, 'x', len);
        memcpy(text, start, strlen(start));
        memcpy(text + len - 2, "\"}\n" TICK(2), strlen("\"}\n" TICK(2)));
        recording_write(path, text, len - 2 + strlen("\"}\n" TICK(2)));
        int code = play_through(path, error, sizeof error, &ticks);
        if (extra) {
            assert_int_equal(code, -EINVAL);
            assert_non_null(strstr(error, ":3: longer than 1048576 bytes"));
        } else {
            assert_int_equal(code, 0);
            assert_int_equal(ticks, 2);
        }
        unlink(path);
        free(text);
    }
}
