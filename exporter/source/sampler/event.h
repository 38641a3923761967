/* An event to sample on every CPU: what the sampler is given and its streams are opened with. */
#ifndef IE_SOURCE_SAMPLER_EVENT_H
#define IE_SOURCE_SAMPLER_EVENT_H

#include "exporter/source/event/encode.h"

/* Each event has buffers of its own: a flood of one's records costs the others nothing. */
struct sampler_event {
    const struct encoded_event *event; /* borrowed for the sampler's life */
    uint64_t period;                   /* events per sample; a prime, against patterns */
    /* Sample these as well: the process's cgroup; how long the access took, and what it was. */
    bool cgroup, latency, data_source;
    /* The PMU cannot leave out the kernel, the hypervisor and guests, and refuses events that ask
     * for it: their samples come as well. */
    bool unfiltered;
    /* Ask for mmap, exec, fork and exit as well: one of all events suffices. Where some are missing
     * because a CPU came or a buffer was broken, the sink gets KERNEL_RECORD_LOST with a count of
     * 0. */
    bool mappings;
    /* Per CPU, a power of two. All events together may have 128, and one more for each event,
     * without privilege. */
    size_t data_pages;
};

#endif
