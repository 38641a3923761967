/*
 * What the black box costs: bench_blackbox CONTAINERS CPUS SECONDS
 *
 * Each container runs on so many CPUs; in each of the ticks, a second apart, its core group is read
 * on each of them, and what it waits for. Together they run as much as the node's CPUs can. Prints
 * one line of JSON: the CPU microseconds that the loop pays for a tick per container, what is held
 * in memory at most, of how many seconds at least once something had to go, and how many ticks
 * found no room.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/blackbox/blackbox.h"
#include "tests/bench/bench.h"

static uint64_t random_state = 1;

static uint64_t draw(uint64_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (random_state >> 33) % below;
}

enum { NODE_CPUS = 128 };
static uint64_t sharers = 1; /* of a CPU */

/* Its part of a second of a busy core: counts as such a one has them, with as many random
 * digits. */
static void advance(struct recording_read *read)
{
    uint64_t ran = (300000000 + draw(700000000)) / sharers;
    read->enabled_ns += ran;
    read->running_ns += ran;
    for (size_t i = 0; i < group_descs[read->group].n; i++)
        read->values[i] += draw((i < 3 ? UINT64_C(3000000000) : 30000000) / sharers);
}

/* Of what it waits for little changes. */
static void advance_waits(struct recording_read *read)
{
    for (size_t i = 0; i < 3; i++)
        read->values[i] += draw(1000000);
}

static struct recording_read *make(size_t containers, size_t cpus, char (*keys)[32])
{
    struct recording_read *rows = calloc(containers * (cpus + 1), sizeof *rows);
    must(rows != NULL, "memory");
    for (size_t c = 0; c < containers; c++) {
        snprintf(keys[c], sizeof keys[c], "c%zu.1", c);
        for (size_t i = 0; i <= cpus; i++) {
            struct recording_read *row = &rows[c * (cpus + 1) + i];
            row->key = keys[c];
            row->group = i == cpus ? GROUP_WAITS : GROUP_CORE;
            row->cpu = i == cpus ? -1 : (int)((c * cpus + i) % NODE_CPUS);
            row->present = (1u << group_descs[row->group].n) - 1;
        }
    }
    return rows;
}

static void introduce(struct recorder *recorder, size_t containers, char (*keys)[32])
{
    for (size_t c = 0; c < containers; c++) {
        const struct recording_container container = {
            .key = keys[c],
            .cgroup = "/kubepods.slice/kubepods-burstable.slice/"
                      "kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/"
                      "cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef.scope",
            .id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            .namespace_ = "some-namespace",
            .pod = "some-service-5d78c9869d-4xg9x",
            .container = "some-container",
            .image = "registry.example.org/some/image:v1.2.3",
            .pod_uid = "01234567-89ab-cdef-0123-456789abcdef",
            .runtime = "containerd",
            .qos_class = "burstable"};
        recorder_container(recorder, &container);
    }
}

static void tick(struct recorder *recorder, struct recording_read *rows, size_t n, uint64_t number,
                 double *us)
{
    const struct tick at = {.number = number, .mono_ns = number * UINT64_C(1000000000)};
    for (size_t i = 0; i < n; i++)
        (rows[i].group == GROUP_WAITS ? advance_waits : advance)(&rows[i]);
    double before = cpu_us();
    recorder_tick(recorder, &at);
    for (size_t i = 0; i < n; i++)
        recorder_line(recorder, &(struct recording_line){.kind = RECORDING_READ, .read = rows[i]});
    recorder_flush(recorder);
    *us = cpu_us() - before;
}

/* A second of real time is not needed, only that it keeps up. */
static void wait_for(struct blackbox *blackbox, uint64_t number, struct blackbox_report *report,
                     uint64_t *dropped)
{
    bool active;
    blackbox_read(blackbox, report, dropped, &active);
    must(active, "the scribe has ended");
    if (number % 8 == 0)
        usleep(60000);
}

int main(int argc, char **argv)
{
    static struct blackbox_report report;
    static const struct machine machine = {.cpus = NODE_CPUS};
    must(argc == 4, "bench_blackbox CONTAINERS CPUS SECONDS");
    size_t containers = strtoul(argv[1], NULL, 10), cpus = strtoul(argv[2], NULL, 10);
    size_t seconds = strtoul(argv[3], NULL, 10), n = containers * (cpus + 1);
    sharers = n <= NODE_CPUS ? 1 : n / NODE_CPUS;
    char directory[] = "/tmp/bench_blackbox.XXXXXX", error[256] = "";
    const struct log log = {.fd = STDERR_FILENO, .level = LOG_LEVEL_ERROR};
    struct blackbox *blackbox;
    struct recorder *recorder;
    int status;
    must(mkdtemp(directory) != NULL, "a directory");
    const struct blackbox_config config = {
        .directory = directory, .max_files = 2, .max_bytes = 1 << 20, .log = &log};
    int err = blackbox_fork(&config, &blackbox, &status, error, sizeof error);
    if (err > 0)
        return status;
    must(err == 0, error);
    must(recorder_new(NULL, &machine, 1000000000, &log, &recorder) == 0, "a recorder");
    blackbox_begin(blackbox, &machine, 1000000000);
    recorder_tee(recorder, blackbox_sink(blackbox));
    char(*keys)[32] = calloc(containers, sizeof *keys);
    double *us = calloc(seconds, sizeof *us);
    must(keys && us, "memory");
    struct recording_read *rows = make(containers, cpus, keys);
    introduce(recorder, containers, keys);
    uint64_t dropped = 0, most = 0, held_ns = 0, least_ns = UINT64_MAX;
    for (uint64_t number = 1; number <= seconds; number++) {
        tick(recorder, rows, n, number, &us[number - 1]);
        wait_for(blackbox, number, &report, &dropped);
        most = report.ring_bytes > most ? report.ring_bytes : most;
        if (report.ring_span_ns < held_ns && report.ring_span_ns < least_ns)
            least_ns = report.ring_span_ns;
        held_ns = report.ring_span_ns;
    }
    printf("{\"containers\":%zu,\"cpus\":%zu,\"tick_us_per_container\":%.3f,"
           "\"memory_mib\":%.1f,\"held_seconds\":%.0f,\"ticks_dropped\":%llu}\n",
           containers, cpus, median(us, seconds) / (double)containers, (double)most / (1 << 20),
           (double)(least_ns < held_ns ? least_ns : held_ns) / 1e9, (unsigned long long)dropped);
    recorder_free(recorder);
    blackbox_free(blackbox);
    free(rows);
    free(keys);
    free(us);
    return rmdir(directory) == 0 ? 0 : 1;
}
