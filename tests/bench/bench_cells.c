/*
 * What reading a BPF program's cells takes: bench_cells CPUS CONTAINERS ROUNDS
 *
 * The cells are the kernel's memory, made for so many CPUs, whatever this machine has; nobody
 * writes them meanwhile. Prints one line of JSON: bytes of the cells, and CPU us per container (the
 * median round) for a reading on all CPUs, and for the look at each that tells that it has run on
 * none. bench_flush says what the flush before a tick takes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "exporter/source/bpf/bpf.h"
#include "exporter/source/bpf/set.h"
#include "tests/bench/bench.h"

enum { ROLES = 7, MAX_ROUNDS = 1000 };

static int read_all(const struct bpf_set *set, size_t cpus, size_t containers, uint64_t *sum)
{
    struct bpf_cell cell;
    for (size_t slot = 0; slot < containers; slot++)
        for (size_t cpu = 0; cpu < cpus; cpu++) {
            int err = bpf_set_read(set, (uint32_t)slot, (int)cpu, &cell);
            if (err)
                return err;
            *sum += cell.enabled_ns;
        }
    return 0;
}

/* As of a container that has run nowhere. */
static int look_at_all(const struct bpf_set *set, size_t cpus, size_t containers, uint64_t *sum)
{
    for (size_t slot = 0; slot < containers; slot++)
        for (size_t cpu = 0; cpu < cpus; cpu++)
            *sum += bpf_set_has_run(set, (uint32_t)slot, (int)cpu);
    return 0;
}

typedef int pass(const struct bpf_set *set, size_t cpus, size_t containers, uint64_t *sum);

/* CPU us per container, the median round; -1 where a reading failed. */
static double measure(pass *over, const struct bpf_set *set, size_t cpus, size_t containers,
                      size_t rounds)
{
    static double us[MAX_ROUNDS];
    uint64_t sum = 0;
    for (size_t i = 0; i < rounds; i++) {
        double began = clock_us(CLOCK_THREAD_CPUTIME_ID);
        if (over(set, cpus, containers, &sum) != 0 || sum != 0)
            return -1;
        us[i] = (clock_us(CLOCK_THREAD_CPUTIME_ID) - began) / (double)containers;
    }
    qsort(us, rounds, sizeof *us, by_size);
    return us[rounds / 2];
}

int main(int argc, char **argv)
{
    struct bpf_set *set;
    struct verdict why;
    if (argc != 4)
        return 2;
    size_t cpus = strtoul(argv[1], NULL, 10), containers = strtoul(argv[2], NULL, 10);
    size_t rounds = strtoul(argv[3], NULL, 10);
    if (cpus < 1 || containers < 1 || rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    const struct bpf_sizes sizes = {.roles = ROLES, .slots = containers, .cpus = cpus};
    if (bpf_set_new(&sizes, &set, &why) != 0) {
        fprintf(stderr, "%s\n", why.words);
        return 1;
    }
    double read_us = measure(read_all, set, cpus, containers, rounds);
    double look_us = measure(look_at_all, set, cpus, containers, rounds);
    printf("{\"bytes\": %zu, \"container_us\": %.3f, \"look_us\": %.3f}\n", bpf_set_bytes(set),
           read_us, look_us);
    bpf_set_free(set);
    return read_us < 0 || look_us < 0;
}
