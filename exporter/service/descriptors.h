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

struct descriptor_shares {
    size_t containers;  /* directories of live containers, one each: up to what was asked for */
    size_t candidates;  /* directories held open while they have no processes yet */
    size_t counters;    /* events, and the directory that each group of a container holds */
    size_t connections; /* of all listeners together */
};

/*
 * Pure. 'limit' is RLIMIT_NOFILE, 0 when it is not known: then nothing is bounded by it, and
 * counters get SIZE_MAX. 'containers_max' is what the user allows; 'candidates' says whether there
 * are any (--containers.all-cgroups), 'by_bpf' whether a program in the kernel counts containers.
 *
 *   connections   an eighth of the limit, up to 256, but at least one
 *   the rest      as much again; by BPF both have at least 24
 *   containers    an eighth, by BPF a third of what its program leaves (all but 16), up to
 *                 containers_max, but at least one
 *   candidates    a 32nd, up to 256
 *   counters      what is left
 *
 * Worked: 1024, 512 containers allowed, candidates: 128 connections, 128 containers, 32 candidates,
 * 608 counters, and 128 for the rest;
 * by BPF 336 containers and 400 counters.
 */
struct descriptor_shares descriptors_share(size_t limit, size_t containers_max, bool candidates,
                                           bool by_bpf);

/* RLIMIT_NOFILE as it is now; 0 when it is not known. */
size_t descriptors_limit(void);

/* Raises RLIMIT_NOFILE to its hard limit; returns the limit now in force. For main, before there
 * are threads: from then on the kernel waits some 10 ms each time that the counters' descriptors
 * outgrow their table, so it is made wide here. */
size_t descriptors_raise_limit(void);

/* For a process that was just forked: of what is open beyond the standard three, 'keep' stays (it
 * is sorted). */
void descriptors_close_all_but(int *keep, size_t n);

#endif
