/*
 * How long a hit in the last-level cache takes, and one in the L2: the pointer chase through lines
 * that the L2 cannot hold, and through lines that it can, but not the L1.
 *
 * One line in every 512 bytes of a target's buffer belongs to the ring: an eighth of the L2's sets,
 * whatever size the pages have. A buffer of at least one and a half times the L2's size then has
 * more of them than these sets hold, and going round in one order, each is pushed out before it is
 * loaded again. The last-level cache keeps them, unless neighbours fill it: a figure that is not
 * clearly below memory's is discarded.
 *
 * The ring of the L2 is the same of the buffer's first 128 KiB: 256 lines in an eighth of the sets,
 * where an L1 holds 64 to 96, and an L2 of 256 KiB or more twice as many.
 *
 * The hit's time is a constant of the machine, which neighbours only make longer: so it is measured
 * often at first, and then now and then, for a calmer moment. Each time costs a millisecond or two,
 * which is charged to the account of the probe's CPU time.
 */
#ifndef IE_SOURCE_PROBE_HIT_H
#define IE_SOURCE_PROBE_HIT_H

#include "exporter/base/fsroot.h"
#include "exporter/source/probe/run.h"

enum {
    CHASE_HIT_AT_FIRST = 16, /* measurements, */
    CHASE_HIT_EVERY = 30,    /* one in this many bursts; */
    CHASE_HIT_RARELY = 900,  /* then one in this many */
};

struct chase_hit {
    struct chase_ring ring; /* no lines: cannot be measured here */
    struct chase_ring l2;   /* likewise */
    uint32_t bursts;        /* of this thread, to its own node */
    uint32_t attempts;
};

/*
 * A ring in a buffer that has one of chase_ring_init already: it keeps to other bytes of the lines.
 * 0; -ENOTSUP when the CPU's caches are not known (sysfs), or not of suitable sizes; -ENOMEM.
 */
int chase_hit_init(struct chase_hit *hit, const struct fsroot *fs, int cpu, char *base,
                   size_t bytes, uint64_t seed);
void chase_hit_release(struct chase_hit *hit);

/*
 * After each burst of the thread to its own node: measures now and then. Sets the two times of hits
 * in *out, in nanoseconds, 0 when it did not measure. 'memory_ns' is the burst's latency.
 */
void chase_hit_burst(struct chase_hit *hit, int cpu, double memory_ns, struct probe_reading *out);

/* Sizes of a CPU's L2 and of the cache behind it, in bytes. 0, or -ENOENT when there are no such
 * two, or sysfs does not list them. */
int chase_hit_caches(const struct fsroot *fs, int cpu, size_t *l2_bytes, size_t *llc_bytes);

#endif
