/*
 * What reading what containers wait for costs: bench_waits READINGS CGROUP_DIRECTORY...
 *
 * The cgroups are of the v2 hierarchy; where v1's controllers are mounted, those of the same path
 * are read as well. Prints one line of JSON: how many containers, descriptors of each, and the CPU
 * microseconds of one reading of both groups (kernel and parser), per container.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/source/waits/waits.h"
#include "tests/bench/bench.h"

static char mounts[5][4096];

static struct source *make(const struct fsroot *fs)
{
    static const char *const names[] = {"", "cpu", "cpuacct", "cpuset", "memory"};
    struct source *source;
    for (int i = 0; i < 5; i++)
        (void)cgroup_mount_find(fs, names[i], mounts[i], sizeof mounts[i]);
    const struct waits_config config = {
        .fs = fs, .mounts = {mounts[0], mounts[1], mounts[2], mounts[3], mounts[4]}};
    must(waits_source_new(&config, &source) == 0, "source");
    return source;
}

static void open_one(struct source *source, const char *folder, uint64_t handle[2])
{
    struct verdict why;
    struct scope scope = {.kind = SCOPE_CGROUP,
                          .key = folder,
                          .cgroup_fd = open(folder, O_RDONLY | O_CLOEXEC),
                          .cgroup_path = folder + strlen(mounts[0])};
    must(scope.cgroup_fd >= 0 && strncmp(folder, mounts[0], strlen(mounts[0])) == 0, folder);
    for (int g = 0; g < 2; g++)
        must(source->ops->open(source, &scope, g ? GROUP_BOUNDS : GROUP_WAITS, &handle[g], &why) ==
                 0,
             why.words);
    close(scope.cgroup_fd);
}

static void read_one(struct source *source, const uint64_t handle[2])
{
    static uint64_t row[32];
    for (int g = 0; g < 2; g++) {
        struct reading reading = {
            .cap = 1, .stride_bytes = reading_stride(g ? GROUP_BOUNDS : GROUP_WAITS), .rows = row};
        must(source->ops->read(source, handle[g], &reading) == 0, "reading");
    }
}

int main(int argc, char **argv)
{
    struct fsroot fs;
    size_t n = argc > 2 ? (size_t)argc - 2 : 0;
    uint64_t readings = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    struct tick tick = {.interval_ns = 1000000000};
    must(fsroot_init(&fs, NULL, NULL, NULL, NULL) == 0, "paths");
    struct source *source = make(&fs);
    uint64_t(*handles)[2] = calloc(n + 1, sizeof *handles);
    must(handles != NULL, "out of memory");
    for (size_t i = 0; i < n; i++)
        open_one(source, argv[i + 2], handles[i]);
    size_t files = source->ops->open_counters(source);

    double before = 0;
    /* Every five seconds, and a minute before: levels have found their turns by then. */
    const uint64_t warm = 12;
    for (uint64_t r = 0; r < warm + readings; r++) {
        if (r == warm)
            before = cpu_us();
        tick.number++;
        tick.mono_ns = (r + 1) * 5000000000 + UINT64_C(1000000000000000);
        source->ops->begin(source, &tick);
        for (size_t i = 0; i < n; i++)
            read_one(source, handles[i]);
    }
    double us = cpu_us() - before;
    printf("{\"containers\":%zu,\"files\":%.1f,\"reading_us\":%.2f}\n", n,
           n ? (double)files / (double)n : 0, n ? us / (double)(n * readings) : 0);
    for (size_t i = 0; i < n; i++)
        for (int g = 0; g < 2; g++)
            source->ops->close(source, handles[i][g]);
    source->ops->free(source);
    fsroot_release(&fs);
    free(handles);
    return 0;
}
