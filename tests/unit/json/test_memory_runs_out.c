/* Without memory a file is not called wrong: that would end the exporter for good. */
#include <unistd.h>

#include "collectors/contract/thresholds.h"
#include "exporter/source/event/file.h"
#include "exporter/source/recording/replay.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

static int load_thresholds(const char *path, char *error, size_t size)
{
    struct thresholds list = {0};
    int err = thresholds_load(path, &list, error, size);
    thresholds_release(&list);
    return err;
}

static int load_events(const char *path, char *error, size_t size)
{
    struct events_file file = {0};
    int err = events_file_load(path, &file, error, size);
    if (!err)
        events_file_release(&file);
    return err;
}

static int load_recording(const char *path, char *error, size_t size)
{
    struct replay *replay = NULL;
    int err = replay_open(path, &replay, error, size);
    if (!err)
        replay_free(replay);
    return err;
}

/* Each of its allocations fails once. */
static void check(int (*load)(const char *, char *, size_t), const char *text)
{
    char path[] = "/tmp/memory-XXXXXX", error[512];
    int fd = mkstemp(path), err = 0;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    assert_int_equal(load(path, error, sizeof error), 0);
    unsigned refused = 0;
    for (uint64_t n = 1; n <= 300; n++) { /* more than any of them makes */
        malloc_fail(n);
        err = load(path, error, sizeof error);
        malloc_fail(0);
        refused += err == -ENOMEM;
        if (err && err != -ENOMEM)
            fail_msg("allocation %u fails: %d, %s", (unsigned)n, err, error);
    }
    assert_int_equal(err, 0);
    assert_in_range(refused, 1, 200);
    unlink(path);
}

TEST(no_file_is_called_wrong)
{
    if (!malloc_fail(0))
        skip();
    check(load_thresholds,
          "[{\"namespace\":\"shop\",\"pod\":\"cart-*\",\"latency_seconds\":1e-7}]");
    check(load_events, "{\"machine\":{\"base_frequency_hz\":2.1e9,\"cache_cycles\":44},"
                       "\"roles\":{\"cycles\":\"software:cpu-clock\"}}");
    check(load_recording,
          "{\"recording\":1,\"machine\":{\"microarchitecture\":\"clx\",\"base_frequency_hz\":2.1e9,"
          "\"cache_cycles\":44,\"sockets\":1,\"numa_nodes\":1,\"cpus\":2},\"interval_ns\":"
          "1000000000}\n"
          "{\"container\":{\"key\":\"c1\",\"cgroup\":\"/c1\",\"id\":\"\"}}\n"
          "{\"tick\":1,\"mono_ns\":1000000000,\"wall_ns\":1790000000000000000}\n");
}
