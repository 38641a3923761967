#include "exporter/source/probe/targets.h"

#include "exporter/source/probe/burst.h"

void chase_targets_init(struct chase_targets *targets, size_t n, size_t own, size_t first_other)
{
    *targets = (struct chase_targets){.n = n, .own = own, .other = first_other % n};
    targets->at_own = own < n;
    if (targets->other == own)
        targets->other = (own + 1) % n;
}

size_t chase_targets_next(struct chase_targets *targets, uint64_t turn)
{
    if (turn - targets->since >= CHASE_BURSTS * CHASE_INTERVALS_PER_TARGET) {
        targets->since = turn;
        if (!targets->at_own)
            targets->other = (targets->other + 1) % targets->n;
        if (targets->other == targets->own)
            targets->other = (targets->other + 1) % targets->n;
        targets->at_own = targets->own < targets->n && !targets->at_own;
    }
    return targets->at_own ? targets->own : targets->other;
}
