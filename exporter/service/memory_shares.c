#include "exporter/service/memory_shares.h"

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
    uint64_t containers = rest / 8 * 5 / container;
    return (struct memory_shares){.containers = containers > 0 ? at_most(containers) : 1,
                                  .counters = at_most(rest / 8 * 3 / MEMORY_COUNTER_BYTES)};
}
