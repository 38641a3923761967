/*
 * Precise samples of the whole machine: one event per CPU, its ring buffers drained by a thread of
 * the sampler's own, records handed out in the order of their times over all CPUs.
 *
 * The sink works in the sampler's thread; what it keeps for other threads is its own affair. Times
 * are CLOCK_MONOTONIC, as in struct tick. (With a clock of its own the kernel takes an interrupt
 * for every precise sample, where it else would collect some dozens.)
 */
#ifndef IE_SOURCE_SAMPLER_H
#define IE_SOURCE_SAMPLER_H

#include "exporter/source/encode.h"
#include "exporter/source/perf.h"
#include "exporter/source/perf_records.h"

struct sampler_sink {
    /* Ascending in time, but for records that the kernel delivers late. */
    void (*record)(void *context, const struct perf_record *record);
    /* After a pass over all buffers: all records before this time were handed out. */
    void (*settle)(void *context, uint64_t time_ns);
    void *context;
};

struct sampler_config {
    const struct perf_kernel *kernel;  /* borrowed for its life */
    const struct encoded_event *event; /* of the sampled role; copied */
    uint64_t period;                   /* events per sample; a prime, against patterns */
    bool physical, cgroup;             /* sample these as well */
    bool mappings;     /* mmap, exec, fork and exit as well: one sampler of a process suffices */
    size_t data_pages; /* per CPU, a power of two; 128 in all are every user's without privilege */
    const int *cpus;   /* copied */
    size_t n_cpus;
    struct sampler_sink sink;
    uint64_t (*now_ns)(void *context); /* NULL: the clock itself; for tests */
    void *now_context;
};

struct sampler;

/* Opens every CPU's event and buffer, or none. -errno as perf_event_open and mmap say it: EPERM for
 * the buffer means that the locked memory of this user is used up. */
int sampler_new(const struct sampler_config *config, struct sampler **out);
/* Ends the thread, closes everything. Accepts NULL. */
void sampler_free(struct sampler *sampler);

/* Starts the thread. 0 or -errno. */
int sampler_start(struct sampler *sampler);

/* One pass over all buffers: what the thread does when woken. Tests call it instead of a thread. */
void sampler_drain(struct sampler *sampler);

/* Since the start. Any thread. */
struct sampler_counts {
    uint64_t samples;
    uint64_t lost;      /* records without room in a buffer, samples that the hardware dropped */
    uint64_t throttles; /* times that the kernel paused sampling on a CPU */
    uint64_t broken;    /* buffers thrown away: not what the kernel promises */
};
struct sampler_counts sampler_counts(const struct sampler *sampler);

#endif
