#include "exporter/service/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    /* By perf a container takes at least six: two directories, four events on one CPU. So an eighth
     * of the limit never keeps out a container that could have been counted. */
    CONTAINERS_PART = 8,
    /* Without, it takes its directory, and the file with its CPU time as much again. */
    CONTAINERS_PART_EVENTLESS = 3,
    /* What is open whatever the limit: the program with its tables; listeners, clocks, logs,
     * pages. */
    PROGRAM = 16,
    REST_EVENTLESS = 24,
    CANDIDATES_PART = 32,
    CANDIDATES_MAX = 256,
    CONNECTIONS_PART = 8,
    CONNECTIONS_MAX = 256,
};

static size_t part(size_t limit, size_t divisor, size_t most)
{
    return limit / divisor < most ? limit / divisor : most;
}

struct descriptor_shares descriptors_share(size_t limit, size_t containers_max, bool candidates,
                                           bool events)
{
    if (limit == 0)
        return (struct descriptor_shares){containers_max, candidates ? CANDIDATES_MAX : 0, SIZE_MAX,
                                          CONNECTIONS_MAX};
    size_t own = !events && limit > PROGRAM ? limit - PROGRAM : limit;
    struct descriptor_shares shares = {
        .containers =
            part(own, events ? CONTAINERS_PART : CONTAINERS_PART_EVENTLESS, containers_max),
        .candidates = candidates ? part(limit, CANDIDATES_PART, CANDIDATES_MAX) : 0,
        .connections = part(limit, CONNECTIONS_PART, CONNECTIONS_MAX),
    };
    if (shares.containers == 0 && containers_max > 0)
        shares.containers = 1;
    if (shares.connections == 0)
        shares.connections = 1;
    size_t rest = 2 * shares.connections;
    if (!events && rest < REST_EVENTLESS)
        rest = REST_EVENTLESS;
    size_t others = shares.containers + shares.candidates + rest;
    shares.counters = limit > others ? limit - others : 0;
    return shares;
}

size_t descriptors_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    return limit.rlim_cur > SIZE_MAX ? SIZE_MAX : (size_t)limit.rlim_cur;
}

/* The kernel's table of descriptors never shrinks: one large number, given back at once, makes room
 * for all below it. */
static void widen_table(rlim_t limit)
{
    const rlim_t wide = 16384; /* 8 bytes of the kernel's memory each */
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)(limit < wide ? limit : wide) - 1);
    if (fd >= 0)
        close(fd);
}

static int compare_fds(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void close_from(int from, int to)
{
    enum { FEW = 1024 };
    if (from > to || close_range((unsigned)from, (unsigned)to, 0) == 0)
        return;
    for (; from <= to && from < FEW; from++) /* before Linux 5.9 */
        close(from);
}

void descriptors_close_all_but(int *keep, size_t n)
{
    int from = STDERR_FILENO + 1;
    qsort(keep, n, sizeof *keep, compare_fds);
    for (size_t i = 0; i < n; i++) {
        if (keep[i] < from)
            continue;
        close_from(from, keep[i] - 1);
        from = keep[i] + 1;
    }
    close_from(from, INT_MAX);
}

size_t descriptors_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 0;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        limit.rlim_cur = before;
    widen_table(limit.rlim_cur);
    return limit.rlim_cur > SIZE_MAX ? SIZE_MAX : (size_t)limit.rlim_cur;
}

/* ---- memory ---- */

static size_t at_most(uint64_t n)
{
    return n < SIZE_MAX ? (size_t)n : SIZE_MAX;
}

struct memory_shares memory_share(uint64_t limit, size_t cpus)
{
    if (limit == 0)
        return (struct memory_shares){SIZE_MAX, SIZE_MAX};
    uint64_t container = MEMORY_CONTAINER_BYTES + (uint64_t)cpus * MEMORY_CONTAINER_CPU_BYTES;
    uint64_t program = limit / 2 < MEMORY_PROGRAM_BYTES ? limit / 2 : MEMORY_PROGRAM_BYTES;
    uint64_t rest = limit - program;
    uint64_t containers = rest / 16 * 11 / container;
    return (struct memory_shares){.containers = containers > 0 ? at_most(containers) : 1,
                                  .counters = at_most(rest / 16 * 5 / MEMORY_COUNTER_BYTES)};
}
