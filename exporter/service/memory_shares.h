/*
 * How the memory that this process may have is shared out, where there is a limit: as many
 * containers are found, and as many counters opened, as it holds. The exporter says what does not
 * fit; it is not killed for it.
 *
 * A container takes 28 KiB with all that is on by default, two readings of its counters on each
 * CPU, and what perf or the BPF program's tables keep beside them (tests/bench/RESULTS.md,
 * RESULTS-bpf.md). A counter of perf's takes 1.8 KiB of the kernel's memory, of which 412 bytes are
 * charged to the cgroup that opened it. Pure.
 */
#ifndef IE_SERVICE_MEMORY_SHARES_H
#define IE_SERVICE_MEMORY_SHARES_H

#include <stddef.h>
#include <stdint.h>

enum {
    MEMORY_CONTAINER_BYTES = 32768,
    MEMORY_CONTAINER_CPU_BYTES = 288, /* and for each CPU */
    MEMORY_COUNTER_BYTES = 416,
    MEMORY_PROGRAM_BYTES = 24 << 20, /* without containers, pages and probe included */
};

struct memory_shares {
    size_t containers; /* at least one */
    size_t counters;   /* descriptors */
};

/*
 * 'limit' in bytes; 0: there is none, and both are SIZE_MAX. 'cpus': that there can be. Of what the
 * program itself leaves, but at least of half of it:
 *
 *   containers   five eighths
 *   counters     three eighths
 *
 * Worked: 512 MiB and 128 CPUs leave 488 MiB: 319815680 / (32768 + 128 * 288) = 4592 containers,
 * and 191889408 / 416 = 461272 descriptors: the seven events of 514 containers, and a directory
 * each.
 */
struct memory_shares memory_share(uint64_t limit, size_t cpus);

#endif
