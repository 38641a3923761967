/*
 * Precise samples of the whole machine: some events on every CPU. The sampler's own thread drains
 * their ring buffers and hands out the records of all of them in the order of their times.
 *
 * The sink works in the sampler's thread; how it passes on to other threads is up to it. Times
 * are CLOCK_MONOTONIC, as in struct tick; of precise events, where possible, made of perf's own
 * clock (clock.h), good to a microsecond.
 */
#ifndef IE_SOURCE_SAMPLER_SAMPLER_H
#define IE_SOURCE_SAMPLER_SAMPLER_H

#include "exporter/source/perf/kernel.h"
#include "exporter/source/sampler/clock.h"
#include "exporter/source/sampler/event.h"
#include "exporter/source/sampler/record.h"

struct sampler_sink {
    /* Ascending in time, but for records that the kernel delivers late; at the same time those of
     * the first event first. 'event' is its index in the configuration. */
    void (*record)(void *context, size_t event, const struct kernel_record *record);
    /* After a pass over all buffers: all records before this time were handed out. */
    void (*settle)(void *context, uint64_t time_ns);
    void *context;
};

enum { SAMPLER_EVENTS = 4 };

struct sampler_config {
    const struct perf_kernel *kernel; /* borrowed for its life */
    struct sampler_event events[SAMPLER_EVENTS];
    size_t n_events;
    const int *cpus; /* copied */
    size_t n_cpus;
    struct sampler_sink sink;
    const struct perf_clock_sources *clock; /* NULL: the real ones; for tests */
};

struct sampler;

/* Opens every CPU's events and buffers, or none. -errno as perf_event_open and mmap say it: EPERM
 * for a buffer means that the locked memory of this user is used up. */
int sampler_new(const struct sampler_config *config, struct sampler **out);
/* Ends the thread. 0, or -ETIMEDOUT when it has not ended after a second, since its sink waits for
 * something: then it may end later, and must not be freed before. May be called again. */
int sampler_end(struct sampler *sampler);
/* Ends the thread, however long that takes, and closes everything. Accepts NULL. */
void sampler_free(struct sampler *sampler);

/* Starts the thread. 0 or -errno. */
int sampler_start(struct sampler *sampler);

/* One pass over all buffers: what the thread does when woken. Tests call it instead of a thread. */
void sampler_drain(struct sampler *sampler);

/* The CPUs that are online from now on: the thread opens and closes in its next pass. What cannot
 * be opened is tried again with each pass. Any thread. 0 or -ENOMEM. */
int sampler_set_cpus(struct sampler *sampler, const int *cpus, size_t n);
/* Whether the hardware may collect precise samples by the dozen: not with a clock of our own. */
bool sampler_is_batched(const struct sampler *sampler);

/* 0, or the -errno for which a CPU is not sampled at present. Any thread. */
int sampler_error(const struct sampler *sampler);
/* Descriptors open for events. Any thread. */
size_t sampler_open_events(const struct sampler *sampler);

/* Of one event, since the start. Any thread. */
struct sampler_counts {
    uint64_t samples;
    uint64_t lost;      /* records without room in a buffer, samples that the hardware dropped */
    uint64_t throttles; /* times that the kernel paused sampling on a CPU */
    uint64_t broken;    /* buffers thrown away: not what the kernel promises */
};
struct sampler_counts sampler_counts(const struct sampler *sampler, size_t event);

#endif
