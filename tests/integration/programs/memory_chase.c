/*
 * A container that waits for memory, on a machine that cannot count this: it measures its own loads
 * and tells them by calls, on which uprobes count.
 *
 *   memory_chase chase CPU KIB    a request after each pause: loads that depend on each other
 *   memory_chase tell CPU RATE    so many calls of role_l3_miss_reads a second, and little else
 *
 * A request reads each line of KIB once. One during which the kernel ran somebody else on this CPU
 * says nothing and is left out. After TURN_MS of requests come TOLD calls of role_l3_miss_reads,
 * and of role_l3_miss_read_occupancy as many as TOLD loads of these requests took, in units of
 * UNIT_NS; what is left over is told the next time. Calls that are counted cost the caches what
 * they hold, so that they come together, and one request after them is not measured.
 * Prints "ready" when it runs, then goes on until killed.
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
#include <sys/resource.h>
#include <time.h>

#if __has_attribute(noipa)
#define NOT_INLINED __attribute__((noipa))
#else
#define NOT_INLINED __attribute__((noinline))
#endif

enum { PAUSE_US = 50, TURN_MS = 60, TOLD = 400, UNIT_NS = 10, LINE = 64, TELL_MS = 10 };

static NOT_INLINED void role_l3_miss_reads(void)
{
    __asm__ volatile("# reads" ::: "memory");
}

static NOT_INLINED void role_l3_miss_read_occupancy(void)
{
    __asm__ volatile("# occupancy" ::: "memory");
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static long interruptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One cycle through all lines in an order without a pattern (Sattolo's). */
static void **make_ring(size_t bytes)
{
    size_t huge = 2 << 20, n = bytes / LINE;
    char *start =
        mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *order = malloc(n * sizeof *order);
    uint64_t state = 88172645463325252U;
    if (start == MAP_FAILED || !order)
        return NULL;
    start += -(uintptr_t)start & (huge - 1);
    madvise(start, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = draw(&state) % i;
        uint32_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (size_t i = 0; i < n; i++)
        *(void **)(void *)(start + (size_t)order[i] * LINE) =
            start + (size_t)order[(i + 1) % n] * LINE;
    free(order);
    return (void **)(void *)start;
}

static void **follow(void **at, size_t loads)
{
    while (loads--)
        at = *(void **volatile *)at;
    return at;
}

static void rest(long us)
{
    const struct timespec pause = {.tv_nsec = us * 1000};
    nanosleep(&pause, NULL);
}

/* What one load of so many in clean requests took; 0 if none was clean. */
static double load_ns(void ***at, size_t lines)
{
    uint64_t ended_ns = now_ns() + TURN_MS * UINT64_C(1000000), clean_ns = 0, requests = 0;
    while (now_ns() < ended_ns) {
        rest(PAUSE_US);
        long before = interruptions();
        uint64_t began_ns = now_ns();
        *at = follow(*at, lines);
        uint64_t took_ns = now_ns() - began_ns;
        if (interruptions() == before) {
            clean_ns += took_ns;
            requests++;
        }
    }
    return requests ? (double)clean_ns / (double)(requests * lines) : 0;
}

static void chase(void **at, size_t lines)
{
    double owed = 0;
    for (;;) {
        at = follow(at, lines);
        double each_ns = load_ns(&at, lines);
        if (!(each_ns > 0))
            continue;
        for (int i = 0; i < TOLD; i++)
            role_l3_miss_reads();
        for (owed += TOLD * each_ns / UNIT_NS; owed >= 1; owed--)
            role_l3_miss_read_occupancy();
    }
}

static void tell(long rate)
{
    for (;;) {
        for (long i = 0; i < rate * TELL_MS / 1000; i++)
            role_l3_miss_reads();
        rest(TELL_MS * 1000L);
    }
}

int main(int argc, char **argv)
{
    long number = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    void **ring = NULL;
    cpu_set_t cpu;
    if (number <= 0 || (strcmp(argv[1], "chase") != 0 && strcmp(argv[1], "tell") != 0)) {
        fprintf(stderr, "usage: memory_chase chase CPU KIB | tell CPU RATE\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&cpu);
    CPU_SET((size_t)atoi(argv[2]), &cpu);
    if (sched_setaffinity(0, sizeof cpu, &cpu) < 0) {
        fprintf(stderr, "memory_chase: CPU %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    if (argv[1][0] == 'c' && !(ring = make_ring((size_t)number << 10))) {
        fprintf(stderr, "memory_chase: no memory\n");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    if (ring)
        chase(ring, ((size_t)number << 10) / LINE);
    tell(number);
}
