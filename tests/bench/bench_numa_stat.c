/*
 * What reading where containers' memory is costs, as placement asks for it where there are several
 * NUMA nodes: bench_numa_stat PERIODS CGROUP_DIRECTORY...
 *
 * A period is half a minute: each file is read once in it. Prints one line of JSON: how many of the
 * cgroups have a memory.numa_stat, the CPU microseconds of one reading (kernel and parser), and of
 * what a tick of one second asks, per container.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporter/source/memory/memory.h"
#include "tests/bench/bench.h"

enum { ROWS = 64 };

/* The handles of those that have the file come first. */
static size_t open_all(struct source *source, char **folders, size_t n, uint64_t *handles)
{
    size_t opened = 0;
    for (size_t i = 0; i < n; i++) {
        struct verdict why;
        struct scope scope = {.kind = SCOPE_CGROUP,
                              .key = folders[i],
                              .cgroup_fd = open(folders[i], O_RDONLY | O_CLOEXEC)};
        must(scope.cgroup_fd >= 0, folders[i]);
        opened += source->ops->open(source, &scope, GROUP_PAGES, &handles[opened], &why) == 0;
        close(scope.cgroup_fd);
    }
    return opened;
}

static size_t read_all(struct source *source, const uint64_t *handles, size_t n)
{
    static uint64_t rows[ROWS * 16];
    struct reading reading = {
        .cap = ROWS, .stride_bytes = reading_stride(GROUP_PAGES), .rows = rows};
    size_t got = 0;
    must(sizeof rows >= ROWS * reading.stride_bytes, "rows");
    for (size_t i = 0; i < n; i++)
        got += source->ops->read(source, handles[i], &reading) == 0;
    return got;
}

int main(int argc, char **argv)
{
    const struct memory_config config = {.memory = "", .unified = ""};
    struct tick tick = {.interval_ns = 1000000000};
    struct source *source;
    size_t given = argc > 2 ? (size_t)argc - 2 : 0, readings = 0;
    uint64_t ticks = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * MEMORY_PERIOD_SECONDS;
    uint64_t *handles = calloc(given + 1, sizeof *handles);
    must(handles && memory_source_new(&config, &source) == 0, "out of memory");
    size_t n = open_all(source, argv + 2, given, handles);

    double total = 0;
    /* In the first two periods everybody has its first reading, and finds its turn. */
    for (uint64_t t = 1; t <= ticks + 2 * MEMORY_PERIOD_SECONDS; t++) {
        tick.number = t;
        tick.mono_ns = t * 1000000000;
        source->ops->begin(source, &tick);
        double before = cpu_us();
        size_t got = read_all(source, handles, n);
        if (t <= 2 * MEMORY_PERIOD_SECONDS)
            continue;
        total += cpu_us() - before;
        readings += got;
    }
    printf("{\"containers\":%zu,\"readings\":%zu,\"reading_us\":%.2f,\"tick_us\":%.4f}\n", n,
           readings, readings ? total / (double)readings : 0,
           n ? total / (double)ticks / (double)n : 0);
    for (size_t i = 0; i < n; i++)
        source->ops->close(source, handles[i]);
    source->ops->free(source);
    free(handles);
    return 0;
}
