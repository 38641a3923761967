/* A source that serves a tape: the probe's readings, and CPU time as the group activity. */
#ifndef IE_TESTS_ATTRIBUTION_TAPE_SOURCE_H
#define IE_TESTS_ATTRIBUTION_TAPE_SOURCE_H

#include "tests/attribution/tape.h"

struct tape_source {
    struct source source;
    const struct tape *tape; /* borrowed */
    size_t tick;             /* what is served; the caller moves it before each tick */
    size_t next_burst;
};

/* To be given to a source set, which must not outlive it; never freed by it. */
void tape_source_init(struct tape_source *self, const struct tape *tape);
void tape_source_at(struct tape_source *self, size_t tick);

#endif
