#include "collectors/parts/probe_latency.h"

static bool is_of(const struct probe_reading *burst, int initiator, int target)
{
    return burst->initiator_numa_node == initiator && burst->target_numa_node == target;
}

/* How many of the pair's bursts come before bursts[i] in ascending order, equal ones in the order
 * of the list. */
static size_t rank_of(const struct probe_reading *bursts, size_t n, size_t i)
{
    size_t rank = 0;
    for (size_t j = 0; j < n; j++)
        if (is_of(&bursts[j], bursts[i].initiator_numa_node, bursts[i].target_numa_node) &&
            (bursts[j].latency_ns < bursts[i].latency_ns ||
             (bursts[j].latency_ns == bursts[i].latency_ns && j < i)))
            rank++;
    return rank;
}

bool probe_latency(const struct probe_reading *bursts, size_t n, int initiator, int target,
                   double *seconds)
{
    size_t count = 0;
    double sum_ns = 0;
    for (size_t i = 0; i < n; i++)
        count += is_of(&bursts[i], initiator, target);
    if (count == 0)
        return false;
    size_t low = (count - 1) / 2, high = count / 2;
    for (size_t i = 0; i < n; i++) {
        if (!is_of(&bursts[i], initiator, target))
            continue;
        size_t rank = rank_of(bursts, n, i);
        sum_ns += rank == low ? bursts[i].latency_ns / 2 : 0;
        sum_ns += rank == high ? bursts[i].latency_ns / 2 : 0;
    }
    *seconds = sum_ns * 1e-9;
    return true;
}

bool probe_latency_is_first(const struct probe_reading *bursts, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (is_of(&bursts[j], bursts[i].initiator_numa_node, bursts[i].target_numa_node))
            return false;
    return true;
}
