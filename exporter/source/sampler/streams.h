/*
 * The sampler's streams: every event on every CPU, each with a ring buffer of its own. Opens them,
 * closes them, and follows the CPUs that come and go. For sampler.c and its thread only.
 */
#ifndef IE_SOURCE_SAMPLER_STREAMS_H
#define IE_SOURCE_SAMPLER_STREAMS_H

#include <stdatomic.h>

#include "exporter/source/perf/kernel.h"
#include "exporter/source/sampler/event.h"
#include "exporter/source/sampler/record.h"

/*
 * The reader's side of one perf ring buffer: bytes are copied out at once, so that the kernel has
 * its room back before they are parsed.
 */

struct perf_ring {
    void *mapping; /* borrowed: the control page, then data_size bytes */
    uint8_t *data;
    size_t data_size;
    uint8_t *bytes;    /* copied out, of which start..end are unread */
    size_t start, end; /* bytes holds 2 * data_size */
};

/* 'mapping' is the control page, 'page_size' long, and data_size bytes behind it, a power of two.
 * 0, -EINVAL for other sizes, or -ENOMEM. */
int perf_ring_init(struct perf_ring *ring, void *mapping, size_t page_size, size_t data_size);
void perf_ring_release(struct perf_ring *ring);

/* Copies what the kernel has written. 0, or 1 when there was no room for all of it; -EIO when the
 * kernel's positions make no sense: everything in the ring was thrown away. */
int perf_ring_copy(struct perf_ring *ring);

/*
 * The next record, which stays. 1 with *out and its *size; 0 when all are read; -EINVAL for bytes
 * that are no record, with which all that was copied is thrown away.
 * Pointers in *out live until the next copy.
 */
int perf_ring_peek(struct perf_ring *ring, uint64_t sample_type, struct kernel_record *out,
                   size_t *size);
void perf_ring_skip(struct perf_ring *ring, size_t size);

/* One event on one CPU. */
struct stream {
    int cpu;
    size_t event;
    int fd;        /* -1: not open any more; what is left in the buffer is still to be read */
    void *mapping; /* NULL: not mapped */
    struct perf_ring ring;
    struct kernel_record next; /* where 'size' is not 0 */
    size_t size;
};

struct streams {
    const struct perf_kernel *kernel;   /* borrowed, like the next */
    const struct sampler_event *events; /* 'n_events' of them */
    size_t n_events;
    size_t page_size;
    bool own_clock; /* perf's: events are opened without another one */
    size_t n, cap;
    struct stream **at;
    struct pollfd *fds;         /* of the streams, and one more for the owner's use */
    _Atomic size_t open_events; /* may be read by any thread */
    int *cpus;                  /* to be sampled; owned */
    size_t n_cpus;
    bool incomplete; /* some stream of theirs is missing */
};

/* The sample type of an event, as its records are to be parsed. */
uint64_t streams_sample_type(const struct sampler_event *event);

/* All of these CPUs' streams, with perf's own clock where that is worth it and the kernel says how
 * to read it, or none. Takes 'cpus' over if and only if it returns 0; -errno as perf_event_open and
 * mmap say it, or -ENOMEM. The streams run from then on. */
int streams_open(struct streams *streams, int *cpus, size_t n_cpus);
void streams_release(struct streams *streams);

/*
 * After all has been read that was there: lets go of what is closed and read to its end, closes
 * what is not wanted any more (to be read once more), opens what is missing. 'cpus', NULL for no
 * change, are those that are online from now on; taken over. True when any stream changed: *err is
 * then why some is missing, or 0, and streams from *first on are new.
 */
bool streams_follow(struct streams *streams, int *cpus, size_t n_cpus, size_t *first, int *err);

/* Closes those whose CPU went away, as poll() has found out. They count no more, also when the CPU
 * comes back. */
void streams_close_hung(struct streams *streams);

#endif
