/*
 * How the file descriptors that the kernel allows are shared out.
 *
 * The one budget of the process: counters, containers' directories, candidates and connections each
 * keep to their share, and together the shares leave some for everything else (listeners, sysfs,
 * logs, events that are sampled). So what is found but cannot be counted never takes the
 * descriptors over which the server would say so.
 */
#ifndef IE_SERVICE_DESCRIPTORS_H
#define IE_SERVICE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descriptor_shares {
    size_t containers;  /* directories of live containers, one each: up to what was asked for */
    size_t candidates;  /* directories held open while they have no processes yet */
    size_t counters;    /* events, and the directory that each group of a container holds */
    size_t connections; /* of all listeners together */
};

/*
 * Pure. 'limit' is RLIMIT_NOFILE, 0 when it is not known: then nothing is bounded by it, and
 * counters get SIZE_MAX. 'containers_max' is what the user allows; 'candidates' says whether there
 * are any (--containers.all-cgroups), 'events' whether perf opens some for each container: not
 * where a program in the kernel counts them all, or nothing does.
 *
 *   connections   an eighth of the limit, up to 256, but at least one
 *   the rest      as much again; without events both have at least 24
 *   containers    an eighth, without events a third of what the program leaves (all but 16), up to
 *                 containers_max, but at least one
 *   candidates    a 32nd, up to 256
 *   counters      what is left
 *
 * Worked: 1024, 512 containers allowed, candidates: 128 connections, 128 containers, 32 candidates,
 * 608 counters, and 128 for the rest;
 * without events 336 containers and 400 counters.
 */
struct descriptor_shares descriptors_share(size_t limit, size_t containers_max, bool candidates,
                                           bool events);

/* RLIMIT_NOFILE as it is now; 0 when it is not known. */
size_t descriptors_limit(void);

/* Raises RLIMIT_NOFILE to its hard limit; returns the limit now in force. For main, before there
 * are threads: from then on the kernel waits some 10 ms each time that the counters' descriptors
 * outgrow their table, so it is made wide here. */
size_t descriptors_raise_limit(void);

/* For a process that was just forked: of what is open beyond the standard three, 'keep' stays (it
 * is sorted). */
void descriptors_close_all_but(int *keep, size_t n);

/*
 * How the memory that this process may have is shared out, where there is a limit: as many
 * containers are found, and as many counters opened, as it holds. The exporter says what does not
 * fit; it is not killed for it.
 *
 * A container takes 43 KiB with all that is on by default, two readings of its counters on each
 * CPU, and what perf or the BPF program's tables keep beside them (tests/bench/RESULTS.md,
 * RESULTS-bpf.md). A counter of perf's takes 1.8 KiB of the kernel's memory, of which 412 bytes are
 * charged to the cgroup that opened it. Pure.
 */

enum {
    MEMORY_CONTAINER_BYTES = 45056,
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
 *   containers   eleven sixteenths
 *   counters     five sixteenths
 *
 * Worked: 512 MiB and 128 CPUs leave 488 MiB: 351797248 / (45056 + 128 * 288) = 4294 containers,
 * and 159907840 / 416 = 384393 descriptors: the seven events of 428 containers, and a directory
 * each.
 */
struct memory_shares memory_share(uint64_t limit, size_t cpus);

#endif
