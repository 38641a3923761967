/*
 * What a reading of a container's CPU time takes: bench_activity READINGS
 *
 * Makes one cgroup in each hierarchy that has CPU time, and reads it in each way that
 * exporter/source/activity knows; beside it a bare pread of the same file. Prints a line for each
 * way: CPU ns per reading through the source, and per pread (0: no file). The cgroup is idle; a
 * clock that runs on another CPU costs an interrupt there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/source/activity/activity.h"
#include "exporter/source/perf/perf.h"
#include "tests/bench/bench.h"

enum { MOST_CPUS = 4096 };

struct place {
    struct fsroot fs;
    struct cgroup_hierarchy hierarchy;
    char cpuacct[4096], unified[4096], path[64];
};

static const struct way {
    const char *name, *file; /* file: below the cgroup; NULL: no file */
    enum activity_way way;
} ways[] = {
    {"cpuacct.usage_percpu", "cpuacct.usage_percpu", ACTIVITY_PERCPU},
    {"clocks", NULL, ACTIVITY_CLOCK},
    {"cpu.stat", "cpu.stat", ACTIVITY_STAT},
    {"cpuacct.usage", "cpuacct.usage", ACTIVITY_USAGE},
};

/* The same directory in every hierarchy that is there. */
static void each_directory(const struct place *place, int (*action)(const char *path))
{
    const char *const mounts[] = {place->hierarchy.path, place->cpuacct, place->unified};
    for (size_t i = 0; i < 3; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s%s", mounts[i], place->path);
        if (*mounts[i])
            (void)action(path);
    }
}

static int make(const char *path)
{
    return mkdir(path, 0755);
}

static double bare(const struct place *place, const struct way *way, size_t readings)
{
    static char text[1 << 16];
    char path[4200];
    snprintf(path, sizeof path, "%s%s/%s",
             way->way == ACTIVITY_STAT ? place->unified : place->cpuacct, place->path, way->file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    double start = cpu_us();
    for (size_t i = 0; i < readings; i++)
        if (pread(fd, text, sizeof text, 0) <= 0)
            break;
    double ns = (cpu_us() - start) * 1e3 / (double)readings;
    close(fd);
    return ns;
}

static int read_often(struct source *source, const struct scope *scope, size_t readings, double *ns)
{
    static uint64_t space[MOST_CPUS * 4];
    struct reading out = {
        .stride_bytes = reading_stride(GROUP_ACTIVITY), .rows = space, .cap = MOST_CPUS};
    struct verdict why;
    uint64_t handle;
    int err = source->ops->open(source, scope, GROUP_ACTIVITY, &handle, &why);
    if (err)
        return err;
    double start = cpu_us();
    for (size_t i = 0; i < readings && !err; i++)
        err = source->ops->read(source, handle, &out);
    *ns = (cpu_us() - start) * 1e3 / (double)readings;
    source->ops->close(source, handle);
    return err;
}

static void measure(const struct place *place, const struct way *way, size_t readings)
{
    const struct log log = {.fd = -1};
    const struct perf_config clocks = {.fs = &place->fs, .log = &log, .kernel = &perf_kernel_linux};
    struct activity_config config = {.fs = &place->fs,
                                     .cpuacct = place->cpuacct,
                                     .unified = place->unified,
                                     .ways = 1u << way->way};
    char path[4200];
    struct source *source;
    double ns = 0;
    snprintf(path, sizeof path, "%s%s", place->hierarchy.path, place->path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct scope scope = {
        .kind = SCOPE_CGROUP, .key = "c1", .cgroup_fd = fd, .cgroup_path = place->path};
    if (fd >= 0 && perf_source_new(&clocks, &config.clocks) == 0 &&
        activity_source_new(&config, &source) == 0) {
        if (read_often(source, &scope, readings, &ns) == 0)
            printf("%s %.0f %.0f\n", way->name, ns, way->file ? bare(place, way, readings) : 0);
        source->ops->free(source);
    }
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    size_t readings = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    struct place place = {.cpuacct = ""};
    char error[256];
    if (readings == 0) {
        fprintf(stderr, "usage: bench_activity READINGS\n");
        return 2;
    }
    if (fsroot_init(&place.fs, NULL, NULL, NULL, NULL) ||
        cgroup_hierarchy_find(&place.fs, &place.hierarchy, error, sizeof error))
        return 1;
    (void)cgroup_mount_find(&place.fs, "cpuacct", place.cpuacct, sizeof place.cpuacct);
    (void)cgroup_mount_find(&place.fs, "", place.unified, sizeof place.unified);
    snprintf(place.path, sizeof place.path, "/bench-activity-%d", (int)getpid());
    each_directory(&place, make);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        measure(&place, &ways[i], readings);
    each_directory(&place, rmdir);
    fsroot_release(&place.fs);
    return 0;
}
