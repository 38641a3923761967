/*
 * What reading a BPF program's cells takes: bench_cells CPUS CONTAINERS ROUNDS
 *
 * The cells are the kernel's memory, made for so many CPUs, whatever this machine has; nobody
 * writes them meanwhile. Prints one line of JSON: bytes of the cells, and CPU us per container (the
 * median round) for a reading into its rows, which it has on all CPUs, and the sum of the window
 * since the one before, where it has run meanwhile on all of them, on 6 %, and on none. bench_flush
 * says what the flush before a tick takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporter/source/bpf/bpf.h"
#include "exporter/source/bpf/rows.h"
#include "exporter/source/bpf/set.h"
#include "exporter/source/window.h"
#include "tests/bench/bench.h"

enum { ROLES = 7, MAX_ROUNDS = 1000, SOME = 16 /* one CPU in so many */ };

static struct bpf_set *set;
static size_t cpus, n;

/* As the source has it. */
struct container {
    uint32_t slot;
    struct bpf_rows rows;
    struct reading readings[2];
};

static int read_row(const void *context, int cpu, struct reading_row *out)
{
    const struct container *container = context;
    struct bpf_cell cell;
    int err = bpf_set_read(set, container->slot, cpu, &cell);
    if (err)
        return err;
    *out = (struct reading_row){.cpu = cpu,
                                .present = (1u << ROLES) - 1,
                                .enabled_ns = cell.enabled_ns,
                                .running_ns = cell.running_ns};
    memcpy(out->count, cell.count, ROLES * sizeof *out->count);
    return 0;
}

/* Every so manieth CPU; 0: none. */
static int read_all(struct container *all, size_t every, size_t round)
{
    struct window_sum sum;
    int err = 0;
    for (size_t i = 0; i < n && !err; i++) {
        struct container *at = &all[i];
        for (size_t cpu = 0; every && cpu < cpus; cpu += every)
            at->rows.changed[cpu / 64] |= UINT64_C(1) << cpu % 64;
        bpf_set_take_changed(set, at->slot, at->rows.changed);
        bpf_rows_find(&at->rows);
        err = bpf_rows_read(&at->rows, read_row, at, &at->readings[round % 2]);
        window_sum_rows(&sum, GROUP_CORE, &at->readings[!(round % 2)], &at->readings[round % 2]);
    }
    return err;
}

/* CPU us per container, the median round; -1 where a reading failed. */
static double measure(struct container *all, size_t every, size_t rounds)
{
    static double us[MAX_ROUNDS];
    for (size_t i = 0; i < rounds + 2; i++) { /* the first two have what changed before */
        double began = clock_us(CLOCK_THREAD_CPUTIME_ID);
        if (read_all(all, every, i) != 0)
            return -1;
        us[i < 2 ? 0 : i - 2] = (clock_us(CLOCK_THREAD_CPUTIME_ID) - began) / (double)n;
    }
    qsort(us, rounds, sizeof *us, by_size);
    return us[rounds / 2];
}

int main(int argc, char **argv)
{
    struct verdict why;
    if (argc != 4)
        return 2;
    cpus = strtoul(argv[1], NULL, 10), n = strtoul(argv[2], NULL, 10);
    size_t rounds = strtoul(argv[3], NULL, 10);
    if (cpus < 1 || n < 1 || rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    const struct bpf_sizes sizes = {.roles = ROLES, .slots = n, .cpus = cpus};
    if (bpf_set_new(&sizes, &set, &why) != 0) {
        fprintf(stderr, "%s\n", why.words);
        return 1;
    }
    struct container *all = calloc(n, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i].slot = (uint32_t)i;
        if (bpf_rows_init(&all[i].rows, cpus) != 0)
            return 1;
        for (int r = 0; r < 2; r++)
            all[i].readings[r] = (struct reading){.cap = cpus,
                                                  .stride_bytes = reading_stride(GROUP_CORE),
                                                  .rows = calloc(cpus, reading_stride(GROUP_CORE))};
    }
    double all_us = measure(all, 1, rounds), some_us = measure(all, SOME, rounds);
    double none_us = measure(all, 0, rounds);
    printf("{\"bytes\": %zu, \"all_us\": %.3f, \"some_us\": %.3f, \"none_us\": %.3f}\n",
           bpf_set_bytes(set), all_us, some_us, none_us);
    return all_us < 0 || some_us < 0 || none_us < 0;
}
