/*
 * Model shadow of one container: research, on hardware that does not exist (formulas/shadow.h).
 *
 * To take it out: delete this file and its .c, formulas/shadow.{c,h} and their tests, then
 * MODEL_SHADOW and the S_SHADOW_* rows of slowdown/series.{c,h}, and the lines of epochs.{c,h} that
 * do not compile any more. The roles may stay, they are vocabulary of recordings.
 */
#ifndef IE_COLLECTORS_SLOWDOWN_SHADOW_H
#define IE_COLLECTORS_SLOWDOWN_SHADOW_H

#include "collectors/contract/collector.h"
#include "collectors/slowdown/series.h"
#include "exporter/source/window.h"

struct shadow {
    bool seen; /* the source has shadow clocks */
    uint64_t observed_cycles, memory_cycles, cache_cycles;
};

/* Estimates from the epochs' window (NULL: there is none in this tick), and shows what came of it;
 * 'ending': no gauge any more. */
void shadow_collect(struct shadow *shadow, const struct window_sum *sum,
                    struct collector_status *status, struct slowdown_set *set, bool ending);
/* The counters. */
void shadow_show(const struct shadow *shadow, struct slowdown_set *set);

#endif
