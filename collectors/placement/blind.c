#include "collectors/placement/blind.h"

void placement_blind_see(struct placement_blind *blind, int initiator)
{
    blind->seen = true;
    blind->node = initiator;
}

static bool for_long(struct placement_blind *blind, const struct tick *tick)
{
    bool lately = blind->last > 0 && tick->number <= blind->last + PLACEMENT_STALE_TICKS;
    if (blind->seen) {
        if (!lately)
            blind->first = tick->number;
        blind->last = tick->number;
        lately = true;
    }
    blind->seen = false;
    return lately && tick->number >= blind->first + PLACEMENT_STALE_TICKS;
}

void placement_blind_judge(struct placement_blind *blind,
                           const struct placement_latencies *latencies, const struct tick *tick,
                           struct verdict *verdict)
{
    if (!for_long(blind, tick) || verdict->words[0] ||
        placement_latencies_from(latencies, blind->node))
        return;
    if (blind->node < PLACEMENT_NODES)
        verdict_set(verdict, REASON_NOT_CALIBRATED,
                    "no predictions for what reads memory from CPUs of NUMA node %d: the probe has "
                    "no readings from there; it needs one of these CPUs in its own cpuset, and "
                    "bursts that are not all discarded",
                    blind->node);
    else
        verdict_set(verdict, REASON_NOT_CALIBRATED,
                    "no predictions: the probe runs, but has no readings; its bursts are disturbed "
                    "(see its discarded windows)");
}
