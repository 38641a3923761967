/*
 * The sampler's streams: every event on every CPU, each with a ring buffer of its own. Opens them,
 * closes them, and follows the CPUs that come and go. For sampler.c and its thread only.
 */
#ifndef IE_SOURCE_SAMPLER_STREAMS_H
#define IE_SOURCE_SAMPLER_STREAMS_H

#include <stdatomic.h>

#include "exporter/source/perf/kernel.h"
#include "exporter/source/sampler/event.h"
#include "exporter/source/sampler/ring.h"

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
