/* A whole recording: its lines one by one, then played through a source set. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exporter/source/recording/replay.h"
#include "exporter/source/source_set.h"
#include "tests/fuzz/fuzz.h"

static void check_line(const char *text, size_t len)
{
    struct recording_line line;
    char error[64] = "";

    if (recording_parse_line(text, len, &line, error, sizeof error)) {
        check(error[0] && strlen(error) < sizeof error); /* no refusal without a reason */
        return;
    }
    if (line.kind == RECORDING_READ) {
        check(line.read.group < GROUP_COUNT && line.read.cpu >= -(line.read.group != GROUP_PAGES));
        check(line.read.present >> group_descs[line.read.group].n == 0);
        for (size_t i = 0; i < GROUP_MAX_ROLES; i++)
            check(line.read.values[i] <= 1ull << 63);
        check(strlen(line.read.key) - 1 < RECORDING_MAX_KEY);
    }
    if (line.kind == RECORDING_SAMPLE) {
        const struct access_sample *sample = &line.sample.sample;
        check(sample->access < ACCESS_KINDS && sample->medium < MEDIA);
        check(sample->size < ACCESS_SIZES);
        check((sample->bytes == 0) == (sample->size != ACCESS_SIZE_KNOWN));
    }
    if (line.kind == RECORDING_LOST)
        check(line.lost.access < ACCESS_KINDS);
    if (line.kind == RECORDING_LEARNED)
        check(strlen(line.learned.hex) % 2 == 0 &&
              strlen(line.learned.hex) <= 2 * RECORDING_LEARNED_PIECE);
    if (line.kind == RECORDING_PROBE)
        check(line.probe.latency_ns > 0);
    if (line.kind == RECORDING_HEADER)
        check(line.header.interval_ns > 0 && line.header.machine.base_frequency_hz >= 0);
    recording_line_release(&line);
}

static void check_lines(const char *text, size_t size)
{
    while (size > 0) {
        const char *newline = memchr(text, '\n', size);
        size_t len = newline ? (size_t)(newline - text) : size;
        check_line(text, len);
        len += newline != NULL;
        text += len;
        size -= len;
    }
}

/* Opens what this tick names, reads everything, closes every other one again. */
static void read_all(struct replay *replay, struct source_set *set, uint64_t tick)
{
    size_t n;
    const struct replay_container_event *events = replay_container_events(replay, &n);

    for (size_t i = 0; i < n; i++) {
        const struct scope scope = {
            .kind = SCOPE_CGROUP, .key = events[i].container.key, .owner = tick + i};
        for (int group = 0; group < GROUP_COUNT; group++) {
            struct group_window window;
            struct verdict why;
            group_handle handle;
            if (source_set_open(set, &scope, group, &handle, &why))
                continue;
            if (source_set_read(set, handle, &window) == 0)
                for (size_t row = 0; row < window.after->n; row++)
                    check(reading_row(window.after, row)->cpu >= -1);
            if ((tick + i) % 2)
                source_set_close(set, handle);
        }
    }
}

/* What runs on the whole machine: no container line names it. */
static void read_machine(struct source_set *set)
{
    const struct scope scope = {.kind = SCOPE_MACHINE, .key = RECORDING_MACHINE_KEY};
    struct group_window window;
    struct verdict why;
    group_handle handle;
    check(source_set_open(set, &scope, GROUP_ACTIVITY, &handle, &why) == 0);
    if (source_set_read(set, handle, &window) == 0)
        check(window.after->n > 0);
}

/* Samples are of scopes that were opened with an owner, and the same for every reader. */
static void read_samples(struct source_set *set)
{
    struct sampling sampling;
    size_t n, again;

    for (int access = 0; access < ACCESS_KINDS; access++)
        source_set_sampling(set, (enum access)access, &sampling);
    const struct access_sample *samples = source_set_read_samples(set, &n);
    for (size_t i = 0; i < n; i++)
        check(samples[i].owner != 0);
    check(source_set_read_samples(set, &again) == samples && again == n);
}

static void play(const char *path)
{
    struct replay *replay;
    struct source *source;
    char error[256] = "";
    struct tick tick, last = {0};
    int got;

    if (replay_open(path, &replay, error, sizeof error)) {
        check(strncmp(error, path, strlen(path)) == 0);
        return;
    }
    check(replay_source_new(replay, &source) == 0);
    struct source_set *set = source_set_new(NULL);
    check(set != NULL);
    for (int group = 0; group < GROUP_COUNT; group++)
        check(source_set_route(set, SCOPE_CGROUP, group, source) == 0);
    check(source_set_route(set, SCOPE_MACHINE, GROUP_ACTIVITY, source) == 0);
    check(source_set_route_probes(set, source) == 0);
    check(source_set_route_samples(set, source) == 0);
    read_all(replay, set, 0);
    while ((got = replay_next(replay, &tick, error, sizeof error)) == 1) {
        check(tick.number > last.number && (last.number == 0 || tick.mono_ns > last.mono_ns));
        check(source_set_begin(set, &tick) == 0);
        read_all(replay, set, tick.number);
        read_samples(set);
        read_machine(set);
        last = tick;
    }
    check(got == 0 || strncmp(error, path, strlen(path)) == 0);
    source_set_free(set);
    replay_free(replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    int fd = memfd_create("recording", MFD_CLOEXEC);

    check(fd >= 0);
    check(write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    check_lines((const char *)data, size);
    play(path);
    close(fd);
    return 0;
}
