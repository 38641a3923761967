/*
 * An application that knows its own memory latency: a chase of pointers through a buffer far larger
 * than the caches.
 *
 *   bench_chase SECONDS CPU [MIB]      default 1024 MiB
 *
 * Prints the mean nanoseconds of a load for every second, one a line. Translations count: the
 * buffer is of huge pages where there are some, and "huge 0" or "huge 1" is the first line.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/bench/bench.h"

enum { LINE = 64, LOADS = 20000 };

struct line {
    struct line *next;
    char rest[LINE - sizeof(struct line *)];
};

static uint64_t draw(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % n;
}

/* One ring through all lines, in an order drawn by Sattolo's algorithm. */
static struct line *make_ring(size_t bytes, int *huge)
{
    size_t n = bytes / LINE, page = 2 << 20;
    char *raw =
        mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t state = 88172645463325252u;
    if (raw == MAP_FAILED)
        return NULL;
    struct line *lines = (struct line *)(raw + (-(uintptr_t)raw & (page - 1)));
    *huge = madvise(lines, bytes, MADV_HUGEPAGE) == 0;
    for (size_t i = 0; i < n; i++)
        lines[i].next = &lines[i];
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = draw(&state, i);
        struct line *other = lines[j].next;
        lines[j].next = lines[i].next;
        lines[i].next = other;
    }
    return lines;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: bench_chase SECONDS CPU [MIB]\n");
        return 2;
    }
    int seconds = atoi(argv[1]), huge = 0;
    size_t bytes = (argc > 3 ? strtoul(argv[3], NULL, 10) : 1024) << 20;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)atoi(argv[2]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
        fprintf(stderr, "bench_chase: CPU %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    struct line *at = bytes >= 2 * LINE ? make_ring(bytes, &huge) : NULL;
    if (!at) {
        fprintf(stderr, "bench_chase: no memory for %zu bytes\n", bytes);
        return 1;
    }
    printf("huge %d\n", huge);
    for (int i = 0; i < seconds; i++) {
        double start = now_s(), end = start;
        uint64_t loads = 0;
        while (end - start < 1) {
            for (int k = 0; k < LOADS; k++) {
                at = at->next;
                __asm__ volatile("" : "+r"(at));
            }
            loads += LOADS;
            end = now_s();
        }
        printf("%.2f\n", (end - start) * 1e9 / (double)loads);
        fflush(stdout);
    }
    return 0;
}
