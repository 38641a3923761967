/*
 * A neighbour that is hard on memory, or, as its control, only on the core.
 *
 *   memory_hog stream|copy|nt|random|compute CPU|any [MIB]
 *
 * stream reads and writes a large buffer over and over, copy copies one half of it to the other, nt
 * writes it past the caches, random loads from it at random with many misses in flight, compute
 * keeps the core as busy without leaving its registers. Prints "ready" when it runs, then goes on
 * until killed.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static volatile uint64_t sink;

static uint64_t *take_memory(size_t bytes)
{
    size_t huge = 2 << 20;
    char *start =
        mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    start += -(uintptr_t)start & (huge - 1);
    madvise(start, bytes, MADV_HUGEPAGE);
    memset(start, 1, bytes);
    return (uint64_t *)(void *)start;
}

/* Changes one word in every cache line, in several places at once: each line is read and written.
 */
static void stream(uint64_t *words, size_t n)
{
    enum { PLACES = 8, LINE = 64 / sizeof(uint64_t) };
    size_t part = n / PLACES;
    for (;;)
        for (size_t i = 0; i < part; i += LINE)
            for (size_t place = 0; place < PLACES; place++)
                words[place * part + i]++;
}

static void copy(uint64_t *words, size_t n)
{
    for (;; sink = words[n - 1])
        memcpy(words + n / 2, words, n / 2 * sizeof *words);
}

/* Where there are no such stores, ordinary ones. */
static void write_past_caches(uint64_t *words, size_t n)
{
    for (uint64_t value = 0;; value++)
        for (size_t i = 0; i < n; i++)
#ifdef __x86_64__
            __asm__ volatile("movnti %1, %0" : "=m"(words[i]) : "r"(value));
#else
            words[i] = value;
#endif
}

static void random_loads(const uint64_t *words, size_t n)
{
    uint64_t state = 88172645463325252U, sum = 0;
    for (;; sink = sum)
        for (int i = 0; i < 1 << 16; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            sum += words[(state >> 16) % n];
        }
}

static void compute(void)
{
    double x = 1;
    uint64_t state = 1;
    for (;; sink = state + (uint64_t)x)
        for (int i = 0; i < 1 << 20; i++) {
            x = x * 0.999999 + 0.000001;
            state = state * 6364136223846793005U + 1442695040888963407U;
        }
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 3 ? strtoul(argv[3], NULL, 10) : 256) << 20;
    uint64_t *words = NULL;
    cpu_set_t cpus;
    int pinned = argc > 2 && strcmp(argv[2], "any") != 0;
    if (argc < 3 || bytes == 0) {
        fprintf(stderr, "usage: memory_hog stream|copy|nt|random|compute CPU|any [MIB]\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&cpus);
    CPU_SET((size_t)atoi(argv[2]), &cpus);
    if (pinned && sched_setaffinity(0, sizeof cpus, &cpus) < 0) {
        fprintf(stderr, "memory_hog: CPU %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    int busy = strcmp(argv[1], "compute") != 0;
    if (busy && !(words = take_memory(bytes))) {
        fprintf(stderr, "memory_hog: no memory\n");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    if (!busy)
        compute();
    else if (!strcmp(argv[1], "stream"))
        stream(words, bytes / sizeof *words);
    else if (!strcmp(argv[1], "copy"))
        copy(words, bytes / sizeof *words);
    else if (!strcmp(argv[1], "nt"))
        write_past_caches(words, bytes / sizeof *words);
    else if (!strcmp(argv[1], "random"))
        random_loads(words, bytes / sizeof *words);
    fprintf(stderr, "memory_hog: unknown mode %s\n", argv[1]);
    return 2;
}
