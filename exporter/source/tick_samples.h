/*
 * The samples of one tick, as a list: drained from their source once, read by every collector.
 */
#ifndef IE_SOURCE_TICK_SAMPLES_H
#define IE_SOURCE_TICK_SAMPLES_H

#include "exporter/source/source.h"

/* Room in the list: 64 MiB of addresses, of which only what is used becomes memory. What a source
 * has beyond this is taken from it as well, and counted as lost. */
enum { TICK_SAMPLES_MAX = 1 << 20 };

/* All zero is empty. */
struct tick_samples {
    struct access_sample *at; /* owned */
    size_t n;
    uint64_t dropped[ACCESS_KINDS]; /* without room here, since the start */
    /* As the source had it just before the list was drained, with what was dropped here among
     * 'lost'. All zero for a kind of access that is not sampled. */
    struct sampling sampling[ACCESS_KINDS];
};

void tick_samples_release(struct tick_samples *samples);

/* Allocates the list, unless that was done before. 0 or -ENOMEM. */
int tick_samples_reserve(struct tick_samples *samples);

/* Replaces the list by all samples that the source has now, which must be one that samples;
 * NULL has none. Allocates nothing after tick_samples_reserve. */
void tick_samples_drain(struct tick_samples *samples, struct source *source);

#endif
