#include "exporter/source/probe/burst.h"

#include <string.h>

#include "exporter/base/clock.h"

void chase_burst(struct chase_ring *ring, enum chase_flush how, int cpu, uint64_t budget_ns,
                 struct chase_burst *out)
{
    double latency_ns[CHASE_RUNS];
    size_t kept = 0;
    uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID), before = start, longest = 0;
    struct chase_facts facts = {.cpu_wanted = cpu};
    memset(out, 0, sizeof *out);
    chase_run(ring, how, CHASE_WARM_LOADS, &facts);
    while (out->runs < CHASE_RUNS) {
        enum probe_discard cause;
        uint64_t now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (now - before > longest && out->runs > 0)
            longest = now - before;
        before = now;
        if (now - start + longest > budget_ns)
            break;
        chase_run(ring, how, CHASE_RUN_LOADS, &facts);
        out->runs++;
        if (chase_run_counts(&facts, &cause))
            latency_ns[kept++] = (double)facts.wall_ns / CHASE_RUN_LOADS;
        else
            out->discarded[cause]++;
    }
    out->valid = kept >= CHASE_RUNS_NEEDED;
    if (out->valid)
        out->latency_ns = chase_median(latency_ns, kept);
}
