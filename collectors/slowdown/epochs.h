/*
 * Model asm of one container, from the epochs of its quantum (FORMULAS.md section 3;
 * formulas/slowdown.h). Only recordings of simulated hardware have that group today.
 *
 * Embedded in the container's lane. Loop thread only.
 */
#ifndef IE_COLLECTORS_SLOWDOWN_EPOCHS_H
#define IE_COLLECTORS_SLOWDOWN_EPOCHS_H

#include "collectors/contract/collector.h"
#include "collectors/slowdown/series.h"
#include "collectors/slowdown/shadow.h"

struct epochs {
    group_handle handle; /* 0: not open */
    bool seen;           /* had a window once */
    uint64_t observed_cycles;
    struct shadow shadow;
};

/* Opens the group; where that fails, the status's open_failures tell. */
void epochs_open(struct epochs *epochs, struct source_set *sources, struct collector_status *status,
                 const struct container *container);
void epochs_close(struct epochs *epochs, struct source_set *sources);

/* Reads a tick's window, estimates, and shows what came of it; 'ending': no gauges any more. 0,
 * also where there is nothing to read, or -errno when reading failed. */
int epochs_collect(struct epochs *epochs, struct source_set *sources,
                   struct collector_status *status, struct slowdown_set *set, bool ending);
/* The counters. */
void epochs_show(const struct epochs *epochs, struct slowdown_set *set);

#endif
