/*
 * What reading monitoring groups costs in the tick in which all are read: bench_resctrl FOLDER
 * GROUPS L3S TURNS
 *
 * FOLDER is a new one, in which so many containers' groups are made as plain files: the kernel's
 * interrupts, one for each file, are not in it. Prints one line of JSON: how many groups could be
 * opened, and the CPU milliseconds of such a tick, the medians over the turns of the scan for new
 * groups and of the reading, and of a tick in between.
 */
#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/source/resctrl/resctrl.h"
#include "tests/bench/bench.h"

enum { ROWS = 64, MOST_TURNS = 256 };

/* Below 'folder'; its folders are made. */
static void write_file(const char *folder, const char *path, unsigned long value)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", folder, path);
    for (char *at = full + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(full, 0755); /* it may be there */
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    must(file && fprintf(file, "%lu\n", value) > 0 && fclose(file) == 0, full);
}

static void write_group(const char *folder, const char *group, unsigned l3s, unsigned long value)
{
    static const char *const files[] = {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"};
    for (unsigned l3 = 0; l3 < l3s; l3++)
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            char path[256];
            snprintf(path, sizeof path, "%smon_data/mon_L3_%02u/%s", group, l3, files[i]);
            write_file(folder, path, value);
        }
}

int main(int argc, char **argv)
{
    must(argc == 5, "usage: bench_resctrl FOLDER GROUPS L3S TURNS");
    size_t groups = strtoul(argv[2], NULL, 10), opened = 0;
    unsigned l3s = (unsigned)strtoul(argv[3], NULL, 10);
    unsigned turns = (unsigned)strtoul(argv[4], NULL, 10);
    struct fsroot fs;
    struct source *source;
    must(l3s <= ROWS && turns > 0 && turns <= MOST_TURNS, "too many");
    must(fsroot_init(&fs, NULL, NULL, NULL, NULL) == 0 &&
             fsroot_move(&fs, FSROOT_RESCTRL, argv[1]) == 0,
         "out of memory");
    write_group(argv[1], "", l3s, 1);
    const struct resctrl_config config = {.fs = &fs};
    uint64_t *handles = calloc(groups, sizeof *handles);
    must(handles && resctrl_source_new(&config, &source) == 0, "out of memory");
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < groups; i++) {
            char id[65], group[96];
            struct verdict why;
            snprintf(id, sizeof id, "%064zx", i + 1);
            snprintf(group, sizeof group, "mon_groups/%s/", id);
            const struct scope scope = {
                .kind = SCOPE_CGROUP, .key = id, .container_id = id, .cgroup_fd = -1};
            if (pass == 0)
                write_group(argv[1], group, l3s, 4096);
            else
                opened +=
                    source->ops->open(source, &scope, GROUP_BANDWIDTH, &handles[opened], &why) == 0;
        }

    static uint64_t rows[ROWS * 16];
    struct reading reading = {
        .cap = ROWS, .stride_bytes = reading_stride(GROUP_BANDWIDTH), .rows = rows};
    must(sizeof rows >= ROWS * reading.stride_bytes, "rows");
    double scan[MOST_TURNS], read[MOST_TURNS], between[MOST_TURNS];
    size_t got = 0;
    struct tick tick = {.interval_ns = 1000000000};
    for (uint64_t t = 0; t < (uint64_t)turns * RESCTRL_PERIOD_SECONDS; t++) {
        unsigned turn = (unsigned)(t / RESCTRL_PERIOD_SECONDS);
        tick.number = t + 1;
        tick.mono_ns = (t + RESCTRL_PERIOD_SECONDS) * 1000000000;
        double begun = cpu_us();
        source->ops->begin(source, &tick);
        double scanned = cpu_us();
        for (size_t i = 0; i < opened; i++)
            got += source->ops->read(source, handles[i], &reading) == 0;
        double done = cpu_us();
        bool due = t % RESCTRL_PERIOD_SECONDS == 0;
        scan[turn] = due ? scanned - begun : scan[turn];
        *(due ? &read[turn] : &between[turn]) = due ? done - scanned : done - begun;
    }
    printf("{\"groups\":%zu,\"readings\":%zu,\"scan_ms\":%.3f,\"read_ms\":%.3f,"
           "\"between_ms\":%.4f}\n",
           opened, got, median(scan, turns) * 1e-3, median(read, turns) * 1e-3,
           median(between, turns) * 1e-3);
    for (size_t i = 0; i < opened; i++)
        source->ops->close(source, handles[i]);
    source->ops->free(source);
    fsroot_release(&fs);
    free(handles);
    return 0;
}
