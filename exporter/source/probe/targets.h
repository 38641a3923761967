/*
 * Which target comes next: a thread's own node every other time, since that is what its containers
 * use most, and the others in between, in turn. Each keeps the thread for some intervals, so that
 * there are intervals in which the thread's counters count loads to one target only.
 */
#ifndef IE_SOURCE_PROBE_TARGETS_H
#define IE_SOURCE_PROBE_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHASE_INTERVALS_PER_TARGET = 3 };

struct chase_targets {
    size_t n;       /* targets */
    size_t own;     /* index of the thread's own node; n: it has no memory */
    size_t other;   /* index of the one that is next, or now, beside the own one */
    bool at_own;    /* now */
    uint64_t since; /* turn of the first burst to the present one */
};

void chase_targets_init(struct chase_targets *targets, size_t n, size_t own, size_t first_other);
/* The target of the burst in this turn. */
size_t chase_targets_next(struct chase_targets *targets, uint64_t turn);

#endif
