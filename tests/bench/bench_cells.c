/*
 * What reading a BPF program's cells takes: bench_cells CPUS CONTAINERS ROUNDS
 *
 * The cells are the kernel's memory, made for so many CPUs, whatever this machine has; nobody
 * writes them meanwhile. Prints one line of JSON: bytes of the cells, CPU us per container for a
 * reading on all CPUs (the median round), and wall us to have what runs on a CPU added, of this one
 * and of another (null where there is none).
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporter/source/bpf/bpf.h"
#include "exporter/source/bpf/set.h"

enum { ROLES = 7, MAX_ROUNDS = 1000, FLUSHES = 2000 };

static double clock_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

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

/* -1: there is no such CPU. */
static double flush_us(const struct bpf_set *set, int cpu)
{
    double began = clock_us(CLOCK_MONOTONIC);
    for (int i = 0; i < FLUSHES; i++)
        if (bpf_set_flush(set, cpu) != 0)
            return -1;
    return (clock_us(CLOCK_MONOTONIC) - began) / FLUSHES;
}

static void print_flush(const char *name, double us)
{
    if (us < 0)
        printf(", \"%s\": null", name);
    else
        printf(", \"%s\": %.3f", name, us);
}

int main(int argc, char **argv)
{
    static double us[MAX_ROUNDS];
    struct bpf_set *set;
    struct verdict why;
    uint64_t sum = 0;
    if (argc != 4)
        return 2;
    size_t cpus = strtoul(argv[1], NULL, 10), containers = strtoul(argv[2], NULL, 10);
    size_t rounds = strtoul(argv[3], NULL, 10);
    if (cpus < 1 || containers < 1 || rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    int err = bpf_set_new(ROLES, containers, cpus, &set, &why);
    if (err) {
        fprintf(stderr, "%s\n", why.words);
        return 1;
    }
    for (size_t i = 0; i < rounds && !err; i++) {
        double began = clock_us(CLOCK_THREAD_CPUTIME_ID);
        err = read_all(set, cpus, containers, &sum);
        us[i] = (clock_us(CLOCK_THREAD_CPUTIME_ID) - began) / (double)containers;
    }
    qsort(us, rounds, sizeof *us, by_size);
    int here = sched_getcpu();
    printf("{\"bytes\": %zu, \"container_us\": %.3f", bpf_set_bytes(set), us[rounds / 2]);
    print_flush("flush_here_us", flush_us(set, here));
    print_flush("flush_there_us", flush_us(set, here == 0 ? 1 : 0));
    printf("}\n");
    bpf_set_free(set);
    return err || sum != 0;
}
