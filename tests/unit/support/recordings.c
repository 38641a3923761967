#include "tests/unit/support/recordings.h"

#include <unistd.h>

#include "tests/unit/support/unit.h"

void recording_write(char path[64], const char *text, size_t len)
{
    strcpy(path, "/tmp/ie-replay-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    close(fd);
}

const struct machine recorded_machine = {
    .microarchitecture = "clx",
    .base_frequency_hz = 2100000000.1,
    .cache_cycles = 44.123456789012345,
    .cache_seconds = 3.1234567890123456e-8,
    .cas_latency_seconds = 1.43e-8,
    .sockets = 2,
    .numa_nodes = 3,
    .cpus = 48,
    .socket_of_cpu = {1, 1, 2, 1, [10] = 2, 2, 2, [MACHINE_CPUS - 1] = 4},
    .numa_node_of_cpu = {0, 3, 3, 1, [40] = 3, [MACHINE_CPUS - 1] = MACHINE_NODES}};

void recording_temporary(char path[64])
{
    strcpy(path, "/tmp/ie-record-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

struct recorder *recording_start(const char *path)
{
    struct recorder *recorder;

    assert_int_equal(recorder_new(path, &recorded_machine, 1000, NULL, &recorder), 0);
    return recorder;
}

void recording_tick(struct recorder *recorder, uint64_t number)
{
    const struct tick at = {.number = number, .mono_ns = number * 1000, .wall_ns = ~0ull >> 2};

    recorder_tick(recorder, &at);
}

struct recording_container recording_named(const char *key, const char *pod)
{
    return (struct recording_container){.key = key,
                                        .cgroup = "/a",
                                        .id = "0123",
                                        .namespace_ = "shop",
                                        .pod = pod,
                                        .container = "cart",
                                        .image = "i",
                                        .pod_uid = "u",
                                        .runtime = "",
                                        .qos_class = ""};
}

/* The whole file; freed by the caller. */
char *recording_contents(const char *path)
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

size_t occurrences(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

struct replay *recording_open(const char *path)
{
    struct replay *replay;
    char error[512];

    if (replay_open(path, &replay, error, sizeof error))
        fail_msg("%s", error);
    return replay;
}

bool recording_next(struct replay *replay, struct tick *out)
{
    char error[512];
    int got = replay_next(replay, out, error, sizeof error);

    if (got < 0)
        fail_msg("%s", error);
    return got == 1;
}

void recording_assert_refused(const char *text, const char *words)
{
    char path[64], error[256] = "";
    struct replay *replay = NULL;
    struct tick tick;
    recording_write(path, text, strlen(text));
    int err = replay_open(path, &replay, error, sizeof error);
    if (!err)
        err = replay_next(replay, &tick, error, sizeof error);
    assert_int_equal(err, -EINVAL);
    assert_string_equal(error + strlen(path), words);
    replay_free(replay);
    unlink(path);
}
